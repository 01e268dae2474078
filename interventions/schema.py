"""What an intervention file holds, and the files that Souk ships."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, model_validator

from interventions.edits.insert_text import InsertText
from interventions.edits.registry import EditItem
from interventions.errors import UserError
from interventions.sitemap import PageType, SiteMap, load_site_map
from interventions.yaml_source import KeyPath, Source, did_you_mean, load_yaml, problem_at, validate

LIBRARY = Path(__file__).parent / "library"

Kind = Literal[
    "nudge", "price", "rating", "reviews", "stock", "title", "order", "remove", "card", "placebo", "display"
]
Table = dict[str, str]


def _check_id(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text):
        raise ValueError(f'"{text}" is no id; use lower-case letters, digits and dashes, such as best-seller')
    return text


class Intervention(BaseModel, extra="forbid"):
    """A named change to what is shown of a product."""

    id: Annotated[str, AfterValidator(_check_id)]
    kind: Kind
    family: str = ""
    """The group that it is analysed with, such as `authority`."""
    direction: Literal[1, -1] = 1
    """+1: expected to pull towards the product that carries it; -1: to push away."""
    pages: tuple[PageType, ...] = ()
    """The page types on which it shows; none named: all."""
    variables: dict[str, str] = {}
    """Names for texts; these may hold `${product.category}`, `${product.price}` ... and names of tables."""
    edits: Annotated[tuple[EditItem, ...], Field(min_length=1)]

    _tables: dict[str, Table] = PrivateAttr(default_factory=dict)
    _source: Source = PrivateAttr(default_factory=lambda: Source("intervention", {}, {(): (1, 1)}))
    _path: KeyPath = PrivateAttr(default=())

    @property
    def text(self) -> str:
        """The text that it inserts, with its `${variables}` unfilled; empty when it inserts none."""
        return next((edit.text for edit in self.edits if isinstance(edit, InsertText)), "")

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of its file: name -> product category -> text."""
        return self._tables

    def error(self, path: KeyPath, message: str) -> UserError:
        """The error for a mistake at `path` below this intervention, with its file and line."""
        return self._source.error((*self._path, *path), message)


class InterventionFile(BaseModel, frozen=True, extra="forbid"):
    """`interventions`, and `tables` from which their variables are looked up by the product's category."""

    interventions: Annotated[tuple[Intervention, ...], Field(min_length=1)]
    tables: dict[str, Table] = {}

    @model_validator(mode="after")
    def _unique(self) -> Self:
        seen: set[str] = set()
        for index, intervention in enumerate(self.interventions):
            if intervention.id in seen:
                message = f'the id "{intervention.id}" is taken; give each intervention its own'
                raise problem_at("interventions", index, "id", message=message)
            seen.add(intervention.id)
        return self

    def __getitem__(self, id: str) -> Intervention:
        """The intervention with this id. Raises UserError."""
        found = {intervention.id: intervention for intervention in self.interventions}
        if id not in found:
            raise UserError(f'no intervention "{id}"; {did_you_mean(id, found, noun="there are")}')
        return found[id]


def library_path(name: str) -> Path:
    """The shipped intervention file of this name. Raises UserError."""
    shipped = {file.stem: file for file in LIBRARY.glob("*.yaml")}
    if name not in shipped:
        hint = did_you_mean(name, shipped, noun="shipped")
        raise UserError(f'no interventions "{name}"; {hint} (or give the path of a YAML file)')
    return shipped[name]


def load_interventions(name_or_path: str | Path, site: SiteMap | None = None) -> InterventionFile:
    """A shipped file by name, or any; roles are those of `site` (None: onestopmarket). Raises UserError."""
    path = Path(name_or_path)
    if not path.suffix and not path.is_file():
        path = library_path(str(name_or_path))
    source = load_yaml(path)
    roles = (site or load_site_map("onestopmarket")).roles
    file = validate(source, InterventionFile, context={"roles": roles})
    for index, intervention in enumerate(file.interventions):
        intervention._tables = file.tables
        intervention._source, intervention._path = source, ("interventions", index)
    return file
