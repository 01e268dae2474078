"""The contents of an intervention file, and the files that Souk ships."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)
from pydantic import ValidatorFunctionWrapHandler as Handler
from pydantic_core import PydanticCustomError, PydanticKnownError

from interventions.cards.filling import Case, Names
from interventions.cards.template import CardTemplate
from interventions.edits.insert_text import InsertText
from interventions.edits.registry import EditItem
from interventions.edits.set_price import SetPrice
from interventions.errors import UserError
from interventions.yaml.sitemap import STAGES, PageType, SiteMap, load_site_map
from interventions.yaml.yaml_source import (
    KeyPath,
    Problem,
    Source,
    YamlError,
    did_you_mean,
    in_order,
    load_yaml,
    validate,
)

LIBRARY = Path(__file__).parents[1] / "library"
DEFAULT_SITE = "onestopmarket"

Kind = Literal[
    "nudge",
    "price",
    "rating",
    "reviews",
    "stock",
    "title",
    "order",
    "remove",
    "card",
    "placebo",
    "display",
    "pattern",
]
Table = dict[str, str]

_ID = r"[a-z0-9]+(-[a-z0-9]+)*"


def _check_id(text: str) -> str:
    if not re.fullmatch(_ID, text):
        raise ValueError(f'"{text}" is no id; use lower-case letters, digits and dashes, such as best-seller')
    return text


Cases = dict[str, dict[str, Case]]

_CARD_OR_EDITS: dict[str, Any] = {
    "if": {"properties": {"kind": {"const": "card"}}, "required": ["kind"]},
    "then": {"required": ["card"], "properties": {"card": {"type": "object"}, "edits": False}},
    "else": {
        "anyOf": [{"required": ["edits"]}, {"required": ["combines"]}],
        "properties": {"card": False},
    },
}


_LATER = frozenset(
    {"control", "deceived_when", "deceptive", "gray", "mathur", "law", "dose", "combines", "tool"}
)


class Intervention(BaseModel):
    """A named change to what is shown of a product, or a card with a question."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, json_schema_extra=_CARD_OR_EDITS)

    id: Annotated[str, AfterValidator(_check_id), Field(json_schema_extra={"pattern": f"^{_ID}$"})]
    """Its name in experiments and reports: lower-case words joined by dashes, such as `best-seller`."""
    kind: Kind
    """What it is for; a nudge is analysed with its family; a pattern is the shop's, and no product's."""
    family: str = ""
    """The group that it is analysed with, such as `authority`."""
    direction: Literal[1, -1] = 1
    """+1: expected to pull towards the product that carries it; -1: to push away."""
    pages: tuple[PageType, ...] = ()
    """The page types on which it shows; none named: all."""
    tool: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")] = ""
    """The shop's tool whose description says it, by MCP, in place of the product: see docs/interfaces.md."""
    control: Annotated[str, Field(json_schema_extra={"pattern": f"^{_ID}$"})] = ""
    """The intervention of this file that its control trials show; left out: they show none."""
    deceived_when: Literal["", "accepted", "added", "paid_more", "consented", "gave"] = ""
    """The outcome by which it has worked: see docs/orders.md; left out: any of them."""
    dose: Annotated[float, Field(ge=0, le=1000)] = 0
    """How strong it is beside others of its family, from 1 on; left out: not said."""
    combines: Annotated[tuple[str, ...], Field(min_length=2, max_length=2)] = ()
    """The ids of the two interventions of this file that it does at once; without `edits` it has theirs."""
    deceptive: bool = False
    """Whether it says something false or hides something, so that people who met it are told afterwards."""
    gray: str = ""
    """The meso level of Gray's ontology of dark patterns."""
    mathur: str = ""
    """The type in Mathur's taxonomy of dark patterns."""
    law: str = ""
    """What laws call it."""
    variables: dict[str, str] = {}
    """Names for texts; these may hold `${product.category}`, `${product.price}` ... and names of tables."""
    cases: Cases = {}
    """Of a card: factor -> level -> what variables are there, such as `condition: {low: {price: 15}}`."""
    card: Annotated[CardTemplate | None, Field(validate_default=True)] = None
    """The question, where the kind is `card`."""
    edits: Annotated[tuple[EditItem, ...], Field(min_length=1, validate_default=True)] = ()
    """What is changed, one edit after the other; a card has none."""

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the keys that came later, where they say nothing: run ids are made of this."""
        return {name: each for name, each in dump(self).items() if each or name not in _LATER}

    _tables: dict[str, Table] = PrivateAttr(default_factory=dict)
    _source: Source = PrivateAttr(default_factory=lambda: Source("intervention", {}, {(): (1, 1)}))
    _path: KeyPath = PrivateAttr(default=())
    _twin: "Intervention | None" = PrivateAttr(default=None)

    @field_validator("card", mode="wrap")
    @classmethod
    def _has_card(cls, value: object, handler: Handler, info: ValidationInfo) -> CardTemplate | None:
        is_card = info.data.get("kind") == "card"
        if value is None and is_card:
            raise PydanticKnownError("missing")
        if value is not None and not is_card and "kind" in info.data:
            message = "only an intervention of the kind card has one; write kind: card, or remove this key"
            raise PydanticCustomError("souk", "{message}", {"message": message})
        card: CardTemplate | None = handler(value)
        return card

    @field_validator("edits", mode="wrap")
    @classmethod
    def _has_edits(cls, value: object, handler: Handler, info: ValidationInfo) -> tuple[Any, ...]:
        is_card = info.data.get("kind") == "card"
        if value == () and (is_card or info.data.get("combines")):
            return ()
        if value == ():  # never what YAML gives
            raise PydanticKnownError("missing")
        if is_card:
            message = "a card changes no page; remove this key, or choose another kind"
            raise PydanticCustomError("souk", "{message}", {"message": message})
        edits: tuple[Any, ...] = handler(value)
        return edits

    @property
    def text(self) -> str:
        """The text that the intervention inserts, or asks, with its `${variables}` unfilled.

        It is empty when the intervention has no text.
        """
        if self.card:
            return self.card.question
        return next((edit.text for edit in self.edits if isinstance(edit, InsertText)), "")

    def lacks(self, site: SiteMap) -> dict[str, str]:
        """Return the roles that the edits need and the site map does not have: role -> the edit's name."""
        return {role: edit.kind() for edit in self.edits for role in edit.needs() if not site.role(role)}

    @property
    def twin(self) -> "Intervention | None":
        """The intervention that its control trials show."""
        return self._twin

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of the intervention's file: name -> product category -> text."""
        return self._tables

    def written_in(
        self,
        source: Source,
        index: int,
        tables: dict[str, Table],
        variables: dict[str, str] | None = None,
        cases: Cases | None = None,
    ) -> None:
        """Note where the intervention is written and what its file shares.

        `index` is its number in the file; mistakes name their places by it.
        """
        self._source, self._path, self._tables = source, ("interventions", index), tables
        self.variables = {**(variables or {}), **self.variables}
        if self.card:
            known: Cases = {}
            for one in (cases or {}, self.cases):
                for factor, levels in one.items():
                    for level, case in levels.items():
                        known.setdefault(factor, {}).setdefault(level, {}).update(case)
            self.card.knows(Names(self.variables, known, self._mistake_in_card))

    def _mistake_in_card(self, path: KeyPath, message: str) -> YamlError:
        return self.error(("card", *path), message)

    def combine(self, parts: Sequence["Intervention"]) -> str:
        """Take the edits and variables of the two parts, unless it has edits; return why it cannot."""
        self.deceptive = self.deceptive or any(part.deceptive for part in parts)
        if wrong := [part.id for part in parts if part.combines or part.card]:
            return f'"{wrong[0]}" has no edits of its own; name interventions that have some'
        if self.edits or not parts:
            return ""
        first, second = parts
        if first is second:
            return "it names one intervention twice; name two"
        for key in ("pages", "tool"):
            if not getattr(self, key) == getattr(first, key) == getattr(second, key):
                return f"their `{key}` is not that of this one; write the same, or edits"
        if alike := {edit.kind() for edit in first.edits if edit.changes_values} & {
            edit.kind() for edit in second.edits
        }:
            return f"both have {', '.join(sorted(alike))}, and a product has one value; write edits"
        if any(first.variables.get(name, text) != text for name, text in second.variables.items()):
            return "a variable stands for another text in each; write edits"
        if {name for edit in first.edits for name in edit.fields()} & {
            name for edit in second.edits for name in edit.fields()
        }:
            return "both ask in the same words, and one answer would count for both; write edits"
        self.edits = (*first.edits, *second.edits)
        self.variables = {**first.variables, **second.variables, **self.variables}
        return ""

    def may_cause(self) -> set[str]:
        """Return the outcomes of an order by which the edits can have worked (see `deceived_when`)."""
        found = {name for edit in self.edits for name in edit.may_cause()}
        return found | ({"paid_more"} if self.has_two_prices else set())

    @property
    def has_two_prices(self) -> bool:
        """Whether it shows another price on some types of pages alone."""
        is_split = bool(self.pages) and not {"product", *STAGES} <= {*self.pages}
        return is_split and any(isinstance(edit, SetPrice) for edit in self.edits)

    def mistakes(self) -> list[Problem]:
        """Return the mistakes that show once the file is read: in a card's texts, in `deceived_when`."""
        if not self.card:
            found = []
            for number, edit in enumerate(self.edits):
                if self.tool and not edit.told:
                    message = "a tool says texts only; write insert_text or badge, or leave out the key tool"
                    found.append(self._source.problem((*self._path, "edits", number), message))
                if self.pages and edit.pages and not {*self.pages} & {*edit.pages}:
                    message = (
                        f"{edit.kind()} is made on {', '.join(edit.pages)} only; add it, or leave the key out"
                    )
                    found.append(self._source.problem((*self._path, "pages"), message))
            fields = [name for edit in self.edits for name in edit.fields()]
            if len(fields) > len({*fields}):
                message = "two edits ask in the same words: one answer would count for both; write others"
                found.append(self._source.problem((*self._path, "edits"), message))
            known = self.may_cause()
            if not self.deceived_when or self.deceived_when in known:
                return found
            hint = f"write {' or '.join(sorted(known))}" if known else "no edit here has such an outcome"
            message = f'no edit here can end in "{self.deceived_when}"; {hint}, or leave the key out'
            return [*found, self._source.problem((*self._path, "deceived_when"), message)]
        found = [
            self._source.problem((*self._path, *(path if path[0] == "cases" else ("card", *path))), message)
            for path, message in self.card.mistakes()
        ]
        levels = [(factor, level) for factor in self.card.factors for level in self.card.levels(factor)]
        if not found:
            try:
                self.card.example_card(self.id)
                for factor, level in levels:
                    self.card.example_card(self.id, **{factor: level})
            except YamlError as error:
                found += error.problems
        return found

    def error(self, path: KeyPath, message: str) -> YamlError:
        """Return the error for a mistake at `path` below this intervention, with its file and line."""
        return self._source.error((*self._path, *path), message)


