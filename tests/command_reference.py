"""Writes `docs/commands.md`, the reference of all commands: `python -m tests.command_reference`."""

import html
import re
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from experiments.cli import app

DOCUMENT = Path(__file__).parents[1] / "docs/commands.md"
NOTE = "*What `--help` prints, for all commands. Made of the program: `python -m tests.command_reference`.*"


def reference() -> str:
    """The page, from the help texts of the commands."""
    command = typer.main.get_command(app)
    made = get_docs_for_click(obj=command, ctx=typer.Context(command), name="souk", title="Commands")
    bold_as_code = re.sub(r'<span style="font-weight: bold">(.*?)</span>', r"`\1`", made)
    plain = re.sub(r"\[/?bold\]", "", re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", bold_as_code))
    title, rest = html.unescape(plain).split("\n", 1)
    return f"{title}\n\n{NOTE}\n{rest.rstrip()}\n"


if __name__ == "__main__":
    DOCUMENT.write_text(reference(), encoding="utf-8")
