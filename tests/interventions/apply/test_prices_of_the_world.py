"""Prices and ratings on pages of many languages, in many encodings: what stands on the page afterwards."""

import re
from decimal import Decimal
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.apply.consistency import sightings
from interventions.apply.engine import EditFailed, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.html.numbers import NumberUsage, figures
from interventions.yaml.sitemap import SiteMap

URL = "http://shop.test/lamp"
SITE = SiteMap.model_validate(
    {
        "name": "world",
        "pages": {"product": "h1"},
        "roles": {
            "product.price": ["#price", {"css": "meta[itemprop=price]", "attribute": "content"}],
            "product.rating": [{"css": "#rating", "scale": 5}],
            "product.reviews": "#reviews",
        },
    }
)


def page(price: str, head: str = "", lang: str = "", rest: str = "") -> str:
    return f"""<!doctype html><html{f' lang="{lang}"' if lang else ""}><head>{head}</head>
<body><h1>Lamp</h1><p id=price>{price}</p>{rest}</body></html>"""


def edited(source: str, edit: dict[str, object], codec: str = "utf-8") -> LexborHTMLParser:
    plan = Plan((Treatment("the-id", "lamp", (edit_from_dict(edit),)),))
    body = rewrite(
        source.encode(codec),
        content_type=f"text/html; charset={codec}",
        url=URL,
        plan=plan,
        site=SITE,
    ).body
    return LexborHTMLParser(body.decode(codec), scripting=True)


def priced(source: str, price: str, codec: str = "utf-8") -> str:
    node = edited(source, {"set_price": price}, codec).css_first("#price")
    return node.text() if node else ""


@pytest.mark.parametrize(
    ("shown", "after"),
    [
        ("1.299,00 €", "1.049,50 €"),
        ("1\u202f299,00\u00a0€", "1\u202f049,50\u00a0€"),
        ("Prix\u00a0: 1\u202f299,00\u00a0€", "Prix\u00a0: 1\u202f049,50\u00a0€"),
        ("1&#8239;299,00&nbsp;&euro;", "1\u202f049,50\u00a0€"),
        ("1&nbsp;299,00 &euro;", "1\u00a0049,50 €"),
        ("1&nbsp299", "1\u00a0049,50"),
        ("CHF 1’299.00", "CHF 1’049.50"),
        ("CHF 1&rsquo;299.&ndash;", "CHF 1’049.50"),
        ("<span>¥</span><b>12,800</b>", "¥1,050"),
        ("12,800<small>円</small>", "1,050円"),
        ("₹1,29,900.00", "₹1,049.50"),
        ("١٬٢٩٩٫٠٠ ر.س", "١٬٠٤٩٫٥٠ ر.س"),
        ("from $10", "from $1,049.50"),
        ("$1,299<sup>00</sup>", "$1,04950"),
        # Of a range it is the lower end, and the upper one moves by the same factor.
        ("$10.00 – $24.90", "$1,049.50 – $2,613.26"),
        ("10,00 € bis 24,90 €", "1.049,50 € bis 2.613,26 €"),
        ("From $10.00 to $24.90", "From $1,049.50 to $2,613.26"),
        ("<i>$10.00</i> <i>&ndash;</i> <b>$24<sup>90</sup></b>", "$1,049.50 – $2,61326"),
        ("¥1,000〜¥2,500", "¥1,050〜¥2,624"),
        ("CHF 10.–20.–", "CHF 1’049.50–2’099.–"),
        ("1 000 – 2 500 €", "1 049,50 – 2 623,75 €"),
        ("١٬٠٠٠٫٠٠ – ٢٬٠٠٠٫٠٠ ر.س", "١٬٠٤٩٫٥٠ – ٢٬٠٩٩٫٠٠ ر.س"),
        ("10,00 bis 20,00 € (2,00 €/100 g)", "1.049,50 bis 2.099,00 € (209,90 €/100 g)"),
    ],
)
def test_a_price_is_written_in_the_page_s_format(shown: str, after: str) -> None:
    assert priced(page(shown), "1049.50") == after


@pytest.mark.parametrize(
    "shown",
    [
        "$10 – 20 pieces",
        "Set of 2 – 20 €",
        "Sizes 36-44, $20",
        "$10 – $20 – $30",
        "$0 – $20",
        "12,90 € (20 je Packung)",
        "12€99",
        "Size 42 299,00 €",
        "12.05.2024",
    ],
)
def test_a_text_with_more_than_one_price_is_refused(shown: str) -> None:
    with pytest.raises(EditFailed, match=r"exactly one figure|several prices|no figure|cannot be told"):
        priced(page(shown), "1049.50")


