"""Figures in the format that they stand in."""

import sys
import unicodedata
from decimal import Decimal

import pytest
from babel import Locale, localedata
from babel.numbers import format_compact_decimal, format_currency, get_currency_precision
from hypothesis import given, settings
from hypothesis import strategies as st

from interventions.edits.place_values import figures_at, value_at
from interventions.html.numbers import (
    UNKNOWN,
    NumberUsage,
    figures,
    machine_figure,
    rating_out_of,
    read_figure,
)
from interventions.html.raised import with_decimal_signs
from interventions.yaml.sitemap import Place
from tests.support import size


def written(old: str, value: str | Decimal, usage: NumberUsage = UNKNOWN) -> str:
    """A text with another value in place of its one figure."""
    (figure,) = figures(old, usage)
    return old[: figure.start] + figure.write(Decimal(value)) + old[figure.end :]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("US$ 12", "12"),
        ("12,5 kg", "12.5"),
        ("1,234", "1234"),
        ("1.234", "1234"),
        ("¥1,234,567", "1234567"),
        ("width: 75%", "75"),
        ("No. 0.99.", "0.99"),
        ("$.99", "0.99"),
        ("0.125", "0.125"),
        ("1299.000", "1299"),
        ("1'299.–", "1299"),
        ("49,- Kč", "49"),
        ("12,800円", "12800"),
        ("۱٬۲۹۹ ریال", "1299"),
        ("１，２９９円", "1299"),
        ("KWD 1.299", "1.299"),
        ("KWD 1,299.500", "1299.5"),
    ],
)
def test_reading(text: str, value: str) -> None:
    (figure,) = figures(text)
    assert figure.value == read_figure(text) == Decimal(value)


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        # The currency first: cents have two digits, and yen none.
        ("$1.299", "en", "1299"),
        ("¥1.299", "en", "1299"),
        ("1,299 €", "de", "1299"),
        # Then the language.
        ("1.299", "en", "1.299"),
        ("1.299", "de-AT", "1299"),
        ("1,299", "de", "1.299"),
        ("1,299", "en_US", "1299"),
        ("KWD 1,299", "en", "1299"),
        ("1.299", "fr", "1299"),
        # Then what shops do, and the currency's country.
        ("1.299", "", "1299"),
        ("1,299", "", "1299"),
        ("1.299", "no language", "1299"),
        ("KWD 1,299", "", "1299"),
        ("KD 12.500", "", "12.500"),
        ("12,500 DT", "fr", "12.500"),
        ("1,299 TND", "", "1.299"),
        *((f"1.250 {sign}", "", "1.250") for sign in ("د.ب.", "د.ك.", "ر.ع.", "د.أ.")),
        *((f"1,250 {sign}", "", "1.250") for sign in ("د.ت.", "د.ل.")),
    ],
)
def test_a_point_before_three_digits(text: str, language: str, value: str) -> None:
    assert read_figure(text, NumberUsage(language)) == Decimal(value)


def test_the_page_s_currency_counts_where_none_stands_beside_the_figure() -> None:
    assert read_figure("1.299", NumberUsage("en", "EUR")) == 1299
    assert written("12,800", "900.5", NumberUsage("ja", "JPY")) == "901"
    assert written("$12", "900.5", NumberUsage("ja", "JPY")) == "$900.50"


@pytest.mark.parametrize(
    "text",
    [
        "$10 – $20",
        "10–20 €",
        "$10-$20",
        "10.–20",
        "10,-20",
        "12.05.2024",
        "1,299,00",
        "1.2.3",
        "5'10",
        "5 127 ratings",
        "Size 42 299,00 €",
        "Prix : 1 299,00 €",
        "12€99",
        "12,90 € (2,58 €/100 g)",
        "4.3 out of 5",
    ],
)
def test_what_is_no_single_figure_is_several(text: str) -> None:
    assert len(figures(text)) > 1


