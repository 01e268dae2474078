"""A shopper's file in commands: runs, other processes, changed files, `souk fit`; mistakes are one line."""

import asyncio
import json
import random
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agents.simulated.own_profiles import known_as, profile_of
from agents.simulated.readers.card_text import read_options, to_alternatives
from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import ATTRIBUTES, DisplayedOption, Taste, choice_probabilities, draw
from experiments.designs.loading import load_design, load_shop_design
from experiments.designs.shop.simulation import simulated_trials
from experiments.records.reading.queries import trial_rows
from experiments.records.store import Records
from experiments.runs.experiment_run import ExperimentRun
from interventions.yaml.yaml_source import load_yaml
from tests.experiments.command_line import forked_souk
from tests.simulated_choices import with_choices

MINE = "taste: {log_price: -4, stars: 0.6, bed: 0.3, spread: {stars: 0.5, log_price: 2}, determinism: 0.6}\n"
EXPERIMENT = """\
name: own
task: card
mode: text
cards: hotels
design: {conjoint: {pool: hotels, blocks: [{set_size: 2, sets: 12, repeats: 1}], order: both}}
agents: [simulated:mine.yaml]
seed: 3
"""


def facts(folder: Path, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = Records(f"sqlite:///{folder}/runs/souk.db").latest_run(name)
    return found


def run(folder: Path, experiment: str, *agents: str, limit: int | None = None) -> str:
    """Run an experiment in a folder to its end; what is said before it."""
    with chdir(folder):
        found = ExperimentRun(
            experiment, agents=agents, limit=limit, db="sqlite:///runs/souk.db", out=folder / "out"
        )
        said = found.summary()
        asyncio.run(found.run(Console(quiet=True)))
    assert found.done == found.total
    found.records.close()
    return said


def drawn(taste: Taste, shown: list[DisplayedOption], source: random.Random) -> int:
    """The choice of a shopper whose weights are drawn first, computed apart."""
    own = {
        name: source.gauss(getattr(taste, name), taste.spread[name])
        for name in ATTRIBUTES
        if name in taste.spread
    }
    taste = Taste(**{**taste.model_dump(exclude={"spread"}), **own})
    return draw(choice_probabilities(taste, shown), source.random())


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run by two worker processes, of an experiment that names a shopper beside itself."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "study").mkdir()
    (folder / "study/own.yaml").write_text(EXPERIMENT)
    (folder / "study/mine.yaml").write_text(MINE)
    ended = forked_souk("run", "study/own.yaml", "--workers", "2", cwd=folder)
    assert ended.status == 0, ended.err
    return folder


@pytest.mark.thorough
@pytest.mark.slow
def test_other_processes_choose_as_the_file_says(ran: Path) -> None:
    """Each choice is the one that the file's numbers, the trial's seed and its prompt give."""
    with chdir(ran):
        agent = known_as("simulated:study/mine.yaml")
        design = load_design("study/own.yaml")
    taste, found = profile_of(agent).taste, facts(ran, "own")
    assert found["facts"]["agents"] == [agent]
    assert Taste(**found["facts"]["shoppers"][agent]["taste"]) == taste
    rows = trial_rows(Records(f"sqlite:///{ran}/runs/souk.db"), found["run"])
    trials = list(design.trials([agent]))
    assert len(trials) == len(rows) == 24
    for trial in trials:
        prompt, source = trial.cards[0].prompt, random.Random(trial.seed)
        if source.random() < 0.6:
            source = random.Random(f"{taste.model_dump_json()} {prompt}")
        options = read_options(prompt)
        chosen = drawn(taste, to_alternatives(options), source)
        assert rows[trial.id].choice == trial.cards[0].chosen(list(options)[chosen]), trial.id


@pytest.mark.slow
def test_a_changed_file_is_another_agent(ran: Path) -> None:
    assert "24 trials: 24 done, 0 to run" in run(ran, "study/own.yaml")
    before = known_as(f"simulated:{ran}/study/mine.yaml")
    (ran / "changed.yaml").write_text(MINE.replace("-4", "-5"))
    (ran / "mine.yaml").write_text(f"# the same shopper\n{MINE}")
    for file, done in (("mine", 24), ("changed", 0)):
        summary = run(ran, "study/own.yaml", f"simulated:{file}.yaml")
        assert f"24 trials: {done} done, {24 - done} to run" in summary
    found = facts(ran, "own")["facts"]
    assert found["agents"] == [before, known_as(f"simulated:{ran}/changed.yaml")]
    assert found["shoppers"].keys() == {*found["agents"]}
    assert forked_souk("replay", "own", "--limit", "3", cwd=ran).status == 0


@pytest.mark.slow
def test_a_run_becomes_a_shopper(ran: Path) -> None:
    fit = ("fit", "own", "--agent", "simulated:study/mine.yaml")
    shown = forked_souk(*fit, "--out", "fitted.yaml", cwd=ran)
    assert shown.status == 0, shown.err
    assert "24 choices in 12 choice sets" in shown.out and "McFadden's R2" in shown.out
    assert "log_price" in shown.out and "brand." in shown.out
    assert "run it with --agent simulated:fitted.yaml" in shown.out
    told = json.loads(forked_souk(*fit, "--json", cwd=ran).out)
    assert profile_of(f"simulated:{ran}/fitted.yaml").model_dump(exclude_defaults=True) == told["profile"]
    refused = forked_souk(*fit, "--out", "fitted.yaml", cwd=ran)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "fitted.yaml: exists and is not overwritten; choose another file" in refused.err


@pytest.mark.slow
def test_a_table_becomes_a_shopper(tmp_path: Path) -> None:
    made = simulated_trials(load_shop_design("nudges", ""), shipped_taste("balanced"), 600)
    choices = with_choices(made, made.drawn(np.random.default_rng(0), 1)[:, 0]).drop(columns="trial_id")
    two = choices.assign(agent="other", chosen=1 - choices["chosen"])
    choices.to_csv(tmp_path / "table.csv", index=False)
    two.to_csv(tmp_path / "other.csv", index=False)
    several = forked_souk("fit", "table.csv", "other.csv", cwd=tmp_path)
    assert several.status == 2
    assert "name the agent whose choices are fitted; there are other, simulated" in several.err
    both = ("fit", "table.csv", "other.csv", "--agent", "simulated")
    assert forked_souk(*both, "--out", "mine.yaml", cwd=tmp_path).status == 0
    assert list(load_yaml(tmp_path / "mine.yaml").data["taste"])[:2] == ["log_price", "rating"]
    assert profile_of(f"simulated:{tmp_path}/mine.yaml").taste.log_price < 0
