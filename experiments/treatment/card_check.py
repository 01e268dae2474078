"""Check that cards and rows that an agent was shown have the edits that are planned for their products."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from experiments.treatment.list_order import card_key, is_drawn, page_at
from experiments.treatment.old_values import old_value
from experiments.treatment.sights import EditsMade, ProductObservation, ReceiptKey, as_in_card, is_told
from interventions.apply.mapped_page import MappedPage
from interventions.edits.base import Edit
from interventions.edits.in_browser import (
    CardElements,
    CardQuery,
    ElementQuery,
    PagePlaces,
    PlaceNotRead,
    Verdict,
)
from interventions.yaml.sitemap import SiteMap
from proxy.session import Session
from proxy.shown_page import ShownPage


def card_spots(edits: Sequence[Edit], site: SiteMap, *, all_kinds: bool) -> tuple[CardQuery, ...]:
    """Return what to read of cards to look for the edits in them.

    `all_kinds`: cards are read too in which no edit can be.
    """
    found = []
    for group in site.cards:
        mapped, link = as_in_card(site, group), site.role(f"{group}.link")[0]
        mine = [edit for edit in edits if _role_in_card(edit, group, site)]
        spots = tuple(dict.fromkeys(spot for edit in mine for spot in edit.spots(mapped)))
        if spots or all_kinds:
            found += [
                CardQuery(group, place.css, ElementQuery(link.css, link.attribute), spots)
                for place in site.role(group)
            ]
    return tuple(found)


def _role_in_card(edit: Edit, group: str, site: SiteMap) -> str:
    """Return the name of an edit's role in a card of a kind; empty where nothing of it is to be in a card."""
    if edit.orders:
        return ""
    whose, _, part = edit.roles()[0].partition(".")
    role = f"{group}.{part}" if part else group
    return role if role in site.roles and (whose == group or (part and whose == "product")) else ""


class _CardObservation(NamedTuple):
    """A card of a product as it stood at a look; `page_type` is empty where it is not known."""

    step: int
    key: str
    card: CardElements
    sight: ProductObservation
    page_type: str

    @property
    def is_in_view(self) -> bool:
        """Whether something of the card could be seen."""
        return not self.card.on_screen.why


def met_cards(seen: Sequence[ProductObservation], session: Session) -> Iterator[_CardObservation]:
    """Yield the cards of the pages that were looked at."""
    for step, sight in enumerate(seen):
        if not sight.sent or not any(standing.cards for standing in sight.standings):
            continue
        page = page_at(sight.url, session)
        parsed = page.parsed if page else None
        page_type = MappedPage(parsed, session.site).page_type if parsed else ""
        for standing in sight.standings:
            for card in standing.cards:
                key = card_key(card.group, card.link, sight.url, session)
                yield _CardObservation(step, key, card, replace(sight, standing=standing), page_type)


class CardCheck:
    """What has to stand in cards, as plan and receipts say."""

    def __init__(self, session: Session) -> None:
        self._plan, self._site = session.plan, session.site
        self._done = {group: EditsMade(session, group) for group in session.site.cards}
        self._in_data = {(r.intervention, r.edit, r.product) for r in session.receipts if r.is_data}
        self._made = {(r.intervention, r.edit, r.role, r.product, r.page_type) for r in session.receipts}

    def verdicts(self, met: _CardObservation) -> Iterator[tuple[ReceiptKey, Verdict | None]]:
        """Yield the edits that a card has to show, and whether it does; None: that cannot be told."""
        group = met.card.group
        for treatment in (*self._plan.by_product.get(met.key, ()), *self._plan.everywhere):
            if treatment.pages and met.page_type not in treatment.pages:
                continue
            for edit in treatment.edits:
                role = _role_in_card(edit, group, self._site)
                if not role or (edit.pages and met.page_type not in edit.pages):
                    continue
                proof = ReceiptKey(treatment.intervention, edit.kind(), role, met.key)
                # An edit for all products concerns those that have what it edits.
                if treatment.product or (*proof, met.page_type) in self._made:
                    yield proof, self._verdict(edit, proof, met)

    def _verdict(self, edit: Edit, proof: ReceiptKey, met: _CardObservation) -> Verdict | None:
        done = self._done[met.card.group]
        changes = done.changes.get(proof, [])
        if not changes and (proof.intervention, proof.edit, proof.product) not in self._in_data:
            return Verdict("it has no receipt")
        try:
            return edit.stands(PagePlaces(done.site, met.card.standing, met.sight.url), changes)
        except PlaceNotRead:
            return None

    def old_value(self, met: _CardObservation) -> str:
        """Return where a card shows what an edit has replaced; empty where it does not."""
        # The first line is a page's title, which no card has.
        standing = replace(met.card.standing, own=f"\n{met.card.standing.own}")
        try:
            return old_value(met.key, [replace(met.sight, standing=standing)], self._done[met.card.group])
        except PlaceNotRead:
            return ""


