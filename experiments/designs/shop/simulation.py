"""Draw the choices of a simulated shopper in trials of a design, without a browser.

The products, texts, orders, profiles and goals are those that a browser would show, and so are the chances of
each choice. So hundreds of studies are drawn in the time of one episode.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np
import pandas as pd

from agents.simulated.tab_shopper import taste_for
from agents.simulated.utility import ATTRIBUTES, DisplayedOption, Taste, attributes, choice_probabilities
from analysis.tables.choice_table import check_table
from analysis.tables.frame import Floats, Ints
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial

_OF_TRIAL: Final = ("agent", "set", "condition", "profile", "repeat", "ordering")
DIFFERING: Final = ("nudge", "position", "log_price", "rating")
"""The weights that can differ between choice sets; that of the nudge also between texts."""


@dataclass(frozen=True)
class SimulatedTrials:
    """Trials as a checked tidy table, and the chance (rows) of each row's option to be chosen.

    Whatever the table says is chosen is a placeholder.
    """

    table: pd.DataFrame
    trials: tuple[ShopTrial, ...]
    chances: Floats
    taste: Taste
    values: Floats
    """What the weights of a taste are multiplied by: rows x `ATTRIBUTES`."""

    def with_taste(self, taste: Taste) -> "SimulatedTrials":
        """Return the same trials for a shopper with another taste."""
        return replace(self, taste=taste, chances=_chances(self.trials, taste))

    @property
    def determinism(self) -> float:
        """The share of choices that the same prompt always gives alike."""
        return self.taste.determinism

    def drawn(self, rng: np.random.Generator, studies: int) -> Floats:
        """Return fresh choices, rows x studies, of 0 and 1; each study has a shopper of its own."""
        return self.drawn_with(rng, np.zeros((1, studies)))

    def drawn_with(self, rng: np.random.Generator, shift: Floats) -> Floats:
        """Return fresh choices as `drawn` does, with what `shifts` adds to the utilities of each study."""
        noise = rng.gumbel(size=(len(self.table), shift.shape[1]))
        studies = shift.shape[1]
        if self.determinism:
            sizes = [len(trial.products) for trial in self.trials]
            alike = np.repeat(rng.random((len(sizes), studies)) < self.determinism, sizes, axis=0)
            noise = np.where(alike, rng.gumbel(size=noise.shape)[self._same_prompt()], noise)
        return self.best(noise + shift)

    def shifts(self, rng: np.random.Generator, studies: int, share: float) -> Floats:
        """Draw how far choice sets and texts differ in what moves the choice: rows x studies.

        Each set has weights of its own for the nudge, the order, the price and the rating, and each text has
        a weight of its own, from normal distributions around the shopper's weights with `share` of these as
        standard deviation. Returned is what that adds to utilities, in units of the noise. A shopper without
        noise has no such unit, and does not differ.
        """
        size = len(self.table)
        if not share or not self.taste.noise:
            return np.zeros((size, studies))
        sizes = [len(trial.products) for trial in self.trials]
        carried = [trial.cell if trial.carrier else "" for trial in self.trials]
        sets, texts = pd.factorize(self.table["set"])[0], np.repeat(pd.factorize(np.array(carried))[0], sizes)
        total = np.zeros((size, studies))
        for name, part in zip(DIFFERING, self._parts.T, strict=True):
            for codes in (sets, texts) if name == "nudge" else (sets,):
                total += part[:, None] * rng.standard_normal((codes.max() + 1, studies))[codes]
        return np.asarray(total * share / self.taste.noise)

    @cached_property
    def _parts(self) -> Floats:
        """What each weight of `DIFFERING` adds to the utility of each row, rows x weights."""
        tastes = {goal: taste_for(goal, self.taste) for goal in {trial.goal for trial in self.trials}}
        weights = [[getattr(tastes[trial.goal], name) for name in DIFFERING] for trial in self.trials]
        trial_of = np.repeat(np.arange(len(self.trials)), [len(trial.products) for trial in self.trials])
        places = [ATTRIBUTES.index(name) for name in DIFFERING]
        found = self.values[:, places] * np.array(weights)[trial_of]
        means = np.array([np.bincount(trial_of, column) / np.bincount(trial_of) for column in found.T])
        centred: Floats = found - means.T[trial_of]
        return centred

    def shifted(self, shift: Floats) -> Floats:
        """Return the chances with what `shifts` adds to the utilities: rows x studies."""
        starts = np.cumsum([0, *(len(trial.products) for trial in self.trials)])[:-1]
        raised = self.chances[:, None] * np.exp(shift)
        sizes = np.diff([*starts, len(raised)])
        return np.asarray(raised / np.repeat(np.add.reduceat(raised, starts), sizes, axis=0))

    def _same_prompt(self) -> Ints:
        """For each row, the row of its option in the first trial that shows the same."""
        starts = np.cumsum([0, *(len(trial.products) for trial in self.trials)])
        first: dict[tuple[object, ...], int] = {}
        same = []
        for trial, start in zip(self.trials, starts, strict=False):
            text = trial.cell if trial.carrier else ""
            shown = (trial.goal, trial.carrier, text, *trial.products, *trial.badges)
            same.append(first.setdefault(shown, int(start)) + np.arange(len(trial.products)))
        return np.concatenate(same)

    def best(self, noise: Floats) -> Floats:
        """Return the choices of the highest utility with this noise, both rows x studies."""
        with np.errstate(divide="ignore"):
            utility = np.log(self.chances)[:, None] + noise
        sizes = [len(trial.products) for trial in self.trials]
        best = np.maximum.reduceat(utility, np.cumsum([0, *sizes[:-1]]))
        chosen: Floats = (utility == np.repeat(best, sizes, axis=0)).astype(float)
        return chosen


def simulated_trials(
    design: ShopDesign, taste: Taste, limit: int | None, agent: str = "simulated"
) -> SimulatedTrials:
    """Return the first trials of a design, for a shopper with this taste who looks at all products."""
    trials = tuple(islice(design.trials([agent]), limit))
    table = pd.DataFrame([row for trial in trials for row in _rows(trial, design)])
    checked = check_table(table.assign(chosen=table["viewed_first"]))
    values = np.concatenate([attributes(_alternatives(trial)) for trial in trials])
    return SimulatedTrials(checked, trials, _chances(trials, taste), taste, values)


def _chances(trials: tuple[ShopTrial, ...], taste: Taste) -> Floats:
    """The chance of each option of each trial; trials that look alike are valued once."""
    tastes = {goal: taste_for(goal, taste) for goal in {trial.goal for trial in trials}}
    known: dict[tuple[str, tuple[DisplayedOption, ...]], Floats] = {}
    each = []
    for trial in trials:
        shown = (trial.goal, tuple(_alternatives(trial)))
        if shown not in known:
            known[shown] = choice_probabilities(tastes[trial.goal], shown[1])
        each.append(known[shown])
    return np.concatenate(each)


def _rows(trial: ShopTrial, design: ShopDesign) -> Iterator[dict[str, Any]]:
    """The tidy rows of a trial, but for its choice."""
    carried = trial.carried
    for position, item in enumerate(trial.products):
        nudge = carried.get(item.key) or trial.nudge
        yield {
            "run": design.run_id,
            "trial": trial.id,
            "option": item.key,
            "position": position,
            "viewed_first": int(position == _first(trial)),
            "outcome": "choice",
            "nudged": int(item.key in carried and not trial.rival),  # of two, none is beside a bare product
            "nudge": nudge.id if nudge else "",
            "nudge_text": nudge.text if nudge else "",
            "family": nudge.family if nudge else "",
            "direction": nudge.direction if nudge else None,
            "match": design.match,
            "randomised": "+".join(design.drawn),
            **{f"attr_{name}": own for name, own in design.list_facts(item).items()},
            **{f"attr_{name}": own for name, own in trial.facts(item.key).items()},
            "modality": trial.modality or "",
            **{name: getattr(trial, name) for name in _OF_TRIAL},
            **{name: getattr(item, name) for name in ("category", "price", "rating", "reviews")},
        }


def _alternatives(trial: ShopTrial) -> list[DisplayedOption]:
    """What a simulated shopper sees of a trial in tabs, or in a list."""
    cues = Counter[str]()
    for key, each in (*trial.carried.items(), *((key, badge) for badge, key in trial.badges)):
        cues[key] += each.direction if each.kind != "placebo" else 0
    return [
        DisplayedOption(
            price=item.price,
            rating=item.rating,
            reviews=item.reviews or 0,
            cue=cues[item.key],
            viewed_first=position == _first(trial),
        )
        for position, item in enumerate(trial.products)
    ]


def _first(trial: ShopTrial) -> int:
    """The place of the product that is seen first: the last tab, the top of a list, the first in data."""
    in_tabs = len(trial.start) == len(trial.products) and trial.interface == "page"
    return len(trial.start) - 1 if in_tabs else 0
