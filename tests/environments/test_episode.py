"""Episodes in real Chromium: observing, acting, settling, stopping."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import BrowserContext, Locator
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from environments.action.pointer import hit_at
from environments.browser.pool import BrowserPool
from environments.browser.through_proxy import BrowserFailure
from environments.episode import Episode
from environments.observation.views import View
from environments.protocol.actions import Action
from interventions.yaml.sitemap import SiteMap
from tests.support import STOPS, pages, serve

pytestmark = [pytest.mark.browser]

SHOP = """<!doctype html><title>Oats</title>
<h1><span>Quiet Harbor</span> Oats</h1>
<div id="messages"></div>
<input type="radio" name="size" id="small"><label for="small">small</label>
<select name="count"><option>one</option><option selected>two</option></select>
<input name="q" placeholder="Search"><input type="password" name="p">
<input type="hidden" name="token" value="secret">
<button onclick="add()">Add to Cart</button>
<a href="/other">Other page</a> <a href="/other" target="_blank">New tab</a>
<div style="display:none">never shown</div><div style="visibility:hidden">neither</div>
<div style="height:3000px"></div><p>far below</p>
<script>
async function add() {
  const answer = await fetch("/cart", {method: "POST"});
  await answer.text();
  const lines = await (await fetch("/section")).text();
  document.querySelector("#messages").innerHTML = `<div class="message-success"><div
    data-bind="html: $parent.prepareMessageForHtml(message.text)">${lines}</div></div>`;
}
</script>"""

# Whoever waits for too little ends before it, by timers of the same page: the second request is answered
# 0.3 s after it has begun, and then the page is drawn in 15 steps, with less between them than a page rests.
LATE = """<!doctype html><title>Oats</title><main><button>Buy</button></main><section></section><script>
const shadow = document.querySelector("section").attachShadow({mode: "open"});
const draw = (step) => {
  shadow.innerHTML = step < 15 ? `<p>Step ${step}</p>` : "<p>In your cart</p>";
  if (step < 15) setTimeout(draw, 40, step + 1);
};
document.querySelector("button").onclick = async () => {
  await (await fetch("/cart", {method: "POST"})).text();
  setTimeout(async () => {
    setTimeout(() => fetch("/answer", {method: "POST"}), 300);
    await (await fetch("/section")).text();
    setTimeout(draw, 50, 0);
  }, 50);
};</script>"""
DRAWN = SiteMap(name="drawn", drawn=True, pages={"product": "main"}, roles={"product.title": "main"})

OTHER = """<!doctype html><title>Other</title><h1>Other page</h1><a href="/">Back home</a>"""


def silent(_: Request) -> Response:
    return Response("You added Oats to your cart", media_type="text/plain")


@pytest.fixture
async def base_url() -> AsyncIterator[str]:
    answers = {
        "/": SHOP,
        "/other": OTHER,
        "/cart": silent,
        "/section": silent,
        "/moved": lambda _: RedirectResponse("/other"),
    }
    async with pages(answers) as url:
        yield url


@pytest.fixture
async def episode(context: BrowserContext, base_url: str) -> Episode:
    episode = Episode(context, "Buy oats.", STOPS)
    await episode.open([base_url + "other", base_url])
    return episode


async def bid_of(episode: Episode, text: str) -> str:
    html = (await episode.look()).observation.html
    found = re.search(rf'bid="(\w+)"[^>]*>\s*{re.escape(text)}', html)
    assert found, f"{text!r} carries no bid in:\n{html}"
    return found[1]


async def test_what_scripts_make_of_an_answer_is_awaited(context: BrowserContext) -> None:
    may_answer = asyncio.Event()

    async def answer(request: Request) -> Response:
        if request.url.path == "/answer":
            may_answer.set()
        if request.url.path == "/section":
            await may_answer.wait()
        return HTMLResponse(LATE)

    async with serve(Starlette(routes=[Route("/{path}", answer, methods=["GET", "POST"])])) as base_url:
        episode = Episode(context, "Buy oats.", STOPS, site=DRAWN)
        await episode.open([base_url + "late"])
        assert await episode.act(Action("click", (await bid_of(episode, "Buy"),))) == ""
        assert "In your cart" in (await episode.look()).observation.html


NAMED = """<!doctype html><title>Oats</title><main>
<p style="padding-left: 40px"><a href="/other">Other <b>oats</b></a></p>
<button style="width: 90px; height: 41px" onclick="this.remove()">Add to Cart</button>
<input placeholder="Search"><select aria-label="Size"><option>big</option></select>
<button style="position: fixed; left: 9px; top: 300px" id="later">Later</button><div id="host"></div></main>
<iframe style="margin: 9px 70px; border: 5px solid; padding: 3px" srcdoc="<button>Framed</button>"></iframe>
<script>host.attachShadow({mode: "open"}).innerHTML = "<button>In the shadow</button>";</script>"""
OFFERED = """later.style = "position: fixed; top: 300px"; host.innerHTML = "<dialog id=offer>Stay</dialog>";
host.after(offer); offer.showModal()"""
HOSTILE = (
    "Element.prototype.getBoundingClientRect = null",
    'JSON.stringify = () => `{"dialog": "", "hit": {"x": NaN, "y": 1, "tag": "a", "text": ""}}`',
    'JSON.stringify = () => `{"dialog": "", "hit": {"x": 1, "y": 1${"0".repeat(400)}, "tag": "a"}}`',
)
ROLES = SiteMap(name="named", roles={"page.main": "main", "product.add_to_cart": "main > button"})
ACTS = {
    "Framed": ("click", "button", "iframe", ""),
    "In the shadow": ("click", "button", "button", "page.main"),
    "Later": ("click", "button", "button", "product.add_to_cart"),
    "Search": ("fill", "input", "input", "page.main"),
    "big": ("select_option", "select", "select", "page.main"),
    "Add to Cart": ("click", "button", "button", "product.add_to_cart"),
    "Other oats": ("click", "a", "a", "page.main"),
}
"""By text, in the order in which it is done: what is done, what it hits, and what stands at the point."""


async def test_what_an_action_names_is_told_as_what_stands_in_its_middle(context: BrowserContext) -> None:
    """Where it stands, Playwright says; what stands there, a look at the point."""
    async with pages({"/": NAMED, "/other": OTHER}) as url:
        episode = Episode(context, "Buy oats.", STOPS, site=ROLES)
        await episode.open([url])
        page, html = context.pages[0], (await episode.look()).observation.html
        marked: dict[str, tuple[str, Locator]] = {}
        for bid in re.findall(r'<(?:a|button|input|select)\b[^>]*?bid="(\w+)"', html):
            one = (page.frame_locator("iframe") if "f" in bid else page).locator(f'[bid="{bid}"]')
            marked[await one.get_attribute("placeholder") or await one.inner_text()] = bid, one
        assert marked.keys() == ACTS.keys()
        for text, (name, tag, over, role) in ACTS.items():
            bid, one = marked[text]
            box = await one.bounding_box()
            assert box, text
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            there = await hit_at(page, x, y, ROLES)
            assert await episode.act(Action(name, (bid, *[text][: name != "click"]))) == ""
            (hit,) = episode.hits
            assert (hit.x, hit.y) == (pytest.approx(x, abs=0.1), pytest.approx(y, abs=0.1)), text
            assert (hit.tag, there.tag, hit.role, there.role) == (tag, over, role, role)
            assert hit.text == there.text or tag != over
            assert hit.href == there.href == (f"{url}other" if tag == "a" else "")
        assert (await episode.look()).url == f"{url}other"
        assert await episode.act(Action("scroll", (0.0, 9.0))) == ""
        assert episode.hits == ()


CARD = """<!doctype html><title>Card</title>
<a href="/other" style="display:block;width:300px;height:200px">Oats
<button style="margin:60px 80px;width:140px;height:60px"
  onclick="event.preventDefault(); document.title='Added'">Add to Cart</button></a>"""


async def test_a_button_on_the_middle_of_a_link_is_what_the_click_hits(context: BrowserContext) -> None:
    async with pages({"/": CARD, "/other": OTHER}) as url:
        episode = Episode(context, "Buy oats.", STOPS, site=ROLES)
        await episode.open([url])
        html = (await episode.look()).observation.html
        bid = next(re.finditer(r'<a\b[^>]*?bid="(\w+)"', html))[1]
        assert await episode.act(Action("click", (bid,))) == ""
        (hit,) = episode.hits
        assert (await context.pages[0].title(), hit.tag, hit.text) == ("Added", "button", "Add to Cart")


async def test_an_element_that_cannot_be_acted_on_is_told_where_it_has_a_box(context: BrowserContext) -> None:
    async with pages({"/": NAMED}) as url:
        episode = Episode(context, "Buy oats.", STOPS)
        await episode.open([url])
        bid = await bid_of(episode, "Later")
        for style, texts in (("visibility: hidden", [""]), ("display: none", [])):
            await context.pages[0].evaluate("style => { later.style = style }", style)
            assert "Timeout" in await episode.act(Action("click", (bid,)))
            assert [hit.text for hit in episode.hits] == texts
        await context.pages[0].evaluate(OFFERED)
        assert "the dialog 'offer' is open over it" in await episode.act(Action("click", (bid,)))
        assert [hit.text for hit in episode.hits] == ["Later"]
        await context.pages[0].evaluate("offer.close()")
        for script in HOSTILE:
            await context.pages[0].evaluate(script)
            assert await episode.act(Action("click", (bid,))) == "", script
            assert episode.hits == (), script


FORM = """<!doctype html><title>{0}</title>
<form method="post" action="/buy"><input type="hidden" name="token" value="{0}"><button>Buy</button></form>"""

BY_SCRIPT = """<!doctype html><title>Shop</title><main></main><script type="module">
const answer = await fetch("/session", {method: "POST"});
document.querySelector("main").innerHTML =
  `<form method="post" action="/buy"><input type="hidden" name="token" value="${await answer.text()}">
  <button>Buy</button></form>`;
