#!/bin/sh
# Babel 2.18.0, CPython 3.11 to 3.13.
# format_compact_decimal() chooses the unit before it rounds: just below a million it says "1000K", where ICU and
# browsers (Intl.NumberFormat) say "1M". Halves go to the even digit, so 2,500 and 3,500 are 2K and 4K.
# parse_decimal() takes none of these texts, also not in the locale that wrote them, whereas in German and
# Japanese the same call gives plain digits below a bound, which it does take: code that was tried with small
# numbers or in those locales fails elsewhere.
#
# Seen:
#   en 999999 1000K    en 2500 2K    en 3500 4K    de 9999 9999    sv 9999 10 tn
#   parsed back: de 9999; not parsed: en 1000K, en 2K, en 4K, sv 10 tn
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check babel==2.18.0
"$folder/venv/bin/python" - <<'PROGRAM'
import sys

from babel.numbers import NumberFormatError, format_compact_decimal, parse_decimal

EXPECTED = {
    ("en", 999_999): ("1000K", None),
    ("en", 2_500): ("2K", None),
    ("en", 3_500): ("4K", None),
    ("de", 9_999): ("9999", 9_999),
    ("sv", 9_999): ("10 tn", None),
}
seen = {}
for locale, number in EXPECTED:
    text = format_compact_decimal(number, locale=locale)
    try:
        back = int(parse_decimal(text, locale=locale))
    except NumberFormatError:
        back = None
    seen[locale, number] = text.replace("\N{NO-BREAK SPACE}", " "), back
    print(locale, number, *seen[locale, number])
sys.exit(seen != EXPECTED)
PROGRAM