class InterventionFile(BaseModel):
    """Changes to what a shop's pages show of a product, by the names of things (roles), not by selectors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    interventions: Annotated[tuple[Intervention, ...], Field(min_length=1)]
    """The interventions; each has an id of its own."""
    tables: dict[str, Table] = {}
    """Texts by the product's category: `${name}` stands for the entry of table `name`."""
    variables: dict[str, str] = {}
    """Names for texts that all interventions share."""
    cases: Cases = {}
    """Cases that all cards share: factor -> level -> what variables stand for there."""

    def __getitem__(self, id: str) -> Intervention:
        """Return the intervention with this id. Raises UserError."""
        found = {intervention.id: intervention for intervention in self.interventions}
        if id not in found:
            raise UserError(f'no intervention "{id}"; {did_you_mean(id, found, noun="there are")}')
        return found[id]


def library_path(name: str) -> Path:
    """Return the path of the shipped intervention file of this name. Raises UserError."""
    shipped = {file.stem: file for file in LIBRARY.glob("*.yaml")}
    if name not in shipped:
        hint = did_you_mean(name, shipped, noun="shipped")
        raise UserError(f'no interventions "{name}"; {hint} (or give the path of a YAML file)')
    return shipped[name]


def interventions_source(name_or_path: str | Path) -> Source:
    """Return the YAML of a shipped file by name, or of any file. Raises UserError."""
    path = Path(name_or_path)
    return load_yaml(path if path.suffix or path.is_file() else library_path(str(name_or_path)))


