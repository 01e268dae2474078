"""Say the effects on choices, what attributes are worth, and what a stopping rule has found."""

from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.choice.contrasts import HEAD_TO_HEAD
from analysis.choice.effects.effects import LESS_PLACEBO, PLACEBO
from analysis.reporting.answer import Wording, claimed, clauses, number_text, p_text, sample_text
from analysis.tables.choice_table import BADGE
from analysis.tables.frame import counted

WORDING = Wording(
    names={
        "nudged": "a nudge",
        LESS_PLACEBO: "a nudge beyond its placebo",
        PLACEBO: "a placebo",
        "cheaper": "being cheaper",
        "higher_rated": "being higher rated",
        "viewed_first": "being seen first",
    },
    first="{name} moves the choice by {estimate} points (95 %: {interval})",
    others="{name} by {estimate} ({interval})",
    decimals=1,
)
"""The terms are said in this order."""

CONTEXT = Wording(
    names={"attraction": "a decoy beside its target", "compromise": "being the middle option"},
    first="{name} moves the relative share by {estimate} points (95 %: {interval})",
    others="{name} by {estimate} ({interval})",
    decimals=1,
)

_WORTH: Final = {
    "rating": "10 points of rating",
    "reviews": "twice as many reviews",
    "nudged": "a nudge",
    "viewed_first": "being seen first",
}


def worth_name(term: str) -> str:
    """Return what a term of the trade-offs is called: an attribute, a badge, a row or column of a list."""
    if term.startswith(BADGE):
        return f"the badge {term.removeprefix(BADGE)}"
    return _WORTH.get(term, term.replace("_", " "))


_MOST_MET: Final = 6
_MOST: Final = 1_000
"""The largest percentage of the price that is said: beside a price that hardly counts any is possible."""


def told_contrasts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the contrasts that are said; of many between the two nudges of a trial only those claimed."""
    met = frame["part"] == HEAD_TO_HEAD
    return frame[~met | claimed(frame)] if met.sum() > _MOST_MET else frame


def contrast_clause(row: Any) -> str:
    """Say one effect of a contrast: the difference, its interval and its p value."""
    met = row["part"] == HEAD_TO_HEAD
    name = "head to head" if met else WORDING.names[row["term"]]
    if np.isnan(row["estimate"]):
        return f"{name}: not estimated ({row['note']})"
    ends, p_value, how = ("conf_low", "conf_high"), row["p_adjusted"], "95 %"
    if exact := np.isnan(row["conf_low"]):
        ends, p_value, how = ("exact_low", "exact_high"), row["p_exact"], "95 %, score interval"
    if np.isnan(row[ends[0]]):
        return f"{name}: no interval, so nothing is claimed ({row['note']})"
    size, low, high = (number_text(row[each], 1) for each in ("estimate", *ends))
    said = f"{size} points ({how}: {low} to {high}; p {p_text(p_value)})"
    taken = {"conf_low": row[ends[0]], "conf_high": row[ends[1]], "p_adjusted": p_value}
    told = claimed(pd.DataFrame([row | taken])).all()
    more = f"{name}, the product with {row['level']} is chosen by {said} more often"
    more = more if met else f"{name} moves the choice by {said} more"
    said = more if told else f"{name}: not told apart, {said}"
    return f"{said}, about these choice sets and texts only" if exact else said


def context_clauses(rows: pd.DataFrame) -> list[str]:
    """Return what is said of one agent's context effects. rows: of the frame of `context_effects`."""
    own = rows[rows["term"].isin(CONTEXT.names)]
    said = clauses(own, CONTEXT, sample_text(own, "trial"))
    return ["context effects", *said, "by the exact test, about these choice sets only"]


def rule_clause(row: dict[Any, Any]) -> str:
    """Say in one clause what a row of `sequence_frame` tells."""
    of = f"{int(row['trials']):,} of at most {counted(int(row['most']), 'trial')}"
    head = f"stopped by its rule after {of}" if row["decision"] else f"not stopped by its rule in {of}"
    if not row["strata"]:
        return f"{head}: {row['note']}"
    level = number_text(100 * (1 - row["alpha"]))
    low, high = number_text(row["conf_low"], 1), number_text(row["conf_high"], 1)
    name = WORDING.names[row["term"]]
    numbers = f"{number_text(row['estimate'], 1)} points ({level} % at any time: {low} to {high}"
    numbers += f"; p {p_text(row['p_value'])})"
    if row["decision"] == "within margin":
        return f"{head}: {name} moves the choice by less than {row['margin']:g} points: {numbers}"
    if row["decision"]:
        return f"{head}: {name} moves the choice by {numbers}, in these sets and texts"
    return f"{head}: {name} is not told apart from 0: {numbers}"


def tradeoff_clauses(rows: pd.DataFrame) -> list[str]:
    """Return what is said of one agent's elasticity and trade-offs. rows: of the frame of `tradeoffs`."""
    said = []
    for row in rows[rows["measure"] == "elasticity"].to_dict("records"):
        if claimed(pd.DataFrame([row])).all():
            said.append(
                "a price 1 % higher changes the chance of being chosen by"
                f" {number_text(row['estimate'], 2)} % (95 %: {_interval(row, 2)})"
            )
    percent = rows[rows["measure"] == "percent"]
    told = percent[claimed(percent)].to_dict("records")
    worth = [
        f"{worth_name(row['term'])} {number_text(row['estimate'], 1)} % ({_interval(row)})" for row in told
    ]
    if worth:
        said.append(f"worth in percent of the price: {', '.join(worth)}")
    untold = percent[percent["estimate"].isna() | percent["conf_low"].isna()]
    for note, own in untold.groupby("note", sort=False):
        names = ", ".join(map(worth_name, own["term"]))
        said.append(f"what these are worth is not told: {names} ({note})")
    return said


def _interval(row: Mapping[Hashable, float], decimals: int = 1) -> str:
    low, high = (number_text(row[end], decimals) for end in ("conf_low", "conf_high"))
    return f"{low} to {high if row['conf_high'] < _MOST else f'more than {_MOST:,}'}"
