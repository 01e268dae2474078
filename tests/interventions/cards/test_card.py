"""What counts as an answer: letters, numbers, and nothing in between."""

import math
import re
import string
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interventions.cards.card import LetterAnswer, NumberAnswer
from interventions.cards.reply import InvalidAnswer

AB = LetterAnswer(labels={"A": "", "B": ""})
PRICEBENCH = LetterAnswer(labels={"A": "", "B": ""}, parse="pricebench")
ABC = LetterAnswer(labels={"A": "", "B": "", "C": ""}, parse="pricebench")
DOLLARS = NumberAnswer(unit="$")
PERCENT = NumberAnswer(high=100, unit="%")
STRICT = NumberAnswer(strict=True)


@pytest.mark.parametrize("text", ["", " ", "C", "AB", "1", "yes", "A B", "ä", "12.5"])
def test_what_is_no_letter(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        AB.read(text)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("b", "B"),
        ("Option B", "B"),
        ("**B**", "B"),
        ("I choose A.", "A"),
        ("(A)", "A"),
        ("A, a better hotel", "A"),
        ("xB", "B"),
        ("As an AI language model, I don't have personal preferences", "A"),
    ],
)
def test_pricebench_takes_a_letter_then_a_word_then_any_capital(text: str, letter: str) -> None:
    assert PRICEBENCH.read(text) == (letter, "pricebench")


@pytest.mark.parametrize("text", ["A or B", "B is better than A", "AB", "neither", "", "a hotel"])
def test_even_for_pricebench_an_answer_is_one_letter(text: str) -> None:
    for question in (PRICEBENCH, ABC):
        with pytest.raises(InvalidAnswer):
            question.read(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("45", 45),
        ("45.50", 45.5),
        (" $45.99 ", 45.99),
        ("$ 45", 45),
        ("1,234.5", 1234.5),
        ("$12,345,678", 12345678),
        ('"45.5"', 45.5),
        ("1e3", 1000),
        (".5", 0.5),
        ("0", 0),
        ("45.", 45),
        ("45 dollars", 45),
        ("45$", 45),
        ('{"answer": 45}', 45),
        ("200000", 200000),
    ],
)
def test_one_number(text: str, number: float) -> None:
    assert DOLLARS.read(text).value == number


NO_NUMBERS = (
    "A -5 $-5 NaN inf Infinity 1e999 45-50 1,2 1,2345 0.1,234 27% $45% €45 $$45 45%% ٤٥ 0x10 +5 1_000"
)
SENTENCES = ["", " ", "45 to 50", "45, 50", "about 45", "1 000", '{"answer": "45 to 50"}']


@pytest.mark.parametrize("text", [*NO_NUMBERS.split(), *SENTENCES])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        DOLLARS.read(text)


@pytest.mark.parametrize("text", ["100.01", "101", "1,000", "-1"])
def test_percentages_lie_between_0_and_100(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        PERCENT.read(text)
    assert (PERCENT.read("0").value, PERCENT.read("100%").value) == (0, 100)


@pytest.mark.parametrize("text", ["4.5", "$45", "45%", "1,000", "", "4 5", "²"])
def test_strict_is_digits_only(text: str) -> None:
    assert STRICT.read(" 0045\n") == (45, "number")
    with pytest.raises(InvalidAnswer):
        STRICT.read(text)


@given(st.floats(0, 1e9, allow_nan=False))
def test_every_way_to_write_a_number(number: float) -> None:
    for text in (repr(number), f"${number!r}", f"{number!r} USD", f'"{number!r}"'):
        assert DOLLARS.read(text).value == number
    assert DOLLARS.read(f"{number:,.2f}").value == pytest.approx(number, abs=0.0051)


@given(st.text(alphabet=string.digits + '.,$%-+eE "naif', max_size=12) | st.text(max_size=12))
@example("9" * 400)
def test_whatever_is_sent_is_a_finite_number_within_limits_or_invalid(text: str) -> None:
    for question in (DOLLARS, PERCENT, STRICT):
        try:
            number, _rule = question.read(text)
        except InvalidAnswer as invalid:
            assert str(invalid)
            continue
        assert math.isfinite(number)
        assert number >= 0
        assert question.high is None or number <= question.high


@given(st.text(max_size=20))
def test_whatever_is_sent_is_a_letter_that_stands_in_it_or_invalid(text: str) -> None:
    for question in (AB, PRICEBENCH, ABC):
        try:
            letter, _rule = question.read(text)
        except InvalidAnswer:
            continue
        assert letter in question.labels
        assert letter in unicodedata.normalize("NFKC", text).upper()


@pytest.mark.parametrize(
    ("unit", "names"),
    [
        ("€", ["€", "EUR", "euros"]),
        ("EUR", ["€", "EUR"]),
        ("¥", ["¥", "JPY"]),
        ("zł", ["zł"]),
        ("pts", ["pts"]),
    ],
)
def test_an_amount_in_any_currency(unit: str, names: list[str]) -> None:
    form = NumberAnswer(unit=unit)
    for name in names:
        for text in (f"{name}45", f"{name} 45.5", f"45 {name}", f"Answer: 1,045 {name}."):
            number = float(re.sub(r"[^\d.]", "", text).rstrip("."))
            assert form.read(text).value == number
    assert form.read("45").value == 45
    for other in ("45 %", "45 GBP", "£45"):
        with pytest.raises(InvalidAnswer):
            form.read(other)
