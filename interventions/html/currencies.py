"""Know the signs of currencies beside a figure, and how many decimals a currency has.

Signs, codes and decimals are CLDR's, through Babel; words that only shops write are in `_WORDS`.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_precision, list_currencies

UNSEEN: Final = " \t\n\f\r\u200e\u200f\u061c\u00a0\u2007\u2009\u202f"
"""What may stand between a figure and its currency: white space, marks of direction."""
_OF_SEVERAL: Final = (
    "kr kr. zł Kč Ft lei лв лв. Rs Rs. Rp RM руб руб. Fr Fr. ر.س د.إ ج.م ريال درهم جنيه دينار تومان".split()  # noqa: SIM905
)
_NEVER_BEFORE: Final = frozenset(["Euro", "Euros", "euro", "euros"])
"""Words that begin what is no price, as in `Euro 2024`."""
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "": dict.fromkeys(_OF_SEVERAL, "")
    | {"円": "JPY", "元": "CNY", "RMB": "CNY", "원": "KRW", "บาท": "THB", "đ": "VND", "₫": "VND"}
    | dict.fromkeys(("Euro", "Euros", "euro", "euros", "EURO"), "EUR")
    | {
        "TL": "TRY",
        "KD": "KWD",
        "Dhs": "AED",
        "FCFA": "XOF",
        "F CFA": "XOF",
        "KSh": "KES",
        "S/": "PEN",
        "Gs.": "PYG",
    }
    | {
        "грн": "UAH",
        "грн.": "UAH",
        "тг": "KZT",
        "тг.": "KZT",
        "сум": "UZS",
        "so'm": "UZS",
        "дин": "RSD",
        "дин.": "RSD",
    }
    | {
        "रू": "NPR",
        "रु": "INR",
        "रु.": "INR",
        'ש"ח': "ILS",
        "ש״ח": "ILS",
        "שח": "ILS",
        "ლარი": "GEL",
        "դր.": "AMD",
    }
    | {"د.ب": "BHD", "د.ك": "KWD", "ر.ع": "OMR", "د.أ": "JOD", "د.ت": "TND", "د.ل": "LYD"},
    "az": {"man.": "AZN", "man": "AZN"},
    "bs": {"KM": "BAM"},
    "en": {"BD": "BHD", "JD": "JOD", "SR": "SAR", "Tk": "BDT"},
    "fr": {"DA": "DZD", "DH": "MAD", "DT": "TND"},
    "hr": {"din": "RSD", "din.": "RSD"},
    "my": {"Ks": "MMK"},
    "ru": {"р": "RUB", "р.": "RUB"},
    "sr": {"din": "RSD", "din.": "RSD"},
}
"""Language (empty: any) -> what shops write beside a figure, and CLDR does not know -> the currency's code.

The code is empty where several currencies are called so.
"""


@lru_cache(maxsize=64)
def signs(language: str) -> Mapping[str, str]:
    """Return the signs of currencies on pages in a language, each with its code (empty: of several)."""
    own = language.replace("_", "-").partition("-")[0].lower()
    known = dict(_WORDS[""]) | dict(_WORDS.get(own, {})) | {code: code for code in list_currencies()}
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
