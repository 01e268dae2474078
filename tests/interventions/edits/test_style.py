"""Where another look is written, what of the page's own stays, and what is refused.

What a browser makes of it: tests/journeys/test_looks.py.
"""

import pytest
from pydantic import ValidationError

from interventions.apply.engine import EditFailed
from interventions.edits.registry import edit_from_dict
from tests.interventions.rewriting import LINK, read, rewritten, site_of

SITE = site_of(
    {"product.title": "h1", "product.price": "p > span", "item": "li", "item.link": LINK, "item.title": "b"}
)
PAGE = (
    "<html><body><h1 style='margin:0; width: calc(1px'>Oats</h1><p><span>$5</span></p>"
    "<ul><li><a href=/rye><b>Rye</b></a></li><li><a href=/oats><b>Oats</b></a></li></ul></body></html>"
)
YELLOW = "background-color: yellow !important; background-image: none !important"


def styled(product: str, **look: object) -> bytes:
    return rewritten(PAGE, product, {"style": look}, site=SITE, url="http://shop.test/oats").body


def test_the_own_style_is_kept_behind() -> None:
    shown = styled("oats", role="product.title", background="yellow")
    assert read(shown, "h1@style") == [f"{YELLOW}; margin:0; width: calc(1px"]
    assert read(shown, "li b@style") == ["", YELLOW], "its card too"
    assert (
        shown.replace(f"{YELLOW}; ".encode(), b"").replace(f' style="{YELLOW}"'.encode(), b"")
        == PAGE.encode()
    )


def test_a_card_is_named_by_its_role() -> None:
    assert read(styled("rye", role="item", shadow=True, opacity=0.5), "li@style") == [
        "opacity: 0.5 !important; box-shadow: rgba(0, 0, 0, 0.4) 0px 4px 16px 0px !important",
        "",
    ]


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        (
            [{"role": "product.price", "scale": 1.2}],
            "<span> is a part of a line and has no scale; write size",
        ),
        (
            [{"role": "product.title", "size": 9}, {"role": "product.title", "blur": 1}],
            "has the last word already",
        ),
        ([{"role": "product.stock", "size": 9}], "has no such role"),
    ],
)
def test_what_cannot_be_done(edits: list[dict[str, object]], reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        rewritten(PAGE, "oats", *({"style": each} for each in edits), site=SITE)


@pytest.mark.parametrize(
    "look",
    [
        {},
        {"shadow": False},
        {"background": "url(x)"},
        {"scale": 2},
        {"opacity": 0},
        {"font": "Wingdings"},
        {"css": "x"},
    ],
)
def test_there_is_no_other_look(look: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        edit_from_dict({"style": {"role": "product.title", **look}})
