"""Find how large an effect experiments with answers can show: willingness to pay, and pairs of questions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from agents.simulated.respondent import anchor_in
from agents.simulated.survey import LetterQuestion, NumberQuestion, shipped_survey
from agents.simulated.tab_shopper import ShopperProfile
from agents.simulated.valuation import shipped_valuations
from analysis.estimators.effect_size import cohens_d
from analysis.tables.frame import Floats, Ints
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.experiment_file import BatteryQuestions
from experiments.designs.cards.trial import CardTrial
from experiments.power.rehearsal import Rehearsal, Studies
from experiments.power.results import ContrastPower, SimulatedResults, claims, differing
from experiments.records.record import CONTROL
from interventions.errors import UserError

USD: Final = "USD"
COHENS_D: Final = "d"
ABOUT: Final = "these questions"
_AGENT: Final = "simulated"
_MANY: Final = 100_000
"""The answers by which the effect of an agent is known."""


class FactorialRehearsal(Rehearsal[CardDesign]):
    """A Monte-Carlo study of willingness to pay.

    The effect of a condition is its mean answer less that of the control, over all products, as the table
    `coefficients` has it, and is made by how far its anchor pulls.
    """

    @staticmethod
    def features(design: CardDesign) -> Mapping[str, str]:
        """Return the conditions and their unit. Raises UserError without a control and another condition."""
        cells = {trial.condition for trial in islice(design.trials([_AGENT]), design.block_size())}
        if CONTROL not in cells or len(cells) < 2:
            raise UserError(
                f"{design.name}: without control and another condition no contrast is planned; add them to"
                " design.factorial.conditions, or use souk power --groups"
            )
        return {condition: USD for condition in sorted(cells - {CONTROL})}

    def __init__(
        self, design: CardDesign, profile: ShopperProfile, effects: Mapping[str, float], differ: float
    ) -> None:
        super().__init__(design, profile, effects, differ)
        self._profile, self._effects = profile, effects
        trials = list(design.trials([_AGENT]))
        self._items, self._anchors = list(dict.fromkeys(trial.item for trial in trials)), {}
        worth = {trial.item: shipped_valuations().of(trial.cards[-1].prompt) for trial in trials}
        self._median = np.array([worth[item].median for item in self._items])
        self._spread = np.array([worth[item].spread for item in self._items])
        mean = float((self._median * np.exp(self._spread**2 / 2)).mean())
        self._pull = {}
        for condition in self.features(design):
            trial = next(trial for trial in trials if trial.condition == condition)
            anchor = anchor_in(trial.cards[0].prompt)
            if anchor is None:
                raise UserError(f"{design.name}: simulated agents read no anchor in its cards; use anova")
            self._anchors[condition] = anchor
            self._pull[condition] = profile.anchoring
            if condition in effects:
                self._pull[condition] = effects[condition] / (anchor - mean)
                if not 0 <= self._pull[condition] <= 1:
                    low, high = sorted((0.0, anchor - mean))
                    raise UserError(
                        f"--effect {condition}={effects[condition]:g}: an anchor of {anchor:g} USD moves a"
                        f" product's worth by {low:.1f} to {high:.1f} USD; give one of these"
                    )
        self._mean = mean
        place = {item: number for number, item in enumerate(self._items)}
        self._item_of = np.array([place[trial.item] for trial in trials])
        self._condition_of = np.array([trial.condition for trial in trials])
        self._alike = profile.taste.determinism

    def again(self, design: CardDesign) -> "FactorialRehearsal":
        """Return the rehearsal of another split of the same experiment, by the same agent."""
        return FactorialRehearsal(design, self._profile, self._effects, self._differ)

    @property
    def told(self) -> dict[str, Any]:
        """How far each condition's anchor pulls."""
        return {"anchoring": self._pull}

    @property
    def assumptions(self) -> list[str]:
        """How far products differ."""
        return [differing(self._differ, "products")]

    def of(self, studies: Studies) -> list[ContrastPower]:
        """Simulate the studies with the regression of answers on conditions."""
        item, condition = self._item_of[: studies.trials], self._condition_of[: studies.trials]
        rng, found = studies.generator(), {name: SimulatedResults() for name in self._pull}
        for _ in studies:
            answers = self._answers(rng, item, condition)
            for name, result in coefficients(answers, condition).items():
                found[name].add(*(np.array([value]) for value in result))
        spread = self._differ / np.sqrt(len(self._items))
        contrasts, claimed = [], claims(found, studies.alpha)
        for name, results in found.items():
            truth = self._pull[name] * (self._anchors[name] - self._mean)
            target = results.target(ABOUT, studies.alpha, truth, spread, unit=USD, claim=claimed[name])
            contrasts.append(
                ContrastPower(name, len(item), truth, (target,), USD, results.off_by(truth, spread))
            )
        return contrasts

    def _answers(self, rng: np.random.Generator, item: Ints, condition: Any) -> Floats:
        draws = rng.standard_normal(len(item))
        if self._alike:
            names, first = np.unique(item, return_index=True)
            own = draws[first][np.searchsorted(names, item)]
            draws = np.where(rng.random(len(item)) < self._alike, own, draws)
        worth = self._median[item] * np.exp(self._spread[item] * draws)
        for name, pull in self._pull.items():
            share = pull * (1 + self._differ * rng.standard_normal(len(self._items)))[item]
            worth = np.where(condition == name, worth + share * (self._anchors[name] - worth), worth)
        return np.round(worth, 2)


