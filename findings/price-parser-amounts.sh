#!/bin/sh
# price-parser 0.5.0, CPython 3.11 to 3.13.
# Price.fromstring() returns an amount of every text below, and nothing in the result says that it is another one
# than a person reads. It drops words and signs of magnitude and the minus sign, takes the number of instalments
# or of pieces for the price, reads the three decimals of Kuwaiti dinars as thousands, and joins cents that stand
# apart (as the text of a price whose cents are raised) to the euros.
#
# Seen:
#   $1.2k 1.2    1,2 Tsd. € 1.2    ₹1.2 lakh 1.2    ¥1.2万 1.2    -12,90 € 12.90    4 x 12,90 € 4    2 für 15 € 2
#   KD 1.250 1250    12 99 € 1299    (right: 12€99 12.99, 12,90 €/100 g 12.90)
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check price-parser==0.5.0
"$folder/venv/bin/python" - <<'PROGRAM'
import sys

from price_parser import Price

EXPECTED = {
    "$1.2k": "1.2",
    "1,2 Tsd. €": "1.2",
    "₹1.2 lakh": "1.2",
    "¥1.2万": "1.2",
    "-12,90 €": "12.90",
    "4 x 12,90 €": "4",
    "2 für 15 €": "2",
    "KD 1.250": "1250",
    "12 99 €": "1299",
    "12€99": "12.99",
    "12,90 €/100 g": "12.90",
}
seen = {text: str(Price.fromstring(text).amount) for text in EXPECTED}
for text, amount in seen.items():
    print(text, "->", amount)
sys.exit(seen != EXPECTED)
PROGRAM
