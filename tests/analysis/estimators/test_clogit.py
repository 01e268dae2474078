"""The conditional logit against statsmodels and scipy, its intervals against the truth, its refusals."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.discrete.discrete_model import Logit

from analysis.estimators.clogit import fit_clogit, fit_logit, lr_test, wald_test
from analysis.tables.errors import AnalysisError

Floats = npt.NDArray[np.float64]
Design = tuple[pd.DataFrame, Floats, npt.NDArray[np.int64]]
BETA = np.array([0.8, -0.5, 0.3, 0.0, 1.0, -1.0, 0.2, 0.6])


def simulate(rng: np.random.Generator, sets: int, sizes: tuple[int, ...], terms: int) -> Design:
    """Regressors, choices and set labels; the sets' sizes are drawn from `sizes`."""
    size = rng.choice(sizes, sets)
    label = np.repeat(np.arange(sets), size)
    x = rng.normal(size=(len(label), terms)) * np.linspace(1, 2, terms)
    return pd.DataFrame(x).add_prefix("x"), choose(x @ BETA[:terms], label, rng), label


def choose(utility: Floats, label: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
    total = pd.Series(utility + rng.gumbel(size=len(utility)))
    return (total == total.groupby(label).transform("max")).to_numpy(float)


def likelihood(beta: Floats, x: Floats, chosen: Floats, label: npt.NDArray[np.int64]) -> float:
    utility = pd.Series(x @ beta)
    total = np.log(np.exp(utility).groupby(label).sum())
    return float((utility * chosen).sum() - total.sum())


@pytest.mark.slow
@pytest.mark.parametrize("terms", [1, 3, 8])
@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 3, 5)], ids=["pairs", "triples", "mixed"])
def test_agrees_with_statsmodels(sizes: tuple[int, ...], terms: int) -> None:
    x, chosen, label = simulate(np.random.default_rng(terms), 150, sizes, terms)
    ours = fit_clogit(x, chosen, label)
    # Its default, BFGS, stops as far as 1e-3 from the maximum.
    theirs = ConditionalLogit(chosen, x.to_numpy(), groups=label).fit(disp=False, method="newton", tol=1e-10)
    assert ours.estimate == pytest.approx(theirs.params, abs=1e-9)
    assert ours.std_error == pytest.approx(theirs.bse, rel=1e-6)
    assert ours.loglik == pytest.approx(theirs.llf, abs=1e-8)
    assert ours.aic == pytest.approx(2 * terms - 2 * theirs.llf)
    assert ours.loglik_null == pytest.approx(likelihood(np.zeros(terms), x.to_numpy(), chosen, label))


@pytest.mark.parametrize("terms", [1, 4, 8])
@pytest.mark.parametrize("cov", ["classical", "robust", "clustered"])
def test_the_binary_logit_agrees_with_statsmodels(terms: int, cov: Any) -> None:
    rng = np.random.default_rng(terms)
    n = 500
    x = rng.normal(size=(n, terms))
    y = (x @ BETA[:terms] + 0.4 > rng.logistic(size=n)).astype(float)
    cluster = np.arange(n) // 5
    model = Logit(y, np.column_stack([np.ones(n), x]))
    how: dict[str, Any] = {
        "classical": {},
        "robust": {"cov_type": "HC0"},
        "clustered": {"cov_type": "cluster", "cov_kwds": {"groups": cluster, "use_correction": False}},
    }[cov]
    theirs = model.fit(disp=False, tol=1e-12, **how)
    ours = fit_logit(x, y, cov=cov, cluster=cluster if cov == "clustered" else None)
    units = {"classical": np.inf, "robust": n, "clustered": n / 5}[cov]
    factor = 1.0 if cov == "classical" else units / (units - 1)
    assert ours.terms[0] == "const"
    assert ours.estimate == pytest.approx(theirs.params, abs=1e-8)
    assert ours.cov == pytest.approx(theirs.cov_params() * factor, rel=1e-6, abs=1e-10)
    assert ours.loglik_null == pytest.approx(theirs.llnull)
    assert ours.pseudo_r2 == pytest.approx(theirs.prsquared)


