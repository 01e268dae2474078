"""The score of a variation, of a model, and the ranking."""

from math import nan, tanh
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.anchoring.abss import (
    STUDY,
    ModelScore,
    expected_variations,
    model_score,
    ranking,
    score,
    weight,
)

p_values = st.floats(0, 1) | st.just(nan)
CLEAR: dict[str, Any] = {"p_log": 1e-9, "p_shap": 1e-9, "p_wilcoxon": 1e-9, "p_permutation": 1e-4}


def test_weights() -> None:
    assert [weight(p) for p in (1, 0.1, 0.001, 1e-30)] == pytest.approx([0, 1 / 3, 1, 1])
    assert weight(0) == 1, "a p that underflows is the clearest"
    assert weight(nan) == 0


def test_a_clear_effect_in_one_direction() -> None:
    found = score(delta_ev=12, delta_phi=0.5, **CLEAR)
    assert found.abss == pytest.approx(0.12 + tanh(0.5) + 0.15) and found.concordance == 1
    assert score(delta_ev=-12, delta_phi=-0.5, **CLEAR).abss == pytest.approx(-0.12 - tanh(0.5) + 0.15)
    assert score(delta_ev=12, delta_phi=-0.5, **CLEAR).abss == pytest.approx(0.12 - tanh(0.5) - 0.15)


def test_concordance_needs_two_clear_tests_and_two_signs() -> None:
    for p, expected in ((0.25, 1), (0.252, 0), (nan, 0)):
        for name in ("p_log", "p_shap"):
            assert score(delta_ev=12, delta_phi=0.5, **CLEAR | {name: p}).concordance == expected
    assert score(delta_ev=1e-13, delta_phi=0.5, **CLEAR).concordance == 0


def test_robustness_leaves_undefined_tests_out() -> None:
    def rho(wilcoxon: float, permutation: float) -> float:
        p = CLEAR | {"p_wilcoxon": wilcoxon, "p_permutation": permutation}
        return score(delta_ev=12, delta_phi=0.5, **p).rho

    assert [rho(0, 0), rho(1, 0), rho(nan, 0), rho(nan, 1), rho(nan, nan)] == [1, 0.75, 1, 0.5, 0.5]


def test_without_an_effect_there_is_no_score() -> None:
    for missing in ({"delta_ev": nan, "delta_phi": 0.5}, {"delta_ev": 3.0, "delta_phi": nan}):
        found = score(**missing, **CLEAR)
        assert found.abss != found.abss


@given(st.floats(-100, 100), st.floats(-20, 20), p_values, p_values, p_values, p_values)
def test_the_range_of_a_variation(
    ev: float, phi: float, log: float, shap: float, w: float, perm: float
) -> None:
    found = score(delta_ev=ev, delta_phi=phi, p_log=log, p_shap=shap, p_wilcoxon=w, p_permutation=perm)
    assert abs(found.abss) <= 2.15 + 1e-12
    mirror = score(delta_ev=-ev, delta_phi=-phi, p_log=log, p_shap=shap, p_wilcoxon=w, p_permutation=perm)
    assert found.abss + mirror.abss == pytest.approx(2 * 0.15 * found.concordance, abs=1e-12)


def test_a_models_score_leaves_the_classic_question_out() -> None:
    scores = dict.fromkeys(STUDY, 0.5) | {"V0": 9.0}
    assert model_score(scores, expected_variations(["V0", "V1-S"])) == ModelScore(5.0, 0.5, 10, ())
    part = model_score(scores | {"V3-D": nan}, STUDY)
    assert (part.total, part.mean, part.missing) == (4.5, 0.5, ("V3-D",))
    none = model_score({}, ["mine"])
    assert none.variations == 0 and none.total != none.total


def test_own_stimuli_are_all_expected() -> None:
    assert expected_variations(["V0", "mine", "yours", "mine"]) == ["mine", "yours"]


def test_ranking_by_sum_then_name_and_by_mean_where_one_is_incomplete() -> None:
    full = {name: ModelScore(total, total / 10, 10, ()) for name, total in (("b", 2), ("a", 2), ("c", 5))}
    assert ranking(full) == ["c", "a", "b"]
    part = {"part": ModelScore(2.7, 0.3, 9, ("V1-S",)), "none": ModelScore(nan, nan, 0, tuple(STUDY))}
    assert ranking(full | part) == ["c", "part", "a", "b", "none"]
