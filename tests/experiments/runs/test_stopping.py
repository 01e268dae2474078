"""A run that stops by its rule: disturbed, killed, resumed, with failures, and in a real browser."""

import asyncio
import json
import random
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from analysis.choice.study import analyze_choice
from analysis.estimators.sequential import log_evidence
from experiments.bundles.bundle import make_bundle
from experiments.bundles.verify import verify_bundle
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.executors.executor import Attempt, Executor
from experiments.records.chain import chain_fault
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.status import RunStatus, run_statuses
from experiments.studies.kinds import analyze_run
from tests.experiments.chains import has_whole_chains
from tests.experiments.command_line import forked_souk
from tests.experiments.records.test_store import a_record
from tests.experiments.running import run_here
from tests.experiments.runs.killed_runs import end_of, start_run
from tests.support import size

FILE = """\
name: ruled
goal: Add the best product from the open tabs to the shopping cart.
options: {pairing: price-adjacent, set_size: 2, sets: 12, max_price_gap: 0.5, max_rating_gap: 0.1}
factors: {nudge: {interventions: nudges, on: [none, each]}, order: both}
agents: [AGENTS]
seed: 3
stopping: {RULE, most: MOST}
"""
RULE = "rule: anytime-valid, effect: nudge, alpha: 0.05, margin: 30"
MOST = size(60, 150)
NUDGED = {"simulated:nudge-prone": 0.9, "simulated:balanced": 0.55, "simulated:random": 0.5}
"""How often an agent of the drawn runs takes the carrier."""


def cost_of(trial: ShopTrial) -> float:
    """What a trial costs in USD: trials differ."""
    return 0.001 + trial.seed % 100 / 5000


@dataclass
class Drawn:
    """An executor that needs no browser: it draws choices, at random speed, and fails as often as told."""

    design: ShopDesign
    slots: int
    rng: random.Random
    failing: float = 0.0

    async def run(self, attempt: Attempt[Any]) -> TrialRecord:
        trial: ShopTrial = attempt.trial
        for _ in range(self.rng.randint(0, 6)):
            await asyncio.sleep(0)
        if self.rng.random() < self.failing:
            return self._record(trial, "infra_error", None)
        taste = random.Random(trial.id)  # a trial has its answer, whenever it is run
        if taste.random() < 0.02:
            return self._record(trial, "agent_limit", None)
        options = [product.key for product in trial.products]
        other = taste.choice(options)
        takes = trial.carrier and taste.random() < 2 * NUDGED[trial.agent] - 1
        return self._record(trial, "choice", str(trial.carrier) if takes else other)

    def _record(self, trial: ShopTrial, outcome: str, choice: str | None) -> TrialRecord:
        nudge = trial.nudge
        assert nudge
        row = {
            "run": self.design.run_id, "agent": trial.agent, "set": trial.set, "nudge": nudge.id,
            "direction": nudge.direction, "condition": trial.condition, "profile": trial.profile,
            "ordering": trial.ordering, "repeat": trial.repeat, "choice": choice, "cost": cost_of(trial),
            "nudge_text": nudge.text, "seed": trial.seed,
        }  # fmt: skip
        made = a_record(trial.id, outcome, **row)
        for position, product in enumerate(trial.products):
            made.options[position] |= {
                "option": product.key, "name": product.name, "category": product.category,
                "price": product.price, "viewed_first": int(position == 1),
                "nudged": int(product.key == trial.carrier),
            }  # fmt: skip
        return made


class DrawnRun(ExperimentRun):
    """A run at such an executor."""

    executor: Drawn

    @asynccontextmanager
    async def _executor(self, *_: object) -> AsyncIterator[tuple[Executor[Any], Any]]:
        yield self.executor, None


def drawn_run(
    folder: Path, db: str, most: int = MOST, agents: str = "", rule: str = RULE, **how: Any
) -> DrawnRun:
    """A run of three agents, in a database of its own."""
    text = FILE.replace("AGENTS", agents or ", ".join(f'"{name}"' for name in NUDGED))
    (folder / "ruled.yaml").write_text(text.replace("MOST", str(most)).replace("RULE", rule))
    with chdir(folder):
        run = DrawnRun("ruled.yaml", agents=None, limit=None, db=f"sqlite:///{folder}/{db}", out=folder)
    assert isinstance(run.design, ShopDesign)
    run.executor = Drawn(run.design, **{"slots": 1, "rng": random.Random(0), **how})
    return run


def status_of(run: ExperimentRun) -> RunStatus:
    (found,) = run_statuses(run.records, run.design.run_id)
    return found


def decisions(run: ExperimentRun) -> dict[str, dict[str, Any]]:
    """What is decided, without what depends on how many trials ran at the time."""
    told = {"ended", "saved", "saved_cost"}
    return {
        each["agent"]: {name: value for name, value in each.items() if name not in told}
        for each in status_of(run).sequences
    }


