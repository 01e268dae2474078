"""Parts of pages, enlarged, in real Chromium: sharper than the picture, and the page is not told."""

# ruff: noqa: E501 - markup stands as it runs

import io

import pytest
from PIL import Image, ImageChops, ImageStat
from playwright.async_api import BrowserContext, Page

from environments.browser.pool import VIEWPORT
from environments.episode import Episode
from environments.observation.views import VIEWS
from environments.protocol.actions import POINTER, parse_action
from environments.protocol.observation import Observation
from tests.support import pages

PAGE = """<!doctype html><title>Lamp</title><style>body { margin: 0; font: 13px serif }
#far { height: 3000px } input { position: absolute; left: 20px; top: 640px }
button { position: absolute; left: 600px; top: 700px; width: 80px; height: 30px }</style><input autofocus value=caret>
<div id=far></div><p style="position:absolute;top:600px;left:20px">Harbour lamp of brass and oak, $1,299.00</p>
<button>Buy</button><script>
const told = [];
const tell = (event) => told.push(event.type + " " + (event.clientX ?? ""));
for (const type of ["resize", "scroll", "blur", "visibilitychange", "click"]) addEventListener(type, tell, true);
for (const type of ["resize", "scroll"]) visualViewport.addEventListener(type, tell);
for (const media of ["(resolution: 1dppx)", "(min-width: 1280px)", "(max-width: 1280px)", "(min-height: 720px)"])
  matchMedia(media).addEventListener("change", tell);
new ResizeObserver(() => told.push("resized")).observe(document.documentElement);
new MutationObserver(() => told.push("changed")).observe(document,
  { subtree: true, childList: true, attributes: true, characterData: true });
let last = "";
const look = () => {
  const now = [innerWidth, innerHeight, outerWidth, devicePixelRatio, scrollX, scrollY, visualViewport.width,
    visualViewport.scale, screen.width, screen.availHeight, screen.orientation.type, screen.orientation.angle, document.styleSheets.length, document.activeElement.tagName].join();
  if (now !== last) told.push(last = now);
  requestAnimationFrame(look);
};
look();
</script>"""
FRAMES = """async () => {
  for (let frames = 3; frames; frames -= 1) await new Promise((drawn) => requestAnimationFrame(drawn));
}"""
PARTS = ((0, 0, 1280, 720), (10, 480, 330, 560), (15.5, 490.25, 260, 530), (20, 5, 120, 700), (3, 3, 4, 4))

pytestmark = pytest.mark.browser


async def act(episode: Episode, text: str) -> Observation:
    assert await episode.act(parse_action(text, POINTER)) == ""
    return (await episode.look()).observation


def image(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def difference(one: Image.Image, other: Image.Image) -> float:
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean) / 3


def resized(png: bytes, size: tuple[int, int], part: tuple[float, float, float, float]) -> Image.Image:
    """Return a part of a picture, with no more in it than the picture has."""
    return image(png).resize(size, Image.Resampling.BICUBIC, box=part)


def greys(picture: Image.Image) -> int:
    """How many pixels are neither ink nor paper."""
    return sum(picture.convert("L").histogram()[50:206])


async def opened(context: BrowserContext, url: str) -> tuple[Episode, Page]:
    episode = Episode(context, "Buy a lamp.", view=VIEWS["screenshot"])
    await episode.open([url])
    (page,) = context.pages
    await page.evaluate("scrollTo(0, 120)")
    await episode.look()
    return episode, page


@pytest.mark.thorough
async def test_a_part_is_drawn_larger_and_the_page_is_not_told(context: BrowserContext) -> None:
    async with pages({"/": PAGE}) as url:
        episode, page = await opened(context, url)
        whole = (await episode.look()).observation.screenshot
        await page.evaluate(f"({FRAMES})().then(() => told.length = 0)")  # a whole picture adds a style
        for x0, y0, x1, y1 in PARTS:
            enlarged = await act(episode, f"zoom({x0}, {y0}, {x1}, {y1})")
            assert enlarged.zoomed
            scale = min(VIEWPORT[0] / (x1 - x0), VIEWPORT[1] / (y1 - y0))
            part = image(enlarged.screenshot)
            assert part.size == (round((x1 - x0) * scale), round((y1 - y0) * scale))
            there = difference(part, resized(whole, part.size, (x0, y0, x1, y1)))
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)) if y0 > 3 else ():
                beside = (x0 + dx, y0 + dy, x1 + dx, y1 + dy)
                assert there < difference(part, resized(whole, part.size, beside))
        await page.evaluate(FRAMES)
        assert await page.evaluate("told") == []
        await page.evaluate("scrollTo(0, 121)")
        await page.evaluate(FRAMES)
        assert len(await page.evaluate("told")) > 1, "the page tells of what changes"
        await page.evaluate("scrollTo(0, 120)")
        assert (await episode.look()).observation.screenshot == enlarged.screenshot
        assert (await act(episode, "wait(0)")).screenshot == whole
        assert (await act(episode, "zoom(0, 0, 1280, 720)")).screenshot == whole


async def test_a_part_is_sharper_than_the_picture(context: BrowserContext) -> None:
    async with pages({"/": PAGE}) as url:
        episode, _ = await opened(context, url)
        whole = (await episode.look()).observation.screenshot
        part = image((await act(episode, "zoom(16, 490, 256, 530)")).screenshot)
        before = resized(whole, part.size, (16, 490, 256, 530))
        assert 0 < greys(part) < greys(before) / 3


async def test_points_stay_those_of_the_whole_picture(context: BrowserContext) -> None:
    async with pages({"/": PAGE}) as url:
        episode, page = await opened(context, url)
        await act(episode, "zoom(590, 570, 690, 620)")
        await page.evaluate("told.length = 0")
        after = await act(episode, "mouse_click(640, 595)")
        assert [hit.text for hit in episode.hits] == ["Buy"]
        assert "click 640" in await page.evaluate("told")
        assert not after.zoomed
