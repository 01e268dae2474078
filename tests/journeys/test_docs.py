"""The guides as a reader follows them: every command of five pages, in the README's order, in one folder.

`make thorough` follows seven.

The blocks marked `console` are run as they stand, by one bash that begins in an empty folder, where nothing
but the README's own line puts `souk` on the PATH. What a page prints under a command must be what the command
prints. A file that a page says to save is saved. In `make test` each `souk` is a fork of one that is loaded.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.experiments.command_line import program
from tests.support import THOROUGH

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md", "docs/README.md", "docs/first-experiment.md", "docs/your-products.md", "docs/authoring.md",
    *(["docs/any-agent.md", "docs/replay.md"] if THOROUGH else []),
)  # fmt: skip

BLOCK = re.compile(
    r"(?:Save this as `(?P<file>[^`]+)`:\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
KEYED = re.compile(r"\bwith a key\b[^\n]*:\n\n\Z", re.IGNORECASE)
"""What stands before a block that needs a provider's key."""

SKIPPED = {
    r"make |pip install |python -m environments.browser.install": "sets up what runs this test, or runs it",
    r"souk models": "takes one to two minutes; tests/experiments/commands/test_models.py does it",
    r"export OPENAI_API_KEY": "nobody has a key here",
}
if shutil.which("curl", path="/usr/local/bin:/usr/bin:/bin") is None:
    SKIPPED["curl "] = "a look at what the proxy serves, with a program that is not there"
DRY = {
    r"souk run anchoring --agent hf:tiny-anchor$": "the model of the line before is not there",
}

pytestmark = [pytest.mark.first, pytest.mark.timeout(1800)]


@dataclass
class Command:
    """A line of a guide after `$ `, and the lines below it, which it is said to print."""

    page: str
    line: str
    claimed: list[str] = field(default_factory=list)
    needs_key: bool = False


@dataclass
class SavedFile:
    """What a page says to save."""

    name: str
    text: str


def steps_of(page: str) -> Iterator[Command | SavedFile]:
    """What a reader of a page does, in its order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block["file"]:
            yield SavedFile(block["file"], block["text"])
        if block["kind"] != "console":
            continue
        needs_key = bool(KEYED.search(text, 0, block.start()))
        command: Command | None = None
        for line in block["text"].splitlines():
            if line.startswith("$ "):
                if command:
                    yield command
                command = Command(page, line.removeprefix("$ "), needs_key=needs_key)
            elif command and line.strip():
                command.claimed.append(line)
        if command:
            yield command


def as_run(command: Command) -> str:
    """What of a command can be run here: itself, a dry run in its place, or nothing."""
    if any(re.match(pattern, command.line) for pattern in SKIPPED):
        return ""
    if command.needs_key or any(re.match(pattern, command.line) for pattern in DRY):
        line = re.sub(r" --detach\b", "", command.line)
        return f"{line} --dry-run" if line.startswith("souk run ") else ""
    return command.line


class Shell:
    """A bash to which commands are given one after the other, as to a terminal."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, line: str) -> tuple[int, str]:
        """The status of a command and what it printed; nothing can be typed into it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{{ {line}\n}} < /dev/null; printf '\\nend-of-command %s\\n' $?\n")
        self._process.stdin.flush()
        printed: list[str] = []
        for text in self._process.stdout:
            if found := re.fullmatch(r"end-of-command (\d+)\n", text):
                return int(found[1]), "".join(printed)[:-1]
            printed.append(text)
        raise AssertionError(f"the shell ended in: {line}")

    def close(self) -> None:
        """End it, and what it started in its session."""
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait()


@dataclass
class Followed:
    """Where the guides were followed, and what each command printed."""

    folder: Path
    printed: dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    folder = tmp_path_factory.mktemp("reader")
    programs = folder / ".venv" / "bin"
    if THOROUGH:  # all that `make` leaves behind of which a command here knows
        (folder / ".venv").symlink_to(sys.prefix)
    else:
        programs.mkdir(parents=True)
        (programs / "souk").symlink_to(program())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    secrets = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "COLUMNS")
    environment = {name: value for name, value in os.environ.items() if name not in secrets}
    environment |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    yield follow(folder, environment, port)


def follow(folder: Path, environment: dict[str, str], port: str) -> Followed:
    """Do what the guides say."""
    shell = Shell(folder, environment)
    assert shell.run("command -v souk")[0] == 1, "souk is to be found only as the README says"
    printed = {}
    try:
        for page in PAGES:
            for step in steps_of(page):
                if isinstance(step, SavedFile):
                    (folder / step.name).write_text(step.text)
                elif line := as_run(step):
                    # Other programs of this machine may have the port of the guides.
                    status, said = shell.run(line.replace("8080", port))
                    said = said.replace(port, "8080")
                    printed[page, step.line] = said
                    assert status == 0, f"{page}: {line}\n{said}"
                    assert "Traceback" not in said, f"{page}: {line}\n{said}"
                    missing = first_missing(step.claimed, said)
                    assert not missing, f"{page}: {line}\ndoes not print: {missing}\nbut:\n{said}"
        return Followed(folder, printed)
    finally:
        shell.run("souk proxy stop")
        shell.close()


def first_missing(claimed: list[str], printed: str) -> str:
    """The first line of a guide that was not printed, in its place; `...` stands for any text."""
    lines = iter(squeezed(printed))
    for claim in squeezed("\n".join(claimed)):
        pattern = re.compile(".*".join(re.escape(part) for part in claim.split("...")))
        if not any(pattern.fullmatch(line) for line in lines):
            return claim
    return ""


def squeezed(text: str) -> list[str]:
    """The lines that are not empty, with single spaces: the width of a table depends on what is in it."""
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def test_every_command_of_the_guides_works_in_their_order(followed: Followed) -> None:
    commands = [step for page in PAGES for step in steps_of(page) if isinstance(step, Command)]
    assert {page for page, _ in followed.printed} == set(PAGES)
    left_out = [step.line for step in commands if (step.page, step.line) not in followed.printed]
    assert all(re.match("|".join(SKIPPED), line) for line in left_out), left_out


def test_no_command_is_left_running(followed: Followed) -> None:
    assert not list((followed.folder / "runs" / "background").glob("*.lock"))


def test_the_file_is_the_one_that_the_guide_shows(followed: Followed) -> None:
    guide = (ROOT / "docs/authoring.md").read_text(encoding="utf-8")
    shown = next(
        block["text"] for block in BLOCK.finditer(guide) if block["text"].startswith("# What is changed")
    )
    written = (followed.folder / "scarce.yaml").read_text()
    assert written.startswith(shown)
    assert "- id: placebo" in written.removeprefix(shown)


def test_the_pictures_and_tables_are_there(followed: Followed) -> None:
    bundled = ["praise.zip"] if "docs/replay.md" in PAGES else []
    for name in ("two-left.png", "praise.parquet", "interventions.schema.json", *bundled):
        assert (followed.folder / name).stat().st_size > 1_000, name
