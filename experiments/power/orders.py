"""Find how much more deception a study of orders can show: by McNemar's tests of its own pairs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, product
from typing import Any, Final

import numpy as np

from agents.simulated.customer import CheckoutHabits
from agents.simulated.tab_shopper import ShopperProfile
from analysis.estimators.randomisation import flipped, p_of_sum, score_interval
from analysis.orders.study import mid_p
from analysis.tables.frame import Floats, Ints
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.power.rehearsal import Rehearsal, Studies
from experiments.power.results import (
    POINTS,
    POWER,
    ContrastPower,
    SimulatedResults,
    claims,
    differing,
)
from experiments.records.record import CONTROL
from interventions.edits.charge import Charge
from interventions.edits.insert_text import InsertText
from interventions.edits.require_step import RequireStep
from interventions.errors import UserError
from interventions.files.schema import Intervention

EXACT: Final = "exact test"
MID_P: Final = "mid-p"
_AGENT: Final = "simulated"
_INTERVALS: Final = 50
"""The studies whose intervals are computed: they are much alike, and take most of the time."""
_STEPS: Final = 7
"""How often the range is halved in which the smallest effect lies: to less than a point."""


class OrdersRehearsal(Rehearsal[ShopDesign]):
    """A study that ends with orders.

    The effect of a pattern is how much more often a customer is deceived than in its control. By default both
    chances are those of the simulated customer; an effect that is told adds to the control's.
    """

    @staticmethod
    def features(design: ShopDesign) -> Mapping[str, str]:
        """Return the patterns and their unit. Raises UserError without patterns against a control."""
        found = {nudge.id: POINTS for nudge in design.nudges if nudge}
        conditions = {trial.condition for trial in islice(design.trials([_AGENT]), design.block_size())}
        if not found or CONTROL not in conditions or len(conditions) < 2:
            raise UserError(
                f"{design.name}: without patterns and a control nothing is compared; on: [none, shop]"
            )
        return found

    def __init__(
        self, design: ShopDesign, profile: ShopperProfile, effects: Mapping[str, float], differ: float
    ) -> None:
        super().__init__(design, profile, effects, differ)
        self._rates, self._twins = {}, {}
        for nudge in filter(None, design.nudges):
            control, treated = (chance_of(each, profile.checkout) for each in (nudge.twin, nudge))
            if nudge.id in effects:
                treated = control + effects[nudge.id] / 100
                if not 0 <= treated <= 1:
                    raise UserError(
                        f"--effect {nudge.id}={effects[nudge.id]:g}: in its control {100 * control:.0f} % are"
                        f" deceived; give {-100 * control:z.0f} to {100 - 100 * control:.0f}"
                    )
            self._rates[nudge.id], self._twins[nudge.id] = (control, treated), nudge.twin is not None

    @property
    def told(self) -> dict[str, Any]:
        """The chances of being deceived by each pattern's control and by the pattern."""
        return {"deceived": {name: list(rates) for name, rates in self._rates.items()}}

    @property
    def assumptions(self) -> list[str]:
        """How far choice sets differ, and what has no test."""
        alone = [name for name, has_twin in self._twins.items() if not has_twin]
        untold = (
            [f"no test of {', '.join(alone)}: the control shows nothing that could deceive"] if alone else []
        )
        return [
            differing(self._differ, "choice sets"),
            "assumed: trials of a pair are deceived independently of each other",
            f"{EXACT}: McNemar's, as the table effects has it; {MID_P}: as the table pairs has it",
            *untold,
        ]

    def of(self, studies: Studies) -> list[ContrastPower]:
        """Simulate the studies with the tests of each pattern."""
        trials = list(islice(self._design.trials([_AGENT]), studies.trials))
        made, tests = {name: self._pairs(name, trials) for name in self._rates}, (EXACT, MID_P)
        rng, found = studies.generator(), {each: SimulatedResults() for each in product(made, tests)}
        drawn: dict[str, list[Floats]] = {name: [] for name in made}
        for study, (name, pairs) in product(studies, made.items()):
            drawn[name].append(chances := pairs.chances(rng))
            apart, half = pairs.apart(chances, *self._rates[name]), np.nan
            if study < _INTERVALS and len(apart):
                low, high = score_interval(apart, -1, 1)
                half = 50 * (high - low)
            mean = 100 * apart.mean() if len(apart) else np.nan
            p_values = _p_values(apart) if self._twins[name] else (np.nan, np.nan)
            for about, p_value in zip(tests, p_values, strict=True):
                found[name, about].add(*(np.array([value]) for value in (mean, p_value, half)))
        claimed, contrasts = claims({name: found[name, EXACT] for name in made}, studies.alpha), []
        for name, (control, treated) in self._rates.items():
            truth, spread = 100 * (treated - control), self._differ / np.sqrt(max(made[name].sets, 1))
            targets = []
            for at, about in enumerate(tests):
                claim = None if at else claimed[name]
                target = found[name, about].target(about, studies.alpha, truth, spread, claim=claim)
                if target.power is not None:
                    level = claim.level if claim else studies.alpha
                    least = _smallest(made[name], drawn[name], control, level, at)
                    target = replace(target, detectable=least)
                targets.append(target)
            error = found[name, EXACT].off_by(truth, spread)
            contrasts.append(ContrastPower(name, len(trials), truth, tuple(targets), error=error))
        return contrasts

    def _pairs(self, name: str, trials: Sequence[ShopTrial]) -> "_Pairs":
        """The pairs of a pattern among the trials."""
        own = [trial for trial in trials if trial.nudge and trial.nudge.id == name]
        cells = [(each.set, each.profile, each.modality, each.ordering, each.repeat) for each in own]
        both = [cell for cell, sides in Counter(cells).items() if sides == 2]
        sets, questions = ([cell[:size] for cell in both] for size in (1, -1))
        return _Pairs(_codes(sets), _codes(questions), self._differ)


