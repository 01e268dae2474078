"""`souk figures`: the figures of a stored run, with other names of agents, and what it refuses."""

from pathlib import Path

import pytest

from experiments.studies.kinds import new_names
from interventions.errors import UserError
from tests.experiments.command_line import forked_souk
from tests.experiments.stored_runs import stored_runs

DB = ("--db", "sqlite:///runs.db")


@pytest.mark.slow
def test_figures_are_written_in_each_format(tmp_path: Path) -> None:
    stored_runs(tmp_path / "runs.db")
    paper = ("--style", "paper", "--format", "svg,pdf", "--width", "8.5cm", "--out", "figures")
    renamed = ("--rename", "simulated:balanced=Our shopper")
    written = forked_souk("figures", "nudges", *paper, *renamed, *DB, cwd=tmp_path)
    assert written.status == 0, written.err
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert {"effects", "attrition"} <= names
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{suffix}" for name in names for suffix in ("svg", "pdf")
    }
    drawn = (tmp_path / "figures/effects.svg").read_text()
    assert "<!-- Our shopper -->" in drawn and "simulated:balanced" not in drawn


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "pdf,gif"), "'gif' is none of pdf, svg, png"),
        (("--width", "85"), "write a number and its unit"),
        (("--width", "9mm"), "no width from 40 to 500 mm"),
        (("--rename", "x"), "write the agent, an equals sign"),
        (("--rename", "x=y"), "no trials of this agent"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    stored_runs(tmp_path / "runs.db")
    ended = forked_souk("figures", "nudges", *options, *DB, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err and ended.err.count("\n") == 1


def test_two_agents_never_become_one() -> None:
    assert new_names(["a", "b"], [("a", "b"), ("b", "a")]) == {"a": "b", "b": "a"}
    for pairs in ([("a", "b")], [("a", "x"), ("b", "x")]):
        with pytest.raises(UserError, match="two agents would be called"):
            new_names(["a", "b"], pairs)
