"""Read a choice card from an observation's HTML, as far as the viewport shows it."""

import re
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborNode

from interventions.html.tree import parse, select

_LETTER: Final = re.compile(r"([A-Z])(?::|$)")
_COUNT: Final = re.compile(
    r"\bfollowing (two|three|four|five|six|seven|eight|nine|ten) options\b", re.IGNORECASE
)
_WORDS: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(slots=True)
class ShownOption:
    """The visible part of an alternative; `button` is the bid of the button that chooses it."""

    facts: dict[str, str] = field(default_factory=dict)
    button: str = ""


@dataclass(slots=True)
class CardPage:
    """The visible part of a card.

    `options` are by name, in order of presentation; `letters` are the bids of buttons for letters. `field`
    and `submit` are the bids of a text field, which holds `value`, and its button. `count` is how many
    options there are by the card's own words; 0: the card does not say.
    """

    text: str
    problem: bool
    """Whether the card says that the last answer was invalid."""
    count: int = 0
    options: dict[str, ShownOption] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)
    field: str = ""
    value: str = ""
    submit: str = ""


def read_card_page(html: str) -> CardPage | None:
    """Read a card from any HTML.

    Returns None where the HTML shows neither a way to answer a card nor the number of its options. Of a card
    within another page (its heading is no part of the form) the text is the heading and the form.
    """
    tree = parse(html)
    control = tree.css_first('[bid][name="answer"]')
    if control is None and not _COUNT.search(_text(tree.body)):
        return None
    alerts = select(tree, '[role="alert"]')
    for alert in alerts:
        alert.decompose()
    form, heading = _form_of(control), tree.css_first("h1")
    scope, text = tree.body, _text(tree.body)
    if form is not None and heading is not None and form.css_first("h1") is None:
        scope, text = form, f"{_text(heading)}\n{_text(form)}"
    count = _COUNT.search(text)
    page = CardPage(text, problem=bool(alerts), count=_WORDS.index(count[1].lower()) + 2 if count else 0)
    if scope is not None:
        _read_parts(page, select(scope, "h2, dt, dd, input, button"))
    return page


def _read_parts(page: CardPage, parts: list[LexborNode]) -> None:
    """A name comes before its facts and they before their button; the viewport may cut off either end."""
    name, label, facts = "", "", dict[str, str]()
    for part in parts:
        bid, is_answer = part.attributes.get("bid") or "", part.attributes.get("name") == "answer"
        if part.tag == "h2":
            name, facts = _text(part), {}
            page.options.setdefault(name, ShownOption(facts))
        elif part.tag == "dt":
            label = _text(part)
            if label in facts:  # those of another alternative, which is cut off at both ends
                name, facts = "", {}
        elif part.tag == "dd":
            facts[label] = _text(part)
        elif part.tag == "input" and is_answer:
            page.field, page.value = bid, part.attributes.get("value") or ""
        elif page.field and bid and not page.submit:
            page.submit = bid
        elif is_answer and (letter := _LETTER.match(_text(part))):
            page.letters[letter[1]] = bid
        elif is_answer:
            name = name or (part.attributes.get("aria-label") or "").removeprefix("Choose ")
            page.options.setdefault(name, ShownOption(facts)).button = bid
            name, facts = "", {}


def _form_of(node: LexborNode | None) -> LexborNode | None:
    parent = node.parent if node else None
    while parent is not None and parent.tag != "form":
        parent = parent.parent
    return parent


def _text(node: LexborNode | None) -> str:
    return " ".join(node.text(separator=" ").split()) if node else ""
