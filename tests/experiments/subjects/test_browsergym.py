"""Trials as BrowserGym tasks: the guide's agent, the same records as the runner's, and how episodes end."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from agents.registry import make_agent
from agents.simulated.nudges import Nudge
from environments.shop.server import shop
from experiments.designs.loading import load_shop_design
from experiments.records import tables
from experiments.records.control import Runner
from experiments.records.reading.tidy_tables import receipts_table, tidy_table
from experiments.records.store import Records
from interventions.errors import UserError

pytest.importorskip("browsergym.core")

import gymnasium
from browsergym.core.action.highlevel import HighLevelActionSet

from agents.base import Call
from environments.browsergym.task import look_of
from experiments.subjects.browsergym import open_experiment
from tests.experiments.command_line import forked_souk
from tests.experiments.foreign_shop import ForeignShop
from tests.experiments.subjects.conftest import InThread
from tests.support import network_services, serve

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "browsergym.md").read_text(encoding="utf-8")
AGENT = "simulated:balanced"

EXPERIMENT = """\
name: gym
goal: Add the best product from the open tabs to the shopping cart.
options: {sets: 1}
factors:
  nudge: {interventions: nudges, only: [best-seller]}
limits: {steps: 5}
"""
EVERYTHING = """\
interventions:
  - id: everything
    kind: nudge
    family: all
    direction: 1
    edits:
      - insert_text: {after: product.title, text: A treat for every day}
      - badge: {text: Staff pick}
      - banner: {text: Free delivery today}
      - countdown: {}
      - set_title: Golden Treats
      - set_price: 3.21
      - strike_price: {was: 9.87}
      - set_rating: 55
      - set_reviews: 4321
      - set_stock: Only two left
"""
"""Edits of every kind that the shop's product pages show before they are scrolled."""
PLACED = ("trial", "step", "product", "edit", "role", "why")


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def rows(db: str, table: sql.Table) -> list[dict[str, Any]]:
    with Records(db).engine.connect() as connection:
        return [dict(row) for row in connection.execute(sql.select(table)).mappings()]


@pytest.fixture(scope="module")
async def base_url() -> AsyncIterator[str]:
    async with shop() as url:
        yield url


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    path = tmp_path / "gym.yaml"
    path.write_text(EXPERIMENT)
    return str(path)


