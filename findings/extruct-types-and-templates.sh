#!/bin/sh
# extruct 0.18.0 with lxml, CPython 3.11 to 3.13.
# JSON-LD is found only where the script's type is written exactly "application/ld+json". With a parameter, a
# blank before it or capitals, which browsers and search engines accept, the data are missing without a word.
# Microdata inside <template>, which no browser shows, are returned as a product of the page.
#
# Seen:
#   json-ld: plain    (not: parameter, blank, capitals)
#   microdata: shown, template
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check extruct==0.18.0
"$folder/venv/bin/python" - <<'PROGRAM'
import sys

import extruct

TYPES = {
    "plain": "application/ld+json",
    "parameter": "application/ld+json; charset=utf-8",
    "blank": " application/ld+json",
    "capitals": "application/LD+JSON",
}
scripts = "".join(
    f'<script type="{kind}">{{"@type": "Product", "name": "{name}"}}</script>' for name, kind in TYPES.items()
)
item = '<div itemscope itemtype="https://schema.org/Product"><span itemprop="name">{}</span></div>'
page = f"<html><body>{item.format('shown')}<template>{item.format('template')}</template>{scripts}</body></html>"
found = extruct.extract(page, syntaxes=["json-ld", "microdata"])
seen = {
    "json-ld": [each["name"] for each in found["json-ld"]],
    "microdata": [each["properties"]["name"] for each in found["microdata"]],
}
for syntax, names in seen.items():
    print(syntax, *names)
sys.exit(seen != {"json-ld": ["plain"], "microdata": ["shown", "template"]})
PROGRAM
