"""A whole text anew: which facts have to stay, and what goes."""

import pytest

from interventions.apply.engine import EditFailed
from tests.interventions.rewriting import read, rewritten, site_of

SITE = site_of({"product.title": "h1", "product.description": "div", "product.stock": "p"})
PAGE = (
    "<html><body><h1>Oats</h1><div><ul><li>Pack of 12</li><li>24 oz, $9.50</li></ul><b>100 %</b> whole</div>"
    "<p>Many</p><p>Few</p></body></html>"
)


def written(text: str, **more: str) -> bytes:
    return rewritten(
        PAGE, "oats", {"rewrite_text": {"in": "product.description", "text": text, **more}}, site=SITE
    ).body


@pytest.mark.parametrize(
    "text",
    [
        "Whole (100%) & good: 12 packs for $ 9.50 or so, 24oz",
        "100 % 12 24 OZ $9.5",
        "12, 12 of 24-oz, $9.50, 100%",
    ],
)
def test_the_whole_text_is_new(text: str) -> None:
    shown = written(text)
    assert read(shown, "div") == [text]
    assert read(shown, "li") == []
    assert read(shown, "h1") == ["Oats"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Pack of 12, $9.50, 100%", 'the new text lacks "24 oz"'),
        ("Pack of 12, 24 lb, $9.50, 100%", 'the new text lacks "24 oz"'),
        ("Pack of 12, 24 oz, 9.50, 100%", 'the new text lacks "9.50"'),
        ("Pack of 12, 24 oz, $9.50, 100%, 30 days", 'the old text does not say "30 days"'),
        ("Good", 'the new text lacks "100 %", "12", "24 oz", "9.50"'),
    ],
)
def test_facts_are_kept(text: str, reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        written(text)
    assert read(written(text, facts="free"), "div") == [text]


@pytest.mark.parametrize("minus", ["-", "\u2212"])
def test_a_minus_is_a_part_of_a_fact(minus: str) -> None:
    def told(text: str) -> list[str]:
        body = f"<html><body><h1>Oats</h1><div>Keeps at {minus}20 °C, 3-pack, 10-12 cm</div></body></html>"
        edit = {"rewrite_text": {"in": "product.description", "text": text}}
        return read(rewritten(body, "oats", edit, site=SITE).body, "div")

    assert told("3 of 10 to 12 cm, -20 °C") == ["3 of 10 to 12 cm, -20 °C"]
    with pytest.raises(EditFailed, match='the new text lacks "-20 °C"; name it'):
        told("3 of 10 to 12 cm, 20 °C")


def test_an_element_is_named() -> None:
    with pytest.raises(EditFailed, match="it has 2 texts; name one with css:"):
        rewritten(PAGE, "oats", {"rewrite_text": {"in": "product.stock", "text": "None"}}, site=SITE)
