"""What happens in a trial, and how it is recorded: looks and actions, the outcome, the pages seen."""

import base64
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from agents.base import Agent, AgentError, Call, Decision, GaveUp, ProviderError, SafetyCheck, Usage
from analysis.tables.outcomes import Outcome
from environments.action.pointer import Hit
from environments.browser.through_proxy import BrowserFailure
from environments.episode import Episode, TabObservation
from environments.interfaces.episode import DataEpisode
from environments.protocol.observation import Observation
from environments.protocol.time_limit import NOBODY, Silent, Standstill, time_limit
from experiments.designs.design import Trial
from experiments.records.record import Cause, Row, Start, TrialRow, artifact_hash
from interventions.files.schema import Intervention
from interventions.yaml.limited import TooSlow
from proxy.session import Session

GIVE_UP: Final = "give_up"
"""The action by which an agent ends without a choice."""
_OF_TRIAL: Final = ("agent", "set", "condition", "ordering", "repeat", "seed")
TEXT_LIMIT: Final = 20_000
"""The longest thought or memory that is stored, in characters."""


@dataclass(slots=True)
class Trajectory:
    """The events of one attempt at a trial, step by step: looks, decisions, errors, outcome."""

    outcome: Outcome = "infra_error"
    reason: str = ""
    cause: Cause | None = None
    """The part of the infrastructure that failed, where the outcome is `infra_error`."""
    choice: str | None = None
    looks: list[TabObservation] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    hits: list[tuple[Hit, ...]] = field(default_factory=list)
    """What stood at the points of each action; empty where it had none."""
    page_errors: Counter[str] = field(default_factory=Counter)
    """How often each error was reported in the console of a page."""
    vain_calls: tuple[Call, ...] = ()
    """The requests to a provider that brought no decision."""
    vain_checks: tuple[SafetyCheck, ...] = ()
    """What a provider asked to be confirmed where no decision came about."""

    def end(self, outcome: Outcome, reason: str = "", choice: str | None = None) -> None:
        """Set the outcome, its reason and the choice."""
        self.outcome, self.reason, self.choice, self.cause = outcome, reason, choice, None

    def end_on_the_way(self, *, ordered: bool) -> None:
        """Count a trial that stopped between cart and order, or right after it, as one with a choice."""
        if self.outcome in ("no_choice", "agent_limit"):
            stopped = f"something is in the cart, and no order was placed: {self.reason}"
            self.end("choice", "the order was placed" if ordered else stopped)

    def fail(self, cause: Cause, reason: str) -> None:
        """Set the outcome `infra_error` with the part of the infrastructure that failed."""
        self.end("infra_error", reason)
        self.cause = cause


@asynccontextmanager
async def limited(trajectory: Trajectory, seconds: float, silent: Silent = NOBODY) -> AsyncIterator[None]:
    """Turn whatever ends an attempt early within the block into its outcome.

    Such ends are the limit of `seconds` (see `time_limit`), and errors of the agent, the provider or the
    browser.
    """
    try:
        async with time_limit(seconds, silent):
            yield
    except TimeoutError:
        trajectory.end("agent_limit", f"{seconds:g} seconds have passed")
    except Standstill as standstill:
        trajectory.fail(standstill.cause, str(standstill))
    except GaveUp as error:
        trajectory.end("no_choice", f"the agent gave up: {error}")
    except AgentError as error:
        trajectory.vain_calls, trajectory.vain_checks = error.calls, error.checks
        trajectory.end("agent_error", str(error))
    except ProviderError as error:
        trajectory.vain_calls = error.calls
        trajectory.fail("provider", f"provider: {error}")
    except TooSlow as error:
        trajectory.end("treatment_failed", str(error))
    except BrowserFailure as error:
        trajectory.fail("browser", f"browser: {error}")


async def act_until(
    over: Callable[[TabObservation], bool],
    trajectory: Trajectory,
    episode: Episode | DataEpisode,
    agent: Agent,
    *,
    most_steps: int,
    wanted: str,
) -> None:
    """Let an agent look and act until a look is the last one (`over`), or it is out of actions.

    wanted: what it has not come to then, in words.
    """
    for step in range(most_steps + 1):
        look = await episode.look()
        trajectory.looks.append(look)
        if over(look):
            return
        if step < most_steps:
            began = time.perf_counter()
            decision = await agent.act(look.observation)
            trajectory.decisions.append(decision)
            if decision.action.name == GIVE_UP:
                trajectory.end("no_choice", f"the agent gave up: {' '.join(map(str, decision.action.args))}")
                return
            trajectory.errors.append(await episode.act(decision.action))
            trajectory.hits.append(episode.hits)
            trajectory.times.append(time.perf_counter() - began)
    trajectory.end("agent_limit", f"{most_steps} actions without {wanted}")


