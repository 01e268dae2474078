"""Titles with promotional or multi-pack wording, by phrases."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.designs.catalogue.titles import load_patterns

STUDY = Path(__file__).parents[5] / "shared/data/abxlab"
SHIPPED = load_patterns()


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Mint Mouthwash, 8 Ounce (Pack of 2)", "multi-pack"),
        ("Mint Mouthwash 3-Pack", "multi-pack"),
        ("Mint Mouthwash 12pack", "multi-pack"),
        ("Mint Mouthwash, Two Pack", "multi-pack"),
        ("Ceramic plants, set of three", "multi-pack"),
        ("MULTI PACK of yogurts", "multi-pack"),
        ("Our Bestseller Cookies", "promotional"),
        ("Best-Seller: cookies", "promotional"),
        ("Cookies, LIMITED EDITION", "promotional"),
        ("Cookies with free shipping", "promotional"),
        ("Cookies on sale", "promotional"),
        ("Mint Mouthwash (Pack of 1)", None),
        ("Mint Mouthwash, 1 Pack", None),
        ("Backpack of canvas", None),
        ("Wholesale grain mill", None),
        ("Camera, bulk packaging", None),
        ("Salem Oat Cookies, 12 oz", None),
        ("Lens 24-105mm f/4", None),
    ],
)
def test_shipped_phrases(title: str, kind: str | None) -> None:
    assert SHIPPED.kind_of(title) == kind


@given(st.text(max_size=300))
def test_any_text_is_judged_the_same_in_small_and_large_letters(title: str) -> None:
    """And at once: phrases cannot make the search slow."""
    if title.isascii():
        assert SHIPPED.kind_of(title.lower()) == SHIPPED.kind_of(title.upper())
    assert SHIPPED.kind_of(f"{title} pack of 6") in ("multi-pack", "promotional")


def test_phrases_of_one_s_own_are_phrases_and_not_expressions(tmp_path: Path) -> None:
    path = tmp_path / "phrases.yaml"
    path.write_text("patterns: {odd: ['(a+)+b.', 'lot N']}", encoding="utf-8")
    patterns = load_patterns(path)
    assert patterns.kind_of("aaaab!") is None
    assert patterns.kind_of("an odd (A+)+B. sign") == "odd"
    assert patterns.kind_of("Lot 12, oak") == "odd"