def test_clustering_sees_that_copies_tell_nothing_new() -> None:
    x, chosen, label = simulate(np.random.default_rng(5), 150, (2,), 2)
    three = pd.concat([x] * 3, ignore_index=True)
    labels = np.concatenate([label, label + 1000, label + 2000])
    robust = fit_clogit(x, chosen, label, cov="robust")
    copies = fit_clogit(three, np.tile(chosen, 3), labels, cov="clustered", cluster=np.tile(label, 3))
    assert copies.estimate == pytest.approx(robust.estimate)
    assert copies.cov == pytest.approx(robust.cov)
    assert copies.df == 149 and robust.df == np.inf


def test_a_weight_counts_repetitions() -> None:
    rng = np.random.default_rng(6)
    x, chosen, label = simulate(rng, 80, (2, 3), 3)
    weight = rng.integers(0, 4, 80)[label]
    rows = np.repeat(np.arange(len(x)), weight)
    # A copy of a set is a set of its own.
    copy = np.concatenate([np.arange(times) for times in weight])
    repeated = fit_clogit(x.iloc[rows], chosen[rows], label[rows] * 10 + copy)
    weighted = fit_clogit(x, chosen, label, weights=weight)
    assert weighted.estimate == pytest.approx(repeated.estimate)
    assert weighted.cov == pytest.approx(repeated.cov)
    assert (weighted.loglik, weighted.loglik_null) == pytest.approx((repeated.loglik, repeated.loglik_null))
    y = rng.integers(0, 2, len(x)).astype(float)
    assert fit_logit(x, y, weights=weight).loglik_null == pytest.approx(
        fit_logit(x.iloc[rows], y[rows]).loglik_null
    )


def test_sampling_weights_scale_out_of_robust_errors() -> None:
    x, chosen, label = simulate(np.random.default_rng(7), 100, (2,), 2)
    weight = np.where(label % 2, 1.0, 3.0)
    once, tenfold = (fit_clogit(x, chosen, label, weights=w, cov="robust") for w in (weight, 10 * weight))
    assert once.cov == pytest.approx(tenfold.cov)


def test_a_set_with_a_missing_value_is_left_out_and_counted() -> None:
    x, chosen, label = simulate(np.random.default_rng(8), 60, (3,), 2)
    broken, choices = x.copy(), chosen.copy()
    broken.iloc[4, 1] = np.nan  # set 1
    broken.iloc[9, 0] = -np.inf  # set 3
    choices[label == 7] = np.nan
    choices[label == 9] = 0
    fit = fit_clogit(broken, choices, label)
    kept = ~np.isin(label, [1, 3, 7, 9])
    clean = fit_clogit(x[kept], chosen[kept], label[kept])
    assert (fit.n_sets, fit.n_missing, fit.n_options) == (56, 4, 168)
    assert fit.estimate == pytest.approx(clean.estimate)
    assert (fit.frame("a")["n_missing"] == 4).all()


def test_likelihood_ratio_of_nested_fits() -> None:
    x, chosen, label = simulate(np.random.default_rng(10), 300, (2,), 4)
    full, restricted = fit_clogit(x, chosen, label), fit_clogit(x[["x0", "x1"]], chosen, label)
    test = lr_test(restricted, full)
    assert test.df == 2 and test.statistic == pytest.approx(2 * (full.loglik - restricted.loglik))
    parts = [fit_clogit(x[on], chosen[on], label[on]) for on in (label < 100, label >= 100)]
    joint = x.assign(**{f"{name}_late": x[name] * (label >= 100) for name in x})
    interacted = fit_clogit(joint, chosen, label)
    assert lr_test(full, *parts) == pytest.approx(lr_test(full, interacted))
    with pytest.raises(AnalysisError, match="not nested"):
        lr_test(full, restricted)
    with pytest.raises(AnalysisError, match="give the same choices"):
        lr_test(fit_clogit(x.loc[label < 99, ["x0"]], chosen[label < 99], label[label < 99]), full)


