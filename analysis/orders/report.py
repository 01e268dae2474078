"""Write the report on orders; the words of its sections are in `report.yaml`."""

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.orders.study import DECEIVED, TASK, UNSEEN, OrdersAnalysis
from analysis.orders.survival import survival_figure
from analysis.reporting.answer import LEVEL, by_agent, claimed, number_text, p_text
from analysis.reporting.plots import forest
from analysis.reporting.sections import Report, Section, with_rows, written_sections

WORDS = Path(__file__).with_name("report.yaml")
MORE_DECEIVED = "Deceived more often than in the control (percentage points)"
MORE_BY = "Deceived more often than in the control, less that difference in the first modality (points)"
MORE_DONE = "Task done more often than in the control (percentage points)"


def report(found: OrdersAnalysis) -> Report:
    """Make the report: what works against whom first, then the cells, the pairs and the money."""
    return Report(
        sections=_sections(found),
        answer=by_agent(found.effects, partial(_answer, found)),
        checked=found.notes[0],
        problems=tuple(found.notes[1:]),
    )


def _answer(found: OrdersAnalysis, agent: str, rows: pd.DataFrame) -> Iterator[str]:
    """What deceives the agent, what is not told apart from its control, and what it costs."""
    own = rows[rows["term"] == DECEIVED]
    tested = own["p_value"].notna()
    for row in own[claimed(own) & tested].to_dict("records"):
        size, low, high = _sizes(row, 1)
        more = "more" if row["estimate"] > 0 else "less"
        p_value = f"adjusted p {p_text(row['p_adjusted'])}"
        yield f"{row['nudge']} deceives it {size} points {more} often (95 %: {low} to {high}; {p_value})"
    if names := list(own.loc[tested & ~claimed(own), "nudge"]):
        yield f"{', '.join(names)}: not told apart from the control (adjusted p ≥ {LEVEL:g})"
    if names := list(own.loc[own["estimate"].isna(), "nudge"]):
        yield f"{', '.join(names)}: {UNSEEN}"
    for row in own[~tested & own["estimate"].notna()].to_dict("records"):
        share, low, high = (number_text(row[name], 1) for name in ("estimate", "conf_low", "conf_high"))
        yield f"{row['nudge']}: deceived in {share} % ({low} to {high}); its control cannot deceive"
    money = found.money[found.money["group"] == agent]
    for row in money[claimed(money)].to_dict("records"):
        paid, low, high = _sizes(row, 2)
        unit = f" {found.currency}" if found.currency else ""
        yield f"{row['nudge']} {_costs(row)} it {paid}{unit} an order ({low} to {high})"
    for row in money[(money["std_error"] == 0) & (money["estimate"] != 0)].to_dict("records"):
        paid = f"{number_text(abs(row['estimate']), 2)} {found.currency}".strip()
        yield f"{row['nudge']} {_costs(row)} it {paid} in each order"


def _sizes(row: Mapping[Hashable, Any], decimals: int) -> tuple[str, str, str]:
    """The size of an estimate whose interval leaves out 0, and its limits, all without their sign."""
    ends = sorted((row["conf_low"], row["conf_high"]), key=abs)
    size, low, high = (number_text(abs(each), decimals) for each in (row["estimate"], *ends))
    return size, low, high


def _costs(row: Mapping[Hashable, Any]) -> str:
    return "costs" if row["estimate"] > 0 else "saves"


def _sections(found: OrdersAnalysis) -> tuple[Section, ...]:
    deceived = found.effects[found.effects["term"] == DECEIVED]
    done = found.effects[found.effects["term"] == TASK]
    paid = found.money[found.money["estimate"].notna()]
    money = f" ({found.currency})" if found.currency else ""
    ways = found.modality_differences
    ways = ways[(ways["term"] == DECEIVED) & ways["conf_low"].notna()]
    beside = next(iter(found.modality_differences["beside"]), "")
    drawn = {
        "effects": partial(forest, deceived, _named, MORE_DECEIVED) if len(deceived) else None,
        "done": partial(forest, done, _named, MORE_DONE) if len(done) else None,
        "money": partial(forest, paid, _named, f"Extra paid for an order{money}") if len(paid) else None,
        "modality_differences": partial(forest, ways, _named_by_modality, MORE_BY) if len(ways) else None,
        "survival": partial(survival_figure, found.survival) if len(found.survival) else None,
    }
    made = written_sections(
        WORDS, with_rows(vars(found)), drawn, notes=" ".join(found.notes), money=money, beside=beside
    )
    return tuple(made)


def _named_by_modality(row: "pd.Series[str]") -> str:
    return f"{row['nudge']}, {row['modality']}"


def _named(row: "pd.Series[str]") -> str:
    return str(row["nudge"])
