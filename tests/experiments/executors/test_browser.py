"""The queue: who runs when, and what stops it."""

import asyncio
import subprocess
import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.base import ProviderError, Reply
from environments.shop.shop import USUAL, Shop
from experiments.designs.loading import load_design
from experiments.executors import text as text_runner
from experiments.executors.browser import default_slots
from experiments.executors.executor import Attempt
from experiments.executors.setup import Setup, open_executor
from experiments.executors.workers import Workers
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs import coordinator
from experiments.runs.admission import Admission
from experiments.runs.coordinator import Coordinator
from experiments.runs.outages import Outages
from interventions.errors import UserError
from tests.experiments.foreign_shop import ForeignShop, design, experiment
from tests.experiments.running import HOTELS, run_trials
from tests.support import serve


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    (tmp_path / "x.yaml").write_text(HOTELS)
    return Setup(load_design(str(tmp_path / "x.yaml")), tmp_path, USUAL, 3)


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(f"sqlite:///{tmp_path}/t.db")


class Counting:
    """Runs attempts as another executor does, and notes how many there are at once."""

    def __init__(self, inner: Any) -> None:
        self.slots = inner.slots
        self.most = 0
        self._inner = inner
        self._now = 0

    async def run(self, attempt: Attempt[Any]) -> TrialRecord:
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await asyncio.sleep(0)
            record: TrialRecord = await self._inner.run(attempt)
            return record
        finally:
            self._now -= 1


async def test_never_more_at_once_than_there_are_slots(setup: Setup, records: Records) -> None:
    trials = list(setup.design.trials(["simulated:balanced"]))
    finished: list[TrialRecord] = []
    async with open_executor(setup) as inner:
        executor = Counting(inner)
        await run_trials(executor, setup.design, records, trials, finished.append)
    assert executor.most == setup.slots
    assert sorted(record.trial.trial for record in finished) == sorted(trial.id for trial in trials)
    assert records.outcomes(setup.design.run_id) == {"choice": len(trials)}


async def test_a_gate_that_closes_lets_running_trials_end(setup: Setup, records: Records) -> None:
    writer = Writer(records)
    finished: list[TrialRecord] = []

    def note(record: TrialRecord) -> None:
        finished.append(record)
        admission.reason = "enough"

    async with open_executor(setup) as executor, Admission(records, setup.design.run_id) as admission:
        trials = setup.design.trials(["simulated:balanced"])
        await Coordinator(executor, writer, admission, setup.lost).run(trials, note)
    await writer.close()
    assert 1 <= len(finished) <= setup.slots
    assert records.outcomes(setup.design.run_id) == {"choice": len(finished)}


