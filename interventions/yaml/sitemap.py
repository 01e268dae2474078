"""Site maps: which CSS selector plays which role on the pages of a shop."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, field_validator, model_validator

from interventions.errors import UserError
from interventions.yaml.choice import Choice
from interventions.yaml.limited import is_slow, name_expression
from interventions.yaml.notations import Css, JsonPath, Pattern, Regex, expanded, listed
from interventions.yaml.yaml_source import did_you_mean, dotted, is_there, load_model

PageType = Literal["product", "listing", "home", "cart", "checkout", "order", "other"]
STAGES: Final[tuple[PageType, ...]] = ("cart", "checkout", "order")
"""The pages on the way to an order, the placed order last. Their roles begin with their type."""
BEFORE_CART: Final[tuple[PageType, ...]] = ("product", "listing", "home")
"""The types of pages on which a price is advertised."""

_FOLDER = Path(__file__).parents[1] / "sitemaps"
_SESSION = re.compile(r";jsessionid=[^/;]*", re.I)
_ROLE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")


def _alone(value: object) -> object:
    """A name alone is a list of one."""
    return [value] if isinstance(value, str) else value


class Place(BaseModel, frozen=True, extra="forbid"):
    """One place on a page: an element's text, or its `attribute`. In YAML a bare selector will do."""

    css: Css
    attribute: str | None = None
    pattern: Pattern | None = None
    """A regular expression whose one group is the figure, for texts that hold several.

    In links and ids it is the address or the id.
    """
    scale: Annotated[int, Field(gt=0)] | None = None
    """The highest rating that can stand here, such as 5; ratings are percentages where nothing is said."""
    words: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")], ...] = ()
    """Words for 1, 2, 3 ..., where a rating is written so, such as `[One, Two, Three, Four, Five]`."""
    part: Literal["whole", "fraction"] | None = None
    """The part of a price that stands here, where its cents stand in an element of their own."""


class Value(BaseModel, frozen=True, extra="forbid"):
    """One value in an object of JSON data. In YAML a bare path will do."""

    path: JsonPath
    scale: Annotated[int, Field(gt=0)] | None = None
    """The highest rating that can stand here."""
    factor: Annotated[int, Field(gt=0)] | None = None
    """By what a price is multiplied here: 100 where 129900 means 1299.00. Texts as `$1,299.00` never are.

    Where nothing is said, sums have the factor of the first price, and prices have none.
    """


def _check_page(page: str) -> str:
    if "${value}" not in page:
        raise ValueError(f'"{page}" does not say where the value stands; write it like /p/${{value}}')
    return page


class Link(BaseModel, frozen=True, extra="forbid"):
    """Which product an object shows: an address, or a slug or number in the address of the product's page."""

    path: JsonPath
    page: Annotated[str, AfterValidator(_check_page)] | None = None
    """The address of the product's page, such as `/p/${value}`; left out: the value is an address."""


