"""The penalised fit of separated choices against closed forms, a brute-force maximum, and known truths."""

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import optimize, stats

from analysis.estimators.clogit import fit_clogit
from analysis.estimators.clogit_few_data import PENALISED, penalised
from analysis.estimators.leave_out import moves, with_errors
from analysis.estimators.moved import FEW_SETS
from tests.support import size

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def found_in(x: pd.DataFrame, chosen: Floats, groups: Ints, clusters: Ints) -> dict[str, dict[str, float]]:
    return penalised(fit_clogit(x, chosen, groups), x, chosen, groups, clusters)


@pytest.mark.parametrize("pairs", [5, 12, 40])
def test_one_term_of_pairs_is_a_count_with_a_half_added(pairs: int) -> None:
    """Firth (1993): log((k + 1/2) / (n - k + 1/2)), here with k = n; its likelihood is in closed form too."""
    x, chosen = pd.DataFrame({"badge": np.tile([1.0, 0.0], pairs)}), np.tile([1.0, 0.0], pairs)
    groups = np.repeat(np.arange(pairs), 2)
    row = found_in(x, chosen, groups, groups)["badge"]
    assert row["estimate"] == pytest.approx(math.log(2 * pairs + 1), abs=1e-4)
    assert str(row["note"]).startswith(f"{PENALISED}: badge separates the choices")
    if pairs < 12:
        assert FEW_SETS in str(row["note"]) and "conf_low" not in row
        return

    def loglik(b: float) -> float:
        p = 1 / (1 + math.exp(-b))
        return pairs * math.log(p) + math.log(pairs * p * (1 - p)) / 2

    top = loglik(math.log(2 * pairs + 1))
    for end in ("conf_low", "conf_high"):
        assert 2 * (top - loglik(row[end])) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-4)
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert row["p_value"] == pytest.approx(stats.chi2.sf(2 * (top - loglik(0)), 1), rel=1e-4)


def separated(seed: int = 0, sets: int = 15, times: int = 3) -> tuple[pd.DataFrame, Floats, Ints, Ints]:
    """Trios, each set asked several times; the option with the badge is always taken."""
    rng = np.random.default_rng(seed)
    trials, label = sets * times, np.repeat(np.arange(sets * times), 3)
    chosen = np.eye(3)[rng.integers(3, size=trials)].ravel()
    x = pd.DataFrame({"badge": chosen, "price": rng.normal(size=3 * trials) - 0.4 * chosen})
    return x.assign(never=rng.integers(2, size=trials)[label]), chosen, label, label // (3 * times) % sets


def test_it_is_the_maximum_of_its_likelihood_with_each_choice_set_once() -> None:
    x, chosen, label, _ = separated()
    clusters = label % 15
    values = x[["badge", "price"]].to_numpy()

    def loss(beta: Floats) -> float:
        total, information = 0.0, np.zeros((2, 2))
        for each in np.unique(label):
            rows, own = values[label == each], chosen[label == each]
            weight = 1 / len(np.unique(label[clusters == clusters[label == each][0]]))
            p = np.exp(rows @ beta) / np.exp(rows @ beta).sum()
            total += weight * float(np.log(p @ own))
            information += weight * ((rows * p[:, None]).T @ rows - np.outer(p @ rows, p @ rows))
        return -(total + math.log(np.linalg.det(information)) / 2)

    def least(start: list[float], held: float | None = None) -> tuple[Floats, float]:
        of = loss if held is None else lambda rest: loss(np.array([held, rest[0]]))
        best = optimize.minimize(of, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11})
        return best.x, float(best.fun)

    found = found_in(x, chosen, label, clusters)
    assert set(found) == {"badge"} or set(found) == {"badge", "price"}
    best, top = least([1.0, 0.0])
    assert found["badge"]["estimate"] == pytest.approx(best[0], abs=1e-4)
    for end in ("conf_low", "conf_high"):
        _, lost = least([0.0], found["badge"][end])
        assert 2 * (lost - top) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-3)
    _, lost = least([0.0], 0.0)
    assert found["badge"]["p_value"] == pytest.approx(stats.chi2.sf(2 * (lost - top), 1), rel=1e-3)


