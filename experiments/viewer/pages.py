"""Render the viewer's templates. Style and script stand in each page, so that a page needs no other file."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from experiments.viewer import recorded_page, words

_FOLDER: Final = Path(__file__).parent / "templates"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


STYLE: Final = (_FOLDER / "viewer.css").read_text(encoding="utf-8")
SCRIPT: Final = (_FOLDER / "viewer.js").read_text(encoding="utf-8")

POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        f"style-src '{_hash(STYLE)}' '{_hash(recorded_page.STYLE)}'",  # a frame inherits this policy
        f"script-src '{_hash(SCRIPT)}'",
        "img-src data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
    ]
)
"""What the viewer's pages may load. Neither policy lets a frame go to an address."""
SITE_POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
    f"style-src '{_hash(STYLE)}' '{_hash(recorded_page.STYLE)}'"
)
"""What the pages of a static site may load: they have no script."""
HEADER_POLICY: Final = f"{POLICY}; frame-ancestors 'none'"

ENVIRONMENT: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def href(address: str | None) -> Markup:
    """Return the attribute of a link; none for what has no page, so that the link is only its text."""
    return Markup(' href="{}"').format(address) if address else Markup()


ENVIRONMENT.globals |= {
    "style": STYLE,
    "script": SCRIPT,
    "policy": POLICY,
    "site_policy": SITE_POLICY,
    "href": href,
    "live": False,
}
_FILTERS: Final = ("condition", "duration", "path", "dollars", "number", "moment")
ENVIRONMENT.filters |= {name: getattr(words, name) for name in _FILTERS}


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a page; every text in it is escaped."""
    return ENVIRONMENT.get_template(template).render(values)
