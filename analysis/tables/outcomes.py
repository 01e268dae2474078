"""How trials end: the one table of outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Outcome = Literal[
    "choice", "no_choice", "agent_limit", "agent_error", "treatment_failed", "infra_error", "withdrawn"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFacts:
    """What is known of an outcome."""

    said: str
    """How a trial ended, after the words "the agent", or "the trial"."""
    colour: str
    """Of its share in figures."""
    of_agent: bool = True
    """Whether it is the agent that ended the trial."""
    failed: bool = False
    """Whether something has failed, of which a run tells when it happens first."""
    cut_off: bool = False
    """Whether the agent was at work still."""
    advice: str | None = None
    """What a run's end says to its user where trials ended so; None: it says nothing of them."""


OUTCOMES: Final[Mapping[Outcome, OutcomeFacts]] = {
    "choice": OutcomeFacts(said="chose", colour="#CFDCE6"),  # pale, so that what went wrong stands out
    "no_choice": OutcomeFacts(said="did not choose", colour="#E69F00"),
    "agent_limit": OutcomeFacts(
        said="ran out of steps or time",
        colour="#0072B2",
        cut_off=True,
        advice="; see whether the agent can act on these pages, and whether choice in the site map says what "
        "puts a product into the cart",
    ),
    "agent_error": OutcomeFacts(
        said="gave no action that can be read", colour="#CC79A7", failed=True, cut_off=True
    ),
    "treatment_failed": OutcomeFacts(
        said="saw a page without a planned edit", colour="#D55E00", failed=True, advice=""
    ),
    "infra_error": OutcomeFacts(
        said="failed through no fault of the agent",
        colour="#222222",
        of_agent=False,
        failed=True,
        advice="; the same command tries them again",
    ),
    "withdrawn": OutcomeFacts(said="was withdrawn", colour="#BBBBBB", of_agent=False),
}
"""The facts of each outcome, in the order in which figures stack them."""


def outcome_facts(name: str) -> OutcomeFacts:
    """Return the facts of an outcome, also of one that this version of Souk does not know."""
    known = next((facts for outcome, facts in OUTCOMES.items() if outcome == name), None)
    return known or OutcomeFacts(said=name, colour="#999999", of_agent=False)
