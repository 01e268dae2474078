"""Simulated answers with known truths, and the checks of published studies where they are at hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

DATA = Path(__file__).parents[4] / "shared" / "data"

PRICES = {"docking station": 49.99, "coffee pods": 57.31, "weighted vest": 59.99}
ANCHORS = {"control": None, "low": 15.0, "high": 95.0}


def _checks(study: str) -> dict[str, Any]:
    path = DATA / study / "expected-public.json"
    if not path.exists():
        pytest.skip(f"the checks are not beside the repository (../shared/data/{study})")
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def _valuations(
    seed: int = 0,
    *,
    agents: tuple[str, ...] = ("alpha", "beta"),
    repeats: int = 20,
    sd: float = 10.0,
    pull: float = 0.1,
    shift: float = -5.0,
) -> pd.DataFrame:
    """Normal responses around list price + shift (+ 3 for each further agent), pulled by the anchor."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, agent in enumerate(agents):
        for item, price in PRICES.items():
            for condition, anchor in ANCHORS.items():
                mean = price + shift + 3 * i + (0 if anchor is None else pull * (anchor - 55))
                for repeat, value in enumerate(rng.normal(mean, sd, repeats)):
                    rows.append(
                        {
                            "run": "r",
                            "trial": f"{item}/{condition}/{repeat}",
                            "agent": agent,
                            "item": item,
                            "condition": condition,
                            "repeat": repeat,
                            "response": max(0.0, float(value)),
                            "reason": "",
                            "reference": price,
                            "low": price - 15,
                            "high": price + 15,
                            "anchor": anchor,
                        }
                    )
    return pd.DataFrame(rows)


def _answers(
    biases: dict[str, tuple[list[float], list[float]]],
    *,
    agents: tuple[str, ...] = ("alpha",),
    scenarios: tuple[str, ...] = ("base",),
    temperatures: tuple[float, ...] = (1.0,),
) -> pd.DataFrame:
    """Experiments with the given control and treatment responses (NaN: missing, "letter")."""
    rows = [
        {
            "trial": f"{bias}/{scenario}/{temperature}/{condition}/{repeat}",
            "agent": agent,
            "item": bias,
            "condition": condition,
            "scenario": scenario,
            "temperature": temperature,
            "repeat": repeat,
            "response": value,
            "reason": "letter" if np.isnan(value) else "",
            "family": agent.partition("-")[0],
        }
        for agent in agents
        for bias, groups in biases.items()
        for scenario in scenarios
        for temperature in temperatures
        for condition, values in zip(("control", "treatment"), groups, strict=True)
        for repeat, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def checks() -> Callable[[str], dict[str, Any]]:
    return _checks


@pytest.fixture(scope="session")
def valuations() -> Callable[..., pd.DataFrame]:
    return _valuations


@pytest.fixture(scope="session")
def answers() -> Callable[..., pd.DataFrame]:
    return _answers


def _check_uncut(figure: Figure) -> None:
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert box.x0 >= -0.02 and box.y0 >= -0.02 and box.x1 <= width + 0.02 and box.y1 <= height + 0.02


@pytest.fixture(scope="session")
def check_uncut() -> Callable[[Figure], None]:
    """Fails where something drawn lies beyond the edge of the figure."""
    return _check_uncut
