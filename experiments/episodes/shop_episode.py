"""Run one trial in a shop: bind the plan, open the tabs, let the agent act, check the treatment."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, TypeVar
from urllib.parse import urljoin

from playwright.async_api import BrowserContext

from agents.base import Agent, is_simulated
from agents.computer.options import DEFAULT
from agents.registry import make_agent
from environments.action.pointer import Hit
from environments.episode import Episode, TabObservation
from environments.observation.page_errors import count_errors
from environments.observation.stops import guard, stops_of
from environments.protocol.actions import Action
from environments.protocol.time_limit import NOBODY, Silent
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes import data_episode
from experiments.episodes.choice import ChosenProduct, chosen
from experiments.episodes.orders import order_rows, placed_order
from experiments.records.page_figures import figure_row
from experiments.records.record import IN_VIEW, Row, Start, TrialRecord, to_row
from experiments.treatment.guest_steps import GuestSteps, leads_to
from experiments.treatment.sent_pages import sent_pages
from experiments.treatment.shown_figures import shown_figures, shown_products, titles
from experiments.treatment.sights import ProductObservation
from experiments.treatment.trajectory import (
    Trajectory,
    act_until,
    failed_on_the_way,
    limited,
    recorded_calls,
    recorded_checks,
    trace,
    trial_row,
    usage_of,
)
from experiments.treatment.treatment_check import (
    EditBox,
    placed,
    shown_product,
    sights,
    unchecked,
    unknown_page,
    untreated,
    wanted_in_browser,
)
from interventions.apply.consistency import disagreements
from interventions.apply.plan import ProductFacts
from interventions.errors import CannotEdit
from interventions.yaml.limited import TooSlow
from proxy.allow_list import AllowList
from proxy.error_page import NOT_TREATED
from proxy.session import Session

T = TypeVar("T")

IN_VAIN: Final = ", and no rule of choice was met"
"""What the reason says of a trial without a choice in which the button was pressed that adds to the cart."""


def start_urls(base_url: str, trial: ShopTrial) -> list[str]:
    """Return the addresses of the pages that a trial begins with, each in a tab."""
    return [urljoin(base_url, path) if path.startswith("/") else f"{base_url}{path}" for path in trial.start]


def allowed(design: ShopDesign, *urls: str) -> AllowList:
    """Return the hosts that an episode may reach.

    These are the hosts of the given addresses, and those that a live site needs besides.
    """
    hosts = design.experiment.live.allow if design.experiment.live else ()
    return AllowList.of(*urls, *(f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")))


def session(design: ShopDesign, trial: ShopTrial, base_url: str, allow: AllowList) -> Session:
    """Make the session that makes a trial's edits, and knows where the products' pages are."""
    return Session(design.plan(trial), design.site, allow, known=known(design, trial, base_url), awaited={})


def known(design: ShopDesign, trial: ShopTrial, base_url: str) -> dict[str, str]:
    """Return the key of each start address -> the product whose page is there.

    The product is empty where several share the address. The products' own keys lead to them too, and so do
    the addresses to which the start pages were found to lead, so that a card is its product's before the page
    was opened. The result is empty where a trial begins with a list that is cut to the choice set.
    """
    found: dict[str, str] = {}
    if design.experiment.task == "compare-tabs":
        for product, url in zip(trial.products, start_urls(base_url, trial), strict=True):
            key = design.site.key(url)
            found[key] = "" if key in found else product.key
    elif not trial.whole:
        return found
    own = {product.key: product.key for product in trial.products}
    return {key: product for key, product in design.led.items() if product in own} | own | found


class ShopTrialRunner:
    """Runs trials in a shop; it is the `TrialRunner` of their kind."""

    tells_drawn = False
    """Whether any agent is told what can be read in a picture; else only simulated ones are."""

    def __init__(self, design: ShopDesign, base_url: str) -> None:
        self._design = design
        self._base_url = base_url
        self._allow = allowed(design, base_url)

    def agent(self, trial: ShopTrial) -> Agent:
        """Make a fresh agent for one attempt."""
        design = self._design
        return make_agent(
            trial.agent,
            seed=trial.seed,
            prompt=design.prompt_for(trial),
            nudges=design.declared_nudges(trial),
            acknowledges=design.experiment.safety_checks == "acknowledge",
            options=design.experiment.computers.get(trial.agent, DEFAULT),
            interface=trial.interface,
        )

    def session(self, trial: ShopTrial) -> Session:
        """Make the session that makes the trial's edits."""
        if trial.interface != "page":
            return data_episode.data_session(self._design, trial, self._allow)
        return session(self._design, trial, self._base_url, self._allow)

    def keeps_context(self, trial: ShopTrial) -> bool:
        """Whether a trial's browser context can be cleared after it, for other trials.

        It can't be where a script is left in it. Nor where pictures are shown: in a process that has drawn
        other pages, letters may be drawn a part of a pixel off. Keys and buttons may be held down there too.
        """
        experiment, view = self._design.experiment, self._design.view(trial)
        return experiment.contexts == "kept" and not (experiment.live or view.screenshot)

    def without_browser(
        self, trial: ShopTrial, agent: Agent, session: Session, proxy: str, silent: Silent
    ) -> Awaitable[Trajectory] | None:
        """Run one attempt without pages; None where the trial has pages."""
        if trial.interface == "page":
            return None
        episode = data_episode.run_episode
        return episode(trial, self._design, agent, session, self._base_url, proxy, silent)

    async def episode(
        self,
        trial: ShopTrial,
        agent: Agent,
        context: BrowserContext,
        session: Session,
        silent: Silent = NOBODY,
    ) -> Trajectory:
        """Run one episode in a fresh context whose traffic passes through the session's proxy port."""
        design, live = self._design, self._design.experiment.live
        trajectory, view = Trajectory(), design.view(trial)
        is_told = self.tells_drawn or is_simulated(trial.agent)
        looks = view.screenshot and not view.html and is_told
        cards = tuple(place.css for group in design.site.cards for place in design.site.role(group))
        wanted = replace(wanted_in_browser(design, trial), rectangles=cards if looks else None)
        stops = stops_of(design.site.choice)
        episode = Episode(context, trial.goal, stops, view, wanted, design.site, silent)
        count_errors(context, episode.listeners, trajectory.page_errors)
        async with limited(trajectory, design.most_seconds, episode.silent):
            if live:
                await context.add_init_script(guard(live.stop_before))
            await episode.open(start_urls(self._base_url, trial))
            over = partial(is_over, trajectory=trajectory, trial=trial, design=design, session=session)
            most = design.most_steps
            end = "an order" if design.experiment.ends == "order" else "a choice"
            await act_until(over, trajectory, episode, agent, most_steps=most, wanted=end)
        episode.listeners.end()
        judge(trajectory, trial, design, session)
        return trajectory

    def record(
        self, trial: ShopTrial, trajectory: Trajectory, session: Session, *, start: Start, attempts: int
    ) -> TrialRecord:
        """Make the record of a finished trial."""
        make = to_record if trial.interface == "page" else data_episode.to_record
        return make(trial, self._design, trajectory, session, start=start, attempts=attempts)


