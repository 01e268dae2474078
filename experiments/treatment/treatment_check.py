"""Check that a trial's treatment reached the agent: receipts, and what stood on the pages it looked at."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import unescape
from typing import Final, NamedTuple

from environments.episode import TabObservation
from environments.observation.observe import ObservationQuery
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.treatment.card_check import (
    CardCheck,
    card_spots,
    cards_on,
    lacking,
    met_cards,
    proven_in_cards,
)
from experiments.treatment.linked_parts import old_price_by_link
from experiments.treatment.list_order import looked_at, misplaced, order_spots
from experiments.treatment.old_values import old_value
from experiments.treatment.sights import EditsMade, ProductObservation, ReceiptKey, is_in, is_told
from experiments.treatment.trajectory import Trajectory
from interventions.apply.engine import is_for_own_page
from interventions.edits.base import Edit
from interventions.edits.in_browser import (
    ElementQuery,
    PagePlaces,
    PlaceNotRead,
    Verdict,
    as_read,
    holds,
)
from interventions.yaml.sitemap import PageType, SiteMap
from proxy.session import Session


def wanted_in_browser(design: ShopDesign, trial: ShopTrial) -> ObservationQuery:
    """Return what each look has to read of a page.

    It is the same in all conditions of a cell.
    """
    edits = [edit for intervention in design.interventions(trial) for edit in intervention.edits]
    spots = [
        spot for edit in edits if shows_on_own_page(edit, design.site) for spot in edit.spots(design.site)
    ]
    spots += [spot for _, spot in _page_types(design.site)]
    own = any(edit.leftover for edit in edits)
    # A list of the choice set has to show all of it.
    lists = design.experiment.task != "compare-tabs"
    cards = card_spots(edits, design.site, all_kinds=own or lists)
    if lists or any(edit.orders for edit in edits):
        spots += order_spots(design.site)
    return ObservationQuery(
        tuple(dict.fromkeys(spots)),
        own=own,
        cards=cards,
        drawn=_drawn(edits, design.site),
        pictures=any(edit.leftover == "picture" for edit in edits),
    )


def _drawn(edits: Sequence[Edit], site: SiteMap) -> tuple[str, ...]:
    """What scripts have to have drawn before a product's page is looked at, in whatever condition."""
    if not site.drawn:
        return ()
    roles = {role for edit in edits if not edit.takes_out() for role in edit.needs()}
    return tuple(sorted(place.css for role in roles for place in site.role(role)[:1]))


def sights(
    trajectory: Trajectory, design: ShopDesign, trial: ShopTrial, session: Session
) -> list[ProductObservation]:
    """Return the products' own pages at which the agent looked before it acted, one for each action.

    Some of them it was not sent: it acted in a batch.
    """
    return [
        ProductObservation(
            shown_product(look, trial, design, session),
            look.observation.html or look.observation.tree,
            look.standing,
            look.url,
            as_tree=not look.observation.html and bool(look.observation.tree),
            before=look.before,
            part=look.observation.zoomed,
        )
        if decision.looked
        else ProductObservation(shown_product(look, trial, design, session), "", sent=False)
        for look, decision in zip(trajectory.looks, trajectory.decisions, strict=False)
    ]


def shown_product(look: TabObservation, trial: ShopTrial, design: ShopDesign, session: Session) -> str:
    """Return the product on whose page a look was.

    A tab shows the product that it began with until the agent itself has left the page, and then the first
    one of the choice set to which this has led; other pages are known by what they say, or by their address.
    """
    if design.experiment.task == "compare-tabs" and look.tab is not None:
        return trial.products[look.tab].key
    keys = {product.key for product in trial.products}
    way = filter(keys.__contains__, map(session.product_at, look.way))
    return next(way, None) or session.product_at(look.url)


def unknown_page(sight: ProductObservation | None, site: SiteMap, keys: Sequence[str]) -> str:
    """Return why a choice that was made at this sight does not count; empty where it may, or none is known.

    It was made on a page that is not known to be one of the choice set (`keys`), nor a cart or a list.
    """
    if sight is None or sight.standing is None or sight.product in keys:
        return ""
    found = sight.standing.found
    page_type = next((name for name, spot in _page_types(site) if found.get(spot)), "other")
    if page_type not in ("product", "other"):
        return ""
    return (
        f"the choice was made on {sight.url}, and it cannot be told whose page that is "
        "(of a cart or a list: name it in the site map's pages)"
    )


def _page_types(site: SiteMap) -> list[tuple[PageType, ElementQuery]]:
    """What tells the types of pages, in order. It only has to be there: an attribute is short."""
    return [(name, ElementQuery(test.css, "class")) for name, test in site.pages.items() if test.css]


