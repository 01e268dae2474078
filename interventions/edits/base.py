"""What all edits have in common."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, PlainValidator, ValidationInfo, WithJsonSchema

from interventions.edits.in_browser import ElementQuery, PagePlaces, Verdict
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.yaml.notations import check_css
from interventions.yaml.sitemap import PageType, Place, SiteMap
from interventions.yaml.variables import VARIABLE
from interventions.yaml.yaml_source import did_you_mean

_WHITE = re.compile(r"[ \t\n\f\r]+")


Leftover = Literal["", "text", "decimals", "price", "name", "sentence", "picture"]
"""What an edit replaces, which a product's page must then show nowhere.

A text of its own; one with decimals only, since a whole number may count something else; a price, in any
format; a name, in texts and in a tab's title; a sentence; a picture. Empty: nothing.
"""
ObservedIn = Literal["all", "texts", "whole texts", "picture", "nothing"]
"""The observations that hold what an edit makes, where its element is in view.

Texts are HTML and trees; whole texts are those of the whole page.
"""


class Edit:
    """One change to a page: a frozen pydantic model; `InsertText` is `insert_text` in YAML.

    An edit with one argument is a `pydantic.RootModel`, so that YAML has it bare: `set_price: 19.99`.
    """

    one_product: ClassVar[bool] = False
    """Whether the edit makes no sense for every product at once."""
    readable: ClassVar[bool] = False
    """Whether `Change.after` is a text that a reader of the page sees."""
    script: ClassVar[str] = ""
    """The inline script that the edit puts into a page; empty: none."""
    leftover: ClassVar[Leftover] = "text"
    """What of `Change.before` must not be left on a product's page beside the new value."""
    repeats: ClassVar[bool] = False
    """Whether the edit shows only what the shop says itself."""
    orders: ClassVar[bool] = False
    """Whether the edit makes the order of a list."""
    only: ClassVar[bool] = False
    """Whether no other product may then stand in the list."""
    told: ClassVar[bool] = False
    """Whether the edit's text is added to a product's data too, where these have a place for texts."""
    of_list: ClassVar[bool] = False
    """Whether it is done to a list as a whole, so that no one product can carry it."""

    doubles: ClassVar[bool] = False
    """Whether a list then shows the product twice; it is made after the product's other edits."""
    pages: ClassVar[tuple[PageType, ...]] = ()
    """The types of pages on which the edit is made; empty: all."""

    @classmethod
    def kind(cls) -> str:
        """Return the edit's name in YAML, such as `set_price`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def roles(self) -> tuple[str, ...]:
        """Return the roles that the edit changes, the one that it is about first.

        The names are those on a product's own page.
        """
        raise NotImplementedError

    def role_at(self, showing: ProductPlace) -> str:
        """Return the role that the edit is about where a product shows."""
        return self.roles()[0]

    def needs(self) -> tuple[str, ...]:
        """Return the roles without which the edit cannot be made on a product's own page."""
        return self.roles()[:1]

    def apply(self, showing: ProductPlace) -> Change | None:
        """Make the change where the product shows. Raises CannotEdit.

        Returns None when there is nothing to change here.
        """
        raise NotImplementedError

    def attribute(self, place: Place) -> str | None:
        """Return the attribute that the edit changes at a place of its role.

        Returns None when it changes the element or its text.
        """
        return place.attribute

    def spots(self, site: SiteMap) -> Iterator[ElementQuery]:
        """Yield what is to be read from a product's own page in a browser, to check the change."""
        for place in site.role(self.roles()[0]):
            yield ElementQuery(place.css, self.attribute(place))

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        """Check that a product's own page in a browser shows what was `done`.

        Returns None when that cannot be told. Raises NotRead.
        """
        return None

    def moved(self, site: SiteMap) -> frozenset[str]:
        """Return the keys of the products whose places the edit changes besides the one that it is for."""
        return frozenset()

    def leads_to(self, site: SiteMap) -> str:
        """Return the key of the product to which the edit makes links lead; empty: it changes no link."""
        return ""

    def observed_in(self) -> ObservedIn:
        """Return the observations of agents that hold what the edit makes."""
        return "all"

    def stages(self) -> tuple[str, ...]:
        """Return the types of the pages on the way to an order on which the edit shows (see STAGES).

        Empty: it shows where a product does, or on any page.
        """
        return ()

    def sent(self, form: Mapping[str, str]) -> "Edit":
        """Return the edit as it is once the fields of a form are known: what shows next may follow from it.

        A field of `fields` that is not in the form is not known; a box that is not ticked is empty.
        """
        return self

    def fields(self) -> frozenset[str]:
        """Return the names of the fields that the edit adds to forms, which the shop does not know."""
        return frozenset()

    def outcomes(self, *, ordered: bool) -> Mapping[str, bool]:
        """Return what came of the edit, by name, such as whether an offer was accepted.

        ordered: whether an order was placed.
        """
        return {}

    def result(self) -> str:
        """Return what was answered to what the edit asks; `ignored`: nothing. Empty: it asks nothing."""
        return ""

    def may_cause(self) -> set[str]:
        """Return the outcomes of an order that the edit can bring about."""
        found = {name for name in self.outcomes(ordered=True) if name != "declined"}
        if any(role.endswith(".due") for role in self.roles()):
            found |= {"paid_more", "added"} if self.fields() else {"paid_more"}
        return found

    def is_kept(self) -> bool:
        """Return whether something can be refused that nobody asked for, and is not, as the edit is now."""
        return False

    def takes_out(self) -> str:
        """Return the role whose element is there no more afterwards; empty where none is taken out."""
        return ""

    def words(self) -> str:
        """Return the edit's own text that it shows a reader; empty when it has none."""
        return ""

    @property
    def changes_values(self) -> bool:
        """Whether it changes a value that data may hold too, such as a price."""
        return type(self).values is not Edit.values

    def values(self) -> Mapping[str, Decimal | str]:
        """Return the new value of each part of a product, such as `price`; data about the product follow."""
        return {}


