"""Whatever a user can write or meet is in the docs: keys, edits, roles, commands, options, columns ..."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

import pytest
import sqlalchemy as sql
import typer
from pydantic import BaseModel

from agents.providers.pricing import PriceTable
from analysis.tables.choice_table import COLUMNS
from analysis.tables.responses_table import RESPONSE_COLUMNS
from experiments.cli import app
from experiments.designs.cards.experiment_file import CardExperiment
from experiments.designs.cards.factorial import ProductFile
from experiments.designs.scoring.experiment_file import ScoreExperiment
from experiments.designs.scoring.stimuli import Stimuli
from experiments.designs.shop.experiment_file import Experiment
from experiments.episodes.trajectory import Outcome
from experiments.records.record import Cause
from experiments.records.tables import metadata
from interventions.edits.registry import EDITS
from interventions.files.schema import InterventionFile, Kind
from interventions.yaml.sitemap import PageType, SiteMap
from interventions.yaml.yaml_source import load_yaml
from tests.command_reference import DOCUMENT, reference

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = ("interventions", "proxy", "environments", "agents", "experiments", "analysis")
FENCED: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
INLINE: Final = re.compile(r"`([^`]+)`")


def code_of(page: str) -> str:
    """The parts of a page that are set as code."""
    return "\n".join([*FENCED.findall(page), *INLINE.findall(FENCED.sub("", page))])


PAGES: Final = {
    path.name: code_of(path.read_text(encoding="utf-8"))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
WORDS: Final = frozenset(re.findall(r"[\w.-]*\w", "\n".join(PAGES.values())))


def missing(names: Iterator[str] | tuple[str, ...]) -> list[str]:
    return sorted({name for name in names if name not in WORDS})


def roles() -> Iterator[str]:
    """The roles of the site maps that Souk ships."""
    for path in sorted((ROOT / "interventions/sitemaps").glob("*.yaml")):
        yield from load_yaml(path).data["roles"]


def test_edits_roles_kinds_and_page_types() -> None:
    assert {"product.title", "product.add_to_cart"} <= set(roles())
    assert missing(roles()) == []
    assert missing((*EDITS, *get_args(Kind), *get_args(PageType))) == []


def keys(schema: Any) -> Iterator[str]:
    """The names of keys in a JSON schema."""
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name == "properties":
                yield from value
            yield from keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from keys(value)


FILES: Final[tuple[type[BaseModel], ...]] = (
    InterventionFile,
    SiteMap,
    Experiment,
    CardExperiment,
    ScoreExperiment,
    ProductFile,
    Stimuli,
    PriceTable,
)
NOT_WRITTEN: Final = {"facts", "problem"}
"""Keys of the edit `ask`, which nobody writes: it is made of a card."""


@pytest.mark.parametrize("model", FILES, ids=lambda model: model.__name__)
def test_keys_of_yaml(model: type[BaseModel]) -> None:
    assert sorted({*missing(keys(model.model_json_schema()))} - NOT_WRITTEN) == []


def commands(command: Any, name: str) -> Iterator[str]:
    """The whole name of each command that can be given."""
    inner = getattr(command, "commands", {})
    for word, its in inner.items():
        yield from commands(its, f"{name} {word}")
    if not inner:
        yield name


def test_the_reference_of_commands_is_what_the_program_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == reference(), "run python -m tests.command_reference"


@pytest.mark.parametrize("name", commands(typer.main.get_command(app), "souk"))
def test_commands_stand_in_a_guide(name: str) -> None:
    assert any(re.search(rf"\b{name}\b", code) for page, code in PAGES.items() if page != DOCUMENT.name)


def test_outcomes_and_causes() -> None:
    assert missing((*get_args(Outcome), *get_args(Cause))) == []


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_columns_stand_in_the_row_of_their_table(table: sql.Table) -> None:
    page = (ROOT / "docs/records.md").read_text(encoding="utf-8")
    row = next((line for line in page.splitlines() if line.startswith(f"| `{table.name}` |")), "")
    said = set(re.findall(r"[\w]+", row))
    assert row
    assert sorted({column.name for column in table.columns} - {"run", "trial"} - said) == []


def variables() -> Iterator[str]:
    """The environment variables that the program asks for: constants that are written as such.

    By SOUK_READY the program tells a process that it starts itself how to answer.
    """
    ours = re.compile(r"SOUK_(?!READY)[A-Z_]+|[A-Z]+_(API_KEY|BASE_URL|PASSWORD|HOST)")
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ours.fullmatch(node.value):
                yield node.value


def test_columns_of_exported_tables() -> None:
    said = set(re.findall(r"[\w*]+", PAGES["experiments.md"]))
    assert sorted({column.name for column in (*COLUMNS, *RESPONSE_COLUMNS)} - said) == []


@pytest.mark.slow
def test_environment_variables() -> None:
    assert {"SOUK_BROWSER", "OPENAI_API_KEY"} <= set(variables())
    assert missing(variables()) == []
