"""What a design says of its trials without making them, and what its modules need."""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.designs.loading import load_design

MINI = "openai:gpt-4.1-mini"


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


@pytest.mark.parametrize(
    ("agent", "temperature", "warned"),
    [(MINI, 0, True), (MINI, 1, False), ("openai:o3", 0, False), ("simulated:same.yaml", 1, True)],
)
def test_repeats_that_tell_nothing_are_warned_of(
    agent: str, temperature: int, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("same.yaml").write_text("taste: {determinism: 1}\n")
    Path("own.yaml").write_text(
        "name: own\ntask: card\nmode: text\ncards: willingness-to-pay\n"
        f"design: {{factorial: {{repeats: 5}}}}\ntemperature: {temperature}\n"
    )
    notes = "\n".join(load_design("own.yaml").notes([agent]))
    assert ("answers the same question alike, so that 5 repeats tell no more than one" in notes) is warned
