"""Follow a trial of a subject that is not Souk's to its end, by what the proxy sees and pages report."""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from urllib.parse import urljoin, urlsplit

from environments.action.acts import BEGIN, read_acts
from environments.action.pointer import dismissing
from environments.guest_pages.observer import (
    Sees,
    observer,
    observer_code,
    read_lead,
    read_press,
    read_report,
)
from environments.observation.observe import ObservationQuery, PageDisturbed
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.choice import chosen
from experiments.episodes.page_record import GuestFacts, to_record
from experiments.episodes.shop_episode import (
    BY,
    allowed,
    end_with,
    known,
    not_its_own,
    session,
    start_urls,
)
from experiments.records.record import NEVER_IN_VIEW, Start, TrialRecord
from experiments.treatment.guest_steps import PageNotice, PageVisit, guest_steps
from experiments.treatment.sights import ProductObservation
from experiments.treatment.trajectory import Trajectory, failed_on_the_way, limited
from experiments.treatment.treatment_check import untreated, wanted_in_browser
from interventions.apply.mapped_page import product_at
from interventions.yaml.limited import TooSlow
from proxy import keys
from proxy.guests import SHOP_NAME
from proxy.session import Session

UNSEEN_SECONDS: Final = 5.0
"""How long a guest that has a trial may take to open a page of the shop before it is told how, in seconds."""
UNSEEN: Final = "No page of the shop has come through the proxy yet."
UNOBSERVED: Final = "the choice was made on a page in which no observer is"

MAX_REPORT: Final = 4 * 2**20
"""The most bytes of a page's report that are read."""
MAX_REPORTS: Final = 2_000
"""The most reports of a trial's pages that are kept."""
MAX_REPORT_BYTES: Final = 64 * 2**20
"""The most bytes that they may have together."""
MAX_ACTS: Final = 10_000
"""The most acts of a guest that are kept of a trial; later ones are not."""

Observe = Literal["page", "viewport", "off", "exposure"]
"""What counts as shown to a guest (see `Sees`); `off`: it is not observed.

`exposure`, for people: what was sent counts, and what of it was never in the viewport is the choice's reason.
"""

