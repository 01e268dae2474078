"""Make the study's own pages from its texts and words. Style and script stand in each page."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
import yaml
from markdown_it import MarkdownIt

from experiments.people.pictures import SIZE, Picture
from experiments.people.study_file import ControlQuestion, ExitQuestion, PeopleStudy, in_language

_FOLDER: Final = Path(__file__).parent / "templates"
_STYLE: Final = (_FOLDER / "study.css").read_text(encoding="utf-8")
_SCRIPT: Final = (_FOLDER / "study.js").read_text(encoding="utf-8")
WORDS: Final[Mapping[str, Mapping[str, str]]] = yaml.safe_load(
    Path(__file__).with_name("words.yaml").read_text(encoding="utf-8")
)
_RIGHT_TO_LEFT: Final = ("ar", "fa", "he", "ur")
_ENVIRONMENT: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        f"style-src '{_hash(_STYLE)}'",
        f"script-src '{_hash(_SCRIPT)}'",
        "connect-src 'self'",
        "img-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
"""What the study's own pages may load."""


def words_of(language: str) -> Mapping[str, str]:
    """Return the words of a language; English ones where there are none, in the language's direction."""
    found = WORDS.get(language) or WORDS.get(language.partition("-")[0])
    return found or {**WORDS["en"], "dir": "rtl" if language[:2] in _RIGHT_TO_LEFT else "ltr"}


@cache
def _as_html(text: str) -> str:
    """Markdown as HTML; HTML in it is shown as text."""
    return str(_MARKDOWN.render(text))


class Screens:
    """The pages of one study."""

    def __init__(self, study: PeopleStudy) -> None:
        """Take the study."""
        self._study = study

    def language(self, wanted: str) -> str:
        """Return the language of the study that somebody wants, or its first one."""
        known = self._study.file.languages
        return wanted if wanted in known else known[0]

    def text(self, page: str, language: str) -> str:
        """Return the text of a page, in Markdown; empty where the study has none."""
        texts = self._study.texts.get(page)
        return in_language(texts, language) if texts else ""

    def titled(self, page: str, language: str, usual: str) -> tuple[str, str]:
        """Return the title and the rest of a page's text; without one the word `usual` is the title."""
        text = self.text(page, language)
        first, _, rest = text.partition("\n")
        return (first[2:].strip(), rest) if first.startswith("# ") else (words_of(language)[usual], text)

    def render(self, language: str, title: str, text: str = "", **values: Any) -> str:
        """Return a page with a text in Markdown, and a form where there is an `action`."""
        return self._render("page.html.j2", language, title, {"text": _as_html(text), **values})

    def trial(
        self,
        language: str,
        goal: str,
        urls: list[str],
        pictures: Sequence[Picture],
        *,
        several: bool,
        progress: str,
    ) -> str:
        """Return the page around a trial: its goal, and the shop in frames, or the pictures to choose by."""
        own = {"goal": goal, "urls": urls, "several": several, "progress": progress, "screen": "trial"}
        own |= {"pictures": pictures, "size": SIZE}
        return self._render("trial.html.j2", language, words_of(language)["task"], own)

    def item(
        self, name: str, item: ControlQuestion | ExitQuestion, language: str, *, wrong: bool = False
    ) -> dict[str, Any]:
        """Return the values of a question; `wrong`: another answer was right, and why is said."""
        why = (
            in_language(item.why, language)
            if wrong and isinstance(item, ControlQuestion) and item.why
            else ""
        )
        return {
            "name": name,
            "text": in_language(item.text, language),
            "options": [in_language(option, language) for option in item.options],
            "required": isinstance(item, ControlQuestion) or not item.optional,
            "why": why,
        }

    def _render(self, template: str, language: str, title: str, values: Mapping[str, Any]) -> str:
        privacy = self._study.file.privacy
        usual: dict[str, Any] = {
            "screen": "page", "error": "", "code": "", "back": "", "action": "", "hidden": {}, "items": (),
            "box": "", "buttons": (), "other_languages": (), "may_leave": False,
        }  # fmt: skip
        fixed = {
            "language": language, "words": words_of(language), "title": title, "style": _STYLE,
            "script": _SCRIPT, "contact": privacy.contact, "ethics": privacy.ethics,
        }  # fmt: skip
        return _ENVIRONMENT.get_template(template).render({**usual, **fixed, **values})
