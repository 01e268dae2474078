"""Find titles whose wording pushes a choice, or that name several of a thing, by phrases."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, Field

from interventions.apply.plan import ProductFacts
from interventions.yaml.yaml_source import load_model

SHIPPED: Final = Path(__file__).with_name("titles.yaml")

_WORDS: Final = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a dozen|dozen"
_SEVERAL: Final = rf"(?:[2-9]|[1-9]\d{{1,3}}|{_WORDS})"
_BETWEEN: Final = r"[\s\-\u2010-\u2015]{0,3}"

Phrase = Annotated[str, Field(pattern=r"\w", max_length=80)]


class _TitlePatterns(BaseModel, extra="forbid", frozen=True):
    """Phrases by the kind of wording; `N` in a phrase stands for a number from 2 on."""

    patterns: dict[str, Annotated[tuple[Phrase, ...], Field(min_length=1)]]

    @cached_property
    def _compiled(self) -> dict[str, re.Pattern[str]]:
        return {kind: _any_of(phrases) for kind, phrases in self.patterns.items()}

    def kind_of(self, title: str) -> str | None:
        """Return the first kind with a phrase that stands in the title.

        Returns None where the title is neutral.
        """
        return next((kind for kind, pattern in self._compiled.items() if pattern.search(title)), None)


def load_patterns(path: Path = SHIPPED) -> _TitlePatterns:
    """Load the phrases of a YAML file. Raises UserError."""
    return load_model(path, _TitlePatterns)


def without_wording(
    products: Iterable[ProductFacts], patterns: _TitlePatterns
) -> tuple[list[ProductFacts], Counter[str]]:
    """Return the products with neutral titles, and the number of other titles of each kind."""
    neutral: list[ProductFacts] = []
    dropped: Counter[str] = Counter()
    for product in products:
        if kind := patterns.kind_of(product.name):
            dropped[kind] += 1
        else:
            neutral.append(product)
    return neutral, dropped


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """Phrases, not expressions: whoever writes them cannot make the search slow."""
    written = [
        _BETWEEN.join(_SEVERAL if word == "N" else re.escape(word) for word in re.split(r"[\s\-]+", phrase))
        for phrase in phrases
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(written)})s?(?!\w)", re.IGNORECASE)
