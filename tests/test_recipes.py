"""CONTRIBUTING's recipes, walked in a copy of the tree: what is added works, or a test asks for the rest.

The recipe of an edit is walked in tests/experiments/treatment/test_copied_edit.py, that of a kind of study in
tests/journeys/test_strange_kind.py.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli import ROOMS
from tests.agents.conftest import Provider, provider, server  # noqa: F401 (fixtures)
from tests.experiments.bundles.test_bundle import WTP
from tests.experiments.command_line import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of Souk, of its tests and of its docs."""
    for room in (*ROOMS, "tests", "docs"):
        shutil.copytree(ROOT / room, tmp_path / "tree" / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml", "Makefile"):
        shutil.copy(ROOT / name, tmp_path / "tree" / name)
    return tmp_path / "tree"


def put(tree: Path, file: str, after: str, text: str) -> None:
    """Put a text into a file of the copy, after one that is there once."""
    path = tree / file
    before = path.read_text(encoding="utf-8")
    assert before.count(after) == 1, (file, after)
    path.write_text(before.replace(after, after + text), encoding="utf-8")


def run(tree: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a module of the copy, in an empty folder beside it."""
    folder = tree.parent / "work"
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )


def souk(tree: Path, *words: str) -> str:
    ended = run(tree, "experiments.cli", *words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def is_documented(tree: Path, test: str) -> bool:
    """Whether a test of the docs passes in the copy."""
    file = f"{tree}/tests/test_documented.py"
    return run(tree, "pytest", "-q", "-p", "no:cacheprovider", file, "-k", test).returncode == 0


@pytest.mark.parametrize("provider", ["ollama"], indirect=True)
async def test_a_provider(provider: Provider, tree: Path) -> None:  # noqa: F811
    """Three places: a file, a row in `SERVICES`, a price."""
    text = (ROOT / "agents/providers/ollama_chat.py").read_text()
    copy = text.replace("OllamaChat", "EchoChat").replace('provider = "ollama"', 'provider = "echo"')
    (tree / "agents/providers/echo_chat.py").write_text(copy)
    row = """
    "echo": Service(
        key_variable="OLLAMA_API_KEY",
        url_variable="OLLAMA_HOST",
        example="one",
        made_by=("echo_chat", "EchoChat"),
    ),"""
    put(tree, "agents/providers/settings.py", "SERVICES: Final = {", row)
    assert "echo:MODEL" in souk(tree, "agents", "--json")
    provider.say("ready", usage=(10, 1))
    assert souk(tree, "agents", "echo:one").startswith("echo:one answers: model ")
    assert len(provider.requests) == 1


def test_a_table_of_a_report(tree: Path) -> None:
    """Two places: a field of the analysis with its frame, and a caption; a bundle of before verifies."""
    (tree.parent / "work").mkdir()
    (tree.parent / "work/x.yaml").write_text(WTP)
    souk(tree, "run", "x.yaml", "--db", "sqlite:///t.db")
    souk(tree, "bundle", "--db", "sqlite:///t.db", "--out", "before.zip")
    study = "analysis/montecarlo/study.py"
    put(tree, study, "    csvr: pd.DataFrame\n", "    agents: pd.DataFrame\n")
    counted = 'agents=checked.groupby("agent", as_index=False).size(),'
    put(tree, study, "csvr=with_note(valid_share(cells), alike),\n", f"        {counted}\n")
    caption = "    missing: Missing responses by reason\n"
    put(tree, "analysis/montecarlo/report.yaml", caption, "    agents: Responses by agent\n")
    souk(tree, "report", "--db", "sqlite:///t.db", "--out", "r")
    assert "Responses by agent" in (tree.parent / "work/r/report.html").read_text()
    assert (tree.parent / "work/r/agents.csv").read_text().startswith("agent,size\n")
    verified = run(tree, "experiments.cli", "bundle", "verify", "before.zip")
    assert verified.returncode == 0, verified.stdout
    assert "not in the archive, which another version of Souk made: analysis.agents" in verified.stderr


def test_an_outcome(tree: Path) -> None:
    """One place, and its row in the docs, for which a test asks."""
    file = "analysis/tables/outcomes.py"
    put(tree, file, '"treatment_failed", "infra_error"', ', "fell_asleep"')
    row = '\n    "fell_asleep": OutcomeFacts(said="fell asleep", colour="#123456", failed=True),'
    put(tree, file, "OUTCOMES: Final[Mapping[Outcome, OutcomeFacts]] = {", row)
    assert not is_documented(tree, "test_outcomes_causes_and_states")
    page = (tree / "docs/experiments.md").read_text()
    first = next(line for line in page.splitlines() if line.startswith("| `infra_error`"))
    put(tree, "docs/experiments.md", first, "\n| `fell_asleep` | the agent fell asleep |")
    assert is_documented(tree, "test_outcomes_causes_and_states")


def test_a_command(tree: Path) -> None:
    """Two places; then a program writes the reference, and a test asks for a guide."""
    text = 'def greet() -> None:\n    """Say hello."""\n    print("hello")\n'
    (tree / "experiments/commands/greet.py").write_text(f'"""souk greet."""\n\n\n{text}')
    put(tree, "experiments/cli.py", "        fit,\n", "        greet,\n")
    put(tree, "experiments/cli.py", "app.command()(doctor.doctor)\n", "app.command()(greet.greet)\n")
    assert souk(tree, "greet") == "hello\n"
    asked = "test_the_reference_of_commands_is_what_the_program_says"
    assert not is_documented(tree, asked)
    assert run(tree, "tests.command_reference").returncode == 0
    assert is_documented(tree, asked)
    assert not is_documented(tree, "test_commands_stand_in_a_guide")