@pytest.mark.thorough
@pytest.mark.browser
def test_the_guides_agent_runs_as_it_stands(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", GUIDE, re.S)
    assert code
    (tmp_path / "agent.py").write_text(code[1])
    done = run(tmp_path, "agent.py")
    assert (done.returncode, done.stdout) == (0, "choice\nchoice\n"), done.stderr
    db = f"sqlite:///{tmp_path}/runs/souk.db"
    run_id = Records(db).latest_run("nudges-impulsive")["run"]
    table = tidy_table(Records(db), run_id)
    assert set(table["agent"]) == {"impulsive"}
    assert table.loc[table["chosen"] == 1, "viewed_first"].tolist() == [1, 1], "it buys what it sees first"


def shop_with(agent_name: str, tasks: list[str], nudges: Mapping[str, Sequence[Nudge]]) -> None:
    """One of Souk's own agents in BrowserGym's loop, told of each trial's nudges."""
    with ThreadPoolExecutor(max_workers=1) as own_loop:  # this thread's belongs to Playwright
        for task in tasks:
            env = gymnasium.make(task)
            observation, info = env.reset()
            about = info["task_info"]
            agent = make_agent(agent_name, seed=about["seed"], nudges=nudges[about["trial"]])
            ended, step = False, 0
            while not ended:
                look = look_of(observation, step, None).observation
                decision = own_loop.submit(asyncio.run, agent.act(look)).result()
                env.unwrapped.note(decision.thought, decision.memory)
                observation, reward, terminated, truncated, info = env.step(str(decision.action))
                ended, step = terminated or truncated, step + 1
            assert (reward, info["task_info"]["outcome"]) == (1.0, "choice"), info["task_info"]
            env.close()


@pytest.mark.thorough
@pytest.mark.browser
async def test_the_records_are_those_of_souk_run(in_thread: InThread, base_url: str, tmp_path: Path) -> None:
    def browsergym() -> None:
        with open_experiment(name, agent=AGENT, limit=2, db=dbs[0], base_url=base_url) as tasks:
            assert len(tasks) == 2
            shop_with(AGENT, tasks, nudges)

    (tmp_path / "everything.yaml").write_text(EVERYTHING)
    name = str(tmp_path / "gym.yaml")
    experiment = EXPERIMENT
    (tmp_path / "gym.yaml").write_text(experiment.replace("nudges, only: [best-seller]", "everything.yaml"))
    design = load_shop_design(name, AGENT)
    nudges = {trial.id: design.declared_nudges(trial) for trial in design.trials([AGENT])}
    dbs = [f"sqlite:///{tmp_path}/{name}.db" for name in ("gym", "souk")]
    await in_thread(browsergym)
    done = forked_souk("run", name, "-a", AGENT, "--limit", "2", "--db", dbs[1], cwd=tmp_path)
    assert done.status == 0, done.err
    (gym_run, souk_run) = (Records(db).latest_run()["run"] for db in dbs)
    assert gym_run.rpartition("-")[2] == souk_run.rpartition("-")[2]
    assert gym_run.startswith("gym-simulated-"), "a run of its own"
    each, own = list(zip(dbs, (gym_run, souk_run), strict=True)), ["seconds", "run"]
    gym_table, souk_table = (tidy_table(Records(db), run).drop(columns=own) for db, run in each)
    assert gym_table.equals(souk_table), gym_table.compare(souk_table)
    assert (gym_table.groupby("trial")["chosen"].sum() == 1).all()
    # On the way pages may be loaded again, in both; the proofs are the same.
    gym_proof, souk_proof = (
        receipts_table(Records(db), run).drop(columns=["receipts", "matches"]) for db, run in each
    )
    assert (gym_proof["not_checked"] == 0).all()
    assert gym_proof.equals(souk_proof)
    # BrowserGym's pages have scroll bars, and so less room.
    gym_places, souk_places = (
        sorted(tuple(row[name] for name in PLACED) for row in rows(db, tables.on_screen)) for db in dbs
    )
    assert gym_places == souk_places
    assert {place[3] for place in gym_places} >= {"set_title", "set_price", "banner", "badge"}
    gym_steps, souk_steps = (
        sorted(
            (row["trial"], row["step"], row["url"].rpartition("/")[2], row["memory"])
            for row in rows(db, tables.steps)
        )
        for db in dbs
    )
    assert gym_steps == souk_steps, "the same pages were looked at, and the same was read on them"
    texts = [Records(dbs[0]).artifact(row["observation"]) for row in rows(dbs[0], tables.steps)]
    assert all("<button" in text for text in texts)


def end(task: str, action: Callable[[int], str], **options: Any) -> tuple[list[bool], dict[str, Any]]:
    """Run a task with `action(step)` until it ends: how, and what it says."""
    env = gymnasium.make(task, **options)
    env.reset()
    terminated = truncated = False
    step = 0
    while not (terminated or truncated):
        env.unwrapped.note("I look.", "Nothing yet.", [Call("d", "m", 10, 2, 0.5, 0.1)])
        _, _, terminated, truncated, info = env.step(action(step))
        step += 1
    nothing = env.step("scroll(0, 100)")
    assert (nothing[2], nothing[3], nothing[4]["task_info"]) == (terminated, truncated, info["task_info"])
    with pytest.raises(UserError, match="has ended; go on with the next task"):
        env.reset()
    env.close()
    return [terminated, truncated], {**info["task_info"], "steps": step}


@pytest.mark.thorough
@pytest.mark.browser
async def test_how_episodes_end(in_thread: InThread, base_url: str, experiment: str, db: str) -> None:
    def browsergym() -> None:
        with open_experiment(experiment, agent="tester", db=db, base_url=base_url) as tasks:
            assert len(tasks) == 6
            with (
                pytest.raises(UserError, match="one experiment at a time"),
                open_experiment(experiment, agent="other", db=db),
            ):
                pass
            flags, ended = end(tasks[0], lambda step: f"scroll(0, {100 * step})")
            assert (flags, ended["outcome"], ended["steps"]) == ([False, True], "agent_limit", 5)
            flags, ended = end(tasks[1], lambda step: "import os" if step else "scroll(0, 9)")
            assert (flags, ended["outcome"], ended["steps"]) == ([True, False], "agent_error", 5)
            infeasible = HighLevelActionSet(["infeas"]).to_python_code
            flags, ended = end(tasks[2], lambda _: "report_infeasible('too dear')", action_mapping=infeasible)
            assert (flags, ended["outcome"]) == ([True, False], "no_choice")
            assert "too dear" in ended["reason"]
            env = gymnasium.make(tasks[3])  # left open: closed with the experiment, and not recorded
            before = network_services()
            env.reset()
            assert len(network_services() - before) == 1, "one browser: nobody sees BrowserGym's chat window"
            env.step("scroll(0, 100)")
        assert not [task for task in gymnasium.registry if task.startswith("browsergym/souk.")]
        with open_experiment(experiment, agent="tester", db=db, base_url=base_url, limit=4) as left:
            assert left == tasks[3:4]
            env, records = gymnasium.make(left[0]), Records(db)
            other = Runner(records.latest_run()["run"], pid=os.getppid())
            other.begin(records)
            other.claim(records, [left[0].rpartition(".")[2]])
            with pytest.raises(
                UserError, match=rf"process {os.getppid()} on \S+ runs it; go on with the next"
            ):
                env.reset()
            other.end(records)
            env.reset()
            env.unwrapped.browser.close()
            with pytest.raises(Exception, match="closed"):
                env.step("scroll(0, 100)")
            assert env.reset()[1]["task_info"]["outcome"] == "", "it can be tried again"
            trial = left[0].rpartition(".")[2]
            assert set(other.claim(records, [trial]).others) == {trial}
            env.close()
            assert other.claim(records, [trial]).own == {trial}, "what has not ended is left to others"

    await in_thread(browsergym)
    by_outcome = {row["outcome"]: row for row in rows(db, tables.trials)}
    assert sorted(by_outcome) == ["agent_error", "agent_limit", "infra_error", "no_choice"]
    assert (by_outcome["agent_limit"]["tokens_in"], by_outcome["agent_limit"]["cost"]) == (50, 2.5)
    noted = {(row["thought"], row["memory"]) for row in rows(db, tables.steps) if row["action"]}
    assert ("I look.", "Nothing yet.") in noted
    actions = [row["action"] for row in rows(db, tables.steps) if row["action"]]
    assert "import os" in actions, "as it was written"
    assert "report_infeasible('too dear')" in actions


@pytest.mark.thorough
@pytest.mark.browser
async def test_time_runs_out_but_not_while_the_shop_stands_still(
    in_thread: InThread, base_url: str, tmp_path: Path, db: str
) -> None:
    path = tmp_path / "short.yaml"
    path.write_text(EXPERIMENT.replace("{steps: 5}", "{seconds: 1}"))

    def browsergym() -> None:
        with open_experiment(str(path), agent="tester", db=db, base_url=base_url, limit=2) as tasks:
            flags, ended = end(tasks[0], lambda step: f"scroll(0, {100 * step})")
            assert (flags, ended["outcome"]) == ([False, True], "agent_limit")
            assert ended["reason"] == "1 seconds have passed"
            env = gymnasium.make(tasks[1])
            venue, trial = env.unwrapped.venue, env.unwrapped.trial
            session = venue.session(trial)
            session.asked["a page"] = time.monotonic() - 3
            counted = venue.count_time(session)
            with pytest.raises(TimeoutError):
                counted.result(timeout=3)
            session.asked.clear()
            assert counted.result(timeout=30).outcome == "agent_limit"
            session.asked["a page"] = time.monotonic() - 60
            assert venue.count_time(session).result(timeout=30).cause == "shop"
            env.close()

    await in_thread(browsergym)


@pytest.mark.slow
async def test_a_shop_without_the_start_pages_is_refused(
    db: str, experiment: str, in_thread: InThread
) -> None:
    def open_there(address: str) -> None:
        with open_experiment(experiment, agent=AGENT, db=db, base_url=address):
            pass

    async with serve(ForeignShop().app()) as address:
        with pytest.raises(
            UserError, match=rf"environment: \S+ could not be treated at {address}\S+: it is no"
        ):
            await in_thread(open_there, address)
    assert rows(db, tables.trials) == []


def test_cards_are_refused(db: str) -> None:
    with (
        pytest.raises(UserError, match="its trials are no visits to a shop"),
        open_experiment("hotels", agent="tester", db=db),
    ):
        pass


def test_without_browsergym_one_line_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['browsergym.core'] = None; import experiments.subjects.browsergym"
    done = run(tmp_path, "-c", code)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: browsergym.core is not installed; install souk[browsergym]"
    )