def load_interventions(name_or_path: str | Path, site: SiteMap | None = None) -> InterventionFile:
    """Load a shipped file by name, or any file. Raises UserError.

    Roles are those of `site` (None: onestopmarket).
    """
    return make_interventions(interventions_source(name_or_path), site or load_site_map(DEFAULT_SITE))


def make_interventions(source: Source, site: SiteMap) -> InterventionFile:
    """Make the interventions that are written in `source`. Raises YamlError with every mistake."""
    if "interventions" not in source.data and source.data.keys() & {"goal", "task"}:
        raise source.error((), "this is an experiment; `souk run FILE --dry-run` checks it")
    problems = [*_repeated_ids(source), *_unknown_ids(source)]
    try:
        file = validate(source, InterventionFile, context={"roles": site.names})
    except YamlError as error:
        problems += error.problems
    if problems:
        raise YamlError(in_order(problems))
    known = {intervention.id: intervention for intervention in file.interventions}
    for index, intervention in enumerate(file.interventions):
        intervention._twin = known.get(intervention.control)
        if fault := intervention.combine([known[part] for part in intervention.combines]):
            problems.append(source.problem(("interventions", index, "combines"), fault))
        intervention.written_in(source, index, file.tables, file.variables, file.cases)
    if problems := problems or [
        problem for intervention in file.interventions for problem in intervention.mistakes()
    ]:
        raise YamlError(in_order(problems))
    return file


