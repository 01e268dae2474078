"""Report how the trials ended, and whether the edits reached their pages."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from analysis.choice.report import figures
from analysis.choice.report.rows import ONE, TWO, with_lead
from analysis.choice.study import ChoiceAnalysis
from analysis.reporting.answer import LEVEL, p_text
from analysis.reporting.sections import NamedFigure, NamedTable, Section, named_tables
from analysis.tables.frame import counted, heading
from analysis.tables.readings import CAPTION, invalid_text


def checked(found: ChoiceAnalysis) -> str:
    """Say how the trials ended, and whether the edits reached their pages."""
    counts = found.attrition.groupby("outcome")["count"].sum()
    chosen, total = int(counts.get("choice", 0)), int(counts.sum())
    ended = f"{chosen:,} of {counted(total, 'trial')} ended in a choice"
    if not chosen:
        ended += f" ({', '.join(f'{n:,} {outcome}' for outcome, n in counts.items() if n)})"
    if found.treatment is None:
        return f"{ended}; no receipts came with this table, so its edits cannot be checked."
    if found.treatment.empty:
        return f"{ended}; no page was edited."
    receipts = int(found.treatment["receipts"].sum())
    if lost := _never_received(found.treatment):
        return f"{ended}; {'; '.join(lost)} ({counted(receipts, 'receipt')} of other edits)."
    if failed := int(counts.get("treatment_failed", 0)):
        unproven = f"in {counted(failed, 'trial')} the treatment is not proven (treatment_failed)"
        return f"{ended}; {unproven}; {counted(receipts, 'receipt')} of edits."
    if chosen and (found.treatment["note"] == "").all():
        where = "its pages" if chosen == total else "the pages of these"
        return f"{ended}; every planned edit reached {where} ({counted(receipts, 'receipt')})."
    return f"{ended}; {counted(receipts, 'receipt')} of edits."


def problems(found: ChoiceAnalysis) -> Iterator[str]:
    """Trials without a choice, uneven attrition, and edits that were not seen."""
    others = found.attrition[found.attrition["outcome"] != "choice"].groupby("outcome")["count"].sum()
    if others.sum():
        counts = ", ".join(f"{n:,} {outcome}" for outcome, n in others.items() if n)
        counts += invalid_text(found.readings)
        yield f"{counted(int(others.sum()), 'trial')} without a choice, left out of the effects: {counts}."
    uneven = found.equal_attrition[found.equal_attrition["p_value"] < LEVEL]
    for row in uneven.to_dict("records"):
        yield (
            f"{row['group']}: choices go missing unevenly, by up to {row['estimate']:.1f} points between"
            f" conditions (p {p_text(row['p_value'])}): the effects may be biased;"
            " the table bounds says how far."
        )
    by_factor = found.attrition_by_factor
    for row in by_factor[by_factor["p_adjusted"] < LEVEL].to_dict("records"):
        yield (
            f"{row['group']}: choices go missing unevenly over {heading(row['factor'])}, by up to"
            f" {row['estimate']:.1f} points (adjusted p {p_text(row['p_adjusted'])})."
        )
    if found.treatment is not None:
        for lost in _never_received(found.treatment):
            yield f"{lost}: its trials count as treated without a proof."
        for row in found.treatment[found.treatment["note"] != ""].to_dict("records"):
            if row["edit"] == "":
                continue
            what = f"{row['intervention']}, {row['edit']} on {row['page_type']} pages"
            yield f"{what}: {row['note']} ({row['receipts']:,} receipts in {row['trials']:,} trials)."
        unseen = int(found.treatment.get("not_checked", pd.Series(dtype=int)).sum())
        if unseen:
            yield f"{unseen:,} times nobody looked in the browser whether an edit stood on the page."


def _never_received(treatment: pd.DataFrame) -> list[str]:
    """Say which interventions have no receipt at all."""
    lost = treatment[treatment["edit"] == ""]
    return [
        f"{name}: planned in {counted(int(trials), 'trial')}, but no page has a receipt of it"
        for name, trials in zip(lost["intervention"], lost["trials"], strict=True)
    ]


def attrition_section(found: ChoiceAnalysis) -> Section:
    """Return the section on how the trials ended."""
    counts = found.attrition.pivot_table(
        index=["agent", "condition", "trials"], columns="outcome", values="count", sort=False, observed=True
    )
    outcomes = sorted(counts.columns, key=lambda name: (name != "choice", name))
    tables = [
        NamedTable("outcomes", "How the trials ended", counts[outcomes].astype(int).reset_index()),
        NamedTable(
            "attrition", "Share of each outcome, with Wilson's interval", found.attrition, detail=True
        ),
        NamedTable(
            "equal_attrition",
            "Do choices go missing evenly? Largest difference between conditions, percentage points",
            found.equal_attrition.drop(columns="term"),
            ONE,
        ),
    ]
    tables += named_tables(readings=(CAPTION, found.readings))
    if len(found.attrition_by_factor):
        tables.append(
            NamedTable(
                "attrition_by_factor",
                "Do they over the design's other factors? Largest difference, percentage points",
                with_lead(found.attrition_by_factor.drop(columns="term"), "factor"),
                ONE,
            )
        )
    drawn = [
        NamedFigure(
            "attrition",
            "How the trials ended, by agent and condition.",
            partial(figures.attrition_figure, found.attrition),
        )
    ]
    text = (
        "How the trials ended. Trials without a choice are left out of the effects; if they go missing more"
        " often under one condition than another, the effects may be biased."
    )
    if len(found.bounds):
        text += (
            "\n\nThe worst case: each trial without a choice is given the one that makes an effect smallest,"
            " or largest (Manski 1990). An effect whose bounds keep clear of 0 has the right sign whatever"
            " those trials would have shown. The bounds say nothing of sampling error."
        )
        tables.append(
            NamedTable(
                "bounds",
                "Worst-case bounds of each effect, percentage points",
                with_lead(found.bounds),
                ONE,
            )
        )
        drawn.append(
            NamedFigure(
                "bounds",
                "Effects with 95 % intervals, over the range that trials without a choice leave open.",
                partial(figures.bounds_figure, found.effects, found.bounds),
            )
        )
    return Section("Attrition", text, tuple(tables), tuple(drawn))


def treatment_section(found: ChoiceAnalysis) -> Section:
    """Return the section on whether the edits reached their pages."""
    if found.treatment is None:
        text = "No receipts came with this table: whether the edits reached the pages cannot be checked here."
        return Section("Treatment check", text)
    if found.treatment.empty:
        return Section("Treatment check", "The receipts are empty: no page was edited.")
    text = (
        "Each applied edit leaves a receipt. A page with the edit planned but no match would be a failed"
        " treatment."
    )
    table = NamedTable("treatment", "Treatment check: edits that reached a page", found.treatment, TWO)
    return Section("Treatment check", text, (table,))
