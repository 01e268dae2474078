"""Know the signs of currencies beside a figure, and how many decimals a currency has.

Signs, codes and decimals are CLDR's, through Babel; words that only shops write are in `currencies.yaml`.
"""

import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_precision, list_currencies

from interventions.data_file import items, read_data

UNSEEN: Final = " \t\n\f\r\u200e\u200f\u061c\u00a0\u2007\u2009\u202f"
"""What may stand between a figure and its currency: white space, marks of direction."""
_NEVER_BEFORE: Final = frozenset(["Euro", "Euros", "euro", "euros"])
"""Words that begin what is no price, as in `Euro 2024`."""


@cache
def _words(language: str) -> Mapping[str, str]:
    """What shops write beside a figure -> the code of the currency; empty where several are called so."""
    told = read_data(__file__, "currencies.yaml").get(language, {})
    return {word: "" if code == "several" else code for code, text in told.items() for word in items(text)}


@lru_cache(maxsize=64)
def signs(language: str) -> Mapping[str, str]:
    """Return the signs of currencies on pages in a language, each with its code (empty: of several)."""
    own = language.replace("_", "-").partition("-")[0].lower()
    known = dict(_words("every")) | dict(_words(own)) | {code: code for code in list_currencies()}
    for locale in (locale_of("en"), locale_of(language)):
        for code, sign in locale.currency_symbols.items() if locale else ():
            known[" ".join(sign.strip(UNSEEN).split())] = known[sign.strip(UNSEEN).rstrip(".")] = code
    return known


def sign_before(text: str, known: Mapping[str, str]) -> str:
    """Return the longest sign at the end of a text; empty where there is none."""
    for start in range(len(text)):
        sign = text[start:]
        if (
            sign in known
            and sign not in _NEVER_BEFORE
            and not (start and are_one_word(text[start - 1], sign[0]))
        ):
            return sign
    return text[-1:] if text and unicodedata.category(text[-1]) == "Sc" else ""


def sign_after(text: str, known: Mapping[str, str]) -> str:
    """Return the longest sign at the start of a text; empty where there is none."""
    for end in range(len(text), 0, -1):
        sign = text[:end]
        if sign in known and not (end < len(text) and are_one_word(sign[-1], text[end])):
            return sign
    return text[:1] if text and unicodedata.category(text[0]) == "Sc" else ""


def minor_units(currency: str) -> int:
    """Return how many decimals a currency has: 2 for EUR, 0 for JPY, 3 for KWD; 2 where it is not known."""
    return get_currency_precision(currency) if currency else 2


def locale_of(name: str) -> Locale | None:
    """Return what CLDR says of a language such as `de-AT`, or of the language without its country."""
    name = name.replace("-", "_")
    try:
        return Locale.parse(name) if name else None
    except (UnknownLocaleError, ValueError, TypeError):
        language, _, rest = name.rpartition("_")
        return locale_of(language) if language and rest and language != "und" else None


def are_one_word(left: str, right: str) -> bool:
    """Return whether two neighbours belong to one word; Chinese and Japanese put no spaces between words."""
    return left.isalnum() and right.isalnum() and max(left, right) < "\u2e80"