@pytest.mark.parametrize(
    ("codec", "shown", "after"),
    [
        ("cp1252", "Prix\u00a0: 1\u00a0299,00 €", "Prix\u00a0: 1\u00a0049,50 €"),
        ("shift_jis", "価格：12,800円（税込）", "価格：1,050円（税込）"),
        ("gb18030", "价格：¥12,800.00 元", "价格：¥1,049.50 元"),
        ("euc_kr", "가격 12,800원", "가격 1,050원"),
        ("utf-16-le", "1\u202f299,00 €", "1\u202f049,50 €"),
        ("cp1256", "السعر: 1,299.00 ريال", "السعر: 1,049.50 ريال"),
    ],
)
def test_a_price_is_written_in_the_page_s_encoding(codec: str, shown: str, after: str) -> None:
    lang = {"gb18030": "zh", "euc_kr": "ko", "shift_jis": "ja", "cp1256": "ar"}.get(codec, "")
    assert priced(page(shown, lang=lang), "1049.50", codec) == after


@pytest.mark.parametrize(
    ("lang", "head", "after"),
    [
        ("de", "", "1.299,50"),
        ("fr-FR", "", "1\u202f299,50"),
        ("", '<meta property="og:locale" content="de_CH">', "1’299,50"),
        ("", "", "1.299,50"),
    ],
)
def test_groups_that_the_price_does_not_show_are_the_language_s(lang: str, head: str, after: str) -> None:
    wanted = after if lang or not head else "1.299,50"  # Swiss prices have a point
    assert priced(page("19,99", head, lang), "1299.5") == wanted


def test_yen_get_no_cents_where_the_page_states_the_currency() -> None:
    head = '<meta property="product:price:currency" content="JPY">'
    assert priced(page("12,800", head), "1049.50") == "1,050"
    assert priced(page("12,800"), "1049.50") == "1,049.50"


def test_programs_read_a_plain_number() -> None:
    after = edited(page("1’299.–", "<meta itemprop=price content=1299.00>"), {"set_price": 949})
    assert [node.attributes["content"] for node in after.css("meta")] == ["949"]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_an_apostrophe_does_not_end_an_attribute(quote: str) -> None:
    meta = f"<meta itemprop=price content={quote}CHF 1&#39;299.50 &lt;{quote}>"
    after = edited(page("CHF 1'299.50", meta), {"set_price": 12949.5})
    assert [node.attributes["content"] for node in after.css("meta")] == ["CHF 12'949.50 <"]


@pytest.mark.parametrize(
    ("shown", "after"),
    [
        ("4.3 out of 5", "4.1 out of 5"),
        ("4,3 von 5 Sternen", "4,1 von 5 Sternen"),
        ("5つ星のうち4.3", "5つ星のうち4.1"),
        ("<b>4.3</b>/5", "4.1/5"),
        ("5 out of 5", "4.1 out of 5"),
        ("4", "4.1"),
    ],
)
def test_a_rating_beside_its_scale(shown: str, after: str) -> None:
    source = page("$5", rest=f"<p id=rating>{shown}</p>")
    node = edited(source, {"set_rating": 82}).css_first("#rating")
    assert node is not None
    assert node.text() == after
    seen = sightings(source.encode(), content_type="text/html", url=URL, site=SITE)
    (rating,) = [each.value for each in seen if each.part == "rating"]
    assert rating == Decimal(re.findall(r"[\d,.]*\d", shown)[shown.startswith("5つ")].replace(",", ".")) * 20


@pytest.mark.parametrize(
    ("shown", "after"), [("1.299 Bewertungen", "42 Bewertungen"), ("(1\u202f299)", "(42)"), ("٣٢١", "٤٢")]
)
def test_numbers_of_reviews_are_whole(shown: str, after: str) -> None:
    source = page("$5", lang="en", rest=f"<p id=reviews>{shown}</p>")
    node = edited(source, {"set_reviews": 42}).css_first("#reviews")
    assert node is not None
    assert node.text() == after


def test_pages_are_read_in_their_own_language() -> None:
    def price(shown: str, lang: str) -> list[Decimal]:
        seen = sightings(page(shown, lang=lang).encode(), content_type="text/html", url=URL, site=SITE)
        return [each.value for each in seen]

    assert price("1.299", "de") == [1299]
    assert price("1.299", "en") == [Decimal("1.299")]
    assert price("Prix : 1\u202f299,00 €", "fr") == [1299]
    assert price("$10 – $20", "en") == [10]
    assert price("1.299 – 1.499 €", "en") == [1299]
    assert price("$10 – €20", "en") == []


NOISE = st.text(st.sampled_from("abÄ é.,-–<>&;'\"円€ \u00a0\n"), max_size=8)


@given(
    NOISE, NOISE, st.sampled_from(["1.299,00 €", "1\u202f299,00 €", "¥12,800", "₹1,29,900.00", "١٬٢٩٩٫٠٠"])
)
def test_what_stands_around_a_price_stays(before: str, after: str, price: str) -> None:
    shown = before + price + after
    parsed = LexborHTMLParser(page(escape(shown))).css_first("#price")
    assert parsed is not None
    found = figures(parsed.text(), NumberUsage())
    if len(found) != 1:
        return
    new = priced(page(escape(shown)), "23456")
    start, end = found[0].start, found[0].end
    text = parsed.text()
    assert new == text[:start] + found[0].write(Decimal(23456)) + text[end:]
    (again,) = figures(new, NumberUsage())
    assert again.value == 23456
