"""Cohen's d: published cases, separation, invariances, coverage; caps, labels and homogeneity."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from analysis.estimators.effect_size import cohens_d, effect_label, homogeneity, mean_then_cap
from tests.analysis.conftest import public_json
from tests.support import size


def groups_of(case: dict[str, Any]) -> tuple[list[float], list[float]]:
    if case["kind"] == "numeric":
        return case["control"], case["treatment"]
    ones = case["control_ones"], case["treatment_ones"]
    first, second = ([1.0] * count + [0.0] * (case["n"] - count) for count in ones)
    return first, second


def test_published_effect_sizes() -> None:
    for case in public_json("bias-detection")["d_cases"]:
        control, treatment = groups_of(case)
        legacy = cohens_d(control, treatment, legacy_zero=True)
        assert legacy.d == pytest.approx(case["d_sample_sd"], abs=1e-12)
        published = cohens_d(control, treatment, population=True, legacy_zero=True)
        assert published.d == pytest.approx(case["d_population_sd"], abs=1e-12)
        found = cohens_d(control, treatment)
        separated = case["degenerate"] and np.mean(control) != np.mean(treatment)
        assert found.separated == separated == bool(np.isnan(found.d))
        if separated:
            assert found.sign == np.sign(np.mean(treatment) - np.mean(control))
            assert "complete separation" in found.note


def test_published_caps() -> None:
    for case in public_json("bias-detection")["cap_cases"]:
        mean, capped = mean_then_cap(case["values"])
        assert (mean, capped) == pytest.approx((case["mean"], case["mean_then_cap"]))
        each = [mean_then_cap([value])[1] for value in case["values"]]
        assert np.mean(each) == pytest.approx(case["cap_then_mean"])


def test_undefined_effect_sizes() -> None:
    for control, treatment in (([], [1.0, 2.0, 3.0]), ([1.0], [2.0]), ([np.nan], [1.0, 2.0]), ([], [])):
        effect = cohens_d(control, treatment)
        assert np.isnan([effect.d, effect.p_value, effect.sign]).all()
        assert effect.note.startswith("undefined: ")
    assert np.isnan(mean_then_cap([np.nan])).all()
    three = cohens_d([1.0], [2.0, 4.0])
    assert three.d == pytest.approx(2 / np.sqrt(2))


def test_equal_constants_are_no_bias() -> None:
    effect = cohens_d([0.1] * 3, [0.1] * 7)
    assert (effect.d, effect.p_value, effect.sign, effect.separated) == (0, 1, 0, False)
    assert np.isnan([effect.statistic, effect.std_error]).all()


def test_the_test_is_students() -> None:
    rng = np.random.default_rng(0)
    control, treatment = rng.normal(50, 9, 30), rng.normal(53, 5, 44)
    expected = stats.ttest_ind(treatment, control)
    for population in (False, True):
        effect = cohens_d(control, treatment, population=population)
        assert (effect.statistic, effect.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert cohens_d(control, treatment).d == pytest.approx(expected.statistic * np.sqrt(1 / 30 + 1 / 44))


Values = st.lists(st.integers(0, 1000).map(float), min_size=2, max_size=20)


@given(Values, Values, st.integers(-1000, 1000), st.sampled_from([0.5, 2.0, 4.0, 55555.5]))
def test_d_does_not_depend_on_the_scale(
    control: list[float], treatment: list[float], shift: int, scale: float
) -> None:
    first = cohens_d(control, treatment)
    moved = cohens_d([scale * v + shift for v in control], [scale * v + shift for v in treatment])
    swapped = cohens_d(treatment, control)
    assert moved.d == pytest.approx(first.d, rel=1e-6, abs=1e-6, nan_ok=True)
    assert moved.std_error == pytest.approx(first.std_error, rel=1e-4, abs=1e-6, nan_ok=True)
    assert swapped.d == pytest.approx(-first.d, nan_ok=True)
    assert moved.separated == first.separated == swapped.separated
    assume(not np.isnan(first.std_error))
    assert first.conf_low <= first.d <= first.conf_high


@pytest.mark.parametrize(
    ("truth", "kind"), [(0.0, "normal"), (0.8, "normal"), (0.6, "choice"), (1.0, "skewed")]
)
def test_intervals_cover(truth: float, kind: str) -> None:
    rng = np.random.default_rng(5)
    if kind == "choice":
        truth = 0.3 / np.sqrt((0.2 * 0.8 + 0.5 * 0.5) / 2)
    inside = 0
    for _ in range(100):
        if kind == "normal":
            control, treatment = rng.normal(0, 1, 100), rng.normal(truth, 1, 100)
        elif kind == "skewed":
            control, treatment = rng.exponential(1, 200), truth + rng.exponential(1, 200)
        else:
            control, treatment = rng.random(100) < 0.2, rng.random(100) < 0.5
        effect = cohens_d(control, treatment)
        inside += effect.conf_low <= truth <= effect.conf_high
    assert 90 <= inside <= 99


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.8, "large"),
        (0.79, "medium"),
        (0.5, "medium"),
        (0.2, "small"),
        (0.19, "negligible"),
        (-0.19, "negligible"),
        (-0.2, "small, opposite direction"),
        (-9.0, "large, opposite direction"),
        (np.nan, ""),
    ],
)
def test_labels(value: float, label: str) -> None:
    assert effect_label(value) == label


def test_homogeneity_by_hand() -> None:
    d = np.array([0.1, 0.5, 0.9])
    ratio, note = homogeneity(d, [100] * 3, [100] * 3)
    nu, m, delta = 198, 50, 0.5
    variance = nu / (nu - 2) / m * (1 + m * delta**2) - delta**2 / (1 - 3 / (4 * nu - 1)) ** 2
    assert ratio == pytest.approx(variance / np.var(d)) and note == ""
    assert homogeneity([0.5, 0.51], [100] * 2, [100] * 2)[0] == 1
    assert homogeneity([0.5, 0.5], [100] * 2, [100] * 2) == (1, "all effect sizes are equal")
    assert np.isnan(homogeneity([0.5, np.nan], [100] * 2, [100] * 2)[0])


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 0.8])
def test_hedges_g_has_no_bias_and_honest_intervals(delta: float) -> None:
    """d of 8 answers to each question is 6 % too large."""
    count, rng = size(1500, 20_000), np.random.default_rng(3)
    found = [cohens_d(rng.normal(0, 2, 8), rng.normal(2 * delta, 2, 8)) for _ in range(count)]
    g = np.array([each.hedges_g for each in found])
    held = np.array([each.hedges_low <= delta <= each.hedges_high for each in found])
    assert abs(g.mean() - delta) < 4 * g.std() / np.sqrt(count)
    assert held.sum() >= stats.binom.ppf(0.001, count, 0.93)
    for each in found[:20]:
        assert each.hedges_g == pytest.approx(each.d * (1 - 3 / (4 * 14 - 1)), rel=1e-3)


def test_g_is_of_the_sample_whatever_d_divides_by() -> None:
    rng = np.random.default_rng(4)
    control, treatment = rng.normal(size=9), rng.normal(size=12)
    one, other = (cohens_d(control, treatment, population=each) for each in (False, True))
    assert one.d != other.d
    assert (one.hedges_g, one.hedges_low) == pytest.approx((other.hedges_g, other.hedges_low))
    assert np.isnan(cohens_d([1.0], [2.0, 4.0]).hedges_g)


def test_published_bias_means() -> None:
    for cell in public_json("bias-detection")["cells"]:
        spread = np.linspace(-1, 1, cell["n"])
        mean, capped = mean_then_cap(cell["mean_d"] + spread - spread.mean())
        assert mean == pytest.approx(cell["mean_d"], abs=1e-9)
        assert capped == pytest.approx(cell["capped"], abs=1e-9)
