"""What counts as shown in a picture is what its pixels show: pages whose text is known to be legible or not.

Each page joins ways to hide a text, or none, with honest ways to show one. A reader of its own looks at the PNG
that was sent, and at that of the same page without the text.
"""

# ruff: noqa: E501 - markup stands as it runs

import io
import random

import numpy as np
import pytest
from PIL import Image
from playwright.async_api import BrowserContext, Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import VIEWS, View
from interventions.edits.in_browser import ElementQuery
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.timeout(size(120, 900))]

TEXT = "This product is a best seller!"
NUDGE = ElementQuery("#nudge")
# The style of the text (`t`), of the box around it (`b`), a style sheet (`s`), what follows (`a`), a script (`j`).
COVER = "position: fixed; inset: 0; pointer-events: none"
HIDING: dict[str, dict[str, str]] = {
    **{
        f"t {style}": {"t": style}
        for style in (
            "opacity: 0", "opacity: 0.02", "visibility: hidden", "display: none", "content-visibility: hidden",
            "background: white; color: white", "color: transparent; text-shadow: none", "background: #fff; color: rgba(0, 0, 0, .03)",
            "-webkit-text-fill-color: transparent; text-shadow: none", "font-size: 0", "font-size: 1px; zoom: 1",
            "text-indent: -9999px; overflow: hidden", "height: 0; overflow: hidden; padding: 0", "max-height: 1px; overflow: clip; padding: 0",
            "clip-path: inset(50%)", "clip-path: circle(0)", "clip-path: polygon(0 0)", "transform: scale(0)", "transform: translateX(-5000px)",
            "position: absolute; left: -9999px", "position: fixed; top: 2000px", "margin-left: 3000px", "translate: -9999px",
            "position: absolute; clip: rect(0, 0, 0, 0)", "filter: opacity(0)", "filter: blur(40px)", "filter: opacity(1%)",
            "mask-image: linear-gradient(transparent, transparent)", "mask: url(#none) luminance", "zoom: 0.02", "rotate: x 90deg",
            "position: relative; top: 2400px", "transform: rotateX(90deg)", "transform: perspective(1px) translateZ(-999px)", "scale: 0.01",
            "background: #ddd; filter: brightness(0)", "background: white; filter: contrast(0)", "background: white; filter: contrast(2%)",
            "background: navy; color: white; mix-blend-mode: screen; filter: brightness(0)", "background: #777; color: #7a7a7a",
            "background: linear-gradient(#fff, #fffffe); color: white", "-webkit-text-stroke: 30px #eee; background: #eee",
            "text-decoration: line-through red; background: #123; color: #123", "color: oklch(1 0 0); background: color(srgb 1 1 1)", "-webkit-text-security: disc; color: #fff; background: #fff",
            "background: #fff; color: #fff; text-shadow: 0 0 30px #fff", "font: 0/0 serif", "border: 40px solid #ccc; height: 0; width: 0; overflow: clip",
            "box-shadow: inset 0 0 0 999px #fff; background: #fff; color: #fff", "backdrop-filter: none; color: #fefefe; background: #fff",
            "background: conic-gradient(#123, #123); color: #123", "background: #fff; color: color-mix(in srgb, white 99%, black)",
        )
    },
    **{
        f"b {style}": {"b": style}
        for style in (
            "opacity: 0", "opacity: .03", "filter: opacity(.02)", "filter: blur(60px)", "clip-path: inset(0 100% 0 0)", "height: 0; overflow: hidden",
            "mask-image: linear-gradient(transparent, transparent)", "transform: scale(0)", "contain: strict; height: 0", "perspective: 1px; display: none",
            "isolation: isolate; background: #fff; filter: contrast(0)", "visibility: hidden", "width: 0; overflow: clip",
            "filter: brightness(0); background: #fff", "position: absolute; right: 9999px",
        )
    },
    **{
        f"a {style}": {"a": f"<div style='{COVER}; {style}'></div>"}
        for style in (
            "background: white", "background: linear-gradient(#eee, #ddd)", "border: 900px solid #eef", "box-shadow: inset 0 0 0 2000px #fff",
            "outline: 2000px solid #eee; inset: 50%", "background: radial-gradient(#fff, #eee)", "background: conic-gradient(#fff, #fff)",
            "backdrop-filter: blur(60px)", "backdrop-filter: brightness(0)", "backdrop-filter: contrast(0)",
            "background: white; mix-blend-mode: lighten", "background: black; mix-blend-mode: multiply", "background: black; mix-blend-mode: darken",
            "background: white; mix-blend-mode: screen", "background: color(display-p3 1 1 1)",
            "background: repeating-linear-gradient(#eee 0 3px, #ddd 3px 6px)", "background: #fff; opacity: .98",
        )
    },
    "a picture over it": {"a": f"<svg style='{COVER}; z-index: 9' width=100% height=100%><rect width=100% height=100% fill='#eee'/></svg>"},
    "a canvas over it": {
        "a": f"<canvas id=over style='{COVER}' width=1280 height=720></canvas>",
        "j": "const c = over.getContext('2d'); c.fillStyle = '#eee'; c.fillRect(0, 0, 1280, 720)",
    },
    "a frame over it": {"a": f"<iframe style='{COVER}; border: 0; width: 100%; height: 100%; background: #eee'></iframe>"},
    "a page's pseudo-element": {"s": "body::after { content: ''; position: fixed; inset: 0; background: #eee; pointer-events: none }"},
    "its own pseudo-element": {"s": "#nudge { position: relative } #nudge::before { content: ''; position: absolute; inset: -4px; background: #eee }"},
    "its first line": {"s": "#nudge { background: #fff } #nudge::first-line { color: #fff; text-shadow: none }"},
    "a highlight": {
        "s": "#nudge { background: #fff; text-shadow: none } ::highlight(x) { color: white; background-color: white }",
        "j": "const r = new Range(); r.selectNodeContents(nudge); CSS.highlights.set('x', new Highlight(r))",
    },
    "a selection": {"s": "#nudge { text-shadow: none } ::selection { color: white; background: white }", "j": "getSelection().selectAllChildren(nudge)"},
    "a shadow of the box over it": {"a": "<i style='position: fixed; left: -50px; top: -50px; width: 9px; height: 9px; box-shadow: 0 0 0 3000px #fff; pointer-events: none'></i>"},
    "a dialog": {"a": "<dialog id=d style='inset: 0; width: 100vw; height: 100vh; max-width: none; max-height: none'>Cookies?</dialog>", "j": "d.showModal()"},
    "its letters one over another": {"s": "#nudge { letter-spacing: -9em; margin-left: 300px }"},
    "a layer with other words": {"a": f"<div style='{COVER}; background: white; font: 16px/19px serif'>{'Cookies? Accept all of them now. ' * 99}</div>"},
    "a layer that stands every other frame": {
        "a": f"<div id=over style='{COVER}; background: #eee'></div>",
        "j": "let n = 0; const f = () => { over.hidden = (n += 1) % 9 === 0; requestAnimationFrame(f) }; f()",
    },
}  # fmt: skip
HONEST: dict[str, dict[str, str]] = {
    "plain": {},
    "a dark scheme by a meta element": {"m": "<meta name=color-scheme content=dark>"},
    "a dark scheme by style": {"s": ":root { color-scheme: dark }"},
    "a dark body": {"s": "body { background: #111; color: #eee }"},
    "white over a picture": {"b": "position: relative; color: white", "p": "<img src='data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22><rect width=%22999%22 height=%22999%22 fill=%22navy%22/></svg>' style='position: absolute; inset: 0; width: 100%; height: 300px; z-index: -1'>"},
    "white over a sheet below": {"b": "position: relative; z-index: 1; color: white", "p": "<div style='position: absolute; inset: -9px; background: #222; z-index: -1'></div>"},
    "white over a pseudo-element": {"b": "position: relative; z-index: 0; color: white", "s": ".box::before { content: ''; position: absolute; inset: 0; background: #123; z-index: -1 }"},
    "white over blended gradients": {"b": "color: white; background: linear-gradient(#135, #246), linear-gradient(90deg, #222, #333); background-blend-mode: multiply"},
    "white over a background picture": {"b": "color: white; background: url('data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22><rect width=%22999%22 height=%22999%22 fill=%22%23204060%22/></svg>')"},
    "letters cut out of a gradient": {"t": "background: linear-gradient(90deg, navy, purple); background-clip: text; color: transparent"},
    "a shadow alone": {"t": "color: transparent; text-shadow: 0 0 0 #222"},
    "a shadow": {"t": "text-shadow: 1px 1px 2px gray"},
    "an important colour that moves": {"s": "#nudge { color: #225 !important; transition: all 2s }"},
    "inverted": {"b": "filter: invert(1); background: white"},
    "blended": {"t": "mix-blend-mode: difference; color: #ccc", "b": "background: white"},
    "turned": {"t": "transform: rotate(-4deg)"},
    "upright": {"t": "writing-mode: vertical-rl"},
    "under a link": {"b": "position: relative", "a": "<a href=# style='position: fixed; inset: 0; z-index: 9'></a>"},
    "under grain": {"a": f"<div style='{COVER}; background: linear-gradient(rgba(0,0,0,.04), rgba(0,0,0,.02))'></div>"},
    "colours of today": {"s": "body { color: oklch(.37 0 0); background: oklch(.98 0 0) }"},
    "grey on white": {"t": "color: #888"},
    "small": {"t": "font-size: 11px"},
    "large": {"t": "font: 700 44px serif"},
    "selected": {"j": "getSelection().selectAllChildren(nudge)"},
    "in lines": {"t": "width: 70px; line-height: 1"},
    "in a scroller": {"b": "overflow: auto; max-height: 300px"},
    "with a clock": {"a": "<p id=clock style='position: absolute; right: 0; top: 300px'></p>", "j": "setInterval(() => { clock.textContent = performance.now() }, 7)"},
    "with a fade that has ended": {"t": "animation: f .2s both", "s": "@keyframes f { from { opacity: 0 } }"},
    "never skipped": {"b": "content-visibility: auto"},
    "with an important ground": {"s": "#nudge { background: #fe8 !important; padding: 8px !important }"},
    "underlined": {"t": "text-decoration: underline wavy red"},
    "capitals": {"t": "font-variant: small-caps; letter-spacing: 2px"},
}  # fmt: skip
PAGE = """<!doctype html>{m}<style>body {{ margin: 0; height: 3000px; font: 16px sans-serif }} {s}</style>
<div class=box style="{b}">{p}<h1>Oats</h1><p id=nudge style="{t}">{text}</p></div>{a}<script>{j}</script>"""


