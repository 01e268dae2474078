"""The linear probability model against pyfixest, statsmodels and arithmetic done by hand."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyfixest
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from analysis.effects import TERMS
from analysis.lpm import average_contrast, design_matrix, is_identified

Simulate = Callable[..., Any]
pytestmark = pytest.mark.filterwarnings("ignore")


def prepare(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that a fit by hand needs, with plain names."""
    trials = table.groupby("trial")
    return table.assign(
        y=table["chosen"].astype(float),
        t=trials.ngroup(),
        cheaper=(table["price"] == trials["price"].transform("min")).astype(float),
        higher_rated=(
            (table["rating"] == trials["rating"].transform("max"))
            & (trials["rating"].transform("nunique") > 1)
        ).astype(float),
        text=pd.factorize(trials["nudge_text"].transform("max"))[0],
        cat=pd.factorize(table["category"])[0],
    )


def contrast(data: pd.DataFrame, focus: str, order: int = 4, **clusters: str) -> Any:
    design = design_matrix(data[list(TERMS)], focus, order)
    codes = {name: data[column].to_numpy() for name, column in clusters.items()}
    return average_contrast(data["y"].to_numpy(float), design, data["t"].to_numpy(), codes)


def weights_of_contrast(data: pd.DataFrame, names: list[str], focus: str) -> np.ndarray:
    """The combination of the coefficients of `a * b * c * d` that is the average contrast of `focus`."""
    weights = []
    for name in names:
        factors = name.split(":")
        others = [factor for factor in factors if factor != focus]
        weights.append(data[others].prod(axis=1).mean() if focus in factors else 0.0)
    return np.array(weights)


@pytest.mark.parametrize("size", [2, 3])
def test_contrasts_agree_with_the_delta_method_on_an_uncentred_fit(simulate: Simulate, size: int) -> None:
    data = prepare(simulate(3, sets=20, size=size, nudges=6, nudges_per_set=3, categories=8).table)
    fit = pyfixest.feols(f"y ~ {' * '.join(TERMS)} | t", data, vcov="iid")
    names = list(fit.coef().index)
    for focus in TERMS:
        weights = weights_of_contrast(data, names, focus)
        variances = {}
        for way in ("text+cat", "text", "cat"):
            fit.vcov({"CRV1": way})
            variances[way] = weights @ fit._vcov @ weights
        found = contrast(data, focus, text="text", cat="cat")
        assert found.estimate == pytest.approx(weights @ fit.coef().to_numpy(), abs=1e-8)
        assert found.std_error == pytest.approx(np.sqrt(max(variances.values())), abs=1e-8)
        assert found.df == min(data["text"].nunique(), data["cat"].nunique()) - 1
        one_way = contrast(data, focus, cat="cat")
        assert one_way.std_error == pytest.approx(np.sqrt(variances["cat"]), abs=1e-8)


def test_two_way_errors_agree_with_statsmodels_on_dummies(simulate: Simulate) -> None:
    data = prepare(simulate(5, sets=6, nudges=3, nudges_per_set=3, categories=3).table)
    formula = f"y ~ {' + '.join(TERMS)} + C(t)"
    rows, k = len(data), len(TERMS) + 1
    variances = []
    for ways in (["text", "cat"], ["text"], ["cat"]):
        options = {"groups": data[ways].to_numpy().squeeze(), "use_correction": False}
        fit = smf.ols(formula, data).fit(cov_type="cluster", cov_kwds=options)
        smallest = min(data[way].nunique() for way in ways)
        correction = (rows - 1) / (rows - k) * smallest / (smallest - 1)
        variances.append(correction * pd.Series(np.diag(fit.cov_params()), fit.params.index))
    largest = pd.concat(variances, axis=1).max(axis=1)
    for focus in TERMS:
        found = contrast(data, focus, order=1, text="text", cat="cat")
        assert found.estimate == pytest.approx(fit.params[focus], abs=1e-8)
        assert found.std_error == pytest.approx(np.sqrt(largest[focus]), abs=1e-8)


