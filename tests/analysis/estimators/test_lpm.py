"""The linear probability model against pyfixest, statsmodels, marginaleffects and arithmetic done by hand."""

from typing import Any

import marginaleffects
import numpy as np
import pandas as pd
import pyfixest
import pytest
import statsmodels.formula.api as smf

from analysis.choice.effects.effects import TERMS
from analysis.estimators.contrasts import Specification, interactions
from analysis.estimators.lpm import CANCELS, Contrast, Model
from tests.analysis.conftest import simulate_study

pytestmark = pytest.mark.filterwarnings("ignore")

FORMULAS = (
    "viewed_first",
    "cheaper + nudged",
    "cheaper * nudged",
    "viewed_first * higher_rated * cheaper",
    "viewed_first * higher_rated * cheaper * nudged",
    "cheaper * nudged + price",
)


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
        repeat=trials.ngroup() % 2,
        code=pd.factorize(table["set"])[0],
        text=pd.factorize(trials["nudge_text"].transform("max"))[0],
        cat=pd.factorize(table["category"])[0],
    )


def design(data: pd.DataFrame, terms: tuple[str, ...] = TERMS, order: int = 4) -> Specification:
    return Specification(data[list(terms)], interactions(terms, order))


def contrast(data: pd.DataFrame, focus: str, order: int = 4, **clusters: str) -> Contrast:
    made = design(data, order=order)
    codes = {name: data[column].to_numpy() for name, column in clusters.items()}
    fit = Model(made.values(), data["t"].to_numpy()).fit(data["y"].to_numpy(float), codes)
    return fit.contrast(made.weights(focus))


def fitted(x: list[float], y: np.ndarray, trial: np.ndarray, **clusters: Any) -> Contrast:
    """The coefficient of a single regressor."""
    codes = {name: np.asarray(code) for name, code in clusters.items()}
    return Model(np.array(x)[:, None], trial).fit(y, codes).contrast(np.ones(1))


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return prepare(simulate_study(3, sets=30, nudges=9, nudges_per_set=3, categories=14).table)


def own_clusters(data: pd.DataFrame, columns: np.ndarray, weights: np.ndarray) -> tuple[int, float]:
    """The least number of texts or categories whose choices move the estimate, and the degrees of freedom.

    By the pseudo-inverse: the scores of the clusters as functions of the outcomes.
    """
    within = columns - pd.DataFrame(columns).groupby(data["t"].to_numpy()).transform("mean").to_numpy()
    inverse = np.linalg.pinv(within)
    influence, residual = weights @ inverse, np.eye(len(within)) - within @ inverse
    moves, df = abs(influence) > 1e-9, []
    for way in ("text", "cat"):
        scores = np.array([(influence * (data[way] == each)) @ residual for each in data[way].unique()])
        values = np.linalg.eigvalsh(scores @ scores.T)
        df.append(values.sum() ** 2 / (values**2).sum())
    return min(data.loc[moves, way].nunique() for way in ("text", "cat")), min(df)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("formula", FORMULAS)
def test_every_formula_agrees_with_pyfixest(formula: str, size: int) -> None:
    data = prepare(simulate_study(3, sets=30, size=size, nudges=9, nudges_per_set=2, categories=12).table)
    theirs = pyfixest.feols(f"y ~ {formula} | t", data, vcov="iid")
    names = list(theirs.coef().index)
    columns = np.column_stack([data[name.split(":")].prod(axis=1) for name in names])
    model = Model(columns, data["t"].to_numpy())
    assert model.rank == len(names)
    y = data["y"].to_numpy(float)
    fit = model.fit(y, {way: data[way].to_numpy() for way in ("text", "cat")})
    errors = []
    for way in ("text+cat", "text", "cat"):
        theirs.vcov({"CRV1": way})
        errors.append(theirs.se().to_numpy())
    found = [fit.contrast(row) for row in np.eye(len(names))]
    assert [each.estimate for each in found] == pytest.approx(list(theirs.coef()), abs=1e-8)
    # Where residuals cancel in all clusters the error is rounding noise, which we leave out; so are errors
    # of what few clusters tell, as the coefficient of `cheaper` beside its product with the nudge in pairs.
    own = [own_clusters(data, columns, row) for row in np.eye(len(names))]
    largest = np.nanmax(errors, axis=0)
    expected = [
        (error, df) if error > 1e-7 and n >= 8 else (np.nan, np.nan)
        for error, (n, df) in zip(largest, own, strict=True)
    ]
    assert [each.std_error for each in found] == pytest.approx(
        [error for error, _ in expected], abs=1e-8, nan_ok=True
    )
    assert [each.df for each in found] == pytest.approx([df for _, df in expected], nan_ok=True)
    assert np.isfinite(expected).any()
    for each, both, *single in zip(found, *errors, strict=True):
        wide = f"standard error by {('text', 'cat')[np.argmax(single)]}, larger than two-way"
        if np.isfinite(each.std_error) and not np.isclose(both, max(single)):
            assert (wide in each.note) == (not both > max(single))


