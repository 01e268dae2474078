"""Texts over agents, mean sizes of effects, and part-worths in log-odds, against computations by hand."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.discrete.conditional_models import ConditionalLogit

from analysis.choice.effects.effects import choice_effects, regressors
from analysis.choice.effects.pooled import mean_effects, texts_over_agents
from analysis.choice.effects.utilities import utilities
from analysis.tables.choice_table import check_table, trial_ids
from tests.analysis.conftest import simulate_study


def test_part_worths_are_those_of_a_conditional_logit_with_the_errors_of_leaving_out_sets() -> None:
    table = check_table(simulate_study(3, sets=20, nudges_per_set=3).table)

    def fitted(rows: pd.DataFrame) -> np.ndarray:
        model = ConditionalLogit(
            rows["chosen"].astype(int).to_numpy(),
            regressors(rows).to_numpy(),
            groups=trial_ids(rows).to_numpy(),
        )
        return np.asarray(model.fit(method="bfgs", disp=False).params)

    frame = utilities(table)
    whole = fitted(table)
    assert frame["estimate"].to_numpy() == pytest.approx(whole, abs=1e-4)
    moves = np.array([fitted(table[table["set"] != each]) - whole for each in table["set"].unique()])
    error = np.sqrt(19 / 20 * (moves**2).sum(axis=0))
    assert frame["std_error"].to_numpy() == pytest.approx(error, rel=0.1)


def test_a_text_over_agents_is_their_random_effects_mean() -> None:
    """With equal errors the mean is that of the agents, and REML's spread the variance beyond the error."""
    effects, half = np.array([-10.0, 5.0, 30.0, 45.0]), 8.0
    own = pd.DataFrame(
        {
            "term": "nudged", "group": list("abcd"), "estimate": effects, "conf_low": effects - half,
            "conf_high": effects + half, "part": "nudge_text", "level": "Best!", "strata": 30, "n": 120,
            "note": "",
        }
    )  # fmt: skip
    few = own.assign(level="Rare!", strata=4)
    frame = texts_over_agents(pd.concat([own, few]).reindex(columns=[*own, *MORE]))
    assert list(frame["group"]) == ["Best!"] and frame["part"].iloc[0] == "agent"
    assert frame["estimate"].iloc[0] == pytest.approx(effects.mean())
    spread = effects.var(ddof=1) - (half / 1.959964) ** 2
    assert frame["sd"].iloc[0] == pytest.approx(np.sqrt(spread), rel=1e-3)
    assert texts_over_agents(own[:1].reindex(columns=[*own, *MORE])).empty


MORE = ["std_error", "statistic", "p_value", "p_adjusted", "n_missing"]


def test_the_mean_size_is_that_of_the_effects_of_the_main_table() -> None:
    effects = choice_effects(
        simulate_study(2, agents=("balanced", "random"), sets=15, nudges_per_set=2).table
    )
    frame = mean_effects(effects).set_index("group")
    for agent, rows in effects.groupby("group"):
        assert frame.loc[agent, "estimate"] == pytest.approx(rows["estimate"].abs().mean())
        assert frame.loc[agent, "n"] == 4