class Data(BaseModel, frozen=True, extra="forbid"):
    """Products in JSON: in an answer that pages load (`url`), or embedded in a page (`css`, `attribute`)."""

    url: str | None = None
    """Path of the answer's address; `*` stands for any text."""
    css: Css | None = None
    """The elements that hold the JSON as their text ..."""
    attribute: str | None = None
    """... or in this attribute."""
    copies: JsonPath | None = None
    """Texts in the JSON that hold the same data once more, as JSON."""
    items: JsonPath | tuple[JsonPath, ...] = "$"
    """The objects that show a product each; several paths where they stand in several places."""
    link: Annotated[tuple[Link, ...], BeforeValidator(partial(listed, key="path"))] = ()
    """Where an object says which product it shows; else it is the page's own."""
    roles: dict[str, Annotated[tuple[Value, ...], BeforeValidator(partial(listed, key="path"))]]
    """Part of a product (`price`, `name`, `quantity`, `subtotal` ...) -> its places in the object."""
    totals: Annotated[tuple[Value, ...], BeforeValidator(partial(listed, key="path"))] = ()
    """Sums of prices times quantities, in the whole document."""
    told: JsonPath | None = None
    """Where in an object a text can be added that an edit inserts on pages."""
    cart: bool = False
    """Whether the products are those in the cart, so that one that appears there is a choice."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.url is None) == (self.css is None):
            raise ValueError("name the answer's url or the element's css, one of the two")
        return self

    @property
    def shown_on(self) -> tuple[PageType, ...]:
        """The types of pages for which an answer stands, whatever loads it; empty: not known.

        What has totals is a cart, a checkout or an order.
        """
        return STAGES if self.totals and self.url else ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of `items`."""
        return (self.items,) if isinstance(self.items, str) else self.items

    @property
    def names_ids(self) -> bool:
        """Whether the objects say by what id the shop's requests name the product."""
        return "id" in self.roles

    @property
    def factor(self) -> int:
        """By what the first price is multiplied."""
        return next((value.factor or 1 for value in self.roles.get("price", ())), 1)


class PageTest(BaseModel, frozen=True, extra="forbid"):
    """What tells a page type: an element that exists, or the exact text of `<title>`."""

    css: Css | None = None
    title: str | None = None


class OrderPaths(BaseModel, frozen=True, extra="forbid"):
    """Paths by which an order is known, as regular expressions."""

    place: Regex
    """Where the form of the checkout is sent."""
    placed: Regex
    """The page that the shop shows then; its page type is `order`."""


class Dismissal(BaseModel, frozen=True, extra="forbid"):
    """A button that takes a layer of the page away, such as one that asks for consent."""

    css: Css | None = None
    text: Annotated[str, Field(min_length=1)] | None = None
    """All of the text on the button, in any case."""

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if (self.css is None) == (self.text is None):
            raise ValueError("name the button's css or its text, one of the two")
        return self


Role = Annotated[tuple[Place, ...], BeforeValidator(listed), Field(min_length=1)]