def test_limits_are_found_where_the_other_term_separates_too() -> None:
    """The profile of one term is then nearly flat far out, and still falls; it is searched on a grid here."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(90, 2))
    x[:, 1] = x[:, 1] > 0
    label = np.repeat(np.arange(30), 3)
    worth = (x @ [0.3, 3.0]).reshape(30, 3)
    chosen = np.eye(3)[worth.argmax(axis=1)].ravel()
    found = found_in(pd.DataFrame(x, columns=["price", "badge"]), chosen, label, label // 2)

    def loss(price: float, badge: float) -> float:
        utility = price * x[:, 0] + badge * x[:, 1]
        odds = np.exp(utility.reshape(30, 3) - utility.reshape(30, 3).max(axis=1)[:, None])
        p = odds / odds.sum(axis=1)[:, None]
        apart = x.reshape(30, 3, 2) - np.einsum("nj,njk->nk", p, x.reshape(30, 3, 2))[:, None]
        information = np.einsum("njk,nj,njl->kl", apart, p, apart) / 2
        told = np.log(np.maximum(p.ravel()[chosen == 1], 1e-300)).sum() / 2
        return -(float(told) + math.log(max(np.linalg.det(information), 1e-300)) / 2)

    top = loss(found["price"]["estimate"], found["badge"]["estimate"])
    for end in ("conf_low", "conf_high"):
        at = found["price"][end]
        grid = np.arange(-20, 200, 0.02)
        lost = min(loss(at, each) for each in grid)
        assert 2 * (lost - top) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=2e-3)


def test_choices_that_are_not_separated_are_left_alone() -> None:
    x, _, label, clusters = separated()
    chosen = np.eye(3)[np.random.default_rng(1).integers(3, size=len(x) // 3)].ravel()
    assert found_in(x, chosen, label, clusters) == {}


def test_a_set_that_is_asked_again_and_answered_alike_tells_nothing_new() -> None:
    x, chosen, label, _ = separated(times=1)
    once = found_in(x, chosen, label, label)
    thrice = pd.concat([x] * 3, ignore_index=True)
    labels = np.concatenate([label + 100 * each for each in range(3)])
    again = found_in(thrice, np.tile(chosen, 3), labels, np.tile(label, 3))
    for term, row in once.items():
        numbers = [name for name in row if name != "note"]
        assert [again[term][name] for name in numbers] == pytest.approx(
            [row[name] for name in numbers], abs=1e-4
        )


def interval(x: pd.DataFrame, chosen: Floats, label: Ints, sets: Ints) -> tuple[float, float, float, bool]:
    """The interval that is printed, its p value, and whether choices were separated."""
    fit = fit_clogit(x, chosen, label)
    fit = with_errors(fit, moves(fit, x, chosen, label, sets))
    row = fit.frame().iloc[0].to_dict() | penalised(fit, x, chosen, label, sets).get("badge", {})
    return float(row["conf_low"]), float(row["conf_high"]), float(row["p_value"]), bool(fit.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "alike"), [(0.0, True), (2.0, False), (3.5, False), (3.5, True), (5.0, True)]
)
def test_the_interval_that_is_printed_holds_the_truth(truth: float, alike: bool) -> None:
    """With and without separation; each of 14 sets asked twice, and answered alike or not."""
    rng, missed, studies, apart = np.random.default_rng(2), 0, size(120, 1_000), 0
    label = np.repeat(np.arange(28), 2)
    for _ in range(studies):
        badge = np.tile([1.0, 0.0], 28)
        win = rng.random(28) < 1 / (1 + math.exp(-truth))
        win = np.repeat(win[::2], 2) if alike else win
        chosen = np.column_stack([win, ~win]).astype(float).ravel()
        low, high, _, is_separated = interval(pd.DataFrame({"badge": badge}), chosen, label, label // 2)
        missed, apart = missed + (not low <= truth <= high), apart + is_separated
    assert apart or truth < 1
    assert missed <= stats.binom.ppf(0.999, studies, 0.07), (missed / studies, apart / studies)
