"""Draw product pictures: small SVG files, one motif per category, coloured and labelled per product."""

import random
import re
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Final

from environments.shop.catalogue import Product
from environments.shop.departments import slug

_ART: Final = Path(__file__).parent / "art"

_PALETTES: Final = (
    ("#c8553d", "#8c3526", "#f0b59f", "#fdf3ee"),
    ("#2a6f97", "#174a69", "#a9d3ea", "#eef6fb"),
    ("#5b8c5a", "#3b5f3b", "#bcdcb6", "#f2f8f0"),
    ("#8e5a9e", "#5f3a6c", "#d9bfe2", "#f8f2fa"),
    ("#d98e04", "#96610a", "#f8d58b", "#fff8e8"),
    ("#3d8b8b", "#245c5c", "#a9dcd8", "#eef8f7"),
    ("#c2476b", "#872a47", "#f3b3c6", "#fdf1f5"),
    ("#566573", "#36414b", "#c3ccd4", "#f3f5f7"),
    ("#6b7fd1", "#434f92", "#c3ccf4", "#f2f4fd"),
    ("#a0784a", "#6b4e2d", "#e3c9a6", "#faf5ee"),
)
"""Main, dark, light and background color."""

_BACKDROPS: Final = (
    '<circle cx="120" cy="142" r="104" fill="#fff" opacity=".75"/>',
    '<path d="M34 262V142a86 86 0 0 1 172 0v120z" fill="#fff" opacity=".75"/>',
    '<path d="M0 190C60 150 150 230 240 170v130H0z" fill="#fff" opacity=".8"/>',
    '<rect x="28" y="28" width="184" height="244" rx="26" fill="#fff" opacity=".7"/>',
)
_LABEL: Final = re.compile(r'data-width="(\d+)"')
_LETTER_WIDTH: Final = 0.62
"""Width of a letter as a share of the font size."""


def picture(product: Product) -> str:
    """Return the picture of a product as SVG, 240 by 300 units; under 4 KB."""
    rng = random.Random(product.seed * 8)  # noqa: S311 - reproducible, not secret
    main, dark, light, back = rng.choice(_PALETTES)
    backdrop = rng.choice(_BACKDROPS)

    def font(match: re.Match[str]) -> str:
        size = min(15.0, int(match[1]) / (_LETTER_WIDTH * len(product.brand)))
        return f'font-size="{size:.1f}"'

    motif = _motif(product.category).substitute(
        main=main, dark=dark, light=light, brand=escape(product.brand)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 300" width="480" height="600">'
        f'<rect width="240" height="300" fill="{back}"/>{backdrop}'
        '<ellipse cx="120" cy="246" rx="84" ry="9" fill="#000" opacity=".1"/>'
        '<g text-anchor="middle" font-family="Georgia,serif" font-weight="700">'
        f"{_LABEL.sub(font, motif)}</g></svg>"
    )


@cache
def _motif(category: str) -> Template:
    return Template((_ART / f"{slug(category)}.svg").read_text("utf-8"))