class SiteMap(BaseModel, frozen=True, extra="forbid"):
    """The roles of a shop's pages.

    `pages`: page type -> test, in the order in which they are tried. `roles`: name -> places; the first place
    is the one that an edit needs, the others show the same value and are kept in step where a page has them.

    A role without a dot, such as `item`, is a card or row that shows one product; `item.link` leads to the
    product, and the roles `item.*` are looked up inside the card. The roles `product.*` belong to a product's
    own page, where `product.link` says which product it is; the roles `page.*` to a page, whatever it shows.
    """

    name: str
    extends: str | None = None
    drawn: bool = False
    """Whether scripts draw the shop's pages in the browser, or draw over them."""
    pages: dict[PageType, Annotated[PageTest, BeforeValidator(expanded)]] = {}
    roles: dict[str, Role] = {}
    data: tuple[Data, ...] = ()
    query: Annotated[tuple[str, ...], BeforeValidator(_alone)] = ()
    """The parts of an address's query that tell which product a page shows, such as `id` in `/item?id=7`."""
    dismiss: Annotated[tuple[Dismissal, ...], BeforeValidator(partial(listed, key="css"))] = ()
    """Buttons that are pressed on each start page, where it has them, before a trial of any condition."""
    choice: Choice = Choice()
    order: OrderPaths | None = None
    """How an order is known; left out: nobody orders here."""

    @field_validator("roles")
    @classmethod
    def _check_names(cls, roles: dict[str, Role]) -> dict[str, Role]:
        for role, places in roles.items():
            if not _ROLE.fullmatch(role):
                raise ValueError(f'"{role}" is no name for a role; write it like item or item.price')
            parts = {place.part for place in places} - {None}
            if parts and not role.endswith((".price", ".subtotal")):
                raise ValueError(f"{role}: only the places of a price or a subtotal have the key part")
            if len(parts) == 1:
                raise ValueError(
                    f"{role}: part: {parts.pop()} stands alone; name the places of both, whole and fraction"
                )
        return roles

    def __hash__(self) -> int:
        return hash((self.name, len(self.roles)))

    @property
    def cards(self) -> list[str]:
        """The roles that are cards or rows."""
        return [role for role in self.roles if f"{role}.link" in self.roles]

    @property
    def names(self) -> frozenset[str]:
        """The roles that an edit can name: a part of a card has the name that it has on a product's page."""
        parts = (role.partition(".") for role in self.roles)
        return frozenset(self.roles) | {
            f"product.{part}" for group, _, part in parts if group in self.cards and part
        }

    def role(self, name: str) -> tuple[Place, ...]:
        """Return the places of a role; `css:SELECTOR` is a role of its own.

        The result is empty when the map has no such role.
        """
        if name.startswith("css:"):
            return (Place(css=name.removeprefix("css:")),)
        return self.roles.get(name, ())

    def data_at(self, url: str) -> tuple[Data, ...]:
        """Return the rules for the products in the JSON at this address."""
        try:
            path = urlsplit(url).path
        except ValueError:
            return ()
        forms = {path, unquote(path)}
        return tuple(
            data for data in self.data if data.url and any(fnmatchcase(each, data.url) for each in forms)
        )

    @property
    def embeds_ids(self) -> bool:
        """Whether data in pages say by what id requests name a product."""
        return any(data.css and data.names_ids for data in self.data)

    @property
    def knows_choices(self) -> bool:
        """Whether anything here tells that a product is in the cart."""
        choice = self.choice
        told = choice.request or choice.cart or choice.message or choice.address
        return bool(told) or any(data.cart for data in self.data)

    def identity(self) -> dict[str, Any]:
        """Return what the map says as plain JSON data, of which the ids of runs are made.

        They are to stay the same from version to version: what came later is left out where it says nothing.
        Earlier versions knew the requests of `choice` only, and of every shop the messages of onestopmarket.
        """
        found: dict[str, Any] = {"add_to_cart": None} | _as_before(self.model_dump(mode="json"))
        for key in ("drawn", "dismiss", "order"):
            if not found[key]:
                del found[key]
        choice, known = found.pop("choice"), load_site_map("onestopmarket").choice
        before = Choice(request=self.choice.request[:1], message=known.message, refused=known.refused)
        if self.choice.model_dump() == before.model_dump():
            found["add_to_cart"] = next(iter(choice["request"]), None)
        else:
            found["choice"] = choice
        return found

    def key(self, url: str, page: str = "") -> str:
        """Return the key of the product that has its page at an address (see `product_key`)."""
        return product_key(url, page, self.query)

    def expressions(self) -> Iterator[tuple[str, str]]:
        """Yield the regular expressions and JSONPaths with their keys (`roles.item.price[0].pattern`)."""
        yield from _expressions(self.model_dump(include={"roles", "data", "choice", "order"}), ())

    def slow_expressions(self) -> Iterator[tuple[str, str]]:
        """Yield the key of each regular expression that takes too long on some texts, and what that means."""
        for key, expression in self.expressions():
            if not expression.startswith("$") and is_slow(expression):
                yield key, _SLOW

    def loads(self, url: str) -> bool:
        """Return whether the JSON at this address is known to show products."""
        return bool(self.data_at(url))


def load_site_map(name_or_path: str | Path) -> SiteMap:
    """Load a shipped site map by name, or a file; `extends` adds what the file leaves out.

    Raises UserError.
    """
    return _load(name_or_path, ())


