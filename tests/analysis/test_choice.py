"""The choice analysis as a whole, and its JSON."""

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from analysis.attrition import attrition, equal_attrition
from analysis.choice import analyze_choice
from analysis.effects import FRAME_COLUMNS, choice_effects
from analysis.errors import AnalysisError
from analysis.treatment import RECEIPT_COLUMNS

Simulate = Callable[..., Any]


@pytest.fixture
def table(simulate: Simulate) -> pd.DataFrame:
    table: pd.DataFrame = simulate(1, sets=12, nudges_per_set=2, matched_ratings=True, negative=(1,)).table
    lost = table["trial"].isin(table["trial"].unique()[:3])
    table["chosen"] = table["chosen"].astype("Int64").mask(lost)
    table.loc[lost, "outcome"] = "no_choice"
    table.loc[10, "price"] = None
    return table


def test_the_parts_are_those_of_their_functions(table: pd.DataFrame) -> None:
    analysis = analyze_choice(table)
    pd.testing.assert_frame_equal(analysis.effects, choice_effects(table))
    pd.testing.assert_frame_equal(analysis.attrition, attrition(table))
    pd.testing.assert_frame_equal(analysis.equal_attrition, equal_attrition(table))
    assert analysis.treatment is None
    assert analysis.notes == (
        "3 of 144 trials have no choice; they are left out of the effects.",
        "No option is taken for cheaper in the trials that lack a price (1).",
        "A nudge meant to push away counts as a nudge of the other options of its set.",
    )


def test_json_holds_null_for_what_is_undefined(table: pd.DataFrame) -> None:
    receipts = pd.DataFrame([("n1", 0, "product.title", "product", 0, 0, 0)], columns=list(RECEIPT_COLUMNS))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(analyze_choice(table, receipts).to_json(), parse_constant=refuse)
    assert list(document) == ["effects", "attrition", "equal_attrition", "treatment", "notes"]
    higher_rated = document["effects"][1]
    assert list(higher_rated) == list(FRAME_COLUMNS)
    assert higher_rated["estimate"] is None and higher_rated["note"]
    assert document["treatment"][0]["receipts_per_trial"] is None
    assert document["effects"][0]["estimate"] == pytest.approx(
        choice_effects(table)["estimate"][0], abs=1e-12
    )


def test_a_faulty_table_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match="column 'chosen' is missing"):
        analyze_choice(table.drop(columns="chosen"))
