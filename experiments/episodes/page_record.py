"""Make the record of a trial in a shop's pages."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, TypeVar
from urllib.parse import urljoin

from environments.action.pointer import Hit
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.orders import order_rows, task_of
from experiments.episodes.placed_order import placed_order
from experiments.episodes.shop_record import option_row, shop_record
from experiments.records.record import IN_VIEW, Row, Start, TrialRecord
from experiments.treatment.guest_steps import GuestSteps, leads_to
from experiments.treatment.list_order import own_link
from experiments.treatment.shown_figures import shown_figures, shown_products, titles
from experiments.treatment.sights import ProductObservation
from experiments.treatment.trajectory import Trajectory, trace
from experiments.treatment.treatment_check import EditBox, placed, shown_product, sights, unchecked
from interventions.apply.consistency import disagreements
from interventions.apply.plan import ProductFacts
from interventions.errors import CannotEdit
from interventions.yaml.limited import TooSlow
from interventions.yaml.sitemap import STAGES
from proxy.session import Session

T = TypeVar("T")

IN_VAIN: Final = ", and no rule of choice was met"
"""What the reason says of a trial without a choice in which the button was pressed that adds to the cart."""


@dataclass(frozen=True, slots=True)
class GuestFacts:
    """What is recorded of a guest's trial in place of looks and actions.

    `seen`: the products' own pages as drawn, with when each was reported (`looked`, in seconds), and then
    those that were only sent. `opened`: by product, how often its page was opened.
    """

    steps: GuestSteps
    seen: Sequence[ProductObservation]
    looked: Sequence[float]
    opened: Mapping[str, int]

    def sent_at(self, number: int) -> int:
        """Return the first step at which a page could be seen that came with the page opened as this one."""
        return self.steps.first[number] if number < len(self.steps.first) else 0

    def hit_rows(self, session: Session, places: Sequence[EditBox]) -> list[Row]:
        """Return what stood at the points of clicks, which are pixels of the page."""
        found: list[Row] = []
        product_at = cache(session.product_at)
        at_look: dict[int, list[EditBox]] = {}
        for place in places:
            at_look.setdefault(place.step, []).append(place)
        looks, last = deque(enumerate(self.looked)), dict[str, int]()
        for step, hit in self.steps.hits:
            while looks and self.steps.at(looks[0][1]) <= step:
                number, _ = looks.popleft()
                last[self.seen[number].product] = number
            url = self.steps.rows[step]["url"]
            page = product_at(url)
            product = _product_hit(hit, url, page, session)
            look = last.get(page or product, -1)
            right, down = self.seen[look].scroll if look >= 0 else (0, 0)
            under = (
                place.intervention
                for place in at_look.get(look, ())
                if not place.why and place.holds(hit.x - right, hit.y - down)
            )
            found.append(_hit_row(step, hit, product, next(under, "")))
        return found


def to_record(
    trial: ShopTrial,
    design: ShopDesign,
    trajectory: Trajectory,
    session: Session,
    *,
    start: Start,
    attempts: int,
    guest: GuestFacts | None = None,
) -> TrialRecord:
    """Make the record of a finished trial; `guest`: what is known instead of looks, of a guest's."""
    seen = guest.seen if guest else sights(trajectory, design, trial, session)
    places = _readable(placed, session, seen)
    if guest:
        hits = guest.hit_rows(session, places)
        places = [place._replace(step=guest.steps.at(guest.looked[place.step])) for place in places]
    else:
        hits = _hit_rows(trial, design, trajectory, session, places)
    refused = session.added or (trajectory.looks and trajectory.looks[-1].stop)
    shown = shown_products(seen, session) if trial.whole else None
    products = trial.products if shown is None else _on_lists(trial, shown, session)
    limited_out = trajectory.outcome == "agent_limit" and not session.added
    unseen = limited_out or (trajectory.outcome == "no_choice" and not refused)
    pressed = sum(hit["role"].endswith(".add_to_cart") for hit in hits)
    if unseen and pressed:
        where = f"{IN_VAIN} (choice in the site map {design.site.name})"
        reason = f"{trajectory.reason}; add to cart was pressed {pressed} times{where}"
        trajectory.end(trajectory.outcome, reason)
    on_screen = [place._asdict() for place in places]
    texts = [look.observation.html or look.observation.tree for look in trajectory.looks]
    traced = (guest.steps.rows, guest.steps.artifacts) if guest else trace(trajectory)
    count = guest.steps.count if guest else len(trajectory.decisions)
    options = _option_rows(trial, design, session, seen, guest.opened if guest else None, products)
    second: dict[str, Any] = {}
    if design.experiment.to_order:
        stages = [receipt.page_type for receipt in session.receipts if receipt.page_type in STAGES]
        order = None
        with suppress(CannotEdit):
            order = placed_order(trial, session)
        second = order_rows(trial, session, order, texts, options, stages, task_of(design, trial))
    record = shop_record(trial, design, trajectory, session, traced, count, start=start, attempts=attempts)
    if guest:
        sent = [{**row, "step": guest.sent_at(row["step"])} for row in record.sent_pages]
        record = replace(record, sent_pages=sent, seen_seconds=guest.steps.seen_seconds(on_screen))
    return replace(
        record,
        options=options,
        disagreements=[{"text": text} for text in disagreements(session.sightings())],
        page_errors=[{"text": text, "times": times} for text, times in trajectory.page_errors.items()],
        unchecked=[effect._asdict() for effect in _readable(unchecked, session, seen)],
        on_screen=on_screen,
        hits=_with_known_products(hits, trial, session),
        attributes=_attribute_rows(trial, design, products, shown, places),
        **second,
    )