Finished = Callable[[TrialRecord], None]


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts of all pages of guests: the guard, and where the observer reports to."""

    guard: str = ""
    reports_to: str = ""
    framed: bool = False
    """Whether pages are shown in a frame of ours: the observer is in them too."""


NO_SCRIPTS: Final = Scripts()


@dataclass(kw_only=True)
class GuestTrial:
    """A trial that a guest has taken. It ends once; what happens later is ignored."""

    definition: ShopTrial
    design: ShopDesign
    session: Session
    base_url: str
    finished: Finished
    shown_url: str
    """The address under which the guest reaches the shop."""
    advice: str
    """What to do where no page of the shop comes through the proxy."""
    observe: Observe
    wanted: ObservationQuery
    """What the pages' observer reads."""
    timers: list[asyncio.TimerHandle | asyncio.Task[None]] = field(default_factory=list)
    """What happens to the trial when time has passed; nothing does once it has ended."""
    outcome: str = ""
    seen: bool = False
    """Whether a page of the shop has come through the proxy."""
    acted: bool = False
    """Whether the guest has done more than to open the pages to begin with."""
    start: Start = field(default_factory=Start.now)
    attempts: int = 1
    """The number of this attempt at the trial."""
    _opened: list[PageVisit] = field(default_factory=list)
    """The pages that were opened, in order."""
    _told: list[PageNotice] = field(default_factory=list)
    """What pages have told of acts, in the order in which it came."""
    _acts: int = 0
    """How many acts that are."""
    _looks: list[ProductObservation] = field(default_factory=list)
    """What the observer has reported, in order."""
    _looked: list[float] = field(default_factory=list)
    """When each of these reports came, in seconds from the trial's start."""
    _last: dict[float, ProductObservation] = field(default_factory=dict)
    """By visit of a page, the last report, whosever page it is."""
    _left: dict[float, float] = field(default_factory=dict)
    """By visit of a page that has been left, when this was, by the guest's clock."""
    _pressed: float | None = None
    """The visit of the page on which something was pressed last."""
    _by_page: bool = False
    """Whether the last request came from a page."""
    _reported: int = 0
    """The bytes of all reports."""
    _undrawn: set[str] = field(default_factory=set)
    """The products whose pages lacked, at the last report, what scripts have to draw."""

    @property
    def trial(self) -> str:
        """The trial's id."""
        return self.definition.id

    @property
    def goal(self) -> str:
        """The goal that the guest is told."""
        return self.definition.goal

    @property
    def urls(self) -> list[str]:
        """The addresses of the pages to begin with."""
        return start_urls(self.shown_url, self.definition)

    @property
    def note(self) -> str:
        """What the guest should know besides: no page of the shop has come through the proxy yet."""
        late = self.start.seconds > UNSEEN_SECONDS
        return f"{UNSEEN} {self.advice}" if late and not self.seen and not self.outcome else ""

    def opened(self, url: str, *, shown: bool) -> None:
        """Note that a page of the shop has come through the proxy; `shown`: as what the guest looks at."""
        self.seen = True
        if shown and not self.outcome:
            self._opened.append(PageVisit(url, self.start.seconds))
            self.session.step = len(self._opened) - 1

    def asked(self, url: str, *, reads: bool, by_script: bool, by_page: bool) -> None:
        """Note whether a request is an act of the guest.

        The opening of the pages to begin with is none, nor is what scripts in pages ask for. Where no
        observer tells of presses, whatever sends something is one.
        """
        self._by_page = by_page
        site, begins = self.session.site, start_urls(self.base_url, self.definition)
        keys = {*self.session.known, *map(site.key, begins)}
        # Another query may add: /products/desk-lamp?add-to-cart=17
        same = urlsplit(url).query in {"", *(urlsplit(each).query for each in begins)}
        opens = reads and same and site.key(url) in keys
        unknown = self.observe == "off" and not reads
        self.acted = self.acted or unknown or not (by_script or opens)

    def reported(self, url: str, body: bytes) -> None:
        """Keep what the observer in a page reports.

        A page of an earlier trial, in a tab that was left open, is not asked. A page that reports without
        measure, or what no observer reports, fails the trial.
        """
        key, message = keys.split(body[:MAX_REPORT])
        if self.outcome or key not in ("", self.session.key):
            return
        self._reported += len(message)
        if key and (pressed := read_press(message)) is not None:
            self.acted, self._pressed = True, pressed
            return
        if key and message.startswith(BEGIN):
            self._tells(url, message)
            return
        try:
            if key and (lead := read_lead(message)):
                self._leads(*(urljoin(url, path) for path in lead))
                return
            if not key:
                raise PageDisturbed("a report that the observer has not sent")
            report = read_report(message, self.wanted)
            came, url = urljoin(url, report.came), urljoin(url, report.at)
        except (PageDisturbed, ValueError) as error:  # the latter: it is no address
            self.session.note_failure(f"{url}: {error}")
            return
        product = self._product(url, came)
        # Only a page of an option has to have what scripts draw there.
        lacks = not report.drawn and product in {each.key for each in self.definition.products}
        (self._undrawn.add if lacks else self._undrawn.discard)(product)
        html = self._sent().get(product, "")
        sight = ProductObservation(product, html, report.standing, url, scroll=report.scroll)
        self._last[report.visit] = sight
        if not lacks:
            self._looks.append(sight)
            self._looked.append(self.start.seconds)
        if len(self._looks) > MAX_REPORTS or self._reported > MAX_REPORT_BYTES:
            self.session.note_failure(f"{url}: the page does not come to rest")
        if self.session.added:
            self.chose()

    def _product(self, url: str, came: str) -> str:
        """The product whose page is at an address: the one as which it came, whatever address it has now.

        Where scripts draw the pages, one page shows many products: there its address counts.
        """
        session, keys = self.session, {each.key for each in self.definition.products}
        as_it_came = (session.product_at(came), session.known.get(session.site.key(came), ""))
        own = None if session.site.drawn else next(filter(keys.__contains__, as_it_came), None)
        return own or session.product_at(url)

    def _leads(self, came: str, url: str) -> None:
        """Note that a page leads to another by itself: as after a redirect, that is the product's too."""
        if self.session.product_at(url) not in {each.key for each in self.definition.products}:
            self.session.redirected(came, url)

    def _tells(self, url: str, message: bytes) -> None:
        """Keep what a page tells of acts. What no observer sends, or is too much, is left out."""
        acts = read_acts(message)
        if acts is None:
            return
        for act in acts.acts:
            if act.kind == "leave":
                self._left[acts.visit] = act.when
            elif act.kind == "page" and act.when > self._left.get(acts.visit, act.when):
                del self._left[acts.visit]
            elif act.kind == "click":
                self._pressed = acts.visit
        if self._acts + len(acts.acts) <= MAX_ACTS and self._reported <= MAX_REPORT_BYTES:
            self._acts += len(acts.acts)
            self._told.append(PageNotice(shop_origin(url), acts, self.start.seconds))

    def stopped(self) -> None:
        """End the trial because the guest was about to press what is never pressed."""
        trajectory = Trajectory()
        trajectory.end("no_choice", "about to press what stop_before names")
        self.end(trajectory)

    def tell_if_unseen(self) -> bool:
        """Tell the operator if no page of the shop has come through the proxy; return whether that is so."""
        late = not self.seen and not self.outcome
        if late:
            sys.stderr.write(f"trial {self.trial}: {UNSEEN} {self.advice}\n")
        return late

    def chose(self) -> None:
        """End the trial with a choice: a product is in the cart.

        What is there before the guest has acted is no choice: the site map takes something else for one.
        """
        trajectory = Trajectory()
        if self._by_page and self._left and self._left.keys() >= self._last.keys():
            # What scripts have drawn in a cart is there before its page has been observed.
            if self.session.added[0].by != "cart" or not self.session.site.drawn:
                trajectory.end("treatment_failed", UNOBSERVED)
                self.end(trajectory)
            return
        if not self.acted:
            trajectory.fail("shop", not_its_own(BY[self.session.added[0].by], self.session))
            self.end(trajectory)
            return
        try:
            choice = chosen(self.definition, self.session)
            at = self._chosen_at(choice.product)
            is_told = self.observe == "exposure"
            shown = self._pages_sent() if is_told else self._shown()
            end_with(choice, trajectory, self.definition, self.session, shown, at=at)
            keys = [product.key for product in self.definition.products]
            if is_told and trajectory.outcome == "choice" and (why := self._out_of_view(keys)):
                trajectory.end("choice", NEVER_IN_VIEW + why, trajectory.choice)
        except TooSlow as error:
            trajectory.end("treatment_failed", str(error))
        if trajectory.outcome == "choice" and (reason := self._unseen(choice.product)):
            trajectory.end("treatment_failed", reason)
        self.end(trajectory)

    def _out_of_view(self, keys: list[str]) -> str:
        """Why not all that was planned is known to have been in view; in all conditions alike."""
        if self.design.experiment.task == "compare-tabs":
            reported = {look.product for look in self._looks}
            if never := next((key for key in keys if key not in reported), ""):
                return f"{never} was not opened, or the browser runs no scripts"
        return untreated(self._shown(), self.session, keys)

    def _chosen_at(self, product: str) -> ProductObservation | None:
        """The page on which a product was chosen, where that is known and has to be an option's."""
        at = None if self._pressed is None else self._last.get(self._pressed)
        if at is None or self.design.experiment.task != "compare-tabs":
            return None
        # Of another option's page its address has to say so: what it has led to may be anything.
        before = known(self.design, self.definition, self.base_url)
        own = product if at.product == product else product_at(at.url, before, self.session.site)
        return replace(at, product=own)

    def gave_up(self) -> None:
        """End the trial without a choice, because the guest wants no product."""
        trajectory = Trajectory()
        if self.session.added:
            trajectory.end("treatment_failed", UNOBSERVED)
        else:
            trajectory.end("no_choice", "the guest ended the trial")
        self.end(trajectory)

    def left(self) -> None:
        """End the trial because the guest, a person, has left for good."""
        trajectory = Trajectory()
        trajectory.end("agent_limit", "the person left the study")
        self.end(trajectory)

    def stop(self) -> None:
        """Stop the trial without a record: it begins anew in another browser."""
        self.outcome = "stopped"
        for timer in self.timers:
            timer.cancel()
        self.session.end()

    async def run_out(self) -> None:
        """Wait until the trial's time is over, and end it; the time runs while shop and proxy move."""
        trajectory = Trajectory()
        async with limited(trajectory, self.design.experiment.limits.seconds, {"shop": self.session.silent}):
            await asyncio.Event().wait()
        self.end(trajectory)

    def _sent(self) -> dict[str, str]:
        """By product, its page as it was sent last, as HTML."""
        return {page.product: page.text for page in self.session.pages if page.product}

    def _shown(self) -> list[ProductObservation]:
        """What the observer has reported; of products of which it has nothing, the pages that were sent."""
        reported = {look.product for look in self._looks}
        return [*self._looks, *(sight for sight in self._pages_sent() if sight.product not in reported)]

    def _pages_sent(self) -> list[ProductObservation]:
        return [ProductObservation(page.product, page.text) for page in self.session.pages if page.product]

    def _times_opened(self) -> Counter[str]:
        """By product, how often its page was opened; pages that scripts change for another count once."""
        opened = Counter(self.session.product_at(page.url) for page in self._opened)
        return opened | Counter({look.product for look in self._looks})

    def _unseen(self, chosen: str) -> str:
        """Why it is not known what was seen of an option, in whatever condition; empty where it is known."""
        opened, reported = self._times_opened(), {look.product for look in self._looks}
        for product in (each.key for each in self.definition.products):
            if product in self._undrawn:
                return f"the page of {product} lacked what its scripts have to draw"
            wanted = self.observe == "viewport" and (opened[product] or product == chosen)
            if wanted and product not in reported:
                return f"no page has reported what was in view of {product}"
        return ""

    def end(self, trajectory: Trajectory) -> None:
        """End the trial in this way, unless something went wrong in the shop or with the treatment."""
        if self.outcome:
            return
        failed_on_the_way(trajectory, self.session)
        self.outcome = trajectory.outcome
        record = self._record(trajectory)
        for timer in self.timers:
            timer.cancel()
        self.session.end()
        self.finished(record)

    def _record(self, trajectory: Trajectory) -> TrialRecord:
        return to_record(
            self.definition,
            self.design,
            trajectory,
            self.session,
            start=self.start,
            attempts=self.attempts,
            guest=GuestFacts(
                guest_steps(self._opened, self._told, self.session.pages, self.start.seconds),
                self._shown(),
                self._looked,
                self._times_opened(),
            ),
        )


