"""Looks at products' own pages, and what the receipts say that stands there."""

from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from interventions.edits.base import Leftover
from interventions.edits.in_browser import PageElements, Verdict, as_read, holds
from interventions.edits.showing import Change
from interventions.yaml.sitemap import Place, SiteMap
from proxy.session import Session


class ReceiptKey(NamedTuple):
    """The key of a receipt of an edit on a product's own page."""

    intervention: str
    edit: str
    role: str
    product: str


@dataclass(frozen=True, slots=True)
class ProductObservation:
    """A product's own page as its reader was given it once, as HTML.

    `standing`: the same page as the browser had it. `url`: its address, where that is known. Other pages have
    no product. `as_tree`: its reader was given the accessibility tree alone, which stands in `html`. `sent`:
    whether its reader was given it at all. `scroll`: how far a guest's page was scrolled to the right and
    down, in pixels. `before`: what stood on the page before its reader was given it, where that took its
    time. `part`: its reader was given an enlarged part of it, by which nothing counts as shown; what must
    not stand there may stand there no more than at other times.
    """

    product: str
    html: str
    standing: PageElements | None = None
    url: str = ""
    as_tree: bool = False
    sent: bool = True
    scroll: tuple[int, int] = (0, 0)
    before: PageElements | None = None
    part: bool = False

    @property
    def standings(self) -> list[PageElements]:
        """What stood on the page before its reader was given it, where that is known, and then."""
        return [each for each in (self.before, self.standing) if each]


def is_told(verdict: Verdict, sight: ProductObservation) -> bool:
    """Return whether the accessibility tree has what an edit made, where its reader was given the tree alone.

    It leaves out what is hidden from assistive technology, and has texts in the letters in which they are
    drawn: capital ones, where a style says so.
    """
    texts = [each.given.casefold() for each in verdict.at if each.given]
    return not sight.as_tree or not texts or any(holds(_told(sight.html).casefold(), text) for text in texts)


def is_in(text: str, sight: ProductObservation) -> bool:
    """Return whether the HTML or the tree that a reader was given holds a text, wherever it stands there."""
    return holds(_told(sight.html) if sight.as_tree else as_read(unescape(sight.html)), text)


def _told(tree: str) -> str:
    """The texts of an accessibility tree, without the signs that its lines are written with."""
    return as_read(tree.replace('\\"', '"').replace("\\\\", "\\"))


@lru_cache(maxsize=64)
def as_in_card(site: SiteMap, group: str) -> SiteMap:
    """Return the site map as it is to a card, whose parts have the names of those of a product's own page.

    The card itself is what the selectors are looked for in.
    """
    mine = {role: places for role, places in site.roles.items() if role.startswith(f"{group}.")}
    own = {f"product.{role.partition('.')[2]}": places for role, places in mine.items()}
    return site.model_copy(update={"roles": mine | own | {group: (Place.model_construct(css=":scope"),)}})


class EditsMade:
    """What the receipts say of products' own pages, or of cards of a kind (`card`)."""

    def __init__(self, session: Session, card: str = "") -> None:
        self.site = as_in_card(session.site, card) if card else session.site
        self.changes: dict[ReceiptKey, list[Change]] = {}
        self._leftovers = session.plan.leftovers
        self.words = [as_read(edit.words()) for t in session.plan.treatments for edit in t.edits]
        """The texts of edits as a whole; those in `changes` may be cut."""
        roles = {(t.intervention, e.kind()): e.roles()[0] for t in session.plan.treatments for e in t.edits}
        self.prices: dict[str, set[tuple[str, str]]] = {}
        """By product, the prices in data before and after."""
        self.names: dict[str, set[tuple[str, str]]] = {}
        """By product, the names in data before and after."""
        for each in session.receipts:
            if each.intervention in session.plan.late:
                continue
            role = each.role
            if role == "data.price":
                self.prices.setdefault(each.product, set()).add((each.before, each.after))
            if role == "data.name":
                self.names.setdefault(each.product, set()).add((as_read(each.before), as_read(each.after)))
            if card:
                if role.partition(".")[0] != card:
                    continue
            elif each.page_type == "data" and not self.site.drawn:
                # A page whose data carry the edit needs none itself: its scripts show it.
                role = roles.get((each.intervention, each.edit), role)
            elif each.page_type != "product":
                continue
            proof = ReceiptKey(each.intervention, each.edit, role, each.product)
            change = Change(each.matches, as_read(each.before), as_read(each.after))
            self.changes.setdefault(proof, []).append(change)

    def replaced(self, key: str, *leftovers: Leftover) -> list[Change]:
        """Return what the edits have changed on a product's page that leave no such thing over."""
        return [
            change
            for proof, changes in self.changes.items()
            if proof.product == key and self._leftovers.get((proof.intervention, proof.edit)) in leftovers
            for change in changes
        ]
