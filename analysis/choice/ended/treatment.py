"""Check the treatment: whether each planned edit reached the pages that it was meant for."""

import pandas as pd

from analysis.tables.errors import AnalysisError

RECEIPT_COLUMNS = ("intervention", "edit", "role", "page_type", "trials", "receipts", "matches")


def treatment_check(receipts: pd.DataFrame) -> pd.DataFrame:
    """Count receipts by edit and page type, with receipts_per_trial, matches_per_receipt and a note.

    receipts: RECEIPT_COLUMNS, where `trials` counts trials with the edit on that page type, `receipts` the
    pages it was applied to, `matches` the elements it changed; `not_checked`, if there, the trials in which
    nobody looked in the browser whether the edit stood. A ratio with nothing to divide by is NaN.

    Raises AnalysisError if a column is absent.
    """
    absent = [name for name in RECEIPT_COLUMNS if name not in receipts]
    if absent:
        raise AnalysisError(f"receipts: column {absent[0]!r} is missing; export the receipts again")
    columns = [*RECEIPT_COLUMNS, *(["not_checked"] if "not_checked" in receipts else [])]
    check = receipts[columns].sort_values(list(RECEIPT_COLUMNS[:4]), ignore_index=True)
    trials, applied, matches = (check[name].astype(float) for name in RECEIPT_COLUMNS[4:])
    check["receipts_per_trial"] = applied / trials.where(trials > 0)
    check["matches_per_receipt"] = matches / applied.where(applied > 0)
    check["note"] = ""
    check.loc[matches < applied, "note"] = "some pages had no match"
    check.loc[applied < trials, "note"] = "some trials never saw it"
    check.loc[applied == 0, "note"] = "never applied"
    return check
