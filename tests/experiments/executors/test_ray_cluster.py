"""Workers on a Ray cluster of two nodes, of which one is lost."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
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
from tests.support import THOROUGH, size

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


@pytest.mark.browser
async def test_a_node_that_is_lost_costs_no_trial(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = list(cluster.worker_nodes)
    note = RunProgress.note
    finished: list[str] = []

    def lose_a_node(progress: RunProgress, record: TrialRecord, failed: int) -> None:
        note(progress, record, failed)
        finished.append(record.trial.trial)
        if len(finished) == 3:
            cluster.remove_node(nodes.pop(), allow_graceful=False)

    monkeypatch.setattr(RunProgress, "note", lose_a_node)
    run = run_of(tmp_path)
    await run.run(Console(quiet=True), Workers(2, 1, cluster.address))
    assert len(nodes) == 1
    assert len(finished) == len(set(finished)) == run.total == 2 * LIMIT
    assert run.records.outcomes(run.design.run_id) == {"choice": 2 * LIMIT}
    assert run_of(tmp_path).done == run.total


@pytest.mark.browser
@pytest.mark.skipif(not THOROUGH, reason="20 seconds pass until the actor is given up; `make thorough`")
async def test_an_actor_that_stands_still_is_replaced(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = RunProgress.note
    stopped: list[int] = []

    def stop_an_actor(progress: RunProgress, record: TrialRecord, failed: int) -> None:
        note(progress, record, failed)
        if not stopped:
            stopped.append(next(iter(workers())))
            os.kill(stopped[0], signal.SIGSTOP)

    monkeypatch.setattr(RunProgress, "note", stop_an_actor)
    run = run_of(tmp_path)
    await run.run(Console(quiet=True), Workers(2, 1, cluster.address))
    assert run.records.outcomes(run.design.run_id) == {"choice": 2 * LIMIT}
    assert not not_ended({stopped[0]: "the actor"}, seconds=10)


@pytest.mark.browser
async def test_programs_of_an_actor_that_is_killed_run_again(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = RunProgress.note
    finished: list[str] = []

    def kill_an_actor(progress: RunProgress, record: TrialRecord, failed: int) -> None:
        note(progress, record, failed)
        finished.append(record.trial.trial)
        if len(finished) == 3:
            os.kill(next(iter(workers())), signal.SIGKILL)

    monkeypatch.setattr(RunProgress, "note", kill_an_actor)
    agents = [f"{place(home())} 0 {way}" for way in ("compare", "children", "crash", "leave")]
    run = ExperimentRun(
        "nudges", agents=agents, limit=EACH, db=f"sqlite:///{tmp_path}/t.db", out=tmp_path / "out"
    )
    await run.run(Console(quiet=True), Workers(2, 2, cluster.address))
    assert len(finished) == len(set(finished)) == run.total == 4 * EACH
    assert run.records.outcomes(run.design.run_id) == {
        "choice": 2 * EACH,
        "agent_error": EACH,
        "no_choice": EACH,
    }
    started = Counter((home() / "started").read_text().split())
    assert started.keys() == set(finished)
    assert sum(started.values()) <= 4 * EACH + 2  # those that the actor ran


@pytest.mark.browser
async def test_a_cluster_without_a_node_ends_the_run(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    note = RunProgress.note

    def lose_each_node(progress: RunProgress, record: TrialRecord, failed: int) -> None:
        note(progress, record, failed)
        for node in list(cluster.worker_nodes):
            cluster.remove_node(node, allow_graceful=False)

    monkeypatch.setattr(RunProgress, "note", lose_each_node)
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
