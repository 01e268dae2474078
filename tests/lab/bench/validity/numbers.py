"""Are the tables of willingness to pay and of biases honest? Answers are drawn as respondents give them.

What a table's numbers are about is what it says of very many answers, spread evenly over their
distribution.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
import pandas as pd
from scipy.special import ndtri

from agents.simulated.survey import LetterQuestion, Normal, shipped_survey
from agents.simulated.valuation import Valuation, shipped_valuations
from analysis.biases.study import analyze_biases
from analysis.montecarlo.study import analyze_montecarlo
from analysis.tables.frame import Floats
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial
from tests.lab.bench.validity.studies import Columns, Frames, Key, Truth

Answer = Callable[[Floats], Floats]
"""What is answered to a question, by a number that is drawn evenly from 0 to 1."""

AGENTS: Final = ("first", "second")
EVEN: Final = 2_000
"""The answers that stand for infinitely many."""

ANOVA: Final = ("hypothesis", "outcome", "group", "coding", "term")
IN_BLOCKS: Final = {
    **{"p": "p_blocked", "low": "blocked_low", "high": "blocked_high"},
    "adjusted": "p_blocked_adjusted",
}
HEDGES: Final = {"estimate": "hedges_g", "low": "hedges_low", "high": "hedges_high"}
WTP_TABLES: Final = (
    Columns("prompts", "prompts", ("group", "item", "condition")),
    Columns("csvr", "csvr", ("group",), only=("interval", "stratified")),
    Columns("csvr, Wilson", "csvr", ("group",), only=("interval", "wilson")),
    Columns("csvr, Wald", "csvr", ("group",), only=("interval", "wald")),
    Columns("mapd", "mapd", ("group",)),
    Columns("list_price", "list_price", ("group", "item"), adjusted="p_adjusted"),
    Columns("anova", "anova", ANOVA, "sum_sq"),
    Columns("anova, by block", "anova", ANOVA, "sum_sq", "p_blocked"),
    Columns("coefficients", "coefficients", ("group", "term"), adjusted="p_adjusted"),
    Columns("coefficients, by block", "coefficients", estimate="blocked", **IN_BLOCKS),
    Columns("comparisons", "comparisons", ("term",), only=("method", "paired")),
    Columns("comparisons, Welch", "comparisons", ("term", "unit"), only=("method", "Welch")),
    Columns("comparisons, Student", "comparisons", ("term", "unit"), only=("method", "Student")),
    Columns("correlations", "correlations", ("group", "item")),
)
BIAS_TABLES: Final = (
    Columns("experiments", "experiments", ("term", "scenario"), adjusted="p_adjusted"),
    Columns("experiments, Hedges' g", "experiments", ("term", "scenario"), p="", **HEDGES),
    Columns("index", "index"),
    Columns("index, before the cap", "index", estimate="mean", low="mean_low", high="mean_high"),
    Columns("regressions", "regressions", ("outcome", "term")),
)


@dataclass(frozen=True)
class Respondent:
    """Whose answers are drawn.

    weight: how far an anchor, or a bias, moves it. invalid: how often it gives no answer. alike: it gives a
    question one answer. prices: it answers the list price, give or take a tenth. random: all products are one
    to it, and all questions of a battery.
    """

    weight: float = 0.0
    invalid: float = 0.0
    alike: bool = False
    prices: bool = False
    random: bool = False


WTP_RESPONDENTS: Final[Mapping[str, Respondent]] = {
    "null": Respondent(),
    "random": Respondent(random=True),
    "balanced": Respondent(0.2),
    "price-only": Respondent(prices=True),
    "deterministic": Respondent(0.2, alike=True),
    "anchored": Respondent(0.4, invalid=0.02),
}
BIAS_RESPONDENTS: Final[Mapping[str, Respondent]] = {
    "null": Respondent(),
    "random": Respondent(random=True),
    "balanced": Respondent(0.5),
    "deterministic": Respondent(0.5, alike=True),
    "biased": Respondent(1.0, invalid=0.02),
}


@dataclass(frozen=True)
class NumberStudies:
    """Studies of one design, respondent and size. cells: the question of each row, by number."""

    table: pd.DataFrame
    cells: "pd.Series[int]"
    answers: tuple[Answer, ...]
    respondent: Respondent
    biases: bool

    @classmethod
    def of(cls, design: CardDesign, respondent: Respondent, limit: int) -> "NumberStudies":
        biases = design.analysis == "biases"
        agents = AGENTS[:1] if biases else AGENTS
        trials = [trial for agent in agents for trial in islice(design.trials([agent]), limit)]
        table = pd.DataFrame([_row(trial) for trial in trials])
        cells = table.groupby(CELL, sort=False).ngroup()
        first = [trials[at] for at in cells.drop_duplicates().index]
        answer = _bias_answer if biases else _wtp_answer
        return cls(table, cells, tuple(answer(trial, respondent) for trial in first), respondent, biases)

    def study(self, rng: np.random.Generator) -> Frames:
        """Return the tables of one study."""
        cells = self.cells.to_numpy()
        even = rng.random(len(self.answers))[cells] if self.respondent.alike else rng.random(len(cells))
        found = np.empty(len(cells))
        for number, answer in enumerate(self.answers):
            found[cells == number] = answer(even[cells == number])
        refused = rng.random(len(cells)) < self.respondent.invalid
        reason = np.where(refused, "unreadable", "")
        return self._analysed(self.table.assign(response=np.where(refused, np.nan, found), reason=reason))

    def truth(self) -> Truth:
        """Return what the tables' rows are about."""
        one = self.table.loc[self.cells.drop_duplicates().index]
        even = (np.arange(EVEN) + 0.5) / EVEN
        copies = [
            pd.DataFrame([row] * EVEN).assign(response=answer(even), repeat=range(EVEN))
            for row, answer in zip(one.to_dict("records"), self.answers, strict=True)
        ]
        table = pd.concat(copies, ignore_index=True)
        frames = self._analysed(table.assign(trial=[f"{number}" for number in range(len(table))], reason=""))
        found: dict[str, dict[Key, float]] = {}
        for columns in self.tables:
            frame = columns.of(frames[columns.table])
            keys = frame[list(columns.keys)].itertuples(index=False, name=None)
            values = frame[columns.estimate].astype(float)
            if columns.table == "anova":  # a test, which has no estimate
                values = values.where(values < 1e-6)
            values = values.mask(abs(values) <= 1e-9, 0.0)
            found[columns.name] = {
                key: value for key, value in zip(keys, values, strict=True) if not np.isnan(value)
            }
        return found

    @property
    def tables(self) -> tuple[Columns, ...]:
        """Which tables are counted."""
        return BIAS_TABLES if self.biases else WTP_TABLES

    def _analysed(self, table: pd.DataFrame) -> Frames:
        if not self.biases:
            return vars(analyze_montecarlo(table))
        fewest = int(self.cells.value_counts().min() * (1 - 2 * self.respondent.invalid))
        return vars(analyze_biases(table, valid=max(1, fewest)))