def _check_role(role: str, info: ValidationInfo) -> str:
    known: Any = (info.context or {}).get("roles")
    if role.startswith("css:"):
        check_css(role.removeprefix("css:"))
    elif known is not None and role not in known:
        raise ValueError(f'unknown role "{role}"; {did_you_mean(role, known, noun="known roles")}')
    return role


def _check_text(text: str) -> str:
    text = _WHITE.sub(" ", text).strip(" ")
    if not text:
        raise ValueError("the text is empty; write what to show")
    return text


RoleName = Annotated[str, AfterValidator(_check_role)]
"""A role of the site map, or `css:` and a selector for a product's own page."""
Text = Annotated[str, AfterValidator(_check_text)]
"""Visible text; it may hold `${variables}`. White space counts as one space, as it does on a page."""


def figure(name: str, example: str, check: Callable[[Decimal], Decimal | None]) -> PlainValidator:
    """Return a validator for a figure, or a text with `${variables}` that will become one.

    `check` returns the value as it will be shown, or None when it is out of range.
    """

    def validate(value: object) -> Decimal | str:
        if isinstance(value, str) and VARIABLE.search(value):
            return value
        try:
            given = Decimal("nan" if isinstance(value, bool) else str(value))
            number = check(given) if given.is_finite() else None
        except InvalidOperation:
            number = None
        if number is None:
            raise ValueError(f'"{value}" is not {name}; write {example}')
        return number

    return PlainValidator(validate)


def whole(low: int, high: int) -> Callable[[Decimal], Decimal | None]:
    """Return a check for whole numbers from `low` to `high`."""
    return lambda number: number if number == number.to_integral() and low <= number <= high else None


FIGURE_SCHEMA = WithJsonSchema(
    {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"\$\{|^[0-9.]+$"}]}
)


def filled(value: Decimal | str) -> Decimal:
    """Return the figure of a compiled edit. Raises CannotEdit when its variables are not filled in."""
    if isinstance(value, str):
        raise CannotEdit(f'the variables in "{value}" are not filled in')
    return value
