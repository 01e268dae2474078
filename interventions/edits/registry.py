"""All known edits, and the model of one item in a YAML list of edits."""

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    create_model,
)

from interventions import edits
from interventions.edits.base import Edit
from interventions.errors import UserError


def _discover() -> dict[str, type[Edit]]:
    """Every edit of this package and of installed ones, by its name in YAML. Raises UserError."""
    for module in pkgutil.iter_modules(edits.__path__):
        if module.name != "registry":
            importlib.import_module(f"{edits.__name__}.{module.name}")
    for point in entry_points(group="souk.edits"):
        try:
            point.load()
        except Exception as error:
            cause = " ".join(str(error).split())
            raise UserError(
                f'edit "{point.name}" ({point.value}): {cause}; mend or uninstall its package'
            ) from error
    found: dict[str, type[Edit]] = {}
    for kind in sorted(_below(Edit), key=lambda kind: kind.kind()):
        name = kind.kind()
        if name in found:
            packages = f"{found[name].__module__} and {kind.__module__}"
            raise UserError(f'edit "{name}": {packages} both define it; rename or uninstall one')
        found[name] = kind
    return found


def _below(kind: type[Edit]) -> Iterator[type[Edit]]:
    for subclass in kind.__subclasses__():
        if issubclass(subclass, BaseModel):
            yield subclass
        yield from _below(subclass)


EDITS = _discover()
_Item: Any = create_model(
    "Edit",
    __config__=ConfigDict(
        extra="forbid", frozen=True, json_schema_extra={"minProperties": 1, "maxProperties": 1}
    ),
    **{name: Annotated[kind, Field(default=None, description=kind.__doc__)] for name, kind in EDITS.items()},  # type: ignore[call-overload]
)


def _only(item: Any) -> Edit:
    if len(item.model_fields_set) != 1:
        raise ValueError("an item of the list is one edit; start each edit with its own dash")
    edit: Edit = getattr(item, next(iter(item.model_fields_set)))
    return edit


def edit_to_dict(edit: Edit) -> dict[str, Any]:
    """Return an edit as `{kind: arguments}`, as in YAML."""
    assert isinstance(edit, BaseModel)  # noqa: S101 - every edit is, see _below
    return {edit.kind(): edit.model_dump(mode="json", by_alias=True, exclude_defaults=True)}


EditItem = Annotated[_Item, AfterValidator(_only), PlainSerializer(edit_to_dict)]
_adapter: TypeAdapter[Any] = TypeAdapter(EditItem)


def edit_from_dict(data: dict[str, Any]) -> Edit:
    """Make an edit from the data of `edit_to_dict`. Raises pydantic.ValidationError."""
    edit: Edit = _adapter.validate_python(data)
    return edit