def coefficients(answers: Floats, condition: Any) -> dict[str, tuple[float, float, float]]:
    """Return each condition less the control: estimate, p value, half the width of the 95 % interval.

    They are those of `analysis.montecarlo.hypotheses.condition_coefficients` for one agent.
    """
    names = np.unique(condition)
    groups = {str(name): answers[condition == name] for name in names}
    if CONTROL not in groups:
        return {}
    df = len(answers) - len(groups)
    squares = sum(float(((own - own.mean()) ** 2).sum()) for own in groups.values())
    base, found = groups.pop(CONTROL), {}
    for name, own in groups.items():
        error = float(np.sqrt(squares / df * (1 / len(own) + 1 / len(base)))) if df > 0 else np.nan
        estimate = float(own.mean() - base.mean())
        p_value = float(2 * stats.t.sf(abs(estimate / error), df)) if error > 0 else np.nan
        found[name] = (estimate, p_value, float(stats.t.ppf(0.975, df)) * error if df > 0 else np.nan)
    return found


@dataclass(frozen=True)
class _Pair:
    """Two questions of a bias, and the share of it that the answers to the treatment show.

    unit: of a number. biased: whether the letter of the question is the one that counts as biased.
    """

    question: LetterQuestion | NumberQuestion
    unit: float
    biased: bool
    bias: float

    def answers(self, rng: np.random.Generator, count: int, *, treated: bool) -> Floats:
        """Draw answers to one of the two questions."""
        question, bias = self.question, self.bias if treated else 0.0
        if isinstance(question, LetterQuestion):
            share = question.control + bias * (question.treated - question.control)
            return np.asarray((rng.random(count) < (share if self.biased else 1 - share)).astype(float))
        mean = question.control.mean + bias * (question.treated.mean - question.control.mean)
        sd = question.control.sd + bias * (question.treated.sd - question.control.sd)
        return np.asarray(
            np.round(np.clip((mean + sd * rng.standard_normal(count)) * self.unit, 0, question.high))
        )

    def effect(self) -> float:
        """Return the d of very many answers; they are the same each time."""
        rng = np.random.default_rng(0)
        control, treated = (self.answers(rng, _MANY, treated=each) for each in (False, True))
        return cohens_d(control, treated).d


