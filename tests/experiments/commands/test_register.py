"""`souk register`: a plan is the same everywhere, and what departs from it shows."""

import json
from pathlib import Path

import pytest

from tests.experiments.command_line import forked_souk
from tests.experiments.running import HOTELS

PLAN = """\
plan:
  hypotheses:
    - {name: first-place, table: triage, row: {note: ""}}
    - {name: price-matters, table: price_response, row: {term: price}, expect: below}
"""
DB = ("--db", "sqlite:///t.db")


def write(folder: Path, plan: str = PLAN) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "x.yaml").write_text(HOTELS + plan)
    return folder


def test_a_plan_is_the_same_in_another_folder(tmp_path: Path) -> None:
    hashes = []
    for name in ("one", "other"):
        folder = write(tmp_path / name)
        ended = forked_souk("register", "x.yaml", *DB, "--json", cwd=folder)
        assert ended.status == 0, ended.err
        hashes.append(json.loads(ended.out)["sha256"])
        assert json.loads((folder / "x.plan.json").read_text())["sha256"] == hashes[-1]
        assert str(tmp_path) not in (folder / "x.plan.json").read_text()
    assert hashes[0] == hashes[1]


@pytest.mark.slow
def test_what_departs_from_the_plan_is_listed(tmp_path: Path) -> None:
    folder = write(tmp_path)
    assert forked_souk("register", "x.yaml", *DB, cwd=folder).status == 0
    again = forked_souk("register", "x.yaml", *DB, cwd=folder)
    assert again.status == 0, again.err
    write(folder, PLAN.replace("price-matters", "another"))
    changed = forked_souk("register", "x.yaml", *DB, cwd=folder)
    assert changed.status == 2
    assert "another plan is there" in changed.err
    command = ("run", "x.yaml", *DB, "--limit", "4", "--agent", "simulated:price", "--json")
    write(folder)
    before = forked_souk(*command, cwd=folder)
    assert len(json.loads(before.out)["registered"]["deviations"]) == 2, before.err
    write(folder, PLAN.replace("price-matters", "another"))  # and no trial is left
    ended = forked_souk(*command, cwd=folder)
    assert "the file was changed after registration (plan)" in ended.err
    deviations = json.loads(ended.out)["registered"]["deviations"]
    assert len(deviations) == 3
    for found, expected in zip(
        deviations, ("changed after", "4 of 16 planned", "of simulated:price"), strict=True
    ):
        assert expected in found
    excluded = forked_souk("analyze", *DB, "--agent", "simulated:price", "--json", cwd=folder)
    assert "--agent simulated:price" in json.loads(excluded.out)["registered"]["deviations"][-1]
    (folder / "x.plan.json").unlink()
    late = forked_souk("register", "x.yaml", *DB, cwd=folder)
    assert late.status == 2
    assert "4 trials are stored already" in late.err
    (folder / "x.yaml").write_text(HOTELS.replace("seed: 3", "seed: 4") + PLAN)
    other = forked_souk("run", "x.yaml", *DB, "--limit", "4", cwd=folder)
    assert "not registered: a plan of this name is registered for" in other.err
    report = forked_souk("paper", *DB, "--format", "md", "--out", "p", cwd=folder)
    assert report.status == 0, report.err
    assert "not registered" in (folder / "p/methods.md").read_text()


@pytest.mark.thorough
def test_more_trials_than_planned_are_told_before_a_run(tmp_path: Path) -> None:
    folder = write(tmp_path, f"{PLAN}  trials: 4\n")
    assert forked_souk("register", "x.yaml", *DB, cwd=folder).status == 0
    said = "the plan has 4 trials, and this command runs 16: --limit says how many of each agent"
    for limit, told in (((), True), (("--limit", "4"), False)):
        ended = forked_souk("run", "x.yaml", *DB, *limit, "--dry-run", cwd=folder)
        assert ended.status == 0, ended.err
        assert (said in ended.err) is told


SHOP = """\
name: x
goal: Put the best product into the cart.
options: {sets: 4}
factors:
  nudge: {interventions: nudges, only: [best-seller]}
stopping: {rule: anytime-valid, effect: nudge, most: 12}
plan:
  hypotheses: [{name: works, effect: nudge}, {name: order, effect: order}, {name: cheap, effect: price}]
"""


def test_a_stopping_rule_bounds_the_plan_and_tests_its_own_effect(tmp_path: Path) -> None:
    """Only the sequence has the p value of an effect that a run can stop for."""
    found = {}
    for name, text in (
        ("anytime", SHOP),
        ("fixed", SHOP.replace("rule: anytime-valid, effect: nudge, ", "")),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(text)
        ended = forked_souk("register", "x.yaml", *DB, cwd=tmp_path / name)
        assert ended.status == 0, ended.err
        plan = json.loads((tmp_path / name / "x.plan.json").read_text())["plan"]
        assert plan["trials"]["planned"] == 12
        found[name] = [(each["table"], each["row"]["term"]) for each in plan["hypotheses"]]
    others = [("exact", "viewed_first"), ("effects", "cheaper")]
    assert found["anytime"] == [("sequence", "nudged"), *others]
    assert found["fixed"] == [("exact", "nudged"), *others]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("plan: {hypotheses: [{name: a, table: nowhere, row: {term: x}}]}", "no table 'nowhere'"),
        ("plan: {hypotheses: [{name: a, effect: nudge}]}", "effects are of shops"),
        ("plan: {hypotheses: [{name: a}]}", "what is estimated is missing"),
        ("plan: {hypotheses: [{name: a, table: triage, row: {term: x}, margin: 2}]}", "margin"),
        ("plan: {exclude: {agents: [simulated:other]}}", "no agent 'simulated:other' is planned"),
    ],
)
def test_a_mistake_is_one_line(plan: str, said: str, tmp_path: Path) -> None:
    ended = forked_souk("register", "x.yaml", *DB, cwd=write(tmp_path, plan + "\n"))
    assert ended.status == 2
    (line,) = ended.err.splitlines()
    assert line.startswith("error: x.yaml:")
    assert said in line
    assert not (tmp_path / "x.plan.json").exists()


@pytest.mark.thorough
@pytest.mark.slow
def test_what_the_plan_excludes_is_left_out_of_registered_results_alone(tmp_path: Path) -> None:
    agents = ("--agent", "simulated:balanced", "--agent", "simulated:price")
    excluded = "  exclude: {agents: [simulated:price], outcomes: [agent_error]}\n"
    folder = write(tmp_path, PLAN + excluded)
    assert forked_souk("register", "x.yaml", *agents, *DB, cwd=folder).status == 0
    ended = forked_souk("run", "x.yaml", *agents, *DB, "--json", cwd=folder)
    found = json.loads(ended.out)
    assert found["registered"]["deviations"] == []
    assert {row["group"] for row in found["registered"]["results"]} == {"simulated:balanced"}
    assert {row["group"] for row in found["triage"]} == {"simulated:balanced", "simulated:price"}
    one = forked_souk("analyze", *DB, "--exclude", "simulated:price", "--json", cwd=folder)
    alone = json.loads(one.out)
    assert alone["registered"]["deviations"] == []
    assert alone["registered"]["results"] == found["registered"]["results"]
