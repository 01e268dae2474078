"""A kind of study that Souk has never heard of needs a design, and its rows in the tables of kinds."""

import ast
import asyncio
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import experiments
from agents.base import Usage
from agents.scoring import Scorer, TargetScore
from analysis.reporting.sections import NamedTable, Report, Section
from analysis.reporting.to_json import to_json
from analysis.tables.choice_table import Column
from experiments.bundles.verify import verify_bundle
from experiments.cli import app
from experiments.designs import loading
from experiments.designs.design import Design, Mode, StoredTrials
from experiments.designs.inputs.experiment_file import StrictModel
from experiments.designs.inputs.identity import digest
from experiments.designs.inputs.plan_section import PlanSection
from experiments.executors.executor import Attempt
from experiments.executors.kinds import KINDS, TrialRunners
from experiments.records.reading.queries import trial_rows
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.runs.experiment_run import ExperimentRun
from experiments.studies.kinds import STUDIES, Study
from experiments.treatment.trajectory import Trajectory, trial_row
from interventions.errors import UserError
from interventions.yaml.yaml_source import Source, validate


class TossExperiment(StrictModel):
    """How often a coin is tossed."""

    name: str
    task: Literal["toss"]
    tosses: int
    agents: tuple[str, ...] = ("coin:fair",)
    plan: PlanSection | None = None


@dataclass(frozen=True, slots=True)
class Toss:
    """One toss."""

    id: str
    agent: str
    repeat: int
    seed: int = 0
    set: str = "coin"
    condition: str = ""
    ordering: str = "forward"


class TossDesign(Design[Toss]):
    """Tosses of a coin."""

    kind = "tosses"
    analysis = "coins"
    mode: Mode = "logprobs"
    most_steps = 1
    most_seconds = math.inf
    experiment: TossExperiment

    def __init__(self, source: Source, name: str, mode: Mode | None) -> None:
        self.experiment = validate(source, TossExperiment)

    run_id = property(lambda self: f"{self.name}-{digest(self.inputs)[:8]}")
    inputs = property(lambda self: {"tosses": self.experiment.tosses})
    size = property(lambda self: self.experiment.tosses)

    def trials(self, agents: Sequence[str]) -> Iterator[Toss]:
        for repeat in range(self.size):
            yield from (Toss(digest([agent, repeat]), agent, repeat) for agent in agents)

    def block_size(self) -> int:
        return 1

    def summary(self) -> str:
        return f"{self.size} tosses"

    def matching(
        self, stored: StoredTrials, carriers: Mapping[str, str], agents: Sequence[str]
    ) -> Iterator[tuple[str, Toss]]:
        yield from ((trial.id, trial) for trial in self.trials(agents) if trial.id in stored)

    def example(self, trial: Toss) -> dict[str, Any]:
        return {}

    def requests(self, trial: Toss) -> int:
        return 1


class Coin:
    """A coin as a scorer."""

    name = "coin"

    async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> list[list[TargetScore]]:
        return [[TargetScore(math.log(0.5), 1, shifted=False, note="") for _ in targets] for _ in prompts]


class Tossing:
    """Tosses the coins."""

    kept: Collection[str] = ()

    def __init__(self, design: TossDesign) -> None:
        self._design = design

    def scorer(self, agent: str) -> Scorer:
        return Coin()

    async def record(self, scorer: Scorer, attempt: Attempt[Toss]) -> TrialRecord:
        trajectory = Trajectory()
        trajectory.end("choice")
        trajectory.choice = "heads" if attempt.trial.repeat % 3 else "tails"
        row = trial_row(
            self._design.run_id,
            attempt.trial,
            trajectory,
            Usage(),
            steps=1,
            start=attempt.start,
            attempts=attempt.number,
        )
        return TrialRecord(row)


@dataclass(frozen=True)
class Coins:
    """How often each agent has tossed heads."""

    heads: pd.DataFrame
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        return to_json(vars(self))


def tosses_of(records: Records, run: str) -> pd.DataFrame:
    rows = sorted(trial_rows(records, run).values(), key=lambda row: row.trial)
    return pd.DataFrame([{"trial": row.trial, "agent": row.agent, "side": row.choice} for row in rows])


def analyze_coins(tosses: pd.DataFrame) -> Coins:
    return Coins((tosses["side"] == "heads").groupby(tosses["agent"]).sum().rename("heads").reset_index())


def report_of_coins(found: Coins) -> Report:
    section = Section("Heads", "Counted.", (NamedTable("heads", "Heads by agent", found.heads),))
    return Report((section,), answer=tuple(f"{row.agent}: {row.heads}" for row in found.heads.itertuples()))


