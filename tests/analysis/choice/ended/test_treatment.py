"""Treatment check: ratios by edit, and a word on each edit that did not arrive."""

import pandas as pd
import pytest

from analysis.choice.ended.treatment import RECEIPT_COLUMNS, treatment_check
from analysis.tables.errors import AnalysisError


def test_ratios_and_notes() -> None:
    receipts = pd.DataFrame(
        [
            ("price", 0, "product.price", "product", 4, 10, 20),
            ("best", 0, "product.title", "product", 4, 3, 3),
            ("best", 1, "item.title", "listing", 0, 0, 0),
            ("limited", 0, "product.title", "product", 4, 5, 4),
            ("late", 0, "product.title", "product", 4, 0, 0),
        ],
        columns=list(RECEIPT_COLUMNS),
    )
    check = treatment_check(receipts).set_index(["intervention", "edit"])
    assert check.index.tolist() == [("best", 0), ("best", 1), ("late", 0), ("limited", 0), ("price", 0)]
    assert check.loc[("price", 0), "receipts_per_trial"] == 2.5
    assert check.loc[("price", 0), "matches_per_receipt"] == 2
    assert check.loc[("best", 1), ["receipts_per_trial", "matches_per_receipt"]].isna().all()
    said = "some trials never saw it", "never applied", "never applied", "some pages had no match", ""
    assert check["note"].tolist() == [*said]


def test_what_was_not_checked_is_counted_where_that_is_known() -> None:
    rows = [("best", "insert_text", "product.title", "product", 4, 4, 4)]
    receipts = pd.DataFrame(rows, columns=list(RECEIPT_COLUMNS))
    assert "not_checked" not in treatment_check(receipts) and treatment_check(receipts[:0]).empty
    assert treatment_check(receipts.assign(not_checked=3))["not_checked"].tolist() == [3]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(
        AnalysisError, match=r"^receipts: column 'trials' is missing; export the receipts again"
    ):
        treatment_check(pd.DataFrame(columns=[name for name in RECEIPT_COLUMNS if name != "trials"]))