async def test_what_the_user_has_to_mend_stops_the_run(
    setup: Setup, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused:
        async def answer(self, *_: object, **__: object) -> Reply:
            raise UserError("agents: the provider refused the key; check it")

    monkeypatch.setattr(text_runner, "make_respondent", lambda *_, **__: Refused())
    async with open_executor(setup) as executor:
        with pytest.raises(UserError, match=r"^agents: the provider refused the key"):
            trials = setup.design.trials(["simulated:balanced"])
            await run_trials(executor, setup.design, records, trials)


@pytest.mark.slow
async def test_only_so_many_trials_are_passed_over_during_an_outage(
    setup: Setup, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue of a design is long, and must not be read into memory while nothing can run."""
    monkeypatch.setattr(coordinator, "LOOK_AHEAD", 2)
    monkeypatch.setattr("experiments.runs.outages.PAUSES", (0.5, 0.5))
    read: list[str] = []
    asked: list[int] = []

    class Down:
        async def answer(self, *_: object, **__: object) -> Reply:
            asked.append(len(read))
            if len(asked) <= setup.slots:
                raise ProviderError("down")
            return Reply("A")

    def trials() -> Any:
        for trial in setup.design.trials(["openai:small"]):
            read.append(trial.id)
            yield trial

    monkeypatch.setattr(text_runner, "make_respondent", lambda *_, **__: Down())
    async with open_executor(setup) as executor:
        await run_trials(executor, setup.design, records, trials())
    # Read when the first answer after the outage was asked for: as many are claimed at a time as run at once.
    assert asked[setup.slots] == 2 * setup.slots
    assert records.outcomes(setup.design.run_id) == {"choice": len(read)}


async def test_an_answer_ends_an_outage_at_once() -> None:
    outages = Outages()
    outages.failed("openai:a", 1)
    assert outages.lasts("openai:a")
    assert not outages.lasts("openai:b")
    outages.answered("openai:a")
    await outages.over("openai:a")
    assert not outages.lasts("openai:a")


@pytest.mark.parametrize(("free", "slots", "of_two"), [(64, 64, 64), (2.5, 25, 12), (0.1, 8, 4)])
def test_slots_follow_the_cores_the_memory_and_what_agents_wait_for(
    free: float, slots: int, of_two: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = SimpleNamespace(available=int(free * 1000) * 2**20)
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert default_slots(["simulated:balanced"]) == default_slots(["command:./agent"]) == 2
    assert default_slots(["simulated:balanced", "openai:small"]) == slots
    assert Workers(2).slots_each(["openai:small"], is_text=False) == of_two
    assert Workers(2, slots=3).slots_each(["openai:small"], is_text=False) == 3


def test_more_trials_run_at_once_as_text_than_on_pages(tmp_path: Path) -> None:
    on_pages = default_slots(["ollama:small"])
    for agents, slots in (
        (["simulated:balanced"], 64),
        (["openai:small", "simulated:balanced"], 500),
        (["openai:small", "ollama:small"], on_pages),  # which does not refuse, but lets them wait
    ):
        assert Workers().slots_each(agents, is_text=True) == slots
    Workers(slots=500).check_slots(load_design("hotels", "text"))
    Workers(slots=64).check_slots(load_design("nudges"))
    with pytest.raises(UserError, match="--slots 65: a browser has at most 64 episodes at once"):
        Workers(slots=65).check_slots(load_design("nudges"))


def test_programs_are_as_many_as_cores_also_beside_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    design = load_design("nudges")
    both = ["openai:small", "command:python x.py"]
    found = Workers().setup(design, tmp_path, both)
    assert found.programs == 2 < found.slots
    assert Workers(2).setup(design, tmp_path, both).programs == 1
    assert Workers(slots=5).setup(design, tmp_path, both).programs == 5
    assert Workers().setup(design, tmp_path, both[:1]).programs == 0


@pytest.mark.parametrize(
    ("experiment", "agents", "pictures"),
    [
        ("nudges", ["simulated:balanced", "openai:small"], False),
        ("nudges", ["simulated:balanced", "openai-computer:gpt-5.5"], True),
        ("modality", ["simulated:balanced"], True),
        ("hotels", ["simulated:balanced"], False),
    ],
)
def test_pictures_are_loaded_where_somebody_looks(
    experiment: str, agents: list[str], pictures: bool, tmp_path: Path
) -> None:
    design = load_design(experiment)
    assert Workers().setup(design, tmp_path, agents).pictures == pictures
    design.shop = Shop("https://shop.example/")
    assert Workers().setup(design, tmp_path, agents).pictures, "the pages of others may need their pictures"


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("pictures", [True, False])
async def test_the_browser_of_a_run_loads_pictures_as_its_setup_says(
    pictures: bool, tmp_path: Path, records: Records
) -> None:
    shop = ForeignShop()
    async with serve(shop.app()) as url:
        made = design(experiment(tmp_path, shop, url))
        trials = list(islice(made.trials(["simulated:balanced"]), 1))
        async with open_executor(Setup(made, tmp_path, made.shop, 1, pictures=pictures)) as executor:
            await run_trials(executor, made, records, trials)
    assert records.outcomes(made.run_id) == {"choice": 1}
    assert ("/picture.png" in shop.asked) == pictures


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_begins_without_what_only_its_pages_or_its_analysis_need() -> None:
    script = (
        "import sys, experiments.runs.experiment_run\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.split())
    assert "playwright" in loaded
    assert not loaded & {"mitmproxy", "pandas", "scipy", "statsmodels", "matplotlib", "torch"}
