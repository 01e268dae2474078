"""What a design says of its trials without making them, and what its modules need."""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.designs.inputs.experiment_file import LIBRARY
from experiments.designs.loading import load_design
from interventions.errors import UserError

SHIPPED = sorted(path.stem for path in LIBRARY.glob("*.yaml"))


@pytest.mark.thorough
@pytest.mark.slow
def test_a_design_knows_how_many_trials_it_has() -> None:
    for name in SHIPPED:
        design = load_design(name)
        assert design.at_first == sum(1 for _ in design.trials([""])), name
        assert design.at_first <= design.size


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("name: e\ntask: cards", r'task: unknown value "cards"; did you mean "card"\?'),
        ("name: e\ntask: browse", "task: .* use one of: card, compare-tabs, listing, score, search"),
        ("interventions: []", "interventions: this is a file of interventions; name it in an experiment"),
        (
            "name: e\ngoal: Buy.\nfactors: {nudge: {interventions: hotels}}",
            r"factors\.nudge\.interventions: hotel-choice: cards change no page",
        ),
    ],
)
def test_a_mistake_in_the_kind_of_file_is_one_line(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(lines)
    with pytest.raises(UserError, match=message) as caught:
        load_design(str(tmp_path / "e.yaml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("attempts", [2, 3, 7])
def test_a_battery_knows_how_many_it_asks_at_first(attempts: int, tmp_path: Path) -> None:
    (tmp_path / "few.yaml").write_text(
        "name: few\ntask: card\ncards: biases\n"
        f"design: {{battery: {{biases: [], valid: 2, attempts: {attempts}}}}}\n"
    )
    design = load_design(str(tmp_path / "few.yaml"))
    assert design.at_first == sum(1 for _ in design.trials([""])) == design.size * 2 // attempts
    scored = load_design(str(tmp_path / "few.yaml"), mode="logprobs")
    assert scored.at_first == sum(1 for _ in scored.trials([""])) < design.at_first


@pytest.mark.slow
def test_designs_load_without_a_browser_and_a_database() -> None:
    code = (
        "import sys, experiments.designs.loading;"
        "print({'playwright', 'sqlalchemy', 'pandas'} & {*sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
