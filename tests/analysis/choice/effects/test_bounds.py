"""Worst-case bounds: every way to fill in the missing choices, tried out."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from analysis.choice.effects.bounds import worst_case_bounds
from analysis.choice.effects.effects import main_effects
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import lose, simulate_study


def lost(table: pd.DataFrame, trials: list[str]) -> pd.DataFrame:
    return check_table(lose(table, table["trial"].isin(trials), "agent_limit"))


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_bounds_are_the_extremes_over_all_choices(size: int) -> None:
    full = simulate_study(3, sets=10, size=size, nudges=4, nudges_per_set=2, categories=4).table
    trials = [str(trial) for trial in full["trial"].unique()[[3, 20, 41][: 5 - size]]]
    bounds = worst_case_bounds(lost(full, trials)).set_index("term")
    found = []
    for filled in product(range(size), repeat=len(trials)):
        table = full.copy()
        for trial, option in zip(trials, filled, strict=True):
            table.loc[table["trial"] == trial, "chosen"] = (np.arange(size) == option).astype(int)
        found.append(main_effects(check_table(table)).set_index("term")["estimate"])
    effects = pd.concat(found, axis=1)
    for term in bounds.index:
        assert bounds.loc[term, "low"] == pytest.approx(effects.loc[term].min(), abs=1e-8)
        assert bounds.loc[term, "high"] == pytest.approx(effects.loc[term].max(), abs=1e-8)
    assert (bounds["n_missing"] == len(trials)).all()
    assert bounds["n"].iloc[0] == full["trial"].nunique() - len(trials)


def test_undefined_bounds_have_a_reason() -> None:
    full = simulate_study(3, sets=10, nudges_per_set=1, matched_ratings=True).table
    bounds = worst_case_bounds(lost(full, [str(full["trial"][0])])).set_index("term")
    assert bounds.loc["higher_rated", ["low", "high"]].isna().all()
    assert bounds.loc["higher_rated", "note"] == "higher_rated never differs between the options of a trial"


def test_an_agent_with_all_choices_has_no_bounds() -> None:
    full = simulate_study(3, agents=("a", "b"), sets=6, nudges_per_set=1).table
    bounds = worst_case_bounds(
        lost(full, [str(trial) for trial in full["trial"].unique() if trial[0] == "b"])
    )
    assert set(bounds["group"]) == {"b"}
    assert (bounds["n"] == 0).all()
    assert worst_case_bounds(check_table(full)).empty
