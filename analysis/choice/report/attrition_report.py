"""Say how the trials ended, and whether the edits reached their pages."""

from collections.abc import Iterator

import pandas as pd

from analysis.choice.study import ChoiceAnalysis
from analysis.reporting.answer import LEVEL, p_text, uneven
from analysis.tables.frame import counted
from analysis.tables.readings import invalid_text


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
    apart = found.equal_attrition[found.equal_attrition["p_value"] < LEVEL]
    for row in apart.to_dict("records"):
        yield (
            f"{row['group']}: choices go missing unevenly, by up to {row['estimate']:.1f} points between"
            f" conditions (p {p_text(row['p_value'])}): the effects may be biased;"
            " the table bounds says how far."
        )
    yield from uneven(found.attrition_by_factor, "choices")
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
