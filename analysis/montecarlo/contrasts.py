"""Contrast any two conditions or scenarios of willingness to pay: A against B."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.estimators.comparing import means_apart, shared_cells
from analysis.estimators.moved import Moved
from analysis.montecarlo.comparing import answer_cells
from analysis.reporting.answer import claimed, number_text, p_text
from analysis.tables.families import adjusted
from analysis.tables.frame import join_notes, result_frame
from analysis.tables.levels import LevelPair, level_pair

CONTRAST: Final = ("part", "level", "less", "answers_low", "answers_high", "p_answers")
_NOTHING: Final = "no product was asked about with both"
_ALIKE: Final = "no interval: answers to each question are alike"
_ONE: Final = "no interval: one product, or all differ alike"


def contrasts(table: pd.DataFrame, asked: Sequence[str]) -> pd.DataFrame:
    """Estimate how much higher answers are at one level than at another, by agent.

    table: of `measures`. asked: `A:B`, each a condition or a scenario. The estimate is the mean over products
    of A less B, where the rest of the question is the same. Its error leaves out each product, so it is about
    products like these: the paired t over products, each of which counts once. `answers_low`, `answers_high`
    and `p_answers` are about these questions: Welch's, as `compare_valuations` has it. n counts answers.
    All rows are one family of `p_adjusted`. Extra columns: `part`, `level` (A), `less` (B) and these three.

    Raises AnalysisError for a contrast that does not name two levels of one factor.
    """
    factors = {part: table[part] for part in ("condition", "scenario")}
    pairs = [level_pair(factors, text) for text in asked]
    agents = table.groupby("agent", sort=True)
    rows = [_row(str(agent), own, pair) for pair in pairs for agent, own in agents]
    return adjusted(result_frame(rows, *CONTRAST))


def _row(agent: str, own: pd.DataFrame, pair: LevelPair) -> dict[Any, Any]:
    own = own[pair.of[own.index] != ""]
    told: dict[Any, Any] = {"term": "wtp", "group": agent, "n_missing": int(own["response"].isna().sum())}
    told |= {"part": pair.part, "level": pair.level, "less": pair.less}
    rest = "scenario" if pair.part == "condition" else "condition"
    sides = [
        answer_cells(rows["response"], [rows["item"], rows[rest]])
        for rows in (own[pair.of[own.index] == level] for level in (pair.level, pair.less))
    ]
    one, other = (
        each.assign(value=each["value"] * share, variance=each["variance"] * share**2)
        for each in shared_cells(*sides)
        for share in [1 / each.groupby("item")["n"].transform("size")]
    )
    answers = means_apart(one, other, _NOTHING, _ALIKE)
    if one.empty:
        return told | answers
    by_product = (one["value"] - other["value"]).groupby("item").sum()
    row = Moved.mean("wtp", agent, by_product).row()
    names = {"conf_low": "answers_low", "conf_high": "answers_high", "p_value": "p_answers"}
    of_answers = {new: answers.get(name, np.nan) for name, new in names.items()}
    note = join_notes(_ONE if row["note"] else "", answers.get("note", ""))
    return row | told | of_answers | {"n": answers["n"], "note": note}


def contrast_clause(currency: str, row: Mapping[Any, Any]) -> str:
    """Say a contrast: the difference, its interval and its p value."""
    if pd.isna(row["estimate"]):
        return f"not estimated ({row['note']})"
    amount = f"{number_text(abs(row['estimate']), 2)} {currency}".strip()
    said = f"pays {amount} {'more' if row['estimate'] > 0 else 'less'}"
    if np.isnan(row["conf_low"]):
        return f"{said}; no interval, so nothing is claimed ({row['note']})"
    ends = " to ".join(number_text(row[name], 2) for name in ("conf_low", "conf_high"))
    told = claimed(pd.DataFrame([row])).all()
    interval = f"(difference for products like these, 95 %: {ends}; adjusted p {p_text(row['p_adjusted'])})"
    return f"{said} {interval}" if told else f"not told apart {interval}"
