"""Read the way to an order from an observation: the next control, empty fields, boxes, and the sums."""

import re
from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from agents.simulated.readers.facts import price_in
from agents.simulated.readers.product_page import text_of
from interventions.html.tree import parse, select

PLACE, NEXT, PROCEED, CART = "place", "next", "proceed", "cart"
_STEPS: Final = (
    (PLACE, re.compile(r"(?:place|submit|confirm)\b.*\border|buy now|pay now", re.I)),
    (NEXT, re.compile(r"next|continue(?: to \w+)?", re.I)),
    (PROCEED, re.compile(r"(?:proceed|go) to checkout|checkout", re.I)),
    (CART, re.compile(r"(?:view (?:and edit )?)?(?:shopping )?(?:cart|basket)", re.I)),
)
"""The controls that lead on, the one that is nearest to the order first."""
_REFUSES: Final = re.compile(r"\b(?:not|no|never|without|uncheck|don['’]?t)\b", re.I)
_OWN: Final = re.compile(r"subtotal|shipping|tax|total", re.I)
_AMOUNT: Final = re.compile(r"\W*(\d[\d.,]*)\D*$")


@dataclass(frozen=True, slots=True)
class CheckoutBox:
    """A box on the form; `gets`: whether the customer gets what it is about, as it is now."""

    bid: str
    name: str
    label: str
    gets: bool


@dataclass(frozen=True, slots=True)
class CheckoutPage:
    """What is in view of a page on the way to an order.

    `steps`: the bid of each control that leads on. `fields`: bid and name of each empty field for a text.
    `answers`: the bids of the buttons of a dialog. `asked`: bid and type of each empty field of it.
    `extras`: label and amount of the lines before the total that are neither products nor the shop's own.
    `removals`: the bids of the buttons that remove such a line.
    """

    steps: dict[str, str]
    fields: tuple[tuple[str, str], ...]
    boxes: tuple[CheckoutBox, ...]
    has_total: bool
    extras: tuple[tuple[str, ...], ...]
    answers: tuple[str, ...] = ()
    removals: tuple[str, ...] = ()
    asked: tuple[tuple[str, str], ...] = ()


def read_checkout_page(html: str) -> CheckoutPage:
    """Read any HTML; what is not there is empty."""
    tree = parse(html)
    named = [(node, node.attributes.get("bid") or "") for node in select(tree, "[bid]")]
    steps: dict[str, str] = {}
    for node, bid in named:
        text = text_of(node) if node.tag in ("a", "button") else node.attributes.get("value") or ""
        for step, words in _STEPS:
            if words.fullmatch(text.strip()):
                steps.setdefault(step, bid)
    fields = tuple(
        (bid, node.attributes.get("name") or node.attributes.get("id") or bid)
        for node, bid in named
        if node.tag == "input" and node.attributes.get("type") in ("text", "email", "tel")
        if not node.attributes.get("value")
    )
    rows = [text_of(row) for row in select(tree, "tr") if not select(row, "input")]
    priced = [text for text in rows if price_in(text) is not None]
    totals = [index for index, text in enumerate(priced) if re.match(r"order total|total", text, re.I)]
    before = priced[: totals[0]] if totals else []
    return CheckoutPage(
        steps,
        fields,
        tuple(_boxes(tree, named)),
        bool(totals),
        tuple(tuple(_AMOUNT.split(text)[:2]) for text in _after_subtotal(before) if not _OWN.search(text)),
        tuple(node.attributes["bid"] or "" for node in select(tree, "[role=dialog] button[bid]")),
        tuple(bid for node, bid in named if node.tag == "button" and text_of(node).strip() == "Remove"),
        tuple(
            (node.attributes["bid"] or "", node.attributes.get("type") or "text")
            for node in select(tree, "[role=dialog] input[bid]")
            if not node.attributes.get("value")
        ),
    )


def _after_subtotal(rows: list[str]) -> list[str]:
    """The lines of the totals: those from the subtotal on."""
    starts = [index for index, text in enumerate(rows) if re.search("subtotal", text, re.I)]
    return rows[starts[-1] :] if starts else []


def _boxes(tree: LexborHTMLParser, named: list[tuple[LexborNode, str]]) -> list[CheckoutBox]:
    found = []
    for node, bid in named:
        if node.tag != "input" or node.attributes.get("type") != "checkbox":
            continue
        label = node.parent
        while label is not None and label.tag not in ("label", "body"):
            label = label.parent
        text = text_of(label) if label is not None and label.tag == "label" else ""
        ticked = "checked" in node.attributes
        found.append(
            CheckoutBox(bid, node.attributes.get("name") or bid, text, ticked != bool(_REFUSES.search(text)))
        )
    return found
