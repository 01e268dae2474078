"""Read ranges of prices, such as `$10.00 – $24.90` and `10 bis 25 €`, and write them with another lower end.

What stands between two figures and around them makes them a range. So `10-20 pieces`, `2-3 days` and
`Sizes 36-44, $20` are none. CLDR has no words for this.
"""

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from typing import Final

from interventions.errors import CannotEdit
from interventions.html.currencies import UNSEEN
from interventions.html.numbers import UNKNOWN, Figure, NumberUsage, figures, figures_within

_DASH: Final = "[-‐‑‒–—―−~∼〜～]"
_TO: Final = (
    "to through bis hasta até tot til till do až до έως ως ile đến ถึง से から 부터 至 到 إلى الى تا עד"
)
_AT: Final = "à a á al la"
"""Words that mean *to* or *at*: `ab 2 à 20 €` is the price of one when two are bought."""
_FROM_TO: Final = r"de|da|dal|desde|de\s+la"
"""Words after which those mean *to*."""
_FROM: Final = (
    "from von ab od od. от від από vanaf van fra från från: từ من از מ מ- price prices preis preise prix "
    "precio preço prezzo prijs pris cena цена"
)
"""What may stand before a range of which only the upper end has a currency."""


def _any_of(words: str) -> str:
    return "|".join(map(re.escape, words.split()))


_BETWEEN: Final = re.compile(rf"(?P<to>{_DASH}|{_any_of(_TO)})|{_any_of(_AT)}", re.IGNORECASE)
_START: Final = r"(?:\A|[:：(（\[|•])\s*"
_BEFORE: Final = re.compile(rf"{_START}(?:(?:{_any_of(_FROM)}|{_FROM_TO})\s*)?\Z", re.IGNORECASE)
_BEFORE_AT: Final = re.compile(rf"{_START}(?:{_FROM_TO})\s*\Z", re.IGNORECASE)
_AFTER: Final = re.compile(r"\Z|[)）\]|;*（(•]")
_NO_CENTS: Final = re.compile(rf"[.,]{_DASH}")
"""In `10.–20.–` one dash says that there are no cents, and that the range goes on."""
_COUNTRY: Final = re.compile(r"(?<![^\W\d_])[A-Z]{1,3}\Z")
_LONGEST: Final = 20
"""The most characters between the ends, the signs of currencies among them."""


class PriceSpan(Figure):
    """Two figures of a text that are the ends of a range of prices; its value is the lower one.

    From there a product is sold of which each variant has a price of its own.
    """

    def __init__(self, low: Figure, high: Figure, text: str) -> None:
        self.low, self.high = low, high
        self.start, self.end = low.start, high.end
        self.text = text[self.start : self.end]
        self._whole = text

    @cached_property
    def value(self) -> Decimal:
        """The lower end."""
        return self.low.value

    @property
    def signed(self) -> Decimal:
        return self.value

    @cached_property
    def sign(self) -> str:
        return self.low.sign

    @cached_property
    def currency(self) -> str:
        return self.low.currency

    @property
    def is_clear(self) -> bool:
        return self.low.is_clear and self.high.is_clear

    @property
    def rounding(self) -> Decimal:
        return max(self.low.rounding, self.high.rounding)

    @property
    def is_price(self) -> bool:
        return True

    @property
    def is_whole(self) -> bool:
        return self.low.is_whole and self.high.is_whole

    @property
    def is_alone(self) -> bool:
        """Whether the text says nothing but the range and its currency."""
        before, after = self._around
        return bool(_BEFORE.search(before)) and not after

    @property
    def ends(self) -> tuple[str, str]:
        """The lower and the upper price, each with the currency that may be written at one of them only."""
        before, after = (text.strip(UNSEEN) for text in self._outside)
        leads = before.endswith(self.sign) or self._between.endswith(self.sign)
        trails = after.startswith(self.sign) or self._between.startswith(self.sign)
        lead, trail = (self.sign, "") if leads or not trails else ("", f" {self.sign}")
        return f"{lead}{self.low.text}{trail}", f"{lead}{self.high.text}{trail}"

    def changes(self, value: Decimal) -> list[tuple[int, int, str]]:
        """Return where the text changes for another lower end: the upper one moves by the same factor.

        Raises CannotEdit where the lower end is 0.
        """
        if not self.low.value:
            raise CannotEdit(f'by what "{self.text}" has to be multiplied cannot be told')
        low, high = self.low, self.high
        upper = high.value * value / low.value
        end, new = low.end, _written(low, high, value)
        if _NO_CENTS.match(self._whole, low.end):
            # The sign before the dash goes where cents come.
            point = self._whole[low.end]
            end, new = end + 1, new if _has_cents(value) else new + point
        return [(low.start, end, new), (high.start, high.end, _written(high, low, upper))]

    def write(self, value: Decimal, *, padded: bool = True) -> str:
        """Write a range with another lower end."""
        (_, end, low), (start, _, high) = self.changes(value)
        return low + self._whole[end:start] + high

    def put(self, value: Decimal) -> tuple[int, int, str]:
        return self.start, self.end, self.write(value)

    @property
    def _between(self) -> str:
        return self._whole[self.low.end : self.high.start].strip(UNSEEN)

    @property
    def _outside(self) -> tuple[str, str]:
        return self._whole[: self.start], self._whole[self.end :]

    @property
    def _around(self) -> tuple[str, str]:
        """What stands before and after the range and its currency."""
        before, after = (text.strip(UNSEEN) for text in self._outside)
        return before.removesuffix(self.sign).rstrip(UNSEEN), after.removeprefix(self.sign).lstrip(UNSEEN)


