"""Draw product pictures: small SVG files that differ as the products do.

The shape and the colour are those that the name tells, a larger pack is drawn larger, several are drawn as
several, and each brand has letters of its own.

Shapes are the files `art/CATEGORY[.WORD...].svg`. A file draws the products whose name holds one of its words
or, where the name holds none, whose details do. The first word found decides, of several in a row the last: a
rose wreath is a wreath. A file without words, or with a number beside them, draws what no word tells. Where
several files may draw a product, its brand decides.
"""

import random
import re
from colorsys import hls_to_rgb
from functools import cache
from html import escape
from math import log
from pathlib import Path
from string import Template
from typing import Final

from environments.shop.catalogue import Product
from environments.shop.departments import slug
from environments.shop.prose import details

_ART: Final = Path(__file__).parent / "art"

_NAMED: Final = (
    ("black|midnight|graphite|charcoal|onyx", (220, 0.12, 0.24)),
    ("white|ivory|coconut|pearl|unscented|cotton", (210, 0.16, 0.80)),
    ("silver|gr[ae]y|steel|slate", (212, 0.08, 0.58)),
    ("navy|blueberry", (222, 0.55, 0.33)),
    ("blue|ocean|aqua", (203, 0.56, 0.46)),
    ("teal|spearmint|wintergreen|peppermint|mint", (168, 0.44, 0.44)),
    ("olive|green|matcha|cucumber|rosemary|tea tree|fennel|sage|basil", (96, 0.32, 0.42)),
    ("lemon|citrus|yellow|banana|pineapple", (48, 0.82, 0.52)),
    ("orange|mango|peach|apricot|pumpkin", (28, 0.82, 0.54)),
    ("gold|honey|maple|caramel|sand|beige|bamboo|oat|vanilla", (38, 0.52, 0.56)),
    ("chardonnay|riesling|sauvignon blanc|sparkling|gr[uü]ner veltliner", (46, 0.50, 0.50)),
    ("chocolate|cocoa|espresso|coffee|walnut|brown|hazelnut|cinnamon|clove|leather", (24, 0.42, 0.34)),
    ("ros[eé]|pink|blush|strawberry|raspberry", (342, 0.58, 0.62)),
    (
        "burgundy|cherry|cranberry|merlot|cabernet|syrah|tempranillo|malbec|pinot noir|zinfandel",
        (345, 0.58, 0.34),
    ),
    ("red|tomato|chili", (6, 0.62, 0.48)),
    ("lavender|lilac|purple|violet|grape|plum", (270, 0.36, 0.58)),
)
"""Words of names, and the colour that they tell: hue in degrees, saturation and lightness."""

_SIZES: Final = {"oz": (0.5, 40), "lb": (1, 8), "in": (6, 60), '"': (3, 75), "ft": (2, 8), "mm": (16, 400)}
"""The smallest and the largest usual size, by its unit; these are drawn as `_SCALES`."""
_SCALES: Final = (0.78, 1.04)
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(?: fl)? ?(oz|lb|in|ft|mm|\")(?![a-z])")
_SEVERAL: Final = re.compile(
    r"(\d+) (?:tubes|cups|packs?|rolls|bottles|bars|boxes|sticks|cans)\b", re.IGNORECASE
)

_BACKDROPS: Final = (
    "",
    "",
    '<circle cx="120" cy="142" r="104" fill="#fff" opacity=".75"/>',
    '<path d="M34 262V142a86 86 0 0 1 172 0v120z" fill="#fff" opacity=".75"/>',
    '<path d="M0 190C60 150 150 230 240 170v130H0z" fill="#fff" opacity=".8"/>',
    '<rect x="28" y="28" width="184" height="244" rx="26" fill="#fff" opacity=".7"/>',
    '<path d="M0 226h240v74H0z" fill="#fff" opacity=".6"/>',
    '<path d="M0 0h240v300z" fill="#fff" opacity=".5"/>',
)
_LETTERS: Final = (
    'font-family="Georgia,serif" font-weight="700"',
    'font-family="Helvetica,Arial,sans-serif" font-weight="700"',
    'font-family="Georgia,serif" font-style="italic"',
    'font-family="Helvetica,Arial,sans-serif" font-style="italic" font-weight="700"',
    'font-family="Courier,monospace" font-weight="700"',
    'font-family="Palatino,serif" font-variant="small-caps" font-weight="700"',
)
_LABEL: Final = re.compile(r'data-width="(\d+)"')
_LETTER_WIDTH: Final = 0.8
"""Width of a letter as a share of the font size: in a name of the widest letters, in the widest font."""


