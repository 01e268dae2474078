"""Give trials to subjects that Souk did not start: one by one, recorded when they end."""

import asyncio
import json
import secrets
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urljoin, urlsplit

from environments.observe import Disturbed, Wanted
from environments.observer import ACTED, OBSERVER, observer, read_report
from environments.shop.server import shop
from environments.stops import guard
from experiments.console.background import ready
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.choice import chosen
from experiments.episodes.shop_episode import (
    BY,
    GuestFacts,
    allowed,
    end_with,
    not_its_own,
    session,
    start_urls,
    to_record,
)
from experiments.episodes.sights import Sight
from experiments.episodes.trajectory import Traced, Trajectory, failed_on_the_way, limited
from experiments.episodes.treatment_check import wanted_in_browser
from experiments.executors.start_pages import check_start_pages
from experiments.records.errors import DatabaseFailure, cause
from experiments.records.record import Row, Start, TrialRecord, artifact_hash
from experiments.records.store import Records
from experiments.runs.admission import Admission
from interventions.errors import UserError
from interventions.yaml.limited import TooSlow
from interventions.yaml.yaml_source import did_you_mean
from proxy import keys
from proxy.guests import PREFIX, SHOP_NAME, Guests
from proxy.reverse import Origin
from proxy.server import run_proxy
from proxy.session import Session, ShownPage

EMBEDDED: Final = "shop"
"""The word that stands for the embedded shop in the place of an address; the shop is started for it."""

UNSEEN_SECONDS: Final = 5.0
"""How long a guest that has a trial may take to open a page of the shop before it is told how, in seconds."""
UNSEEN: Final = "No page of the shop has come through the proxy yet."

MAX_REPORT: Final = 4 * 2**20
"""The most bytes of a page's report that are read."""
MAX_REPORTS: Final = 2_000
"""The most reports of a trial's pages that are kept."""
MAX_REPORT_BYTES: Final = 64 * 2**20
"""The most bytes that they may have together."""

Observe = Literal["page", "viewport", "off"]
"""What counts as shown to a guest (see `Sees`); `off`: it is not observed."""

Finished = Callable[[TrialRecord], None]


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts of all pages of guests: the guard, and where the observer reports to."""

    guard: str = ""
    reports_to: str = ""


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
    wanted: Wanted
    """What the pages' observer reads."""
    timers: list[asyncio.TimerHandle | asyncio.Task[None]] = field(default_factory=list)
    """What happens to the trial when time has passed; nothing does once it has ended."""
    outcome: str = ""
    seen: bool = False
    """Whether a page of the shop has come through the proxy."""
    acted: bool = False
    """Whether the guest has done more than to open the pages to begin with."""
    _start: Start = field(default_factory=Start.now)
    _opened: list[str] = field(default_factory=list)
    """The addresses of the pages that were opened, in order."""
    _looks: list[Sight] = field(default_factory=list)
    """What the observer has reported from products' own pages, in order."""
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
        late = self._start.seconds > UNSEEN_SECONDS
        return f"{UNSEEN} {self.advice}" if late and not self.seen and not self.outcome else ""

    def opened(self, url: str, *, shown: bool) -> None:
        """Note that a page of the shop has come through the proxy; `shown`: as what the guest looks at."""
        self.seen = True
        if shown and not self.outcome:
            self._opened.append(url)

    def asked(self, url: str, *, reads: bool, by_script: bool) -> None:
        """Note whether a request is an act of the guest.

        The opening of the pages to begin with is none, nor is what scripts in pages ask for. Where no
        observer tells of presses, whatever sends something is one.
        """
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
        if key and message == ACTED:
            self.acted = True
            return
        try:
            if not key:
                raise Disturbed("a report that the observer has not sent")
            report = read_report(message, self.wanted)
            url = urljoin(url, report.at)
        except (Disturbed, ValueError) as error:  # the latter: it is no address
            self.session.note_failure(f"{url}: {error}")
            return
        product = self.session.product_at(url)
        (self._undrawn.discard if report.drawn else self._undrawn.add)(product)
        if product and report.drawn:
            self._looks.append(Sight(product, self._sent().get(product, ""), report.standing, url))
        if len(self._looks) > MAX_REPORTS or self._reported > MAX_REPORT_BYTES:
            self.session.note_failure(f"{url}: the page does not come to rest")

    def stopped(self) -> None:
        """End the trial because the guest was about to press what is never pressed."""
        trajectory = Trajectory()
        trajectory.end("no_choice", "about to press what stop_before names")
        self._end(trajectory)

    def tell_if_unseen(self) -> None:
        """Tell the operator that no page of the shop has come through the proxy."""
        if not self.seen and not self.outcome:
            _tell(f"trial {self.trial}: {UNSEEN} {self.advice}")

    def chose(self) -> None:
        """End the trial with a choice: a product is in the cart.

        What is there before the guest has acted is no choice: the site map takes something else for one.
        """
        trajectory = Trajectory()
        if not self.acted:
            trajectory.fail("shop", not_its_own(BY[self.session.added[0].by], self.session))
            self._end(trajectory)
            return
        try:
            choice = chosen(self.definition, self.session)
            end_with(choice, trajectory, self.definition, self.session, self._shown())
        except TooSlow as error:
            trajectory.end("treatment_failed", str(error))
        if trajectory.outcome == "choice" and (reason := self._unseen(choice.product)):
            trajectory.end("treatment_failed", reason)
        self._end(trajectory)

    def gave_up(self) -> None:
        """End the trial without a choice, because the guest wants no product."""
        trajectory = Trajectory()
        trajectory.end("no_choice", "the guest ended the trial")
        self._end(trajectory)

    async def run_out(self) -> None:
        """Wait until the trial's time is over, and end it; the time runs while shop and proxy move."""
        trajectory = Trajectory()
        async with limited(trajectory, self.design.experiment.limits.seconds, {"shop": self.session.silent}):
            await asyncio.Event().wait()
        self._end(trajectory)

    def _sent(self) -> dict[str, str]:
        """By product, its page as it was sent last, as HTML."""
        return {page.product: page.text for page in self.session.pages if page.product}

    def _shown(self) -> list[Sight]:
        """What the observer has reported; of products of which it has nothing, the pages that were sent."""
        reported = {look.product for look in self._looks}
        sent = [Sight(page.product, page.text) for page in self.session.pages if page.product]
        return [*self._looks, *(sight for sight in sent if sight.product not in reported)]

    def _times_opened(self) -> Counter[str]:
        """By product, how often its page was opened; pages that scripts change for another count once."""
        opened = Counter(self.session.product_at(url) for url in self._opened)
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

    def _end(self, trajectory: Trajectory) -> None:
        if self.outcome:
            return
        failed_on_the_way(trajectory, self.session)
        self.outcome = trajectory.outcome
        record = to_record(
            self.definition,
            self.design,
            trajectory,
            self.session,
            start=self._start,
            attempts=1,
            guest=GuestFacts(_trace(self.session.pages), self._shown(), self._times_opened()),
        )
        for timer in self.timers:
            timer.cancel()
        self.session.end()
        self.finished(record)


