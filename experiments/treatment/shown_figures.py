"""Read what a trial's pages showed of each product, what the shop had sent, and why it is not known."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from experiments.treatment.list_order import products_met
from experiments.treatment.sights import ProductObservation
from interventions.apply.mapped_page import MappedPage
from interventions.authoring.page_facts import ShownFacts, shown_on
from interventions.edits.in_browser import ElementQuery, PageElements, as_read
from interventions.edits.place_values import value_at
from interventions.edits.showing import ProductPlace
from interventions.errors import CannotEdit
from interventions.html.page import Page
from proxy.session import Session
from proxy.shown_page import ShownPage

PARTS: Final = ("price", "rating", "reviews")


class _PageFigures(NamedTuple):
    """What the pages showed of a product, what the shop had sent, and why a figure of its is not known."""

    shown: ShownFacts
    sent: ShownFacts
    unread: str


NOT_SHOWN: Final = ShownFacts()


def shown_figures(
    keys: Sequence[str],
    session: Session,
    seen: Iterable[ProductObservation],
    *,
    in_lists: bool,
    whole: bool = False,
) -> dict[str, _PageFigures]:
    """Return what the last pages before the end showed of each of these products.

    The product's own page counts before its cards elsewhere; where the choice is made from lists (`in_lists`)
    the later of the two. In `whole` lists a card alone counts where there is one: what the own page of the
    chosen product shows besides is not known of the others. `seen`: the looks at products' own pages, in
    which scripts may have drawn another figure than came.
    """
    shown, sent = dict.fromkeys(keys, NOT_SHOWN), dict.fromkeys(keys, NOT_SHOWN)
    own: dict[str, ProductPlace] = {}
    cards: dict[str, ShownFacts] = {}
    looks = {sight.product: sight.standing for sight in seen if sight.standing and not sight.part}
    pages = [page for page in (*session.as_sent.values(), *session.pages) if page.parsed]
    for page in [page for page in pages if page.drawn or not session.site.drawn]:
        found = _on(page.parsed, page.product, session)
        before = _as_sent(page, session) or found
        for key in {*keys} & {*found}:
            showing, facts = found[key]
            if showing.group == "product":
                own[key] = showing
            else:
                cards[key] = facts.or_else(cards.get(key, NOT_SHOWN))
                if key in own and not in_lists:
                    continue
            shown[key] = facts.or_else(shown[key])
            sent[key] = before[key][1].or_else(sent[key]) if key in before else sent[key]
    for key in {*own} & {*looks}:
        shown[key] = shown[key]._replace(**_redrawn(looks[key], own[key]))
    if whole:
        shown |= cards
    group = "item" if whole else "product"
    unread = {key: _unread(shown[key], None if whole else own.get(key), group, session) for key in keys}
    return {key: _PageFigures(shown[key], sent[key], unread[key]) for key in keys}


def shown_products(seen: Sequence[ProductObservation], session: Session) -> dict[str, int | None]:
    """Return the products that pages showed, as they were met; 1: the reader had them in view, 0: never.

    Where the browser was not read, these are all that the pages show that were sent; None: it is not known.
    """
    pages = [page for page in (*session.as_sent.values(), *session.pages) if page.parsed]
    own = {page.product for page in pages if page.product}
    sent = [sight for sight in seen if sight.sent]
    looks = [(sight.url, standing) for sight in sent for standing in sight.standings if not sight.part]
    met: dict[str, int | None] = {key: int(seen) for key, seen in products_met(looks, session).items()}
    if not met:
        met = {key: None for page in pages for key in _on(page.parsed, page.product, session)}
    return met | {sight.product: 1 for sight in sent if sight.product in own}


def titles(session: Session) -> dict[str, str]:
    """Return the names of all products that the pages showed, by their keys."""
    found = {
        key: facts.title or ""
        for page in (*session.as_sent.values(), *session.pages)
        for key, (_, facts) in _on(page.parsed, page.product, session).items()
    }
    return {key: title for key, title in found.items() if title}


def _on(
    page: Page | None, product: str | None, session: Session
) -> dict[str, tuple[ProductPlace, ShownFacts]]:
    """By product, where a page shows it, and what; its own page comes before cards, and no cart counts."""
    found: dict[str, tuple[ProductPlace, ShownFacts]] = {}
    if page is None:
        return found
    view = MappedPage(page, session.site, session.plan.by_product, session.known)
    try:
        for key, showing, facts in shown_on(view):
            if showing.group not in ("row", *session.site.choice.cart):
                found.setdefault((showing.group == "product" and product) or key, (showing, facts))
    except CannotEdit:
        return {}
    return found


def _as_sent(page: ShownPage, session: Session) -> dict[str, tuple[ProductPlace, ShownFacts]]:
    """The same of the page as the shop has sent it; empty where it is what was passed on, or not known."""
    before = page.before
    if page.drawn:
        drawn = (each.body for each in reversed(session.sent) if each.url == page.url and each.came)
        body = next(drawn, None)
        before = None if body is None else replace(page, body=body, sent=None)
    if before is None or before.body == page.body:
        return {}
    return _on(before.parsed, page.product, session)


def _redrawn(standing: PageElements, showing: ProductPlace) -> dict[str, Any]:
    """The figures of which the browser had another text than the page that came."""
    found: dict[str, Any] = {}
    for part in PARTS:
        role = f"product.{part}"
        came = {as_read(showing.value(target)) for target in showing.all(role)}
        for target in showing.all(role):
            spot = ElementQuery(target.place.css, target.place.attribute)
            stood = next(iter(standing.found.get(spot) or ()), None)
            if stood is None or stood.text in came or target.place.part:
                continue
            value = value_at(target.place, stood.text, showing.usage(role, target), spaced=True)
            if value is not None:
                found.setdefault(part, round(value) if part == "reviews" else float(value))
    return found


def _unread(shown: ShownFacts, showing: ProductPlace | None, group: str, session: Session) -> str:
    """Why figures are not known; empty where all are. group: of the roles that should have them."""
    if shown == NOT_SHOWN:
        return "no page showed it"
    lacking = []
    for part in PARTS:
        role = f"{group}.{part}"
        if getattr(shown, part) is not None:
            continue
        texts = [showing.value(target) for target in showing.all(role)] if showing else []
        why = f"no figure in {texts[0][:40]!r}" if texts else f"nothing at {role}"
        if not session.site.role(role):
            why = f"the site map {session.site.name} has no role {role}"
        lacking.append(f"{part}: {why}")
    return "; ".join(lacking)
