"""Prices and ratings on pages of many languages, in many encodings: what stands on the page afterwards."""

import re
from decimal import Decimal
from html import escape

import pytest
from babel.numbers import format_decimal, get_decimal_symbol
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.apply.consistency import sightings
from interventions.apply.engine import EditFailed
from interventions.html.numbers import NumberUsage, figures, read_figure
from tests.interventions.rewriting import Edit, read, rewritten, site_of

URL = "http://shop.test/lamp"
SITE = site_of(
    {
        "product.price": ["#price", {"css": "meta[itemprop=price]", "attribute": "content"}],
        "product.rating": [{"css": "#rating", "scale": 5}],
        "product.reviews": "#reviews",
    }
)
WHERE = {"set_price": "price", "set_rating": "rating", "set_reviews": "reviews"}
PRICE: Edit = {"set_price": "1049.50"}
RATING: Edit = {"set_rating": 82}
REVIEWS: Edit = {"set_reviews": 42}


def page(price: str, head: str = "", lang: str = "", where: str = "price") -> str:
    """A page with an element `where`, unless what it shows has such an element itself."""
    body = price if "id=" in price else f"<p id={where}>{price}</p>"
    return f"""<!doctype html><html{f' lang="{lang}"' if lang else ""}><head>{head}</head>
<body><h1>Lamp</h1>{body}</body></html>"""


def shown(source: str, edit: Edit, codec: str = "utf-8") -> str:
    """The text of the element that an edit has changed, in which white space matters."""
    kind = f"text/html; charset={codec}"
    body = rewritten(source.encode(codec), "lamp", edit, site=SITE, kind=kind).body.decode(codec)
    node = LexborHTMLParser(body).css_first(f"#{WHERE[next(iter(edit))]}")
    return node.text() if node else ""


