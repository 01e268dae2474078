"""A real run is acted again without its agent: the same pages and choices, or the place where they differ."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from environments.browser.pool import run_browsers
from environments.shop.server import shop
from experiments.commands.replay import replay
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, Testbed
from experiments.executors.executor import Attempt
from experiments.executors.shop_watch import ShopWatch
from experiments.records.record import Start, TrialRecord, artifact_hash
from experiments.records.store import Records
from experiments.replay.replay import Again, Replay
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError
from proxy.server import run_proxy
from tests.experiments.foreign_shop import KEYS, ForeignShop, experiment
from tests.experiments.running import run_here
from tests.support import serve, size

pytestmark = pytest.mark.usefixtures("one_driver")

TRIALS = size(4, 6)
EXPERIMENT = """\
name: praised
goal: Buy the best product.
options: {sets: 1}
factors:
  nudge: {interventions: praise.yaml}
"""
PRAISE = """\
interventions:
  - id: praise
    kind: nudge
    family: authority
    variables: {praise: "Praised by all"}
    edits: [{insert_text: {after: product.title, text: "${praise}"}}]
"""
HOTELS = """\
name: rooms
task: card
mode: text
cards: hotels
design:
  conjoint: {pool: hotels, blocks: [{set_size: 2, sets: 3}]}
"""
app = typer.Typer()
app.command()(replay)


def souk_replay(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in `t.db`."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "praised.yaml").write_text(EXPERIMENT)
    (folder / "praise.yaml").write_text(PRAISE)
    run_here("praised.yaml", folder, limit=TRIALS)
    return folder


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run, as the current folder."""
    for name in ("praised.yaml", "praise.yaml", "t.db"):
        shutil.copy(folder / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(sql: str, *values: object) -> list[Any]:
    with sqlite3.connect("t.db") as connection:
        rows = connection.execute(sql, values).fetchall()
    connection.close()
    return rows


@pytest.mark.thorough
@pytest.mark.browser
def test_the_same_shop_gives_the_same_episodes(here: Path) -> None:
    ended = souk_replay("--db", "sqlite:///t.db")
    assert (ended.exit_code, ended.stdout) == (0, f"{TRIALS} of {TRIALS} episodes are the same\n"), (
        ended.stderr
    )
    assert ask("SELECT count(DISTINCT trial) FROM steps WHERE action LIKE 'click%'") == [(TRIALS,)]


@pytest.mark.browser
def test_what_differs_is_told_with_its_step(here: Path) -> None:
    page, choice, lost = [name for (name,) in ask("SELECT trial FROM trials ORDER BY trial LIMIT 3")]
    records = Records("sqlite:///t.db")
    ((name,),) = ask("SELECT observation FROM steps WHERE trial = ? AND step = 1", page)
    price = records.artifact(name).index("$")
    other = f"{records.artifact(name)[:price]}$0.01{records.artifact(name)[price + 5 :]}"
    ask("INSERT INTO artifacts VALUES (?, ?)", artifact_hash(other), records._packer.pack(other))
    ask("UPDATE steps SET observation = ? WHERE trial = ? AND step = 1", artifact_hash(other), page)
    ask("UPDATE trials SET choice = 'another' WHERE trial = ?", choice)
    ask("UPDATE steps SET observation = 'gone' WHERE trial = ? AND step = 0", lost)
    ended = souk_replay("--db", "sqlite:///t.db", "--json")
    assert ended.exit_code == 1, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["trials"], found["same"]) == (TRIALS, TRIALS - 3)
    told = {each["trial"]: each for each in found["differences"]}
    assert told.keys() == {page, choice, lost}
    assert (told[page]["step"], told[page]["what"]) == (1, "another page")
    (hunk,) = told[page]["diff"]
    assert len(hunk["removed"]) == len(hunk["added"]) == 1
    assert "$0.01" in hunk["removed"][0]
    assert told[choice]["step"] is None
    assert told[choice]["what"].endswith("and not with choice another")
    assert (told[lost]["step"], told[lost]["what"]) == (0, "the stored page is gone")


@pytest.mark.thorough
@pytest.mark.browser
def test_an_intervention_that_was_changed_since_is_seen_in_the_pages(here: Path) -> None:
    (here / "praise.yaml").write_text(PRAISE.replace("Praised by all", "Praised by some"))
    nudged, control = (
        ask("SELECT trial FROM trials WHERE condition = ? ORDER BY trial LIMIT 1", condition)[0][0]
        for condition in ("nudged", "control")
    )
    ended = souk_replay("--db", "sqlite:///t.db", "--trial", nudged)
    assert ended.exit_code == 1
    assert "the experiment as it is now gives run praised-" in ended.stderr
    assert "changed: interventions" in ended.stderr
    assert f"{nudged} simulated:balanced" in ended.stdout
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert any(line[:1] == ["-"] and "all" in " ".join(line) for line in lines)
    assert any(line[:1] == ["+"] and "some" in " ".join(line) for line in lines)
    assert ended.stdout.endswith("0 of 1 episodes are the same\n")
    assert souk_replay("--db", "sqlite:///t.db", "--trial", control).exit_code == 0


