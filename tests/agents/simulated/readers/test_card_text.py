from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.simulated.readers.card_text import (
    bed_rank,
    family_of,
    read_options,
    to_alternative,
    to_alternatives,
)
from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities
from tests.agents.simulated.hotels import hotels

DATA = Path(__file__).parents[5] / "shared/data/pricebench"
LETTERS = "ABCDEFGH"

one_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=30).filter(
    str.strip
)


told = st.fixed_dictionaries(
    {
        "name": one_line,
        "room": one_line,
        "stars": st.integers(1, 5),
        "score": st.integers(0, 100).map(lambda tenths: tenths / 10),
        "reviews": st.integers(0, 99_999),
        "cancellation": st.sampled_from([0, 1]),
        "breakfast": st.sampled_from([0, 1]),
        "price": st.integers(1, 99_999),
    }
)


@given(st.lists(told, min_size=2, max_size=8))
def test_what_a_card_says_is_read_back(offered: list[dict[str, Any]]) -> None:
    card = hotels(*offered)
    options = read_options(card.prompt)
    assert "".join(options) == LETTERS[: len(offered)]
    for facts, shown, known in zip(options.values(), card.alternatives, offered, strict=True):
        assert facts == [(label, value.strip()) for label, value in shown.facts]
        read = to_alternative(facts, viewed_first=False)
        assert (read.price, read.stars, read.reviews) == (known["price"], known["stars"], known["reviews"])
        assert read.rating == pytest.approx(10 * known["score"])
        assert (read.cancellation, read.breakfast) == (known["cancellation"] == 1, known["breakfast"] == 1)


@given(st.text() | st.text(alphabet="Option AB:\n 12$%,./").map(lambda text: f"Option A:\n  {text}"))
def test_no_text_makes_reading_fail(text: str) -> None:
    probabilities = choice_probabilities(shipped_taste("balanced"), to_alternatives(read_options(text)))
    assert len(probabilities) == len(read_options(text))
    assert len(probabilities) == 0 or probabilities.sum() == pytest.approx(1)


def test_probabilities_are_those_of_the_alternatives() -> None:
    reade = {"name": "Hilton Reade", "stars": 3, "score": 9.1, "reviews": 88, "room": "Queen", "breakfast": 1}
    text = hotels({"name": "The Larch"}, reade | {"price": 1_099}).prompt
    taste = Taste(log_price=-2, rating=1, log_reviews=0.5, position=1, stars=2, cancellation=1, breakfast=1,
                  bed=1, brand={"Hilton": 3})  # fmt: skip
    expected = [
        DisplayedOption(250, 84, 1_234, viewed_first=True, stars=4, cancellation=True, bed=3),
        DisplayedOption(1_099, 91, 88, brand="Hilton", stars=3, cancellation=True, breakfast=True, bed=2),
    ]
    found = choice_probabilities(taste, to_alternatives(read_options(text)))
    np.testing.assert_allclose(found, choice_probabilities(taste, expected))


@pytest.mark.parametrize(
    ("room", "rank"),
    [
        ("Deluxe King (1 king bed)", 3),
        ("Two Queens or a King", 3),
        ("Standard Queen", 2),
        ("Double Room (2 double beds)", 1),
        ("Full Pod (1 twin bed)", 1),
        ("Cabin (2 twin beds)", 0),
        ("Single", 0),
        ("Dorm Bed (1 bunk bed)", 1),
        ("Loft", 1),
    ],
)
def test_bed_ranks(room: str, rank: int) -> None:
    assert bed_rank(room) == rank


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Hampton Inn Canal Street", "Hilton"),
        ("Courtyard by Marriott Bowery", "Marriott"),
        ("MOXY Harlem", "Marriott"),
        ("Holiday Inn Express Pearl Street", "IHG"),
        ("Andaz Tribeca", "Hyatt"),
        ("Wyndham Garden Chinatown", "Wyndham"),
        ("The Larch", None),
    ],
)
def test_chain_families(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_chain_families_of_real_hotels_are_mostly_those_of_the_published_table() -> None:
    path = DATA / "hotel_brands.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent: the public table is no part of the repository")
    table = pd.read_csv(path)
    found = table["name"].map(lambda name: family_of(name) or "Independent")
    assert (found == table["brand"]).mean() > 0.95, table[found != table["brand"]].assign(found=found)
