"""The kinds of study: make an analysis in sections from a stored run, or from tables of any origin."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import pandas as pd

from agents.simulated.own_profiles import known_as
from analysis.anchoring import comparing as anchoring_comparing
from analysis.anchoring import report as anchoring
from analysis.anchoring.study import analyze_anchoring
from analysis.anchoring.table import SCORE_COLUMNS, read_anchoring
from analysis.biases import analyze_biases
from analysis.biases import comparing as biases_comparing
from analysis.biases import report as biases
from analysis.choice import analyze_choice
from analysis.choice import comparing as choice_comparing
from analysis.choice.effects.right_answers import FAMILY, failing, right_answers
from analysis.choice.report import report as choice
from analysis.choice.report.figures import POINTS
from analysis.conjoint import analyze_conjoint
from analysis.conjoint import comparing as conjoint_comparing
from analysis.conjoint import report as conjoint
from analysis.conjoint.pricebench import read_conjoint
from analysis.montecarlo import analyze_montecarlo
from analysis.montecarlo import comparing as montecarlo_comparing
from analysis.montecarlo import report as montecarlo
from analysis.orders import analyze_orders
from analysis.orders import comparing as orders_comparing
from analysis.orders import report as orders
from analysis.orders.table import ORDER_COLUMNS, read_orders
from analysis.reporting.sections import Report
from analysis.tables.choice_table import COLUMNS, Column, check_table, read_table
from analysis.tables.responses_table import RESPONSE_COLUMNS, read_responses
from analysis.tables.table_file import selected, together
from experiments.designs.shop.strata_order import strata_order
from experiments.records.reading.queries import agents_of, ended_trials, latest_with_family
from experiments.records.reading.tidy_tables import (
    factors_table,
    orders_table,
    receipts_table,
    response_table,
    score_table,
    tidy_table,
)
from experiments.records.record import Row, kind_of
from experiments.records.store import Records
from experiments.studies.assignment import choice_table
from experiments.studies.sequence import sequence_table
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean


class StudyAnalysis(Protocol):
    """The protocol of all analyses."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes that a reader has to know."""

    def to_json(self) -> str:
        """Return all frames as a JSON object."""


Tables = tuple[pd.DataFrame | None, ...]


def _no_more(records: Records, run: str, agents: Sequence[str]) -> Tables:
    return ()


def _nothing(records: Records, found: Row, names: Mapping[str, str]) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Study:
    """A kind of study: its name, its tables, and how it is analysed, described and planned.

    Whatever asks for the kind of a run or a design asks its row of `STUDIES`.
    """

    title: str
    analyze: Callable[..., StudyAnalysis]
    report: Callable[[Any], Report]
    """From what `analyze` gives to its sections."""
    read: Callable[[Path], pd.DataFrame]
    """Reads the main table from a file."""
    table: Callable[[Records, str], pd.DataFrame]
    """Makes the main table of a run, which `souk export` writes and `analyze` takes first."""
    more: Callable[[Records, str, Sequence[str]], Tables] = _no_more
    """Makes what `analyze` takes besides, of a run and the agents of interest (none named: all)."""
    tables: tuple[str, ...]
    """The names of the main table and of those of `more`, in order."""
    row: str
    """What a row of the main table is."""
    columns: tuple[Column, ...] = COLUMNS
    """The columns that the main table can have, besides `attr_*`."""
    estimators: str
    """The sentences of a methods section about the analysis."""
    sources: tuple[str, ...] = ()
    """The sources of what `estimators` names, as keys of `analysis.reporting.literature`."""
    of_design: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _: {}
    """Makes options of `analyze` from an experiment: it has to draw as the design did."""
    of_others: Callable[[Records, Row, Mapping[str, str]], dict[str, Any]] = _nothing
    """Makes options of `analyze` from other runs of the same agents; names: what agents are called."""
    effects: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    """The table and row of each effect that a hypothesis can name."""
    by_agent: Mapping[str, str] = field(default_factory=dict)
    """The tables whose rows are a measure of each agent, and the column that holds it."""
    compare: Callable[..., pd.DataFrame]
    """Compares agents two by two."""
    compared: str
    """How they are compared, for the report."""
    unit: str = ""
    """Of all that is compared, where it has one."""
    between: Literal["", "products", "hotels"] = ""
    """What is chosen between, where a simulated shopper can be fitted to the choices."""
    also: tuple[str, ...] = ()
    """The other kinds as which a run can be analysed."""

    def stored(self, records: Records, run: str, agents: Sequence[str]) -> Tables:
        """Make all tables of a run; frames with a column `agent` may hold others than `agents`, too."""
        return self.table(records, run), *self.more(records, run, agents)


