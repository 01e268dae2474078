"""A text where people do not look, on the embedded shop's own pages, through the real proxy, in Chromium.

What stands in which channel is read by Python's own parser; what of it an agent is given, by looking as an
agent does. The table of docs/interventions.md is made of what this finds.
"""

import json
from collections.abc import AsyncIterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, NamedTuple, get_args

import pytest
from playwright.async_api import Page
from starlette.responses import HTMLResponse

from environments.observation.observe import ObservationQuery, observe
from environments.observation.picture import take_picture
from environments.observation.views import VIEWS, Modality, View
from environments.shop.catalogue import generate
from environments.shop.shop import Shop
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.treatments import is_given
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import NOT_GIVEN, placed, sights, untreated
from interventions.apply.plan import Plan, Treatment
from interventions.edits.hidden_text import Channel, HiddenText
from interventions.yaml.sitemap import SiteMap, load_site_map
from interventions.yaml.yaml_source import load_yaml
from proxy.session import Session
from tests.journeys.treated import HTML, KEY, treated
from tests.support import Answer, pages, usual

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT: Final = 'Chosen "often" by <most> customers & friends'
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)
ON_CARDS: Final[tuple[Channel, ...]] = ("alt", "aria-label", "title", "off-screen", "comment")
SITE: Final = load_site_map("onestopmarket")
SHELF: Final = next(each for each in generate().categories if not each.children)
PRODUCT: Final = next(each for each in generate().products if each.path == SHELF.path)
OWN, LIST = f"{PRODUCT.key}.html", SHELF.url
WAYS: Final = {
    "HTML": View(),
    "HTML of the whole page": View(page="whole"),
    "accessibility tree": View(tree=True, html=False),
    "tree of the whole page": View(page="whole", tree=True, html=False),
    "picture": View(screenshot=True, html=False),
}
DOCS: Final = Path(__file__).parents[2] / "docs" / "interventions.md"


class Reader(HTMLParser):
    """What a page says in each channel, as Python's parser reads it."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.told: dict[str, str] = dict.fromkeys([*CHANNELS, "text"], "")
        self._channel = "text"
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        for name in ("alt", "aria-label", "title"):
            self.told[name] += attributes.get(name, "") + "\n"
        if tag == "meta" and attributes.get("name") == "description":
            self.told["meta"] += attributes["content"]
        if tag == "script":
            self._channel = "json-ld" if attributes.get("type") == "application/ld+json" else ""
        elif "-9999px" in attributes.get("style", ""):
            self._channel = "off-screen"

    def handle_data(self, data: str) -> None:
        if self._channel:
            self.told[self._channel] += (
                json.loads(data)["description"] if self._channel == "json-ld" else data
            )

    def handle_endtag(self, tag: str) -> None:
        self._channel = "text"

    def handle_comment(self, data: str) -> None:
        self.told["comment"] += data


class Visit(NamedTuple):
    """A page as it was sent by the shop and shown, a picture of it, and what agents are given of it."""

    sent: bytes
    shown: bytes
    picture: bytes
    given: dict[str, str]


class Stage:
    """The shop behind the proxy."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed, self._known = testbed, dict[tuple[str, Channel | None], Visit]()

    async def visit(self, path: str, channel: Channel | None = None) -> Visit:
        """Open a page of the shop on which the product carries the text; None: nothing."""
        if (path, channel) not in self._known:
            self._known[path, channel] = await self._visit(path, channel)
        return self._known[path, channel]

    async def _visit(self, path: str, channel: Channel | None) -> Visit:
        edits = (HiddenText(channel=channel, text=TEXT),) if channel else ()
        slot = await self.testbed.proxy.open_slot()
        slot.session = session = Session(
            Plan((Treatment("salient", PRODUCT.key, edits),) * bool(edits)), SITE
        )
        async with self.testbed.browsers.context(slot.url) as context:
            page, url = await context.new_page(), f"{self.testbed.base_url}{path}"
            answer = await page.goto(url)
            assert answer is not None and answer.ok, f"{url}: {session.failures}"
            given = {}
            for way, view in WAYS.items():
                seen = await observe(page, view, ())
                given[way] = seen.tree.replace('\\"', '"') if view.tree else unescape(seen.html)
            sent = session.sent[0].body if edits else b""
            return Visit(sent, await answer.body(), await take_picture(page), given)


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with open_testbed(tmp_path_factory.mktemp("hidden"), Shop()) as testbed:
        yield Stage(testbed)