def test_no_figure() -> None:
    with pytest.raises(ValueError, match='no figure in "free"'):
        read_figure("free")


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("19.99", "5", "5.00"),
        ("19.99", "1234.5", "1,234.50"),
        ("1,999.00", "12.345", "12.35"),
        ("1999.00", "1234.5", "1234.50"),
        ("12,50", "0.99", "0,99"),
        ("12", "5", "5"),
        ("12", "5.5", "5.50"),
        ("1,234", "56789", "56,789"),
        ("1.234", "56789", "56.789"),
        ("12.5", "3", "3.0"),
        ("1'299.–", "949", "949.–"),
        ("1'299.–", "12949.5", "12'949.50"),
        ("49,- Kč", "59", "59,- Kč"),
        ("¥12,800", "1049.5", "¥1,050"),
        ("12,800円(税込)", "1049.5", "1,050円(税込)"),
        ("₩12,800", "999.4", "₩999"),
        ("₹1,29,900.00", "1239900", "₹12,39,900.00"),
        ("₹999.00", "1239900", "₹12,39,900.00"),
        ("₹299,900", "1239900", "₹1,239,900"),
        ("١٢ ر.س", "5.5", "٥٫٥٠ ر.س"),
        ("₹ १,२९,९००.००", "1239900", "₹ १२,३९,९००.००"),
        ("from $10", "8", "from $8"),
        ("$.99", "1.5", "$1.50"),
        ("KWD 12", "12.5", "KWD 12.500"),
        ("12 KWD", "9.001", "9.001 KWD"),
        ("1 299:-", "949", "949:-"),
        ("1.299,-", "949", "949,-"),
        ("1,299 บาท", "12345.5", "12,345.50 บาท"),
        ("1.299,00 TL", "949", "949,00 TL"),
    ],
)
def test_writing(old: str, value: str, new: str) -> None:
    assert written(old, value) == new


@pytest.mark.parametrize(
    ("old", "language", "new"),
    [
        ("19,99 €", "fr", "1\u202f234,50 €"),
        ("19,99 €", "de", "1.234,50 €"),
        ("19.99", "de-CH", "1’234.50"),
        ("19.99", "de", "1,234.50"),
        ("19", "de", "1.234,50"),
        ("CHF 19.99", "de", "CHF 1’234.50"),
        ("€ 19,99", "de-AT", "€ 1.234,50"),
        ("19 €", "pl", "1234,50 €"),
        ("99.50 CHF", "fr-CH", "1\u202f234.50 CHF"),
        ("99,50 CHF", "fr-CH", "1\u202f234,50 CHF"),
        ("12.999 €", "es", "1234,50 €"),
        ("1.299 €", "es", "1.234,50 €"),
        ("99 €", "es-MX", "1,234.50 €"),
    ],
)
def test_separators_that_are_not_to_be_seen_are_the_language_s(old: str, language: str, new: str) -> None:
    assert written(old, "1234.5", NumberUsage(language)) == new


@pytest.mark.parametrize(("value", "new"), [("5.00", "5"), ("100", "100"), ("1234.50", "1234.5")])
def test_figures_for_programs_are_plain(value: str, new: str) -> None:
    figure = machine_figure("19.99")
    assert figure is not None
    assert figure.write(Decimal(value)) == new


def test_a_point_in_a_figure_for_programs_is_the_decimal_sign() -> None:
    figure = machine_figure("1.299")
    assert figure is not None
    assert figure.value == Decimal("1.299")
    assert machine_figure("1.299.000") is None


@pytest.mark.parametrize("text", ["4.3 of 10", "4.3 out of 5, 127 ratings", "4.3", "5"])
def test_two_figures_without_the_scale_are_no_rating(text: str) -> None:
    assert rating_out_of(figures(text), 5) is None


@given(st.decimals(0, 10**7, places=2), st.sampled_from(["1.00", "1,000.00", "1000.00", "1,00", "1.000,00"]))
def test_what_is_written_reads_the_same(value: Decimal, old: str) -> None:
    assert read_figure(written(old, value)) == value


@given(st.text())
def test_any_text_can_be_read_and_written(text: str) -> None:
    for figure in figures(text):
        assert text[figure.start : figure.end] == figure.text
        assert figure.value >= 0
        again = figures(figure.write(figure.value))
        assert figure.value == figure.value.to_integral() or len(again) == 1


# The oracle: what Babel writes in each of CLDR's languages and countries.