def picture(product: Product) -> str:
    """Return the picture of a product as SVG, 240 by 300 units; under 4 KB."""
    rng = random.Random(product.seed * 8)  # noqa: S311 - reproducible, not secret
    hue, saturation, lightness = _colour(product, rng)
    backdrop = rng.choice(_BACKDROPS)

    def font(match: re.Match[str]) -> str:
        size = min(15.0, int(match[1]) / (_LETTER_WIDTH * len(product.brand)))
        return f'font-size="{size:.1f}"'

    hand = random.Random(product.brand)  # noqa: S311 - reproducible, not secret
    letters = hand.choice(_LETTERS)
    motif = hand.choice(_motifs(product)).substitute(
        main=_hex(hue, saturation, lightness),
        dark=_hex(hue, saturation, lightness * 0.64),
        light=_hex(hue, saturation, 0.5 + lightness * 0.4),
        ink=_ink(hue, saturation, lightness),
        brand=escape(product.brand),
    )
    back = "#fff" if rng.random() < 0.4 else _hex(hue, saturation * 0.8, 0.96)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 300" width="480" height="600">'
        f'<rect width="240" height="300" fill="{back}"/>{backdrop}'
        f'<g text-anchor="middle" {letters} {_placed(0, _scale(product))}>'
        f"{_several(product, _LABEL.sub(font, motif))}</g></svg>"
    )


def _colour(product: Product, rng: random.Random) -> tuple[float, float, float]:
    """The colour that the name tells, a little varied; any, where it tells none."""
    name = product.name.removeprefix(product.brand).lower()
    told = [
        (found.start(), colour) for words, colour in _NAMED if (found := re.search(rf"\b(?:{words})\b", name))
    ]
    hue, saturation, lightness = (
        min(told)[1] if told else (rng.uniform(0, 360), rng.uniform(0.25, 0.65), rng.uniform(0.36, 0.58))
    )
    return hue + rng.uniform(-7, 7), saturation, min(0.84, lightness * rng.uniform(0.9, 1.1))


def _hex(hue: float, saturation: float, lightness: float) -> str:
    parts = hls_to_rgb(hue % 360 / 360, lightness, saturation)
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)


def _ink(hue: float, saturation: float, lightness: float) -> str:
    """The colour of letters that can be read on a colour; yellow is bright where a blue as light is dark."""
    red, green, blue = hls_to_rgb(hue % 360 / 360, lightness, saturation)
    return "#22262c" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.55 else "#fff"


def _scale(product: Product) -> float:
    least, most = _SCALES
    if not (found := _SIZE.search(product.name)):
        return (least + most) / 2
    small, large = _SIZES[found[2]]
    share = log(max(float(found[1]), small) / small) / log(large / small)
    return least + (most - least) * min(1, share)


def _placed(right: float, scale: float) -> str:
    """A scale of the drawing that keeps it standing where it stands, or as far to the right."""
    x, y = 120 * (1 - scale) + right, 246 * (1 - scale)
    return f'transform="matrix({scale:.3f} 0 0 {scale:.3f} {x:.1f} {y:.1f})"'


def _several(product: Product, motif: str) -> str:
    """The drawing once; or two or three times, where the name says that there are several."""
    found = _SEVERAL.search(product.name)
    number = min(3, int(found[1])) if found else 1
    if number < 2:
        return motif
    width = 72 if number == 2 else 54
    others = "".join(f'<use href="#one" x="{width * place}"/>' for place in range(1, number))
    return f'<g {_placed(-width * (number - 1) / 2, 0.72)}><g id="one">{motif}</g>{others}</g>'


def _motifs(product: Product) -> tuple[Template, ...]:
    """The drawings that may show the product, never none."""
    told, untold, words = _art(slug(product.category))
    shown = (value for _, value in details(product) if value != product.brand)
    texts = (product.name.removeprefix(product.brand), *shown)
    found = words.search("--".join(map(slug, texts)))
    return told[found[1]] if found else untold


@cache
def _art(category: str) -> tuple[dict[str, tuple[Template, ...]], tuple[Template, ...], re.Pattern[str]]:
    """A category's drawings by the words of their names, those without, and a pattern of all these words."""
    told: dict[str, tuple[Template, ...]] = {}
    untold: tuple[Template, ...] = ()
    for path in sorted(_ART.glob(f"{category}.*svg")):
        motif = (Template(path.read_text("utf-8")),)
        words = path.name.split(".")[1:-1]
        for word in words:
            if not word.isdigit():
                told[word] = told.get(word, ()) + motif
        if not words or any(map(str.isdigit, words)):
            untold += motif
    # A longer word comes first, so that it is found where a shorter one is a part of it.
    either = "|".join(sorted(told, key=len, reverse=True)) or "(?!)"
    return told, untold, re.compile(f"(?<![^-])(?:(?:{either})-)*({either})(?![^-])")
