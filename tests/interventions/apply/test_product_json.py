"""Products in JSON: what is written, what is kept, what is refused."""

import codecs
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.apply.engine import EditFailed, Rewrite
from interventions.apply.product_json import Document
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import Data, load_site_map
from tests.interventions.rewriting import rewritten, site_of
from tests.interventions.shop_pages import HOST, KEY, product_page

SITE = load_site_map("onestopmarket")
SECTIONS = f"{HOST}customer/section/load/?sections=cart"
ROLES = {"price": ["$.price", "$.amount"], "quantity": "$.qty"}
ENTRY = Data(url="*", link="$.url", roles=ROLES, totals="$.sum")
LIST = Data.model_validate(ENTRY.model_dump() | {"items": "$.items[*]", "totals": ["$.sum", "$.text"]})


def written(
    root: object, value: Decimal | str = Decimal("12.5"), part: str = "price", data: Data = ENTRY
) -> Any:
    """The data after one value was written into each object that is found."""
    document = Document(json.dumps(root))
    for _, entry in document.entries(data, HOST):
        if entry.has(part):
            entry.write(part, value)
    return json.loads(document.text())


def cart(**item: object) -> dict[str, object]:
    """What the cart's script fetches, with two units of the product."""
    mine = {"product_url": f"{HOST}{KEY}.html", "qty": 2, "product_price_value": 19.99}
    mine |= {"product_price": '<span class="price">$19.99</span>'} | item
    return {"cart": {"items": [mine], "subtotal": "$39.98"}, "messages": {"messages": []}}


def run(body: bytes, *edits: dict[str, object], content_type: str = "application/json") -> Rewrite:
    return rewritten(body, KEY, *edits, site=SITE, url=SECTIONS, kind=content_type)


# Values in their forms


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (19.99, 12.5),
        (20, 12.5),
        ("19.99", "12.5"),
        ("$19.99", "$12.50"),
        ("$1,234.00", "$12.50"),
        ("1.234,00 €", "12,50 €"),
        ("19,99&nbsp;&euro;", "12,50&nbsp;&euro;"),
        ('<span class="price" data-n="3">$19.99</span>', '<span class="price" data-n="3">$12.50</span>'),
        ("&#36;19.99", "&#36;12.50"),
        (10**30, 12.5),
        (1e300, 12.5),
        ("<b>$19<sup>99</sup></b>", "<b>$12<sup>50</sup></b>"),
        ("<i>19</i><i>,</i><i>99</i> €", "<i>12</i><i>,</i><i>50</i> €"),
        (None, None),
        (True, True),
        ([19.99], [19.99]),
        ({"value": 19.99}, {"value": 19.99}),
    ],
)
def test_a_price_keeps_the_form_it_has(before: object, after: object) -> None:
    assert written({"url": "/a", "price": before}) == {"url": "/a", "price": after}


def test_a_whole_price_is_a_whole_number() -> None:
    assert written({"price": 19.99}, Decimal("10.00")) == {"price": 10}
    assert json.dumps(written({"price": 19.99}, Decimal("10.00"))) == '{"price": 10}'


@pytest.mark.parametrize("before", ["", "soon", "$10 and $20", "$0 – $20 or 1", "<b>1</b> 2"])
def test_a_text_without_exactly_one_figure_is_refused(before: str) -> None:
    with pytest.raises(CannotEdit, match="do not hold exactly one figure"):
        written({"price": before})


LOW_AND_TEXT = [{"path": "$.low", "factor": 100}, "$.text"]
RANGES = Data(css="script", roles={"price": LOW_AND_TEXT, "high_price": "$.high"})


def test_the_upper_end_of_a_range_follows() -> None:
    text = "<b>$10.00</b> &ndash; <b>$24.90</b>"
    after = written({"text": text, "low": 1000, "high": 2490}, data=RANGES)
    assert after == {"text": "<b>$12.50</b> &ndash; <b>$31.13</b>", "low": 1250, "high": 3113}
    with pytest.raises(CannotEdit, match="no price that they begin at"):
        written({"low": 0, "high": 2490}, data=RANGES)


def test_every_place_of_a_part_is_written() -> None:
    assert written({"price": "$1.00", "amount": 1}) == {"price": "$12.50", "amount": 12.5}
    assert written({"amount": 1}) == {"amount": 12.5}
    assert written({"name": 1}) == {"name": 1}


@pytest.mark.parametrize(("quantity", "total"), [(2, 45.0), ("3", 57.5), (None, 32.5), ("many", 32.5)])
def test_totals_follow_by_the_quantity(quantity: object, total: float) -> None:
    items = [{"price": 0, "qty": quantity}]
    root = {"items": items, "sum": 20, "text": "$1,020.00 in all"}
    after = written(root, data=LIST)
    assert after["sum"] == total
    assert after["text"] == f"${total + 1000:,.2f} in all"