def test_only_clusters_that_an_estimate_depends_on_count() -> None:
    """Two regressors, each in trials of its own: twelve sets tell the first, eleven the second."""
    sets, rng = np.repeat(np.arange(23), 8), np.random.default_rng(2)
    own = np.repeat(sets < 12, 2)
    x = np.column_stack([own * np.tile([1.0, 0], 184), ~own * np.tile([1.0, 0], 184)])
    first = rng.random(184) < 0.7
    y = np.column_stack([first, ~first]).ravel().astype(float)
    fit = Model(x, np.repeat(np.arange(184), 2)).fit(y, {"set": np.repeat(sets, 2)})
    one, other = fit.contrast(np.array([1.0, 0])), fit.contrast(np.array([0, 1.0]))
    assert one.jackknife and len(one.jackknife.codes) == 12
    assert one.df <= 11 + 1e-9 and one.std_error > 0
    assert np.isnan(other.std_error) and other.note == "no interval: fewer than 12 choice sets"
    assert np.isnan(one.less(other).std_error) and one.less(other).note == other.note


@pytest.mark.parametrize("ways", [("text", "cat"), ("cat",)])
def test_an_error_by_set_counts_where_it_is_larger(data: pd.DataFrame, ways: tuple[str, ...]) -> None:
    """The larger of the error by the ways and that of the jackknife; the smaller degrees of freedom."""
    terms, larger = ("viewed_first", "cheaper", "higher_rated", "nudged"), 0
    made = design(data, terms, 1)
    model, y, sets = Model(made.values(), data["t"].to_numpy()), data["y"].to_numpy(float), data["code"]
    codes = {way: data[way].to_numpy() for way in ways}
    for row in np.eye(len(terms)):
        plain = model.fit(y, codes).contrast(row)
        by_set = model.fit(y, {"set": sets.to_numpy()}).contrast(row)
        found = model.fit(y, codes, sets.to_numpy()).contrast(row)
        assert found.std_error == max(plain.std_error, by_set.std_error)
        if by_set.std_error > plain.std_error:
            larger += 1
            assert found.df == min(plain.df, by_set.df)
            error = f"{100 * plain.std_error:.2f}"
            assert found.note == f"standard error by set, larger than by {' and '.join(ways)} ({error})"
        else:
            assert found == plain
    assert 0 < larger < len(terms)


@pytest.mark.parametrize("factor", [1e-17, 1e-6, 1e6])
def test_the_unit_of_a_combination_does_not_matter(factor: float) -> None:
    rng = np.random.default_rng(5)
    x, sets = rng.standard_normal((80, 2)), np.repeat(np.arange(20), 4)
    fit = Model(x, np.repeat(np.arange(40), 2)).fit(rng.random(80), {"set": sets})
    weights = np.array([1.0, -0.5])
    one, scaled = fit.contrast(weights), fit.contrast(factor * weights)
    if factor < 1e-9:
        assert (scaled.estimate, scaled.note) == (0, CANCELS), "nothing that can be told from 0"
        return
    assert scaled.df == pytest.approx(one.df) and one.df <= 19 + 1e-9
    assert scaled.estimate == pytest.approx(factor * one.estimate)
    assert scaled.std_error == pytest.approx(factor * one.std_error)


def test_what_one_cluster_alone_tells_has_no_interval() -> None:
    sets = np.repeat(np.arange(12), 6)
    change = np.where(np.arange(72) % 3 == 0, -1, 1)
    y = np.column_stack([(1 + change) / 2, (1 - change) / 2]).ravel()
    plain = np.tile([1.0, 0], 72)
    only = plain * np.repeat(sets == 3, 2) * np.repeat(np.arange(72) % 2, 2)
    fit = Model(np.column_stack([plain, only]), np.repeat(np.arange(72), 2)).fit(
        y, {"set": np.repeat(sets, 2)}
    )
    found = fit.contrast(np.array([1.0, 0.1]))
    assert np.isfinite(found.estimate) and np.isnan(found.std_error)
    assert found.note == "no interval: without one set it cannot be estimated"


