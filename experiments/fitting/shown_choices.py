"""Turn the tidy table of an agent's choices into what a simulated shopper weighs in each of them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
from pydantic import ValidationError

from agents.simulated.readers.card_text import bed_rank, family_of
from agents.simulated.tab_shopper import taste_for
from agents.simulated.utility import ATTRIBUTES, DisplayedOption, Taste, attributes
from analysis.conjoint.variants import BASE
from analysis.tables.choice_table import TRIAL_ID, check_table
from analysis.tables.frame import Floats, Ints
from interventions.files.schema import Intervention

BRAND: Final = "brand."
"""What the column of a brand begins with."""
HOTEL: Final = ("attr_name", "attr_stars", "attr_cancellation", "attr_breakfast", "attr_room")
"""The columns of a table of hotels that a shopper reads besides price, rating and reviews."""


@dataclass(frozen=True)
class ShownChoices:
    """Choices, an option a row, sorted by trial; T trials.

    x: N x K, what each weight of the taste is multiplied by, named as in its YAML file. chosen: 1 or 0.
    starts (T): the first row of each trial. sets (T): the choice set of each trial. prompts (T): equal where
    trials show the same. without_choice: trials that are left out because they ended without a choice.
    """

    x: pd.DataFrame
    chosen: Floats
    starts: Ints
    sets: Ints
    prompts: Ints
    without_choice: int

    @property
    def sizes(self) -> Ints:
        """The number of options of each trial."""
        return np.diff([*self.starts, len(self.x)])

    def of_sets(self, wanted: Ints) -> "ShownChoices":
        """Return the trials of these sets."""
        trials = np.isin(self.sets, wanted)
        rows = np.repeat(trials, self.sizes)
        starts = np.cumsum([0, *self.sizes[trials][:-1]])
        x = self.x[rows].reset_index(drop=True)
        part = replace(self, x=x, chosen=self.chosen[rows], sets=self.sets[trials])
        return replace(part, starts=starts, prompts=self.prompts[trials])


def shown_choices(table: pd.DataFrame, facts: Mapping[str, Any], *, hotels: bool) -> ShownChoices:
    """Return the choices of one agent in a tidy table.

    facts: those of the stored run; empty for a table of another origin. hotels: the options are hotels on
    cards, else products in a shop; of variants of the prompt only `base` counts. Raises AnalysisError for
    what is no tidy table.
    """
    checked = check_table(table)
    if hotels and (base := checked["condition"] == BASE).any():  # variants of the prompt are other questions
        checked = checked[base]
    made = checked[checked["chosen"].notna()].sort_values([TRIAL_ID, "position"], kind="stable")
    trial = made[TRIAL_ID].to_numpy()
    starts = np.flatnonzero(np.diff(trial, prepend=-1))
    wordless = _wordless(facts)
    blocks, prompts, known = [], [], dict[tuple[object, ...], int]()
    brands: list[str | None] = []
    factors = _Factors(facts, of_goals=not hotels)
    for rows in _trials(made, starts):
        first = rows[0]
        shown = [_alternative(row, wordless, hotels=hotels) for row in rows]
        blocks.append(attributes(shown) * factors.of(first["profile"]))
        brands += [item.brand for item in shown]
        texts = tuple(row["nudge"] if row["nudged"] or row["placebo"] else "" for row in rows)
        options = tuple(row["option"] for row in rows)
        prompt = (first["set"], first["profile"], options, texts, *shown)
        prompts.append(known.setdefault(prompt, len(known)))
    x = pd.DataFrame(np.concatenate(blocks) if blocks else np.empty((0, len(ATTRIBUTES))), columns=ATTRIBUTES)
    for brand in sorted({brand.lower() for brand in brands if brand}):
        x[f"{BRAND}{brand}"] = [float((name or "").lower() == brand) for name in brands]
    return ShownChoices(
        x,
        made["chosen"].to_numpy(float),
        starts,
        pd.factorize(made["set"].to_numpy()[starts], sort=True)[0],
        np.array(prompts, dtype=np.int64),
        checked[TRIAL_ID].nunique() - len(starts),
    )


def _trials(made: pd.DataFrame, starts: Ints) -> Iterator[list[dict[str, Any]]]:
    wanted = (
        "set", "option", "price", "rating", "reviews", "viewed_first", "nudged", "placebo", "nudge",
        "direction", "profile", *HOTEL,
    )  # fmt: skip
    rows = made[[name for name in wanted if name in made]].to_dict("records")
    for low, high in pairwise([*starts, len(rows)]):
        yield [
            {"profile": "", "nudge": ""} | {str(k): value for k, value in row.items()}
            for row in rows[low:high]
        ]


def _alternative(row: Mapping[str, Any], wordless: frozenset[str], *, hotels: bool) -> DisplayedOption:
    cue: Any = int(row["direction"]) if row["nudged"] and row["nudge"] not in wordless else 0
    shown = DisplayedOption(
        price=_known(row.get("price")),
        rating=_known(row.get("rating")),
        reviews=int(_known(row.get("reviews")) or 0),
        cue=cue,
        viewed_first=bool(row["viewed_first"]),
    )
    if not hotels:
        return shown
    stars = _number(row.get("attr_stars"))
    return replace(
        shown,
        brand=family_of(str(row.get("attr_name", ""))),
        stars=None if stars is None else int(stars),
        cancellation=bool(_number(row.get("attr_cancellation"))),
        breakfast=bool(_number(row.get("attr_breakfast"))),
        bed=bed_rank(str(row.get("attr_room", ""))),
    )


def _known(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _number(value: Any) -> float | None:
    """A number of a column that was not checked; None for what is none, or is endless."""
    number = _known(pd.to_numeric(value, errors="coerce"))
    return number if number is not None and math.isfinite(number) else None


class _Factors:
    """What the goal of a trial does to each weight: a shopper is told for whom it shops (see `taste_for`)."""

    def __init__(self, facts: Mapping[str, Any], *, of_goals: bool) -> None:
        said = facts.get("inputs", {}).get("profiles")
        goal = facts.get("experiment", {}).get("goal") or ""
        told = said if isinstance(said, dict) and of_goals else {}
        self._goals = {name: f"{goal} {sentence}" for name, sentence in told.items()}
        self._known: dict[str, Floats] = {}

    def of(self, profile: str) -> Floats:
        """Return a factor for each of `ATTRIBUTES`."""
        if profile not in self._known:
            taste = taste_for(
                self._goals.get(profile, ""), Taste.model_validate(dict.fromkeys(ATTRIBUTES, 1.0))
            )
            self._known[profile] = np.array([getattr(taste, name) for name in ATTRIBUTES])
        return self._known[profile]


def _wordless(facts: Mapping[str, Any]) -> frozenset[str]:
    """The interventions of a run that show no text: of them, simulated shoppers see changed figures only."""
    found = set()
    for item, *_ in facts.get("inputs", {}).get("interventions", []):
        try:
            intervention = Intervention.model_validate(item)
        except (ValidationError, TypeError):  # from a database of somebody else's
            continue
        if not any(edit.words() for edit in intervention.edits):
            found.add(intervention.id)
    return frozenset(found)