def test_of_two_equal_names_the_last_one_counts_as_for_scripts() -> None:
    document = Document('{"price": 1, "price": 2}')
    ((_, entry),) = document.entries(ENTRY, HOST)
    assert entry.write("price", Decimal(5)) == [("2", "5")]
    assert document.text() == '{"price":5}'


# Which product


def test_the_product_is_the_one_that_the_data_link_to() -> None:
    document = Document(
        json.dumps({"items": [{"url": "/a.html"}, {"url": "https://x.test/B.html?c"}, {"url": 3}]})
    )
    assert [key for key, _ in document.entries(LIST, HOST)] == ["a", "b", ""]
    assert [key for key, _ in document.entries(LIST, HOST, "own")] == ["a", "b", "own"]
    two = Document('{"items": [{}, {}]}')
    assert [key for key, _ in two.entries(LIST, HOST, "own")] == ["", ""]


def test_a_link_to_the_first_page_is_no_link_to_the_page_s_own_product() -> None:
    """As in the path of links above a product: Home, Lamps, the lamp."""
    crumbs = Document('[{"url": "/", "name": "Home"}, {"url": "/lamps"}, {"url": "/lamps/own"}]')
    data = LIST.model_copy(update={"items": "$[*]"})
    assert [key for key, _ in crumbs.entries(data, HOST, "lamps/own")] == ["", "lamps", "lamps/own"]


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("$", 1),
        ("$.items[*]", 2),
        ("$..offer", 1),
        ('$["a/b"].offer', 1),
        ("$..[?@.price > 2]", 2),
        ("$.nowhere[*]", 0),
        ("$..missing", 0),
    ],
)
def test_where_the_objects_are(items: str, found: int) -> None:
    text = '{"items": [{"price": 1}, {"price": 3}], "a\\/b": {"offer": {"price": 4}}, "c": 5}'
    assert len(Document(text).entries(ENTRY.model_copy(update={"items": items}), HOST)) == found


# Prices in cents, sums of lines, slugs

VENDURE = Data(
    url="/shop-api",
    items="$..lines[*]",
    link={"path": "$.variant.slug", "page": "/product/${value}"},
    roles={
        "price": [{"path": "$.unitPriceWithTax", "factor": 100}, "$.shown"],
        "quantity": "$.quantity",
        "subtotal": "$.linePriceWithTax",
    },
    totals=["$.order.totalWithTax", "$.order.text"],
)


def order(quantity: int = 2, cents: int = 129900) -> dict[str, Any]:
    line = {"variant": {"slug": "desk-lamp"}, "quantity": quantity, "shown": f"${cents / 100:,.2f}"}
    line |= {"unitPriceWithTax": cents, "linePriceWithTax": cents * quantity}
    total = cents * quantity + 500
    return {"order": {"lines": [line], "totalWithTax": total, "text": f"${total / 100:,.2f}"}}


def test_cents_as_text_stay_text() -> None:
    data = Data(url="*", roles={"price": {"path": "$.price", "factor": 100}})
    assert written({"price": "129900"}, Decimal("1049.50"), data=data) == {"price": "104950"}


def test_a_price_that_is_no_whole_number_of_cents_is_refused() -> None:
    data = Data(url="*", roles={"price": {"path": "$.price", "factor": 10}})
    with pytest.raises(CannotEdit, match=r"^1049\.55 times the factor 10 is no whole number$"):
        written({"price": 12990}, Decimal("1049.55"), data=data)


@given(st.integers(1, 9), st.integers(1, 10**7), st.integers(1, 10**7))
def test_an_order_of_one_line_adds_up(quantity: int, old: int, new: int) -> None:
    after = written(order(quantity, old), Decimal(new) / 100, data=VENDURE)
    assert json.dumps(after) == json.dumps(order(quantity, new)), "cents stay whole numbers"


def test_a_slug_leads_to_the_product_s_page() -> None:
    document = Document(json.dumps(order()))
    assert [key for key, _ in document.entries(VENDURE, "http://shop.test/shop-api")] == ["product/desk-lamp"]
    by_number = Data.model_validate(
        {"url": "*", "link": {"path": "$.id", "page": "/p/${value}.html"}, "roles": {}}
    )
    found = Document('{"id": 7}').entries(by_number, "http://shop.test/api/products/7")
    assert [key for key, _ in found] == ["p/7"]


def test_a_template_without_the_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r'"/p/" does not say where the value stands'):
        Data.model_validate({"url": "*", "link": {"path": "$.id", "page": "/p/"}, "roles": {}})


# Answers


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        (")]}',\n", ""),
        ("while(1);", ""),
        ("callback(", ");"),
        ("\ufeff", ""),
        (" \n", ";\n"),
        ("", "\n// end"),
    ],
)
def test_what_stands_around_the_data_is_kept(before: str, after: str) -> None:
    body = (before + json.dumps(cart()) + after).encode()
    changed = run(body, {"set_price": 5}).body.decode()
    assert changed.startswith(before)
    assert changed.endswith("}" + after)
    assert "$5.00" in changed
    assert "$19.99" not in changed