def judge(trajectory: Trajectory, trial: ShopTrial, design: ShopDesign, session: Session) -> None:
    """Correct the outcome once the treatment is checked.

    What the proxy saw outweighs what the page showed.
    """
    if failed_on_the_way(trajectory, session) or trajectory.outcome != "choice":
        return
    try:
        if design.experiment.ends == "order":
            choice = ordered(trial, session)
        else:
            choice = chosen(trial, session, trajectory.looks[-1])
        seen = sights(trajectory, design, trial, session)
        if design.experiment.task == "compare-tabs":
            last = trajectory.looks[len(trajectory.decisions) - 1]
            product = shown_product(last, trial, design, session)
            # Of another option's page its address has to say so: what it has led to may be anything.
            own = product if product == choice.product else session.product_at(last.url)
            at = ProductObservation(own, "", last.standing, last.url)
            end_with(choice, trajectory, trial, session, seen, choice.product, at)
        else:
            end_with(choice, trajectory, trial, session, seen)
    except CannotEdit as error:
        trajectory.end("treatment_failed", str(error))


def ordered(trial: ShopTrial, session: Session) -> ChosenProduct:
    """Return the product that was ordered. Raises CannotEdit where the order cannot be read."""
    order = placed_order(trial, session)
    products = list(dict.fromkeys(line.product for line in order.products)) if order else []
    if len(products) == 1:
        return ChosenProduct(products[0])
    return ChosenProduct("", f"{len(products)} products ({', '.join(products)})")


