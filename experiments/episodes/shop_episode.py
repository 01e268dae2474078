"""Run one trial in a shop: bind the plan, open the tabs, let the agent act, check the treatment."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import urljoin

from playwright.async_api import BrowserContext

from agents.base import Agent, is_simulated
from agents.computer.options import DEFAULT
from agents.registry import make_agent
from environments.episode import Episode, TabObservation
from environments.observation.page_errors import count_errors
from environments.observation.stops import guard, stops_of
from environments.protocol.time_limit import NOBODY, Silent
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes import data_episode, page_record
from experiments.episodes.choice import ChosenProduct, chosen, in_cart, left_in_cart, one_of
from experiments.episodes.placed_order import placed_order, untreated_on_the_way
from experiments.records.record import Start, TrialRecord
from experiments.treatment.shown_figures import shown_products
from experiments.treatment.sights import ProductObservation
from experiments.treatment.trajectory import (
    Trajectory,
    act_until,
    failed_on_the_way,
    limited,
)
from experiments.treatment.treatment_check import (
    shown_product,
    sights,
    unknown_page,
    untreated,
    wanted_in_browser,
)
from interventions.errors import CannotEdit
from proxy.allow_list import AllowList
from proxy.error_page import NOT_TREATED
from proxy.session import Session


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
            end = "an order" if design.experiment.to_order else "a choice"
            await act_until(over, trajectory, episode, agent, most_steps=most, wanted=end)
        episode.listeners.end()
        judge(trajectory, trial, design, session)
        return trajectory

    def record(
        self, trial: ShopTrial, trajectory: Trajectory, session: Session, *, start: Start, attempts: int
    ) -> TrialRecord:
        """Make the record of a finished trial."""
        make = page_record.to_record if trial.interface == "page" else data_episode.to_record
        return make(trial, self._design, trajectory, session, start=start, attempts=attempts)


def judge(trajectory: Trajectory, trial: ShopTrial, design: ShopDesign, session: Session) -> None:
    """Correct the outcome once the treatment is checked.

    What the proxy saw outweighs what the page showed.
    """
    stopped = design.experiment.ends == "either" and left_in_cart(session)
    if stopped or (design.experiment.to_order and session.order):
        trajectory.end_on_the_way(ordered=session.order is not None)
    if failed_on_the_way(trajectory, session) or trajectory.outcome != "choice":
        return
    try:
        if session.order:
            choice = ordered(trial, session)
        else:
            put = in_cart if design.experiment.to_order else chosen
            choice = put(trial, session, trajectory.looks[-1])
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
    """Return the product that was ordered.

    Raises:
        CannotEdit: the order cannot be read, or what it says of its product is not treated as planned.
    """
    order = placed_order(trial, session)
    if order and (reason := untreated_on_the_way(order, session)):
        raise CannotEdit(reason)
    return one_of(line.product for line in order.products) if order else ChosenProduct("")


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
    if design.experiment.to_order:
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