class TrialDispenser:
    """Hands out trials in the design's order."""

    def __init__(
        self,
        design: ShopDesign,
        trials: Iterable[ShopTrial],
        shop_url: str,
        finished: Finished,
        claim: Callable[[str], bool],
        *,
        reverse: bool,
        observe: Observe = "page",
        scripts: Scripts = NO_SCRIPTS,
    ) -> None:
        """Take the trials to hand out.

        `reverse`: the proxy stands for the shop, else guests use it as a proxy. `claim` takes a trial, by its
        id, for this process; False: it has ended, or runs elsewhere. `observe`: what counts as shown.
        """
        self._design, self._finished, self._claim = design, finished, claim
        self._observe: Observe = observe
        self._scripts = scripts
        self._trials = deque(trials)
        self._shop_url, self._allow = shop_url, allowed(design, shop_url)
        # Where the proxy stands for the shop, it changes the addresses in its answers itself.
        self._shown_url = shop_url if reverse else named_url(shop_url)
        self._advice = (
            "Open the products by the links of this task."
            if reverse
            else f"Open {self._shown_url} in a browser whose proxy is that of this task; "
            "the shop's own address is not part of the experiment."
        )

    def welcome(self) -> GuestTrial | None:
        """Return the next trial; its time begins to run.

        Returns None when all are given away, or none can be claimed.
        """
        trial = self._next()
        if trial is None:
            return None
        bound = session(self._design, trial, self._shop_url, self._allow)
        wanted = wanted_in_browser(self._design, trial)
        observed = "" if self._observe == "off" else observer(wanted, self._scripts.reports_to, self._observe)
        guest = GuestTrial(
            definition=trial,
            design=self._design,
            # What a guest looks at, and when, is not known: a page that is not treated is never passed on.
            session=replace(
                bound,
                awaited=None,
                script=";\n".join(filter(None, (self._scripts.guard, observed))),
                observer=OBSERVER if observed else "",
            ),
            observe=self._observe,
            wanted=wanted,
            base_url=self._shop_url,
            finished=self._finished,
            shown_url=self._shown_url,
            advice=self._advice,
        )
        loop = asyncio.get_running_loop()
        guest.timers += [
            loop.call_later(UNSEEN_SECONDS, guest.tell_if_unseen),
            loop.create_task(guest.run_out()),
        ]
        return guest

    def _next(self) -> ShopTrial | None:
        while self._trials:
            try:
                claimed = self._claim(self._trials[0].id)
            except DatabaseFailure as error:
                _tell(f"no trial is given: {cause(error)}")
                return None
            trial = self._trials.popleft()
            if claimed:
                return trial
        return None


def shop_origin(shop_url: str) -> str:
    """Return a shop's address without its path."""
    parts = urlsplit(shop_url)
    return f"{parts.scheme}://{parts.netloc}"


