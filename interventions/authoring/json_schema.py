"""JSON Schemas of the files that users write, so that editors complete, explain and check them."""

from typing import Any, Final, get_args

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from interventions.data_file import read_data
from interventions.edits.base import RoleName
from interventions.files.schema import InterventionFile
from interventions.yaml.sitemap import SiteMap

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_ROLE: Final = "souk-role"


def interventions_schema(site: SiteMap) -> dict[str, Any]:
    """Return the schema of an intervention file (draft 2020-12); roles are those of `site`."""

    schema = _refer_to_roles(InterventionFile.model_json_schema(schema_generator=_Generator))
    known = {"enum": sorted(site.names), "description": f"A role of the site map {site.name}."}
    css = {"type": "string", "pattern": "^css:.", "description": "A selector on a product's own page."}
    schema["$defs"]["Role"] = {"anyOf": [known, css]}
    return {
        "$schema": DIALECT,
        **schema,
        "title": "Souk interventions",
        "examples": [_example("interventions")],
    }


def site_map_schema() -> dict[str, Any]:
    """Return the schema of a site map (draft 2020-12)."""
    schema = SiteMap.model_json_schema(schema_generator=_Generator)
    return {"$schema": DIALECT, **schema, "title": "Souk site map", "examples": [_example("site map")]}


def _example(of: str) -> Any:
    return read_data(__file__, "examples.yaml")[of]


def _refer_to_roles(node: Any) -> Any:
    """The same with one definition of a role for all its uses."""
    if isinstance(node, list):
        return [_refer_to_roles(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == _ROLE:
        node = {key: value for key, value in node.items() if key not in ("type", "format")}
        return {"$ref": "#/$defs/Role", **node}
    return {key: _refer_to_roles(inner) for key, inner in node.items()}


class _Generator(GenerateJsonSchema):
    """Says what validators add: the known roles, one item for a list of it, a bare selector."""

    schema_dialect = DIALECT

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> JsonSchemaValue:
        made = super().function_after_schema(schema)
        if schema["function"]["function"] is get_args(RoleName)[1].func:
            return made | {"format": _ROLE}
        return made

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        made = super().function_before_schema(schema)
        bare: JsonSchemaValue = {"type": "string"}
        items = made.get("items")
        if made.get("type") == "array" and items is not None:
            one = items if items.get("type") == "string" else {"anyOf": [bare, items]}
            return {"anyOf": [one, made | {"items": one}]}
        return {"anyOf": [bare, made]}
