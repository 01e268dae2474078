"""Redraw choices between cards from the simulated respondents' utilities, without a browser."""

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal

import numpy as np
import pandas as pd

from agents.simulated.readers.card_text import read_options, to_alternatives
from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste, choice_probabilities
from analysis.tables.frame import Floats, Ints
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial

Alike = Literal["", "set", "showing"]
AGENT = "simulated"


@dataclass(frozen=True)
class Respondent:
    """Whose choices are drawn.

    alike: what chance adds to an option's utility is the same in all showings of its set, whatever is drawn
    for them, or in both orders of a showing.
    """

    taste: Taste
    alike: Alike = ""


def respondents() -> dict[str, Respondent]:
    """Null: the balanced respondent, to whom the order is nothing."""
    balanced = shipped_taste("balanced")
    null = balanced.model_copy(update={"position": 0.0})
    return {
        "null": Respondent(null),
        "random": Respondent(Taste()),
        "balanced": Respondent(balanced),
        "price-only": Respondent(Taste(log_price=-5)),
        "deterministic": Respondent(balanced, alike="set"),
        "repeating": Respondent(balanced, alike="showing"),
        "repeating-null": Respondent(null, alike="showing"),
    }


@dataclass(frozen=True)
class SimulatedCards:
    """The first trials of a design with choices, as a tidy table without its choices, and their chances."""

    trials: tuple[CardTrial, ...]
    taste: Taste
    alike: Alike = ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each option shown; `chosen` is that of the first."""
        return pd.DataFrame([row for trial in self.trials for row in _rows(trial)])

    @cached_property
    def chances(self) -> Floats:
        """The chance of each row to be chosen."""
        return np.concatenate(
            [
                choice_probabilities(self.taste, to_alternatives(read_options(trial.cards[0].prompt)))
                for trial in self.trials
            ]
        )

    def drawn(self, rng: np.random.Generator) -> Ints:
        """Return fresh choices: 1 in the row of the option that is chosen, else 0."""
        return self._best(self._noise(rng))

    def _noise(self, rng: np.random.Generator) -> Floats:
        if not self.alike:
            return rng.gumbel(size=len(self.table))
        noise: Floats = rng.gumbel(size=self._same.max() + 1)[self._same]
        return noise

    @cached_property
    def _same(self) -> Ints:
        """What the rows have in common that are answered alike."""
        names = ["set", "option"] if self.alike == "set" else ["set", "option", "repeat"]
        return self.table.groupby(names, sort=False).ngroup().to_numpy()

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum([0, *(len(trial.options) for trial in self.trials[:-1])])

    def _best(self, noise: Floats) -> Ints:
        with np.errstate(divide="ignore"):
            utility = np.log(self.chances) + noise
        sizes = [len(trial.options) for trial in self.trials]
        best = np.repeat(np.maximum.reduceat(utility, self._starts), sizes)
        return (utility == best).astype(int)


def simulated_cards(design: CardDesign, respondent: Respondent, limit: int | None) -> SimulatedCards:
    """Return the first trials of a design, for a respondent."""
    trials = tuple(islice(design.trials([AGENT]), limit))
    return SimulatedCards(trials, respondent.taste, respondent.alike)


def _rows(trial: CardTrial) -> list[dict[str, object]]:
    return [
        {
            "run": "simulated",
            "trial": trial.id,
            "agent": trial.agent,
            "set": trial.set,
            "option": shown.option,
            "position": position,
            "viewed_first": int(position == 0),
            "chosen": int(position == 0),
            "outcome": "choice",
            "category": shown.category,
            "price": shown.price,
            "rating": shown.rating,
            "reviews": shown.reviews,
            "repeat": trial.repeat,
            "ordering": trial.ordering,
            "attr_name": shown.name,
            **{f"attr_{name}": value for name, value in shown.attributes.items()},
        }
        for position, shown in enumerate(trial.options)
    ]