COINS = Study(
    title="Coins",
    analyze=analyze_coins,
    report=report_of_coins,
    compare=lambda tosses: pd.DataFrame(),
    compared="Coins are alike.",
    read=pd.read_csv,
    table=tosses_of,
    tables=("tosses",),
    row="a toss",
    columns=(
        Column("trial", "text", "the toss"),
        Column("agent", "text", "the coin"),
        Column("side", "text", "what lies above"),
    ),
    estimators="Heads are counted.",
    sources=("fisher1935",),
)


def souk(*words: str | Path) -> str:
    ended = CliRunner().invoke(app, [*map(str, words)])
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return ended.output


@pytest.mark.slow
def test_a_strange_kind_goes_from_its_file_to_its_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = f"sqlite:///{tmp_path}/t.db"
    (tmp_path / "coins.yaml").write_text(
        "name: coins\ntask: toss\ntosses: 9\nagents: [coin:fair, coin:bent]\n"
    )
    with monkeypatch.context() as known:
        known.setitem(loading.TASKS, "toss", TossDesign)
        known.setitem(KINDS, "tosses", TrialRunners[TossDesign, Toss](scoring=Tossing))
        known.setitem(STUDIES, "coins", COINS)
        run = ExperimentRun(str(tmp_path / "coins.yaml"), agents=[], limit=None, db=db, out=tmp_path)
        asyncio.run(run.run(Console(quiet=True)))
        assert (run.total, run.done) == (18, 18)
        run.records.close()
        souk("export", "coins", "--out", tmp_path / "t.csv", "--codebook", tmp_path / "t.md", "--db", db)
        book = (tmp_path / "t.md").read_text()
        assert "a row is a toss" in book and "| side | what lies above |" in book
        souk("report", "coins", "--out", tmp_path / "r", "--db", db)
        souk("paper", "coins", "--out", tmp_path / "p", "--format", "md", "--db", db)
        assert "Coins: coins-" in (tmp_path / "r/report.html").read_text()
        methods = (tmp_path / "p/methods.md").read_text()
        assert "Heads are counted." in methods and "@fisher1935" in methods
        souk("bundle", "coins", "--out", tmp_path / "coins.zip", "--db", db)
        assert verify_bundle(tmp_path / "coins.zip", 1e-12).differences == []
        assert json.loads(souk("status", "--json", "--db", db))[0]["state"] == "finished"
    for words in (("report", "--out", "r"), ("bundle", "--out", "c.zip"), ("export", "--out", "t.csv")):
        ended = CliRunner().invoke(app, [*words, "--db", db])  # a version that does not know it says so
        assert isinstance(ended.exception, UserError)
        assert "'coins' is no kind of study" in str(ended.exception)
    with pytest.raises(UserError, match=r"'data/tosses\.csv': not a member of such an archive"):
        verify_bundle(tmp_path / "coins.zip", 1e-12)


def classes(parent: type[Any]) -> Iterator[type[Any]]:
    for each in parent.__subclasses__():
        yield from (each, *classes(each))


def test_every_design_that_comes_with_souk_has_its_rows() -> None:
    shipped = [each for each in classes(Design) if each.__module__.startswith("experiments.")]
    assert {each.kind for each in shipped} == {*KINDS}


TABLES_OF_KINDS = ("designs/loading.py", "executors/kinds.py", "studies/kinds.py", "power/rehearsals.py")
NAMES = {*STUDIES, *KINDS, *loading.TASKS}


def names_together(node: ast.AST) -> bool:
    """Whether it holds the names of two kinds or more: a dictionary, a list, a Literal ..."""
    parts: Iterable[ast.expr | None] = ()
    if isinstance(node, ast.Dict):
        parts = node.keys
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        parts = node.elts
    return len(NAMES.intersection(part.value for part in parts if isinstance(part, ast.Constant))) > 1


def asks_for_a_kind(node: ast.AST) -> bool:
    """Whether it is an isinstance of a design, or a getattr of what only some designs or trials have."""
    asked = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if not isinstance(node, ast.Call) or asked not in ("isinstance", "issubclass", "getattr"):
        return False
    if asked == "getattr":
        return (
            len(node.args) == 3
            and re.search("trial|design|experiment", ast.unparse(node.args[0])) is not None
        )
    designs = {each.__name__ for each in (Design, *classes(Design))}
    return any(isinstance(each, ast.Name) and each.id in designs for each in ast.walk(node.args[1]))


def test_what_differs_by_kind_stands_in_a_table_of_kinds_or_in_a_design() -> None:
    """No other table is keyed by the kind of a study, and no design is told by its class."""
    root, found = Path(str(experiments.__file__)).parent, []
    for path in sorted(root.rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(root))
        several = sum(f'"{each}"' in text for each in NAMES) > 1
        if several or re.search(r"(isinstance|issubclass).*Design|getattr\(", text):
            for node in ast.walk(ast.parse(text)):
                if (names_together(node) and name not in TABLES_OF_KINDS) or asks_for_a_kind(node):
                    found.append(f"{name}:{getattr(node, 'lineno', 0)}")
    assert found == []
