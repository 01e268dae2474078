"""The prompt of the language-model shoppers: one system and one user message per step, from two templates."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from environments.actions import ACTIONS, Action
from environments.observation import Observation

_TEMPLATES = Path(__file__).parent / "templates"
_NAMES = ("system.j2", "step.j2")
_environment = Environment(
    loader=FileSystemLoader(_TEMPLATES),
    autoescape=False,  # noqa: S701 (a prompt is plain text, and the model has to see the page's HTML as it is)
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

TEMPLATE_DIGEST: Final = hashlib.sha256(
    b"\0".join((_TEMPLATES / name).read_bytes() for name in _NAMES)
).hexdigest()
"""SHA-256 of the templates, for the records: runs with equal digests had equal wording."""

BUDGET: Final = 120_000
"""Default length of a prompt in characters, about 40,000 tokens."""

TRUNCATED: Final = "\n[the rest of the page is left out]"


@dataclass(frozen=True, slots=True)
class PastStep:
    """What the model did at an earlier step; `error` is why its action failed, or empty."""

    thought: str
    memory: str
    action: Action
    error: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The two messages of a step."""

    system: str
    user: str


def build_prompt(observation: Observation, history: Sequence[PastStep], *, budget: int = BUDGET) -> Prompt:
    """The prompt for one step, of at most `budget` characters as far as cutting the page's HTML allows.

    Only the HTML is ever cut, from its end and with a marker: goal, tabs, history and format stay whole.
    """
    system = _render("system.j2", actions=[kind.describe(name) for name, kind in ACTIONS.items()])

    def user(html: str) -> str:
        return _render("step.j2", goal=observation.goal, tabs=observation.tabs, html=html, history=history)

    html = observation.html
    room = budget - len(system) - len(user(""))
    if len(html) > room:
        html = html[: max(room - len(TRUNCATED), 0)] + TRUNCATED
    return Prompt(system, user(html))


def _render(name: str, **values: object) -> str:
    text = _environment.get_template(name).render(values)
    return text.encode(errors="replace").decode()  # pages can hold lone surrogates, which cannot be sent
