"""Draw the choices of a simulated shopper in trials of a design, without a browser.

The products, texts, orders, profiles and goals are those that a browser would show, and so are the chances of
each choice. So hundreds of studies are drawn in the time of one episode.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from agents.simulated.tab_shopper import taste_for
from agents.simulated.utility import Alternative, Taste, choice_probabilities
from analysis.tables.choice_table import check_table
from analysis.tables.frame import Floats, Ints
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial


@dataclass(frozen=True)
class SimulatedTrials:
    """Trials as a checked tidy table, and the chance (rows) of each row's option to be chosen.

    Whatever the table says is chosen is a placeholder. determinism: the share of choices that the same prompt
    always gives alike.
    """

    table: pd.DataFrame
    trials: tuple[ShopTrial, ...]
    chances: Floats
    determinism: float = 0.0

    def with_choices(self, chosen: Floats) -> pd.DataFrame:
        """The table with these choices, one in each trial."""
        return self.table.assign(chosen=pd.Series(chosen, self.table.index).astype("Int64"))

    def drawn(self, rng: np.random.Generator, studies: int) -> Floats:
        """Return fresh choices, rows x studies, of 0 and 1; each study has a shopper of its own."""
        noise = rng.gumbel(size=(len(self.table), studies))
        if self.determinism:
            sizes = [len(trial.products) for trial in self.trials]
            alike = np.repeat(rng.random((len(sizes), studies)) < self.determinism, sizes, axis=0)
            noise = np.where(alike, rng.gumbel(size=noise.shape)[self._same_prompt()], noise)
        return self.best(noise)

    def _same_prompt(self) -> Ints:
        """For each row, the row of its option in the first trial that shows the same."""
        starts = np.cumsum([0, *(len(trial.products) for trial in self.trials)])
        first: dict[tuple[object, ...], int] = {}
        same = []
        for trial, start in zip(self.trials, starts, strict=False):
            text = trial.nudge.id if trial.nudge and trial.carrier else ""
            shown = (trial.goal, trial.carrier, text, *(item.key for item in trial.products))
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
    """Return the first trials of a design whose products are in tabs, for a shopper with this taste."""
    trials = tuple(islice(design.trials([agent]), limit))
    table = pd.DataFrame([row for trial in trials for row in _rows(trial, design)])
    checked = check_table(table.assign(chosen=table["viewed_first"]))
    return SimulatedTrials(checked, trials, chances(trials, taste), taste.determinism)


def chances(trials: tuple[ShopTrial, ...], taste: Taste) -> Floats:
    """Return the chance of each option of each trial, one after the other."""
    each = [choice_probabilities(taste_for(trial.goal, taste), _alternatives(trial)) for trial in trials]
    return np.concatenate(each)


def _rows(trial: ShopTrial, design: ShopDesign) -> Iterator[dict[str, Any]]:
    """The tidy rows of a trial in tabs, but for its choice."""
    nudge = trial.nudge
    for position, item in enumerate(trial.products):
        yield {
            "run": design.run_id,
            "trial": trial.id,
            "agent": trial.agent,
            "set": trial.set,
            "option": item.key,
            "position": position,
            "viewed_first": int(position == len(trial.products) - 1),
            "outcome": "choice",
            "category": item.category,
            "price": item.price,
            "rating": item.rating,
            "reviews": item.reviews,
            "nudged": int(item.key == trial.carrier),
            "nudge": nudge.id if nudge else "",
            "nudge_text": nudge.text if nudge else "",
            "family": nudge.family if nudge else "",
            "direction": nudge.direction if nudge else None,
            "condition": trial.condition,
            "match": design.match,
            "randomised": "+".join(design.drawn),
            **{f"attr_{name}": own for name, own in design.list_facts(item).items()},
            "profile": trial.profile,
            "repeat": trial.repeat,
            "ordering": trial.ordering,
        }


def _alternatives(trial: ShopTrial) -> list[Alternative]:
    """What a simulated shopper sees of a trial in tabs; the last tab is the one seen first."""
    last = len(trial.products) - 1
    cued = trial.nudge is not None and trial.nudge.kind != "placebo"
    return [
        Alternative(
            price=item.price,
            rating=item.rating,
            reviews=item.reviews or 0,
            cue=trial.nudge.direction if trial.nudge and cued and item.key == trial.carrier else 0,
            viewed_first=position == last,
        )
        for position, item in enumerate(trial.products)
    ]