CELL: Final = ["agent", "item", "condition", "scenario", "temperature"]


def _row(trial: CardTrial) -> dict[str, object]:
    names = (*CELL, "repeat", "reference", "low", "high")
    return {"run": "simulated", "trial": trial.id} | {name: getattr(trial, name) for name in names}


def _wtp_answer(trial: CardTrial, respondent: Respondent) -> Answer:
    anchor = {"control": None, "low": 15.0, "high": 95.0}[trial.condition]
    known = shipped_valuations()
    value = Valuation(median=40, spread=0.4) if respondent.random else known.of(trial.cards[-1].prompt)
    price = float(trial.reference or 0)

    def answer(even: Floats) -> Floats:
        normal = ndtri(even)
        worth = (
            price * (1 + 0.1 * normal) if respondent.prices else value.median * np.exp(value.spread * normal)
        )
        moved: Floats = worth if anchor is None else worth + respondent.weight * (anchor - worth)
        return np.round(moved, 2) if respondent.invalid else moved

    return answer


def _bias_answer(trial: CardTrial, respondent: Respondent) -> Answer:
    text = trial.cards[-1].prompt
    question = shipped_survey().find(text)
    assert question is not None
    bias = respondent.weight if question.treatment.search(text) else 0.0

    def answer(even: Floats) -> Floats:
        if isinstance(question, LetterQuestion):
            share = (
                0.5 if respondent.random else question.control + bias * (question.treated - question.control)
            )
            share = share if question.letter == trial.biased else 1 - share
            return (even < share).astype(float)
        if respondent.random:
            return np.floor(101 * even)
        mean, sd = _mixed(question.control, question.treated, bias)
        number = mean + sd * ndtri(even)
        if question.of_price:
            number = number * 5
        return np.round(np.clip(number, 0, question.high or np.inf))

    return answer


def _mixed(control: Normal, treated: Normal, bias: float) -> tuple[float, float]:
    return control.mean + bias * (treated.mean - control.mean), control.sd + bias * (treated.sd - control.sd)
