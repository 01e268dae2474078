"""Figures in the format that they stand in."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.html.numbers import read_figure, write_like


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$19.99", "19.99"),
        ("$1,234.00", "1234"),
        ("US$ 12", "12"),
        ("1.234,50 €", "1234.5"),
        ("12,5 kg", "12.5"),
        ("1,234", "1234"),
        ("1.234", "1234"),
        ("¥1,234,567", "1234567"),
        ("width: 75%", "75"),
        ("No. 0.99.", "0.99"),
    ],
)
def test_reading(text: str, value: str) -> None:
    assert read_figure(text) == Decimal(value)


def test_no_figure() -> None:
    with pytest.raises(ValueError, match='no figure in "free"'):
        read_figure("free")


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("19.99", "5", "5.00"),
        ("19.99", "1234.5", "1,234.50"),
        ("1,999.00", "12.345", "12.35"),
        ("1999.00", "1234.5", "1234.50"),
        ("1.999,00", "1234.5", "1.234,50"),
        ("12,50", "0.99", "0,99"),
        ("12", "5", "5"),
        ("12", "5.5", "5.50"),
        ("1,234", "56789", "56,789"),
        ("1.234", "56789", "56.789"),
        ("12.5", "3", "3.0"),
    ],
)
def test_writing(old: str, value: str, new: str) -> None:
    assert write_like(old, Decimal(value)) == new


@pytest.mark.parametrize(("value", "new"), [("5.00", "5"), ("100", "100"), ("1234.50", "1234.5")])
def test_figures_for_programs_are_plain(value: str, new: str) -> None:
    assert write_like("19.99", Decimal(value), machine=True) == new


@given(st.decimals(0, 10**7, places=2), st.sampled_from(["1.00", "1,000.00", "1000.00", "1,00", "1.000,00"]))
def test_what_is_written_reads_the_same(value: Decimal, old: str) -> None:
    assert read_figure(write_like(old, value)) == value