@pytest.fixture
async def page(context: BrowserContext) -> Page:
    return await context.new_page()


async def look(page: Page, way: dict[str, str], view: View) -> tuple[bool, str, bool]:
    """Whether the text counts as given, why not, and whether the picture shows it."""
    parts = dict.fromkeys("mspbtaj", "") | way
    await page.goto("about:blank")  # nothing is left of the page before
    await page.set_content(PAGE.format(text=TEXT, **parts))
    seen = await observe(page, view, (), ObservationQuery((NUDGE,)))
    (element,) = seen.standing.found[NUDGE] or ()
    assert element.text == TEXT
    box = await page.evaluate(
        """() => { const { left, top, right, bottom } = nudge.getBoundingClientRect();
        nudge.firstChild.data = "\\u00a0".repeat(30); return [left, top, right, bottom].map(Math.round) }"""
    )
    shown = bool(seen.screenshot) and is_readable(seen.screenshot, await page.screenshot(), box)
    return element.given == TEXT, element.on_screen.why, shown


def is_readable(sent: bytes, without: bytes, box: list[int]) -> bool:
    """Whether a picture has, in a box, strokes that the picture of the page without the text lacks."""
    left, top, right, bottom = box
    crop = (max(left, 0), max(top, 0), min(max(right, 0), 1280), min(max(bottom, 0), 720))
    if crop[2] - crop[0] < 4 or crop[3] - crop[1] < 4:
        return False
    images = [Image.open(io.BytesIO(each)).convert("L").crop(crop) for each in (sent, without)]
    shown, bare = (np.asarray(each, dtype=float) for each in images)
    strokes = np.abs(np.diff(shown, axis=1)) > 8
    return int(((np.abs(shown - bare) > 20)[:, 1:] & strokes).sum()) >= 60


