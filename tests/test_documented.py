"""Whatever a user can write or meet is in the docs: keys, edits, roles, commands, options, columns ..."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, get_args

import pandas as pd
import pytest
import sqlalchemy as sql
import typer
from pydantic import BaseModel

from agents.providers.pricing import PriceTable
from agents.providers.settings import SERVICES
from agents.simulated.tab_shopper import ShopperProfile
from analysis.anchoring.study import analyze_anchoring
from analysis.anchoring.table import SCORE_COLUMNS
from analysis.biases import analyze_biases
from analysis.choice import analyze_choice
from analysis.choice.ended.factors import FACTOR_COLUMNS
from analysis.choice.ended.treatment import RECEIPT_COLUMNS
from analysis.choice.stopping import COLUMNS as SEQUENCE_COLUMNS
from analysis.conjoint import analyze_conjoint
from analysis.montecarlo import analyze_montecarlo
from analysis.orders import analyze_orders
from analysis.reporting.registered import COLUMNS as REGISTERED_COLUMNS
from analysis.tables.choice_table import COLUMNS
from analysis.tables.frame import FRAME_COLUMNS
from analysis.tables.outcomes import Outcome
from analysis.tables.responses_table import RESPONSE_COLUMNS
from experiments.cli import app
from experiments.designs.cards import balance
from experiments.designs.cards.experiment_file import CardExperiment
from experiments.designs.cards.factorial import ProductFile
from experiments.designs.cards.hotel_profiles import HotelProfile
from experiments.designs.catalogue import partial_file
from experiments.designs.scoring.experiment_file import ScoreExperiment
from experiments.designs.scoring.stimuli import Stimuli
from experiments.designs.shop.experiment_file import Experiment
from experiments.pages.example_products import example_products
from experiments.records.record import Cause
from experiments.records.tables import metadata
from experiments.runs.status import State
from experiments.studies.kinds import STUDIES, StudyAnalysis
from interventions.authoring.check import check
from interventions.edits.registry import EDITS
from interventions.files.schema import DEFAULT_SITE, InterventionFile, Kind
from interventions.yaml.sitemap import PageType, SiteMap, load_site_map
from interventions.yaml.yaml_source import load_yaml
from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conftest import simulate_answers, simulate_orders, simulate_study, simulate_valuations
from tests.analysis.conjoint.conftest import simulate_cards
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


def missing(names: Iterable[str], *pages: str) -> list[str]:
    """The names that are not set as code in any of these pages, alone or as a part of a dotted name."""
    code = "\n".join(PAGES[page] for page in pages)
    return sorted({*names} - {*re.findall(r"[\w.-]*\w", code), *re.findall(r"\w+", code)})


def headed(page: str, title: str = "") -> set[str]:
    """The names that head the rows of the tables of a page, or of one of its sections."""
    rows = [line.strip().split(" | ")[0] for line in text_of(page, title).splitlines()]
    return {name for row in rows if row.startswith("| `") for name in INLINE.findall(row)}


def text_of(page: str, title: str = "") -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].partition("\n## ")[0] if title else text


LINKS: Final = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)")


def slugs(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page",
    [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for file, heading in LINKS.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        to = page.parent / file if file else page
        assert to.exists(), file
        assert not heading or heading in slugs(to), f"{file}#{heading}"


def roles() -> Iterator[str]:
    """The roles of the site maps that Souk ships."""
    for path in sorted((ROOT / "interventions/sitemaps").glob("*.yaml")):
        yield from load_yaml(path).data.get("roles", ())


def test_edits_roles_kinds_and_page_types() -> None:
    assert {"product.title", "product.add_to_cart"} <= set(roles())
    assert sorted({*roles()} - headed("site-maps.md")) == []
    assert sorted({*EDITS} - headed("interventions.md")) == []
    assert missing(get_args(Kind), "interventions.md") == []
    assert missing(get_args(PageType), "site-maps.md") == []


WHOLE: Final = re.compile(r"^```yaml\n((?:#[^\n]*\n)*interventions:\n.*?)^```$", re.DOTALL | re.MULTILINE)
"""An intervention file in a page, from its first line on."""


@pytest.mark.parametrize("page", [page for page, code in PAGES.items() if WHOLE.search(code)])
def test_intervention_files_are_right_as_they_stand(page: str, tmp_path: Path) -> None:
    path = tmp_path / "copied.yaml"
    for text in WHOLE.findall(PAGES[page]):
        path.write_text(text, encoding="utf-8")
        assert check(path, load_site_map(DEFAULT_SITE), example_products()).errors == ()


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


def test_keys_of_an_experiment_with_cards_stand_in_one_table() -> None:
    rows = headed("designs.md", "Designs with choice cards")
    assert sorted({*CardExperiment.model_fields} - {row.partition(".")[0] for row in rows}) == []


OF_EXPERIMENTS: Final = ("experiments.md", "plans.md")
FILES: Final[dict[type[BaseModel], tuple[str, ...]]] = {
    InterventionFile: (
        "interventions.md",
        "cards.md",
        "authoring.md",
        "site-maps.md",
        "orders.md",
        "interfaces.md",
    ),
    SiteMap: ("site-maps.md",),
    Experiment: (*OF_EXPERIMENTS, "choice-sets.md", "agents.md"),
    CardExperiment: (*OF_EXPERIMENTS, "designs.md"),
    ScoreExperiment: (*OF_EXPERIMENTS, "anchoring.md"),
    ProductFile: ("designs.md",),
    Stimuli: ("anchoring.md",),
    PriceTable: ("agents.md",),
    ShopperProfile: ("agents.md",),
}
"""The files that users write, and the pages that say what is in them."""


def values(schema: Any) -> Iterator[str]:
    """The words that may stand as a value in a JSON schema."""
    if isinstance(schema, dict):
        yield from (str(each) for each in (*schema.get("enum", ()), schema.get("const", "")))
        for value in schema.values():
            yield from values(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from values(value)


NOT_WRITTEN: Final = {"facts", "problem"}
"""Keys of the edit `ask`, which nobody writes: it is made of a card."""


@pytest.mark.parametrize("model", FILES, ids=lambda model: model.__name__)
def test_keys_and_values_of_yaml(model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    assert sorted({*missing(keys(schema), *FILES[model])} - NOT_WRITTEN) == []
    written = [value for value in values(schema) if re.fullmatch(r"\w[\w-]*", value)]
    assert missing(written, *FILES[model]) == []


def commands(command: Any, name: str) -> Iterator[str]:
    """The whole name of each command that can be given."""
    inner = getattr(command, "commands", {})
    for word, its in inner.items():
        yield from commands(its, f"{name} {word}")
    if not inner:
        yield name


def test_the_reference_of_commands_is_what_the_program_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == reference(), "run python -m tests.command_reference"
    assert not re.search(r"\[/?(bold|dim|italic|i|b)\]", DOCUMENT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", list(commands(typer.main.get_command(app), "souk")))
def test_commands_stand_in_a_guide(name: str) -> None:
    assert any(re.search(rf"\b{name}\b", code) for page, code in PAGES.items() if page != DOCUMENT.name)


def test_outcomes_causes_and_states() -> None:
    assert headed("experiments.md", "Outcomes") == {*get_args(Outcome)}
    assert headed("records.md", "Parts that can fail") == {*get_args(Cause)}
    assert sorted({*get_args(State)} - headed("records.md", "The state of a run")) == []


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_columns_stand_in_the_row_of_their_table(table: sql.Table) -> None:
    page = (ROOT / "docs/records.md").read_text(encoding="utf-8")
    row = next((line for line in page.splitlines() if line.startswith(f"| `{table.name}` |")), "")
    said = set(re.findall(r"[\w]+", row))
    assert row
    assert sorted({column.name for column in table.columns} - {"run", "trial"} - said) == []


def variables() -> Iterator[str]:
    """The environment variables that the program asks for: those of services, and constants written as such.

    By SOUK_READY the program tells a process that it starts itself how to answer.
    """
    ours = re.compile(r"SOUK_(?!READY)[A-Z_]+|COMPOSE_[A-Z_]+|[A-Z]+_(API_KEY|BASE_URL|PASSWORD|HOST)")
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ours.fullmatch(node.value):
                yield node.value
    for service in SERVICES.values():
        yield from (service.key_variable, service.url_variable)


def section(page: str, title: str) -> set[str]:
    """The words that are set as code in a section of a page, or in the whole page."""
    return set(re.findall(r"\w+", code_of(text_of(page, title))))


READ: Final = {
    ("experiments.md", "The tidy table"): [*(column.name for column in COLUMNS), "attr_name"],
    ("experiments.md", "The table of responses"): [column.name for column in RESPONSE_COLUMNS],
    ("anchoring.md", "Data"): [column.name for column in SCORE_COLUMNS],
    ("choice-sets.md", "Catalogues"): list(partial_file.COLUMNS),
    ("designs.md", ""): [*HotelProfile.model_fields, *balance.COLUMNS],
    ("analysis.md", "Columns"): [*FRAME_COLUMNS, *RECEIPT_COLUMNS],
    ("analysis.md", "Deciding factors"): list(FACTOR_COLUMNS),
    ("analysis.md", "Stopping rule"): list(SEQUENCE_COLUMNS),
    ("plans.md", "Results and deviations"): list(REGISTERED_COLUMNS),
}
"""Columns of tables that Souk reads, exports or packs, and of all estimates, by page and section."""


@pytest.mark.parametrize("place", READ, ids=" ".join)
def test_columns_of_tables(place: tuple[str, str]) -> None:
    assert sorted({*READ[place]} - section(*place)) == []


RULED: Final = {"place": 0, "effect": "nudge", "alpha": 0.05, "most": 6}


@pytest.fixture(scope="module")
def analyses() -> dict[str, StudyAnalysis]:
    """An analysis of each kind, of simulated data in which no table is absent."""
    choices = simulate_study(sets=12, size=3, nudges_per_set=1).table.assign(steps=4)
    choices = pd.concat([choices, choices.assign(profile="hurried", trial=choices["trial"] + "-hurried")])
    receipts = pd.DataFrame([dict.fromkeys(RECEIPT_COLUMNS, 1) | {"not_checked": 0}])
    factors = pd.DataFrame([dict.fromkeys(FACTOR_COLUMNS, "") | {"factor": "price"}])
    ruled = pd.DataFrame([dict.fromkeys(SEQUENCE_COLUMNS, "") | RULED | {"agent": choices["agent"].iloc[0]}])
    prices = simulate_valuations(repeats=3)
    ages = {agent: f"{age}" for age, agent in enumerate(prices["agent"].unique())}
    answers = simulate_answers({"anchoring": ([1.0, 2.0], [2.0, 4.0])})
    return {
        "choice": analyze_choice(choices, receipts, factors, ruled),
        "orders": analyze_orders(simulate_orders()),
        "conjoint": analyze_conjoint(simulate_cards(sets=12)),
        "montecarlo": analyze_montecarlo(prices, generations=ages, sizes=dict.fromkeys(ages, 7.0)),
        "biases": analyze_biases(answers, valid=2),
        "anchoring": analyze_anchoring(simulate_scores()),
    }


RESULTS: Final = {
    "choice": "analysis.md",
    "orders": "orders.md",
    "conjoint": "conjoint.md",
    "montecarlo": "responses.md",
    "biases": "responses.md",
    "anchoring": "anchoring.md",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", RESULTS)
def test_columns_of_results_stand_in_the_rows_of_their_tables(
    kind: str, analyses: dict[str, StudyAnalysis]
) -> None:
    """Each row of a page whose first cell names the table counts."""
    lines = (ROOT / "docs" / RESULTS[kind]).read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ", 1) for line in lines if line.startswith("| `")]
    found = analyses[kind]
    tables = {name: frame for name, frame in vars(found).items() if isinstance(frame, pd.DataFrame)}
    sections = STUDIES[kind].report(found).sections
    tables |= {table.name: table.frame for part in sections for table in part.tables}
    for name, frame in tables.items():
        own = [code for first, rest in rows if f"`{name}`" in first for code in INLINE.findall(rest)]
        assert missing([name], RESULTS[kind]) == []
        documented = {*re.findall(r"\w+", " ".join(own)), *FRAME_COLUMNS, *get_args(Outcome)}
        assert sorted({str(column) for column in frame.columns} - documented) == [], name


@pytest.mark.slow
def test_environment_variables() -> None:
    """In the tables of variables, or of what a program is given; those of containers beside these."""
    asked, documented = {*variables()}, headed("agents.md", "Environment variables")
    assert {"SOUK_BROWSER", "OPENAI_API_KEY"} <= asked
    given = set(re.findall(r"SOUK_\w+", text_of("any-agent.md", "")))
    assert sorted(asked - documented - given) == []
    limits = [each.limit_variable(what) for each in SERVICES.values() for what in ("requests", "tokens")]
    assert sorted(name for name in limits if not {name, f"{name.partition('_')[0]}_"} & documented) == []


def test_variables_of_containers() -> None:
    compose = (ROOT / "docker/compose.yaml").read_text(encoding="utf-8")
    names = set(re.findall(r"\$\{(\w+)", compose))
    assert {"SOUK_SHOP_PORT", "SOUK_MEMORY"} <= names
    assert missing(names, "environments.md") == []