</script>"""


class TokenShop:
    """Gives each visitor without a token a new one, and knows a buyer by that of the cookie."""

    def __init__(self) -> None:
        self.given = 0
        self.asked, self.open = asyncio.Event(), asyncio.Event()

    def app(self, *, by_script: bool) -> Starlette:
        session = Route("/session", self.visited, methods=["POST"])
        bought = Route("/buy", self.bought, methods=["POST"])
        page = Route("/{path}", self.drawn_by_script if by_script else self.visited)
        return Starlette(routes=[session, bought, page])

    async def drawn_by_script(self, _: Request) -> Response:
        self.asked.set()
        return HTMLResponse(BY_SCRIPT)

    async def visited(self, request: Request) -> Response:
        known = request.cookies.get("token")
        token = known or f"t{self.given}"
        self.given += not known
        self.asked.set()
        await self.open.wait()
        answer = HTMLResponse(FORM.format(token) if request.method == "GET" else token)
        answer.set_cookie("token", token)
        return answer

    async def bought(self, request: Request) -> Response:
        sent = (await request.form())["token"]
        return HTMLResponse("bought" if sent == request.cookies.get("token") else f"forbidden: {sent}")


@pytest.mark.thorough
@pytest.mark.parametrize("by_script", [False, True])
async def test_the_tabs_share_one_session(context: BrowserContext, by_script: bool) -> None:
    """As with Django's tokens against forgery: of tabs that come without cookies, the last one's counts."""
    shop, tabs = TokenShop(), 6
    async with serve(shop.app(by_script=by_script)) as base_url:
        episode = Episode(context, "Buy.")
        opening = asyncio.create_task(episode.open([f"{base_url}{number}" for number in range(tabs)]))
        await shop.asked.wait()
        for _ in context.pages:  # what else the browser was told to open has been asked for by then
            await context.request.get(f"{base_url}no/page")
        shop.open.set()
        await opening
        for tab in range(tabs):
            await episode.act(Action("tab_focus", (tab,)))
            assert await episode.act(Action("click", (await bid_of(episode, "Buy"),))) == ""
            assert "bought" in (await episode.look()).observation.html
    assert shop.given == 1


async def test_an_observation_shows_the_tabs_and_what_the_viewport_shows(episode: Episode, base_url) -> None:
    observation = (await episode.look()).observation
    assert [(tab.title, tab.url, tab.active) for tab in observation.tabs] == [
        ("Other", base_url + "other", False),
        ("Oats", base_url, True),
    ]
    assert observation.goal == "Buy oats."
    html = observation.html
    assert "<h1>Quiet Harbor Oats</h1>" in html
    for hidden in ("never shown", "neither", "far below", "secret", "fetch("):
        assert hidden not in html
    assert re.search(r'<button bid="\d+">Add to Cart</button>', html)
    assert re.search(r"<option selected>two</option>", html)
    assert (await episode.look()).observation.html == html, "marks stay the same"
    await episode.act(Action("scroll", (0.0, 5000.0)))
    html = (await episode.look()).observation.html
    assert "far below" in html
    assert "Quiet Harbor" not in html


async def test_filling_selecting_pressing_and_buying(episode: Episode) -> None:
    html = (await episode.look()).observation.html
    field = re.search(r'<input bid="(\w+)" name="q"', html)
    count = re.search(r'<select bid="(\w+)" name="count"', html)
    password = re.search(r'<input bid="(\w+)" name="p"', html)
    radio = re.search(r'<input bid="(\w+)" name="size" type="radio"', html)
    assert field and count and password and radio
    assert await episode.act(Action("fill", (field[1], "oats & milk"))) == ""
    assert await episode.act(Action("fill", (password[1], "hunter2"))) == ""
    assert await episode.act(Action("select_option", (count[1], "one"))) == ""
    assert await episode.act(Action("click", (radio[1],))) == ""
    assert await episode.act(Action("keyboard_press", ("Tab",))) == ""
    html = (await episode.look()).observation.html
    assert 'value="oats &amp; milk"' in html
    assert "<option selected>one</option>" in html
    assert re.search(r'type="radio" checked', html)
    assert "hunter2" not in html
    assert await episode.act(Action("click", (await bid_of(episode, "Add to Cart"),))) == ""
    stop = (await episode.look()).stop  # it has settled only after a chain of requests
    assert stop is not None
    assert stop.outcome == "choice"


async def test_links_history_and_new_tabs(episode: Episode, base_url: str) -> None:
    await episode.act(Action("click", (await bid_of(episode, "Other page"),)))
    assert (await episode.look()).url == base_url + "other"
    await episode.act(Action("go_back"))
    assert (await episode.look()).url == base_url
    await episode.act(Action("go_forward"))
    assert (await episode.look()).url == base_url + "other"
    await episode.act(Action("goto", (base_url + "moved",)))
    assert (await episode.look()).url == base_url + "other"
    await episode.act(Action("go_back"))
    await episode.act(Action("go_back"))
    await episode.act(Action("click", (await bid_of(episode, "New tab"),)))
    observation = (await episode.look()).observation
    assert len(observation.tabs) == 3
    assert observation.active_tab == 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Action("click", ("999",)), "no element has bid '999'"),
        (Action("click", ('1"] , *',)), "no element has bid"),
        (Action("tab_focus", (7,)), "there is no tab 7"),
        (Action("goto", ("file:///etc/passwd",)), "only http:// and https://"),
        (Action("goto", ("javascript:alert(1)",)), "only http:// and https://"),
        (Action("goto", ("chrome://settings",)), "only http:// and https://"),
        (Action("keyboard_press", ("NoSuchKey",)), "Unknown key"),
    ],
)
async def test_an_impossible_action_is_told_and_the_episode_goes_on(
    episode: Episode, action: Action, reason: str
) -> None:
    assert reason in await episode.act(action)
    assert reason in (await episode.look()).observation.error
    await episode.act(Action("tab_focus", (0,)))
    observation = (await episode.look()).observation
    assert (observation.error, observation.active_tab, observation.step) == ("", 0, 2)


async def test_a_dead_browser_is_a_failure_of_the_infrastructure(browsers, episode: Episode) -> None:
    await (await browsers.browser()).close()
    with pytest.raises(BrowserFailure):
        await episode.look()
    async with browsers.context(None) as context:  # the pool launches a new one
        await context.new_page()


async def test_a_crashed_tab_is_a_failure_of_the_infrastructure(context, episode: Episode) -> None:
    page = context.pages[-1]
    session = await context.new_cdp_session(page)
    async with page.expect_event("crash"):
        never_answered = asyncio.create_task(session.send("Page.crash"))
    with pytest.raises(BrowserFailure):
        await episode.act(Action("go_back"))
    never_answered.cancel()


async def test_an_unreachable_page_is_a_failure_of_the_infrastructure(context: BrowserContext) -> None:
    async with pages({}) as gone:
        pass
    with pytest.raises(BrowserFailure):
        await Episode(context, "goal").open([gone])


XSLT = {"empty": "", "page": "<html><body><button>Buy</button></body></html>"}
"""What a template in XSLT makes of a page. Chromium puts a warning above it, in a shadow tree of its own."""


@pytest.mark.thorough
async def test_a_page_that_xslt_has_made_nothing_of_is_told_so(browsers: BrowserPool) -> None:
    def sent(text: str) -> Response:
        return Response(f'<?xml version="1.0"?>{text}', media_type="text/xml")

    answers: dict[str, Response] = {}
    for name, made in XSLT.items():
        answers[f"/{name}"] = sent(f'<?xml-stylesheet type="text/xsl" href="/{name}.xsl"?><shop/>')
        answers[f"/{name}.xsl"] = sent(
            '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
            f'<xsl:template match="/">{made}</xsl:template></xsl:stylesheet>'
        )
    async with pages(answers) as url:
        for name in XSLT:
            async with browsers.context(None) as context:
                episode = Episode(context, "Buy.")
                await episode.open([url + name])
                if name == "page":
                    assert "Buy" in (await episode.look()).observation.html
                    continue
                with pytest.raises(BrowserFailure, match=r"^the document is empty: XSLT or a script"):
                    await episode.look()


@pytest.mark.parametrize("view", [View(), View(screenshot=True, html=False)])
async def test_a_text_at_the_top_of_a_shadow_tree_is_read(context: BrowserContext, view: View) -> None:
    page = """<p>Tea</p><section></section><script>
    document.querySelector("section").attachShadow({mode: "open"}).append("In your cart");</script>"""
    async with pages({"/": page}) as url:
        episode = Episode(context, "Buy.", view=view)
        await episode.open([url])
        look = await episode.look()
    assert view.screenshot or "In your cart" in look.observation.html
