"""Shoppers with known eyes in the experiments `modality` and `visual`: what they overlook is known."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from agents.simulated.own_profiles import profile_of
from agents.simulated.utility import DisplayedOption, choice_probabilities
from analysis.choice.effects.groups import modality_effects
from analysis.tables.choice_table import check_table
from experiments.designs.inputs.experiment_file import experiment_source
from tests.ground_truth import assert_chosen_as_known, carry_out

pytestmark = [pytest.mark.browser, pytest.mark.slow]

UNNUDGED = {"nudge": {"interventions": "nudges", "only": ["wirecutter"], "on": ["none"]}}
CASES: dict[str, dict[str, Any]] = {
    # Letters of 14 pixels are too small for it, those of prices are not: in pictures it reads no rating,
    # and takes what it has seen first.
    "modality": {
        "factors": UNNUDGED,
        "taste": {"rating": 200, "position": 20},
        "sight": {"smallest": 20},
        "term": "viewed_first",
        "reads": {"html": {"rating"}, "tree": {"rating"}, "screenshot": set(), "marks": set()},
    },
    # The blue letters of a badge are too pale for it, black ones are not.
    "visual": {
        "factors": {
            "nudge": {
                "interventions": "visual",
                "only": ["plain-under-title", "badge-under-title"],
                "on": ["each"],
            },
            "order": "listed",
        },
        "taste": {"position": 20, "nudge": 60},
        "sight": {"contrast": 9},
        "term": "nudged",
        "reads": {"html": {"plain-under-title", "badge-under-title"}, "screenshot": {"plain-under-title"}},
    },
    # On cards, titles and prices are larger than ratings.
    "listing": {
        "seed": 43,  # the two products' ratings differ
        "factors": UNNUDGED,
        "taste": {"rating": 200, "position": 20},
        "sight": {"smallest": 14},
        "term": "viewed_first",
        "reads": {"html": {"rating"}, "tree": {"rating"}, "screenshot": set(), "marks": set()},
    },
    "search": {
        "options": experiment_source("search").data["options"],
        "factors": {
            "nudge": {"interventions": "nudges", "only": ["wirecutter"], "on": ["each"]},
            "order": "listed",
        },
        "taste": {"position": 20, "nudge": 60},
        "sight": {},
        "term": "nudged",
        "reads": {way: {"wirecutter"} for way in ("html", "tree", "screenshot", "marks")},
    },
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
async def test_what_is_overlooked_in_pictures_moves_nobody(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case, shipped = CASES[name], experiment_source(name)
    reads: dict[str, set[str]] = case["reads"]
    assert list(reads) == shipped.data.get("observation", list(reads))
    data = shipped.data | {
        "options": {**case.get("options", {}), "sets": 1},
        "factors": case["factors"],
        "observation": list(reads),
        "seed": case.get("seed", 42),
    }
    agent = "simulated:eyes.yaml"
    (tmp_path / "eyes.yaml").write_text(yaml.safe_dump({name: case[name] for name in ("taste", "sight")}))
    done = await carry_out(tmp_path, replace(shipped, data=data), agent, 8, 4)
    weights, rows = profile_of(agent).taste, check_table(done.table)
    chances = pd.Series(0.0, index=rows.index)
    for _, options in rows.groupby("trial"):
        chances[options.index] = choice_probabilities(
            weights,
            [
                DisplayedOption(
                    price=row.price,
                    rating=row.rating if "rating" in reads[row.modality] else None,
                    reviews=row.reviews,
                    cue=int(row.nudged and row.nudge in reads[row.modality]),
                    viewed_first=bool(row.viewed_first),
                )
                for row in options.itertuples()
            ],
        )
    assert_chosen_as_known(done, chances)
    _, differences = modality_effects(rows)
    moved = differences[differences["term"] == case["term"]].set_index("modality")["estimate"]
    for modality in reads.keys() - {"html"}:
        assert (abs(moved[modality]) > 20) == (reads[modality] < reads["html"]), moved