def named_url(shop_url: str) -> str:
    """Return the address of the shop under the testbed's own name, with the same scheme and path."""
    parts = urlsplit(shop_url)
    return f"{parts.scheme}://{SHOP_NAME}{parts.path}"


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The settings of `souk proxy serve --experiment`; each field is the option of its name.

    `reverse` or `at` is the address of a shop that runs, or `shop`: the embedded one is started.
    """

    experiment: str
    label: str
    trial: tuple[str, ...] = ()
    db: str
    port: int
    subjects: int = 1
    reverse: str | None = None
    at: str = EMBEDDED
    observe: Observe = "page"
    ca: Path | None = None
    upstream_ca: Path | None = None


async def serve_guests(options: Serving) -> None:
    """Give the trials of an experiment to whoever connects, until cancelled.

    Ended trials go to stdout as lines of JSON.

    Raises:
        UserError: a mistake in the experiment or an option, a start page that could not be treated, or a port
            is taken.
    """
    design = load_shop_design(options.experiment, options.label)
    records = Records(options.db)
    trials = _wanted(design, records, options)
    live = design.experiment.live
    stopped_at = f"{PREFIX}stopped/{secrets.token_urlsafe(16)}" if live else None
    reports_to = f"{PREFIX}seen/{secrets.token_urlsafe(16)}"
    scripts = Scripts(guard(live.stop_before, stopped_at) if live and stopped_at else "", reports_to)
    wanted = options.reverse or (options.at if options.at != EMBEDDED else design.base_url or EMBEDDED)
    async with AsyncExitStack() as stack:
        writer = stack.enter_context(ThreadPoolExecutor(max_workers=1, thread_name_prefix="records"))

        wanted_in_all = len(records.finished(design.run_id)) + len(trials)
        admission = Admission(records, design.run_id, trials=wanted_in_all, say=_tell)

        def finished(record: TrialRecord) -> None:
            admission.settle(record)
            writer.submit(records.save, record).add_done_callback(lambda saved: _say(record, saved))

        def claim(trial: str) -> bool:
            # In the loop: a guest waits for its trial, and a database is asked in milliseconds.
            return trial in admission.runner.claim(records, [trial]).own

        shop_url = await stack.enter_async_context(shop()) if wanted == EMBEDDED else wanted
        shop_url = shop_url.rstrip("/") + "/"
        origin = Origin.of(shop_url if options.reverse else shop_origin(shop_url))
        folder = options.ca or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="souk-ca-")))
        reverse = options.reverse is not None
        reception = TrialDispenser(
            design, trials, shop_url, finished, claim,
            reverse=reverse, observe=options.observe, scripts=scripts,
        )  # fmt: skip
        guests = Guests(
            reception.welcome, by_cookie=reverse, stopped_at=stopped_at,
            reports_to=None if options.observe == "off" else reports_to,
        )  # fmt: skip
        proxy = await stack.enter_async_context(
            run_proxy(folder, guests=guests, upstream_ca=options.upstream_ca)
        )
        slots = [
            await proxy.open_slot(
                options.port and options.port + number,
                origin.url if reverse else None,
                None if reverse else origin,
            )
            for number in range(options.subjects)
        ]
        if wanted != EMBEDDED:
            await check_start_pages(
                design, trials, shop_url, upstream_ca=options.upstream_ca, in_browser=False
            )
        await stack.enter_async_context(admission)
        for slot in slots:
            sys.stderr.write(f"souk proxy on {slot.url}: a subject, whose task is at {slot.url}{PREFIX}\n")
        # Such runs have never said how they are analysed.
        facts = replace(design.facts([options.label]), analysis=None, observe=options.observe)
        records.begin_run(design.run_id, design.name, facts)
        sys.stderr.write(
            f"  {design.run_id}: {len(trials):,} trials to give as {options.label}; Ctrl-C ends it\n"
        )
        sys.stderr.flush()
        ready(slot.url)
        await asyncio.Event().wait()


def _wanted(design: ShopDesign, records: Records, options: Serving) -> list[ShopTrial]:
    """The trials to give: those named, else all that have not ended. Raises UserError."""
    trials = {trial.id: trial for trial in design.trials([options.label])}
    for name in options.trial:
        if name not in trials:
            raise UserError(f"--trial {name}: no trial of this experiment; {did_you_mean(name, trials)}")
    done = records.finished(design.run_id)
    if ended := next((name for name in options.trial if name in done), None):
        raise UserError(f"--trial {ended}: it has ended and is stored; name another, or another --db")
    return [trials[name] for name in options.trial] or [t for t in trials.values() if t.id not in done]


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _trace(pages: Sequence[ShownPage]) -> Traced:
    """The pages that the guest was sent, in the form of an agent's steps."""
    steps: list[Row] = []
    artifacts: dict[str, str] = {}
    texts = dict.fromkeys(("thought", "memory", "action", "error"), "")
    for number, page in enumerate(pages):
        artifacts[name := artifact_hash(page.text)] = page.text
        steps.append({"step": number, "url": page.url, "observation": name, "seconds": 0.0, **texts})
    return steps, artifacts


def _say(record: TrialRecord, saved: Future[None]) -> None:
    trial = record.trial
    facts = {
        "trial": trial.trial,
        "outcome": trial.outcome,
        "choice": trial.choice,
        "reason": trial.reason,
    }
    if error := saved.exception():
        facts["not_saved"] = str(error)
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
