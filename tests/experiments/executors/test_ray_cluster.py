"""Workers on a Ray cluster of two nodes, of which one is lost."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from experiments.console.progress import RunProgress
from experiments.executors.workers import Workers
from experiments.records.record import TrialRecord
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError
from tests.experiments.command_line import left_after, not_ended, processes_with
from tests.lab.faults.programs import SETTINGS, place
from tests.support import size

pytest.importorskip("ray", reason="Ray is not installed")

AGENTS = ("simulated:balanced", "simulated:{folder}/mine.yaml")
"""A shipped shopper, and one whose file only this process can read."""
LIMIT, EACH = size(4, 6), size(2, 4)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster of one node without a CPU, where the program is."""
    from ray.cluster_utils import Cluster

    folder = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("TEST_OF", str(folder))  # programs have it too
        for name in ("SOUK_PROGRAM_GB", "SOUK_PROGRAM_FILES"):
            patch.setenv(name, SETTINGS[name])
        patch.chdir(folder)  # the working directory of the nodes
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        yield cluster
        cluster.shutdown()
        assert not left_after("TEST_OF", str(folder), seconds=10)


@pytest.fixture
def cluster(started: Any) -> Any:
    """The cluster with two more nodes, which have a CPU for a worker each."""
    while len(started.worker_nodes) < 2:
        started.add_node(num_cpus=1)
    assert not not_ended(workers(), seconds=30), "those of another test"
    return started


def home() -> Path:
    """The working directory of the nodes."""
    return Path(os.environ["TEST_OF"])


def workers() -> dict[int, str]:
    """The commands of the workers' processes."""
    ours = processes_with("TEST_OF", os.environ["TEST_OF"])
    return {number: name for number, name in ours.items() if name.startswith("ray::Actor")}


def run_of(folder: Path) -> ExperimentRun:
    (folder / "mine.yaml").write_text("taste: {log_price: -20}")
    agents = [name.format(folder=folder) for name in AGENTS]
    return ExperimentRun(
        "nudges", agents=agents, limit=LIMIT, db=f"sqlite:///{folder}/t.db", out=folder / "out"
    )


@pytest.fixture
def disturb(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], list[str]]:
    """Do something as soon as so many trials have ended; the list of those that have."""
    note = RunProgress.note

    def disturbed(after: int, do: Callable[[], object]) -> list[str]:
        finished: list[str] = []

        def noted(progress: RunProgress, record: TrialRecord, failed: int) -> None:
            note(progress, record, failed)
            finished.append(record.trial.trial)
            if len(finished) == after:
                do()

        monkeypatch.setattr(RunProgress, "note", noted)
        return finished

    return disturbed


@pytest.mark.browser
async def test_a_node_that_is_lost_costs_no_trial(tmp_path: Path, cluster: Any, disturb: Any) -> None:
    lost = next(iter(cluster.worker_nodes))
    finished = disturb(3, lambda: cluster.remove_node(lost, allow_graceful=False))
    run = run_of(tmp_path)
    await run.run(Console(quiet=True), Workers(2, 1, cluster.address))
    assert len(cluster.worker_nodes) == 1
    assert len(finished) == len(set(finished)) == run.total == 2 * LIMIT
    assert run.records.outcomes(run.design.run_id) == {"choice": 2 * LIMIT}
    assert run_of(tmp_path).done == run.total


@pytest.mark.browser
async def test_programs_of_an_actor_that_is_killed_run_again(
    tmp_path: Path, cluster: Any, disturb: Any
) -> None:
    finished = disturb(3, lambda: os.kill(next(iter(workers())), signal.SIGKILL))
    agents = [f"{place(home())} 0 {way}" for way in ("compare", "children", "crash", "leave")]
    run = ExperimentRun(
        "nudges", agents=agents, limit=EACH, db=f"sqlite:///{tmp_path}/t.db", out=tmp_path / "out"
    )
    await run.run(Console(quiet=True), Workers(2, 2, cluster.address))
    assert len(finished) == len(set(finished)) == run.total == 4 * EACH
    ended = {"choice": 2 * EACH, "agent_error": EACH, "no_choice": EACH}
    assert run.records.outcomes(run.design.run_id) == ended
    started = Counter((home() / "started").read_text().split())
    assert started.keys() == set(finished)
    assert sum(started.values()) <= 4 * EACH + 2  # those that the actor ran


@pytest.mark.browser
@pytest.mark.thorough
async def test_a_cluster_without_a_node_ends_the_run(
    tmp_path: Path,
    cluster: Any,
    disturb: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def lose_each_node() -> None:
        for node in list(cluster.worker_nodes):
            cluster.remove_node(node, allow_graceful=False)

    disturb(1, lose_each_node)
    monkeypatch.setattr("experiments.executors.ray_cluster.ROOM_SECONDS", 2)
    run = run_of(tmp_path)
    with pytest.raises(UserError, match="no node of the cluster has a CPU"):
        await run.run(Console(quiet=True), Workers(2, 1, cluster.address))
    gc.collect()  # tasks whose errors nobody asked for are told then
    assert "never retrieved" not in caplog.text
    assert 1 <= sum(run.records.outcomes(run.design.run_id).values()) < run.total


async def test_an_address_without_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"^--ray 127\.0\.0\.1:1: .*; start a cluster with `ray start --head`"
    ):
        await run_of(tmp_path).run(Console(quiet=True), Workers(1, 1, "127.0.0.1:1"))