CODES = (
    "USD EUR GBP INR CHF CNY BRL SEK PLN CZK HUF TRY SAR EGP PKR BDT NPR "
    "JPY KRW VND CLP ISK XOF AFN IRR KWD TND"
)
CURRENCIES = CODES.split()
EXCEPTIONS = {
    "ff_Adlm": "Babel writes a comma where CLDR has a sign of Adlam's own between groups",
    "tok": "groups of two digits, with spaces between them",
}
LANGUAGES = sorted(
    name
    for name in localedata.locale_identifiers()
    if not name.startswith(tuple(EXCEPTIONS)) and Locale.parse(name).territory
)


def by_babel(value: Decimal, currency: str, locale: Locale) -> str:
    """A price as a shop in that language writes it, in its digits."""
    text = format_currency(value, currency, locale=locale, numbering_system="default")
    return text.translate(DIGITS.get(str(locale.default_numbering_system), {}))


def _digits(zero: str) -> dict[int, int]:
    return {ord("0") + digit: ord(zero) + digit for digit in range(10)}


DIGITS = {
    "arab": _digits("\N{ARABIC-INDIC DIGIT ZERO}"),
    "arabext": _digits("\N{EXTENDED ARABIC-INDIC DIGIT ZERO}"),
    "deva": _digits("\N{DEVANAGARI DIGIT ZERO}"),
    "beng": _digits("\N{BENGALI DIGIT ZERO}"),
    "mymr": _digits("\N{MYANMAR DIGIT ZERO}"),
    "tibt": _digits("\N{TIBETAN DIGIT ZERO}"),
    "adlm": _digits("\N{ADLAM DIGIT ZERO}"),
    "cakm": _digits("\N{CHAKMA DIGIT ZERO}"),
    "olck": _digits("\N{OL CHIKI DIGIT ZERO}"),
    "mtei": _digits("\N{MEETEI MAYEK DIGIT ZERO}"),
    "hmnp": _digits("\N{NYIAKENG PUACHUE HMONG DIGIT ZERO}"),
    "nkoo": _digits("\N{NKO DIGIT ZERO}"),
}
PRICES = st.integers(1, 10**9).map(lambda cents: Decimal(cents) / 100)


@pytest.mark.slow
@settings(deadline=None, max_examples=size(160, 800))
@given(st.sampled_from(LANGUAGES), st.sampled_from(CURRENCIES), PRICES, PRICES)
def test_prices_are_those_of_babel(name: str, currency: str, first: Decimal, second: Decimal) -> None:
    locale = Locale.parse(name)
    step = Decimal(1).scaleb(-min(2, get_currency_precision(currency)))
    first, second = (price.quantize(step) for price in (first, second))
    old, new = by_babel(first, currency, locale), by_babel(second, currency, locale)
    usage = NumberUsage(name.replace("_", "-"))
    (figure,) = figures(old, usage)
    assert figure.value == first, old
    if 1_000 <= second < 10_000:  # some languages group from five digits on, which Babel does not know
        read = figures(written(old, second, usage), usage)
        assert [each.value for each in read] == [second]
    else:
        assert written(old, second, usage) == new


ZEROS = [char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.decimal(char, None) == 0]
CENTS = [currency for currency in CURRENCIES if get_currency_precision(currency) == 2]


@pytest.mark.slow
@settings(deadline=None, max_examples=size(100, 3_000))
@given(
    st.sampled_from(LANGUAGES), st.sampled_from(CENTS), st.sampled_from(ZEROS), PRICES, PRICES,
    st.sampled_from([UNKNOWN, NumberUsage("en"), NumberUsage("de"), NumberUsage("ar", "SAR")]),
)  # fmt: skip
def test_cents_are_read_in_any_digits_whatever_the_page_says_of_its_language(
    name: str, currency: str, zero: str, first: Decimal, second: Decimal, usage: NumberUsage
) -> None:
    """Pages often state no language, or the wrong one; the oracle is Babel, and the digits are Unicode's."""
    locale = Locale.parse(name)
    text = format_currency(first, currency, locale=locale, numbering_system="latn").translate(_digits(zero))
    (figure,) = figures(text, usage)
    assert figure.value == first, text
    (again,) = figures(written(text, second, usage), usage)
    assert again.value == second, again.text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<b>12<sup>99</sup> €</b>", "<b>12<sup>.99</sup> €</b>"),
        ("<B>12<SUP><FONT SIZE=-1>99</FONT></SUP></B>", "<B>12<SUP><FONT SIZE=-1>.99</FONT></SUP></B>"),
        ("<b>1.299<sup>00</sup></b>", "<b>1.299<sup>,00</sup></b>"),
        ('<i>12</i><i class="price-cents">99</i>', '<i>12</i><i class="price-cents">.99</i>'),
        ("<b>12,<sup>99</sup></b>", ""),
        ("<td class=center>12</td><td class=center>99</td>", ""),
        ('<b>12</b><b class="percent">99</b>', ""),
        ("<b>5</b><sup>1</sup>", ""),
    ],
)
def test_raised_cents_are_decimals(html: str, text: str) -> None:
    assert with_decimal_signs(html) == (text or html)


