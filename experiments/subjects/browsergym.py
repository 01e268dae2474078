"""Offer every trial of an experiment as a registered BrowserGym task, for agents of its API.

The trials, their pages and their records are those of `souk run`; only the agent is not Souk's.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from anyio.from_thread import BlockingPortal, start_blocking_portal

from environments.browsergym.task import ShopEnv, ShopTask, Step, look_of

# After browsergym_task, which says in one line what to install where BrowserGym is missing.
import gymnasium  # isort: skip

from agents.base import Call, Decision
from environments.action.pointer import dismissing
from environments.episode import first_line
from environments.observation.settling import drawn_in
from environments.observation.stops import guard, stops_of
from environments.protocol.actions import Action
from environments.protocol.observation import storable
from environments.shop.shop import Shop
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.page_record import to_record
from experiments.episodes.shop_episode import allowed, is_over, judge, session, start_urls
from experiments.executors.browser import Testbed, open_testbed
from experiments.executors.start_pages import check_start_pages
from experiments.records.control import named
from experiments.records.record import Start, TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from experiments.treatment.trajectory import Trajectory, limited
from experiments.treatment.treatment_check import wanted_in_browser
from interventions.errors import UserError
from proxy.server import Slot
from proxy.session import Session

PREFIX: Final = "browsergym/souk."

UNUSABLE_ANSWERS: Final = 4
"""The number of unusable actions in a row that end a trial as `agent_error`.

It is the same for Souk's own language models.
"""


@contextmanager
def open_experiment(
    name: str,
    *,
    agent: str,
    limit: int | None = None,
    db: str = "sqlite:///runs/souk.db",
    base_url: str | None = None,
    upstream_ca: Path | None = None,
) -> Iterator[list[str]]:
    """Register the trials of an experiment that have not ended; yield their ids, for `gymnasium.make`.

    `name` is a shipped experiment or a YAML file, `agent` the name of the subject in the records; the name of
    the run contains both. `limit`: only the first trials of the design. `base_url` is the address of a shop
    that runs, in the place of the experiment's; `upstream_ca` a file of authorities that may have signed its
    certificate. Within the block each task can be made and run, one at a time
    or several in turn; when an episode ends, its record is stored.

    Raises:
        UserError: a mistake in the experiment, cards instead of a shop, an unusable database, a start page
            that could not be treated, or another experiment is open.
    """
    if any(task.startswith(PREFIX) for task in gymnasium.registry):
        raise UserError(f"{name}: a process can open one experiment at a time; leave the other's block first")
    design = load_shop_design(name, agent)
    records = Records(db)
    done = records.finished(design.run_id)
    trials = [trial for trial in islice(design.trials([agent]), limit) if trial.id not in done]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="souk-gym-")))
        portal = stack.enter_context(start_blocking_portal())
        shop = Shop(f"{base_url.rstrip('/')}/") if base_url else design.shop
        portal.call(partial(check_start_pages, design, trials, shop, upstream_ca=upstream_ca))
        testbed = stack.enter_context(
            portal.wrap_async_context_manager(open_testbed(folder, shop, upstream_ca))
        )
        admission = stack.enter_context(
            portal.wrap_async_context_manager(
                Admission(records, design.run_id, trials=len(done) + len(trials))
            )
        )
        begin = cache(partial(records.begin_run, design.run_id, design.name, design.facts([agent])))
        venue = _Venue(design, Writer(records), begin, admission, testbed, portal)
        stack.callback(venue.close)
        tasks = {f"{PREFIX}{design.run_id}.{trial.id}": trial for trial in trials}
        for task, trial in tasks.items():
            gymnasium.register(task, entry_point=venue.entry_point(trial), nondeterministic=True)
            stack.callback(gymnasium.registry.pop, task)
        yield list(tasks)


class _Venue:
    """The parts that the environments of one experiment share: design, shop, proxy's ports, records.

    The shop, the proxy and the writer live in the event loop of another thread: `portal` leads there.
    """

    def __init__(
        self,
        design: ShopDesign,
        writer: Writer,
        begin: Callable[[], None],
        admission: Admission,
        testbed: Testbed,
        portal: BlockingPortal,
    ) -> None:
        self.design, self.testbed = design, testbed
        self._allow = allowed(design, testbed.base_url)
        self._writer, self._begin, self._admission, self._portal = writer, begin, admission, portal
        self._free: list[Slot] = []
        self.opened: set[_TrialEnv] = set()

    def entry_point(self, trial: ShopTrial) -> Any:
        """Return the function that gymnasium calls to make the trial's environment.

        It must be a function, because gymnasium copies anything else.
        """
        return lambda **options: _TrialEnv(self, trial, **options)

    def session(self, trial: ShopTrial) -> Session:
        """Make the session that makes the trial's edits."""
        return session(self.design, trial, self.testbed.base_url, self._allow)

    def lend(self) -> Slot:
        """Lend a port of the proxy."""
        return self._free.pop() if self._free else self._portal.call(self.testbed.proxy.open_slot)

    def take_back(self, slot: Slot) -> None:
        """Take back a port that is no longer used."""
        slot.session = None
        self._free.append(slot)

    def claim(self, trial: ShopTrial) -> None:
        """Take the trial for this process. Raises UserError: it has ended, or another process runs it."""
        self._begin()  # with the first trial: tasks that nobody made leave no run
        claimed = self._portal.call(self._writer.claim, self._admission.runner, [trial.id])
        if process := claimed.others.get(trial.id):
            raise UserError(f"trial {trial.id}: {named(process)} runs it; go on with the next task")
        if trial.id not in claimed.own:
            raise UserError(f"trial {trial.id} has ended; go on with the next task")

    def release(self, trial: ShopTrial) -> None:
        """Give up a trial that has not ended, so that another process can claim it."""
        self._portal.call(self._writer.release, self._admission.runner, trial.id)

    def store(self, record: TrialRecord) -> None:
        """Store a record; return once it is durable. Raises UserError when it cannot be stored."""
        self._portal.call(self._writer.store, record)
        self._portal.call(self._admission.settle, record)

    def count_time(self, session: Session) -> Future[Trajectory]:
        """Begin to count the time of a trial, which runs while the shop and this process move.

        Returns how the trial ends when its time is over, or a standstill has ended it. Cancel it when the
        trial ends otherwise.
        """
        return self._portal.start_task_soon(self._until_over, session)

    async def _until_over(self, session: Session) -> Trajectory:
        trajectory = Trajectory()
        async with limited(trajectory, self.design.experiment.limits.seconds, {"shop": session.silent}):
            await asyncio.Event().wait()
        return trajectory

    def close(self) -> None:
        """Close the environments that are still open."""
        for env in list(self.opened):
            env.close()
        self._portal.call(self._writer.close)


