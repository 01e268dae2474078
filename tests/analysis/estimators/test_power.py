"""Power of the F test: its defining sum, statsmodels, published counts; the search for the smallest K."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from analysis.estimators.power import power_anova, power_frame, smallest_k
from analysis.tables.errors import AnalysisError
from tests.analysis.conftest import published


def poisson_mixture(groups: int, per_group: int, effect: float, alpha: float) -> float:
    """The noncentral F as a mixture of betas, summed around the mode of the Poisson weights."""
    between, within = groups - 1, groups * (per_group - 1)
    half = groups * per_group * effect**2 / 2
    critical = stats.f.isf(alpha, between, within)
    x = between * critical / (between * critical + within)
    reach = int(10 * np.sqrt(half)) + 60
    j = np.arange(max(0, int(half) - reach), int(half) + reach)
    logs = np.concatenate([[0.0], np.cumsum(np.log(half / j[1:]))])
    weights = np.exp(logs - logs.max())
    return float(weights / weights.sum() @ special.betaincc(between / 2 + j, within / 2, x))


@pytest.mark.parametrize(
    ("groups", "per_group", "effect", "alpha"),
    [
        (2, 2, 0.001, 0.9),
        (2, 20_000, 1.5, 1e-6),
        (3, 5, 0.4, 0.05),
        (6, 64, 0.1, 0.05),
        (48, 1000, 0.05, 1e-6),
        (48, 20_000, 0.001, 0.05),
    ],
)
def test_agreement_with_the_defining_sum(groups: int, per_group: int, effect: float, alpha: float) -> None:
    # Noncentralities from 4e-6 to 2e6.
    expected = poisson_mixture(groups, per_group, effect, alpha)
    assert power_anova(groups, per_group, effect, alpha) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_published_counts() -> None:
    for check in published("power"):
        i, expected, tol = check["inputs"], check["expected"], check["tol"]["power_abs"]
        k = smallest_k(i["g"], i["f"], i["alpha"], i["power"])
        assert k == expected["K"]
        powers = [power_anova(i["g"], count, i["f"], i["alpha"]) for count in (k, k - 1, 100)]
        names = ("power_at_K", "power_at_K_minus_1", "power_at_100")
        assert powers == pytest.approx([expected[name] for name in names], abs=tol)


@settings(max_examples=40)
@given(st.integers(2, 60), st.floats(0.02, 5), st.floats(0.001, 0.5), st.floats(0.05, 0.999))
def test_the_smallest_count_is_the_smallest(groups: int, effect: float, alpha: float, target: float) -> None:
    k = smallest_k(groups, effect, alpha, target)
    assert k is not None and k >= 2
    assert power_anova(groups, k, effect, alpha) >= target > power_anova(groups, k - 1, effect, alpha)


def test_a_target_out_of_reach_is_said() -> None:
    assert smallest_k(2, 0.0005, 0.05, 0.8) is None
    assert power_anova(2, 1, 10.0, 0.05) == 0


def test_the_frame_shows_what_the_study_reaches() -> None:
    frame = power_frame(6, 100).set_index("effect")
    assert frame.loc[0.1, "estimate"] == 215
    assert frame.loc[0.1, "power_here"] == pytest.approx(0.42902851362155303)
    assert power_frame(6, 0)["power_here"].isna().all()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1, 0.1, 0.05, 0.8), "groups"),
        ((2.5, 0.1, 0.05, 0.8), "groups"),
        ((2, 0.0, 0.05, 0.8), "effect"),
        ((2, float("nan"), 0.05, 0.8), "effect"),
        ((2, 0.1, 1.0, 0.8), "alpha"),
        ((2, 0.1, 0.05, 0.0), "power"),
    ],
)
def test_impossible_arguments_are_refused(arguments: Any, name: str) -> None:
    with pytest.raises(AnalysisError, match=f"^{name}: "):
        smallest_k(*arguments)


def test_an_impossible_count_is_refused() -> None:
    with pytest.raises(AnalysisError, match=r"^per_group: 0"):
        power_anova(2, 0, 0.1)