def recounted(run: ExperimentRun, agent: str) -> tuple[int, int]:
    """For and against at the first crossing, or in the end: by trials in the order of the design."""
    choices = run.records.engine.connect().exec_driver_sql("SELECT trial, choice FROM trials").fetchall()
    chosen, pairs, wins, losses = dict(choices), defaultdict(list), 0, 0
    assert isinstance(run.design, ShopDesign)
    for trial in run.design.trials([agent]):
        if trial.id not in chosen or not trial.carrier or not trial.nudge:
            continue
        key = trial.set, trial.nudge.id, trial.ordering
        pairs[key].append(None if chosen[trial.id] is None else chosen[trial.id] == trial.carrier)
        if len(pairs[key]) == 2 and None not in pairs[key]:
            towards = sum(pairs[key]) - 1 if trial.nudge.direction > 0 else 1 - sum(pairs[key])
            wins, losses = wins + (towards > 0), losses + (towards < 0)
            if log_evidence(wins, losses) >= 2.9957322:
                break
    return wins, losses


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    run = drawn_run(tmp_path_factory.mktemp("undisturbed"), "t.db")
    asyncio.run(run.run(Console(quiet=True)))
    found = decisions(run)
    for agent in NUDGED:
        if found[agent]["decision"] != "within margin":
            assert (found[agent]["strata_for"], found[agent]["strata_against"]) == recounted(run, agent)
    stopped = found["simulated:nudge-prone"]
    assert stopped["decision"] == "effect" and stopped["trials"] < MOST
    assert status_of(run).state == "decided"
    return found


@pytest.mark.thorough
def test_more_trials_go_on_where_the_rule_has_not_stopped(tmp_path: Path) -> None:
    agents = '"simulated:balanced", "simulated:nudge-prone"'
    short = drawn_run(tmp_path, "t.db", 60, agents)
    asyncio.run(short.run(Console(quiet=True)))
    assert (status_of(short).state, short.stops()) == ("decided", [short.stops()[0]])
    line = short.stops()[0]
    ended = {each["agent"]: each["ended"] for each in status_of(short).sequences}
    assert ended["simulated:balanced"] == 60 > ended["simulated:nudge-prone"]
    saved = 60 - ended["simulated:nudge-prone"]
    assert_saved(short, line, saved)
    longer = drawn_run(tmp_path, "t.db", 120, agents)
    assert longer.design.run_id == short.design.run_id
    asyncio.run(longer.run(Console(quiet=True)))
    now = {each["agent"]: each["ended"] for each in status_of(longer).sequences}
    assert now["simulated:nudge-prone"] == ended["simulated:nudge-prone"]
    assert now["simulated:balanced"] > 60


def assert_saved(run: DrawnRun, line: str, saved: int) -> None:
    """The dollars that are said are those of so many trials that cost as much as the stored ones."""
    with run.records.reading() as connection:
        query = "SELECT cost FROM trials WHERE agent = 'simulated:nudge-prone'"
        costs = [cost for (cost,) in connection.exec_driver_sql(query)]
    assert len(costs) == 60 - saved and len(set(costs)) > 3
    dollars = f"{saved * sum(costs) / len(costs):.2g}"
    assert line.endswith(f"of at most 60 trials; {saved} trials saved (about {dollars} USD)")
    shown = forked_souk("status", run.design.run_id, "--db", run.records.url, "--json", cwd=run.folder)
    (told,) = json.loads(shown.out)
    own = next(each for each in told["sequences"] if each["agent"] == "simulated:nudge-prone")
    assert own["saved_cost"] == pytest.approx(saved * sum(costs) / len(costs))