def shows_on_own_page(edit: Edit, site: SiteMap) -> bool:
    """Return whether a product's own page has to show an edit that is planned for it."""
    role = edit.roles()[0]
    return not edit.stages() and (is_for_own_page(role, site) or role.startswith("page."))


def untreated(seen: Sequence[ProductObservation], session: Session, keys: list[str], chosen: str = "") -> str:
    """Return why the pages that the agent saw do not prove the treatment; empty where they do.

    Every planned edit of a product whose page the agent saw, or that it has `chosen`, needs a receipt. What
    the edit made must stand at its place in every sight of the page, and in one be given to the agent; where
    that cannot be told, its text must be in what the agent was given. On other pages every card of a product
    needs the receipts of what was planned for it there, and must show it where it is in view (`lacking`); no
    list that the site map does not describe may show an old price beside a link to its product; and where a
    list is to show the choice set only, one has to be seen that does.
    """
    return (
        _untreated_pages(seen, session, keys, chosen)
        or _untreated_cards(session, keys)
        or lacking(seen, session, keys)
        or old_price_by_link(seen, session, keys)
        or _unlisted(session, keys)
        or misplaced(
            [(each.url, stood) for each in seen if not each.part for stood in each.standings], session
        )
    )


class Effect(NamedTuple):
    """An edit on a type of pages, as the table of receipts groups them."""

    intervention: str
    edit: str
    role: str
    page_type: str


def unchecked(seen: Sequence[ProductObservation], session: Session) -> list[Effect]:
    """Return the edits with receipts that could not be looked for in the browser.

    Only edits that have changed a page count. Edits of data are left out: nobody reads data but the page's
    scripts.
    """
    done, sent = EditsMade(session), [sight for sight in seen if sight.sent]
    proven = {
        proof
        for key in {sight.product for sight in sent}
        for edit, proof in _planned(session, key)
        if all(_verdict(edit, proof, done, sight) for sight in sent if sight.product == key)
    } | proven_in_cards(seen, session)
    ordered = looked_at([(sight.url, sight.standing) for sight in seen], session)
    found = {
        Effect(each.intervention, each.edit, each.role, each.page_type)
        for each in session.receipts
        if each.intervention
        and not each.role.startswith("data.")
        and ReceiptKey(each.intervention, each.edit, each.role, each.product) not in proven
        and (each.intervention, each.edit) not in ordered
    }
    return sorted(found)


NOT_GIVEN: Final = "not in what the agent was given"


class EditBox(NamedTuple):
    """Where an edit stood on a product's own page, or in a card, at a look, in pixels of the viewport.

    `why` its text could not be read there; empty where it could. That of a text where people do not look has
    no width and height.
    """

    step: int
    product: str
    intervention: str
    edit: str
    role: str
    x: int
    y: int
    width: int
    height: int
    why: str

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies in the box."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


def placed(seen: Sequence[ProductObservation], session: Session) -> list[EditBox]:
    """Return where the planned edits stood at each look after which the agent acted (`seen`, in order)."""
    done = EditsMade(session)
    found = list[EditBox]()
    for step, sight in enumerate(seen):
        for edit, proof in () if sight.part else _planned(session, sight.product):
            verdict = _verdict(edit, proof, done, sight)
            found += _boxes(step, sight.product, proof, verdict, sight)
    cards = CardCheck(session)
    for met in met_cards(seen, session):
        for proof, verdict in cards.verdicts(met) if met.is_in_view and not met.sight.part else ():
            found += _boxes(met.step, met.key, proof, verdict, met.sight)
    return sorted(found, key=lambda place: place.step)


def _boxes(
    step: int, product: str, proof: ReceiptKey, verdict: Verdict | None, sight: ProductObservation
) -> Iterator[EditBox]:
    for box in (element.on_screen for element in verdict.at) if verdict else ():
        edited = (proof.intervention, proof.edit, proof.role)
        why = box.why or (verdict and verdict.hidden and not is_in(verdict.hidden, sight) and NOT_GIVEN) or ""
        yield EditBox(step, product, *edited, box.x, box.y, box.width, box.height, why)


def _planned(session: Session, key: str) -> Iterator[tuple[Edit, ReceiptKey]]:
    """The edits that a product's own page has to show.

    Where one takes an element out, none for all products can change it. One for all products concerns those
    that have what it edits, such as a rating.
    """
    treatments = [
        treatment
        for treatment in (*session.plan.by_product.get(key, ()), *session.plan.everywhere)
        if not treatment.pages or "product" in treatment.pages
    ]
    own = [edit for treatment in treatments if treatment.product for edit in treatment.edits]
    removed = {edit.takes_out() for edit in own}
    made = {(each.intervention, each.edit, each.product) for each in session.receipts}
    for treatment in treatments:
        for edit in treatment.edits:
            role, is_made = edit.roles()[0], (treatment.intervention, edit.kind(), key) in made
            lacks = role in removed or (not is_made and _is_without(role, key, session))
            if treatment.product is None and lacks:
                continue
            if shows_on_own_page(edit, session.site):
                yield edit, ReceiptKey(treatment.intervention, edit.kind(), role, key)


