"""Cards become regressors: coercion, blocks, letters, deciles."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.conjoint.attributes import bed_rank
from analysis.conjoint.cards import POOLED, chain_family, decile, decile_edges, encode
from analysis.conjoint.fits import brand_families
from analysis.tables.errors import AnalysisError
from tests.analysis.conjoint.conftest import simulate_cards


def test_text_and_numbers_encode_alike() -> None:
    table = simulate_cards(sets=20)
    text = table.assign(
        attr_stars=table["attr_stars"].astype(str),
        attr_cancellation=table["attr_cancellation"].map({1: "Yes", 0: "no"}),
        attr_breakfast=table["attr_breakfast"].map({1: "True", 0: "0"}),
    )
    pd.testing.assert_frame_equal(
        encode(table).rows[["stars", "cancel", "breakfast", "bed_rank"]],
        encode(text).rows[["stars", "cancel", "breakfast", "bed_rank"]],
    )


def test_letters_stay_when_the_order_is_reversed() -> None:
    rows = encode(simulate_cards(sets=10)).rows
    assert (rows.groupby(["set", "option"])["letter"].nunique() == 1).all()
    assert (rows.groupby(["set", "option"])["position"].nunique() <= 2).all()
    assert sorted(rows["block"].unique()) == ["binary", "ternary"]


def test_a_price_shown_in_both_orders_and_to_two_agents_counts_once() -> None:
    table = simulate_cards(sets=15, agents=("one", "two"))
    cards = encode(table)
    assert len(cards.prices("binary")) == 30 and len(cards.prices("ternary")) == 45
    assert len(cards.prices(POOLED)) == 75


def test_an_absent_attribute_is_left_out_and_said() -> None:
    cards = encode(simulate_cards(sets=10).drop(columns=["attr_room", "rating"]).assign(attr_stars=""))
    assert cards.controls == ("cancel", "breakfast", "review_count_100")
    assert cards.notes == ("No stars, bed_rank, review_score in this table: left out of the models.",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attr_stars": "many"}, "study.csv: row 1: attr_stars: 'many' is not a number from 0; correct it"),
        ({"attr_breakfast": "maybe"}, "attr_breakfast: 'maybe' is not 1 or 0, yes or no"),
    ],
)
def test_a_broken_value_is_one_line(change: dict[str, object], message: str) -> None:
    table = simulate_cards(sets=3).assign(**change)
    table.attrs["source"] = "study.csv"
    with pytest.raises(AnalysisError, match=message):
        encode(table)


def test_other_chains_get_other_families() -> None:
    table = simulate_cards(sets=10)
    assert brand_families(encode(table)) == ("Hilton", "Hyatt", "Wyndham")
    own = table.assign(attr_chain=np.where(np.arange(len(table)) % 3, "Alpha", "Beta"))
    assert brand_families(encode(own)) == ("Beta",)
    assert brand_families(encode(table.drop(columns="attr_chain"))) == ()


@pytest.mark.parametrize(
    ("room", "rank"),
    [
        ("Deluxe KING (1 king bed)", 3),
        ("Queen Pod", 2),
        ("Full Bunk Pod", 1),
        ("Full Pod (1 twin bed)", 1),
        ("Twin", 0),
        ("Suite", 1),
    ],
)
def test_bed_ranks(room: str, rank: float) -> None:
    assert bed_rank(room) == rank


def test_families_are_tried_in_order() -> None:
    assert chain_family("Hilton by Marriott") == "Hilton"
    assert chain_family("The Corner House") == "Independent"


@given(st.lists(st.integers(1, 2000).map(float), min_size=1, max_size=200))
def test_every_price_falls_into_a_decile(prices: list[float]) -> None:
    edges = decile_edges(prices)
    found = decile(prices, edges)
    assert found.min() >= 1 and found.max() <= len(edges) - 1
    assert all(edges[k - 1] < price <= edges[k] for price, k in zip(prices, found, strict=True))
