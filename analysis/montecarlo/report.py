"""Write the report on willingness to pay; the words of its sections are in `report.yaml`."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from analysis.montecarlo import figures
from analysis.montecarlo.contrasts import contrast_clause
from analysis.montecarlo.hypotheses import ALL_AGENTS, ALL_ITEMS
from analysis.montecarlo.study import NOT_PROBLEMS, MonteCarloAnalysis
from analysis.reporting.answer import (
    Wording,
    by_agent,
    clauses,
    contrast_sentences,
    number_text,
    sample_text,
    uneven,
)
from analysis.reporting.human_values import ARIELY, HUMAN_CORRELATION
from analysis.reporting.sections import Report, Section, with_rows, written_sections
from analysis.tables.frame import counted

WORDS = Path(__file__).with_name("report.yaml")
TWO = 2
"""Decimals of an amount."""

ANCHORS = Wording(
    names={
        "condition[high]": "the high anchor",
        "condition[low]": "the low anchor",
        "condition": "the anchors",
    },
    first="{name} moves this by {estimate} (95 %: {interval})",
    others="{name} by {estimate} ({interval})",
    decimals=TWO,
)
LIST_PRICE = Wording(
    names={"deviation": "the distance from the list price"},
    first="its answers differ from the list price by {estimate} (95 %, by block: {interval})",
    others="",
    decimals=TWO,
)


def report(found: MonteCarloAnalysis) -> Report:
    """Make the report: what is paid and how anchors move it, then the hypotheses and the responses needed."""
    agents = found.coefficients[found.coefficients["group"] != ALL_AGENTS]
    asked = found.contrasts
    return Report(
        sections=_sections(found),
        answer=(
            *(() if asked is None else contrast_sentences(asked, partial(contrast_clause, found.currency))),
            *by_agent(agents, partial(_answer, found)),
        ),
        checked=found.notes[0],
        problems=tuple(_problems(found)),
    )


def _answer(found: MonteCarloAnalysis, agent: str, rows: pd.DataFrame) -> Iterator[str]:
    """The mean answer without an anchor, what each anchor adds, and the distance from the list price."""
    rows = _by_block(rows)
    first = rows["term"] == "Intercept"
    for row in rows[first].to_dict("records"):
        mean, low, high = (number_text(row[name], TWO) for name in ("estimate", "conf_low", "conf_high"))
        interval = f" (95 %, by block: {low} to {high})" if low else ""
        paid = f"{mean} {found.currency}".strip()
        yield f"pays {paid} on average without an anchor{interval}"
    moved = rows[~first]
    yield from clauses(moved, ANCHORS, sample_text(moved, "answer"))
    own = found.list_price[found.list_price["group"] == agent]
    overall = _by_block(own[own["item"] == ALL_ITEMS] if (own["item"] == ALL_ITEMS).any() else own)
    yield from clauses(overall, LIST_PRICE, sample_text(overall, "answer"))
    if names := [ANCHORS.names.get(str(term), str(term)) for term in moved["term"]]:
        yield f"{', '.join(names)}: by block, so each product counts once"


def _by_block(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the estimates within products, where each product counts once."""
    names = {
        "estimate": "blocked",
        "conf_low": "blocked_low",
        "conf_high": "blocked_high",
        "p_value": "p_blocked",
        "p_adjusted": "p_blocked_adjusted",
    }
    return rows.assign(**{name: rows[own] for name, own in names.items()})


def _problems(found: MonteCarloAnalysis) -> Iterator[str]:
    for reason, count in found.missing.groupby("reason", sort=True)["count"].sum().items():
        yield f"{counted(int(count), 'response')} missing: {reason}."
    yield from uneven(found.attrition_by_factor, "responses")
    yield from (note for note in found.notes[1:] if note not in NOT_PROBLEMS)


def _sections(found: MonteCarloAnalysis) -> tuple[Section, ...]:
    """The measures first, then the hypotheses, then the number of responses."""
    money = f" ({found.currency})" if found.currency else ""
    dated = partial(figures.generations, found.mapd, found.generations, money)
    drawn_slopes = partial(figures.slopes, found.generation_slopes, found.generation_cells, money)
    drawn = {
        "contrasts": None if found.contrasts is None else partial(figures.contrasts, found.contrasts, money),
        "wtp": partial(figures.wtp, found.prompts, money),
        "variation": partial(figures.coefficient_of_variation, found.variation),
        "csvr": partial(figures.csvr, found.csvr),
        "mapd": partial(figures.mapd, found.mapd, found.prompts, money),
        "generations": dated if found.generations else None,
        "slopes": drawn_slopes if found.generation_slopes["estimate"].notna().any() else None,
        "correlations": partial(figures.correlations, found.correlations),
        "power": partial(figures.power, found.power),
    }
    words = {"money": money, "human_correlation": HUMAN_CORRELATION, "source": ARIELY}
    made = written_sections(WORDS, with_rows(vars(found)), drawn, notes=" ".join(found.notes), **words)
    return tuple(made)
