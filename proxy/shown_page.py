"""Pages, and answers in JSON, as they were passed on and as the shop has sent them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache

from interventions.apply.consistency import PageFigure, figures_in, figures_on, sightings_on
from interventions.apply.engine import NO_TOTALS
from interventions.apply.plan import Plan
from interventions.apply.product_json import Document
from interventions.apply.sums import moved_totals
from interventions.edits.showing import Earlier
from interventions.errors import CannotEdit
from interventions.html import charset
from interventions.html.content_type import is_html, is_json
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap


@dataclass(frozen=True)
class ShownPage:
    """A page, or an answer in JSON, as it was passed on; `product` is the key on a product's own page."""

    url: str
    content_type: str
    body: bytes
    product: str | None
    drawn: bool = False
    """Whether this is the page as its scripts have drawn it, with the edits."""
    sent: bytes | None = None
    """The body as the shop has sent it; None: not known."""
    cart: int | None = 0
    """How often the cart may have changed before; None: it may have changed while the page came."""
    drift: Decimal = Decimal(0)
    """What edits have added to the sum of an order without a line."""
    links: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The links that edits have made lead elsewhere (see `ParsedPage`)."""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(charset.detect(self.body, self.content_type)[0], "replace")

    @property
    def parsed(self) -> Page | None:
        """The page, parsed once for all who soon look at it; None: it is no HTML, or cannot be read."""
        return _parsed(self) if is_html(self.content_type) else None

    @property
    def before(self) -> "ShownPage | None":
        """The page as the shop has sent it; None: not known."""
        return None if self.sent is None else replace(self, body=self.sent, sent=None)

    @property
    def document(self) -> Document | None:
        """The body as JSON; None: it cannot be read."""
        try:
            return Document(self.text)
        except CannotEdit:
            return None

    def moved_totals(self, site: SiteMap) -> Mapping[Decimal, Decimal]:
        """Return, by total as the shop has sent it, the total to which edits have moved it on this page."""
        before = self.before
        sent = before.parsed if before else None
        return moved_totals(sent, self.parsed, site) if sent and self.parsed else NO_TOTALS

    def sightings(self, site: SiteMap) -> list[PageFigure]:
        """Return the figures that the page shows for products, and the sums of a cart.

        Where scripts draw the pages, the sums of the page as drawn are `Session.sightings`. Of the page as it
        came only the data count: until it is drawn, nobody can see it.
        """
        before = self.before
        if is_html(self.content_type):
            if self.parsed is None:
                return []
            if site.drawn:
                found = sightings_on(self.parsed, site)
                return found if self.drawn else [each for each in found if each.role.startswith("data.")]
            sent = None
            if before:
                sent = self.parsed if before.body == self.body else before.parsed
            return figures_on(self.parsed, sent, site, self.cart, self.drift)
        if not is_json(self.content_type) or not site.loads(self.url):
            return []
        return figures_in(self.text, before.text if before else None, self.url, site, self.cart)


@lru_cache(maxsize=32)  # a parsed page takes twenty times its bytes
def _parsed(page: ShownPage) -> Page | None:
    try:
        parsed = Page(page.body, page.content_type, Marks(frozenset()), page.url)
    except CannotEdit:
        return None
    parsed.links.update(page.links)
    return parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPage:
    """A page, or an answer in JSON, as the shop has sent it, with what the engine was told to make of it.

    Of a page that scripts draw it is the page as drawn, without the edits.
    """

    url: str
    content_type: str
    body: bytes
    plan: Plan
    known: Mapping[str, str]
    came: str | None = None
    """Of a page as drawn: the address at which it came."""
    earlier: Mapping[str, Earlier] = field(default_factory=dict)
    totals: Mapping[Decimal, Decimal] = field(default_factory=dict)
    hash_after: str
    """The hash of what was made of it, as its receipts have it."""
    step: int
    """The first step at which it could be seen."""