def proven_in_cards(seen: Sequence[ProductObservation], session: Session) -> set[ReceiptKey]:
    """Return the edits that were looked for in every card in view of their product."""
    cards, told = CardCheck(session), dict[ReceiptKey, bool]()
    for met in met_cards(seen, session):
        for proof, verdict in cards.verdicts(met):
            told[proof] = told.get(proof, True) and (not met.is_in_view or verdict is not None)
    return {proof for proof, known in told.items() if known}


def lacking(seen: Sequence[ProductObservation], session: Session, keys: list[str]) -> str:
    """Return which edit a card that was looked at lacks; empty where none does.

    Each card of a product of which something was in view has to show what was planned for it there, and not
    what this has replaced. At one look the edit itself must have been in view, unless the agent was sent the
    product's own page, which has to show it. What was never in view, be it a card or the part of it with the
    edit, lacks nothing, but a card that was sent has to be there; a list of the choice set only has to show
    all of it.
    """
    cards, met = CardCheck(session), [each for each in met_cards(seen, session) if each.key in keys]
    is_whole_set = _is_whole_set(session)
    opened = {sight.product for sight in seen if sight.sent and not sight.part}
    held: dict[ReceiptKey, bool] = {}
    for each in met:
        if not each.is_in_view:
            continue
        for proof, verdict in cards.verdicts(each):
            what = f"{proof.intervention}: {proof.edit}"
            if verdict and verdict.problem:
                where = f"{each.card.group} of {each.key} on {each.sight.url}"
                return f"{what} is gone: {verdict.problem} in the {where}"
            if verdict and not each.sight.part and (is_whole_set or not _is_further_on(verdict, each.card)):
                given = verdict.given and is_told(verdict, each.sight)
                whole = proof._replace(role=proof.role.partition(".")[2] or proof.role)
                held[whole] = held.get(whole, False) or given
        if reason := cards.old_value(each):
            return f"{reason}, in the {each.card.group} on {each.sight.url}"
    for proof, given in held.items():
        if not given and proof.product not in opened:
            what = f"what {proof.edit} made of the {proof.role} of {proof.product}"
            return f"{proof.intervention}: the agent was not shown {what}"
    return _gone(seen, session, keys, met)


def _gone(
    seen: Sequence[ProductObservation], session: Session, keys: list[str], met: Sequence[_CardObservation]
) -> str:
    """Which product has lost its card on a page that was looked at, so that nothing is known of its edits."""
    is_whole_set = _is_whole_set(session)
    shown = {each.key for each in met if is_drawn(each.card.on_screen)}
    shown |= {sight.product for sight in seen if sight.sent}
    present = {(_address(each.sight), each.key) for each in met}
    looked_at = {_address(sight) for sight in seen if sight.sent and sight.standing}
    for page in session.pages:
        for page_type, key, role in cards_on(page, session, keys) if page.url in looked_at else ():
            is_planned = any(
                role(edit.roles()[0]) and not edit.orders and (not edit.pages or page_type in edit.pages)
                for treatment in session.plan.by_product.get(key, ())
                if not treatment.pages or page_type in treatment.pages
                for edit in treatment.edits
            )
            if (is_whole_set and key not in shown) or (is_planned and (page.url, key) not in present):
                return f"{key} is gone: no card of it is on the screen of {page.url}"
    return ""


def _is_whole_set(session: Session) -> bool:
    """Whether lists show the choice set only."""
    return any(edit.only for each in session.plan.everywhere for edit in each.edits)


def _is_further_on(verdict: Verdict, card: CardElements) -> bool:
    """Whether what an edit made lies in a part of its card to which the page was not scrolled."""
    boxes, whole = [element.on_screen for element in verdict.at], card.on_screen
    return bool(boxes) and all(
        box.why == "out of view"
        and whole.x <= box.x + box.width / 2 <= whole.x + whole.width
        and whole.y <= box.y + box.height / 2 <= whole.y + whole.height
        for box in boxes
    )


def _address(sight: ProductObservation) -> str:
    return sight.url.partition("#")[0]


def cards_on(
    page: ShownPage, session: Session, keys: list[str]
) -> Iterator[tuple[str, str, Callable[[str], str]]]:
    """Yield where products show on a page, as it was sent, that is no product's own.

    Each item has the type of the page, the product's key, and a function from a role to its name there.
    """
    if page.product or page.parsed is None:
        return
    view = MappedPage(page.parsed, session.site, session.plan.by_product, session.known)
    for key, showing in view.showings():
        if key in keys and showing.group in session.site.cards:
            yield view.page_type, key, showing.role
