"""How far coefficients move without a choice set, where utilities of sets are far from each other."""

import numpy as np
import pandas as pd
import pytest

from analysis.estimators.clogit import fit_clogit
from analysis.estimators.leave_out import moves, with_errors


def cards(rng: np.random.Generator, sets: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    x = pd.DataFrame(rng.normal(size=(2 * sets, 2)), columns=["price", "rating"])
    groups = np.repeat(np.arange(sets), 2)
    utility = (x @ [-1.0, 0.5] + rng.gumbel(size=len(x))).to_numpy().reshape(-1, 2)
    return x, np.column_stack([utility.argmax(axis=1) == k for k in (0, 1)]).astype(float).ravel(), groups


def test_what_is_the_same_for_all_options_of_a_set_moves_nothing() -> None:
    """Only differences within a set count, also where a set's utility is thousands above another's."""
    x, chosen, groups = cards(np.random.default_rng(1), 40)
    found = moves(fit_clogit(x, chosen, groups), x, chosen, groups, groups)
    assert np.isfinite(found.to_numpy()).all()
    far = x.assign(price=x["price"] + 4_000.0 * (groups % 2))
    again = moves(fit_clogit(far, chosen, groups), far, chosen, groups, groups)
    assert again.to_numpy() == pytest.approx(found.to_numpy(), rel=1e-6, abs=1e-9)


def test_the_moves_are_those_of_fits_without_each_set() -> None:
    x, chosen, groups = cards(np.random.default_rng(2), 200)
    whole = fit_clogit(x, chosen, groups)
    found = moves(whole, x, chosen, groups, groups)
    for left in range(0, 200, 20):
        kept = groups != left
        without = fit_clogit(x[kept], chosen[kept], groups[kept])
        assert found.loc[left].to_numpy() == pytest.approx(without.estimate - whole.estimate, abs=2e-3)
    assert with_errors(whole, found).std_error == pytest.approx(whole.std_error, rel=0.2)
    assert np.isnan(with_errors(whole, found[:11]).std_error).all(), "too few sets"
