"""A page that a shop's script or its wording leave untreated never counts as treated."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agents.base import Agent, Decision, GaveUp
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from environments.shop.shop import Shop
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.page_record import IN_VAIN, to_record
from experiments.episodes.shop_episode import ShopTrialRunner, judge
from experiments.executors.browser import Testbed, open_testbed
from experiments.records.record import Start
from experiments.treatment.trajectory import Trajectory
from interventions.yaml.sitemap import load_site_map
from proxy.server import Slot
from proxy.session import Session
from tests.experiments.foreign_shop import KEYS, NUDGE, Buyer, ForeignShop, design, experiment
from tests.support import serve, usual

SITE = load_site_map("onestopmarket")
Edits = list[Mapping[str, Any]]


@dataclass
class Place:
    """One shop, one proxy, one browser for all tests of this file."""

    shop: ForeignShop
    address: str
    testbed: Testbed
    slot: Slot


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    shop = ForeignShop()
    async with (
        serve(shop.app()) as address,
        open_testbed(tmp_path_factory.mktemp("testbed"), Shop(address)) as testbed,
    ):
        yield Place(shop, address, testbed, await testbed.proxy.open_slot())


@pytest.fixture
def shop(place: Place) -> ForeignShop:
    """The shop without anything that another test has made it do."""
    vars(place.shop).update(vars(ForeignShop()))
    return place.shop


async def carry_out(
    place: Place, folder: Path, agent: Agent | None = None, control: bool = False, **how: Any
) -> tuple[Trajectory, Session, ShopTrial]:
    """One trial; the nudge is on the product that is bought."""
    prefix = how.pop("prefix", "")
    made = design(experiment(folder, place.shop, place.address + prefix, **how))
    trials = made.trials(["simulated:balanced"])
    trial = next(t for t in trials if t.carrier == (None if control else t.products[0].key))
    episodes = ShopTrialRunner(made, str(made.shop.url))
    session = place.slot.session = episodes.session(trial)
    try:
        async with place.testbed.browsers.context(place.slot.url) as context:
            trajectory = await episodes.episode(trial, agent or Buyer(), context, session)
            return trajectory, session, trial
    finally:
        place.slot.session = None


def nudges(session: Session) -> set[str]:
    return {receipt.product for receipt in session.receipts if receipt.intervention == "praised"}


TAKEN = "document.querySelectorAll('.product-title-details').forEach((each) => each.remove());"
MOVED: dict[str, dict[str, str]] = {
    "another address": {"script": f"{TAKEN} history.replaceState(null, '', '/p/KEY?v=1');"},
    "one more address": {"script": f"{TAKEN} history.pushState(null, '', '/p/KEY?v=1');"},
    "a redirect": {"moved": "/enc/KEY", "canonical": "/KEY.html", "script": TAKEN},
    "a refresh": {"head": '<meta http-equiv="refresh" content="0; url=/untreated/KEY">'},
    "a location": {"script": "location.replace('/untreated/KEY');"},
    "a written page": {
        "script": """history.replaceState(null, '', '/p/KEY');
            fetch('/raw/KEY').then((answer) => answer.text()).then((text) => {
              document.open(); document.write(text); document.close(); });"""
    },
    "a page of its own making": {
        "script": """fetch('/raw/KEY').then((answer) => answer.text()).then((text) =>
            location.replace(URL.createObjectURL(new Blob([text], {type: 'text/html'}))));"""
    },
}


@pytest.mark.browser
@pytest.mark.parametrize("way", MOVED)
async def test_what_moves_the_address_does_not_switch_the_check_off(
    way: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    vars(shop).update(MOVED[way])
    buyer = Buyer()
    trajectory, _, _ = await carry_out(place, tmp_path, buyer)
    assert not any(NUDGE in html for html in buyer.seen), "the attack does nothing"
    assert trajectory.outcome == "treatment_failed", trajectory.reason


class Reader:
    """Looks at a tab until the end."""

    def __init__(self, tab: int) -> None:
        self._tab = tab

    async def act(self, observation: Observation) -> Decision:
        return Decision("", "", Action("tab_focus", (self._tab,)))


@pytest.mark.browser
async def test_a_page_that_an_agent_sees_in_the_place_of_a_treated_one_fails_the_trial(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.wall = "<title>Are you human?</title>"
    for agent, wanted in ((Reader(0), "treatment_failed"), (Reader(1), "agent_limit")):
        trajectory, session, trial = await carry_out(place, tmp_path, agent)
        assert (trajectory.outcome, nudges(session)) == (wanted, set()), trajectory.reason
        if wanted == "treatment_failed":
            assert f"{trial.carrier}.html: praised" in trajectory.reason
            assert "not a product's page" in trajectory.reason


@pytest.mark.browser
async def test_a_choice_does_not_count_where_a_products_page_never_came(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    trajectory, session, trial = await carry_out(place, tmp_path)
    assert trajectory.outcome == "choice", trajectory.reason
    session.awaited = {trial.products[0].key: "oats.html: not a product's page"}
    judge(trajectory, trial, design(tmp_path / "foreign.yaml"), session)
    assert (trajectory.outcome, trajectory.reason) == ("treatment_failed", "oats.html: not a product's page")


def edit(kind: str, value: Any) -> Edits:
    return [{kind: value}]


def put(css: str, html: str) -> str:
    """A script that makes the page show what it showed before."""
    return f"document.querySelector({css!r}).innerHTML = {html!r};"


PRICE = "span.price"
UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
MESSAGE = "You added {} to your shopping cart."
DETAILS = "document.querySelector('.product-title-details')"
SILENCED = f"{DETAILS}.setAttribute('aria-hidden', 'true');"
COVER = f"""const {{ left, top, width, height }} = {DETAILS}.getBoundingClientRect();
document.body.insertAdjacentHTML('beforeend', `<div style="position:fixed; background:white;
pointer-events:none; left:${{left}}px; top:${{top}}px; width:${{width}}px; height:${{height}}px">`);"""
NUDGED: Edits = [{"insert_text": {"after": "product.title", "text": NUDGE}}]
CHEAPER = edit("set_price", 9.99)
OF_A_RANGE: Edits = [{"set_price": 9.99}, {"strike_price": {}}]
RENAMED = edit("set_title", "Golden Lamp")
TWO_WORDS: Edits = [
    {"replace_text": {"in": "product.description", "from": "warm", "to": "cold"}},
    {"replace_text": {"in": "product.description", "from": "long", "to": "short"}},
]
CARD = '<li class="product-item"><a class="product-item-link" href="/{0}.html">{0}</a>{1}</li>'
STARS = '<div class="rating-summary"><div class="rating-result" title="80%"></div></div>'
LAMP, OTHER = KEYS
BACK = "document.querySelector('ol').append(document.querySelector('li.product-item'));"
LINK = f'<a href="/{LAMP}.html?from=list">Harbour Desk Lamp</a>'


def listed(*keys: str, inside: str = "") -> dict[str, str]:
    """A shop whose pages have a list of these products."""
    return {"extra": f"<ol>{''.join(CARD.format(key, inside) for key in keys)}</ol>"}


def elsewhere(html: str) -> str:
    """What only the pages of other products show: a product's old price may stand nowhere on its own."""
    return f'<div class="KEY">{html}</div>'


