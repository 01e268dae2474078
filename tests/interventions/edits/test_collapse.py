"""What is put behind a label, and where that cannot be done.

That it is seen only once it is opened: tests/journeys/test_collapsed.py.
"""

import pytest

from interventions.apply.engine import EditFailed
from tests.interventions.rewriting import Edit, read, rewritten, site_of

SITE = site_of({"product.title": "h1", "product.description": "#d", "product.stock": "p"})
COLLAPSE: Edit = {"collapse": {"role": "product.description", "label": "More é & <b>"}}


def page(inner: str) -> str:
    return f"<html><body><h1>Oats</h1><div id=d>{inner}</div><p>x</p><p>y</p></body></html>"


def closed(inner: str, *before: Edit) -> bytes:
    return rewritten(page(inner), "oats", *before, COLLAPSE, site=SITE).body


@pytest.mark.parametrize(
    "inner", ["Good", "<p>Good</p><ul><li>12", "<b>bad", "<p>para", "<table><tr><td>1", "<div>y</div>"]
)
def test_all_content_is_kept_within(inner: str) -> None:
    shown = closed(inner)
    opening = '<details class="product-description-details"><summary>More é &amp; &lt;b&gt;</summary>'
    assert shown == page(f"{opening}{inner}</details>").encode()
    assert read(shown, "#d > details > summary") == ["More é & <b>"]
    assert read(shown, "details ~ *") == []


@pytest.mark.parametrize("inner", ["x</details>y", "<svg>", "</div>y"])
def test_markup_that_would_not_stay_within(inner: str) -> None:
    with pytest.raises(EditFailed, match=r"too irregular|no text in it"):
        closed(inner)


def test_other_edits_of_the_text() -> None:
    new: Edit = {"rewrite_text": {"in": "product.description", "text": "New"}}
    assert read(closed("<i>Old</i>", new), "details") == ["More é & <b>New"]


@pytest.mark.parametrize(
    ("role", "reason"),
    [("product.title", "<h1> cannot hold it"), ("product.stock", "there are 2 elements; name one with css:")],
)
def test_what_cannot_be_collapsed(role: str, reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        rewritten(page("Good"), "oats", {"collapse": {"role": role, "label": "More"}}, site=SITE)