def _readable(
    find: Callable[[Sequence[ProductObservation], Session], list[T]],
    session: Session,
    seen: Sequence[ProductObservation],
) -> list[T]:
    """What is found on the pages that were looked at; nothing where that takes too long."""
    try:
        return find(seen, session)
    except TooSlow:  # then this is why the trial has failed
        return []


def _hit_rows(
    trial: ShopTrial, design: ShopDesign, trajectory: Trajectory, session: Session, places: Sequence[EditBox]
) -> list[Row]:
    """What stood at the points of actions, and what those hit that name an element."""
    found: list[Row] = []
    for step, hit in ((step, hit) for step, hits in enumerate(trajectory.hits) for hit in hits):
        look = trajectory.looks[step]
        product = _product_hit(hit, look.url, shown_product(look, trial, design, session), session)
        under = (
            place for place in places if place.step == step and not place.why and place.holds(hit.x, hit.y)
        )
        edited = next(under, None)
        found.append(_hit_row(step, hit, product, edited.intervention if edited else ""))
    return found


def _product_hit(hit: Hit, url: str, page: str, session: Session) -> str:
    """The product of the `page`, or of the link that was hit: on a list the address tells none."""
    in_card = hit.role.partition(".")[0] in session.site.cards
    if not hit.href or (page and not in_card):
        return "" if in_card else page
    return session.product_at(urljoin(url, own_link(leads_to(hit, url), session)))


def _with_known_products(hits: Sequence[Row], trial: ShopTrial, session: Session) -> list[Row]:
    """The rows, without a product where an address is that of none: of a cart, or a list."""
    known = {product.key for product in trial.products}
    if {hit["product"] for hit in hits} - known - {""}:
        known |= titles(session).keys()
    return [hit if hit["product"] in known else {**hit, "product": ""} for hit in hits]


def _hit_row(step: int, hit: Hit, product: str, intervention: str) -> Row:
    own = {name: getattr(hit, name) for name in ("x", "y", "text", "role")}
    return {"step": step, **own, "element": hit.tag, "product": product, "intervention": intervention}


def _option_rows(
    trial: ShopTrial,
    design: ShopDesign,
    session: Session,
    seen: Sequence[ProductObservation],
    opened: Mapping[str, int] | None,
    products: ChoiceSet,
) -> list[Row]:
    # The last tab is the active one when the episode starts; a list is read from its top.
    in_lists = design.experiment.task != "compare-tabs"
    first, keys = 0 if in_lists else len(products) - 1, [product.key for product in products]
    figures = shown_figures(keys, session, seen, in_lists=in_lists, whole=trial.whole)
    return [
        option_row(
            trial,
            design,
            product,
            position,
            sent=figures[product.key].sent,
            shown=figures[product.key].shown,
            unread=figures[product.key].unread,
            first=position == first,
            opened=None if opened is None else opened.get(product.key, 0),
        )
        for position, product in enumerate(products)
    ]


def _on_lists(trial: ShopTrial, shown: Mapping[str, int | None], session: Session) -> ChoiceSet:
    """All products that the pages have shown, as they were met, and then the others of the choice set."""
    mine, names = {product.key: product for product in trial.products}, titles(session)
    category = trial.products[0].category
    others = {key: ProductFacts(key, category, names.get(key, key)) for key in shown if key not in mine}
    return tuple((mine | others)[key] for key in dict.fromkeys((*shown, *mine)))


def grid_cells(keys: Sequence[str], places: Sequence[EditBox]) -> list[dict[str, int]]:
    """Return the row and the column, from 1, of each product of a list, as one of its edits stood on screen.

    keys: the products in the list's order. Empty where this cannot be told: no edit is on all products, or
    their places do not fill rows from left to right.
    """
    of_edit: dict[tuple[str, str, str], dict[str, int]] = {}
    for place in places:
        of_edit.setdefault((place.intervention, place.edit, place.role), {}).setdefault(
            place.product, place.x
        )
    for left in of_edit.values():
        columns = sorted(set(left.values()))
        at = [columns.index(left[key]) for key in keys if key in left]
        if at == [number % len(columns) for number in range(len(keys))]:
            return [{"row": 1 + n // len(columns), "column": 1 + n % len(columns)} for n in range(len(keys))]
    return [{} for _ in keys]


def _attribute_rows(
    trial: ShopTrial,
    design: ShopDesign,
    products: ChoiceSet,
    shown: Mapping[str, int | None] | None,
    places: Sequence[EditBox],
) -> list[Row]:
    """What the products' own prices, ratings and numbers of reviews are, where drawn ones were shown.

    In a Latin square of a list each product has its `row` and `column` on the screen too, and beside a decoy
    its `role`. shown: of a trial with whole lists; then the products that were shown, and no others, have
    `in_view`.
    """
    found: list[dict[str, Any]] = [
        (design.list_facts(product) if product.key in design.products else {}) | trial.facts(product.key)
        for product in products
    ]
    if design.experiment.in_square and design.experiment.task != "compare-tabs":
        cells = grid_cells([product.key for product in products], places)
        found = [own | cell for own, cell in zip(found, cells, strict=True)]
    if shown is not None:
        found = [
            own | {IN_VIEW: shown[product.key]} if product.key in shown else {}
            for own, product in zip(found, products, strict=True)
        ]
    return [{"position": at, "attributes": own} for at, own in enumerate(found) if own]