def test_collinear_columns_are_named_and_the_rest_is_estimated() -> None:
    x, chosen, label = simulate(np.random.default_rng(14), 120, (2, 3), 4)
    more = x.assign(
        total=2 * x["x0"] - x["x1"] + np.arange(len(x))[np.searchsorted(label, label)], same=label * 1.0
    )
    fit = fit_clogit(more, chosen, label)
    notes = dict(zip(fit.terms, fit.term_notes, strict=True))
    for term in ("x0", "x1", "total"):
        assert notes[term] == "cannot be told apart: total = 2 × x0 - x1 within every set"
    assert notes["same"] == "same never differs between the options of a set"
    assert np.isnan(fit.estimate[[0, 1, 4, 5]]).all() and np.isnan(fit.std_error[[0, 1, 4, 5]]).all()
    assert fit.estimate[2:4] == pytest.approx(fit_clogit(x, chosen, label).estimate[2:4])
    assert fit.n_parameters == 4 and fit.loglik == pytest.approx(fit_clogit(x, chosen, label).loglik)


def test_a_column_that_separates_is_named_and_the_rest_is_the_limit() -> None:
    x, chosen, label = simulate(np.random.default_rng(15), 200, (2, 3), 3)
    never = (chosen == 0) & (np.random.default_rng(1).random(len(x)) < 0.2)
    fit = fit_clogit(x.assign(never=never.astype(float)), chosen, label)
    assert np.isnan(fit.of("never")).all()
    assert fit.term_notes[3] == "no finite estimate: -never separates the choices"
    assert f"{never.sum()} of {len(x) - 200} comparisons" in fit.notes[0]
    # The likelihood's limit as the coefficient falls: a very bad option might as well not be there.
    without = fit_clogit(x[~never], chosen[~never], label[~never])
    assert fit.estimate[:3] == pytest.approx(without.estimate)
    assert fit.loglik == pytest.approx(without.loglik)
    far = x.to_numpy() @ without.estimate - 60 * never
    assert fit.loglik == pytest.approx(likelihood(np.ones(1), far[:, None], chosen, label))


@pytest.mark.parametrize(
    ("weights", "note"),
    [
        ([1.0, 2.0], "no finite estimate: "),
        (np.arange(1.0, 7.0), "no finite estimate: a combination of its terms separates the choices"),
    ],
)
def test_a_combination_that_separates_is_named_once(weights: Any, note: str) -> None:
    x, _, label = simulate(np.random.default_rng(16), 30, (2,), len(weights))
    utility = x @ weights
    chosen = (utility == utility.groupby(label).transform("max")).to_numpy(float)
    fit = fit_clogit(x, chosen, label)
    assert np.isnan(fit.estimate).all() and fit.loglik == pytest.approx(0, abs=1e-9)
    assert all(each.startswith(note) for each in fit.term_notes)
    assert all(name in fit.notes[0] for name in x)


def test_strong_preferences_are_no_separation() -> None:
    rng = np.random.default_rng(17)
    x, _, label = simulate(rng, 2000, (2,), 2)
    chosen = choose(x.to_numpy() @ np.array([15.0, -12.0]), label, rng)
    fit = fit_clogit(x, chosen, label)
    assert not fit.notes and abs(fit.estimate - [15, -12]).max() < 4 * fit.std_error.max()


@pytest.mark.parametrize("sets", [0, 1])
def test_hardly_any_sets(sets: int) -> None:
    x, chosen, label = simulate(np.random.default_rng(18), 1, (3,), 2)
    fit = fit_clogit(x[: 3 * sets], chosen[: 3 * sets], label[: 3 * sets])
    assert fit.n_sets == sets and np.isnan(fit.estimate).all() and all(fit.term_notes)
    assert fit.frame()["p_value"].isna().all()


def test_no_terms_at_all() -> None:
    x, chosen, label = simulate(np.random.default_rng(18), 5, (2,), 1)
    fit = fit_clogit(x[[]], chosen, label)
    assert fit.loglik == fit.loglik_null == pytest.approx(5 * np.log(0.5)) and fit.frame().empty


