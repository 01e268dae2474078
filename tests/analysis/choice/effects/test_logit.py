"""The logit beside the linear model."""

import numpy as np
import pandas as pd
import pytest

from analysis.choice.effects.effects import TERMS, main_effects, regressors
from analysis.choice.effects.logit import agreement, logit_effects
from analysis.estimators.clogit import fit_clogit
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import simulate_study


@pytest.mark.parametrize("size", [2, 3])
def test_effects_are_differences_of_probabilities(size: int) -> None:
    """By hand, set by set: one option alone has the feature, then another alone."""
    table = check_table(simulate_study(3, sets=10, size=size, nudges=4, nudges_per_set=2).table)
    x, trial = regressors(table), table.groupby("trial").ngroup().to_numpy()
    beta = fit_clogit(x, table["chosen"].astype(float), trial).estimate
    found = logit_effects(table, main_effects(table)).set_index("term")["logit"]
    for k, term in enumerate(TERMS):
        apart = []
        for _, rows in x.groupby(trial):
            values = rows.to_numpy(float)
            values[:, k] = 0
            chance = []
            for holder in range(size):
                own = values.copy()
                own[holder, k] = 1
                odds = np.exp(own @ beta)
                chance.append(odds / odds.sum())
            for option in range(size):
                others = [chance[j][option] for j in range(size) if j != option]
                apart.append(chance[option][option] - np.mean(others))
        assert found[term] == pytest.approx(100 * np.mean(apart), abs=1e-9)


def test_the_two_models_agree() -> None:
    table = check_table(simulate_study(1, agents=("a", "b"), sets=40, nudges_per_set=4).table)
    both = logit_effects(table, main_effects(table))
    found = agreement(both).iloc[0]
    assert found["n"] == 8
    assert found["correlation"] == pytest.approx(np.corrcoef(both["linear"], both["logit"])[0, 1])
    assert found["correlation"] > 0.95


def test_separated_choices_have_no_effect_but_a_reason() -> None:
    table = simulate_study(1, sets=10, nudges_per_set=1).table
    table = check_table(table.assign(chosen=table["viewed_first"]))
    both = logit_effects(table, main_effects(table)).set_index("term")
    assert np.isnan(both.loc["viewed_first", "logit"])
    assert "separates the choices" in both.loc["viewed_first", "note"]
    assert both.loc["viewed_first", "linear"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(1.0, 1.0)] * 3, "effects of both kinds: 3; a correlation needs 4 or more"),
        ([(1.0, 2.0), (1.0, 3.0), (1.0, 4.0), (1.0, 5.0)], "all effects are the same"),
        ([(np.nan, 2.0), (1.0, np.nan)], "effects of both kinds: 0; a correlation needs 4 or more"),
    ],
)
def test_an_undefined_correlation_has_a_reason(rows: list[tuple[float, float]], reason: str) -> None:
    found = agreement(pd.DataFrame(rows, columns=["linear", "logit"])).iloc[0]
    assert np.isnan(found["correlation"]) and found["note"] == reason
