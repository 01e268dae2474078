"""Know the words for thousands and more behind a figure: `1.2k`, `1,2 Mio.`, `3.4 lakh`, `1.2万`.

The words are CLDR's, through Babel; those that only shops write are in `_WORDS`.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from interventions.html.currencies import UNSEEN, are_one_word, locale_of

_LONGEST: Final = 16
_WORDS: Final[Mapping[str, Mapping[str, int]]] = {
    "": {"k": 3, "m": 6, "Tsd.": 3, "Tsd": 3, "Mio.": 6, "Mio": 6, "Mrd.": 9, "Mrd": 9, "mln": 6, "mln.": 6}
    | {"lakh": 5, "lakhs": 5, "lac": 5, "crore": 7, "crores": 7, "Cr": 7}
    | {"wan": 4, "万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8},
    "en": {"mn": 6},
    "zh": {"w": 4, "W": 4, "千": 3},
}
"""Language (empty: any) -> words of shops that CLDR does not know -> the power of ten."""
_AMBIGUOUS: Final = "mil"
"""A thousand in Spanish, a million in Czech."""


class Magnitude(NamedTuple):
    """A word behind a figure, where it ends, and what it multiplies by; 0: that is not clear."""

    word: str
    end: int
    factor: int


def magnitude_after(text: str, position: int, language: str, *, count: bool) -> Magnitude | None:
    """Return the word for thousands or more behind a figure; None where there is none.

    `count`: the figure counts something. A single letter behind another one is a unit, or a size.
    """
    if not text[position : position + 2].lstrip(UNSEEN)[:1].isalpha():
        return None
    rest = text[position : position + _LONGEST]
    word = rest.lstrip(UNSEEN)
    gap = len(rest) - len(word)
    known, _ = magnitudes(language)
    for end in _lengths(language).get(word[0], ()):
        factor = known.get(word[:end]) if end <= len(word) else None
        if factor is None or (end < len(word) and are_one_word(word[end - 1], word[end])):
            continue
        plain = end < 3 and word.isascii()
        if plain and not (count or (not gap and _after_sign(text, position))):
            if not _after_sign(text, position):
                return None
            factor = 0  # thousands, or metres
        return Magnitude(rest[: gap + end], position + gap + end, factor)
    return None


def largest(factor: int, language: str) -> int:
    """Return below which number a word is written before it: 1000 of thousands, 100 of lakhs."""
    _, own = magnitudes(language)
    if factor in (10**5, 10**7):
        return 100
    return min((each for each in own if each > factor), default=factor * 1000) // factor


def is_short(word: str, language: str) -> bool:
    """Return whether a word has one form for all numbers, as abbreviations have."""
    return word.strip(UNSEEN) in _short(language)


def stands_before(text: str, language: str) -> bool:
    """Return whether a text ends in a word for thousands that its language writes before the figure."""
    return text.rstrip(UNSEEN).rpartition(" ")[2] in _before(language)


@lru_cache(maxsize=64)
def magnitudes(language: str) -> tuple[Mapping[str, int], frozenset[int]]:
    """Return the words of a language and what each multiplies by, and the factors that CLDR uses in it."""
    own = language.replace("_", "-").partition("-")[0].lower()
    cldr = _smallest(language)
    words = {_AMBIGUOUS: 0} if not own else {}
    for name in ("", own):
        words |= {word: 10**power for word, power in _WORDS.get(name, {}).items()}
    factors = frozenset(factor for _, _, factor in _patterns(language or "en", "short"))
    return _smallest("en") | words | cldr, factors


@lru_cache(maxsize=64)
def _lengths(language: str) -> dict[str, list[int]]:
    """How long the words that begin with a letter are, from the longest on."""
    found: dict[str, set[int]] = {}
    for word in magnitudes(language)[0]:
        found.setdefault(word[:1], set()).add(len(word))
    return {letter: sorted(lengths, reverse=True) for letter, lengths in found.items()}


def _smallest(language: str) -> dict[str, int]:
    """What each word of a language multiplies by; of several the smallest."""
    found = [each[1:] for form in ("long", "short") for each in _patterns(language, form)]
    return dict(sorted(found, key=lambda each: -each[1]))


def _after_sign(text: str, position: int) -> bool:
    """Whether the sign of a currency stands before the figure that ends here."""
    before = text[max(0, position - _LONGEST) : position].rstrip("0123456789.,'’" + UNSEEN)
    return bool(before) and unicodedata.category(before[-1]) == "Sc"


def _patterns(language: str, form: str) -> list[tuple[str, str, int]]:
    """What CLDR writes before and behind a figure, and what it multiplies by."""
    locale = locale_of(language)
    found = []
    for patterns in locale.compact_decimal_formats.get(form, {}).values() if locale else ():
        for power, pattern in patterns.items():
            text = pattern.pattern.replace("'", "")
            if "0" in text and (factor := 10 ** (len(power) - text.count("0"))) > 1:
                before, _, after = text.replace("0", "\0").partition("\0")
                found.append((before.strip(UNSEEN), after.strip("\0").strip(UNSEEN), factor))
    return [each for each in found if each[0] or each[1]]


@lru_cache(maxsize=64)
def _short(language: str) -> frozenset[str]:
    own = language.replace("_", "-").partition("-")[0].lower()
    words = {word for name in ("", own) for word in _WORDS.get(name, {})}
    forms = {word for name in ("en", language) for _, word, _ in _patterns(name, "short")}
    return frozenset(words | forms)


@lru_cache(maxsize=64)
def _before(language: str) -> frozenset[str]:
    patterns = (each for form in ("long", "short") for each in _patterns(language, form))
    return frozenset(before for before, _, _ in patterns if before)