def test_one_regressor_by_hand() -> None:
    """Pairs: the contrast is the mean of the within-trial differences, clustered by set."""
    difference = np.array([1, 1, -1, 1, 1, 1, 1, -1, -1, -1, 1, 1.0])
    groups = np.repeat([0, 1, 2, 3], 3)
    data = pd.DataFrame({"x": [1.0, 0.0] * 12, "t": np.repeat(range(12), 2), "g": np.repeat(groups, 2)})
    y = np.column_stack([(1 + difference) / 2, (1 - difference) / 2]).ravel()
    found = average_contrast(y, design_matrix(data[["x"]], "x", 1), data["t"].to_numpy(), {"set": data["g"]})
    mean = difference.mean()
    sums = np.bincount(groups, (difference - mean) / 12)
    error = np.sqrt(sums @ sums * 23 / 22 * 4 / 3)
    assert found.estimate == pytest.approx(mean, abs=1e-12)
    assert found.std_error == pytest.approx(error, abs=1e-12)
    assert found.p_value == pytest.approx(2 * stats.t.sf(mean / error, 3), abs=1e-12)
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 3) * error, abs=1e-12)


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        ([1, 1, 1, 1, 1, 1], "the model fits every choice exactly"),
        ([1, 1, -1, 1, 1, -1], "the residuals cancel in every cluster"),
    ],
)
def test_without_variance_there_is_no_standard_error(difference: list[int], reason: str) -> None:
    change = np.array(difference)
    y = np.column_stack([(1 + change) / 2, (1 - change) / 2]).ravel()
    x = pd.DataFrame({"x": [1.0, 0.0] * 6})
    codes = {"set": np.repeat([0, 1], 6)}
    found = average_contrast(y, design_matrix(x, "x", 1), np.repeat(np.arange(6), 2), codes)
    assert found.estimate == pytest.approx(change.mean())
    assert np.isnan([found.std_error, found.statistic, found.p_value, found.half_width]).all()
    assert found.note == f"no standard error: {reason}"


def test_a_larger_one_way_error_replaces_the_two_way_one_and_is_named(simulate: Simulate) -> None:
    data = prepare(simulate(3, sets=20, nudges=6, nudges_per_set=3, categories=8).table)
    for focus in TERMS:
        both = contrast(data, focus, text="text", cat="cat")
        single = {way: contrast(data, focus, **{way: way}).std_error for way in ("text", "cat")}
        assert both.std_error >= max(single.values())
        if "standard error by" in both.note:
            widest = max(single, key=lambda way: single[way])
            assert both.std_error == single[widest]
            assert f"standard error by {widest}, larger than two-way" in both.note


def test_the_two_way_error_stands_where_it_is_the_largest() -> None:
    """Each cluster shifts all its trials, in both dimensions: the two variances add up."""
    rng = np.random.default_rng(1)
    row, column = np.divmod(np.arange(144), 12)
    shift = np.clip((rng.normal(size=12)[row] + rng.normal(size=12)[column]) / 4, -1, 1)
    y = np.column_stack([(1 + shift) / 2, (1 - shift) / 2]).ravel()
    x = pd.DataFrame({"x": [1.0, 0.0] * 144})
    clusters = {"row": np.repeat(row, 2), "column": np.repeat(column, 2)}
    trial = np.repeat(np.arange(144), 2)
    both = average_contrast(y, design_matrix(x, "x", 1), trial, clusters)
    single = [
        average_contrast(y, design_matrix(x, "x", 1), trial, {k: v}).std_error for k, v in clusters.items()
    ]
    assert both.note == ""
    assert both.std_error > max(single)


def test_centring_leaves_the_model_unchanged(simulate: Simulate) -> None:
    """The centred columns span what the plain products span, within trials."""
    data = prepare(simulate(3, sets=12, size=3, nudges=3, nudges_per_set=2).table)
    x = data[list(TERMS)]
    plain = pd.DataFrame(
        {
            factors: x[list(factors)].prod(axis=1)
            for size in (1, 2, 3, 4)
            for factors in combinations(TERMS, size)
        }
    )

    def within(columns: pd.DataFrame) -> np.ndarray:
        return (columns - columns.groupby(data["t"]).transform("mean")).to_numpy()

    for focus in TERMS:
        design = design_matrix(x, focus, 4)
        assert design.shape == (len(x), 15)
        both = np.column_stack([within(design), within(plain)])
        ranks = [np.linalg.matrix_rank(part, tol=1e-8) for part in (both, within(design), within(plain))]
        assert ranks[0] == ranks[1] == ranks[2]


def test_identification(simulate: Simulate) -> None:
    data = prepare(simulate(3, sets=12, nudges=3, nudges_per_set=2).table)
    x, trial = data[list(TERMS)], data["t"].to_numpy()
    assert is_identified(design_matrix(x, "cheaper", 4), trial)
    mirrored = x.assign(higher_rated=1 - x["cheaper"])
    assert not is_identified(design_matrix(mirrored, "cheaper", 4), trial)
    assert not is_identified(design_matrix(mirrored, "cheaper", 1), trial)
    assert is_identified(design_matrix(mirrored, "viewed_first", 4), trial)
    assert is_identified(design_matrix(x[["nudged"]], "nudged", 1), trial)
