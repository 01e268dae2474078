#!/bin/sh
# selectolax 1.0.2 (Lexbor backend), CPython 3.11 to 3.13.
# css() returns an element once for each selector of a comma-separated list that it matches. In browsers,
# querySelectorAll() returns each element once. css() of a node can return that node itself, also against
# querySelectorAll(), and `:scope`, by which one would exclude it, is not understood.
# A program that edits "each element of css()" edits some of them twice.
#
# Seen:
#   .price, [itemprop=price]      2 results, 1 element
#   :is(.price, [itemprop=price]) 1 results, 1 element
#   css() of a node returns the node itself: True
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check selectolax==1.0.2
"$folder/venv/bin/python" - <<'PROGRAM'
import sys

from selectolax.lexbor import LexborHTMLParser

PAGE = '<div class="offer" id="outer"><span class="price" itemprop="price">1</span><b class="offer">2</b></div>'
tree = LexborHTMLParser(PAGE)
counts = []
for selector in (".price, [itemprop=price]", ":is(.price, [itemprop=price])"):
    found = tree.css(selector)
    counts.append((len(found), len({node.mem_id for node in found})))
    print(f"{selector:30}", "{} results, {} element".format(*counts[-1]))
outer = tree.css_first("#outer")
itself = outer.mem_id in {node.mem_id for node in outer.css(".offer")}
print("css() of a node returns the node itself:", itself)
sys.exit(not (counts == [(2, 1), (1, 1)] and itself))
PROGRAM
