"""What all pages need: the visitor behind a request, and the templates."""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final

from babel.numbers import format_currency, get_currency_precision
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from environments.shop.catalogue import Catalogue, Product
from environments.shop.sessions import Sessions, ShopSession
from environments.shop.store import Store
from environments.shop.wording import translated, words_of

NO_STORE: Final = {"Cache-Control": "no-store"}

_HERE: Final = Path(__file__).parent
_HOST: Final = re.compile(r"[\w.\-]+(:\d+)?|\[[0-9a-fA-F:]+\](:\d+)?", re.ASCII)
_UENC: Final = str.maketrans("+/=", "-_~")
_UENC_BACK: Final = str.maketrans("-_~", "+/=")


@dataclass(frozen=True)
class ShopVisit:
    """A request and the visitor who makes it. `base` is the shop's address as the visitor wrote it."""

    request: Request
    base: str
    visitor_id: str
    form_key: str
    sessions: Sessions

    @property
    def session(self) -> ShopSession:
        """The visitor's session for reading; nothing is kept of changes to an empty one."""
        return self.sessions.get(self.visitor_id)

    def open_session(self) -> ShopSession:
        """Return the visitor's session for changes; it begins here if there is none."""
        return self.sessions.open(self.visitor_id)

    @cached_property
    def uenc(self) -> str:
        """The current address in the form in which links back carry it: without host and port.

        So pages are the same at whatever port the shop is started.
        """
        url = self.request.url
        address = "/" + url.path.lstrip("/") + (f"?{url.query}" if url.query else "")
        return base64.b64encode(address.encode()).decode().translate(_UENC)

    @property
    def is_xhr(self) -> bool:
        """Whether a script makes the request, and not a navigation."""
        return self.request.headers.get("x-requested-with") == "XMLHttpRequest"

    def origin(self, uenc: str = "") -> str:
        """Return the page that a form came from, always inside this shop.

        It is the page in `uenc`, else the referrer, else the home page.
        """
        try:
            address = base64.b64decode(uenc.translate(_UENC_BACK), validate=True).decode()
        except (binascii.Error, ValueError):
            address = ""
        if address.startswith("/") and not address.startswith("//"):
            address = self.base + address[1:]
        for candidate in (address, self.request.headers.get("referer", "")):
            if candidate.startswith(self.base) and candidate.isprintable():
                return candidate
        return self.base

    def go(self, url: str) -> Response:
        """Send the visitor to another page, also where a script made the request."""
        return JSONResponse({"backUrl": url}) if self.is_xhr else RedirectResponse(url, status_code=302)


@lru_cache(maxsize=4096)
def money(cents: int, currency: str = "USD", language: str = "en") -> str:
    """Write an amount in cents as a language writes it: `$1,234.50`, or `1.234,50 €` in German."""
    return str(format_currency(Decimal(cents) / 100, currency, locale=language.replace("-", "_")))


def amount(cents: int) -> str:
    """Write an amount in cents as a plain number without padding: `1234.5`."""
    whole, rest = divmod(cents, 100)
    return f"{whole}.{rest:02}".rstrip("0").rstrip(".")


def product_url(product: Product, base: str) -> str:
    """Return the address of a product's page."""
    return f"{base}{product.key}.html"


class Storefront:
    """The catalogue with its index, the visitors, and the templates."""

    def __init__(self, catalogue: Catalogue, sessions: Sessions) -> None:
        self.catalogue = catalogue
        self.store = Store(catalogue)
        self.sessions = sessions
        self.categories = {category.url: category for category in catalogue.categories}
        self.by_sku = {product.sku: product for product in catalogue.everything}
        words = words_of(catalogue.language)
        self.word: Callable[[str], str] = lambda text: words.get(text, text)
        """Say one of the shop's own texts in its language."""
        self.static = _read_static(words)
        # A number that changes with any of the files stands in their addresses, which are cached for ever.
        digest = hashlib.blake2b(b"".join(self.static.values()), digest_size=5).digest()
        self.static_path = f"static/version{int.from_bytes(digest)}/frontend/Magento/blank/en_US/"
        # Part of the address, because pictures are cached for ever and depend on the seed.
        self._picture_hash = hashlib.blake2b(str(catalogue.seed).encode(), digest_size=16).hexdigest()
        self.money: Callable[[int], str] = partial(
            money, currency=catalogue.currency, language=catalogue.language
        )
        folder = _HERE / "templates"
        templates = {file.name: translated(file.read_text("utf-8"), words) for file in folder.glob("*.html")}
        self._templates = Environment(
            loader=DictLoader(templates),
            autoescape=True,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        self._templates.filters.update(
            word=self.word, money=self.money, amount=amount, url=product_url, picture_url=self.picture_url
        )
        self._templates.globals.update(currency=catalogue.currency, language=catalogue.language)
        self._menu: Callable[[str], Markup] = lru_cache(maxsize=8)(self._render_menu)

    def minor(self, cents: int) -> int:
        """Return an amount in minor units; the shop counts in hundredths, in which yen are whole hundreds."""
        return int(cents * 10 ** get_currency_precision(self.catalogue.currency) // 100)

    def picture_url(self, product: Product, base: str) -> str:
        """Return the address of a product's picture."""
        return f"{base}media/catalog/product/cache/{self._picture_hash}/B/0/{product.sku}.0.svg"

    def visit(self, request: Request) -> ShopVisit:
        """Return the visitor who makes this request.

        Links will use the host name that the visitor used, if it is a valid one.
        """
        host = request.headers.get("host", "")
        if not _HOST.fullmatch(host):
            host = "{}:{}".format(*request.scope["server"])
        visitor_id = self.sessions.visitor_id(request.cookies.get("PHPSESSID"))
        form_key = self.sessions.form_key(visitor_id)
        return ShopVisit(request, f"{request.url.scheme}://{host}/", visitor_id, form_key, self.sessions)

    def introduce(self, visit: ShopVisit, response: Response) -> None:
        """Give a new visitor the cookies with id and form key."""
        cookies = visit.request.cookies
        if cookies.get("PHPSESSID") != visit.visitor_id:
            response.set_cookie("PHPSESSID", visit.visitor_id, httponly=True, samesite="lax")
        if cookies.get("form_key") != visit.form_key:
            response.set_cookie("form_key", visit.form_key, samesite="lax")

    def page(
        self,
        visit: ShopVisit,
        template: str,
        *,
        title: str,
        body_class: str,
        layout: str = "1column",
        heading: str = "",
        status: int = 200,
        **context: Any,
    ) -> Response:
        """Return a whole page."""
        html = self.render(
            template,
            visit=visit,
            base=visit.base,
            form_key=visit.form_key,
            static=visit.base + self.static_path,
            menu=self._menu(visit.base),
            title=title,
            body_class=body_class,
            layout=layout,
            heading=heading or title,
            **{"description": "", "search_text": "", "heading_id": ""} | context,
        )
        return HTMLResponse(html, status, headers=NO_STORE)

    def render(self, template: str, **context: Any) -> str:
        """Return a template's text, filled in."""
        return self._templates.get_template(template).render(context)

    def _render_menu(self, base: str) -> Markup:
        return Markup(self.render("menu.html", departments=self.catalogue.departments, base=base))  # noqa: S704


def _read_static(words: Mapping[str, str]) -> dict[str, bytes]:
    """The few small files that pages refer to, by their path."""
    root = _HERE / "static"
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.*"))}
    return files | {"js/shop.js": translated(files["js/shop.js"].decode(), words).encode()}