class _TrialEnv(ShopEnv):
    """The environment of one trial.

    A step is `terminated` when the trial has ended, `truncated` when the agent is out of actions or time.
    `info["task_info"]` holds `trial`, `seed` (for the agent's random numbers), `outcome` (empty while it
    runs) and `reason`. An environment that is closed before that leaves no record: the trial runs again.
    """

    task: Any
    chat: Any
    context: Any
    browser: Any

    def __init__(self, venue: _Venue, trial: ShopTrial, **options: Any) -> None:
        self.venue, self.trial = venue, trial
        self._slot: Slot | None = venue.lend()
        self._facts: dict[str, Any] = {"trial": trial.id, "seed": trial.seed, "outcome": "", "reason": ""}
        self._attempts = 0
        self._time: Future[Trajectory] | None = None
        self._note: tuple[str, str, tuple[Call, ...]] = ("", "", ())
        live, site = venue.design.experiment.live, venue.design.site
        wanted = wanted_in_browser(venue.design, trial)
        task = partial(
            ShopTask,
            goal=trial.goal,
            urls=start_urls(venue.testbed.base_url, trial),
            stops=stops_of(site.choice),
            script=";\n".join(filter(None, (guard(live.stop_before) if live else "", dismissing(site)))),
            drawn=drawn_in(site, wanted) if site.drawn else None,
            facts=self._facts,
            wanted=wanted,
            page=venue.design.view(trial).page,
        )
        super().__init__(task, proxy=self._slot.url, spki=venue.testbed.proxy.spki, **options)
        venue.opened.add(self)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the trial; the seed that BrowserGym's agents give changes nothing about it.

        Raises:
            UserError: the trial has ended and is stored, another process runs it, or this is closed.
        """
        if self._slot is None:
            raise UserError(f"trial {self.trial.id}: its environment is closed; make it again")
        if self._facts["outcome"] not in ("", "infra_error"):
            raise UserError(f"trial {self.trial.id} has ended; go on with the next task")
        self.venue.claim(self.trial)
        self._facts |= {"outcome": "", "reason": ""}
        self._attempts += 1
        self._start, self._trajectory, self._unusable = Start.now(), Trajectory(), 0
        self._absences = self.venue.testbed.shop.absences
        self._slot.session = self._session = self.venue.session(self.trial)
        self._stop_counting()
        self._time = self.venue.count_time(self._session)
        try:
            observation, info = super().reset(seed=seed, options=options)
            self._look(observation)
        except Exception as error:
            self._fail(error)
            raise
        self._end_if_over(terminated=False)
        self._turn = time.perf_counter()
        return observation, {**info, "task_info": dict(self._facts)}

    def note(self, thought: str, memory: str = "", calls: Sequence[Call] = ()) -> None:
        """Note what the agent thinks and remembers, and its requests, for the records.

        Call this before the agent's next action.
        """
        self._note = (thought, memory, tuple(calls))

    def step(self, action: str) -> Step:
        """Take one action; after the end of the trial nothing happens any more."""
        if self._facts["outcome"]:
            return self._answer(self._last, {})
        try:
            observation, _, terminated, _, info = super().step(action)
            thought, memory, calls = self._note
            self._note = ("", "", ())
            trajectory, now = self._trajectory, time.perf_counter()
            trajectory.decisions.append(
                Decision(storable(thought), storable(memory), _Verbatim(storable(action)), calls=calls)
            )
            trajectory.errors.append(storable(self.last_action_error))
            trajectory.times.append(now - self._turn)
            self._look(observation)
        except Exception as error:
            self._fail(error)
            raise
        self._unusable = self._unusable + 1 if self.is_unusable else 0
        self._end_if_over(terminated)
        self._turn = time.perf_counter()
        return self._answer(observation, info)

    def close(self) -> None:
        """End the browser and give the port back."""
        if self._slot is not None:
            self._quit()
            if self._attempts and not self._facts["outcome"]:
                self.venue.release(self.trial)
            self.venue.take_back(self._slot)
            self._slot = None
            self.venue.opened.discard(self)

    def _stop_counting(self) -> None:
        if self._time is not None:
            self._time.cancel()

    def _quit(self) -> None:
        self._stop_counting()
        with suppress(Exception):  # what is dead says so in many ways
            super().close()
        self.task = self.chat = self.context = self.browser = None

    def _answer(self, observation: dict[str, Any], info: dict[str, Any]) -> Step:
        outcome = self._facts["outcome"]
        truncated = outcome == "agent_limit"
        info = {**info, "task_info": dict(self._facts)}
        return observation, float(outcome == "choice"), bool(outcome) and not truncated, truncated, info

    def _look(self, observation: dict[str, Any]) -> None:
        self._last = observation
        task, steps = self.task, len(self._trajectory.decisions)
        tab = task.started.get(self.page)
        self._trajectory.looks.append(
            look_of(observation, steps, task.stop, task.page, tab, self.stood, self.way)
        )

    def _end_if_over(self, terminated: bool) -> None:
        trajectory, limits = self._trajectory, self.venue.design.experiment.limits
        look, steps = trajectory.looks[-1], len(trajectory.decisions)
        if is_over(look, trajectory, self.trial, self.venue.design, self._session):
            pass
        elif terminated:
            said = [message["message"] for message in self.chat.messages if message["role"] == "infeasible"]
            trajectory.end("no_choice", f"the agent gave up: {' '.join(said)}")
        elif self._unusable == UNUSABLE_ANSWERS:
            trajectory.end("agent_error", f"{steps} actions, the last {UNUSABLE_ANSWERS} of which were none")
        elif steps >= limits.steps:
            trajectory.end("agent_limit", f"{limits.steps} actions without a choice")
        elif self._time is not None and self._time.done():
            over = self._time.result()
            trajectory.end(over.outcome, over.reason)
            trajectory.cause = over.cause
        else:
            return
        judge(trajectory, self.trial, self.venue.design, self._session)
        if self.venue.testbed.shop.absences > self._absences:
            trajectory.fail("shop", "the shop went away while the trial ran")
        self._store()

    def _fail(self, error: Exception) -> None:
        self._trajectory.fail("browser", f"browser: {first_line(error)}")
        self._store()
        self._quit()

    def _store(self) -> None:
        trajectory, design = self._trajectory, self.venue.design
        record = to_record(
            self.trial, design, trajectory, self._session, start=self._start, attempts=self._attempts
        )
        self._stop_counting()
        self.venue.store(record)
        self._facts |= {"outcome": trajectory.outcome, "reason": trajectory.reason}


class _Verbatim(Action):
    """An action as the agent wrote it, in whatever action space it has."""

    def __str__(self) -> str:
        return self.name
