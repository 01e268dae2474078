"""Find figures in a text as shops write them, read them, and write other values in the same format.

A figure is a number with its separators, in the digits of any script: `1.299,00`, `1 299,00`, `1’299.–`,
`1,29,900.00`, `١٬٢٩٩٫٠٠`. What it leaves open is told by the currency beside it, else by the page's language,
else by the habit of shops. Languages and currencies are CLDR's, through Babel.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from babel import Locale

from interventions.html.currencies import UNSEEN, locale_of, minor_units, sign_after, sign_before, signs
from interventions.html.magnitudes import Magnitude, is_short, largest, magnitude_after, stands_before

_NO_BREAK: Final = "\u00a0\u2007\u2009\u202f"
_REACH: Final = 12
"""How many characters around a figure are searched for the sign of a currency."""
_PARTNERS: Final = {".": ",", ",": ".", "٫": "٬", "٬": "٫", "،": ".", "，": ".", "⹁": ".", "'": ".", "’": "."}
"""The decimal sign that goes with a sign of groups, and the other way round."""
_SCRIPTS: Final = {0x660: "ar", 0x6F0: "fa"}
"""Digit zero -> a language that writes it, for scripts with separators of their own."""
_ASCII_ZERO: Final = 0x30
_FROM_FIVE: Final = frozenset("be bg es et hu hy it ka lv pl sl sq".split())  # noqa: SIM905
"""Languages that group digits from five on (CLDR's minimumGroupingDigits, which Babel does not have)."""


class NumberUsage(NamedTuple):
    """What a page says of its figures: its language (`de-AT`) and its currency (`EUR`), or nothing.

    `whole`: they have no decimals, as counts have none. `per_unit`: they are prices of a unit, or
    other amounts beside which figures tell how many.
    """

    language: str = ""
    currency: str = ""
    whole: bool = False
    per_unit: bool = False


UNKNOWN: Final = NumberUsage()


def _syntax(spaces: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?<!\d)(?:
            (?P<whole>
                \d{{1,3}}(?P<group>[.,'’٬،，⹁{spaces}])\d{{3}}(?!\d)(?:(?P=group)\d{{3}}(?!\d))*
              | \d{{1,2}}(?P<indian>[,٬،])\d\d(?:(?P=indian)\d\d)*(?P=indian)\d{{3}}(?!\d)
              | \d+
            )
          | (?<![\w.,])(?=[.,]\d)  # .99
        )
        (?:
            (?(group)(?!(?P=group)))(?(indian)(?!(?P=indian)))(?P<point>[.,٫،])(?P<fraction>\d+)
          | (?P<dash>[.,:][-–—]{{1,2}})(?![-–—]|\s*\d)  # 1’299.–, 1 299:-
        )?""",
        re.VERBOSE,
    )


_FIGURE: Final = _syntax(_NO_BREAK)
_SPACED: Final = _syntax(rf"\ {_NO_BREAK}")
_BREAKS: Final = re.compile(r"[ \t\r\n]+")
_MINUS: Final = re.compile(r"(?<!\w)[-−]\Z")
_PER_UNIT: Final = re.compile(r"\s*(?:/|(?:per|pro|je|por|par)\b)\s*(?:\d+(?:[.,]\d+)?\s*)?[^\W\d]", re.I)
_MACHINE: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?|\.[0-9]+")


class Figure:
    """A figure in a text: where it stands, what it says, and how another value is written in its place."""

    def __init__(self, match: re.Match[str], usage: NumberUsage = UNKNOWN, sign: str = "") -> None:
        self._match, self._usage, self._other_sign = match, usage, sign
        self.start, self.end = match.span()
        self._magnitude = magnitude_after(match.string, self.end, usage.language, count=usage.whole)
        if self._magnitude:
            plus = self._magnitude.factor > 0 and match.string.startswith("+", self._magnitude.end)
            self.end = self._magnitude.end + plus
        self.text = match.string[self.start : self.end]

    def __repr__(self) -> str:
        return f"<Figure {self.text}>"

    @cached_property
    def value(self) -> Decimal:
        """The number."""
        whole, fraction = self._parts
        number = Decimal(f"{_digits(whole) or 0}.{_digits(fraction)}" if fraction else _digits(whole))
        return number * (self._magnitude.factor or 1) if self._magnitude else number

    @property
    def is_clear(self) -> bool:
        """Whether the text tells how many thousands a word beside the figure means."""
        if self._magnitude:
            return self._magnitude.factor > 0
        return not stands_before(self._match.string[: self.start], self._usage.language)

    @property
    def rounding(self) -> Decimal:
        """How far the number may be rounded: half of the last digit before a word for thousands, else 0.

        In `10K+` it is the whole of it.
        """
        if not self._magnitude:
            return Decimal(0)
        unit = Decimal(self._magnitude.factor).scaleb(-self.decimals)
        return unit if self.text.endswith("+") else unit / 2

    @cached_property
    def sign(self) -> str:
        """The sign or code of a currency beside the figure, as it is written; empty when there is none."""
        return self._sign_beside or self._other_sign

    def with_sign(self, sign: str) -> "Figure":
        """Return the figure as one of which another figure beside it says the currency."""
        return Figure(self._match, self._usage, sign)

    @cached_property
    def _sign_beside(self) -> str:
        text, known = self._match.string, signs(self._usage.language)
        before = text[max(0, self.start - _REACH) : self.start].rstrip(UNSEEN)
        behind = text[self.end : self.end + _REACH]
        after = behind.lstrip(UNSEEN)
        if sign := sign_before(before, known):
            return sign
        sign = sign_after(after, known)
        # In `size 5 $10` it belongs to the next figure.
        return "" if after != behind and after[len(sign) :][:1].isdecimal() else sign

    @cached_property
    def currency(self) -> str:
        """The code of the figure's currency, such as EUR, where it is known; else empty."""
        if not self.sign:
            return self._usage.currency
        known = signs(self._usage.language)
        return known.get(self.sign) or known.get(unicodedata.normalize("NFKC", self.sign), "")

    @property
    def is_price(self) -> bool:
        """Whether the figure is written as prices are: with a currency beside it, or a dash for no cents."""
        return bool(self.sign or self._match["dash"])

    @property
    def is_alone(self) -> bool:
        """Whether the text says nothing but the figure and its currency."""
        text = self._match.string
        return (text[: self.start] + text[self.end :]).strip(UNSEEN) == self.sign

    def write(self, value: Decimal, *, padded: bool = True) -> str:
        """Write a value in this figure's format: its digits, its separators and its number of decimals.

        A figure without decimals gets those of its currency where the value is not whole: two of euros, none
        of yen. `padded=False`: it gets as many as the value needs, as ratings do.

        A word for thousands stays where a value is a thousand or more, and a price loses nothing by it.
        """
        compact = self._compact(value, self._magnitude) if self._magnitude else ""
        return compact or self._plain(value, padded=padded)

    def _compact(self, value: Decimal, magnitude: Magnitude) -> str:
        """A value with this figure's word for thousands; empty where it is written out."""
        word, _, factor = magnitude
        number, plus = value / (factor or 1), self.text.endswith("+")
        if not factor or number < 1 or not is_short(word, self._usage.language):
            return ""
        places = self.decimals or (1 if number < 10 else 0)
        rounded = number.quantize(Decimal(1).scaleb(-places), ROUND_FLOOR if plus else ROUND_HALF_UP)
        is_lossy = rounded != number and not self._usage.whole
        if is_lossy or rounded >= largest(factor, self._usage.language):
            return ""
        left, _, right = f"{rounded:f}".partition(".")
        right = right.rstrip("0")
        point = self._match["point"] or self._match["group"] or self._separators("", "")[2]
        text = left + (point + right if right else "") + word + ("+" if plus else "")
        return text if self._zero == _ASCII_ZERO else text.translate(_to_script(self._zero))

    def _plain(self, value: Decimal, *, padded: bool) -> str:
        whole, fraction = self._parts if not self._magnitude else ("", "")
        units = minor_units(self.currency) if padded else 2
        cents = value.quantize(Decimal(1).scaleb(-max(units, 2)), ROUND_HALF_UP)
        if fraction:
            places = len(fraction)
        elif not padded:
            places = max(0, -int(cents.normalize().as_tuple().exponent))
        else:
            places = 0 if cents == cents.to_integral() else units
        left, _, right = f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}".partition(".")
        point = self._match["point"] or (self._match["group"] if self._parts[1] else "")
        if len(left) > 3 or (right and not point):
            group, sizes, point = self._separators(whole, point or "")
            early = self._match["group"] and len(_digits(whole)) == 4
            if len(left) > 4 or early or not self._groups_late:
                left = _grouped(left, group, sizes)
        text = left + (f"{point}{right}" if right else self._match["dash"] or "")
        return text if self._zero == _ASCII_ZERO else text.translate(_to_script(self._zero))

    @property
    def signed(self) -> Decimal:
        """The number, below 0 where a minus stands before it or before its currency."""
        return -self.value if self._minus else self.value

    def put(self, value: Decimal) -> tuple[int, int, str]:
        """Return where the text changes for another value, which may be below 0, and what it is there."""
        text, minus = self._match.string, self._minus
        written = self.write(abs(value))
        if bool(minus) == (value < 0):
            return self.start, self.end, written
        lead = text[self._lead : self.start] + written
        if minus:
            return self._lead - len(minus), self.end, lead
        locale = _locale(self._usage.language, self.currency)
        sign = locale.number_symbols["latn"].get("minusSign", "-") if locale else "-"
        return self._lead, self.end, sign + lead

    @cached_property
    def _lead(self) -> int:
        """Where the figure begins, or the currency before it, if nothing stands between them but space."""
        before = self._match.string[: self.start].rstrip(UNSEEN)
        return len(before) - len(self.sign) if self.sign and before.endswith(self.sign) else self.start

    @cached_property
    def _minus(self) -> str:
        """The minus before the figure or its currency; empty where there is none, as in `10-20` and `A-4`."""
        found = _MINUS.search(self._match.string, 0, self._lead)
        return found[0] if found else ""

    @property
    def decimals(self) -> int:
        """How many decimals the figure has."""
        return len(self._parts[1])

    @property
    def is_whole(self) -> bool:
        """Whether the figure has no decimals."""
        return not self.decimals

    @property
    def digits(self) -> str:
        """The digits without separators, as `0` to `9`."""
        return _digits(self.text)

    def write_digits(self, digits: str) -> str:
        """Write digits in this figure's script, in the place of its own that stand together."""
        return re.sub(r"\d+", digits.translate(_to_script(self._zero)), self.text, count=1)

    def joined(self, cents: str) -> str:
        """Return a price of which this figure is the whole part."""
        _, _, point = self._separators(self.text, "")
        return f"{self.text}{point}{cents.translate(_to_script(self._zero))}"

    @cached_property
    def _zero(self) -> int:
        if self.text.isascii():
            return _ASCII_ZERO
        digit = next(char for char in self.text if char.isdecimal())
        return ord(digit) - unicodedata.decimal(digit)

    @cached_property
    def _parts(self) -> tuple[str, str]:
        """What stands before the decimal sign, and the decimals."""
        match = self._match
        whole, group, fraction = match["whole"] or "", match["group"], match["fraction"] or ""
        if group and group in ".,،" and whole.count(group) == 1 and not fraction and not match["dash"]:
            left, _, right = whole.partition(group)
            if unicodedata.decimal(left[0]) == 0 or self._is_decimal(group):
                return left, right
        return whole, fraction

    def _is_decimal(self, sign: str) -> bool:
        """Whether a point or comma before exactly three digits is the decimal sign."""
        if self._magnitude:
            return True
        if self._usage.whole:
            return False
        units = minor_units(self.currency) if self.sign or self._usage.currency else None
        if units in (0, 2):
            return False
        locale = _locale(self._usage.language, self.currency)
        # A page may write prices as other numbers.
        groups, points = zip(
            *(_separators_of(locale, self._zero, money=each) for each in (True, False)), strict=True
        )
        return sign in points and sign not in groups

    @cached_property
    def _groups_late(self) -> bool:
        """Whether the page's language groups digits from five on."""
        locale = _locale(self._usage.language, self.currency)
        if locale is None or (locale.language == "es" and locale.territory not in (None, "ES")):
            return False
        return locale.language in _FROM_FIVE or str(locale) == "pt_PT"

    def _separators(self, whole: str, point: str) -> tuple[str, tuple[int, int], str]:
        """The sign of groups (empty: none), the sizes of the last and the other groups, the decimal sign."""
        group = self._match["group"] or self._match["indian"] or ""
        if group == point:
            group = ""
        pieces = whole.split(group) if group else [whole]
        point = point or (self._match["dash"] or "")[:1].strip(":")
        sizes = (3, len(pieces[1])) if len(pieces) > 2 or (group and len(pieces[0]) == 3) else None
        if group and point and sizes:
            return group, sizes, point
        language = self._usage.language or _SCRIPTS.get(self._zero, "")
        locale = _locale(language, self.currency)
        usual_group, usual_point = _separators_of(locale, self._zero)
        if point and point != usual_point:  # a page may write prices as other numbers
            usual_group, usual_point = _separators_of(locale, self._zero, money=False)
        if not point:
            agrees = usual_point and usual_point != group and group in ("", usual_group)
            point = usual_point if agrees else _PARTNERS.get(group, "," if group else ".")
        if not group and len(whole) < (5 if self._groups_late else 4):
            group = usual_group if usual_point == point else _PARTNERS.get(point, ",")
        if not sizes:
            sizes = _sizes(locale) if locale and usual_group == group else (3, 3)
        return group, sizes, point


class _MachineFigure(Figure):
    """A number for programs, as in `data-price-amount="11.5"`: plain, without padding."""

    @cached_property
    def value(self) -> Decimal:
        return Decimal(self.text)

    @property
    def signed(self) -> Decimal:
        return self.value

    def put(self, value: Decimal) -> tuple[int, int, str]:
        return self.start, self.end, self.write(value)

    def write(self, value: Decimal, *, padded: bool = True) -> str:
        return f"{value.normalize():f}"


def figures(text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = False) -> list[Figure]:
    """Return all figures in a text.

    A no-break or thin space before three digits groups them. An ordinary space does so where the text says
    nothing but one figure and its currency; and everywhere where the text is `spaced`: where all its white
    space has been made ordinary spaces.
    """
    if spaced or " " in text:
        found = [Figure(match, usage) for match in _SPACED.finditer(text)]
        if spaced or (len(found) == 1 and " " in found[0].text and found[0].is_alone):
            return found
    return [Figure(match, usage) for match in _FIGURE.finditer(text)]


def tells_unit(text: str) -> bool:
    """Return whether a text may hold a price of a unit."""
    return bool(_PER_UNIT.search(text))


def prices_per_unit(found: Sequence[Figure], text: str) -> tuple[list[Figure], list[Figure]]:
    """Return the figures that are prices of a unit, as in `12,90 € (2,58 €/100 g)`, and those of the rest.

    How much a unit is belongs to neither.
    """
    units: list[Figure] = []
    spans: list[tuple[int, int]] = []
    for figure in found:
        behind = text[figure.end :]
        sign = figure.sign if behind.lstrip(UNSEEN).startswith(figure.sign) else ""
        start = figure.end + (behind.index(sign) + len(sign) if sign else 0)
        if figure.sign and (unit := _PER_UNIT.match(text, start)):
            units.append(figure)
            spans.append((figure.start, unit.end()))
    rest = [each for each in found if not any(start <= each.start < end for start, end in spans)]
    return units, rest


def machine_figure(text: str) -> Figure | None:
    """Return the figure of a text that is a plain number, as programs write it; None for any other text."""
    match = _MACHINE.fullmatch(text)
    return _MachineFigure(match) if match else None


def figures_within(text: str, start: int, end: int, usage: NumberUsage = UNKNOWN) -> list[Figure]:
    """Return the figures in a part of a text; the text around it helps to read them."""
    return [Figure(match, usage) for match in _SPACED.finditer(text, start, end)]


def read_figure(text: str, usage: NumberUsage = UNKNOWN) -> Decimal:
    """Return the first figure in `text`: `$1,234.00` is 1234, `1.234,50 €` is 1234.5. Raises ValueError."""
    found = figures(text, usage, spaced=True)
    if not found:
        raise ValueError(f'no figure in "{text}"')
    return found[0].value


def rating_out_of(found: Sequence[Figure], scale: int) -> Figure | None:
    """Return the rating of two figures of which the other is the scale, as in `4.3 out of 5`; else None.

    Some languages name the scale first. In `5 out of 5` the first is the rating.
    """
    if len(found) != 2 or scale not in (found[0].value, found[1].value):
        return None
    return found[0] if found[1].value == scale else found[1]


def on_scale(percent: Decimal, scale: int | None) -> Decimal:
    """Return a percentage as a figure out of `scale`, such as 4.1 of 5 (None: as a percentage)."""
    return percent if scale is None else round(percent * scale / 100, 2)


def one_line(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


def amounts_line(text: str) -> str:
    """Return a text with single spaces; no-break spaces stay, as amounts have them: `1 299,00 €`."""
    return _BREAKS.sub(" ", text.strip())


def _digits(text: str) -> str:
    return "".join(str(unicodedata.decimal(char)) for char in text if char.isdecimal())


def _grouped(digits: str, group: str, sizes: tuple[int, int]) -> str:
    if not group:
        return digits
    size, pieces = sizes[0], list[str]()
    while len(digits) > size:
        pieces.append(digits[-size:])
        digits, size = digits[:-size], sizes[1]
    return group.join([digits, *reversed(pieces)])


@lru_cache(maxsize=16)
def _to_script(zero: int) -> Mapping[int, int]:
    return {_ASCII_ZERO + digit: zero + digit for digit in range(10)}


# Languages


@lru_cache(maxsize=256)
def _locale(language: str, currency: str) -> Locale | None:
    """What CLDR says of a language; one that names no country counts as spoken where the currency is paid."""
    name = language.replace("-", "_")
    spoken = locale_of(name)
    if currency and not (spoken and spoken.territory):
        return locale_of(f"{name or 'und'}_{currency[:2]}") or spoken
    return spoken


@lru_cache(maxsize=256)
def _separators_of(locale: Locale | None, zero: int, *, money: bool = True) -> tuple[str, str]:
    """The signs of groups and of decimals that a language uses with these digits; empty when not known.

    Some languages have others in prices, as French has in Switzerland.
    """
    if locale is None:
        return "", ""
    system = "latn" if zero == _ASCII_ZERO else str(locale.default_numbering_system)
    if system == "latn" and zero != _ASCII_ZERO:
        system = str(locale.other_numbering_systems.get("native", "latn"))
    symbols = {**locale.number_symbols["latn"], **locale.number_symbols.get(system, {})}
    group, point = symbols["group"], symbols["decimal"]
    if money:
        return symbols.get("currencyGroup") or group, symbols.get("currencyDecimal") or point
    return group, point


def _sizes(locale: Locale) -> tuple[int, int]:
    last, others = locale.currency_formats["standard"].grouping
    return last, others
