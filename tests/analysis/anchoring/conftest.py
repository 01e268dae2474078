"""Simulated scores with a known pull of the anchor."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.anchoring.coalitions import coalitions

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
    rows: list[tuple[object, ...]] = []
    for agent in agents:
        for stimulus, anchors in stimuli.items():
            base = rng.normal(-12, 1, len(values))
            for condition, anchor in zip(("low", "high"), anchors, strict=True):
                for coalition in present or coalitions(fields):
                    scores = base + rng.normal(0, 0.2, len(values))
                    scores = scores + 0.5 * len(coalition - {"anchor"})
                    if "anchor" in coalition:
                        scores = scores + pull * (anchor / 50 - np.abs(values - anchor) / 25)
                    trial = f"{stimulus}/{condition}/{len(rows) // len(values)}"
                    present_fields = "+".join(field for field in fields if field in coalition)
                    rows += [
                        (trial, agent, stimulus, anchor, condition, present_fields, value, logprob)
                        for value, logprob in zip(values, scores, strict=True)
                    ]
    names = ["trial", "agent", "stimulus", "anchor", "condition", "fields", "value", "logprob"]
    table = pd.DataFrame(rows, columns=names)
    target = table["value"].astype(str) + "%"
    return table.assign(run="r", target=target, tokens=2, shifted=0, note="")
