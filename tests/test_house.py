"""The rules of the house that a reader relies on: paths named for strangers, decisions by text."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from tests.house_size import recorded, sizes

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = ("interventions", "proxy", "environments", "agents", "experiments", "analysis")
CONTRIBUTING: Final = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILE: Final = re.compile(rf"(?:{'|'.join(ROOMS)}|tests|docs)/[\w./-]*")


def test_the_ten_answers_to_a_stranger_are_paths() -> None:
    _, part = CONTRIBUTING.split("## Guess the path\n")
    rows = re.findall(r"^\| (.+\?) \| `(.+)` \|$", part.partition("\n## ")[0], re.MULTILINE)
    assert len(rows) == 10
    assert [path for _, path in rows if not (ROOT / path).exists()] == []


def test_files_that_the_recipes_name_are_there() -> None:
    _, part = CONTRIBUTING.split("## Recipes\n")
    named = {path for path in re.findall(r"`([^`]+)`", part) if FILE.fullmatch(path)}
    assert "experiments/studies/kinds.py" in named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


PARSERS: Final = {"interventions/html/tree.py", "interventions/yaml/notations.py"}
"""The one place that parses and selects; and the check of a selector, which parses nothing."""


def test_html_is_parsed_and_searched_in_one_place() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr == "css")
            or (isinstance(node.func, ast.Name) and node.func.id == "LexborHTMLParser")
        )
    }
    assert found == PARSERS


OF_OTHERS: Final = {"experiments/episodes/guest_trial.py"}
"""Where what begins so is a mark by which our own page reports, and no sentence."""
BEGINNING: Final = re.compile(
    r"\b(\w*reason|\w*error|message|agent)\)?\.(startswith|removeprefix)\(|reason\)?\.r?partition\("
)


def test_nothing_is_decided_by_the_beginning_of_a_message_or_of_an_agent_s_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in OF_OTHERS
        for match in BEGINNING.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_public_class_has_its_name_alone() -> None:
    named = defaultdict(list)
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    named[node.name].append(str(path.relative_to(ROOT)))
    assert len(named) > 500
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}


def test_souk_grows_only_where_a_line_in_the_decisions_says_so() -> None:
    found, before = sizes(), recorded()
    assert found.keys() == before.keys()
    for name, number in found.items():
        print(f"{number:>8,}  {name} ({before[name]:,} in docs/decisions/size.md)")
    grown = {name: number for name, number in found.items() if number > 1.02 * before[name]}
    assert grown == {}, "write the new number into docs/decisions/size.md, and what it bought"
