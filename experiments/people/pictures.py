"""Take pictures of the products' pages before people come, and let them choose by these.

A trial whose pictures are taken is one of an agent that looks at each product. It is stored in a run of its
own; from it and what a person has chosen the person's trial is made.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from playwright.async_api import BrowserContext

from agents.base import Agent, Decision
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from environments.protocol.time_limit import NOBODY, Silent
from environments.shop.shop import Shop
from experiments.console.progress import RunProgress
from experiments.console.terminal import stderr_console
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.guest_trial import Finished, GuestTrial, GuestTrials
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, default_slots, open_testbed
from experiments.executors.executor import Attempt
from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import Row, Start, TrialRecord, screenshot_of
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from experiments.runs.coordinator import Coordinator
from experiments.treatment.trajectory import GIVE_UP, Trajectory
from experiments.treatment.treatment_check import sights, untreated
from interventions.errors import UserError
from interventions.yaml.limited import TooSlow
from proxy.session import Session

SIZE: Final = (1280, 900)
"""Width and height of a picture in pixels, as in the study of Cherep et al."""


class _Looking:
    """The agent that looks at each product once. What can be read in a picture is its thought."""

    def __init__(self, products: int) -> None:
        self._products, self._seen = products, 0

    async def act(self, observation: Observation) -> Decision:
        """Go on to the next product; the tab of the last one is open first."""
        self._seen += 1
        is_done = self._seen == self._products
        action = Action(GIVE_UP, ("all are seen",)) if is_done else Action("tab_focus", (self._seen - 1,))
        return Decision(" ".join(each.text for each in observation.drawn), "", action)


class _PictureRunner(ShopTrialRunner):
    """Runs trials to take their pictures; what is shown is checked as where an agent has chosen."""

    tells_drawn = True

    def agent(self, trial: ShopTrial) -> Agent:
        """Make what looks at the products."""
        return _Looking(len(trial.products))

    async def episode(
        self,
        trial: ShopTrial,
        agent: Agent,
        context: BrowserContext,
        session: Session,
        silent: Silent = NOBODY,
    ) -> Trajectory:
        """Look at each product; where one cannot be looked at, there are no pictures to show to anybody."""
        trajectory = await super().episode(trial, agent, context, session, silent)
        if len(trajectory.decisions) < len(trial.products):
            trajectory.fail(trajectory.cause or "shop", trajectory.reason)
        elif trajectory.outcome == "no_choice":
            keys = [product.key for product in trial.products]
            try:
                seen = sights(trajectory, self._design, trial, session)
                reason = next(iter((session.awaited or {}).values()), "") or untreated(seen, session, keys)
            except TooSlow as error:
                reason = str(error)
            if reason:
                trajectory.end("treatment_failed", reason)
        return trajectory

    def record(
        self, trial: ShopTrial, trajectory: Trajectory, session: Session, *, start: Start, attempts: int
    ) -> TrialRecord:
        """Make the record, which belongs to the run of pictures."""
        made = super().record(trial, trajectory, session, start=start, attempts=attempts)
        return replace(made, trial=replace(made.trial, run=run_of_pictures(self._design)))


def run_of_pictures(design: ShopDesign) -> str:
    """Return the id of the run in which the pictures of a design's trials are stored."""
    return f"{design.run_id}-pictures"


async def take_pictures(
    design: ShopDesign, trials: Sequence[ShopTrial], shop: Shop, records: Records
) -> None:
    """Take the pictures of these trials that are not stored yet; the console shows how far it is.

    Raises:
        UserError: there is no browser, or the pictures of a trial cannot be taken.
    """
    run, failed = run_of_pictures(design), list[TrialRecord]()
    done = records.finished(run)
    if todo := [trial for trial in trials if trial.id not in done]:
        facts = replace(design.facts([todo[0].agent]), analysis=None)
        records.begin_run(run, f"{design.name}-pictures", facts)
        progress = RunProgress(stderr_console(), len(trials), len(trials) - len(todo))
        progress.say(f"taking the pictures of {len(todo):,} trials")

        def note(record: TrialRecord) -> None:
            progress.note(record)
            if record.trial.outcome in ("infra_error", "treatment_failed"):
                failed.append(record)

        with TemporaryDirectory(prefix="souk-pictures-") as folder:
            async with open_testbed(Path(folder), shop, viewport=SIZE) as testbed:
                runner = _PictureRunner(design, testbed.base_url)
                executor: BrowserExecutor[Any] = BrowserExecutor(runner, testbed, default_slots(()))
                admission = Admission(records, run, trials=len(trials), say=progress.say)
                writer = Writer(records, say=progress.say)
                try:
                    async with admission:
                        with progress:
                            await Coordinator(executor, writer, admission, _lost).run(todo, note)
                finally:
                    await writer.close()
    counts = records.outcomes(run, {trial.id for trial in trials})
    why = f", e.g. {failed[0].trial.reason}" if failed else ""
    bad, every = counts.get("treatment_failed", 0), f"{len(trials):,} trials"
    if lost := len(trials) - counts.get("no_choice", 0) - bad:
        raise UserError(f"{lost:,} of {every} have no pictures{why}; mend that and serve again")
    if bad:
        told = f"their pictures in {run} do not show what they should{why}"
        line = f"{bad:,} of {every} will end as treatment_failed: {told}"
        stderr_console().print(line, style="yellow", soft_wrap=True, markup=False)


