"""Plans: which edits are made for which product, with every variable filled in."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

from pydantic import ValidationError

from interventions.edits.base import Edit, Leftover
from interventions.edits.registry import edit_from_dict, edit_to_dict
from interventions.files.schema import Intervention
from interventions.yaml.sitemap import STAGES, product_key
from interventions.yaml.variables import VARIABLE
from interventions.yaml.yaml_source import KeyPath, did_you_mean

OTHER: Final = "product.other"
"""The variable for the key of another product of the choice set."""


@dataclass(frozen=True)
class ProductFacts:
    """The facts of a product that variables can name; `price` is in currency units, `rating` in percent."""

    key: str
    category: str = ""
    name: str = ""
    price: float | None = None
    rating: int | None = None
    reviews: int | None = None


@dataclass(frozen=True)
class Treatment:
    """An intervention on one product, or (`product` None) on every product that has the edited role."""

    intervention: str
    product: str | None
    edits: tuple[Edit, ...]
    pages: tuple[str, ...] = ()
    """The page types on which it shows; empty: all."""

    @property
    def is_late(self) -> bool:
        """Whether it shows on the way to an order alone."""
        return bool(self.pages) and {*self.pages} <= {*STAGES}

    @property
    def values(self) -> frozenset[str]:
        """The parts of a product that it changes, such as `price`."""
        return frozenset(part for edit in self.edits for part in edit.values())

    def is_on(self, pages: Collection[str]) -> bool:
        """Return whether it shows on all of these page types."""
        return not self.pages or {*pages} <= {*self.pages}

    def to_dict(self) -> dict[str, Any]:
        """Return the treatment as plain JSON data."""
        return {
            "intervention": self.intervention,
            "product": self.product,
            "edits": [edit_to_dict(edit) for edit in self.edits],
            "pages": list(self.pages),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Treatment":
        """Make a treatment from the data of `to_dict`. Raises pydantic.ValidationError."""
        edits = tuple(edit_from_dict(edit) for edit in data["edits"])
        return cls(data["intervention"], data["product"], edits, tuple(data["pages"]))


@dataclass(frozen=True)
class Plan:
    """All treatments of a trial, in the order in which they apply; those for every product come last."""

    treatments: tuple[Treatment, ...] = ()

    @cached_property
    def by_product(self) -> dict[str, tuple[Treatment, ...]]:
        """The treatments of each product: key -> treatments."""
        found: dict[str, tuple[Treatment, ...]] = {}
        for treatment in self.treatments:
            if treatment.product is not None:
                found[treatment.product] = (*found.get(treatment.product, ()), treatment)
        return found

    @cached_property
    def everywhere(self) -> tuple[Treatment, ...]:
        """The treatments that apply to every product."""
        return tuple(treatment for treatment in self.treatments if treatment.product is None)

    @cached_property
    def roles(self) -> frozenset[str]:
        """The roles that the edits read or change."""
        return frozenset(role for t in self.treatments for edit in t.edits for role in edit.roles())

    @cached_property
    def writes_values(self) -> bool:
        """Whether an edit changes a value that data may hold too, such as a price."""
        return any(edit.changes_values for t in self.treatments for edit in t.edits)

    @cached_property
    def late(self) -> frozenset[str]:
        """The interventions that show on the way to an order alone, and replace nothing before it."""
        return frozenset(t.intervention for t in self.treatments if t.is_late)

    @cached_property
    def split_prices(self) -> frozenset[str]:
        """The products whose price an edit changes before the cart alone, or from the cart on alone."""
        both = ("product", *STAGES)
        split = (t for t in self.treatments if "price" in t.values and not t.is_on(both))
        return frozenset(t.product for t in split if t.product)

    @cached_property
    def leftovers(self) -> dict[tuple[str, str], Leftover]:
        """What each edit must not leave over, by its intervention and its name."""
        return {(t.intervention, edit.kind()): edit.leftover for t in self.treatments for edit in t.edits}

    @cached_property
    def fields(self) -> frozenset[str]:
        """The names of the fields that edits add to forms."""
        return frozenset(name for t in self.treatments for edit in t.edits for name in edit.fields())

    def sent(self, form: Mapping[str, str]) -> "Plan":
        """Return the plan for the pages after a form was sent."""
        return Plan(
            tuple(replace(t, edits=tuple(edit.sent(form) for edit in t.edits)) for t in self.treatments)
        )

    @cached_property
    def digest(self) -> str:
        """A hash that is the same for equal plans, on every machine (BLAKE2b, 128 bits, hexadecimal)."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON data."""
        return {"treatments": [treatment.to_dict() for treatment in self.treatments]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Plan":
        """Make a plan from the data of `to_dict`. Raises pydantic.ValidationError."""
        return cls(tuple(Treatment.from_dict(treatment) for treatment in data["treatments"]))


def tool_key(name: str) -> str:
    """Return the key by which a shop's tool is treated like a product."""
    return product_key(f"/tool/{name}")


def compile_treatment(
    intervention: Intervention, product: ProductFacts | None, **values: object
) -> Treatment:
    """Fill in an intervention's variables for a product (None: for every product).

    `values` are variables that the design knows, such as `value` for a price that is to be matched.
    Raises UserError, with file, line and key, when a variable is missing or does not fit.
    """
    edits = []
    for index, edit in enumerate(intervention.edits):
        if product is None and edit.one_product:
            message = "this cannot be done to every product at once; plan it for one product"
            raise intervention.error(("edits", index, edit.kind()), message)
        data = edit_to_dict(edit)
        filled = _fill(data, ("edits", index), intervention, product, values)
        try:
            edits.append(edit_from_dict(filled) if filled != data else edit)
        except ValidationError as failure:
            cause = failure.errors()[0]["msg"].removeprefix("Value error, ")
            raise intervention.error(("edits", index, edit.kind()), cause) from None
    key = product.key if product else None
    if key and "://" in key:
        key = product_key(key)
    if intervention.tool:
        key = tool_key(intervention.tool)
    return Treatment(intervention.id, key, tuple(edits), intervention.pages)


def _fill(
    data: Any,
    path: KeyPath,
    intervention: Intervention,
    product: ProductFacts | None,
    values: Mapping[str, object],
) -> Any:
    if isinstance(data, dict):
        return {key: _fill(inner, (*path, key), intervention, product, values) for key, inner in data.items()}
    if isinstance(data, list):
        return [_fill(inner, (*path, i), intervention, product, values) for i, inner in enumerate(data)]
    if not isinstance(data, str):
        return data

    def look_up(name: str, inside: tuple[str, ...] = ()) -> str:
        if name in values:
            return _plain(values[name])
        if name.startswith("product."):
            return _fact(name.removeprefix("product."), path, intervention, product)
        if name in inside:
            raise intervention.error(("variables", name), "the variable refers to itself; write its text out")
        if name in intervention.variables:
            text = intervention.variables[name]
            return VARIABLE.sub(lambda match: look_up(match[1], (*inside, name)), text)
        if name in intervention.tables:
            category = _fact("category", path, intervention, product)
            if category not in intervention.tables[name]:
                message = f'the table "{name}" has no entry for the category "{category}"; add one'
                raise intervention.error(path, message)
            return intervention.tables[name][category]
        facts = (f"product.{fact}" for fact in _FACTS)
        known = [*values, *intervention.variables, *intervention.tables, *facts]
        raise intervention.error(path, f'nothing is known of "${{{name}}}"; {did_you_mean(name, known)}')

    return VARIABLE.sub(lambda match: look_up(match[1]), data)


_FACTS = [fact.name for fact in fields(ProductFacts)]
_STEP = re.compile(r"(price|rating|reviews)\s*([+-])\s*(\d{1,6}(?:\.\d{1,4})?)(%?)", re.ASCII)
"""A figure that is a step away from a product's own, such as `price-5%`."""


def _fact(name: str, path: KeyPath, intervention: Intervention, product: ProductFacts | None) -> str:
    if step := _STEP.fullmatch(name):
        own = Decimal(_fact(step[1], path, intervention, product))
        by = Decimal(step[2] + step[3]) * (own / 100 if step[4] else 1)
        return str((own + by).quantize(Decimal("0.01" if step[1] == "price" else "1"), ROUND_HALF_UP))
    if name == "other":
        message = "another product is known in an experiment's choice set only; write the key of one"
        raise intervention.error(path, f"{message}, or give --var {OTHER}=KEY")
    if name not in _FACTS:
        raise intervention.error(path, f'a product has no "{name}"; {did_you_mean(name, _FACTS)}')
    if product is None:
        message = f'"{name}" differs by product, but this is for every product; drop the variable'
        raise intervention.error(path, message)
    value = getattr(product, name)
    if value in (None, ""):
        message = f'the product "{product.key}" has no {name}; leave it out of the design'
        raise intervention.error(path, message)
    return f"{value:.2f}" if name == "price" else str(value)


def _plain(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) and not value.is_integer() else str(value)
