"""End a trial with cards by its answers, and record it: the same for pages and prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agents.base import Call, Reply, Usage
from agents.providers.capabilities import temperature_of
from experiments.designs.cards.trial import CardTrial
from experiments.designs.design import Mode
from experiments.records.record import Row, Start, TrialRecord, to_row
from experiments.treatment.trajectory import Trajectory, trial_row, usage_of
from interventions.cards.card import Card
from interventions.cards.reply import InvalidAnswer

_ASKED: Final = ("item", "scenario", "reference", "low", "high")
_SHOWN: Final = ("option", "name", "category", "price", "rating", "reviews")
"""What the records keep of a question, and of an option."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer as it was given; `value` is the letter or number, None where it is invalid.

    `rule`: by which it was read. `reason`: why it is invalid, one of `interventions.cards.reply.REASONS`.
    """

    card: str
    text: str
    value: str | float | None
    reason: str = ""
    rule: str = ""


def read_answer(card: Card, reply: Reply) -> GivenAnswer:
    """Read the letter or number in a reply."""
    try:
        value, rule = card.read(reply.text, reply.ending)
    except InvalidAnswer as invalid:
        return GivenAnswer(card.id, reply.raw, None, invalid.reason)
    return GivenAnswer(card.id, reply.raw, value, rule=rule)


def conclude(trajectory: Trajectory, trial: CardTrial, given: Sequence[GivenAnswer]) -> None:
    """End a trial by its answers.

    A trial without a valid answer to its last card has no choice to analyse.
    """
    if len(valid(given)) == len(trial.cards):
        letter = given[-1].value
        trajectory.end("choice", choice=trial.cards[-1].chosen(str(letter)) if trial.options else None)
    elif given:
        trajectory.end("agent_error", f"invalid answer: {given[-1].reason}")


def valid(given: Sequence[GivenAnswer]) -> list[GivenAnswer]:
    """Return the valid ones of the given answers."""
    return [answer for answer in given if answer.value is not None]


def response(trial: CardTrial, given: Sequence[GivenAnswer]) -> float | None:
    """Return the answer to the last card as a number: for letters 1 where it is the biased one, else 0."""
    answers = valid(given)
    if trial.options or len(answers) < len(trial.cards):
        return None
    value = answers[-1].value
    return response_of(trial, value) if isinstance(value, str) else value


def response_of(trial: CardTrial, letter: str) -> float | None:
    """Return a letter as a number: 1 where it is the biased one, else 0; None where it is an option."""
    return None if trial.options else float(letter == trial.biased)


def card_record(
    run: str,
    trial: CardTrial,
    trajectory: Trajectory,
    given: Sequence[GivenAnswer],
    calls: Sequence[tuple[int, Call]],
    *,
    mode: Mode,
    steps: int,
    start: Start,
    attempts: int,
    usage: Usage | None = None,
) -> TrialRecord:
    """Make the record of a finished trial, without the rows of its steps.

    calls: each with the step that made it. steps: their number. usage: None: what the calls took.
    """
    return TrialRecord(
        trial=trial_row(
            run,
            trial,
            trajectory,
            usage or usage_of(calls),
            steps=steps,
            start=start,
            attempts=attempts,
        ),
        options=[_option_row(trial, position) for position in range(len(trial.options))],
        attributes=[
            {"position": position, "attributes": dict(option.attributes)}
            for position, option in enumerate(trial.options)
            if option.attributes
        ],
        calls=[to_row(call, step=step) for step, call in calls],
        questions=[
            {
                "mode": mode,
                **{name: getattr(trial, name) for name in _ASKED},
                "temperature": temperature_of(trial.agent, trial.temperature),
                "response": response(trial, given),
            }
        ],
        answers=[
            to_row(answer, value=None if answer.value is None else str(answer.value)) for answer in given
        ],
        cause=trajectory.cause,
    )


def _option_row(trial: CardTrial, position: int) -> Row:
    option = trial.options[position]
    return {
        "position": position,
        **{name: getattr(option, name) for name in _SHOWN},
        "viewed_first": int(position == 0),
        "nudged": 0,
        "opened": None,
    }
