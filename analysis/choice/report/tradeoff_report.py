"""Say what randomised attributes are worth: a section of the report, and clauses of the answer."""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Final

import pandas as pd

from analysis.choice.report import figures
from analysis.reporting.answer import claimed, number_text
from analysis.reporting.sections import NamedFigure, NamedTable, Section

WORTH: Final = {
    "rating": "10 points of rating",
    "reviews": "twice as many reviews",
    "nudged": "a nudge",
    "viewed_first": "being seen first",
}
"""What the trade-offs are about, in the order in which they are said."""
_TEXT: Final = (
    "What is each attribute worth? Prices, ratings or numbers of reviews were drawn independently of the"
    " products, so these effects are causal. A conditional logit of the choices on the logarithm of the"
    " price, the rating (in 10 points), the logarithm of the number of reviews (twice as many), the nudge and"
    " the order gives the part-worths."
    "\n\nThe elasticity says by how many percent the chance of being chosen changes if the price is 1 %"
    " higher, for an option with the mean share of its set: b(price) · (1 − 1/options) (Train 2009). What a"
    " nudge or a step is worth is the change of the price that makes up for it,"
    " 100 · (exp(−b / b(price)) − 1) percent, and in money at the median price that was shown. Intervals are"
    " those of all ratios that the data do not refute (Fieller 1954). They are empty where the price"
    " coefficient is not told from 0: then no range of ratios is refuted. Errors are those of the jackknife"
    " over choice sets, so they speak for new sets like these; with fewer than twelve sets there are none."
)


def tradeoff_section(frame: pd.DataFrame) -> Section:
    """Return the section. frame: that of `tradeoffs`, with a row or more."""
    first = ["group", "measure", "term"]
    ordered = frame[[*first, *(name for name in frame if name not in first)]]
    table = NamedTable("tradeoffs", "Part-worths, elasticity, and what each is worth", ordered, 2)
    percent = frame[(frame["measure"] == "percent") & frame["estimate"].notna()]
    drawn = [
        NamedFigure(
            "tradeoffs",
            "What each is worth in percent of the price, with Fieller's 95 % interval.",
            partial(figures.forest, percent, _label, "Worth (percent of the price)"),
        )
    ] * bool(len(percent))
    return Section("Trade-offs", _TEXT, (table,), tuple(drawn))


def tradeoff_clauses(rows: pd.DataFrame) -> list[str]:
    """Return what is said of one agent's elasticity and trade-offs. rows: of the frame of `tradeoffs`."""
    said = []
    for row in rows[rows["measure"] == "elasticity"].to_dict("records"):
        if claimed(pd.DataFrame([row])).all():
            said.append(
                "a price 1 % higher changes the chance of being chosen by"
                f" {number_text(row['estimate'], 2)} % (95 %: {_interval(row, 2)})"
            )
    percent = rows[(rows["measure"] == "percent") & rows["term"].isin(WORTH)]
    told = percent[claimed(percent)].to_dict("records")
    worth = [
        f"{WORTH[row['term']]} {number_text(row['estimate'], 1)} % ({_interval(row)})"
        for row in sorted(told, key=lambda row: list(WORTH).index(row["term"]))
    ]
    if worth:
        said.append(f"worth in percent of the price: {', '.join(worth)}")
    untold = percent[percent["estimate"].isna() | percent["conf_low"].isna()]
    for note, own in untold.groupby("note", sort=False):
        names = ", ".join(WORTH[term] for term in own["term"])
        said.append(f"what these are worth is not told: {names} ({note})")
    return said


def _interval(row: Mapping[Hashable, float], decimals: int = 1) -> str:
    return " to ".join(number_text(row[end], decimals) for end in ("conf_low", "conf_high"))


def _label(row: "pd.Series[str]") -> str:
    return WORTH.get(row["term"], row["term"])