ELSEWHERE = {"head": f"<style>.{LAMP} {{ display: none }}</style>"}


class Attack(NamedTuple):
    """Edits, the script that undoes them, what the page shows more then, the shop and the experiment."""

    edits: Edits
    script: str = ""
    extra: str = ""
    shop: Mapping[str, str] = {}
    how: Mapping[str, Any] = {}


# What tests/journeys/test_hostile_pages.py, which attacks each kind of edit, does not have.
RESTORED = {
    "the text is elsewhere": Attack(NUDGED, TAKEN, f"<p>{NUDGE}</p>"),
    "the text is in an attribute": Attack(NUDGED, TAKEN, f'<img alt="{NUDGE}" width=20 height=20>'),
    "the text is not in the tree": Attack(NUDGED, SILENCED, how={"observation": "tree"}),
    "the text is covered": Attack(NUDGED, COVER, how={"observation": {"screenshot": True}}),
    "the figure stands elsewhere": Attack(CHEAPER, put(PRICE, "$21.99"), "<p>Free shipping over $9.99</p>"),
    "the old price in a picture": Attack(CHEAPER, "", '<img alt="only $19.99" width=20 height=20>'),
    "the old price in another format": Attack(CHEAPER, "", "<p>Buy now for $ 19,99</p>"),
    "the old price in euros": Attack(CHEAPER, "", "<p>Now 19.99 €</p>", {"price": "19.99 €"}),
    "the old price in pieces, with a point": Attack(
        CHEAPER, "", "<p><i>$</i><b>19<span>.</span></b><sup>99</sup> each</p>"
    ),
    "the old price in pieces with characters that nobody sees": Attack(
        CHEAPER, "", f"<p>$<b>1{UNSEEN}9</b><sup>99</sup></p>"
    ),
    "the old price in the tab's title": Attack(CHEAPER, "document.title = 'Lamp for $19.99';"),
    "the old price beside one that an edit names": Attack(
        [{"set_price": 9.99}, {"strike_price": {"was": 19.99}}], "", "<p>Buy now for $19.99</p>"
    ),
    "the old price beside a link": Attack(
        CHEAPER, "", elsewhere(f"<div>{LINK} <i>new</i> <b>$19.99</b></div>"), ELSEWHERE
    ),
    "the old price beside a link in a table, in pieces": Attack(
        CHEAPER,
        "",
        elsewhere(f"<table><tr><td>{LINK}</td><td>$<b>19</b><sup>.99</sup></td></table>"),
        ELSEWHERE,
    ),
    "the upper end of a range is the old one": Attack(
        OF_A_RANGE, put(PRICE, "$9.99 – $29.99"), "", {"price": "<b>$19.99</b> – <b>$29.99</b>"}
    ),
    "the old upper end elsewhere": Attack(
        OF_A_RANGE, "", "<p>The big one: 29.99 $</p>", {"price": "$19.99 – $29.99"}
    ),
    "the old rating in an attribute": Attack(
        edit("set_rating", 60), "document.querySelector('.rating-result').title = '80%';"
    ),
    "the old name in the tab's title": Attack(RENAMED, "document.title = 'Buy Harbour Desk Lamp | Shop';"),
    "the first of two words": Attack(TWO_WORDS, put("#description", "A warm light for short evenings.")),
    "the old order": Attack(edit("reorder", {"rank": 1}), BACK, "", listed(OTHER, LAMP)),
    # A text beside the stars is there in every condition, unless an edit takes them out on a product's page.
    "no text beside stars that lists have lost": Attack(
        edit("remove", "product.stars"),
        "document.querySelector('main .product-rating-details').remove();",
        "",
        listed(*KEYS, inside=STARS),
        {"pages": ["listing"]},
    ),
}


