"""A user's mistake is one line on stderr, `error: where: what; fix`, and status 2. Never a traceback."""

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.records.store import Records
from tests.experiments.command_line import Ended, forked_souk, souk
from tests.journeys.programs import run_program

ROOT = Path(__file__).parents[2]

EXPERIMENT = """\
name: mine
goal: Buy the best product.
options: {sets: 2}
factors:
  nudge: {interventions: mine-nudges.yaml}
"""

NUDGES = """\
interventions:
  - id: badge
    kind: nudge
    family: authority
    direction: +1
    edits:
      - insert_text: {after: product.title, text: "Our choice"}
"""

SECOND = NUDGES.removeprefix("interventions:\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(EXPERIMENT)
    (tmp_path / "mine-nudges.yaml").write_text(NUDGES)
    return tmp_path


@pytest.fixture
def taken_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


def error_of(*arguments: str, cwd: Path) -> str:
    ended = forked_souk(*arguments, cwd=cwd, env={"OPENAI_API_KEY": None})
    assert ended.status == 2, ended
    assert ended.out == ""
    assert re.fullmatch(r"error: [^\n]+\n", ended.err), ended.err
    assert "Traceback" not in ended.err
    return ended.err.removeprefix("error: ").rstrip("\n")


CTRL_C_WHILE = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["CTRL_C_WHILE"]:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, CtrlC())
"""


@pytest.mark.parametrize(
    "module", ["logging", "typer", "experiments.commands", "experiments.console.terminal"]
)
def test_ctrl_c_while_the_program_is_imported_is_no_traceback(module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CTRL_C_WHILE)
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "CTRL_C_WHILE": module}
    assert souk("agents", "--help", cwd=tmp_path, env=env) == Ended(130, "", "")


@pytest.mark.thorough
def test_ctrl_c_in_a_dry_run_does_not_say_that_something_is_stored(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CTRL_C_WHILE)
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "CTRL_C_WHILE": "experiments.runs.outlook"}
    ended = souk("run", "nudges", "--dry-run", cwd=tmp_path, env=env)
    assert (ended.status, ended.err.splitlines()[-1]) == (130, "stopped; a dry run stores nothing.")


def test_ctrl_c_before_a_command_begins_is_no_traceback(tmp_path: Path) -> None:
    program = (
        "import signal; from experiments import cli;"
        "cli.command_line = lambda: signal.raise_signal(signal.SIGINT); cli.main()"
    )
    assert run_program(program, cwd=tmp_path) == Ended(130, "", "")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("product.title", "title", r'mine-nudges.yaml:7:\d+: interventions\[0\].edits\[0\].insert_text.after: unknown role "title"; did you mean (".*", )*"product.title" or "row.title"\?'),  # noqa: E501
        ("product.title", "product.titel", r'mine-nudges.yaml:7:\d+: interventions\[0\].edits\[0\].insert_text.after: unknown role "product.titel"; did you mean "product.title"\?'),  # noqa: E501
        ("family:", "familly:", r'mine-nudges.yaml:4:\d+: interventions\[0\].familly: unknown key; did you mean "family"\?'),  # noqa: E501
        ("+1", "up", r"mine-nudges.yaml:5:\d+: interventions\[0\].direction: .*; .+"),
        ("family: authority", "family: [authority]", r"mine-nudges.yaml:4:\d+: interventions\[0\].family: expected text, found a list; .+"),  # noqa: E501
        ("Our choice", "Our ${adjective} choice", r"mine-nudges.yaml:7:\d+: .*\$\{adjective\}.*; .+"),
        (NUDGES, NUDGES + SECOND, r"mine-nudges.yaml:8:\d+: interventions\[1\].id: .*badge.*; .+"),
        (NUDGES, "", r"mine-nudges.yaml:1:\d+: the file is empty; .+"),
        ('"Our choice"}', '"Our choice"', r"mine-nudges.yaml:\d+:\d+: invalid YAML: .*; check quotes, colons and indentation"),  # noqa: E501
        ("goal:", "gaol:", r'mine.yaml:2:\d+: gaol: unknown key; did you mean "goal"\?'),
        ("sets: 2", "sets: two", r'mine.yaml:3:\d+: options.sets: expected a whole number, found "two"; .+'),
        ("sets: 2", "set: 2", r'mine.yaml:3:\d+: options.set: unknown key; did you mean "sets"\?'),
        ("sets: 2", "set_size: 8, max_price_gap: 0, max_rating_gap: 0", r"mine.yaml:3:\d+: options: no 8 products .*; raise max_price_gap or max_rating_gap"),  # noqa: E501
        ("mine-nudges.yaml", "other.yaml", r"mine.yaml:5:\d+: factors.nudge.interventions: other.yaml: no such file in /.+; check the path"),  # noqa: E501
        ("mine-nudges.yaml}", "mine-nudges.yaml, only: [bagde]}", r"mine.yaml:5:\d+: factors.nudge.only\[0\]: .*'bagde'; did you mean .badge.."),  # noqa: E501
        ("mine-nudges.yaml", "nudgse", r'mine.yaml:5:\d+: factors.nudge.interventions: no interventions "nudgse"; did you mean "nudges"\?.*'),  # noqa: E501
        ("goal:", "site: my-shop\ngoal:", r'mine.yaml:2:\d+: site: no site map "my-shop"; shipped: .+'),
        ("goal:", "agents: [simulated:first, simulatd:price]\ngoal:", r'mine.yaml:2:\d+: agents: unknown agent "simulatd:price"; did you mean "simulated:price"\?'),  # noqa: E501
        ("goal:", "agents: [simulated:prize]\ngoal:", r'mine.yaml:2:\d+: agents: unknown simulated agent "prize"; .+'),  # noqa: E501
        (EXPERIMENT, "", r"mine.yaml:1:\d+: the file is empty; .+"),
        (EXPERIMENT, "name: [x\n", r"mine.yaml:\d+:\d+: invalid YAML: .+; .+"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file(folder: Path, old: str, new: str, expected: str) -> None:
    """In the file that the message names."""
    file = folder / re.match(r"[\w-]+\.yaml", expected)[0]  # type: ignore[index]
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert re.fullmatch(expected, error_of("run", "mine.yaml", "--dry-run", cwd=folder))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("run nudgse", r'unknown experiment \'nudgse\'; did you mean "nudges"\?.*'),
        ("run none.yaml", r"none.yaml: no such file; check the path"),
        ("run nudges --agent nobody", r'agents: unknown agent "nobody"; known agents: simulated:balanced, .+'),  # noqa: E501
        ("run nudges --agent openai:gpt-4.1-mini", r"agents: openai: OPENAI_API_KEY is not set; set it .+"),
        ("run nudges --db sqlite:////proc/x/t.db", r"--db sqlite:////proc/x/t.db: .*; .+"),
        ("run nudges --db t.db", r"--db t.db: not a database URL; write sqlite:///FILE .+"),
        ("proxy serve -i none", r'no interventions "none"; .*nudges.*'),
        ("env up mars", r"unknown environment 'mars'; the environments are: shop, .+"),
        ("analyze none.csv --as choice", r"none.csv: no such file; export the run first"),
        ("analyze --db sqlite:///none.db", r"--db sqlite:///none.db: no such file; run an experiment first: .+"),  # noqa: E501
        ("analyze short.csv --as choice", r"short.csv: .*chosen.*; .+"),
        ("analyze --db sqlite:///empty.db", r"sqlite:///empty.db: no run in this database; run an experiment first: .+"),  # noqa: E501
        ("export --db sqlite:///empty.db --out t.csv", r"sqlite:///empty.db: no run in this database; .+"),
        ("report --db sqlite:///none.db", r"--db sqlite:///none.db: no such file; .+"),
    ],
)  # fmt: skip
def test_a_mistake_on_the_command_line(tmp_path: Path, command: str, expected: str) -> None:
    (tmp_path / "short.csv").write_text(
        "run,trial,agent,set,option,position,outcome\nr,t,a,s,x,0,choice\nr,t,a,s,y,1,choice\n"
    )
    if "empty.db" in command:
        Records(f"sqlite:///{tmp_path}/empty.db").close()
    assert re.fullmatch(expected, error_of(*command.split(), cwd=tmp_path))
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("command", ["proxy serve -i nudges", "env up shop --local"])
def test_a_busy_port(tmp_path: Path, taken_port: str, command: str) -> None:
    error = error_of(*command.split(), "--port", taken_port, cwd=tmp_path)
    assert re.fullmatch(rf"port {taken_port}: .*Address already in use.*; .*choose another.*", error)


def test_a_folder_that_cannot_be_written_leaves_no_run_behind(tmp_path: Path) -> None:
    ended = forked_souk(
        "run", "nudges", "--limit", "6", "--out", "/proc/x", "--db", "sqlite:///t.db", cwd=tmp_path
    )
    *_, last = ended.err.splitlines()
    assert ended.status == 2
    assert re.fullmatch(r"error: /proc/x/ca: cannot be written \(.+\); choose another folder", last)
    assert "Traceback" not in ended.err
    assert "no run in this database" in error_of("analyze", "--db", "sqlite:///t.db", cwd=tmp_path)


@pytest.mark.thorough
def test_an_installation_that_lacks_a_package_says_so(tmp_path: Path) -> None:
    lacking = "import sys; sys.modules['sqlalchemy'] = None; from experiments.cli import main; main()"
    ended = run_program(lacking, "export", "--out", "t.csv", "--db", "postgresql://x", cwd=tmp_path)
    said = "error: sqlalchemy is not installed; install Souk with all that it needs: make setup\n"
    assert (ended.status, ended.err) == (2, said)
