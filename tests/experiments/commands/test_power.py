"""`souk power` as its users meet it: tables, JSON, mistakes in a line, and what a dry run says of it."""

import json
from pathlib import Path

import pytest

from tests.experiments.command_line import forked_souk

MINI = "openai:gpt-4.1-mini"
NO_KEYS = {"OPENAI_API_KEY": None}
OWN = """
name: own
task: compare-tabs
goal: Buy the best product.
options: {sets: 12}
factors: {nudge: {interventions: nudges, only: [best-seller, wirecutter]}}
agents: [simulated:balanced]
"""
FAST = ("--studies", "20")


def told(folder: Path, *arguments: str) -> dict[str, object]:
    ended = forked_souk("power", *arguments, "--json", cwd=folder, env=NO_KEYS)
    assert ended.status == 0, ended.err
    found = json.loads(ended.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    found = told(tmp_path, "own.yaml", "--effect", "nudge=20", "--trials", "60", "--trials", "9999", *FAST)
    contrasts = found["contrasts"]
    assert isinstance(contrasts, list)
    assert {each["trials"] for each in contrasts} == {60, 144}  # no more than the experiment has
    nudges = [each for each in contrasts if each["feature"] == "nudge"]
    assert [each["effect"] for each in nudges] == [pytest.approx(20, abs=4)] * 2
    assert found["notes"] == [
        "assumed: texts and choice sets differ in an effect, SD 50 % of it (--differ)",
        "other effects: those of simulated:balanced",
    ]
    shown = forked_souk("power", "own.yaml", "--effect", "nudge=20", "--trials", "60", *FAST, cwd=tmp_path)
    assert shown.out.startswith("60 trials find nudge (")
    assert "power: the share of 20 simulated studies with p < 0.05" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


@pytest.mark.thorough
@pytest.mark.slow
def test_a_budget_needs_no_key(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    money = ("own.yaml", "--effect", "nudge=20", "--budget", "1", "--agent", MINI, *FAST)
    found = told(tmp_path, *money)
    splits = found["splits"]
    assert isinstance(splits, list)
    assert all(split["cost"] <= 1 and split["agents"] == [MINI] for split in splits)
    shown = forked_souk("power", *money, cwd=tmp_path, env=NO_KEYS)
    for key, value in splits[0]["keys"].items():
        text = f"[{', '.join(value)}]" if isinstance(value, list) else value
        assert f"\n  {key}: {text}\n" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 90


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "effect", "trials"),
    [("hotels", "star=30", "240"), ("wtp", "low=-5", "90"), ("biases", "framing=0.7", "320")],
)
def test_cards_and_answers(name: str, effect: str, trials: str, tmp_path: Path) -> None:
    found = told(tmp_path, name, "--effect", effect, "--trials", trials, *FAST)
    contrasts = found["contrasts"]
    assert isinstance(contrasts, list)
    feature, _, wanted = effect.partition("=")
    (own,) = (each for each in contrasts if each["feature"] == feature)
    assert own["effect"] == pytest.approx(float(wanted), rel=0.05)
    assert own["targets"][0]["power"] is not None


@pytest.mark.slow
def test_a_dry_run_tells_the_smallest_effects(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    shown = forked_souk("run", "own.yaml", "--dry-run", cwd=tmp_path, env=NO_KEYS)
    assert (
        "smallest effects that 144 trials of an agent can show (power 80 %, level 5 %):\n  nudge: "
        in shown.out
    )
    ended = forked_souk("run", "own.yaml", "--limit", "60", "--dry-run", "--json", cwd=tmp_path, env=NO_KEYS)
    found = json.loads(ended.out)["smallest_effects"]
    assert (found["trials"], found["power"], found["alpha"]) == (60, 0.8, 0.05)
    assert {each["feature"] for each in found["effects"]} == {"nudge", "order", "price", "rating"}