def test_all_clusters_count_also_those_that_separation_takes_out() -> None:
    """Comparisons between a brand that always wins and others tell nothing more, but they were made."""
    x, chosen, label = simulate(np.random.default_rng(22), 60, (2,), 1)
    second = np.arange(len(label)) % 2
    x = x.assign(brand=np.where(label < 20, second, 0.0))
    chosen = np.where(label < 20, second, chosen).astype(float)
    fit = fit_clogit(x, chosen, label, cov="clustered", cluster=label // 2)
    own, kept = x.loc[label >= 20, ["x0"]], label[label >= 20]
    rest = fit_clogit(own, chosen[label >= 20], kept, cov="clustered", cluster=kept // 2)
    assert "separates the choices" in fit.notes[0]
    assert fit.estimate[0] == pytest.approx(rest.estimate[0])
    assert (fit.df, rest.df) == (29, 19)
    assert fit.std_error[0] == pytest.approx(rest.std_error[0] * np.sqrt(30 / 29 / (20 / 19)))


def test_walds_test_is_the_square_of_z_for_one_term() -> None:
    fits = []
    for seed in (23, 24, 25):
        x, chosen, label = simulate(np.random.default_rng(seed), 80, (2,), 1)
        fits.append(fit_clogit(x, chosen, label, cov="clustered", cluster=label // 2))
    found = wald_test(*fits[:2])
    z = (fits[0].estimate[0] - fits[1].estimate[0]) / np.hypot(fits[0].std_error[0], fits[1].std_error[0])
    assert found == pytest.approx((z**2, 1, 2 * stats.norm.sf(abs(z))))
    # Of three, the distances from their mean, weighted by precision.
    b, v = (np.array([getattr(fit, name)[0] for fit in fits]) for name in ("estimate", "std_error"))
    mean = np.average(b, weights=v**-2)
    assert wald_test(*fits)[:2] == pytest.approx((((b - mean) ** 2 / v**2).sum(), 2))
    with pytest.raises(AnalysisError, match="wald_test: the fits need the same terms"):
        wald_test(fits[0], fit_clogit(x.assign(more=0.0), chosen, label))


def test_one_cluster_gives_no_standard_error() -> None:
    x, chosen, label = simulate(np.random.default_rng(19), 50, (2,), 1)
    fit = fit_clogit(x, chosen, label, cov="clustered", cluster=np.zeros(len(x)))
    assert not np.isnan(fit.estimate).any() and np.isnan(fit.std_error).all()
    assert "clustered errors need 12 or more choice sets" in fit.term_notes[0]


X, CHOSEN, LABEL = simulate(np.random.default_rng(20), 10, (2,), 2)
OPTIONS = np.arange(20)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X, CHOSEN[1:], LABEL), {}, "chosen: .* one per option"),
        ((X, CHOSEN * 2, LABEL), {}, "chosen: a value is not 1, 0, a chance"),
        ((X, CHOSEN * 0.5, LABEL), {}, "chosen: the chances of a set do not add up to 1"),
        ((X, CHOSEN * 0 + 1, LABEL), {}, "more than one choice"),
        ((X.set_axis(["a", "a"], axis=1), CHOSEN, LABEL), {}, "two columns"),
        ((X["x0"].to_numpy(), CHOSEN, LABEL), {}, "1 dimensions"),
        ((X, CHOSEN, LABEL), {"weights": -LABEL}, "negative"),
        ((X, CHOSEN, LABEL), {"weights": OPTIONS}, "weights: differs within a set"),
        ((X, CHOSEN, LABEL), {"cluster": LABEL}, "give both or neither"),
        ((X, CHOSEN, LABEL), {"cov": "clustered"}, "give both or neither"),
        ((X, CHOSEN, LABEL), {"cov": "clustered", "cluster": OPTIONS}, "cluster: differs"),
    ],
)
def test_mistakes_are_one_line(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(AnalysisError, match=message) as error:
        fit_clogit(*arguments, **options)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.floats(-1000, 1000))
def test_only_differences_within_sets_count(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    x, chosen, label = simulate(rng, 60, (2, 3, 4), 3)
    first = fit_clogit(x, chosen, label)
    moved = x + shift * rng.normal(size=(60, 3))[label]
    order = rng.permutation(len(x))
    names = np.array([f"set {k}" for k in rng.permutation(60)])
    for other in (
        fit_clogit(moved, chosen, label),
        fit_clogit(x.iloc[order], chosen[order], label[order]),
        fit_clogit(x, chosen, names[label]),
        fit_clogit(x[["x2", "x0", "x1"]], chosen, label),
    ):
        assert other.loglik == pytest.approx(first.loglik, abs=1e-7)
        for term in first.terms:
            assert other.of(term) == pytest.approx(first.of(term), rel=1e-5, abs=1e-7)
