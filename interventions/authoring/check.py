"""Find everything that is wrong, or unwise, in an intervention file, in one go."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from interventions.apply.plan import OTHER, ProductFacts, compile_treatment
from interventions.authoring.confounds import confounds
from interventions.edits.registry import edit_from_dict
from interventions.files.schema import (
    Intervention,
    InterventionFile,
    interventions_source,
    make_interventions,
)
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.yaml_source import Problem, Source, YamlError, in_order

DESIGN_VALUES: Final[Mapping[str, object]] = {"value": 1, OTHER: "another"}
"""The variables that a design fills in, each with a value that fits every edit."""

_EXPLAINED: Final = {
    "family": "name the group that it is analysed with, such as authority",
    "direction": "write +1 when it should pull towards its product, -1 when it should push away",
}
_NAMED: Final = 3


@dataclass(frozen=True)
class Findings:
    """The result of a check; `file` is None where there are errors."""

    file: InterventionFile | None = None
    errors: Sequence[Problem] = ()
    warnings: Sequence[Problem] = ()


def check(name_or_path: str | Path, site: SiteMap, products: Iterable[ProductFacts]) -> Findings:
    """Check a file: its form, the roles of `site`, and that every variable can be filled in.

    `products`: what the interventions may meet, such as one product of each category.
    Raises UserError when there is no shipped file of that name.
    """
    try:
        source = interventions_source(name_or_path)
    except YamlError as error:
        return Findings(errors=error.problems)
    file, errors = None, list(_implicit(source))
    try:
        file = make_interventions(source, site)
    except YamlError as error:
        errors += error.problems
    usable = file.interventions if file else tuple(_usable(source, site))
    known = tuple(products)
    for intervention in usable:
        errors += intervention.mistakes()
        errors += _unfilled(intervention, known)
    if errors or file is None:
        return Findings(errors=in_order(errors))
    return Findings(file, (), in_order([*confounds(file, source, site), *_lacking(file, source, site)]))


def _lacking(file: InterventionFile, source: Source, site: SiteMap) -> Iterator[Problem]:
    """The roles that edits need without naming them, where no place on the shop's pages has them."""
    for index, intervention in enumerate(file.interventions):
        for number, edit in enumerate(intervention.edits):
            for role in edit.needs():
                if not site.role(role) and role not in site.names:
                    yield source.problem(
                        ("interventions", index, "edits", number, edit.kind()),
                        f"the site map {site.name} has no role {role}, so that no page can be treated; "
                        "add it to the map",
                    )


def _items(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    items = source.data.get("interventions")
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield index, item


def _implicit(source: Source) -> Iterator[Problem]:
    """What a nudge or placebo has to say of itself: a default would be taken for an answer."""
    for index, item in _items(source):
        kind = item.get("kind")
        if kind not in ("nudge", "placebo"):
            continue
        for key, fix in _EXPLAINED.items():
            path = ("interventions", index, key)
            misspelt = difflib.get_close_matches(key, item.keys() - set(Intervention.model_fields), n=1)
            if key not in item and not misspelt and not source.is_consequence(path):
                yield source.problem(path, f"missing, and a {kind} needs it; {fix}")


def _usable(source: Source, site: SiteMap) -> Iterator[Intervention]:
    """The interventions of a faulty file that are right in themselves."""
    tables = source.data.get("tables")
    texts = {
        name: {category: str(text) for category, text in table.items()}
        for name, table in (tables if isinstance(tables, dict) else {}).items()
        if isinstance(table, dict)
    }
    variables, cases = _shared(source, "variables"), _shared(source, "cases")
    for index, item in _items(source):
        try:
            intervention = Intervention.model_validate(item, context={"roles": site.names})
        except ValidationError:
            continue
        intervention.written_in(source, index, texts, variables or {}, cases or {})
        # What a card takes from a part that is wrong would seem to be missing.
        if intervention.card is None or not (variables is None or cases is None):
            yield intervention


def _shared(source: Source, key: str) -> Any:
    """What a file shares under a key; None where that is wrong."""
    kind: Any = InterventionFile.model_fields[key].annotation
    try:
        return TypeAdapter(kind).validate_python(source.data.get(key, {}))
    except ValidationError:
        return None


def _unfilled(intervention: Intervention, products: Sequence[ProductFacts]) -> Iterator[Problem]:
    """What keeps an intervention from being made for some of the products: a line for each place."""
    found: dict[tuple[int | None, int | None, str], list[tuple[str, Problem]]] = {}
    blank = edit_from_dict({"show_rating_text": {}})
    for number, edit in enumerate(intervention.edits):
        # One edit at a time, so that the first mistake does not hide the others.
        alone = intervention.model_copy(update={"edits": (*[blank] * number, edit)})
        for product in products if intervention.kind != "display" else (None,):
            try:
                compile_treatment(alone, product, **DESIGN_VALUES)
            except YamlError as error:
                problem = error.problems[0]
                case = (product.category or product.key) if product else ""
                found.setdefault((problem.line, problem.column, problem.key), []).append((case, problem))
    for cases in found.values():
        yield _together(cases)


def _together(cases: list[tuple[str, Problem]]) -> Problem:
    """The first mistake at a place, which says for how many other products there is one."""
    _, first = cases[0]
    others = [name for name, problem in cases[1:] if problem.message != first.message]
    if not others:
        return first
    names = list(dict.fromkeys(others))
    named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    cause, _, fix = first.message.rpartition("; ")
    return Problem(first.file, first.line, first.column, first.key, f"{cause} (nor for {named}); {fix}")