def failed_on_the_way(trajectory: Trajectory, session: Session) -> bool:
    """End a trial by what went wrong between shop and agent, if anything did.

    It outweighs what the pages showed.
    """
    if session.failures:
        trajectory.end("treatment_failed", session.failures[0])
    elif session.upstream_errors:
        trajectory.fail("shop", session.upstream_errors[0])
    return bool(session.failures or session.upstream_errors)


def trial_row(
    run: str,
    trial: Trial,
    trajectory: Trajectory,
    usage: Usage,
    *,
    steps: int,
    start: Start,
    attempts: int,
    nudges: Sequence[Intervention] = (),
    match: str = "none",
    profile: str = "none",
    modality: str = "",
) -> TrialRow:
    """Make the row of a finished trial.

    steps: the number of actions, answers or pages. start: of the first attempt.
    """
    return TrialRow(
        run=run,
        trial=trial.id,
        **{name: getattr(trial, name) for name in _OF_TRIAL},
        nudge=":".join(each.id for each in nudges),
        nudge_text=" | ".join(each.text for each in nudges),
        family=" | ".join(each.family for each in nudges),
        direction=nudges[0].direction if len(nudges) == 1 else None,
        match=match,
        profile=profile,
        modality=modality or None,
        **{name: getattr(trajectory, name) for name in ("outcome", "choice", "reason")},
        attempts=attempts,
        started_at=datetime.fromtimestamp(start.at, UTC).isoformat(timespec="milliseconds"),
        seconds=start.seconds,
        steps=steps,
        **{name: getattr(usage, name) for name in ("tokens_in", "tokens_out", "cost")},
    )


def recorded_calls(trajectory: Trajectory) -> list[tuple[int, Call]]:
    """Return the requests to a provider, each with the step for which it was made."""
    used = [(step, call) for step, decision in enumerate(trajectory.decisions) for call in decision.calls]
    return used + [(len(trajectory.decisions), call) for call in trajectory.vain_calls]


def recorded_checks(trajectory: Trajectory) -> list[tuple[int, SafetyCheck]]:
    """Return what a provider asked to be confirmed, each with the step at which it did."""
    asked = [(step, each) for step, decision in enumerate(trajectory.decisions) for each in decision.checks]
    return asked + [(len(trajectory.decisions), each) for each in trajectory.vain_checks]


def usage_of(calls: Sequence[tuple[int, Call]]) -> Usage:
    """Return the sum of what the requests of a trial took; each request comes with its step."""
    return Usage.of(call for _, call in calls)


def as_stored(observation: Observation, screenshot: str = "") -> str:
    """Return an observation as it is stored.

    This is the page, or what the shop has answered without one, and after it, in comments, the accessibility
    tree and the name of the artifact that holds the `screenshot` (a PNG in base64), where the agent was given
    them.
    """
    tree = f"\n<!-- accessibility tree\n{observation.tree}\n-->" if observation.tree else ""
    return (
        (observation.html or observation.data)
        + tree
        + (f"\n<!-- screenshot {screenshot} -->" if screenshot else "")
    )


Traced = tuple[list[Row], dict[str, str]]
"""The rows of a trial's steps, and the pages that they name, by their hash."""


def trace(trajectory: Trajectory) -> Traced:
    """Return a row for each look and what the agent did then, and the pages that it saw, by their hash."""
    steps: list[Row] = []
    artifacts: dict[str, str] = {}
    for step, look in enumerate(trajectory.looks):
        pictured = base64.b64encode(look.observation.screenshot).decode()
        if pictured:
            artifacts[artifact_hash(pictured)] = pictured
        page = as_stored(look.observation, artifact_hash(pictured) if pictured else "")
        artifacts[name := artifact_hash(page)] = page
        decision = trajectory.decisions[step] if step < len(trajectory.decisions) else None
        steps.append(
            {
                "step": step,
                "url": look.url,
                "observation": name,
                "thought": decision.thought[:TEXT_LIMIT] if decision else "",
                "memory": decision.memory[:TEXT_LIMIT] if decision else "",
                "action": str(decision.action) if decision else "",
                "error": trajectory.errors[step] if step < len(trajectory.errors) else "",
                "seconds": trajectory.times[step] if step < len(trajectory.times) else 0.0,
                "looked": 0 if decision and not decision.looked else None,
            }
        )
    return steps, artifacts
