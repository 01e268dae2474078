"""Ranges of prices, in the formats of the world."""

from decimal import Decimal

import pytest
from babel import Locale
from babel.numbers import get_currency_precision
from hypothesis import given, settings
from hypothesis import strategies as st

from interventions.html.numbers import UNKNOWN, NumberUsage, figures
from interventions.html.ranges import PriceSpan, prices
from tests.interventions.html.test_numbers import CURRENCIES, LANGUAGES, by_babel
from tests.support import size


def ends(text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = False) -> tuple[Decimal, Decimal] | None:
    """The ends of the one range that a text shows."""
    found = prices(text, usage, spaced=spaced)
    is_range = len(found) == 1 and isinstance(found[0], PriceSpan)
    return (found[0].low.value, found[0].high.value) if is_range else None


def written(text: str, value: str | Decimal, usage: NumberUsage = UNKNOWN) -> str:
    (found,) = prices(text, usage)
    return text[: found.start] + found.write(Decimal(value)) + text[found.end :]


@pytest.mark.parametrize(
    ("text", "language", "new"),
    [
        ("$10.00 – $24.90", "", "$12.50 – $31.13"),
        ("US$10–US$20", "", "US$12.50–US$25"),
        ("$10 - 20", "", "$12.50 - 25"),
        ("Price: 10-20 $ (excl. VAT)", "", "Price: 12.50-25 $ (excl. VAT)"),
        ("10 – 24,90 €", "", "12,50 – 31,13 €"),
        ("9,99 – 20 €", "", "12,50 – 25,03 €"),
        ("1.000–2.000 €", "", "12,50–25 €"),
        ("de 10 € à 24,90 €", "fr", "de 12,50 € à 31,13 €"),
        ("de 10 a 20 €", "es", "de 12,50 a 25 €"),
        ("1 000 – 2 500 €", "", "12,50 – 31,25 €"),
        ("10 kr til 20 kr", "nb", "12,50 kr til 25 kr"),
        ("CHF 10.–20.–", "", "CHF 12.50–25.–"),
        ("CHF 10.– – 20.–", "", "CHF 12.50 – 25.–"),
        ("¥1,000〜¥2,500", "", "¥13〜¥31"),
        ("¥1,000～2,500（税込）", "", "¥13～31（税込）"),
        ("1,000円から2,500円", "", "13円から31円"),
        ("10,000원 ~ 25,000원", "", "13원 ~ 31원"),
        ("من ١٠ إلى ٢٠ ر.س", "", "من ١٢٫٥٠ إلى ٢٥ ر.س"),
        ("KD 10.500 - KD 21.000", "", "KD 12.500 - KD 25.000"),
    ],
)
def test_a_range_is_read_and_written(text: str, language: str, new: str) -> None:
    usage = NumberUsage(language)
    low, high = ends(text, usage) or (Decimal(0), Decimal(0))
    assert 0 < low < high
    assert written(text, "12.5", usage) == new
    # White space is made ordinary where a browser's text is read.
    assert ends(" ".join(text.split()), usage, spaced=True) == (low, high)


@pytest.mark.parametrize(
    "text",
    [
        "10-20 pieces",
        "2-3 days",
        "Sizes 36-44, $20",
        "Sizes 36-44 $20",
        "$10 - 20 pieces",
        "Set of 2 – 20 €",
        "Lot de 2 à 20 €",
        "ab 2 à 20 €",
        "2 à 20 €",
        "Model 3 – 49 €",
        "5 – 7 days from $20",
        "12.05.2024 – 20 €",
        "10 – 20",
        "$10 and $20",
        "$10 / $20",
        "$20 – $10",
        "$10 – €20",
        "US$10 – A$20",
        "$5 -10%",
        "-$5 – $20",
        "10,-20 Kč",
        "$10 (20 per pack)",
        "$10 – $20 – $30",
    ],
)
def test_what_is_no_range(text: str) -> None:
    for spaced in (False, True):
        assert len(prices(text, spaced=spaced)) > 1


@pytest.mark.parametrize(
    ("text", "new"), [("From $10", "From $12.50"), ("ab 10 €", "ab 12.50 €"), ("$10+", "$12.50+")]
)
def test_one_price_with_a_word_is_no_range(text: str, new: str) -> None:
    assert ends(text) is None
    assert written(text, "12.5") == new


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("$10 – 24.90", ("$10", "$24.90")),
        ("10–20 Kč", ("10 Kč", "20 Kč")),
        ("de 10 € a 20 €", ("10 €", "20 €")),
    ],
)
def test_each_end_has_its_currency(text: str, both: tuple[str, str]) -> None:
    (found,) = prices(text)
    assert isinstance(found, PriceSpan)
    assert found.ends == both


PRICES = st.integers(1, 10**7).map(lambda cents: Decimal(cents) / 100)
FORMS = st.sampled_from(
    ["{} – {}", "{}-{}", "{}—{}", "{} ~ {}", "{} to {}", "{} bis {}", "od {} do {}", "Price: {} – {} (net)"]
)


@pytest.mark.slow
@settings(deadline=None, max_examples=size(200, 3_000))
@given(st.sampled_from(LANGUAGES), st.sampled_from(CURRENCIES), FORMS, PRICES, PRICES, PRICES, st.booleans())
def test_ranges_are_those_of_babel(
    name: str, currency: str, form: str, one: Decimal, other: Decimal, new: Decimal, at_one_end: bool
) -> None:
    locale = Locale.parse(name)
    step = Decimal(1).scaleb(-min(2, get_currency_precision(currency)))
    one, other, new = (max(price.quantize(step), step) for price in (one, other, new))
    low, high = sorted((one, other))
    usage = NumberUsage(name.replace("_", "-"))
    first, second = by_babel(low, currency, locale), by_babel(high, currency, locale)
    if at_one_end:  # where the currency stands on the outside of the range
        (figure,) = figures(first, usage)
        leads = bool(first[: figure.start].strip("\u200e\u200f\u061c\u00a0 "))
        if leads:
            (figure,) = figures(second, usage)
        bare = figure.text
        first, second = (first, bare) if leads else (bare, second)
    text = form.format(first, second)
    assert ends(text, usage) == (low, high), text
    # Reading gives what was written, and nothing changes but the numbers.
    after = written(text, new, usage)
    found = ends(after, usage)
    assert found is not None, (text, after)
    assert found[0] == new
    assert abs(found[1] - high * new / low) <= step / 2 + Decimal("0.0005"), (text, after)
    assert skeleton(after, usage) == skeleton(text, usage)
    assert written(text, low, usage) == text


def skeleton(text: str, usage: NumberUsage) -> str:
    """A text without its figures."""
    for figure in reversed(figures(text, usage)):
        text = text[: figure.start] + "#" + text[figure.end :]
    return text


@given(st.text("0123456789 .,-–~$€¥to()%'/", max_size=24))
def test_any_text_can_be_read_and_written(text: str) -> None:
    for spaced in (False, True):
        for found in prices(text, spaced=spaced):
            assert text[found.start : found.end] == found.text
            if isinstance(found, PriceSpan) and found.value:
                start, end, new = found.put(found.value)
                assert text[:start] + new + text[end:]
                assert found.low.value <= found.high.value
