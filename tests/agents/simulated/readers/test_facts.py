"""Prices, ratings and numbers of reviews as shops write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.simulated.readers.card_text import to_alternative
from agents.simulated.readers.facts import price_in, rating_in, reviews_in
from agents.simulated.readers.product_page import read_facts


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("$1,299.00", 1299.0),
        ("1.299,00 €", 1299.0),
        ("€1.299,00", 1299.0),
        ("1 299,00 €", 1299.0),
        ("CHF 1’299.–", 1299.0),
        ("¥12,800", 12800.0),
        ("12,800円(税込)", 12800.0),
        ("₹1,29,900.00", 129900.0),
        ("١٬٢٩٩٫٠٠ ر.س", 1299.0),
        ("12€99", 12.99),
        ("12,90 € (2,58 €/100 g)", 12.9),
        ("$10 – $20", 10.0),
        ("10–20 €", 10.0),
        ("10 bis 24,90 € inkl. MwSt.", 10.0),
        ("Set of 2 – 20 €", 20.0),
        ("Size 5 $19.99 12 Reviews", 19.99),
        ("TOP 10 lamps, now $49", 49.0),
        ("EUR 12,50", 12.5),
        ("12 left, A4, 50%", None),
        ("Item Number B0631RM5UM", None),
    ],
)
def test_prices(text: str, price: float | None) -> None:
    assert price_in(text) == price


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("Rating: 76%", 76.0),
        ("4.3 out of 5 stars 127 ratings", 86.0),
        ("4,3 von 5 Sternen", 86.0),
        ("4.3/5", 86.0),
        ("4,3 sur 5", 86.0),
        ("8.6 of 10", 86.0),
        ("5つ星のうち4.3", 86.0),
        ("4 out of 5", 80.0),
        ("1/5 of the price", None),
        ("f/4.5 5 left", None),
        ("7 out of 5", None),
    ],
)
def test_ratings(text: str, rating: float | None) -> None:
    assert rating_in(text) == (None if rating is None else pytest.approx(rating))


@pytest.mark.parametrize(
    ("text", "reviews"),
    [
        ("4.3 out of 5 stars 127 ratings", 127),
        ("4.3 out of 5 127 ratings", 127),
        ("82 % of 100 100 Reviews", 100),
        ("1,212 Reviews", 1212),
        ("1.212 Bewertungen", 1212),
        ("1 212 avis", 1212),
        ("(127) customer reviews", 127),
        ("$19.99 Rating: 76%", 0),
        ("Be the first to review", 0),
    ],
)
def test_reviews(text: str, reviews: int) -> None:
    assert reviews_in(text) == reviews


def test_cards_in_other_formats() -> None:
    facts = [("Name", "Hotel"), ("Price", "1.299,00 € per night"), ("Guest rating", "8,6/10 (1.204 reviews)")]
    alternative = to_alternative(facts, viewed_first=True)
    assert (alternative.price, alternative.rating, alternative.reviews) == (1299.0, pytest.approx(86), 1204)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    price, rating, reviews = read_facts(text)
    assert price is None or price >= 0
    assert rating is None or rating >= 0
    assert reviews >= 0
