"""Give trials to subjects that Souk did not start: one by one, recorded when they end."""

import asyncio
import json
import secrets
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

from environments.observation.stops import guard
from environments.shop.shop import Shop
from experiments.console.background import ready
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.guest_trial import (
    NO_SCRIPTS,
    UNSEEN_SECONDS,
    Finished,
    GuestTrial,
    GuestTrials,
    Observe,
    Scripts,
    shop_origin,
)
from experiments.executors.start_pages import check_start_pages
from experiments.records.errors import DatabaseFailure, cause
from experiments.records.reading.interventions import never_received, warnings
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean
from proxy.guests import PREFIX, Guests, NotNow
from proxy.reverse import Origin
from proxy.server import run_proxy

EMBEDDED: Final = "shop"
"""The word that stands for the embedded shop in the place of an address; the shop is started for it."""


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
        self._finished, self._claim = finished, claim
        self._trials = deque(trials)
        self._guests = GuestTrials(design, shop_url, reverse=reverse, observe=observe, scripts=scripts)

    def welcome(self) -> GuestTrial | None:
        """Return the next trial; its time begins to run.

        Returns None when all are given away, or run elsewhere.

        Raises:
            NotNow: the database cannot be asked.
        """
        trial = self._next()
        if trial is None:
            return None
        guest = self._guests.begin(trial, self._finished)
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
                raise NotNow("The records cannot be reached. Try again in a moment.") from None
            trial = self._trials.popleft()
            if claimed:
                return trial
        return None


@dataclass(frozen=True, kw_only=True)
class GuestSettings:
    """The settings of `souk trials serve`; each field is the option of its name.

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


async def serve_guests(options: GuestSettings) -> None:
    """Give the trials of an experiment to whoever connects, until cancelled.

    Ended trials go to stdout as lines of JSON.

    Raises:
        UserError: a mistake in the experiment or an option, a start page that could not be treated, a port is
            taken, or trials that have ended cannot be stored.
    """
    design = load_shop_design(options.experiment, options.label)
    records = Records(options.db)
    trials = _wanted(design, records, options)
    live = design.experiment.live
    stopped_at = f"{PREFIX}stopped/{secrets.token_urlsafe(16)}" if live else None
    reports_to = f"{PREFIX}seen/{secrets.token_urlsafe(16)}"
    scripts = Scripts(guard(live.stop_before, stopped_at) if live and stopped_at else "", reports_to)
    embedded = replace(design.shop, url=None) if options.reverse else design.shop
    where = options.reverse or options.at
    shop = embedded if where == EMBEDDED else Shop(where.rstrip("/") + "/")
    async with AsyncExitStack() as stack:
        stack.callback(_tell_unreceived, records, design.run_id)
        storing = set[asyncio.Task[None]]()
        stack.push_async_callback(lambda: asyncio.gather(*storing))
        writer = Writer(records, say=_tell)
        stack.push_async_callback(writer.close)
        over = asyncio.get_running_loop().create_future()

        wanted_in_all = len(records.finished(design.run_id)) + len(trials)
        admission = Admission(records, design.run_id, trials=wanted_in_all, say=_tell)

        async def store(record: TrialRecord) -> None:
            try:
                await writer.store(record)
            except UserError as error:
                _say(record, not_saved=str(error))
                if not over.done():
                    over.set_exception(error)
                return
            admission.settle(record)
            _say(record)

        def finished(record: TrialRecord) -> None:
            storing.add(task := asyncio.create_task(store(record)))
            task.add_done_callback(storing.discard)

        # Such runs have never said how they are analysed.
        facts = replace(design.facts([options.label]), analysis=None, observe=options.observe)
        begin = cache(partial(records.begin_run, design.run_id, design.name, facts))

        def claim(trial: str) -> bool:
            begin()  # with the first trial: a proxy that nobody used leaves no run
            # In the loop: a guest waits for its trial, and a database is asked in milliseconds.
            return trial in admission.runner.claim(records, [trial]).own

        shop_url = await stack.enter_async_context(shop.opened())
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
        await check_start_pages(design, trials, shop, upstream_ca=options.upstream_ca, in_browser=False)
        await stack.enter_async_context(admission)
        for slot in slots:
            sys.stderr.write(f"souk proxy on {slot.url}: a subject, whose task is at {slot.url}{PREFIX}\n")
        _tell(f"  {design.run_id}: {len(trials):,} trials to give as {options.label}; Ctrl-C ends it")
        ready(slot.url)
        await over


def _wanted(design: ShopDesign, records: Records, options: GuestSettings) -> list[ShopTrial]:
    """The trials to give: those named, else all that have not ended. Raises UserError."""
    trials = {trial.id: trial for trial in design.trials([options.label])}
    for name in options.trial:
        if name not in trials:
            raise UserError(f"--trial {name}: no trial of this experiment; {did_you_mean(name, trials)}")
    done = records.finished(design.run_id)
    if ended := next((name for name in options.trial if name in done), None):
        raise UserError(f"--trial {ended}: it has ended and is stored; name another, or another --db")
    return [trials[name] for name in options.trial] or [t for t in trials.values() if t.id not in done]


def _tell_unreceived(records: Records, run: str) -> None:
    """Tell which nudges have no receipt, once all trials are stored."""
    with suppress(*DatabaseFailure):
        for line in warnings(never_received(records, run)):
            _tell(line)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _say(record: TrialRecord, *, not_saved: str = "") -> None:
    trial = record.trial
    facts = {
        "trial": trial.trial,
        "outcome": trial.outcome,
        "choice": trial.choice,
        "reason": trial.reason,
    }
    if not_saved:
        facts["not_saved"] = not_saved
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
