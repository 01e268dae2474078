"""Simulate one experiment, size and respondent: the tables of its kind of study."""

from typing import Any, Final, Protocol

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from experiments.designs.cards.design import CardDesign
from experiments.designs.loading import AnyDesign, load_design
from experiments.designs.shop.design import ShopDesign
from tests.lab.bench.validity import cards, choice, numbers
from tests.lab.bench.validity.conjoint import CardStudies
from tests.lab.bench.validity.numbers import NumberStudies
from tests.lab.bench.validity.shops import ShopStudies
from tests.lab.bench.validity.studies import Columns, Frames, Truth, counts, gather

SLOWER: Final = 10
"""Tables that are not linear in the answers are made of each study by itself, of a tenth of the studies."""

LINEAR: Final = ("nudges", "nudges-mr", "trios", "profiles")
"""The experiments whose tables of effects are made of all studies at once."""
REPEATED: Final = "nudges, repeated"
"""`nudges` with two texts, whose questions are asked five times."""
DRAWN: Final = ("prices", "attributes")
CARDS: Final = ("hotels",)
NUMBERS: Final = ("wtp", "biases")
EXPERIMENTS: Final = (*LINEAR, REPEATED, *DRAWN, *CARDS, *NUMBERS)

Cell = tuple[str, int, str, int, int]
"""Experiment, trials, respondent, studies, seed."""


class Studies(Protocol):
    """Studies of one design, respondent and size."""

    @property
    def tables(self) -> tuple[Columns, ...]:
        """Which tables are counted."""

    def study(self, rng: np.random.Generator) -> Frames:
        """Return the tables of one study."""

    def truth(self) -> Truth:
        """Return what the tables' rows are about."""


def respondents(experiment: str) -> tuple[str, ...]:
    """Return the names of those whose answers are drawn."""
    known: dict[str, Any] = {
        **dict.fromkeys((*LINEAR, *DRAWN), choice.shoppers()),
        REPEATED: choice.repeated_shoppers(),
        **dict.fromkeys(CARDS, cards.respondents()),
        "wtp": numbers.WTP_RESPONDENTS,
        "biases": numbers.BIAS_RESPONDENTS,
    }
    return tuple(known[experiment])


def simulate(cell: Cell) -> pd.DataFrame:
    """Return the counts of each table, with the columns of the cell."""
    name, limit, who, studies, seed = cell
    with threadpool_limits(limits=1, user_api="blas"):
        found = []
        if name in (*LINEAR, REPEATED):
            design = design_of(name)
            assert isinstance(design, ShopDesign)
            linear = choice.simulate(design, _shopper(who), limit, studies, seed)
            found.append(linear.assign(studies=studies))
        each = max(studies // SLOWER, 1)
        rng = np.random.default_rng([seed, limit, sum(map(ord, name + who))])
        found.append(one_by_one(studies_of(name, who, limit), each, rng).assign(studies=each))
    every = pd.concat(found, ignore_index=True)
    return every.assign(experiment=name, trials=limit, shopper=who, asked=studies, seed=seed)


def one_by_one(made: Studies, studies: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the counts of studies that are analysed one by one."""
    truth = made.truth()
    frames = [made.study(rng) for _ in range(studies)]
    rows = [counts(each, gather(each, frames), truth.get(each.name, {})) for each in made.tables]
    return pd.DataFrame(rows)


def studies_of(name: str, who: str, limit: int) -> Studies:
    """Return the studies of a cell whose tables are made one by one."""
    design = design_of(name)
    if isinstance(design, ShopDesign):
        return ShopStudies(design, _shopper(who), limit)
    assert isinstance(design, CardDesign)
    if design.analysis == "conjoint":
        return CardStudies.of(design, cards.respondents()[who], limit)
    known = numbers.BIAS_RESPONDENTS if design.analysis == "biases" else numbers.WTP_RESPONDENTS
    return NumberStudies.of(design, known[who], limit)


def design_of(name: str) -> AnyDesign:
    """Return the design of an experiment."""
    if name != REPEATED:
        return load_design(name)
    texts = "factors.nudge.only=[authority-expertise, wirecutter]"
    return load_design("nudges", settings=("repeats=5", "options.sets=20", texts))


def _shopper(who: str) -> choice.Shopper:
    return (choice.shoppers() | choice.repeated_shoppers())[who]