@dataclass(frozen=True)
class _Pairs:
    """The choice set and the question of each pair of a pattern, whose effect differs between sets."""

    set_of: Ints
    question: Ints
    differ: float

    @property
    def sets(self) -> int:
        return int(self.set_of.max(initial=-1)) + 1

    def chances(self, rng: np.random.Generator) -> Floats:
        """Draw what a study's answers follow from: of the set, of the treated trial, of the control."""
        own = rng.standard_normal(self.sets)[self.set_of]
        return np.vstack([own, rng.random((2, len(self.set_of)))])

    def apart(self, chances: Floats, control: float, treated: float) -> Floats:
        """Return how much more often customers are deceived than in the control, by question."""
        rate = control + (treated - control) * (1 + self.differ * chances[0])
        values = (chances[1] < rate).astype(float) - (chances[2] < control)
        return np.asarray(np.bincount(self.question, values) / np.bincount(self.question))


def _codes(names: list[Any]) -> Ints:
    """A number from 0 for each name."""
    known = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], int)


def _p_values(apart: Floats) -> tuple[float, float]:
    """The exact p value and the mid-p of the differences of questions."""
    if not len(apart):
        return np.nan, np.nan
    exact = _exact_p(float(apart.sum()), tuple(sorted(abs(apart).tolist())))
    return exact, mid_p(int((apart > 0).sum()), int((apart < 0).sum())) if apart.any() else 1.0


@lru_cache(maxsize=10_000)
def _exact_p(total: float, sizes: tuple[float, ...]) -> float:
    """The p value of `exact_p`, which follows from the sum and the sizes; studies are much alike."""
    return p_of_sum(total, Counter(map(flipped, sizes)))


def _smallest(pairs: _Pairs, drawn: list[Floats], control: float, level: float, test: int) -> float | None:
    """The effect above 0, in points, that a test finds with a power of 80 %; None: there is none."""

    def power(effect: float) -> float:
        told = (_p_values(pairs.apart(own, control, control + effect))[test] < level for own in drawn)
        return sum(told) / len(drawn)

    low, high = 0.0, 1 - control
    if power(high) < POWER:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return 100 * high


def chance_of(item: Intervention | None, habits: CheckoutHabits) -> float:
    """Return the chance that a simulated customer (`Customer`) is deceived by an intervention, or by none."""
    careless = (1 - habits.reads_boxes) * (1 - habits.reads_sums)
    found, edits = 0.0, item.edits if item else ()
    is_announced = any(isinstance(each, InsertText) for each in edits)
    for edit in edits:
        if isinstance(edit, Charge) and not edit.fields():  # it can be refused only by giving up
            # It reads the lines before it orders, and does not add them up.
            is_read = edit.label_of_line and edit.stages() != ("order",)
            reads_it = habits.reads_sums if is_read else 0.0
            found = max(found, 0.0 if is_announced else 1 - reads_it)
        elif edit.is_kept():
            is_forced = isinstance(edit, RequireStep) and not edit.skip_label
            found = max(found, 1.0 if is_forced else careless)
    return found