def _lost(attempt: Attempt[Any], reason: str) -> TrialRecord:
    raise AssertionError(f"{attempt.trial.id}: {reason}")  # only other processes lose attempts


class Picture(NamedTuple):
    """A picture by its name in the records, and what can be read in it."""

    name: str
    text: str


@dataclass(kw_only=True)
class PictureTrial(GuestTrial):
    """A trial in which a person chooses by pictures, side by side; no page of the shop is opened."""

    made: TrialRecord
    """The trial in which the pictures were taken."""
    read: Callable[[str], str]
    """Reads an artifact of the records."""

    @property
    def urls(self) -> list[str]:
        """No addresses: there is nothing to open."""
        return []

    @property
    def pictures(self) -> list[Picture]:
        """The pictures in the order of the products; that of the last one was taken first."""
        last, *others = self.made.steps
        return [
            Picture(screenshot_of(self.read(step["observation"])), step["thought"])
            for step in (*others, last)
        ]

    def png(self, name: str) -> bytes | None:
        """Return one of the pictures; None: it is none of this trial."""
        is_shown = name in [each.name for each in self.pictures]
        return base64.b64decode(self.read(name)) if is_shown else None

    def chose_picture(self, number: int) -> None:
        """End the trial with the choice of a product, by its number from 1."""
        trajectory, made = Trajectory(), self.made.trial
        if made.outcome == "treatment_failed":
            trajectory.end("treatment_failed", made.reason)
        else:
            trajectory.end("choice", "", self.definition.products[number - 1].key)
        self.end(trajectory)

    def _record(self, trajectory: Trajectory) -> TrialRecord:
        """Make the record: all that was shown is as in the trial of the pictures.

        When a person looked at which picture is not known. The first in reading order counts as viewed first.
        """
        key: Row = {"run": self.design.run_id, "trial": self.trial}
        tables = {each.name: getattr(self.made, each.name) for each in fields(self.made)}
        rows: dict[str, Any] = {
            name: [{**row, **key} for row in rows] for name, rows in tables.items() if isinstance(rows, list)
        }
        unknown: Row = {"thought": "", "action": "", "seconds": 0.0}
        rows["steps"] = [{**row, **unknown} for row in rows["steps"]]
        rows["options"] = [{**row, "viewed_first": int(row["position"] == 0)} for row in rows["options"]]
        said: Row = {name: getattr(trajectory, name) for name in ("outcome", "choice", "reason")}
        started = datetime.fromtimestamp(self.start.at, UTC).isoformat(timespec="milliseconds")
        times: Row = {"started_at": started, "seconds": self.start.seconds, "attempts": self.attempts}
        return TrialRecord(replace(self.made.trial, **key, **said, **times), **rows)


class PictureTrials(GuestTrials):
    """Begins trials in which people choose by pictures that are stored."""

    def __init__(self, design: ShopDesign, shop_url: str, records: Records) -> None:
        """Take what all trials share."""
        super().__init__(design, shop_url, observe="off")
        self._records = records

    def begin(
        self, trial: ShopTrial, finished: Finished, *, start: Start | None = None, attempts: int = 1
    ) -> PictureTrial:
        """Begin a trial; its pictures are there."""
        guest = super().begin(trial, finished, start=start, attempts=attempts)
        made = whole_trial(self._records, run_of_pictures(self._design), trial.id)
        assert made is not None  # noqa: S101 - nobody is let in before
        return PictureTrial(**vars(guest), made=made, read=self._records.artifact)
