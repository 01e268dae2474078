"""Render a card as HTML, as a page of its own or as part of a shop's page.

The HTML needs no script and no other file.
"""

import re
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from interventions.cards.card import Card
from interventions.cards.filling import UNSEEN

ANSWER_PATH: Final = "/.souk/answer"
"""Where answers are posted to: form fields `card` (its number, from 0) and `answer`."""
CONTENT_TYPE: Final = "text/html; charset=utf-8"

_STARS: Final = re.compile(r"([1-5]) stars?")
_SCORE: Final = re.compile(r"[0-9.]+/10( .*)?")
_AMOUNT: Final = re.compile(r"\$[0-9,.]+")
_RULE: Final = re.compile(r"-{3,}")


def _visible(text: object) -> str:
    """What a page cannot hold, such as NUL, as the sign for it."""
    if isinstance(text, Markup):
        return text
    return UNSEEN.sub("\ufffd", str(text))


def _paragraphs(text: str) -> list[str]:
    """The parts between blank lines; an empty one is a rule."""
    parts = [part.strip() for part in re.split(r"\n\s*\n", text)]
    return ["" if _RULE.fullmatch(part) else part for part in parts if part]


def _kind(value: str) -> str:
    """How a value is drawn; alike for all alternatives, and by its form only."""
    if stars := _STARS.fullmatch(value):
        return f"stars stars-{stars[1]}"
    return "score" if _SCORE.fullmatch(value) else "amount" if _AMOUNT.fullmatch(value) else ""


_ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    finalize=_visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"paragraphs": _paragraphs, "kind": _kind}
_PAGE: Final = _ENVIRONMENT.get_template("page.html")
_FRAGMENT: Final = _ENVIRONMENT.get_template("fragment.html")
_THANKS: Final = _ENVIRONMENT.get_template("thanks.html")


def render_page(card: Card, *, action: str, number: int = 0, problem: str = "") -> bytes:
    """Return a card as a whole page in UTF-8.

    `action` is the address that takes the answer; `problem` says what was wrong with the last answer.
    `number` is posted with the answer: it tells an answer to this card from one to the card before.
    """
    shown = len(card.alternatives)
    columns = shown if shown <= 4 else -(-shown // 2)
    return _PAGE.render(card=card, action=action, number=number, problem=problem, columns=columns).encode()


def render_fragment(card: Card, *, action: str, number: int = 0, problem: str = "") -> str:
    """Return a card as one element, a form, to be put into a product's page.

    Styles are attributes, so that a shop's content security policy can allow them one by one.
    """
    return _FRAGMENT.render(card=card, action=action, number=number, problem=problem).strip()


def thanks_page() -> bytes:
    """Return the page that is shown after the last answer."""
    return _THANKS.render().encode()
