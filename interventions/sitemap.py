"""Site maps: which CSS selector plays which role on the pages of a shop."""

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote, urljoin, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, field_validator
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from interventions.errors import UserError
from interventions.yaml_source import did_you_mean, load_model

PageType = Literal["product", "listing", "home", "cart", "other"]

_FOLDER = Path(__file__).parent / "sitemaps"
_ROLE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_NOTHING = LexborHTMLParser("")


def check_css(selector: str) -> str:
    """The selector, if it is one. Raises ValueError."""
    try:
        _NOTHING.css(selector)
    except SelectolaxError:
        raise ValueError(f'"{selector}" is not a CSS selector; check brackets and quotes') from None
    return selector


Css = Annotated[str, AfterValidator(check_css)]


class Place(BaseModel, frozen=True, extra="forbid"):
    """One place on a page: an element's text, or its `attribute`. In YAML a bare selector will do."""

    css: Css
    attribute: str | None = None


class PageTest(BaseModel, frozen=True, extra="forbid"):
    """What tells a page type: an element that exists, or the exact text of `<title>`."""

    css: Css | None = None
    title: str | None = None


def _listed(value: object) -> object:
    return [_expanded(item) for item in value] if isinstance(value, list | tuple) else [_expanded(value)]


def _expanded(value: object) -> object:
    return {"css": value} if isinstance(value, str) else value


Role = Annotated[tuple[Place, ...], BeforeValidator(_listed), Field(min_length=1)]


class SiteMap(BaseModel, frozen=True, extra="forbid"):
    """The roles of a shop's pages.

    `pages`: page type -> test, in the order in which they are tried. `roles`: name -> places; the first place
    is the one that an edit needs, the others show the same value and are kept in step where a page has them.

    A role without a dot, such as `item`, is a card or row that shows one product; `item.link` leads to the
    product, and the roles `item.*` are looked up inside the card. The roles `product.*` belong to a product's
    own page, where `product.link` says which product it is.
    """

    name: str
    extends: str | None = None
    pages: dict[PageType, Annotated[PageTest, BeforeValidator(_expanded)]] = {}
    roles: dict[str, Role] = {}

    @field_validator("roles")
    @classmethod
    def _check_names(cls, roles: dict[str, Role]) -> dict[str, Role]:
        for role in roles:
            if not _ROLE.fullmatch(role):
                raise ValueError(f'"{role}" is no name for a role; write it like item or item.price')
        return roles

    def __hash__(self) -> int:
        return hash((self.name, len(self.roles)))

    @property
    def cards(self) -> list[str]:
        """The roles that are cards or rows."""
        return [role for role in self.roles if f"{role}.link" in self.roles]

    def role(self, name: str) -> tuple[Place, ...]:
        """The places of a role; `css:SELECTOR` is a role of its own. Empty when the map has no such role."""
        if name.startswith("css:"):
            return (Place(css=name.removeprefix("css:")),)
        return self.roles.get(name, ())


def load_site_map(name_or_path: str | Path) -> SiteMap:
    """A shipped site map by name, or a file; `extends` adds what the file leaves out. Raises UserError."""
    return _load(name_or_path, ())


def _load(name_or_path: str | Path, users: tuple[Path, ...]) -> SiteMap:
    path = Path(name_or_path)
    if not path.suffix and not path.exists():
        shipped = {file.stem: file for file in _FOLDER.glob("*.yaml")}
        if str(name_or_path) not in shipped:
            hint = did_you_mean(str(name_or_path), shipped, noun="shipped")
            raise UserError(f'no site map "{name_or_path}"; {hint} (or give the path of a YAML file)')
        path = shipped[str(name_or_path)]
    if path in users:
        raise UserError(f"{path}: extends: the site map extends itself; remove this key")
    own = load_model(path, SiteMap)
    if own.extends is None:
        return own
    beside = path.parent / own.extends
    base = _load(beside if beside.is_file() else own.extends, (*users, path))
    rest = {kind: test for kind, test in base.pages.items() if kind not in own.pages}
    return own.model_copy(update={"pages": own.pages | rest, "roles": base.roles | own.roles})


def product_key(url: str, page: str = "") -> str:
    """The path of a product's page, lower-case, decoded, without slashes at its ends and without `.html`.

    The same for every address of a product: host, query, fragment and upper case do not matter.
    A relative `url` is one on `page`.
    """
    try:
        path = urlsplit(urljoin(page, url.strip())).path
    except ValueError:
        return ""
    return unquote(path).strip("/").lower().removesuffix(".html")