@pytest.mark.parametrize(
    ("path", "channel"),
    [*((OWN, channel) for channel in CHANNELS), *((LIST, channel) for channel in ON_CARDS)],
)
async def test_the_text_stands_in_its_channel_and_nowhere_else(
    path: str, channel: Channel, stage: Stage
) -> None:
    shown = await stage.visit(path, channel)
    told, before = Reader(shown.shown.decode()).told, Reader(shown.sent.decode()).told
    assert {name for name, text in told.items() if "Chosen" in text} == {channel}
    assert told[channel].count(TEXT) == 1
    words = told[channel].replace(f". {TEXT}", "").replace(TEXT, "").split()
    kept = before[channel].split()
    assert words == kept or channel == "aria-label", "what stood there stands there still"
    assert b"salient" not in shown.shown


@pytest.mark.parametrize("channel", CHANNELS)
async def test_the_rest_of_the_page_stays_byte_for_byte(channel: Channel, stage: Stage) -> None:
    for path in [OWN, LIST] if channel in ON_CARDS else [OWN]:
        sent, shown = (await stage.visit(path, channel))[:2]
        added = len(shown) - len(sent)
        start = next(at for at, (old, new) in enumerate(zip(sent, shown, strict=False)) if old != new)
        assert shown[:start] + shown[start + added :] == sent, "one piece was added, and nothing else"


@pytest.mark.parametrize("channel", CHANNELS)
async def test_people_see_no_difference(channel: Channel, stage: Stage) -> None:
    for path in [OWN, LIST] if channel in ON_CARDS else [OWN]:
        assert (await stage.visit(path, channel)).picture == (await stage.visit(path)).picture


async def test_what_agents_are_given_is_what_the_docs_say(stage: Stage) -> None:
    rows = [f"| channel | {' | '.join(WAYS)} |", f"| --- {'| --- ' * len(WAYS)}|"]
    for channel in CHANNELS:
        visit = await stage.visit(OWN, channel)
        found = {way: TEXT in text for way, text in visit.given.items()}
        said = {way: is_given(HiddenText(channel=channel, text=TEXT), view) for way, view in WAYS.items()}
        assert found == said, channel
        rows.append(f"| `{channel}` | {' | '.join('given' if each else 'no' for each in found.values())} |")
    table = "\n".join(rows)
    assert table in DOCS.read_text(encoding="utf-8"), f"docs/interventions.md needs this table:\n{table}"


CASES: Final[list[tuple[Channel, Modality, str]]] = [
    ("alt", "html", ""),
    ("off-screen", "html", NOT_GIVEN),
    ("comment", "html", NOT_GIVEN),
    ("json-ld", "tree", NOT_GIVEN),
    ("aria-label", "tree", ""),
    ("title", "screenshot", NOT_GIVEN),
    ("meta", "both", NOT_GIVEN),
]


def experiment(folder: Path, channel: Channel, modality: Modality, task: str) -> ShopDesign:
    edit = {"hidden_text": {"channel": channel, "text": "Chosen often"}}
    nudge = {"id": "salient", "kind": "nudge", "family": "any", "direction": 1, "edits": [edit]}
    (folder / "salient.yaml").write_text(json.dumps({"interventions": [nudge]}))
    file = folder / "hidden.yaml"
    file.write_text(
        json.dumps(
            {
                "name": "hidden",
                "goal": "Add the best product to the cart.",
                "task": task,
                "observation": modality,
                "options": {"pairing": "price-adjacent", "set_size": 2, "sets": 1},
                "factors": {"nudge": {"interventions": "salient.yaml", "on": ["each"]}},
            }
        )
    )
    return ShopDesign(load_yaml(file))


@pytest.mark.parametrize(("channel", "modality", "why"), usual(CASES, 4))
async def test_a_trial_counts_and_its_record_says_what_was_given(
    channel: Channel, modality: Modality, why: str, stage: Stage, tmp_path: Path
) -> None:
    design = experiment(tmp_path, channel, modality, "compare-tabs")
    seen = await shown_to_a_shopper(design, stage)
    assert seen == {why}
    told = [note for note in design.notes(["simulated:looker"]) if "is given nothing of salient" in note]
    assert bool(told) == bool(why)


