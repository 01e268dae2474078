"""The pinned fonts: pages are the same whatever is installed, by what Chromium itself says and draws."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from playwright.async_api import Page

import environments.browser.pool
from environments.browser.fonts import families, pinned_files
from environments.browser.pool import run_browsers
from environments.observation.picture import take_picture

SANS, SERIF, MONO = families()
GENERIC = ("sans-serif", "serif", "monospace", "system-ui", "cursive", "fantasy", "ui-serif", "ui-monospace")
TEXT = "Harbour lamp, brass, 3-1/2 inch (4.5 stars): $1,299.00 Äéß€ ★♡⇄ БД Ω א ع"
CHINESE = "日本中文"
STYLES = (
    "@font-face { font-family: Near; src: local('Lato'), local('Liberation Sans'), local('Arial') }"
    "p { margin: 0; font-size: 14px }"
)
FAMILIES_OF_PAGES = (
    *(f"font-family: {each}" for each in GENERIC),
    *("Arial", "Helvetica", "Open Sans", "Verdana", "Times New Roman", "Georgia", "Courier New", "Consolas"),
    *("Lato", "Nobody Knows", "Nobody Knows', monospace, '", "Near", "DejaVu Sans", "Far Hand"),
)

pytestmark = pytest.mark.browser


def altered(source: Path, target: Path, family: str, characters: range | None = None) -> None:
    """Write a copy of a font under another name, with letters half as wide again, or of other characters."""
    font = TTFont(source)
    for name in font["name"].names:
        if name.nameID in (1, 3, 4, 6, 16):
            name.string = family if name.nameID != 6 else family.replace(" ", "")
    for glyph, (advance, bearing) in list(font["hmtx"].metrics.items()):
        font["hmtx"].metrics[glyph] = (advance * 3 // 2, bearing)
    if characters:
        for table in font["cmap"].tables:
            if table.format in (4, 12):
                table.cmap |= dict.fromkeys(characters, "at")
    font.save(target)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of data with fonts of a machine: of usual names, of DejaVu's, and a Chinese one."""
    data = tmp_path_factory.mktemp("data")
    folder = data / "fonts"
    folder.mkdir()
    sans = next(each for each in pinned_files() if each.name == "DejaVuSans.ttf")
    for family in ("Arial", "Lato", "Liberation Sans", "Nobody Knows", SANS, "Times New Roman", "Georgia"):
        altered(sans, folder / f"{family}.ttf".replace(" ", ""), family)
    altered(sans, folder / "far.ttf", "Far Hand", range(0x2E80, 0xA000))
    return data


@pytest.fixture
def machine(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[bool], None]]:
    """Return what makes a machine with these fonts besides the system's, or without them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(more: bool) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", str(installed if more else tmp_path))

    yield make


@asynccontextmanager
async def a_page(html: str) -> AsyncIterator[Page]:
    async with run_browsers() as pool, pool.context(None) as context:
        page = await context.new_page()
        await page.set_content(html)
        yield page


def paragraphs(families: tuple[str, ...], text: str = TEXT) -> str:
    styles = (each if ":" in each else f"font-family: '{each}'" for each in families)
    lines = "".join(f'<p style="{style}">{text} <b>{text}</b></p>' for style in styles)
    return f"<!doctype html><meta charset=utf-8><style>{STYLES}</style>{lines}"


async def used(page: Page) -> list[set[str]]:
    """Return the families of the fonts that Chromium drew each paragraph with."""
    session = await page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        await session.send(f"{domain}.enable")
    root = (await session.send("DOM.getDocument"))["root"]["nodeId"]
    nodes = (await session.send("DOM.querySelectorAll", {"nodeId": root, "selector": "p"}))["nodeIds"]
    drawn = [await session.send("CSS.getPlatformFontsForNode", {"nodeId": node}) for node in nodes]
    return [{each["familyName"] for each in fonts["fonts"]} for fonts in drawn]


def left_in(folder: Path) -> list[Path]:
    return list(folder.glob("souk-fonts-*"))


def unpinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.browser.pool, "pinned", lambda folder: {})


@pytest.mark.thorough
async def test_a_page_is_the_same_whatever_is_installed(machine: Callable[[bool], None], monkeypatch) -> None:
    async def taken(more: bool) -> bytes:
        machine(more)
        async with a_page(paragraphs(FAMILIES_OF_PAGES)) as page:
            return await take_picture(page)

    assert await taken(more=True) == await taken(more=False)
    unpinned(monkeypatch)
    assert await taken(more=True) != await taken(more=False)


async def test_only_scripts_that_dejavu_lacks_are_written_by_fonts_of_the_machine(machine) -> None:
    machine(True)
    async with a_page(paragraphs(("Arial", "Far Hand"), f"Lamp {CHINESE}")) as page:
        assert await used(page) == [{SANS, "Far Hand"}, {SERIF, "Far Hand"}]


@pytest.mark.thorough
async def test_the_fingerprint_tells_other_fonts(machine: Callable[[bool], None], monkeypatch) -> None:
    async def read(more: bool) -> list[str]:
        machine(more)
        async with run_browsers() as pool:
            return (await pool.fonts()).split("; other scripts: ")

    usual, others = await read(more=False)
    assert usual.startswith(f"{SANS}, {MONO}, {SERIF} ")
    assert (await read(more=False)) == [usual, others]
    again, far = await read(more=True)
    assert again == usual
    assert far != others
    assert "Far Hand" in far
    unpinned(monkeypatch)
    assert (await read(more=True))[0] != usual


async def test_the_file_for_fontconfig_goes_with_the_browser(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with run_browsers() as pool:
        await pool.browser()
        assert len(left_in(tmp_path)) == 1
    assert left_in(tmp_path) == []