def _beside_choices(records: Records, run: str, agents: Sequence[str]) -> Tables:
    order = strata_order(records.latest_run(run)["facts"])
    sequence = sequence_table(order, ended_trials(records, run)) if order else None
    return receipts_table(records, run, agents), factors_table(records, run), sequence


def _right_answers(records: Records, found: Row, names: Mapping[str, str]) -> dict[str, Any]:
    """What the latest run of questions with one right answer says of the agents of another run."""
    run = latest_with_family(records, FAMILY)
    if run in ("", found["run"]):
        return {}
    told = failing(right_answers(check_table(tidy_table(records, run))))
    here = {*agents_of(records, found["run"])}
    told = {names.get(agent, agent): f"{what} ({run})" for agent, what in told.items() if agent in here}
    return {"failing": told} if told else {}


def _sells_what_people_saw(experiment: Mapping[str, Any]) -> bool:
    """Whether the products are those of the market that human shoppers were asked about."""
    options = experiment.get("options") or {}
    return experiment.get("site") == "onestopmarket" and not options.get("catalogue")


STUDIES: Final[dict[str, Study]] = {
    "choice": Study(
        title="What moved the choices",
        compare=choice_comparing.compare_agents,
        compared=choice_comparing.TEXT,
        unit=POINTS,
        analyze=analyze_choice,
        report=choice.report,
        read=read_table,
        table=choice_table,
        more=_beside_choices,
        of_others=_right_answers,
        of_design=lambda experiment: {"people": _sells_what_people_saw(experiment)},
        tables=("choices", "receipts-by-edit", "factors", "sequence"),
        by_agent={"effects": "estimate"},
        row="an option shown in a trial",
        estimators="Effects on choice are percentage points of a linear probability model with trial fixed "
        "effects; errors are clustered by choice set, or by nudge text and category. What the design "
        "exchanges itself is tested by Fisher's randomisation test within strata, with score intervals (in "
        "pairs McNemar's exact test and Tango's interval).",
        sources=("cameron2011", "fisher1935", "mcnemar1947", "tango1998"),
        effects={
            # exact where every design exchanges it, else of the clustered effects
            "nudge": ("exact", {"term": "nudged"}),
            "order": ("exact", {"term": "viewed_first"}),
            "price": ("effects", {"term": "cheaper"}),
            "rating": ("effects", {"term": "higher_rated"}),
        },
        between="products",
    ),
    "orders": Study(
        title="What was ordered, and what it cost",
        also=("choice",),
        compare=orders_comparing.compare_orders,
        compared=orders_comparing.TEXT,
        unit="% of trials",
        analyze=analyze_orders,
        report=orders.report,
        read=read_orders,
        table=orders_table,
        tables=("orders",),
        by_agent={"effects": "estimate"},
        row="a trial that is to end with an order",
        columns=(*COLUMNS, *ORDER_COLUMNS),
        estimators="Trials and their controls are pairs of the same choice set, order and repeat, with "
        "McNemar's exact test and Tango's interval; extra money has Student's interval over choice sets.",
        sources=("mcnemar1947", "tango1998"),
    ),
    "conjoint": Study(
        title="What the choices are worth",
        compare=conjoint_comparing.compare_cards,
        compared=conjoint_comparing.TEXT,
        analyze=analyze_conjoint,
        report=conjoint.report,
        read=read_conjoint,
        table=tidy_table,
        tables=("choices",),
        by_agent={"personality": "estimate", "held_out": "held_out_r2", "money": "estimate"},
        row="an option shown in a trial",
        estimators="Choices between cards are analysed by conditional logit models; errors are clustered by "
        "choice set where sets are shown several times.",
        sources=("mcfadden1974",),
        between="hotels",
    ),
    "montecarlo": Study(
        title="Willingness to pay",
        compare=montecarlo_comparing.compare_valuations,
        compared=montecarlo_comparing.TEXT,
        unit="% of the list price",
        analyze=analyze_montecarlo,
        report=montecarlo.report,
        read=read_responses,
        table=response_table,
        tables=("responses",),
        by_agent={"csvr": "estimate", "mapd": "estimate"},
        row="a question that was asked",
        columns=(*COLUMNS, *RESPONSE_COLUMNS),
        estimators="Answers are compared between conditions and with list prices; intervals of shares are "
        "Wilson's.",
        sources=("wilson1927",),
    ),
    "biases": Study(
        title="Cognitive biases",
        compare=biases_comparing.compare_biases,
        compared=biases_comparing.TEXT,
        unit="Cohen's d",
        analyze=analyze_biases,
        report=biases.report,
        read=read_responses,
        table=response_table,
        tables=("responses",),
        by_agent={"index": "estimate"},
        row="a question that was asked",
        columns=(*COLUMNS, *RESPONSE_COLUMNS),
        estimators="Each bias is the standardised difference (Cohen's d) between the answers in the "
        "treatment and in the control condition.",
        sources=("cohen1988",),
    ),
    "anchoring": Study(
        title="Anchoring in log-probabilities",
        compare=anchoring_comparing.compare_scores,
        compared=anchoring_comparing.TEXT,
        analyze=analyze_anchoring,
        report=anchoring.report,
        read=read_anchoring,
        table=score_table,
        tables=("scores",),
        by_agent={"models": "estimate"},
        row="an answer whose log-probability was scored",
        columns=(*COLUMNS, *SCORE_COLUMNS),
        estimators="Anchoring is measured in the log-probabilities of answers: expected answers by anchor, "
        "with paired tests.",
        of_design=lambda experiment: {
            name: experiment[name] for name in ("seed", "permutations") if name in experiment
        },
    ),
}
"""The one table of the kinds of study, by the word that follows `souk analyze`."""


