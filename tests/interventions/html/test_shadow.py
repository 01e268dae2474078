"""Declarative shadow trees: edits reach into them, and nothing else of the page changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.html.shadow import closed, opened
from tests.interventions.rewriting import rewritten, site_of

PIECES = (
    "<template>",
    "</template>",
    "<template shadowrootmode=open>",
    '<TEMPLATE id=a shadowrootmode="Open">',
    "<template shadowrootmode=closed>",
    "<script>'<template shadowrootmode=open>'</script>",
    "<!-- <template shadowrootmode=open> -->",
    "<p class=price>",
    "<table>",
    "text",
)


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_names_are_put_back(text: str) -> None:
    source = text.encode()
    assert len(opened(source)) == len(source)
    assert closed(opened(source)) == source


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_a_price_in_a_shadow_tree(mode: str) -> None:
    page = (
        f"<!doctype html><meta charset=utf-8><body class=product><a-lamp><template shadowrootmode={mode}>"
        "<b>a</b><p class=price>$12.00</p><template><p class=price>$13.00</p></template></template>"
        "<i>b</i></a-lamp></body>"
    )
    site = site_of({"product.price": "p.price"}, pages={"product": "body.product"})
    done = rewritten(page, None, {"set_price": 9}, site=site)
    wanted = page.replace("$12.00", "$9.00") if mode == "open" else page
    assert done.body.decode() == wanted