@pytest.mark.browser
async def test_a_recording_answers_for_the_shop(here: Path) -> None:
    records = Records("sqlite:///t.db")
    (name,) = ask("SELECT trial FROM trials WHERE condition = 'nudged' ORDER BY trial LIMIT 1")[0]
    again = Replay(records, records.latest_run(), trial=name)
    ((_, trial),) = again.trials
    assert isinstance(again.design, ShopDesign)
    async with (
        shop() as url,
        run_proxy(here / "ca", record=here / "recording") as proxy,
        run_browsers(proxy.spki) as browsers,
    ):
        episodes = Again(ShopTrialRunner(again.design, url), again._agent)
        runner: BrowserExecutor[Any] = BrowserExecutor(
            episodes, Testbed(url, ShopWatch(url), proxy, browsers), 1
        )
        assert (await runner.run(Attempt(trial, 1, Start.now()))).trial.outcome == "choice"
    told: list[TrialRecord] = []
    found = await again.run(told.append, upstream=here / "recording")
    assert found == [], found[0]
    assert len(told) == 1
    index = here / "recording" / "index.jsonl"
    index.write_text("".join(line for line in index.open() if '.html"' not in line))
    (difference,) = await again.run(told.append, upstream=here / "recording")
    assert difference.what.startswith("infra_error: ")
    assert "not recorded" in difference.what


@pytest.mark.thorough
@pytest.mark.browser
async def test_where_start_pages_lead_is_learned_anew(tmp_path: Path) -> None:
    """As in the run: a card is its product's on whatever page it is seen first."""
    foreign, db = ForeignShop(moved="/shop/KEY-and-its-name"), f"sqlite:///{tmp_path}/t.db"
    async with serve(foreign.app()) as address:
        file = str(experiment(tmp_path, foreign, address))
        run = ExperimentRun(file, agents=None, limit=2, db=db, out=tmp_path / "out")
        await run.run(Console(quiet=True))
        assert (run.done, [*run.complaints()]) == (2, [])
        records = run.records
        again = Replay(records, records.latest_run(), experiment=file)
        assert await again.run(lambda _: None) == []
        del foreign.names[KEYS[0]]
        differences = await again.run(lambda _: None)
    assert len(differences) == 2, "a product that the shop has no longer is a difference, not a mistake"
    assert isinstance(again.design, ShopDesign)
    assert again.design.led == {f"shop/{key}-and-its-name": key for key in KEYS} | {key: key for key in KEYS}


@pytest.mark.browser
def test_what_cannot_be_replayed_is_said(here: Path) -> None:
    records = Records("sqlite:///t.db")
    run = records.latest_run()
    with pytest.raises(UserError, match="--trial x: run praised-"):
        Replay(records, run, trial="x")
    light, full, *rest = (name for (name,) in ask("SELECT trial FROM trials ORDER BY trial"))
    ask("UPDATE steps SET observation = NULL WHERE trial = ?", light)
    again = Replay(records, run)
    assert {row.trial for row, _ in again.trials} == {full, *rest}
    assert "left out, because they were stored without pages: 1 trials" in again.notes
    assert len(Replay(records, run, trial=full).trials) == 1
    with pytest.raises(UserError, match="stored without the pages"):
        Replay(records, run, trial=light)
    (here / "praised.yaml").write_text(f"{EXPERIMENT}seed: 7\n")
    again = Replay(records, run, experiment="praised.yaml")
    assert (again.trials, len(again.missing)) == ([], TRIALS - 1)
    assert str(again.missing[0]).endswith("the experiment has it no longer")
    for change, message in (
        ("observation = NULL", "stored without the pages"),
        ("action = ''", "no actions were stored"),
    ):
        ask(f"UPDATE steps SET {change}")
        with pytest.raises(UserError, match=message):
            Replay(records, run)


def test_prompts_are_compared_without_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rooms.yaml").write_text(HOTELS)
    run_here("rooms.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    same = souk_replay("--db", "sqlite:///t.db")
    assert (same.exit_code, same.stdout) == (0, "6 of 6 episodes are the same\n"), same.stderr
    ((trial,),) = ask("SELECT min(trial) FROM steps")
    ask("UPDATE steps SET observation = 'gone' WHERE trial = ?", trial)
    other = souk_replay("--db", "sqlite:///t.db")
    assert other.exit_code == 1
    assert f"{trial} simulated:balanced" in other.stdout
    assert "step 0: another prompt" in other.stdout


@pytest.mark.thorough
@pytest.mark.browser
def test_cards_on_pages_are_acted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rooms.yaml").write_text(HOTELS.replace("mode: text", "mode: page"))
    run_here("rooms.yaml", tmp_path, limit=2)
    monkeypatch.chdir(tmp_path)
    ((trial,),) = ask("SELECT min(trial) FROM trials")
    ask("UPDATE answers SET value = 'Z' WHERE trial = ?", trial)
    ended = souk_replay("--db", "sqlite:///t.db")
    assert ended.exit_code == 1, ended.stderr
    line, summary = ended.stdout.splitlines()
    assert line.startswith(f"{trial} simulated:balanced ")
    assert "it ended with choice" in line
    assert line.endswith("(Z)")
    assert summary == "1 of 2 episodes are the same"


@pytest.mark.browser
def test_an_experiment_in_which_nobody_acts_is_refused(here: Path) -> None:
    ended = souk_replay("--experiment", "anchoring", "--db", "sqlite:///t.db")
    assert isinstance(ended.exception, UserError)
    assert "answers are scored in its trials and nobody acts; name the experiment" in str(ended.exception)
