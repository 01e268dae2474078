"""Importances: a planted feature is found on held-out agents; what cannot be known is said."""

import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest

from analysis.biases.importances import FEATURES, feature_importances
from analysis.tables.errors import AnalysisError

AGENTS = [f"{family}-{size}b" for family in ("one", "two") for size in (1, 3, 8, 70)]
FAMILIES = {agent: agent.partition("-")[0] for agent in AGENTS}
SIZES = {agent: float(agent.partition("-")[2].removesuffix("b")) for agent in AGENTS}


def planted(agents: list[str] = AGENTS) -> pd.DataFrame:
    """The first bias is strong, the second absent; the size of the model adds a little, nothing else."""
    rng = np.random.default_rng(0)
    rows = [
        (bias, agent, scenario, temperature, rng.normal(0, 0.02))
        for bias in ("anchoring", "framing")
        for agent in agents
        for scenario in ("base", "odd")
        for temperature in (0.2, 1.0)
    ]
    effects = pd.DataFrame(rows, columns=["term", "group", "scenario", "temperature", "noise"])
    noise = effects.pop("noise")
    strong = (effects["term"] == "anchoring") * (0.4 + 0.4 * (effects["group"].map(SIZES) > 5))
    return effects.assign(capped=(strong + noise).clip(0, 1))


@cache
def importances(seed: int) -> pd.DataFrame:
    return feature_importances(planted(), FAMILIES, SIZES, seed=seed)


@pytest.mark.slow
def test_planted_features_are_found() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    frame = importances(seed=3).set_index("term")
    assert set(frame.index) == set(FEATURES)
    order = frame["estimate"].sort_values(ascending=False).index.tolist()
    assert order[:2] == ["bias", "size"]
    assert frame["estimate"].drop(["bias", "size"]).abs().max() < 0.02 < frame.loc["size", "estimate"]
    assert frame["r_squared"].iloc[0] > 0.9 and set(frame["folds"]) == {5}
    assert frame["note"].str.contains("seed 3, stream importances").all()
    assert frame[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)


@pytest.mark.slow
def test_unknown_and_constant_features_are_left_out() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    effects = planted().assign(scenario="base")
    frame = feature_importances(effects, dict.fromkeys(AGENTS, ""), {}).set_index("term")
    assert frame.loc["size", "note"] == frame.loc["family", "note"] == "left out: not known for every agent"
    assert frame.loc["scenario", "note"] == "left out: does not vary"
    assert frame["estimate"].notna().to_dict() == dict.fromkeys(FEATURES, False) | {
        "bias": True,
        "temperature": True,
    }


@pytest.mark.thorough
@pytest.mark.slow
def test_noise_is_called_noise() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    rng = np.random.default_rng(1)
    effects = planted()
    frame = feature_importances(effects.assign(capped=rng.random(len(effects))), FAMILIES, SIZES)
    assert frame["r_squared"].iloc[0] <= 0
    assert frame["note"].str.contains("held-out agents are not predicted").all()


def test_few_agents_are_not_enough() -> None:
    frame = feature_importances(planted(AGENTS[:4]), FAMILIES, SIZES)
    assert frame["estimate"].isna().all()
    assert set(frame["note"]) == {"undefined: effect sizes of 4 agents, needs 5"}


def test_the_same_bias_everywhere_has_no_causes() -> None:
    frame = feature_importances(planted().assign(capped=0.5), FAMILIES, SIZES)
    assert frame["estimate"].isna().all() and frame["note"].str.startswith("undefined").all()


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.compose", None)
    with pytest.raises(AnalysisError, match="need scikit-learn; pip install scikit-learn"):
        feature_importances(planted(), FAMILIES, SIZES)