def test_the_dollars_of_trials_without_a_price_are_not_made_up(tmp_path: Path) -> None:
    run = drawn_run(tmp_path, "t.db", 60, '"simulated:nudge-prone"')
    asyncio.run(run.run(Console(quiet=True)))
    with run.records.writing() as connection:
        connection.exec_driver_sql(
            "UPDATE trials SET cost = NULL WHERE trial = (SELECT min(trial) FROM trials)"
        )
    (line,) = run.stops()
    assert line.endswith(" trials saved")


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(3, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rounds=st.lists(st.lists(st.floats(0.02, 0.8), min_size=1, max_size=2), min_size=1, max_size=4),
    slots=st.integers(1, 12),
    failing=st.sampled_from([0.0, 0.2, 0.6]),
    seed=st.integers(0, 2**32 - 1),
)
def test_killed_processes_decide_as_an_undisturbed_run(
    rounds: list[list[float]],
    slots: int,
    failing: float,
    seed: int,
    undisturbed: dict[str, dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """In each round one or two commands run at once, and each is killed at a random moment."""
    chance = random.Random(seed)  # of all commands, else a trial may fail in each of them
    folder = tmp_path_factory.mktemp("killed")
    drawn_run(folder, "t.db").records.close()

    def make() -> ExperimentRun:
        return drawn_run(folder, "t.db", slots=slots, rng=chance, failing=failing)

    for kills in rounds:
        ends = [end_of(process) for process in [start_run(make, seconds) for seconds in kills]]
        assert set(ends) <= {0, -signal.SIGPROF}
        assert chain_fault_of(folder) == ""
    for _ in range(40):
        run = make()
        asyncio.run(run.run(Console(quiet=True)))
        if run.done == run.total and not run.records.outcomes(run.design.run_id, run._ids).get("infra_error"):
            break
    assert decisions(run) == undisturbed
    before = run.records.outcomes(run.design.run_id)
    asyncio.run(drawn_run(folder, "t.db").run(Console(quiet=True)))
    assert run.records.outcomes(run.design.run_id) == before, "nothing more is started"
    assert status_of(run).state == "decided"
    assert chain_fault_of(folder) == ""
    assert has_whole_chains(run.records.url)


def chain_fault_of(folder: Path) -> str:
    """The first broken link of the only run of a database."""
    with chdir(folder):
        records = Records(f"sqlite:///{folder}/t.db")
    with records.reading() as connection:
        runs = connection.exec_driver_sql("SELECT run FROM runs").scalars().all()
        found = "; ".join(chain_fault(connection, run) for run in runs)
    records.close()
    return found


def test_a_failed_trial_on_which_the_rule_waits_comes_again_in_the_same_run(tmp_path: Path) -> None:
    run = drawn_run(tmp_path, "t.db", 300, '"simulated:nudge-prone"', failing=0.55, rng=random.Random(1))
    asyncio.run(run.run(Console(quiet=True)))
    (found,) = status_of(run).sequences
    assert found["decision"] == "effect"
    assert found["ended"] < 200, "of 100 trials 17 fail three times in a row"


@pytest.mark.thorough
@pytest.mark.slow
def test_the_report_says_the_sequence_and_leaves_out_what_does_not_hold(tmp_path: Path) -> None:
    run = drawn_run(tmp_path, "t.db", 60, '"simulated:balanced", "simulated:nudge-prone"')
    asyncio.run(run.run(Console(quiet=True)))
    found = run.records.latest_run(run.design.run_id)
    analysis = analyze_run(run.records, found)
    told = json.loads(analysis.to_json())
    rows = {row["group"]: row for row in told["sequence"]}
    for each in status_of(run).sequences:
        own = rows[each["agent"]]
        for name in ("decision", "trials", "strata_for", "strata_against", "strata", "p_value"):
            assert own[name] == pytest.approx(each[name]), name
        assert (own["conf_low"], own["conf_high"]) == (each["conf_low"], each["conf_high"])
    for table in ("effects", "exact", "nudge_texts", "categories"):
        for row in told[table]:
            if row["term"] == "nudged":
                assert row["p_value"] is None and row["conf_low"] is None, table
                assert row["estimate"] is None or "the sequence has the interval" in row["note"]
    assert any(row["p_value"] is not None for row in told["exact"] if row["term"] == "viewed_first")
    (tmp_path / "b.zip").write_bytes(make_bundle(run.records, found))
    assert not verify_bundle(tmp_path / "b.zip", 1e-9).differences
    plain = analyze_choice(tidy_table(run.records, run.design.run_id))
    assert "sequence" not in json.loads(plain.to_json()), "a table of any origin has no rule"
    one = json.loads(analyze_run(run.records, found, ["simulated:balanced"]).to_json())
    assert [row["group"] for row in one["sequence"]] == ["simulated:balanced"]


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.browser
def test_a_strong_effect_stops_a_run_in_the_browser(tmp_path: Path) -> None:
    """Begun with a few trials, gone on with, and given once more: it ends by its rule, and says so."""
    rule = RULE.replace("0.05", str(size(0.2, 0.05)))
    text = FILE.replace("AGENTS", "simulated:nudge-prone").replace("MOST", "600").replace("RULE", rule)
    (tmp_path / "ruled.yaml").write_text(text)
    run_here("ruled.yaml", tmp_path, limit=6)
    given = ("ruled.yaml", "--db", "sqlite:///t.db", "--slots", "4")
    whole = forked_souk("run", *given, cwd=tmp_path)
    assert whole.status == 0
    assert "simulated:nudge-prone: stopped by its rule after " in whole.err
    assert " trials saved" in whole.err
    assert "stopped by its rule after " in whole.out and "% at any time: " in whole.out
    with Records(f"sqlite:///{tmp_path}/t.db").reading() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM trials").scalar()
    with chdir(tmp_path):
        again = ExperimentRun("ruled.yaml", agents=None, limit=None, db="sqlite:///t.db", out=None)
        assert f"{count} trials: {count} done, 0 to run" in again.summary()
        assert again.stops()[0] in whole.err
    (seen,) = run_statuses(Records(f"sqlite:///{tmp_path}/t.db"))
    assert (seen.state, seen.done, seen.sequences[0]["saved"]) == ("decided", count, 600 - count)
    assert count < 60
    shown = forked_souk("status", "ruled", "--db", "sqlite:///t.db", cwd=tmp_path).out
    assert "stopped by its rule" in shown and "strata); " in shown
    (page,) = tmp_path.glob("t.db-runs/*/report.html")
    assert "Stopping rule" in page.read_text() and (page.parent / "sequence.svg").exists()
