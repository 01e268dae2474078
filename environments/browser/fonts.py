"""Pin the fonts of the browser: on Linux it finds them by fontconfig, which is told what this module writes.

The fonts are DejaVu, which matplotlib brings along. The families that pages name stand for one of its three,
whatever is installed, and other names for none. Of a system's own fonts only those are there that write
languages which DejaVu does not, and emoji.
"""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from jinja2 import Template
from playwright.async_api import BrowserContext

from interventions.data_file import read_data, read_source
from interventions.errors import UserError

DRAWING: Final = ("--font-render-hinting=none", "--disable-lcd-text")
"""The switches for how letters are drawn; the headless shell does not ask fontconfig."""

_PROBE: Final = read_source(__file__, "fonts.html")
"""A page with letters in the usual families, and with some that DejaVu lacks."""


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
    languages = read_data(__file__, "fonts.yaml")["other scripts"].split()
    source = read_source(__file__, "fonts.conf.j2")
    template = Template(source, autoescape=True, trim_blocks=True)
    text = template.render(files=pinned_files(), families=families(), languages=languages)
    file.write_text(text, encoding="utf-8")
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
