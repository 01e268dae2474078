"""Find repeated questions that were answered alike each time: they tell no more than one answer does."""

import pandas as pd

from analysis.tables.frame import counted, join_notes

ASKED = ["item", "condition", "scenario", "temperature", "anchor"]
"""The columns that make two questions of the response table the same question."""
CELL = ["agent", *ASKED]

ALIKE = "repeats of an item gave the same answer each time; each item counts once"


def agents_without_variation(table: pd.DataFrame) -> list[str]:
    """Return the agents that were asked questions repeatedly and always answered alike.

    table: as `check_responses` returns it. An agent that varied in any question is not among them: its
    repeats are draws.
    """
    given = table[table["response"].notna()]
    answers = given.groupby(CELL, dropna=False)["response"].agg(["size", "nunique"])
    by_agent = answers.groupby(level="agent").max()
    return list(by_agent.index[(by_agent["size"] > 1) & (by_agent["nunique"] == 1)])


def one_answer_each(table: pd.DataFrame, agents: list[str]) -> pd.DataFrame:
    """Return the table with the first answer of these agents to each question; missing responses stay."""
    repeated = table["agent"].isin(agents) & table["response"].notna() & _answered_before(table)
    return table[~repeated]


def with_note(frame: pd.DataFrame, agents: list[str]) -> pd.DataFrame:
    """Return results in which the rows of these agents say that their repeats count once."""
    own = frame["group"].isin(agents)
    notes = [
        join_notes(note, ALIKE) if alike else note for note, alike in zip(frame["note"], own, strict=True)
    ]
    return frame.assign(note=notes)


def alike_notes(agents: list[str]) -> tuple[str, ...]:
    """Return the report's notes on these agents; none where there are no agents."""
    return (f"{counted(len(agents), 'agent')} ({', '.join(agents)}): {ALIKE}.",) if agents else ()


def _answered_before(table: pd.DataFrame) -> "pd.Series[bool]":
    answered = table["response"].notna().astype(int)
    return answered.groupby([table[name] for name in CELL], dropna=False).cumsum() > 1