@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(RESTORED, 6))
async def test_what_a_script_puts_back_fails_the_trial(
    kind: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    attack = RESTORED[kind]
    vars(shop).update(attack.shop)
    # First as it is: with neither script nor a second text the trial counts.
    trajectory, session, trial = await carry_out(place, tmp_path, edits=attack.edits, **attack.how)
    assert trajectory.outcome == "choice", trajectory.reason
    carriers = {trial.carrier} if "product" in attack.how.get("pages", ["product"]) else set()
    assert nudges(session) == carriers
    shop.script = f"if ('KEY' === '{trial.carrier}') {{ {attack.script} }}"
    shop.extra += attack.extra
    trajectory, session, trial = await carry_out(place, tmp_path, edits=attack.edits, **attack.how)
    assert nudges(session) == carriers
    assert trajectory.outcome == "treatment_failed", trajectory.reason


SAYS_ITS_TITLE = """const old = say; say = () =>
old(`You added ${document.querySelector('h1').textContent.trim()} to your shopping cart.`);"""
HONEST: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "what goes after the decision": ({"script": f"addEventListener('click', () => {{ {TAKEN} }});"}, {}),
    "another good status": ({"status": 203}, {}),
    "a text that only HTML tells": ({"script": SILENCED}, {}),
    "a whole rating that a customer may have given": (
        {"extra": "<p>80%</p>"},
        {"edits": edit("set_rating", 60)},
    ),
    "a name with characters that nobody sees": (
        {"message": MESSAGE.format(UNSEEN.join("Harbour Desk Lamp"))},
        {},
    ),
    "a name that the shop reads from its page": ({"script": SAYS_ITS_TITLE}, {"edits": RENAMED}),
    "a link without a price": (ELSEWHERE | {"extra": elsewhere(LINK)}, {"edits": CHEAPER}),
    "a link with another price": (
        ELSEWHERE | {"extra": elsewhere(f"{LINK} <b>$29.99</b>")},
        {"edits": CHEAPER},
    ),
    "a link beside the price of another": (
        ELSEWHERE | {"extra": elsewhere(f"{LINK} <a href=/oats.html>Oats, <b>$19.99</b></a>")},
        {"edits": CHEAPER},
    ),
}


