"""docs/studies.md: the elements of the five studies are numbered without a gap; what it names is there."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from agents.providers.model_settings import ModelSettings
from analysis.tables.frame import FRAME_COLUMNS
from analysis.tables.yaml_data import read_data
from experiments.cli import app
from experiments.studies.kinds import STUDIES
from interventions.edits.registry import EDITS
from tests.test_documented import FILES, INLINE, RESULTS, keys, values

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/studies.md"
ROW: Final = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| (\w+)(?:: ([^|]+))? \|$")
LINK: Final = re.compile(r"\[`[^`]+`\]\([^)]+\)")
TEST: Final = re.compile(r"^\| `(tests/[^`]+)` \| ([^|]+) \|$", re.MULTILINE)
LINES: Final = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
ROWS: Final = [ROW.match(line) for line in LINES if re.match(r"\| \d", line)]
LAST: Final = 172


def test_each_element_has_one_row_a_state_and_says_what_is_missing() -> None:
    assert all(ROWS)
    rows = [row.groups() for row in ROWS if row]
    assert [int(number) for number, *_ in rows] == [*range(1, LAST + 1)]
    assert len({(element, place) for _, element, place, *_ in rows}) == LAST
    assert {state for *_, state, _ in rows} <= {"yes", "partly", "no"}
    assert [number for number, *_, state, missing in rows if state != "yes" and not missing] == []


def test_each_name_is_a_link() -> None:
    """Where links lead is asked of all pages, in test_documented.py."""
    assert [row[1] for row in ROWS if row and len(LINK.findall(row[3])) != len(INLINE.findall(row[3]))] == []


SHIPPED: Final = {
    path.stem
    for folder in ("experiments/library", "interventions/library")
    for path in (ROOT / folder).glob("*.yaml")
}
EXPERIMENTS: Final = {path.stem for path in (ROOT / "experiments/library").glob("*.yaml")}


def named() -> Iterator[str]:
    """Whatever may be named: shipped files and cards, edits, keys, values, settings, tables, columns."""
    yield from (*SHIPPED, *EDITS, *ModelSettings.model_fields)
    for path in (ROOT / "interventions/library").glob("*.yaml"):
        yield from (each["id"] for each in read_data(path)["interventions"])
    yield from read_data(ROOT / "experiments/designs/shop/profiles.yaml")
    for model in FILES:
        yield from (*keys(model.model_json_schema()), *values(model.model_json_schema()))
    yield from tables_and_columns()


def tables_and_columns() -> Iterator[str]:
    """The tables and figures of all reports, and the columns of these tables, by the docs' rows on them."""
    tables = {"by_model", "comparison"}
    for path in (ROOT / "analysis").rglob("report.yaml"):
        for part in read_data(path):
            tables |= {*part.get("tables", {})}
            yield from part.get("figures", {})
    assert {"effects", "money", "csvr", "index", "calls"} <= tables
    yield from (*tables, *FRAME_COLUMNS)
    for page in {RESULTS[kind] for kind in STUDIES}:
        for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
            first, _, rest = line.partition(" | ")
            if line.startswith("| `") and tables & {*INLINE.findall(first)}:
                yield from re.findall(r"\w+", " ".join(INLINE.findall(rest)))
    for columns in read_data(ROOT / "analysis/tables/columns.yaml").values():
        yield from columns


def options(command: Any) -> set[str]:
    return {option for each in command.params for option in each.opts if option.startswith("--")}


def commands(command: Any) -> Iterator[Any]:
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from commands(each)


def wrong_in_command(text: str) -> list[str]:
    """The words of a line that no command has."""
    command, wrong = typer.main.get_command(app), []
    for word in re.sub(r"(--\w[\w-]*) (?:text|page|[\d.]+)", r"\1", text).split()[1:]:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
        elif word not in (options(command) if word.startswith("--") else EXPERIMENTS):
            wrong.append(word)
    return wrong


def test_all_that_is_named_is_there() -> None:
    known, every = {*named()}, {*commands(typer.main.get_command(app))}
    taken = set[str]().union(*map(options, every))
    wrong = []
    for code in (code for row in ROWS if row for code in INLINE.findall(row[0])):
        if code.startswith("souk "):
            wrong += wrong_in_command(code)
        elif code.startswith("--"):
            wrong += [code] * (code not in taken)
        else:
            wrong += [part for part in code.split(".") if code not in known and part not in known]
    assert wrong == []


def test_what_was_published_has_a_test() -> None:
    tests = TEST.findall(PAGE.read_text(encoding="utf-8"))
    assert len(tests) > 10
    for path, elements in tests:
        assert (ROOT / path).exists(), path
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", elements):
            assert 1 <= int(first) < int(last or LAST + 1) <= LAST + 1
