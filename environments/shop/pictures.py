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
from interventions.data_file import read_data

_ART: Final = Path(__file__).parent / "art"

_DATA: Final = read_data(__file__, "pictures.yaml")
_SCALES: Final = (0.78, 1.04)
"""How large the smallest and the largest usual size are drawn."""
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(?: fl)? ?(oz|lb|in|ft|mm|\")(?![a-z])")
_SEVERAL: Final = re.compile(
    r"(\d+) (?:tubes|cups|packs?|rolls|bottles|bars|boxes|sticks|cans)\b", re.IGNORECASE
)
_LABEL: Final = re.compile(r'data-width="(\d+)"')
_SVG: Final = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 300" width="480" height="600">'
_OWN_PICTURE: Final = _SVG + '<image width="240" height="300" href="data:{media};base64,{data}"/></svg>'
_NO_PICTURE: Final = (
    f"{_SVG}"
    '<rect width="240" height="300" fill="#f1f2f4"/><g fill="none" stroke="#b9bec6" stroke-width="4">'
    '<rect x="78" y="114" width="84" height="72" rx="6"/><circle cx="101" cy="137" r="7"/>'
    '<path d="M84 180l24-26 16 16 14-12 18 22"/></g></svg>'
)
_LETTER_WIDTH: Final = 0.8
"""Width of a letter as a share of the font size: in a name of the widest letters, in the widest font."""


def picture(product: Product) -> str:
    """Return the picture of a product as SVG, 240 by 300 units; under 4 KB.

    That of a user's product is the user's, whole and in its own proportions; without one it is a grey frame.
    """
    if product.own:
        own = product.own
        return _OWN_PICTURE.format(media=own.media, data=own.picture) if own.picture else _NO_PICTURE
    rng = random.Random(product.seed * 8)  # noqa: S311 - reproducible, not secret
    hue, saturation, lightness = _colour(product, rng)
    backdrop = rng.choice(_DATA["backdrops"])

    def font(match: re.Match[str]) -> str:
        size = min(15.0, int(match[1]) / (_LETTER_WIDTH * len(product.brand)))
        return f'font-size="{size:.1f}"'

    hand = random.Random(product.brand)  # noqa: S311 - reproducible, not secret
    letters = hand.choice(_DATA["letters"])
    motif = hand.choice(_motifs(product)).substitute(
        main=_hex(hue, saturation, lightness),
        dark=_hex(hue, saturation, lightness * 0.64),
        light=_hex(hue, saturation, 0.5 + lightness * 0.4),
        ink=_ink(hue, saturation, lightness),
        brand=escape(product.brand),
    )
    back = "#fff" if rng.random() < 0.4 else _hex(hue, saturation * 0.8, 0.96)
    return (
        f'{_SVG}<rect width="240" height="300" fill="{back}"/>{backdrop}'
        f'<g text-anchor="middle" {letters} {_placed(0, _scale(product))}>'
        f"{_several(product, _LABEL.sub(font, motif))}</g></svg>"
    )


def _colour(product: Product, rng: random.Random) -> tuple[float, float, float]:
    """The colour that the name tells, a little varied; any, where it tells none."""
    name = product.name.removeprefix(product.brand).lower()
    told = [
        (found.start(), colour)
        for words, colour in _DATA["colours"].items()
        if (found := re.search(rf"\b(?:{words})\b", name))
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
    small, large = _DATA["sizes"][found[2]]
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