LOCALES = (
    "en de fr es pt-BR pt-PT it nl pl ru uk tr ar he hi bn ta ja zh zh-Hant ko vi th id sv da fi nb cs sk "
    "hu ro bg el hr lt lv et sl en-IN fa ca sr"
)


@pytest.mark.parametrize("language", LOCALES.split())
@pytest.mark.parametrize("digits", [0, 1])
def test_words_for_thousands_are_read_and_written_as_babel_writes_them(language: str, digits: int) -> None:
    """What Babel writes is read within its rounding; what is written is Babel's, or has no such word."""
    usage, locale = NumberUsage(language, whole=True), language.replace("-", "_")

    def compact(value: int, places: int) -> str:
        return format_compact_decimal(value, format_type="short", locale=locale, fraction_digits=places)

    for value in (999, 1000, 1234, 12_345, 123_456, 1_234_567, 98_765_432):
        text = compact(value, digits)
        (shown,) = figures(text, usage)
        assert shown.is_clear
        assert abs(shown.value - value) <= shown.rounding, text
        for new in (340, 1234, 4321, 56_789, 1_234_567):
            again = text[: shown.start] + shown.write(Decimal(new)) + text[shown.end :]
            (back,) = figures(again, usage)
            assert abs(back.value - new) <= back.rounding, (text, again)
            assert not back.rounding or again in {compact(new, places) for places in (0, 1)}, (text, again)


@pytest.mark.parametrize(
    ("old", "language", "value", "new"),
    [
        ("1.2k reviews", "en", 340, "340 reviews"),
        ("1.2k reviews", "en", 1234, "1.2k reviews"),
        ("10K+", "en", 340, "340"),
        ("10K+", "en", 12_999, "12K+"),
        ("1,2 Tsd.", "de", 340, "340"),
        ("1,2 Mio.", "de", 340_000, "340.000"),
        ("3.4 lakh", "en-IN", 120_000, "1.2 lakh"),
        ("3.4 lakh", "en-IN", 1_234_567, "12.3 lakh"),
        ("1 crore", "", 340, "340"),
        ("1.2w", "zh", 34_000, "3.4w"),
        ("1.2 thousand", "en", 2_000, "2,000"),
    ],
)
def test_a_count_with_a_word_for_thousands_keeps_the_page_s_manner(
    old: str, language: str, value: int, new: str
) -> None:
    (figure,) = figures(old, NumberUsage(language, whole=True))
    assert old[: figure.start] + figure.write(Decimal(value)) + old[figure.end :] == new


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("$1.2M", "2500000", "$2.5M"),
        ("$1.2M", "1234567.89", "$1,234,567.89"),
        ("1,2 Mio. €", "999.5", "999,50 €"),
        ("Size 5 M, $10", "12", "Size 12 M, $10"),
    ],
)
def test_a_price_with_a_word_for_thousands_loses_nothing(old: str, value: str, new: str) -> None:
    figure = figures(old)[0]
    assert old[: figure.start] + figure.write(Decimal(value)) + old[figure.end :] == new


@pytest.mark.parametrize(("text", "language"), [("1,2 mil", ""), ("elfu 1.2", "sw"), ("$10 K", "en")])
def test_a_word_that_may_mean_several_numbers_is_refused(text: str, language: str) -> None:
    assert figures_at(Place(css="x"), text, NumberUsage(language)) == []


@pytest.mark.parametrize(
    "text",
    [
        "12 reviews and 3 questions",
        "4.5 (12 reviews)",
        "3 Fragen, 12 Bewertungen",
        "3 colours, 12 customer reviews",
    ],
)
def test_the_number_of_reviews_is_told_from_other_numbers(text: str) -> None:
    assert value_at(Place(css="x"), text, NumberUsage(whole=True)) == 12