def end_with(
    choice: ChosenProduct,
    trajectory: Trajectory,
    trial: ShopTrial,
    session: Session,
    seen: Sequence[ProductObservation],
    opened: str = "",
    at: ProductObservation | None = None,
) -> None:
    """End a trial with a choice, where that is in the choice set and its treatment is proven.

    seen, opened: the pages that were looked at, and the product whose page was surely opened. at: the page
    from which the choice was made, where that is known.
    """
    keys = [product.key for product in trial.products]
    shown = shown_products(seen, session) if trial.whole else {}
    if not choice.product:
        trajectory.end("no_choice", f"put into the cart: {choice.seen}")
    elif choice.product not in (*keys, *shown):
        what = "no product that was shown" if trial.whole else "not in the choice set"
        trajectory.end("no_choice", f"put into the cart: {choice.product!r}, which is {what}")
    elif session.awaited:
        trajectory.end("treatment_failed", next(iter(session.awaited.values())))
    elif trial.whole and (len({*shown, choice.product}) < 2 or not shown.keys() & {*keys}):
        trajectory.end("treatment_failed", "no page has listed the choice set")
    elif reason := untreated(seen, session, keys, opened) or unknown_page(at, session.site, keys):
        trajectory.end("treatment_failed", reason)
    else:
        trajectory.end("choice", trajectory.reason, choice.product)


def is_over(
    look: TabObservation, trajectory: Trajectory, trial: ShopTrial, design: ShopDesign, session: Session
) -> bool:
    """Return whether a trial is over at this look, and note how it ended where the page says so.

    What is in the cart at the first look is nobody's choice: the site map takes something else for one.
    """
    session.step += 1
    if spoilt(look, trial, design, session):
        return True
    session.reached(look.url)
    said = look.stop.text if look.stop else BY[session.added[0].by] if session.added else ""
    if not trajectory.decisions and (session.added or (look.stop and look.stop.outcome == "choice")):
        trajectory.fail("shop", not_its_own(said, session))
        return True
    if design.experiment.ends == "order":
        if session.order:
            trajectory.end("choice", "the order was placed")
            return True
        if look.stop is None or look.stop.outcome == "choice":
            return False
    elif session.added:
        trajectory.end("choice", said)
        return True
    if look.stop is None:
        return False
    reason = said or "about to press what stop_before names"
    trajectory.end(look.stop.outcome, reason)
    return True


def not_its_own(said: str, session: Session) -> str:
    """Return why a trial is over in which a product is in the cart before anybody has acted.

    said: what tells that it is in the cart.
    """
    cart = f"a product is in the cart before the agent has acted ({said})"
    return f"{cart}; narrow choice in the map {session.site.name}"


BY: Final = {
    "request": "the shop took the request",
    "cart": "it stands in the cart",
    "address": "the address was reached",
    "message": "the shop says so",
}
"""What tells that a product is in the cart, in words."""


def spoilt(look: TabObservation, trial: ShopTrial, design: ShopDesign, session: Session) -> bool:
    """Return whether a trial is over because the agent is not shown what it should be.

    If an agent looks at a page whose treatment has not arrived, this is noted as a failure of the session.
    """
    awaited = (session.awaited or {}).get(shown_product(look, trial, design, session))
    if awaited:
        session.note_failure(awaited)
    return bool(awaited or session.upstream_errors or is_error_page(look))


