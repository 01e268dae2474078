"""Pin the fonts of the browser: on Linux it finds them by fontconfig, which is told what this module writes.

The fonts are DejaVu, which matplotlib brings along. The families that pages name stand for one of its three,
whatever is installed, and other names for none. Of a system's own fonts only those are there that write
languages which DejaVu does not, and emoji.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from playwright.async_api import BrowserContext

from interventions.data_file import read_data
from interventions.errors import UserError

SANS: Final = "DejaVu Sans"
SERIF: Final = "DejaVu Serif"
MONO: Final = "DejaVu Sans Mono"

DRAWING: Final = ("--font-render-hinting=none", "--disable-lcd-text")
"""The switches for how letters are drawn; the headless shell does not ask fontconfig."""

_SAMPLE: Final = "Hamburgefonstiv 0123456789 $1,299.00 (4.5) Äéß€—"
_FAMILIES: Final = (
    "sans-serif",
    "serif",
    "monospace",
    "system-ui",
    "Arial",
    "Verdana",
    "Georgia",
    "Courier New",
)
_OTHERS: Final = "日本語 中文 한국어 हिन्दी ไทย 😀"
_PROBE: Final = (
    "<!doctype html><meta charset=utf-8><div>"
    + "".join(f"<p style='font: 15px {family}'>{_SAMPLE} <b>{_SAMPLE}</b></p>" for family in _FAMILIES)
    + f"</div><div><p style='font: 15px sans-serif'>{_OTHERS}</p></div>"
)
"""A page with letters in the usual families, and with some that DejaVu lacks."""

_SYSTEM: Final = (
    "<dir>/usr/share/fonts</dir>",
    "<dir>/usr/local/share/fonts</dir>",
    '<dir prefix="xdg">fonts</dir>',
    "<dir>~/.fonts</dir>",
    "<cachedir>/var/cache/fontconfig</cachedir>",
    '<cachedir prefix="xdg">fontconfig</cachedir>',
)
"""The folders of fonts, and of what fontconfig keeps of them: those of most systems."""
_DRAWN: Final = (
    '<match target="font">',
    *(
        f'<edit name="{name}" mode="assign">{value}</edit>'
        for name, value in {
            "antialias": "<bool>true</bool>",
            "hinting": "<bool>false</bool>",  # how letters are fitted to pixels differs between versions
            "hintstyle": "<const>hintnone</const>",
            "autohint": "<bool>false</bool>",
            "rgba": "<const>none</const>",
            "lcdfilter": "<const>lcdnone</const>",
            "embeddedbitmap": "<bool>false</bool>",
        }.items()
    ),
    "</match>",
)


def families() -> Mapping[str, str]:
    """Return the names for which a family stands, separated by commas, by its own name."""
    told: Mapping[str, str] = read_data(__file__, "fonts.yaml")["families"]
    return told


def pinned(folder: Path) -> dict[str, str]:
    """Write the file for fontconfig into a folder; return the variables by which a browser gets it.

    Elsewhere than on Linux browsers pay no heed to them.

    Raises:
        UserError: matplotlib is installed without its fonts.
    """
    file = folder / "fonts.conf"
    file.write_text("\n".join(_lines(pinned_files())), encoding="utf-8")
    # The language decides between fonts that write the same characters in the way of different countries.
    return {"FONTCONFIG_FILE": str(file), "FC_LANG": "en"}


async def read_fonts(context: BrowserContext) -> str:
    """Return a fingerprint of how a browser draws letters: which fonts it uses, and digests of a picture.

    Two parts, of the usual families and of scripts that DejaVu lacks:
    `DejaVu Sans, DejaVu Sans Mono, DejaVu Serif 0123abcd; other scripts: Noto Sans CJK JP 4567cdef`.

    Raises:
        playwright.async_api.Error: the browser is gone.
    """
    page = await context.new_page()
    await page.set_content(_PROBE)
    session = await context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        await session.send(f"{domain}.enable")
    root = (await session.send("DOM.getDocument"))["root"]["nodeId"]
    parts = []
    for number in (1, 2):
        asked = {"nodeId": root, "selector": f"div:nth-of-type({number}) p"}
        names = set[str]()
        for node in (await session.send("DOM.querySelectorAll", asked))["nodeIds"]:
            used = await session.send("CSS.getPlatformFontsForNode", {"nodeId": node})
            names |= {str(each["familyName"]) for each in used["fonts"]}
        drawn = await page.locator("div").nth(number - 1).screenshot()
        parts.append(f"{', '.join(sorted(names))} {hashlib.blake2b(drawn, digest_size=4).hexdigest()}")
    return "; other scripts: ".join(parts)


def pinned_files() -> list[Path]:
    """Return the files of the pinned fonts. Raises UserError where there are none."""
    found = find_spec("matplotlib")  # which takes its time to be imported
    root = Path(found.origin).parent if found and found.origin else Path()
    files = sorted((root / "mpl-data" / "fonts" / "ttf").glob("DejaVuS*.ttf"))
    files = [each for each in files if "Display" not in each.name]
    if not files:
        raise UserError("matplotlib's fonts are missing; install matplotlib anew from its own package")
    return files


def _lines(files: Iterable[Path]) -> Iterator[str]:
    files = list(files)
    yield '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd"><fontconfig>'
    yield f"<dir>{escape(str(files[0].parent))}</dir>"
    yield from _SYSTEM
    yield "<config><rescan><int>0</int></rescan></config>"
    yield "<selectfont>"
    for each in ("true", "false"):
        yield f"<rejectfont>{_pattern('scalable', f'<bool>{each}</bool>')}</rejectfont>"
    for file in files:
        yield f"<acceptfont>{_pattern('file', _string(str(file)))}</acceptfont>"
    for language in read_data(__file__, "fonts.yaml")["other scripts"].split():
        yield f"<acceptfont>{_pattern('lang', _string(language))}</acceptfont>"
    yield "</selectfont>"
    for family, names in families().items():
        for name in names.split(", "):
            yield _match(_test("eq", name), _named(family))
    # Any other name is that of no font, as on a machine without it: the next of the page's list is taken.
    yield _match(*(_test("not_eq", family) for family in families()), _named("not installed"))
    # For a character that the font of the page lacks no family is named.
    yield _match(f'<edit name="family" mode="append_last">{_string(SANS)}</edit>')
    yield from _DRAWN
    yield "</fontconfig>"


def _match(*parts: str) -> str:
    return f'<match target="pattern">{"".join(parts)}</match>'


def _test(compare: str, family: str) -> str:
    return f'<test name="family" qual="first" compare="{compare}">{_string(family)}</test>'


def _named(family: str) -> str:
    return f'<edit name="family" mode="assign_replace" binding="strong">{_string(family)}</edit>'


def _pattern(name: str, value: str) -> str:
    return f'<pattern><patelt name="{name}">{value}</patelt></pattern>'


def _string(text: str) -> str:
    return f"<string>{escape(text)}</string>"