def prices(text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = False) -> list[Figure]:
    """Return the figures of a text, of which the two ends of a range are one `PriceSpan`.

    spaced: all white space of the text has been made ordinary spaces, which may group digits.
    """
    found = joined(figures(text, usage, spaced=spaced), text)
    if len(found) > 2 and " " in text and not spaced:
        again = joined(figures(text, usage, spaced=True), text)
        if len(again) == 1 and isinstance(again[0], PriceSpan) and again[0].is_alone:
            return again
    return found


def prices_within(text: str, start: int, end: int, usage: NumberUsage = UNKNOWN) -> list[Figure]:
    """Return the first price in a part of a text, or the range that it begins, if that ends there."""
    return joined(figures_within(text, start, end, usage)[:2], text)[:1]


def joined(found: Sequence[Figure], text: str) -> list[Figure]:
    """Return figures of a text, of which the two ends of a range are one `PriceSpan`."""
    result: list[Figure] = []
    waiting = list(found)
    while waiting:
        first, *waiting = waiting
        pair = _range(first, waiting[0], text) if waiting else None
        result.append(pair or first)
        waiting = waiting[1:] if pair else waiting
    return result


def _range(low: Figure, high: Figure, text: str) -> PriceSpan | None:
    """The range of which two neighbouring figures are the ends; None where they are none."""
    between = text[low.end : high.start]
    if len(between) > _LONGEST or not between.strip(UNSEEN) or not (low.is_price or high.is_price):
        return None
    word = between.strip(UNSEEN).removeprefix(low.sign).lstrip(UNSEEN)
    word = word.removesuffix(_sign_before(high, text)).rstrip(UNSEEN)
    no_cents = _NO_CENTS.fullmatch(word) and high.text[-1:] in "-–—"
    found = _BETWEEN.fullmatch(word)
    if not (found or no_cents) or low.signed < 0:
        return None
    if low.sign and high.sign:
        if low.sign != high.sign and not "" != low.currency == high.currency:
            return None
        if {_sign_before(low, text), low.sign} != {_sign_before(high, text), high.sign}:
            return None
    elif not _is_clear(low, high, text, is_at=found is not None and not found["to"]):
        return None
    sign = low.sign or high.sign
    pair = PriceSpan(low.with_sign(sign), high.with_sign(sign), text)
    return pair if pair.low.value <= pair.high.value else None


def _sign_before(figure: Figure, text: str) -> str:
    """The sign before a figure with letters that tell its country, as in `US$`; else the figure's sign."""
    before = text[: figure.start].rstrip(UNSEEN)
    if not before.endswith(figure.sign):
        return figure.sign
    found = _COUNTRY.search(before.removesuffix(figure.sign))
    return f"{found[0]}{figure.sign}" if found else figure.sign


def _is_clear(low: Figure, high: Figure, text: str, *, is_at: bool) -> bool:
    """Whether what stands around two figures, of which one has no currency, lets them be nothing but a range.

    In `Set of 2 – 20 €` the first one counts something, in `$10 – 20 pieces` the second.
    """
    before = text[: low.start].rstrip(UNSEEN).removesuffix(low.sign or "\0").rstrip(UNSEEN)
    after = text[high.end :].lstrip(UNSEEN).removeprefix(high.sign)
    if not low.sign and not (_BEFORE_AT if is_at else _BEFORE).search(before):
        return False
    return bool(high.sign or _AFTER.match(after.lstrip(UNSEEN)))


def _written(figure: Figure, other: Figure, value: Decimal) -> str:
    """A value in the format of one end; what that leaves open is as at the other end, if it has decimals."""
    if not figure.is_whole or other.is_whole:
        return figure.write(value)
    text = other.write(value)
    return text if _has_cents(value) else text[: -other.decimals - 1]


def _has_cents(value: Decimal) -> bool:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP) % 1 != 0
