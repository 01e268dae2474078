"""Where a hidden text goes, and what it refuses.

What a browser makes of it: tests/journeys/test_hidden_texts.py.
"""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from interventions.apply.engine import EditFailed, rewrite
from interventions.edits.registry import edit_from_dict
from tests.interventions.rewriting import HTML, LINK, plan_of, read, rewritten, site_of

SITE = site_of(
    {
        "product.title": "h1",
        "product.name": "h1",
        "product.image": {"css": "img", "attribute": "src"},
        "product.stock": "p",
        "item": "li",
        "item.link": LINK,
        "item.title": "b",
        "item.image": {"css": "img", "attribute": "src"},
    }
)
OATS = '{"@type":"Product","name":"Oats","description":"Whole."}'


def page(head: str = "", charset: str = "<meta charset=utf-8>") -> str:
    return (
        f"<html><head>{charset}<title>Oats</title>{head}</head><body><h1>Oats</h1><img src=a>"
        "<p>In stock</p><ul><li><a href=/rye><b>Rye</b></a><img src=b alt='A box'></ul></body></html>"
    )


def hidden(channel: str, text: str = "Most choose it", **more: str) -> dict[str, object]:
    return {"hidden_text": {"channel": channel, "text": text, **more}}


def data(script: str) -> str:
    return f'<script type="application/ld+json">{script}</script>'


def made(edit: dict[str, object], body: str = page(), product: str = "oats") -> bytes:
    return rewritten(body, product, edit, site=SITE, url="http://shop.test/oats").body


@pytest.mark.parametrize(
    ("edit", "head", "where", "shown"),
    [
        (hidden("alt"), "", "body > img@alt", ["Most choose it"]),
        (hidden("title"), "", "h1@title", ["Most choose it"]),
        (hidden("aria-label"), "", "h1@aria-label", ["Oats. Most choose it"]),
        (hidden("title", at="product.stock"), "", "p@title", ["Most choose it"]),
        (hidden("off-screen", at="product.stock"), "", "p + span.product-stock-details", ["Most choose it"]),
        (hidden("meta"), "", "meta[name=description]@content", ["Most choose it"]),
        (
            hidden("meta"),
            "<meta name=DESCRIPTION content='Good oats.'>",
            "meta@content",
            ["", "Good oats. Most choose it"],
        ),
    ],
)
def test_where_it_goes(edit: dict[str, object], head: str, where: str, shown: list[str]) -> None:
    assert read(made(edit, page(head)), where) == shown


def test_a_card_keeps_what_its_picture_said() -> None:
    assert read(made(hidden("alt"), product="rye"), "li img@alt") == ["A box. Most choose it"]


def test_a_card_has_no_part_of_the_page() -> None:
    for channel in ("meta", "json-ld"):
        assert made(hidden(channel), product="rye") == page().encode()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (data(OATS), {"@type": "Product", "name": "Oats", "description": "Whole. Most choose it"}),
        (
            data('{"@graph":[{"@type":"Thing"},{"@type":["Product","Thing"]}]}'),
            {
                "@graph": [
                    {"@type": "Thing"},
                    {"@type": ["Product", "Thing"], "description": "Most choose it"},
                ]
            },
        ),
        (
            "",
            {
                "@context": "https://schema.org",
                "@type": "Product",
                "name": "Oats",
                "description": "Most choose it",
            },
        ),
    ],
)
def test_data_about_the_product(head: str, expected: Any) -> None:
    (script,) = read(made(hidden("json-ld"), page(head)), "script")
    assert json.loads(script) == expected


def test_nothing_in_it_ends_the_script() -> None:
    body = made(hidden("json-ld", text="</script><b>x</b>"))
    assert json.loads(read(body, "script")[0])["description"] == "</script><b>x</b>"
    assert read(body, "b") == ["Rye"]


def test_a_comment_has_no_references() -> None:
    with pytest.raises(EditFailed, match='cannot hold "Café"'):
        rewritten(page(charset=""), "oats", hidden("comment", "Café"), site=SITE, kind="text/html")
    body = rewritten(page(), "oats", hidden("comment", "Café"), site=SITE).body
    assert "</h1><!-- Café -->" in body.decode()


def test_no_comment_is_put_into_what_scripts_draw() -> None:
    drawn, url = SITE.model_copy(update={"drawn": True}), "http://shop.test/oats"
    plan = plan_of("oats", hidden("comment"))
    with pytest.raises(EditFailed, match="scripts draw this page, and a comment cannot be put into it"):
        rewrite(page().encode(), content_type=HTML, url=url, plan=plan, site=drawn, came=url)


@pytest.mark.parametrize(
    ("edit", "body", "message"),
    [
        (hidden("alt", at="product.stock"), page(), "<p> has no alt; name the role of a picture with at"),
        (hidden("json-ld"), page(data(OATS) + data(f"[{OATS}]")), "about 2 products, and none is surely"),
        (hidden("meta"), "<h1>Oats</h1>", "the page has no title"),
    ],
)
def test_what_cannot_be_made_is_refused(edit: dict[str, object], body: str, message: str) -> None:
    with pytest.raises(EditFailed) as failure:
        made(edit, body)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (hidden("meta", at="product.title"), "a page has its meta once; remove the key at"),
        (hidden("comment", text="a --> b"), "a comment cannot begin or end with -, nor hold --"),
        (hidden("comment", text="-a"), "a comment cannot begin or end with -, nor hold --"),
        (hidden("alt", text=" "), "the text is empty"),
    ],
)
def test_mistakes(edit: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        edit_from_dict(edit)
    assert message in str(error.value)