class BatteryRehearsal(Rehearsal[CardDesign]):
    """A battery of biases. Effects are Cohen's d of a bias.

    What is told of a bias holds in each scenario and at each temperature alike.
    """

    @staticmethod
    def features(design: CardDesign) -> Mapping[str, str]:
        """Return the biases and their unit."""
        return {trial.item: COHENS_D for trial in _first_of_each(design)}

    def __init__(
        self, design: CardDesign, profile: ShopperProfile, effects: Mapping[str, float], differ: float
    ) -> None:
        super().__init__(design, profile, effects, differ)
        self._profile, self._effects = profile, effects
        self._alike = profile.taste.determinism
        self._pairs = {}
        for trial in _first_of_each(design):
            text = trial.cards[0].prompt
            question = shipped_survey().find(text)
            if question is None:
                raise UserError(
                    f"{design.name}: simulated agents do not know the question of {trial.item}; use souk"
                    " power anova --groups 2"
                )
            unit = question.unit_in(text) if isinstance(question, NumberQuestion) else 1.0
            biased = isinstance(question, LetterQuestion) and question.letter == trial.biased
            pair = _Pair(question, unit, biased, profile.bias)
            if trial.item in effects:
                pair = _with_effect(pair, trial.item, effects[trial.item])
            self._pairs[trial.item] = pair

    def again(self, design: CardDesign) -> "BatteryRehearsal":
        """Return the rehearsal of another split of the same experiment, by the same agent."""
        return BatteryRehearsal(design, self._profile, self._effects, self._differ)

    @property
    def told(self) -> dict[str, Any]:
        """The share of each bias that the agent shows."""
        return {"bias": {name: pair.bias for name, pair in self._pairs.items()}}

    @property
    def size(self) -> int:
        """The valid answers of an agent that the whole experiment wants."""
        return (self._design.quota or 0) * _cells(self._design) * self._design.block_size()

    @property
    def assumptions(self) -> list[str]:
        """What is assumed of repeated answers, and how many of them a test has."""
        pairs = f"{_cells(self._design):,} pairs of questions"
        return [
            "assumed: each answer is a draw of its own",
            f"a test is about one of {pairs}, and has its share of the trials",
        ]

    def of(self, studies: Studies) -> list[ContrastPower]:
        """Simulate the studies with the test of each pair of questions; their trials are valid answers."""
        each = studies.trials // self._design.block_size() // _cells(self._design)
        rng, found = studies.generator(), {name: SimulatedResults() for name in self._pairs}
        for _ in studies:
            for name, pair in self._pairs.items():
                count = 1 if rng.random() < self._alike else each
                control, treated = (pair.answers(rng, count, treated=side) for side in (False, True))
                effect = cohens_d(control, treated)
                half = (effect.conf_high - effect.conf_low) / 2
                found[name].add(*(np.array([value]) for value in (effect.d, effect.p_value, half)))
        copies, contrasts = _cells(self._design) // self._design.sets, []
        claimed = claims(found, studies.alpha, copies)
        for name, results in found.items():
            truth = self._pairs[name].effect()
            target = results.target(ABOUT, studies.alpha, truth, unit=COHENS_D, claim=claimed[name])
            contrasts.append(
                ContrastPower(name, studies.trials, truth, (target,), COHENS_D, results.off_by(truth, 0.0))
            )
        return contrasts


def _first_of_each(design: CardDesign) -> Iterator[CardTrial]:
    """The first trial of each bias."""
    seen = set[str]()
    for trial in islice(design.trials([_AGENT]), design.block_size() * _cells(design)):
        if trial.item not in seen:
            seen.add(trial.item)
            yield trial


def _cells(design: CardDesign) -> int:
    """The number of pairs of questions."""
    battery = design.experiment.design.battery or BatteryQuestions()
    return design.sets * len(battery.scenarios) * len(battery.temperatures)


def _with_effect(pair: _Pair, name: str, wanted: float) -> _Pair:
    """The pair of questions with this effect."""
    low, high = sorted(replace(pair, bias=bias).effect() for bias in (0.0, 1.0))
    if not low <= wanted <= high:
        raise UserError(
            f"--effect {name}={wanted:g}: simulated agents have effects from {low:z.2f} to {high:.2f} there;"
            " give one of these"
        )

    def short(bias: float) -> float:
        return replace(pair, bias=bias).effect() - wanted

    return replace(pair, bias=float(brentq(short, 0.0, 1.0, xtol=1e-4)))