def _load(name_or_path: str | Path, users: tuple[Path, ...]) -> SiteMap:
    path = Path(name_or_path)
    if not path.suffix and not is_there(path):
        shipped = {file.stem: file for file in _FOLDER.glob("*.yaml")}
        if str(name_or_path) not in shipped:
            hint = did_you_mean(str(name_or_path), shipped, noun="shipped")
            raise UserError(f'no site map "{name_or_path}"; {hint} (or give the path of a YAML file)')
        path = shipped[str(name_or_path)]
    if path in users:
        raise UserError(f"{path}: extends: the site map extends itself; remove this key")
    own = load_model(path, SiteMap)
    for key, expression in own.expressions():
        name_expression(expression, f"{path}: {key}")
    if own.extends is None:
        return _checked(own, path)
    beside = path.parent / own.extends
    base = _load(beside if is_there(beside) else own.extends, (*users, path))
    rest = {kind: test for kind, test in base.pages.items() if kind not in own.pages}
    merged = {
        "pages": own.pages | rest,
        "roles": base.roles | own.roles,
        "data": own.data + base.data,
        "query": own.query or base.query,
        "choice": own.choice.over(base.choice),
        "drawn": own.drawn or base.drawn,
        "dismiss": own.dismiss or base.dismiss,
        "order": own.order or base.order,
    }
    return _checked(own.model_copy(update=merged), path)


def _checked(site: SiteMap, path: Path) -> SiteMap:
    """Raises UserError where rules speak of kinds of cards that the map does not have."""
    for card in site.choice.cart:
        if card not in site.cards:
            hint = did_you_mean(card, site.cards, noun="kinds of cards")
            raise UserError(f'{path}: choice.cart: "{card}" is no kind of card of this map; {hint}')
    return site


def _expressions(data: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(data, str):
        keys = [key for key in path if isinstance(key, str)]
        if keys[-1] in _EXPRESSIONS:
            yield dotted(path), data
        return
    parts = (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    )
    for key, part in parts:
        yield from _expressions(part, (*path, key))


_SLOW: Final = (
    "the regular expression takes too long on some texts, and a page with such a text fails its trial; "
    "leave out repetitions within repetitions, such as (a+)+"
)
_EXPRESSIONS: Final = (
    "pattern", "id_pattern", "path", "items", "copies", "told", "field", "refused_to", "refused_by",
    "address", "place", "placed",
)  # fmt: skip
"""The keys whose texts are regular expressions or JSONPaths."""

_LATER: Final[dict[str, Any]] = {
    **dict.fromkeys(("copies", "told")),
    **dict.fromkeys(("part", "factor", "page", "operation", "id_pattern")),
    **{"cart": False, "query": []},
}


def _as_before(data: Any) -> Any:
    """Dumped data without the keys that came later, where they say nothing; a path alone is a text."""
    if isinstance(data, list):
        return [_as_before(each) for each in data]
    if not isinstance(data, dict):
        return data
    kept = {key: _as_before(each) for key, each in data.items() if key not in _LATER or each != _LATER[key]}
    if "items" in kept:  # links and totals were no more than paths
        for key in ("link", "totals"):
            plain = ({"path"}, {"path", "scale"})
            kept[key] = [
                each["path"] if {*each} in plain and not each.get("scale") else each for each in kept[key]
            ]
    return kept


@lru_cache(maxsize=8_192)
def product_key(url: str, page: str = "", query: tuple[str, ...] = ()) -> str:
    """Return the path of a product's page, lower-case, decoded, without outer slashes and without `.html`.

    It is the same for every address of a product: host, fragment, upper case and sessions do not matter, and
    of the query only the parts named in `query`, which come after the path, as in `item?id=7`. A relative
    `url` is one on `page`.
    """
    try:
        address = urlsplit(urljoin(page, url.strip()))
    except ValueError:
        return ""
    path = unquote(_SESSION.sub("", address.path)).strip("/").lower().removesuffix(".html")
    said = dict(parse_qsl(address.query, max_num_fields=None)) if query else {}
    told = "&".join(f"{name}={said[name]}".lower() for name in query if name in said)
    return f"{path}?{told}" if told else path