def _is_without(role: str, key: str, session: Session) -> bool:
    """Whether the pages of a product came, and none of them had what stands at a role."""
    pages = [(page.before or page).parsed for page in session.pages if page.product == key]
    places = session.site.role(role)[:1]
    return bool(pages) and not any(page is None or page.has(place.css) for page in pages for place in places)


def _verdict(edit: Edit, proof: ReceiptKey, done: EditsMade, sight: ProductObservation) -> Verdict | None:
    """Whether what an edit made stands in a sight of its page, all along; None: that cannot be told."""
    if sight.standing is None or proof not in done.changes:
        return None
    try:
        asked = [
            edit.stands(PagePlaces(done.site, each, sight.url), done.changes[proof])
            for each in sight.standings
        ]
    except PlaceNotRead:
        return None
    found = [each for each in asked if each]
    if len(found) < len(asked):
        return None
    worst = next((each for each in found if each.problem), found[-1])
    return replace(worst, given=all(each.given for each in found))


def _untreated_pages(
    seen: Sequence[ProductObservation], session: Session, keys: list[str], chosen: str
) -> str:
    done = EditsMade(session)
    for key in keys:
        every = [sight for sight in seen if sight.product == key]
        mine = [sight for sight in every if sight.sent]
        is_seen = any(not sight.part for sight in mine)
        if key == chosen and every and not is_seen:
            return f"the agent was not sent the page of {key} before it chose"
        for edit, proof in _planned(session, key) if is_seen or key == chosen else ():
            if proof not in done.changes:
                return f"{proof.intervention}: {proof.edit} has no receipt for {key}"
            if is_seen and (reason := _not_shown(edit, proof, done, mine)):
                return f"{proof.intervention}: {reason} on {key}"
        every_moment = [replace(sight, standing=each) for sight in mine for each in sight.standings]
        if reason := old_value(key, every_moment, done):
            return reason
    return ""


def _not_shown(edit: Edit, proof: ReceiptKey, done: EditsMade, mine: Sequence[ProductObservation]) -> str:
    """Why what an edit made was not shown, or an empty string."""
    verdicts = [_verdict(edit, proof, done, sight) for sight in mine]
    for verdict in verdicts:
        if verdict and verdict.problem:
            return f"{proof.edit} is gone: {verdict.problem}"
    if all(verdicts):
        both = zip(verdicts, mine, strict=True)
        if not any(
            verdict.given and is_told(verdict, sight) for verdict, sight in both if verdict and not sight.part
        ):
            why = next(
                (each.on_screen.why for it in verdicts if it for each in it.at if each.on_screen.why), ""
            )
            return f"the agent was not shown what {proof.edit} made of {proof.role}" + (why and f" ({why})")
        return ""
    for change in done.changes[proof] if edit.readable else ():
        wanted = change.after.removesuffix("…")
        if not any(holds(squeeze(sight.html), wanted) for sight in mine if not sight.part):
            return f"the agent was not shown {wanted!r}"
    return ""


def _untreated_cards(session: Session, keys: list[str]) -> str:
    receipts = {(r.intervention, r.edit, r.role, r.page_type, r.product) for r in session.receipts}
    for page in session.pages:
        for page_type, key, roles in cards_on(page, session, keys):
            for treatment in session.plan.by_product.get(key, ()):
                if treatment.pages and page_type not in treatment.pages:
                    continue
                for edit in treatment.edits:
                    if edit.pages and page_type not in edit.pages:
                        continue
                    role = roles(edit.roles()[0])
                    proof = (treatment.intervention, edit.kind(), role, page_type, key)
                    if role and proof not in receipts:
                        return (
                            f"{treatment.intervention}: {edit.kind()} has no receipt for {key} on {page.url}"
                        )
    return ""


def _unlisted(session: Session, keys: list[str]) -> str:
    for treatment in session.plan.everywhere:
        for edit in treatment.edits:
            if edit.only and not any(
                receipt.edit == edit.kind() and receipt.product in keys for receipt in session.receipts
            ):
                return f"{treatment.intervention}: no page has listed the choice set"
    return ""


def squeeze(html: str) -> str:
    """Return a text with its entities resolved, as a reader sees it."""
    return as_read(unescape(html))