async def test_a_card_of_a_list_is_recorded_alike(stage: Stage, tmp_path: Path) -> None:
    assert await shown_to_a_shopper(experiment(tmp_path, "alt", "html", "listing"), stage) == {""}
    assert await shown_to_a_shopper(experiment(tmp_path, "comment", "html", "listing"), stage) == {NOT_GIVEN}


async def shown_to_a_shopper(design: ShopDesign, stage: Stage) -> set[str]:
    """Why the text was not given at the looks of a trial that counts; empty where it was."""
    episodes = ShopTrialRunner(design, stage.testbed.base_url)
    trial, slot = next(design.trials(["simulated:looker"])), await stage.testbed.proxy.open_slot()
    session = slot.session = episodes.session(trial)
    async with stage.testbed.browsers.context(slot.url) as context:
        trajectory = await episodes.episode(trial, episodes.agent(trial), context, session)
    assert trajectory.outcome == "choice", trajectory.reason
    seen = sights(trajectory, design, trial, session)
    boxes = [box for box in placed(seen, session) if box.edit == "hidden_text"]
    assert all((box.width, box.height) == (0, 0) for box in boxes)
    return {box.why for box in boxes}


BOUTIQUE: Final = SiteMap.model_validate(
    {
        "name": "boutique",
        "query": "id",
        "pages": {"product": {"css": "h1"}},
        "roles": {
            "product.title": [{"css": "h1"}],
            "product.name": [{"css": "h1"}],
            "product.image": [{"css": "img", "attribute": "src"}],
        },
    }
)
PAGE: Final = """<!doctype html><html lang=en><head><title>Boutique</title>%s</head><body>
<h1>Harbour Lamp</h1><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt=Lamp width=90 height=90>
<p>$19.99</p></body></html>"""
UNDONE: Final[dict[Channel, str]] = {
    "alt": "document.images[0].alt = 'Lamp'",
    "aria-label": "document.querySelector('h1').removeAttribute('aria-label')",
    "title": "document.querySelector('h1').title = ''",
    "off-screen": "document.querySelector('h1 + span').style = ''",
    "comment": "document.querySelector('h1').nextSibling.remove()",
    "meta": "document.querySelector('meta[name=description]').remove()",
    "json-ld": "document.querySelector('script').textContent = '{}'",
}


@pytest.mark.parametrize("channel", CHANNELS)
async def test_a_script_that_takes_the_text_back_fails_the_trial(channel: Channel, page: Page) -> None:
    edit, reasons = HiddenText(channel=channel, text=TEXT), []
    for script in ["", UNDONE[channel]]:
        answers: dict[str, Answer] = {}
        async with pages(answers) as shop:
            url = f"{shop}{KEY}"
            answers["/lampe"], session = treated(PAGE % "", BOUTIQUE, edit, url=url)
            await page.goto(url)
            await page.evaluate(script)
            query = ObservationQuery(tuple(edit.spots(BOUTIQUE)), own=True)
            seen = await observe(page, VIEWS["both"], (), query)
            sight = ProductObservation(KEY, seen.html, seen.standing, url)
            reasons.append(untreated([sight], session, [KEY]))
    assert reasons[0] == ""
    assert "hidden_text is gone" in reasons[1]


@pytest.mark.parametrize("in_page", [False, True])
async def test_a_content_security_policy_does_not_bring_it_into_sight(in_page: bool, stage: Stage) -> None:
    policy = "default-src 'none'; style-src 'self'; img-src data:"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if in_page else ""
    headers = {} if in_page else {"content-security-policy": policy}
    answers = {"/lampe": HTMLResponse(PAGE % head, headers=headers, media_type=HTML)}
    pictures = []
    async with pages(answers) as shop:
        for edits in [(), (HiddenText(channel="off-screen", text=TEXT),)]:
            slot = await stage.testbed.proxy.open_slot()
            slot.session = Session(Plan((Treatment("salient", KEY, edits),) * bool(edits)), BOUTIQUE)
            async with stage.testbed.browsers.context(slot.url) as context:
                page = await context.new_page()
                await page.goto(f"{shop}{KEY}")
                pictures.append(await take_picture(page))
                texts = await page.evaluate("document.body.textContent")
                assert (TEXT in texts) == bool(edits)
    assert pictures[0] == pictures[1]
