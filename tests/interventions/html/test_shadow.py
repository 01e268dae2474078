"""Declarative shadow trees: edits reach into them, and nothing else of the page changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.set_price import SetPrice
from interventions.html.shadow import closed, opened
from interventions.yaml.sitemap import PageTest, Place, SiteMap

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
    site = SiteMap(
        name="s",
        pages={"product": PageTest(css="body.product")},
        roles={"product.price": (Place(css="p.price"),)},
    )
    plan = Plan((Treatment("cheap", None, (SetPrice(9),)),))
    done = rewrite(
        page.encode(), content_type="text/html", url="https://shop.example/p", plan=plan, site=site
    )
    wanted = page.replace("$12.00", "$9.00") if mode == "open" else page
    assert done.body.decode() == wanted