class GuestTrials:
    """Begins trials of guests of one shop."""

    def __init__(
        self,
        design: ShopDesign,
        shop_url: str,
        *,
        reverse: bool = False,
        observe: Observe = "page",
        scripts: Scripts = NO_SCRIPTS,
    ) -> None:
        """Take what all trials share.

        `reverse`: the proxy stands for the shop, else guests use it as a proxy. `observe`: what counts as
        shown.
        """
        self._design, self._observe, self._scripts = design, observe, scripts
        self._shop_url, self._allow = shop_url, allowed(design, shop_url)
        # Where the proxy stands for the shop, it changes the addresses in its answers itself.
        self._shown_url = shop_url if reverse else _named_url(shop_url)
        self._advice = (
            "Open the products by the links of this task."
            if reverse
            else f"Open {self._shown_url} in a browser whose proxy is that of this task; "
            "the shop's own address is not part of the experiment."
        )

    def begin(
        self, trial: ShopTrial, finished: Finished, *, start: Start | None = None, attempts: int = 1
    ) -> GuestTrial:
        """Begin a trial; `finished` is told once it has ended.

        `start`: of the first of its `attempts`; None: now.
        """
        wanted = wanted_in_browser(self._design, trial)
        away = dismissing(self._design.site)
        scripts = self._scripts
        sees: Sees = "page" if self._observe == "page" else "viewport"
        observed = (
            ""
            if self._observe == "off"
            else observer(wanted, scripts.reports_to, sees, framed=scripts.framed)
        )
        return GuestTrial(
            definition=trial,
            design=self._design,
            # What a guest looks at, and when, is not known: a page that is not treated is never passed on.
            session=replace(
                session(self._design, trial, self._shop_url, self._allow),
                awaited=None,
                script=";\n".join(filter(None, (self._scripts.guard, away, observed))),
                observer=observer_code(self._design.site) if observed else "",
            ),
            observe=self._observe,
            wanted=wanted,
            base_url=self._shop_url,
            finished=finished,
            shown_url=self._shown_url,
            advice=self._advice,
            start=start or Start.now(),
            attempts=attempts,
        )


def shop_origin(shop_url: str) -> str:
    """Return a shop's address without its path."""
    parts = urlsplit(shop_url)
    return f"{parts.scheme}://{parts.netloc}"


def _named_url(shop_url: str) -> str:
    """Return the address of the shop under the testbed's own name, with the same scheme and path."""
    parts = urlsplit(shop_url)
    return f"{parts.scheme}://{SHOP_NAME}{parts.path}"