def study_of(kind: str) -> Study:
    """Return the kind of study with this name. Raises UserError where this version of Souk has none."""
    if study := STUDIES.get(kind):
        return study
    raise UserError(
        f"{kind!r} is no kind of study that this version of Souk can analyse; {', '.join(STUDIES)} are"
    )


def analyze_run(
    records: Records,
    found: Row,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    names: Mapping[str, str] | None = None,
    **options: Any,
) -> StudyAnalysis:
    """Analyse a stored run by its kind of study.

    `agents_left` says which agents are analysed. names: what agents are called in the analysis.
    """
    study, run = study_of(kind_of(found)), found["run"]
    only, without = [*map(known_as, only)], [*map(known_as, without)]
    agents: Sequence[str] = ()
    if only or without:
        agents = agents_left(agents_of(records, run), only, without)
    with records.reading():  # one state of a run that goes on
        frames = study.stored(records, run, agents)
    tables = (
        frame[frame["agent"].isin(agents)].reset_index(drop=True)
        if agents and frame is not None and "agent" in frame
        else frame
        for frame in frames
    )
    named = [_renamed(table, names) if names and table is not None else table for table in tables]
    of_others = study.of_others(records, found, names or {})
    return study.analyze(*named, **{**of_design(found), **of_others, **options})


def _renamed(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    return table.assign(agent=table["agent"].replace(names)) if "agent" in table else table


def new_names(known: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return what agents are called anew, from pairs of their name and the new one.

    Raises:
        UserError: there is no such agent, or two would have one name, and so be taken for one.
    """
    names = {}
    for agent, name in pairs:
        if (agent := known_as(agent)) not in known:
            hint = did_you_mean(agent, known, noun="agents")
            raise UserError(f"--rename {agent}: there are no trials of this agent; {hint}")
        names[agent] = name
    called = [names.get(agent, agent) for agent in known]
    if twice := next((name for name in called if called.count(name) > 1), ""):
        raise UserError(f"--rename: two agents would be called {twice!r}; give each a name of its own")
    return names


def agents_left(known: Sequence[str], only: Sequence[str], without: Sequence[str]) -> list[str]:
    """Return the known agents in `only` (empty: all), without those in `without`.

    Raises:
        UserError: there is no such agent, or none is left.
    """
    for option, names in (("--agent", only), ("--exclude", without)):
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known, noun="agents")
                raise UserError(f"{option} {name}: there are no trials of this agent; {hint}")
    left = [name for name in known if name not in without and (not only or name in only)]
    if not left:
        raise UserError(f"--exclude {' '.join(without)}: no agent is left; exclude fewer")
    return left


def of_design(found: Row) -> dict[str, Any]:
    """Return what an analysis has to do as the design did: draw the same orders of fields."""
    declared = found["facts"].get("people")
    own = {"declared": declared} if declared else {}
    return own | study_of(kind_of(found)).of_design(found["facts"]["experiment"])


def read_tables(
    kind: str, files: Sequence[Path], only: Sequence[str] = (), without: Sequence[str] = ()
) -> pd.DataFrame:
    """Read all files as one table, with the agents that `agents_left` names.

    Messages find the rows of the table in their files.
    """
    table = together([study_of(kind).read(path) for path in files])
    only, without = [*map(known_as, only)], [*map(known_as, without)]
    if "agent" not in table or (not only and not without):
        return table
    left = agents_left(list(dict.fromkeys(table["agent"])), only, without)
    return selected(table, table["agent"].isin(left))
