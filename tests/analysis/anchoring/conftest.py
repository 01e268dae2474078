"""Simulated scores with a known pull of the anchor, and the public study where it is at hand."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from analysis.anchoring.coalitions import coalitions

PUBLIC = Path(__file__).parents[4] / "shared" / "data" / "anchoring"
FIELDS = ("scene", "comparative", "absolute", "anchor")
STIMULI = {"V0": (10, 65), "V1-S": (10, 65), "V2-D": (20, 75)}


def simulate_scores(
    seed: int = 0,
    *,
    agents: Sequence[str] = ("alpha",),
    stimuli: dict[str, tuple[int, int]] = STIMULI,
    fields: Sequence[str] = FIELDS,
    present: Sequence[frozenset[str]] | None = None,
    step: int = 10,
    pull: float = 1.0,
) -> pd.DataFrame:
    """Targets near the anchor gain by its presence; the other fields add a constant each, and noise."""
    rng = np.random.default_rng(seed)
    values = np.arange(0, 101, step)
    rows = []
    for agent in agents:
        for stimulus, anchors in stimuli.items():
            base = rng.normal(-12, 1, len(values))
            for condition, anchor in zip(("low", "high"), anchors, strict=True):
                for coalition in present or coalitions(fields):
                    scores = base + rng.normal(0, 0.2, len(values))
                    scores = scores + 0.5 * len(coalition - {"anchor"})
                    if "anchor" in coalition:
                        scores = scores + pull * (anchor / 50 - np.abs(values - anchor) / 25)
                    for value, logprob in zip(values, scores, strict=True):
                        rows.append(
                            {
                                "run": "r",
                                "trial": f"{stimulus}/{condition}/{len(rows) // len(values)}",
                                "agent": agent,
                                "stimulus": stimulus,
                                "anchor": anchor,
                                "condition": condition,
                                "fields": "+".join(field for field in fields if field in coalition),
                                "target": f"{value}%",
                                "value": value,
                                "logprob": logprob,
                                "tokens": 2,
                                "shifted": 0,
                                "note": "",
                            }
                        )
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def simulate() -> Callable[..., pd.DataFrame]:
    return simulate_scores


@pytest.fixture(scope="session")
def public() -> Path:
    """The folder of the public study."""
    if not (PUBLIC / "expected-public.json").exists():
        pytest.skip("the public anchoring data are not beside the project (../shared/data/anchoring)")
    return PUBLIC


@pytest.fixture(scope="session")
def public_json(public: Path) -> Callable[[str], Any]:
    """One of the study's JSON files."""

    def read(name: str) -> Any:
        return json.loads((public / name).read_text(encoding="utf-8"))

    return read


@pytest.fixture(scope="session")
def check_uncut() -> Callable[[Figure], None]:
    """Fails where something drawn lies beyond the edge of the figure."""

    def check(figure: Figure) -> None:
        figure.draw_without_rendering()
        width, height = figure.get_size_inches()
        box = figure.get_tightbbox()
        assert box.x0 >= -0.02 and box.y0 >= -0.02 and box.x1 <= width + 0.02 and box.y1 <= height + 0.02

    return check
