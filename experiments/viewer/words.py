"""Say outcomes, conditions and numbers in words."""

from collections.abc import Sequence
from typing import Final

from agents.replay import origin
from analysis.tables.outcomes import outcome_facts
from experiments.records.record import BOTH, CONTROL, Row, TrialRow, nudge_on

_NAME: Final = 60


def ending(row: TrialRow, options: Sequence[Row]) -> str:
    """Say in a sentence how a trial ended and, where it failed, why."""
    if row.outcome == "choice":
        return _chosen(row, options)
    facts = outcome_facts(row.outcome)
    said = f"The {'agent' if facts.of_agent else 'trial'} {facts.said}"
    return f"{said}: {row.reason}" if row.reason else f"{said}."


def _chosen(row: TrialRow, options: Sequence[Row]) -> str:
    if row.choice is None:
        return "The agent answered."
    chosen = next((each for each in options if each["option"] == row.choice), None)
    name = short(chosen["name"] if chosen and chosen["name"] else row.choice)
    if row.condition == BOTH and chosen:
        return (
            f"The agent chose {name}, which carried {nudge_on(row.nudge, row.ordering, chosen['position'])}."
        )
    carrier = next((each for each in options if each["nudged"] == 1), None)
    if carrier is None:
        return f"The agent chose {name}."
    if carrier is chosen:
        return f"The agent chose {name}, which carried the {_treatment(row)}."
    other = short(carrier["name"] or carrier["option"])
    return f"The agent chose {name}; the {_treatment(row)} stood on {other}."


def _treatment(row: TrialRow) -> str:
    return "placebo" if row.condition == "placebo" else "nudge"


def condition(row: TrialRow) -> str:
    """Say which treatment a trial had; of a control, which one it was without."""
    if row.condition == CONTROL and row.nudge:
        return f"{CONTROL}, without {row.nudge}"
    return ", ".join(filter(None, [row.condition, row.nudge]))


def short(name: str) -> str:
    """Write a product's name in a sentence: what stands before its first comma, or its first words."""
    head = name.partition(",")[0]
    return head if len(head) <= _NAME else head[: _NAME - 1].rstrip() + "…"


def path(url: str) -> str:
    """Write an address without its host."""
    return url.removeprefix(origin(url))


def duration(seconds: float) -> str:
    """Write a duration: `0.4 s`, `12 s`, `3 min 5 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def dollars(cost: float | None) -> str:
    """Write a cost in US dollars; nothing where it is not known."""
    return "" if cost is None else "0" if cost == 0 else f"{cost:.4f}"


def number(value: float | None) -> str:
    """Write a number as it was displayed, or nothing."""
    return "" if value is None else f"{value:,.10g}"


def moment(at: str) -> str:
    """Write a stored time (UTC) to the second."""
    return at[:19].replace("T", " ")