def test_collinear_columns_change_nothing_that_is_identified(data: pd.DataFrame) -> None:
    x = data[["cheaper", "nudged", "viewed_first"]].to_numpy()
    trial, y = data["t"].to_numpy(), data["y"].to_numpy(float)
    clusters = {"cat": data["cat"].to_numpy(), "text": data["text"].to_numpy()}
    plain = Model(x, trial).fit(y, clusters)
    double = Model(np.column_stack([x, x[:, 0] + x[:, 1], trial, 0 * trial]), trial)
    assert double.rank == 3
    assert not double.identifies(np.array([1.0, 0, 0, 0, 0, 0]))
    assert not double.identifies(np.array([0, 0, 1.0, 0, 0, 1]))
    fit = double.fit(y, clusters)
    assert fit.contrast(np.eye(6)[0]).note == "not identified"
    for weights, more in (([0, 0, 1], [0, 0, 1, 0, 0, 0]), ([1, 1, 0], [1, 1, 0, 2, 0, 0])):
        one, other = plain.contrast(np.array(weights, float)), fit.contrast(np.array(more, float))
        assert (one.estimate, one.std_error) == pytest.approx((other.estimate, other.std_error), abs=1e-10)


def test_the_order_of_the_rows_does_not_matter(data: pd.DataFrame) -> None:
    mixed = data.sample(frac=1, random_state=1)
    for focus in TERMS:
        one, other = (contrast(rows, focus, text="text", cat="cat") for rows in (data, mixed))
        assert (one.estimate, one.std_error) == pytest.approx((other.estimate, other.std_error), abs=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
def test_average_contrasts_are_those_of_marginaleffects() -> None:
    """On an ordinary regression with a dummy for each trial."""
    data = prepare(simulate_study(5, sets=6, nudges=3, nudges_per_set=3, categories=3).table)
    terms = ("viewed_first", "cheaper", "nudged")
    whole = data[["y", "cat", *terms]].astype(int)
    whole["t"] = data["t"].map("t{}".format).astype("category")
    model = smf.ols(f"y ~ {' * '.join(terms)} + t", whole).fit()
    made = design(data, terms, 3)
    fit = Model(made.values(), data["t"].to_numpy()).fit(
        data["y"].to_numpy(float), {"cat": data["cat"].to_numpy()}
    )
    theirs = marginaleffects.avg_comparisons(model, variables="nudged").to_pandas()
    found = fit.contrast(made.weights("nudged")).estimate
    assert found == pytest.approx(theirs["estimate"].item(), abs=1e-8)


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        ([1, 1, 1, 1, 1, 1], "the model fits every choice exactly"),
        ([1, 1, -1, 1, 1, -1], "the residuals cancel in every cluster"),
    ],
)
def test_without_variance_there_is_no_standard_error(difference: list[int], reason: str) -> None:
    change = np.tile(difference, 6)
    y = np.column_stack([(1 + change) / 2, (1 - change) / 2]).ravel()
    found = fitted([1.0, 0.0] * 36, y, np.repeat(np.arange(36), 2), set=np.repeat(np.arange(12), 6))
    assert found.estimate == pytest.approx(change.mean())
    assert np.isnan([found.std_error, found.statistic, found.p_value, found.half_width]).all()
    assert found.note == f"no standard error: {reason}"


def test_the_two_way_error_stands_where_it_is_the_largest() -> None:
    """Each cluster shifts all its trials, in both dimensions: the two variances add up."""
    rng = np.random.default_rng(1)
    row, column = np.divmod(np.arange(144), 12)
    shift = np.clip((rng.normal(size=12)[row] + rng.normal(size=12)[column]) / 4, -1, 1)
    y = np.column_stack([(1 + shift) / 2, (1 - shift) / 2]).ravel()
    clusters = {"row": np.repeat(row, 2), "column": np.repeat(column, 2)}
    x, trial = [1.0, 0.0] * 144, np.repeat(np.arange(144), 2)
    both = fitted(x, y, trial, **clusters)
    assert both.note == "" and both.std_error > 0