def is_error_page(look: TabObservation) -> bool:
    """Return whether the agent is shown the error page in place of one that could not be treated."""
    observation = look.observation
    return observation.tabs[observation.active_tab].title == NOT_TREATED


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
            product = product_at(url) or (hit.href and product_at(leads_to(hit, url)))
            look = last.get(product, -1)
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
    calls = recorded_calls(trajectory)
    seen = guest.seen if guest else sights(trajectory, design, trial, session)
    steps, artifacts = (guest.steps.rows, guest.steps.artifacts) if guest else trace(trajectory)
    sent, bodies = sent_pages(session)
    places = _readable(placed, session, seen)
    if guest:
        hits = guest.hit_rows(session, places)
        sent = [{**row, "step": guest.sent_at(row["step"])} for row in sent]
        places = [place._replace(step=guest.steps.at(guest.looked[place.step])) for place in places]
    else:
        hits = _hit_rows(trial, design, trajectory, session, places)
    refused = session.added or (trajectory.looks and trajectory.looks[-1].stop)
    shown = shown_products(seen, session) if trial.whole else None
    products = trial.products if shown is None else _on_lists(trial, shown, session)
    limited_out = trajectory.outcome == "agent_limit" and not session.added
    unseen = limited_out or (trajectory.outcome == "no_choice" and not refused)
    if unseen and (pressed := _pressed(trajectory, hits)):
        where = f"{IN_VAIN} (choice in the site map {design.site.name})"
        reason = f"{trajectory.reason}; add to cart was pressed {pressed} times{where}"
        trajectory.end(trajectory.outcome, reason)
    on_screen = [place._asdict() for place in places]
    texts = [look.observation.html or look.observation.tree for look in trajectory.looks]
    second = order_rows(trial, session, texts) if design.experiment.ends == "order" else {}
    return TrialRecord(
        trial=trial_row(
            design.run_id,
            trial,
            trajectory,
            usage_of(calls),
            steps=guest.steps.count if guest else len(trajectory.decisions),
            start=start,
            attempts=attempts,
            nudges=trial.nudges,
            match=design.match,
            profile=trial.profile,
            modality=trial.modality or "",
        ),
        options=_option_rows(trial, design, session, seen, guest.opened if guest else None, products),
        steps=steps,
        receipts=[to_row(receipt) for receipt in session.receipts],
        calls=[to_row(call, step=step) for step, call in calls],
        disagreements=[{"text": text} for text in disagreements(session.sightings())],
        page_errors=[{"text": text, "times": times} for text, times in trajectory.page_errors.items()],
        unchecked=[effect._asdict() for effect in _readable(unchecked, session, seen)],
        on_screen=on_screen,
        hits=hits,
        safety_checks=[
            to_row(each, step=step, acknowledged=int(each.acknowledged))
            for step, each in recorded_checks(trajectory)
        ],
        attributes=_attribute_rows(trial, design, products, shown, places),
        sent_pages=sent,
        artifacts=artifacts | bodies,
        orders=second.get("orders", []),
        order_lines=second.get("order_lines", []),
        outcomes=second.get("outcomes", []),
        cause=trajectory.cause,
        seen_seconds=guest.steps.seen_seconds(on_screen) if guest else None,
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


def _pressed(trajectory: Trajectory, hits: Sequence[Row]) -> int:
    """How often a button was pressed that the site map knows as one that adds to the cart."""
    buttons = [look.observation.product for look in trajectory.looks]
    named = [
        button is not None and decision.action == Action("click", (button.add_to_cart,))
        for button, decision in zip(buttons, trajectory.decisions, strict=False)
    ]
    return sum([*named, *(str(hit["role"]).endswith(".add_to_cart") for hit in hits)])


def _hit_rows(
    trial: ShopTrial, design: ShopDesign, trajectory: Trajectory, session: Session, places: Sequence[EditBox]
) -> list[Row]:
    """What stood at the points of actions: a product is that of the page, or of the link there."""
    found: list[Row] = []
    for step, hit in ((step, hit) for step, hits in enumerate(trajectory.hits) for hit in hits):
        product = shown_product(trajectory.looks[step], trial, design, session)
        if not product and hit.href:
            product = session.product_at(hit.href)
        under = (
            place for place in places if place.step == step and not place.why and place.holds(hit.x, hit.y)
        )
        edited = next(under, None)
        found.append(_hit_row(step, hit, product, edited.intervention if edited else ""))
    return found


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
        {
            **figure_row(design.products.get(product.key, product), figures[product.key].sent),
            **figures[product.key].shown._asdict(),
            "unread": figures[product.key].unread,
            "position": position,
            "category": product.category,
            "viewed_first": int(position == first),
            "nudged": int(product.key in trial.carried),
            "opened": None if opened is None else opened.get(product.key, 0),
        }
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