def joined(*ways: dict[str, str]) -> dict[str, str]:
    """Styles of the same part one after the other."""
    parts = {part for way in ways for part in way}
    return {part: ";\n".join(way[part] for way in ways if part in way) if part in "tbj" else "\n".join(way.get(part, "") for way in ways) for part in parts}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(size(1, 4)))
async def test_honest_texts_count(page: Page, seed: int) -> None:
    rng = random.Random(seed)
    names = [*HONEST] if size(0, 1) else rng.sample([*HONEST], 10)
    wrong = []
    for name in {*names, "a dark scheme by a meta element"}:
        given, why, shown = await look(page, HONEST[name], VIEWS[rng.choice(["screenshot", "both"])])
        if not (given and shown):
            wrong.append((name, given, why, shown))
    assert not wrong


async def test_hidden_texts_do_not_count(page: Page) -> None:
    rng = random.Random(7)
    names = [*HIDING] if size(0, 1) else rng.sample([*HIDING], 12)
    wrong = []
    for name in names:
        given, why, shown = await look(page, HIDING[name], VIEWS[rng.choice(["screenshot", "both"])])
        if given or not why:
            wrong.append((name, given, why, shown))
    assert not wrong


async def test_what_counts_is_what_the_picture_shows(page: Page) -> None:
    """A hidden text on an honest page may be legible there; whatever it is, the two readers agree."""
    rng, wrong, count, shown_count = random.Random(3), [], size(10, 300), 0
    for _ in range(count):
        # The lines under a text are drawn otherwise once it is gone.
        ways = [HONEST[rng.choice([name for name in HONEST if name != "underlined"])] for _ in range(2)]
        if rng.random() < 0.6:
            ways.append(rng.choice([*HIDING.values()]))
        way = joined(*ways)
        given, why, shown = await look(page, way, VIEWS["screenshot"])
        shown_count += shown
        if given != shown:
            wrong.append((way, given, why, shown))
    assert len(wrong) <= count / 50, wrong
    assert 0 < shown_count < count


async def test_a_layer_is_named(page: Page) -> None:
    layers = {
        "<div id=consent style='position: fixed; inset: 0; background: white'><p>Cookies?</p></div>": "covered by a layer of the page: #consent",
        "<dialog aria-label='Your privacy' open style='inset: 0; margin: 0; width: 100%; height: 100%; max-width: none'></dialog>": 'covered by a layer of the page: "Your privacy"',
        "<style>body { opacity: 0 }</style>": "the page is transparent",
    }  # fmt: skip
    for layer, reason in layers.items():
        assert await look(page, {"a": layer}, VIEWS["screenshot"]) == (False, reason, False)


async def test_html_is_read_as_it_is_written(page: Page) -> None:
    for style, given in {"color: white": True, "display: none": False, "visibility: hidden": False, "opacity: 0": False}.items():  # fmt: skip
        assert (await look(page, {"t": style}, VIEWS["html"]))[0] == given, style
