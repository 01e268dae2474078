"""`python -m tests.house_size`: how large Souk is, in the numbers of docs/decisions/size.md.

With `--write` they become the numbers of that page.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import typer.main

from experiments.cli import ROOMS, app

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/decisions/size.md"
GENERATED: Final = ("commands.md", "validity.md", "benchmarks.md", "faults.md", "storefronts.md")
KERNEL: Final = (
    "designs",
    "treatment",
    "episodes",
    "executors",
    "runs",
    "records",
    "studies",
    "commands",
    "console",
)
_BLANK: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_ROW: Final = re.compile(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)


@cache
def code_lines(text: str) -> int:
    """Count the lines of a module that have code: no blank line, comment or docstring."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        match node.body[:1]:
            case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
                lines -= {*range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1)}
    return len(lines)


def sizes() -> dict[str, int]:
    """Return the numbers by their names."""
    product = [*_texts(ROOT / room for room in ROOMS)]
    named = [*_commands(typer.main.get_command(app))]
    options = [each for command in named for each in command.params if each.param_type_name == "option"]
    classes = [node for text in product for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    pages = [*(ROOT / "docs").glob("**/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]
    return {
        "product: code lines": sum(map(code_lines, product)),
        "product: modules": len(product),
        "kernel of experiments/: code lines": sum(
            map(code_lines, _texts(ROOT / "experiments" / room for room in KERNEL))
        ),
        "public classes": sum(not node.name.startswith("_") for node in classes),
        "tests: code lines": sum(map(code_lines, _texts([ROOT / "tests"]))),
        "commands": len(named),
        "options": sum(option.name != "help" for option in options),
        "hand-written docs: words": sum(
            len(page.read_text(encoding="utf-8").split()) for page in pages if page.name not in GENERATED
        ),
    }


def _commands(command: Any) -> Iterator[Any]:
    """The commands that can be given."""
    if inner := getattr(command, "commands", {}):
        for each in inner.values():
            yield from _commands(each)
    else:
        yield command


def _texts(folders: Iterable[Path]) -> Iterable[str]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield path.read_text(encoding="utf-8")


def recorded() -> dict[str, int]:
    """Return the numbers of the page."""
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {name: int(now.replace(",", "")) for name, now, _ in rows}


def main() -> None:
    """Print the numbers; with `--write`, write them into the page."""
    found, text = sizes(), PAGE.read_text(encoding="utf-8")
    for name, number in found.items():
        sys.stdout.write(f"{number:>8,}  {name}\n")
        text = re.sub(rf"^(\| {re.escape(name)} \| )[\d,]+", rf"\g<1>{number:,}", text, flags=re.MULTILINE)
    if "--write" in sys.argv:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