@pytest.mark.parametrize("bom", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_data_in_utf_16(bom: bytes) -> None:
    codec = "utf-16-le" if bom == codecs.BOM_UTF16_LE else "utf-16-be"
    body = bom + json.dumps(cart(product_name="Süß"), ensure_ascii=False).encode(codec)
    changed = run(body, {"set_price": 5}).body
    assert changed.startswith(bom)
    assert json.loads(changed.decode("utf-16"))["cart"]["items"][0]["product_price_value"] == 5
    assert json.loads(changed.decode("utf-16"))["cart"]["items"][0]["product_name"] == "Süß"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'"x {}"',
        b'{"cart": []}',
        b'{"cart": {"items": 3}}',
        b'{"cart": {"items": [null, 3, {}]}}',
        b'{"cart": {"items": [{"product_url": "/other.html", "product_price": "$1"}]}}',
    ],
)
def test_an_answer_without_the_product_is_the_same_object(body: bytes) -> None:
    assert run(body, {"set_price": 5}).body is body


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>an error</html>", "the data is not valid JSON"),
        (b'{"cart": ', "the data is not valid JSON"),
        (b'{"cart": NaN}', "the data is not valid JSON"),
        (b'{"a": ' * 100_000, "the data is not valid JSON"),
        (b"\xff\xfe\x00", "the data is not valid utf-16-le"),
        (json.dumps(cart(product_price="soon")).encode(), 'the data "soon" do not hold exactly one figure'),
        (
            json.dumps(cart()).replace('"messages": []', '"messages": 1e999').encode(),
            "a number that JSON cannot write",
        ),
    ],
)
def test_an_answer_that_cannot_be_kept_in_step_is_not_shown(body: bytes, reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        run(body, {"set_price": 5})


def test_other_answers_pass() -> None:
    body = json.dumps(cart()).encode()
    assert run(body, {"set_price": 5}, content_type="text/csv").body is body
    assert run(body, {"set_price": 5}, content_type="text/plain").receipts
    assert run(body, {"insert_text": {"after": "product.title", "text": "x"}}).body is body


# Data in a page


def embedded(text: str) -> bytes:
    return product_page(extra=f'<script type="text/x-magento-init">{text}</script>')


CONFIG = {
    "*": {
        "priceBox": {"priceConfig": {"prices": {"finalPrice": {"amount": 19.99}}}},
        "a": "</p> \u2028 é <!--",
    }
}


def test_data_in_a_script_are_kept_in_step_and_cannot_end_it() -> None:
    result = run(
        embedded(json.dumps(CONFIG).replace("</", "<\\/")), {"set_price": 5}, content_type="text/html"
    )
    script = result.body.partition(b'x-magento-init">')[2].partition(b"</script>")[0]
    assert b"<" not in script
    assert json.loads(script) == {**CONFIG, "*": {**CONFIG["*"], "priceBox": {
        "priceConfig": {"prices": {"finalPrice": {"amount": 5}}}
    }}}  # fmt: skip
    assert [r.role for r in result.receipts] == ["product.price", "data.price"]


@pytest.mark.parametrize(
    "text", ["", "not json", '{"a": ', "{priceBox: {priceConfig: {}}}", "\\u007b", '"priceConfig"']
)
def test_a_script_that_is_no_json_is_left_alone(text: str) -> None:
    page = embedded(text)
    after = run(page, {"set_price": 5}, content_type="text/html").body
    assert f'x-magento-init">{text}</script>'.encode() in after
    assert b"$5.00" in after


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)


@pytest.mark.slow
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_is_not_edited_means_the_same(rest: Any) -> None:
    root = {"rest": rest, "url": "/a", "price": "$1.00"}
    assert written(root) == {"rest": rest, "url": "/a", "price": "$12.50"}


@pytest.mark.parametrize("css", ['script[type="application/ld+json"]', "[type='application/ld+json']"])
@pytest.mark.parametrize(
    "kind",
    [
        "application/ld+json",
        "application/ld+json; charset=utf-8",
        " Application/LD+JSON",
        "application/ld+json ",
    ],
)
def test_a_map_s_type_of_data_is_met_however_the_page_writes_it(css: str, kind: str) -> None:
    data = [{"css": css, "items": "$", "roles": {"price": "$.price"}}]
    page = f'<h1>Lamp</h1><b>$7.00</b><script type="{kind}">{{"price": "7.00"}}</script>'
    done = rewritten(page, "lamp", {"set_price": 5}, site=site_of({"product.price": "b"}, data=data))
    assert [receipt.role for receipt in done.receipts] == ["product.price", "data.price"]
    assert done.body.decode() == page.replace("$7.00", "$5.00").replace('": "7.00"', '":"5"')