@pytest.mark.parametrize(
    ("html", "edit", "after"),
    [
        ("1&#8239;299,00&nbsp;&euro;", PRICE, "1\u202f049,50\u00a0€"),
        ("1&nbsp;299,00 &euro;", PRICE, "1\u00a0049,50 €"),
        ("1&nbsp299", PRICE, "1\u00a0049,50"),
        ("CHF 1&rsquo;299.&ndash;", PRICE, "CHF 1’049.50"),
        ("<span>¥</span><b>12,800</b>", PRICE, "¥1,050"),
        ("12,800<small>円</small>", PRICE, "1,050円"),
        ("$1,299<sup>00</sup>", PRICE, "$1,04950"),
        # Of a range it is the lower end, and the upper one moves by the same factor.
        ("$10.00 – $24.90", PRICE, "$1,049.50 – $2,613.26"),
        ("<i>$10.00</i> <i>&ndash;</i> <b>$24<sup>90</sup></b>", PRICE, "$1,049.50 – $2,61326"),
        ("10,00 bis 20,00 € (2,00 €/100 g)", PRICE, "1.049,50 bis 2.099,00 € (209,90 €/100 g)"),
        # The currency stands beside the element.
        ("<div><span>¥</span><b id=price>1,299</b></div>", PRICE, "1,050"),
        ("<table><tr><td>¥<td><b id=price>1,299</b></table>", PRICE, "1,050"),
        ("<div><b id=price>12</b> <i>KWD</i></div>", {"set_price": "9.125"}, "9.125"),
        ("<div><b id=price>12.500</b> <i>KWD</i></div>", {"set_price": "9.5"}, "9.500"),
        ("<div><b id=price>12</b> <i>€</i></div>", {"set_price": "9.5"}, "9.50"),
        (f"<div><b id=price>1,299</b><p>or 5 USD, {'and so on ' * 9}</div>", {"set_price": "9.5"}, "9.50"),
        ("4.3 out of 5", RATING, "4.1 out of 5"),
        ("4,3 von 5 Sternen", RATING, "4,1 von 5 Sternen"),
        ("5つ星のうち4.3", RATING, "5つ星のうち4.1"),
        ("<b>4.3</b>/5", RATING, "4.1/5"),
        ("5 out of 5", RATING, "4.1 out of 5"),
        ("4", RATING, "4.1"),
        ("1.299 Bewertungen", REVIEWS, "42 Bewertungen"),
        ("(1\u202f299)", REVIEWS, "(42)"),
        ("٣٢١", REVIEWS, "٤٢"),
    ],
)
def test_a_value_is_written_as_the_page_writes_it(html: str, edit: Edit, after: str) -> None:
    where = WHERE[next(iter(edit))]
    source = page(html, lang="en" if where == "reviews" else "", where=where)
    assert shown(source, edit) == after
    if where == "rating":
        (rating,) = sightings(source.encode(), content_type="text/html", url=URL, site=SITE)
        figure = re.findall(r"[\d,.]*\d", html)[html.startswith("5つ")]
        assert rating.value == Decimal(figure.replace(",", ".")) * 20


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("$0 – $20", "exactly one figure|several prices|no figure|cannot be told"),
        ("12,90 € (20 je Packung)", "exactly one figure|several prices|no figure|cannot be told"),
        ("12€99", "exactly one figure|several prices|no figure|cannot be told"),
        ("<b id=price>12</b><sup>99</sup> €", 'cents stand behind the element of "12"; name both, with part'),
        ("<b id=price>12</b> <sup class=cents><i>99</i></sup>", "the cents stand behind the element"),
        ("$10<sup>99</sup> and $20<sup>99</sup>", "shows several prices, and the edit has one"),
        ("$10 – 20 pieces", "shows several prices, and the edit has one"),
        ("$1<i>299</i>", "spread over several elements; name each with part"),
        ("$<i>1,</i>299.00", "spread over several elements; name each with part"),
    ],
)
def test_what_is_no_one_price_is_refused(html: str, reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        shown(page(html), {"set_price": "9.50"})


@pytest.mark.parametrize(
    ("codec", "text", "after"),
    [
        ("cp1252", "Prix\u00a0: 1\u00a0299,00 €", "Prix\u00a0: 1\u00a0049,50 €"),
        ("shift_jis", "価格：12,800円（税込）", "価格：1,050円（税込）"),
        ("gb18030", "价格：¥12,800.00 元", "价格：¥1,049.50 元"),
        ("euc_kr", "가격 12,800원", "가격 1,050원"),
        ("utf-16-le", "1\u202f299,00 €", "1\u202f049,50 €"),
        ("cp1256", "السعر: 1,299.00 ريال", "السعر: 1,049.50 ريال"),
    ],
)
def test_a_price_is_written_in_the_page_s_encoding(codec: str, text: str, after: str) -> None:
    lang = {"gb18030": "zh", "euc_kr": "ko", "shift_jis": "ja", "cp1256": "ar"}.get(codec, "")
    assert shown(page(text, lang=lang), PRICE, codec) == after


@pytest.mark.parametrize(
    ("lang", "head", "after"),
    [
        ("de", "", "1.299,50"),
        ("fr-FR", "", "1\u202f299,50"),
        ("", '<meta property="og:locale" content="de_CH">', "1.299,50"),  # Swiss prices have a point
        ("", "", "1.299,50"),
    ],
)
def test_groups_that_the_price_does_not_show_are_the_language_s(lang: str, head: str, after: str) -> None:
    assert shown(page("19,99", head, lang), {"set_price": "1299.5"}) == after


def test_yen_get_no_cents_where_the_page_states_the_currency() -> None:
    head = '<meta property="product:price:currency" content="JPY">'
    assert shown(page("12,800", head), PRICE) == "1,050"
    assert shown(page("12,800"), PRICE) == "1,049.50"


def test_programs_read_a_plain_number() -> None:
    source = page("1’299.–", "<meta itemprop=price content=1299.00>")
    assert read(rewritten(source, "lamp", {"set_price": 949}, site=SITE).body, "meta@content") == ["949"]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_an_apostrophe_does_not_end_an_attribute(quote: str) -> None:
    meta = f"<meta itemprop=price content={quote}CHF 1&#39;299.50 &lt;{quote}>"
    after = rewritten(page("CHF 1'299.50", meta), "lamp", {"set_price": 12949.5}, site=SITE).body
    assert read(after, "meta@content") == ["CHF 12'949.50 <"]


def test_pages_are_read_in_their_own_language() -> None:
    def price(text: str, lang: str) -> list[Decimal]:
        seen = sightings(page(text, lang=lang).encode(), content_type="text/html", url=URL, site=SITE)
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
    source = page(escape(before + price + after))
    parsed = LexborHTMLParser(source).css_first("#price")
    assert parsed is not None
    text = parsed.text()
    found = figures(text, NumberUsage())
    if len(found) != 1:
        return
    new = shown(source, {"set_price": "23456"})
    start, end = found[0].start, found[0].end
    assert new == text[:start] + found[0].write(Decimal(23456)) + text[end:]
    (again,) = figures(new, NumberUsage())
    assert again.value == 23456


LANGUAGES = ("en_US", "de_DE", "fr_FR", "de_CH", "es_ES", "nb_NO", "it_IT", "nl_NL", "en_IN")
RAISED = ("<sup>CC</sup>", "<span class=cents>CC</span>", "<i>SIGN</i><small>CC</small>", "SIGN<sup>CC</sup>")


@example("es_ES", "<sup>CC</sup>", 100, 100_000, False)
@example("it_IT", "<sup>CC</sup>", 100, 100_000, False)
@given(
    st.sampled_from(LANGUAGES),
    st.sampled_from(RAISED),
    st.integers(100, 99_999_999),
    st.integers(100, 99_999_999),
    st.booleans(),
)
def test_raised_cents_are_written_in_the_page_s_format(
    language: str, markup: str, old: int, new: int, before: bool
) -> None:
    def written(price: int) -> str:
        sign = get_decimal_symbol(language)
        whole = format_decimal(price // 100, "#,##0", locale=language)
        if language == "en_IN":
            whole = format_decimal(price // 100, locale=language)
        if language in ("es_ES", "it_IT") and price < 1_000_000:  # they group from five digits
            whole = str(price // 100)
        text = f"{whole}{markup.replace('CC', f'{price % 100:02}').replace('SIGN', sign)}"
        return f"€ {text}" if before else f"{text} €"

    html = "<!doctype html><html lang={}><meta charset=utf-8><h1>Lamp</h1><b id=price>{}</b>"
    sent, expected = (html.format(language.replace("_", "-"), written(price)) for price in (old, new))
    (seen,) = sightings(sent.encode(), content_type="text/html", url=URL, site=SITE)
    assert seen.value == Decimal(old) / 100
    done = rewritten(sent, "lamp", {"set_price": str(Decimal(new) / 100)}, site=SITE)
    assert done.body.decode() == expected
    (receipt,) = done.receipts
    assert read_figure(receipt.before, NumberUsage(language)) == Decimal(old) / 100
    assert read_figure(receipt.after, NumberUsage(language)) == Decimal(new) / 100


def test_a_price_with_raised_cents_is_struck_as_it_was() -> None:
    source = page("12<sup>99</sup> €", lang="de")
    after = rewritten(source, "lamp", {"set_price": "9.50"}, {"strike_price": {}}, site=SITE).body
    assert read(after, "#price, del") == ["950 €", "was 12,99 €"]