@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(HONEST, 6))
async def test_an_honest_page_counts(kind: str, place: Place, shop: ForeignShop, tmp_path: Path) -> None:
    settings, how = HONEST[kind]
    vars(shop).update(settings)
    trajectory, session, trial = await carry_out(place, tmp_path, **how)
    assert (trajectory.outcome, trajectory.choice) == ("choice", trial.carrier), trajectory.reason
    assert nudges(session) == {trial.carrier}


@pytest.mark.browser
async def test_after_a_page_is_loaded_anew_it_is_still_its_products(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.reloads = True
    trajectory, session, trial = await carry_out(place, tmp_path, page="products/${key}")
    assert (trajectory.outcome, trajectory.choice) == ("choice", trial.carrier), trajectory.reason
    assert len([r for r in session.receipts if r.intervention == "praised"]) == 2


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_page_that_is_loaded_twice_is_checked_as_well(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    """Also where the edit leaves the price as it is: the second receipt begins where the first ends."""
    for script, outcome in (("", "choice"), (put(PRICE, "$21.99"), "treatment_failed")):
        shop.script = script
        again = Action("goto", (f"{place.address}{LAMP}.html",))
        trajectory, session, _ = await carry_out(
            place, tmp_path, Buyer(again), edits=edit("set_price", 19.99)
        )
        assert trajectory.outcome == outcome, trajectory.reason
        assert [r.before == r.after for r in session.receipts if r.edit == "set_price"] == [True, True]


BOUGHT = {
    "a related product": ("Rye Crackers", ""),
    "the other product of the set": ("Cedar Reading Lamp", OTHER),
    "a longer name": ("Harbour Desk Lamp Large", ""),
    "nothing that is named": ("this item", LAMP),
}


@pytest.mark.browser
@pytest.mark.parametrize("bought", BOUGHT)
async def test_what_the_shop_says_was_added_is_the_choice(
    bought: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    said, choice = BOUGHT[bought]
    shop.message = MESSAGE.format(said)
    trajectory, *_ = await carry_out(place, tmp_path)
    if choice:
        assert (trajectory.outcome, trajectory.choice) == ("choice", choice), trajectory.reason
    else:
        assert trajectory.outcome == "no_choice", trajectory.choice
        assert "which is not in the choice set" in trajectory.reason


class Leaver(Buyer):
    """Gives up once it has pressed the button."""

    async def act(self, observation: Observation) -> Decision:
        if len(self.seen) > 1:
            raise GaveUp("done")
        return await super().act(observation)


@pytest.mark.browser
async def test_who_presses_in_vain_and_gives_up_is_told_so(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.press = "fetch('/cart', {method: 'POST'})"
    (tmp_path / "own.yaml").write_text(
        "name: own\nextends: onestopmarket\nchoice: {request: {path: /never}}\n"
    )
    how: dict[str, Any] = {"site": str(tmp_path / "own.yaml")}
    trajectory, session, trial = await carry_out(place, tmp_path, Leaver(), **how)
    made = design(experiment(tmp_path, place.shop, place.address, **how))
    record = to_record(trial, made, trajectory, session, start=Start.now(), attempts=1)
    assert record.trial.outcome == "no_choice"
    assert record.trial.reason == (
        f"the agent gave up: done; add to cart was pressed 1 times{IN_VAIN} (choice in the site map own)"
    )
