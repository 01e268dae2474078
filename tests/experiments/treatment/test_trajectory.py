"""How an attempt ended, and which part of the infrastructure failed where it did."""

import pytest

from agents.base import AgentError, ProviderError
from environments.browser.through_proxy import BrowserFailure
from experiments.treatment.trajectory import Trajectory, limited


@pytest.mark.parametrize(
    ("error", "outcome", "cause", "reason"),
    [
        (ProviderError("HTTP 500"), "infra_error", "provider", "provider: HTTP 500"),
        (BrowserFailure("gone"), "infra_error", "browser", "browser: gone"),
        (AgentError("provider: no action"), "agent_error", None, "provider: no action"),
    ],
)
async def test_what_keeps_an_attempt_from_its_end_is_named(
    error: Exception, outcome: str, cause: str | None, reason: str
) -> None:
    trajectory = Trajectory()
    async with limited(trajectory, 60):
        raise error
    assert (trajectory.outcome, trajectory.cause, trajectory.reason) == (outcome, cause, reason)


def test_an_end_of_its_own_takes_the_cause_away() -> None:
    trajectory = Trajectory()
    trajectory.fail("shop", "HTTP 500")
    assert (trajectory.outcome, trajectory.cause) == ("infra_error", "shop")
    trajectory.end("choice", choice="oats")
    assert (trajectory.outcome, trajectory.cause, trajectory.choice) == ("choice", None, "oats")
