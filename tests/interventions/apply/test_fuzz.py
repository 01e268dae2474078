"""Whatever the page and the plan: a rewrite that leaves everything else alone, or EditFailed."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from tests.interventions.apply.test_plan import EVERY_EDIT
from tests.interventions.rewriting import plan_of
from tests.interventions.shop_pages import HOST, KEY, card, cart_page, category_page, home_page, product_page
from tests.support import size

SITE = load_site_map("onestopmarket")
PAGES = [
    product_page(extra=card("other", 2)),
    category_page(card(KEY, 1), card("other", 2), card("third", 3)),
    home_page(card("other", 1), card(KEY, 2)),
    cart_page((KEY, "$19.99", 3, "$59.97"), ("other", "$1,000.00", 1, "$1,000.00"), total="$1,059.97"),
]
EDITS = [
    *EVERY_EDIT,
    edit_from_dict({"insert_text": {"before": "product.price_box", "text": "x", "style": "badge"}}),
    edit_from_dict({"insert_text": {"prepend": "css:div.stock", "text": "Best seller — é"}}),
    edit_from_dict({"set_attribute": {"role": "product.title", "name": "title", "value": '"<>&'}}),
]
PLANS = st.lists(
    st.builds(
        Treatment,
        st.just("x"),
        st.sampled_from([KEY, KEY, "other"]),
        st.lists(st.sampled_from(EDITS), min_size=1, max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=2,
).map(lambda treatments: Plan(tuple(treatments)))
TYPES = ["text/html", "text/html; charset=utf-8", "text/html; charset=gbk", "text/html; charset=utf-16", ""]


def run(body: bytes, plan: Plan, content_type: str = "text/html; charset=utf-8") -> Rewrite | None:
    url = f"{HOST}customer/section/load/?sections=cart" if "json" in content_type else f"{HOST}page"
    try:
        return rewrite(body, content_type=content_type, url=url, plan=plan, site=SITE)
    except EditFailed as failure:
        assert failure.reason
        return None


@settings(max_examples=size(50, 200))
@given(st.binary(max_size=300), PLANS, st.sampled_from(TYPES))
def test_any_bytes(noise: bytes, plan: Plan, content_type: str) -> None:
    run(noise, plan, content_type)


@pytest.mark.slow
@settings(max_examples=size(60, 300))
@given(st.data(), st.sampled_from(PAGES), PLANS, st.sampled_from(TYPES))
def test_a_damaged_page(data: st.DataObject, page: bytes, plan: Plan, content_type: str) -> None:
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(page)))
        noise = data.draw(
            st.one_of(st.sampled_from([b"<", b">", b'"', b"<!--", b"</div>", b"<b>"]), st.binary())
        )
        page = page[:start] + noise + page[start + data.draw(st.integers(0, 40)) :]
    page = page[: data.draw(st.one_of(st.just(len(page)), st.integers(0, len(page))))]
    run(page, plan, content_type)


@settings(max_examples=size(40, 100))
@given(st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just("$19.99")),
    lambda inner: st.one_of(
        st.lists(inner), st.dictionaries(st.sampled_from(["cart", "items", "product_price", "qty"]), inner)
    ),
), PLANS)  # fmt: skip
def test_any_json(root: object, plan: Plan) -> None:
    entry = {"product_url": f"/{KEY}.html", "product_price": root, "qty": root}
    for tree in (root, {"cart": {"items": [entry], "subtotal": root}}):
        run(json.dumps(tree).encode(), plan, "application/json")


@settings(max_examples=size(40, 150))
@given(st.binary(min_size=4, max_size=60), st.sampled_from(PAGES), PLANS)
def test_what_no_edit_touches_stays_byte_for_byte(noise: bytes, page: bytes, plan: Plan) -> None:
    assume(noise not in page)
    page = page.replace(b"</header>", noise + b"</header>") + noise
    if result := run(page, plan):
        assert result.body.endswith(noise)
        assert result.body.count(noise) == page.count(noise)
        assert result.receipts or result.body is page


@pytest.mark.parametrize(
    "around",
    [
        "<div>" * 10_000 + "{}",
        "<b>" * 10_000 + "{}",
        "<ul><li>" * 5_000 + "{}",
        "<table><tr><td>" * 2_000 + "{}",
        "<font><p>" * 3_000 + "{}",
        f"<div title='{'x' * 1_000_000}'>{{}}",
        f"<div {'a=b ' * 100_000}>{{}}",
        f"<!--{'<' * 500_000}-->{{}}",
        f"{'<' * 300_000}{{}}",
        f"{'<a ' * 100_000}{{}}",
        f"""{"<a title='" * 50_000}{{}}""",
        f"{'&' * 500_000}{{}}",
    ],
    ids=lambda around: f"{around[:16]} x {len(around):,}",
)
@pytest.mark.timeout(20)
def test_monstrous_pages_end(around: str) -> None:
    main = product_page().decode().partition("<main")[2].partition("</main>")[0]
    page = product_page().decode().replace(main, around.format(main)).encode()
    edits = {"insert_text": {"after": "product.title", "text": "x"}}, {"set_price": 5}, {"set_stock": "x"}
    run(page, plan_of(KEY, *edits, {"set_title": "x"}))