def _unknown_ids(source: Source) -> list[Problem]:
    """The ids in `control` and `combines` that no intervention of the file has."""
    items: Any = source.data.get("interventions")
    items = [item if isinstance(item, dict) else {} for item in items] if isinstance(items, list) else []
    ids = [item["id"] for item in items if isinstance(item.get("id"), str)]
    named: list[tuple[KeyPath, Any]] = []
    for index, item in enumerate(items):
        named.append((("interventions", index, "control"), item.get("control")))
        parts = item.get("combines")
        for number, part in enumerate(parts if isinstance(parts, list) else []):
            named.append((("interventions", index, "combines", number), part))
    own = [
        source.problem(("interventions", index, "control"), "it is its own control; name another, or none")
        for index, item in enumerate(items)
        if item.get("control") and item["control"] == item.get("id")
    ]
    return own + [
        source.problem(path, f'no intervention "{id}"; {did_you_mean(str(id), ids, noun="known")}')
        for path, id in named
        if id and id not in ids
    ]


def _repeated_ids(source: Source) -> list[Problem]:
    """Not a validator of the model: those run only when nothing else is wrong in the file."""
    items: Any = source.data.get("interventions")
    items = items if isinstance(items, list) else []
    ids = [item.get("id") if isinstance(item, dict) else None for item in items]
    return [
        source.problem(
            ("interventions", index, "id"), f'the id "{id}" is taken; give each intervention its own'
        )
        for index, id in enumerate(ids)
        if isinstance(id, str) and id in ids[:index]
    ]
