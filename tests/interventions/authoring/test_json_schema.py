"""The JSON Schemas accept what Souk accepts, and refuse what editors shall mark."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from interventions.authoring.json_schema import interventions_schema, site_map_schema
from interventions.edits.registry import EDITS
from interventions.files.schema import LIBRARY
from interventions.yaml.sitemap import load_site_map

SITE = load_site_map("onestopmarket")
SCHEMA = Draft202012Validator(interventions_schema(SITE))
SITE_SCHEMA = Draft202012Validator(site_map_schema())
ITEM = {"id": "a", "kind": "nudge", "edits": [{"insert_text": {"after": "product.title", "text": "x"}}]}


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_file_is_accepted(path: Path) -> None:
    assert [error.message for error in SCHEMA.iter_errors(yaml.safe_load(path.read_text()))] == []


@pytest.mark.parametrize(
    "path", sorted(LIBRARY.with_name("sitemaps").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_shipped_site_map_is_accepted(path: Path) -> None:
    assert [error.message for error in SITE_SCHEMA.iter_errors(yaml.safe_load(path.read_text()))] == []


@pytest.mark.parametrize("validator", [SCHEMA, SITE_SCHEMA])
def test_the_schemas_are_schemas_with_examples_that_fit(validator: Any) -> None:
    Draft202012Validator.check_schema(validator.schema)
    assert validator.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert validator.schema["examples"]
    assert all(validator.is_valid(example) for example in validator.schema["examples"])


@pytest.mark.parametrize(
    "change",
    [
        {"familly": "x"},
        {"kind": "nugde"},
        {"id": "Not an id"},
        {"direction": 2},
        {"family": ["x"]},
        {"pages": ["produkt"]},
        {"pages": "product"},
        {"edits": []},
        {"edits": [{"set_prize": 1}]},
        {"edits": [{"set_price": 1, "set_rating": 2}]},
        {"edits": [{"set_price": "cheap"}]},
        {"edits": [{"remove": "product.titel"}]},
        {"edits": [{"insert_text": {"after": "product.titel", "text": "x"}}]},
        {"edits": [{"insert_text": {"after": "product.title", "text": "x", "style": "bagde"}}]},
        {"edits": [{"insert_text": {"after": "product.title"}}]},
    ],
)
def test_mistakes_are_refused(change: dict[str, object]) -> None:
    assert SCHEMA.is_valid({"interventions": [ITEM]})
    assert not SCHEMA.is_valid({"interventions": [ITEM | change]})


@pytest.mark.parametrize(
    "edit",
    [{"remove": "css:div.banner"}, {"set_price": "${value}"}, {"set_price": 9.5}, {"set_rating": "80"}],
)
def test_what_yaml_may_say_is_accepted(edit: dict[str, object]) -> None:
    assert SCHEMA.is_valid({"interventions": [ITEM | {"edits": [edit]}]})


@pytest.mark.parametrize(
    ("role", "valid"),
    [
        ("h1", True),
        (["h1", {"css": "meta", "attribute": "content"}], True),
        ({"css": "meta", "attribute": "content"}, True),
        ({"css": "meta", "atribute": "content"}, False),
        (3, False),
    ],
)
def test_a_role_may_be_written_short(role: object, valid: bool) -> None:
    assert SITE_SCHEMA.is_valid({"name": "own", "roles": {"product.title": role}}) == valid


def test_every_edit_and_every_key_of_an_intervention_is_explained() -> None:
    schema = SCHEMA.schema
    edits = schema["$defs"]["Edit"]["properties"]
    assert set(edits) == set(EDITS)
    for edit in edits.values():
        described = schema["$defs"][edit["$ref"].rpartition("/")[2]]
        assert described.get("description") or edit.get("description")
    assert all(key.get("description") for key in schema["$defs"]["Intervention"]["properties"].values())
