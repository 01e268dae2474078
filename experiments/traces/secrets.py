"""Take secrets out of what is written for others."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from agents.command import secrets_of
from environments.protocol.actions import EVERY, ActionError, parse_action
from experiments.records.record import Row
from experiments.records.shown import OWN_WORDS, without_folders

REMOVED: Final = "[removed]"

_USER: Final = re.compile(r"(?<=://)[^/\s@\"'<>]+@")
"""A name and a password before the host of an address."""
_PARAMETER: Final = re.compile(
    r"(?<=[?&;#])([\w.%\[\]-]*(?:key|token|secret|passw|pwd|session|sid|auth|credential|signature)"
    r"[\w.%\[\]-]*=)[^&;#\s\"'<>]+",
    re.IGNORECASE,
)
"""A parameter of an address whose name says that its value is secret."""
_PASSWORD: Final = re.compile(r"<input\b[^<>]*\btype=[\"']?password\b[^<>]*>", re.IGNORECASE)
_VALUE: Final = re.compile(r"\svalue=(\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)


class Cleaner:
    """Takes out passwords that were typed, secrets of this process's environment, and those of addresses."""

    def __init__(self, typed: Iterable[str] = ()) -> None:
        """Take the passwords that were typed."""
        self._secrets = [*typed, *secrets_of(os.environ)]

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, REMOVED)
        return _PARAMETER.sub(rf"\g<1>{REMOVED}", _USER.sub("", text))

    def page(self, page: str) -> str:
        """Return a page without secrets, and without what stands in its fields for passwords."""
        return self.text(_PASSWORD.sub(lambda field: _VALUE.sub("", field[0]), page))

    def row(self, row: Row) -> Row:
        """Return a row without secrets, and without the folders of this machine."""
        cleaned = {name: self.text(value) if isinstance(value, str) else value for name, value in row.items()}
        return cleaned | {name: without_folders(cleaned[name]) for name in OWN_WORDS if name in cleaned}


def passwords(actions: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what actions have typed into fields for passwords; each action comes with its page."""
    for text, page in actions:
        try:
            action = parse_action(text, EVERY)
        except ActionError:
            continue
        if action.name == "fill" and action.args[1]:
            bid = f'bid="{action.args[0]}"'
            if any(bid in field[0] for field in _PASSWORD.finditer(page)):
                yield str(action.args[1])
