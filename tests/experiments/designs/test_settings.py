"""`--set`: keys of an experiment file on the command line, grids of them, and mistakes."""

import json
from pathlib import Path

import pytest

from experiments.designs.inputs.settings import grid
from experiments.designs.loading import load_design
from interventions.errors import UserError
from tests.experiments.command_line import forked_souk


def test_a_key_that_is_set_is_that_of_a_file_that_says_so(tmp_path: Path) -> None:
    """Its run is the same as that of the changed file."""
    shipped = Path("experiments/library/nudges.yaml").read_text()
    (tmp_path / "nudges.yaml").write_text(
        shipped.replace("{steps: 10, seconds: 300}", "{steps: 7, seconds: 300}")
    )
    changed = load_design(str(tmp_path / "nudges.yaml"))
    for settings in (["limits.steps=7"], ["limits={steps: 7, seconds: 300}"]):
        design = load_design("nudges", settings=settings)
        assert design.experiment.limits.steps == 7
        assert design.run_id == changed.run_id != load_design("nudges").run_id


def test_a_grid_is_each_combination_in_the_order_given() -> None:
    assert list(grid([])) == [()]
    assert list(grid(["a=1", "b.c=x", "a=2"])) == [("a=1", "b.c=x"), ("a=2", "b.c=x")]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("limits.steps", "--set limits.steps: write a key of the file and its value"),
        ("limits.steps=", "--set limits.steps=: write a key of the file and its value"),
        ("limits.steps=many", "--set limits.steps=many: limits.steps: expected"),
        ("limit.steps=5", '--set limit.steps=5: limit: unknown key; did you mean "limits"?'),
        ("limits.step=5", '--set limits.step=5: limits.step: unknown key; did you mean "steps"?'),
        ("goal.text=x", "--set goal.text=x: goal has no keys; set it as a whole: --set goal=..."),
        ("goal=[a", "--set goal=[a: invalid YAML"),
        ("goal=*x", "--set goal=*x: aliases (*name) are not supported"),
    ],
)
def test_a_mistake_names_the_option(setting: str, said: str) -> None:
    with pytest.raises(UserError) as mistake:
        list(grid([setting]))
        load_design("nudges", settings=[setting])
    assert str(mistake.value).startswith(said)


@pytest.mark.slow
def test_a_grid_is_run_one_after_the_other_and_kept_as_runs_of_their_own(tmp_path: Path) -> None:
    command = ("run", "hotels", "--agent", "simulated:random", "--mode", "text", "--limit", "4")
    values = ("--set", "seed=1", "--set", "seed=2")
    ended = forked_souk(*command, *values, cwd=tmp_path)
    assert ended.status == 0, ended.err
    assert ended.err.index("seed=1") < ended.err.index("seed=2")
    runs = json.loads(forked_souk("status", "--json", cwd=tmp_path).out)
    assert len({run["run"] for run in runs}) == 2 and {run["name"] for run in runs} == {"hotels"}
