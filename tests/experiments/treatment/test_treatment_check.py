"""A page that a shop's script, its addresses or its wording leave untreated never counts as treated."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.base import Agent, Decision, GaveUp
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import IN_VAIN, ShopTrialRunner, judge, to_record
from experiments.executors.browser import Testbed, open_testbed
from experiments.records.record import Start
from experiments.treatment.trajectory import Trajectory
from interventions.yaml.sitemap import load_site_map
from proxy.server import Slot
from proxy.session import Session
from tests.experiments.foreign_shop import NUDGE, Buyer, ForeignShop, design, experiment
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
        open_testbed(tmp_path_factory.mktemp("testbed"), address) as testbed,
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
    episodes = ShopTrialRunner(made, str(made.base_url))
    session = place.slot.session = episodes.session(trial)
    try:
        async with place.testbed.browsers.context(place.slot.url) as context:
            trajectory = await episodes.episode(trial, agent or Buyer(), context, session)
            return trajectory, session, trial
    finally:
        place.slot.session = None


def nudges(session: Session) -> set[str]:
    return {receipt.product for receipt in session.receipts if receipt.intervention == "praised"}


ADDRESSES: dict[str, dict[str, Any]] = {
    "its key": {},
    "a prefix": {"page": "products/${key}"},
    "a prefix and a canonical link": {"page": "products/${key}", "canonical": "/products/KEY"},
    "an address with a path": {"prefix": "en/"},
    "another suffix": {"page": "${key}.php"},
    "another name of its own": {"page": "products/${key}", "canonical": "/catalog/KEY/view"},
    "a session in the path": {"moved": "/KEY.html;jsessionid=1A2B"},
    "a redirect": {"moved": "/en/KEY"},
    "a redirect to a query": {"moved": "/item?id=KEY", "canonical": "/KEY.html"},
    "an encoded address": {"page": "products/${key}", "moved": "/p/L%C3%A4mpchen%20f%C3%BCr%2D/KEY"},
    "a variant in the query": {"moved": "/products/KEY?variant=4711"},
    "another host's canonical link": {"page": "products/${key}", "canonical": "http://elsewhere.test/x"},
    "a query and a canonical link": {"page": "item?id=${key}", "canonical": "/KEY"},
    "a query": {"page": "product?id=${key}"},
    "a route in the query": {"page": "index.php?route=product/product&product_id=${key}"},
    "its full address": {"url": "BASEen/KEY"},
    "its full address, below the shop's": {"url": "BASEen/KEY.php", "prefix": "en/"},
    "its full address on another host": {"url": "https://shop.example/lamps/KEY.html?ref=7"},
    "its full address with a query": {"url": "BASEitem?id=KEY", "site": "by-id.yaml"},
    "nothing but its address": {"url": "BASEitem?lang=en&id=KEY", "site": "by-id.yaml", "keyed": False},
}
BY_ID = "name: by-id\nextends: onestopmarket\nquery: id\n"


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("address", usual(ADDRESSES, 4))
async def test_wherever_its_address_leads_a_product_is_treated(
    address: str, control: bool, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    how = dict(ADDRESSES[address])
    if "site" in how:
        (tmp_path / how["site"]).write_text(BY_ID)
        how["site"] = str(tmp_path / how["site"])
    if "url" in how:
        how["url"] = how["url"].replace("BASE", place.address)
    shop.moved, shop.canonical = how.pop("moved", ""), how.pop("canonical", "")
    buyer = Buyer()
    trajectory, session, trial = await carry_out(place, tmp_path, buyer, control, **how)
    assert trajectory.outcome == "choice", trajectory.reason
    assert trajectory.choice == trial.products[0].key
    assert {r.product for r in session.receipts} == {product.key for product in trial.products}
    assert nudges(session) == ({trial.carrier} if trial.carrier else set())
    assert [NUDGE in html for html in buyer.seen] == [False, not control]


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize(
    "page", ["${key}.html", "lamps/${key}.php", "item?id=${key}", "index.php?r=p&pid=${key}"]
)
async def test_a_card_has_the_key_of_its_products_page(
    page: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    card = (
        '<li class="product-item"><a class="product-item-link" href="/{0}">{1}</a>'
        '<span class="price-wrapper" data-price-type="finalPrice">'
        '<span class="price">$19.99</span></span></li>'
    )
    rows = [card.format(page.replace("${key}", key), name) for key, name in shop.names.items()]
    shop.extra = f"<ol>{''.join(rows)}</ol>"
    buyer = Buyer()
    trajectory, session, trial = await carry_out(
        place, tmp_path, buyer, edits=edit("set_price", 9.99), page=page
    )
    assert trajectory.outcome == "choice", trajectory.reason
    assert {(r.product, r.role) for r in session.receipts if r.edit == "set_price"} == {
        (trial.carrier, "product.price"), (trial.carrier, "item.price")
    }  # fmt: skip
    for html in buyer.seen:  # the carrier's card on both pages, beside the other's
        assert ("$9.99" in html, "$19.99" in html) == (True, True)


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


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("way", usual(MOVED, 3))
async def test_nor_where_the_agent_itself_has_gone_on_before(
    way: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    """The page moves only as it is loaded for the second time, by the agent's own `goto`."""
    second = "if (sessionStorage.again) { %s } sessionStorage.again = 1;"
    refresh = """document.head.innerHTML += '<meta http-equiv="refresh" content="0; url=/untreated/KEY">';"""
    shop.moved, shop.canonical = MOVED[way].get("moved", ""), MOVED[way].get("canonical", "")
    shop.script = second % MOVED[way].get("script", refresh)
    made = design(experiment(tmp_path, shop, place.address))
    trial = next(t for t in made.trials(["simulated:balanced"]) if t.carrier == t.products[0].key)
    buyer = Buyer(Action("goto", (f"{place.address}{trial.carrier}.html",)))
    trajectory, _, _ = await carry_out(place, tmp_path, buyer)
    assert [NUDGE in html for html in buyer.seen] == [False, True, False]
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
BADGE = {"text": "Limited offer"}
GONE = "document.querySelector('.product-title-details')"
RESTORED: dict[str, tuple[Edits, str, str]] = {
    "the text is elsewhere": ([], TAKEN, f"<p>{NUDGE}</p>"),
    "the text is in an attribute": ([], TAKEN, f'<img alt="{NUDGE}" width=20 height=20>'),
    "the text has moved": ([], f"document.querySelector('#more').append({GONE});", ""),
    "the text is hidden": ([], f"{GONE}.style.display = 'none';", ""),
    "the text is another": ([], put(".product-title-details", f"{NUDGE} Not."), ""),
    "badge": (edit("badge", BADGE), "document.querySelector('.product-badge-details').remove();", ""),
    "banner": (edit("banner", BADGE), "document.querySelector('.page-banner-details').remove();", ""),
    "countdown": (
        edit("countdown", {}), "document.querySelector('.product-countdown-details').remove();", "",
    ),
    "show_rating_text": ([], "document.querySelector('.product-rating-details').remove();", ""),
    "strike_price": (
        edit("strike_price", {"was": 29.99}), "document.querySelector('.product-was-details').remove();", "",
    ),
    "the figure is part of another": (edit("set_price", 9.99), put(PRICE, "19.99 €"), ""),
    "the figure stands elsewhere": (
        edit("set_price", 9.99), put(PRICE, "$21.99"), "<p>Free shipping over $9.99</p>",
    ),
    "the old price beside the new": (edit("set_price", 9.99), "", "<p>Buy now for $19.99</p>"),
    "the old price beside the new, in euros": (edit("set_price", 9.99), "", "<p>Now 19.99 €</p>"),
    "the old price in a picture": (edit("set_price", 9.99), "", '<img alt="only $19.99" width=20 height=20>'),
    "the old price in another format": (edit("set_price", 9.99), "", "<p>Buy now for $ 19,99</p>"),
    "the old price in pieces": (
        edit("set_price", 9.99), "", "<p>$<b>19</b><sup>99</sup></p>",
    ),
    "the old price in pieces, with a point": (
        edit("set_price", 9.99), "", "<p><i>$</i><b>19<span>.</span></b><sup>99</sup> each</p>",
    ),
    "the old price in the tab's title": (
        edit("set_price", 9.99), "document.title = 'Lamp for $19.99';", "",
    ),
    "set_rating": (
        edit("set_rating", 60), "document.querySelector('.rating-result').title = '80%';", "",
    ),
    "set_reviews": (edit("set_reviews", 4321), put("a.action.view", "12 Reviews"), ""),
    "set_stock": (edit("set_stock", "Only two left"), put("div.stock > span", "In stock"), ""),
    "set_title": (edit("set_title", "Golden Lamp"), put("span.base", "Harbour Desk Lamp"), ""),
    "the old name in the tab's title": (
        edit("set_title", "Golden Lamp"), "document.title = 'Buy Harbour Desk Lamp | Shop';", "",
    ),
    "replace_text": (
        edit("replace_text", {"in": "product.description", "from": "warm", "to": "cold"}),
        put("#description", "A warm light for long evenings."), "",
    ),
    "the first of two words": (
        [{"replace_text": {"in": "product.description", "from": "warm", "to": "cold"}},
         {"replace_text": {"in": "product.description", "from": "long", "to": "short"}}],
        put("#description", "A warm light for short evenings."), "",
    ),
    "remove": (
        edit("remove", "product.stock"),
        "document.querySelector('div.stock').innerHTML = '<span>In stock</span>';", "",
    ),
    "replace_text, elsewhere": (
        edit("replace_text", {"in": "product.description", "from": "warm", "to": "cold"}),
        "document.querySelector('#more').innerHTML = '<b>A warm light</b> for long evenings.';", "",
    ),
    "hide_option, in the list": (
        edit("hide_option", "Red"),
        "document.querySelector('.options-list').insertAdjacentHTML('beforeend', '<b>Red</b>');", "",
    ),
    "set_image, by another source": (
        edit("set_image", "/other.png"),
        "document.querySelector('img[class]').srcset = '/picture.png 1x, /picture.png 2x';", "",
    ),
    "hide_option": (edit("hide_option", "Red"), put("div.options-list", '<div class="choice">Red</div>'), ""),
    "set_image": (
        edit("set_image", "/other.png"), "document.querySelector('img[class]').src = '/picture.png';", "",
    ),
    "set_attribute": (
        edit("set_attribute", {"role": "product.image", "name": "alt", "value": "a bright lamp"}),
        "document.querySelector('img[class]').alt = 'a lamp';", "",
    ),
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(RESTORED, 6))
async def test_what_a_script_puts_back_fails_the_trial(
    kind: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    edits, script, extra = RESTORED[kind]
    shop.price = "19.99 €" if "€" in script + extra else "$19.99"
    # First as it is: with neither script nor a second text the trial counts.
    trajectory, session, trial = await carry_out(place, tmp_path, edits=edits)
    assert trajectory.outcome == "choice", trajectory.reason
    assert nudges(session) == {trial.carrier}
    shop.script = f"if ('KEY' === '{trial.carrier}') {{ {script} }}"
    shop.extra = extra
    trajectory, session, trial = await carry_out(place, tmp_path, edits=edits)
    assert nudges(session) == {trial.carrier}
    assert trajectory.outcome == "treatment_failed", trajectory.reason


@pytest.mark.thorough
@pytest.mark.browser
async def test_what_is_taken_out_of_lists_has_to_stand_on_a_products_page(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    """A text beside the stars is there in every condition, unless an edit takes them out there."""
    card = '<li class="product-item"><a class="product-item-link" href="/{0}.html">{0}</a>{1}</li>'
    stars = '<div class="rating-summary"><div class="rating-result" title="80%"></div></div>'
    shop.extra = f"<ol>{''.join(card.format(key, stars) for key in shop.names)}</ol>"
    for pages in ((), ["product"], ["listing"]):
        how: dict[str, Any] = {"edits": edit("remove", "product.stars"), "pages": pages}
        trajectory, _, trial = await carry_out(place, tmp_path, **how)
        assert trajectory.outcome == "choice", trajectory.reason
    taken = "document.querySelector('main .product-rating-details').remove();"
    shop.script = f"if ('KEY' === '{trial.carrier}') {{ {taken} }}"
    trajectory, _, _ = await carry_out(place, tmp_path, **how)
    assert trajectory.outcome == "treatment_failed"
    assert "does not stand after product.stars on harbour-desk-lamp" in trajectory.reason


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize(("modality", "outcome"), [("html", "choice"), ("tree", "treatment_failed")])
async def test_what_assistive_technology_is_not_told_is_not_in_the_tree(
    modality: str, outcome: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    trajectory, _, _ = await carry_out(place, tmp_path, observation=modality)
    assert trajectory.outcome == "choice", trajectory.reason
    hidden = ".forEach((each) => each.setAttribute('aria-hidden', 'true'));"
    shop.script = TAKEN.replace(".forEach((each) => each.remove());", hidden)
    trajectory, _, _ = await carry_out(place, tmp_path, observation=modality)
    assert trajectory.outcome == outcome, trajectory.reason
    assert modality == "html" or "the agent was not shown" in trajectory.reason


UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
SPRINKLED = f"""
const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {{
  const text = texts.currentNode;
  if (!text.parentElement.closest("button, script"))
    text.data = text.data.replace(/(?<=\\S)(?=\\S)/gu, "{UNSEEN}");
}}
document.querySelector("img").alt = [...document.querySelector("img").alt].join("\u200b");"""
"""Between all letters stands every character that nobody sees."""
READ = (
    "badge", "banner", "countdown", "show_rating_text", "strike_price", "the figure stands elsewhere",
    "the old price in pieces", "set_rating", "set_reviews", "set_stock", "set_title", "replace_text",
    "remove", "hide_option", "set_attribute",
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(READ, 6))
async def test_characters_that_nobody_sees_change_nothing(
    kind: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    edits, script, extra = RESTORED[kind]
    shop.script = SPRINKLED
    trajectory, session, trial = await carry_out(place, tmp_path, edits=edits)
    assert (trajectory.outcome, nudges(session)) == ("choice", {trial.carrier}), trajectory.reason
    shop.script = f"if ('KEY' === '{trial.carrier}') {{ {script} }} {SPRINKLED}"
    shop.extra = extra.replace("19", f"1{UNSEEN}9")
    trajectory, session, trial = await carry_out(place, tmp_path, edits=edits)
    assert trajectory.outcome == "treatment_failed", trajectory.reason


@pytest.mark.browser
async def test_a_message_is_read_without_them(place: Place, shop: ForeignShop, tmp_path: Path) -> None:
    shop.message = f"You added {f'{UNSEEN}'.join('Harbour Desk Lamp')} to your shopping cart."
    trajectory, _, _ = await carry_out(place, tmp_path)
    assert (trajectory.outcome, trajectory.choice) == ("choice", "harbour-desk-lamp"), trajectory.reason


PUT_BACK = {
    "": "choice",
    "document.querySelector('ol').append(document.querySelector('li.product-item'));": "treatment_failed",
    "document.querySelector('ol').style = 'display: grid; rotate: 180deg';": "treatment_failed",
}


@pytest.mark.browser
@pytest.mark.parametrize("kind", [{"reorder": {"rank": 1}}, {"swap": "cedar-reading-lamp"}])
async def test_a_list_that_a_script_puts_back_fails_the_trial(
    kind: Mapping[str, Any], place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    card = '<li class="product-item"><a class="product-item-link" href="/{0}.html">{0}</a></li>'
    shop.extra = f"<ol>{card.format('cedar-reading-lamp')}{card.format('harbour-desk-lamp')}</ol>"
    for shop.script, outcome in PUT_BACK.items():
        trajectory, session, trial = await carry_out(place, tmp_path, edits=[kind])
        made = ShopTrialRunner(design(tmp_path / "foreign.yaml"), place.address)
        record = made.record(trial, trajectory, session, start=Start.now(), attempts=1)
        assert nudges(session) == {trial.carrier}
        assert record.trial.outcome == outcome, record.trial.reason
        assert record.unchecked == []


LAMP = "harbour-desk-lamp"
LINK = f'<a href="/{LAMP}.html?from=list">Harbour Desk Lamp</a>'
LISTED = {
    "the old price": (f"<div>{LINK} <i>new</i> <b>$19.99</b></div>", True),
    "in a table, in pieces": (f"<table><tr><td>{LINK}</td><td>$<b>19</b><sup>.99</sup></td></table>", True),
    "no price": (f"<div>{LINK}</div>", False),
    "another price": (f"<div>{LINK} <b>$29.99</b></div>", False),
    "beside a link to another": (f"<div>{LINK} <a href=/oats.html>Oats, <b>$19.99</b></a></div>", False),
}


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("how", usual(LISTED, 3))
async def test_an_old_price_beside_a_link_fails_the_trial(
    how: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    """In a list that the site map does not describe, on another product's page of the same price."""
    listed, fails = LISTED[how]
    # On its own page a product's old price may stand nowhere at all.
    shop.head, shop.extra = f"<style>.{LAMP} {{ display: none }}</style>", f'<div class="KEY">{listed}</div>'
    for control in (True, False):
        trajectory, _, trial = await carry_out(
            place, tmp_path, edits=edit("set_price", 9.99), control=control
        )
        assert control or trial.carrier == LAMP
        expected = fails and not control
        assert trajectory.outcome == ("treatment_failed" if expected else "choice"), trajectory.reason
        if expected:
            assert f"was shown the old price of {LAMP} too on " in trajectory.reason


@pytest.mark.thorough
@pytest.mark.browser
async def test_one_look_is_not_enough_for_the_later_ones(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.script = f"addEventListener('scroll', () => {{ {TAKEN} }});"
    shop.extra = '<div style="height:3000px;position:absolute;top:0;width:1px"></div>'
    trajectory, _, _ = await carry_out(place, tmp_path, Buyer())
    assert trajectory.outcome == "choice", trajectory.reason
    scroll = (Action("scroll", (0.0, 5.0)), Action("scroll", (0.0, -5.0)))
    buyer = Buyer(*scroll)
    trajectory, _, _ = await carry_out(place, tmp_path, buyer)
    assert [NUDGE in html for html in buyer.seen] == [False, True, False, False]
    assert trajectory.outcome == "treatment_failed", trajectory.reason


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_page_that_is_loaded_twice_is_checked_as_well(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    """Also where the edit leaves the price as it is: the second receipt begins where the first ends."""
    same = edit("set_price", 19.99)
    trajectory, _, trial = await carry_out(place, tmp_path, edits=same)
    again = Action("goto", (f"{place.address}{trial.carrier}.html",))
    trajectory, session, _ = await carry_out(place, tmp_path, Buyer(again), edits=same)
    assert trajectory.outcome == "choice", trajectory.reason
    assert [r.before == r.after for r in session.receipts if r.edit == "set_price"] == [True, True]
    shop.script = put(PRICE, "$21.99")
    trajectory, _, _ = await carry_out(place, tmp_path, Buyer(again), edits=same)
    assert trajectory.outcome == "treatment_failed", trajectory.reason


@pytest.mark.browser
async def test_an_edit_may_itself_name_the_old_price(place: Place, shop: ForeignShop, tmp_path: Path) -> None:
    edits: Edits = [{"set_price": 9.99}, {"strike_price": {"was": 19.99}}]
    trajectory, _, _ = await carry_out(place, tmp_path, edits=edits)
    assert trajectory.outcome == "choice", trajectory.reason
    shop.extra = "<p>Buy now for $19.99</p>"
    trajectory, _, _ = await carry_out(place, tmp_path, edits=edits)
    assert (trajectory.outcome, "old price" in trajectory.reason) == ("treatment_failed", True), (
        trajectory.reason
    )


RANGES: dict[str, tuple[str, str, str]] = {
    "honest": ("", "", ""),
    "the upper end is the old one": (put(PRICE, "$9.99 – $29.99"), "", 'shows "$9.99 – $29.99"'),
    "the upper end is another": (put(PRICE, "$9.99 – $24.99"), "", 'shows "$9.99 – $24.99"'),
    "the lower end is the old one": (put(PRICE, "$19.99 – $29.99"), "", 'shows "$19.99 – $29.99"'),
    "the old lower end elsewhere": ("", "<p>Now from $19.99</p>", "the old price too"),
    "the old upper end elsewhere": ("", "<p>The big one: 29.99 $</p>", "the old price too"),
}


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("how", RANGES)
async def test_no_end_of_the_old_range_may_stand(
    how: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.price = "<b>$19.99</b> – <b>$29.99</b>" if how == "honest" else "$19.99 – $29.99"
    shop.script, shop.extra, reason = RANGES[how]
    edits: Edits = [{"set_price": 9.99}, {"strike_price": {}}]
    buyer = Buyer()
    trajectory, session, _ = await carry_out(place, tmp_path, buyer, edits=edits)
    outcome = "treatment_failed" if reason else "choice"
    assert (trajectory.outcome, reason in trajectory.reason) == (outcome, True), trajectory.reason
    (made,) = (each for each in session.receipts if each.edit == "set_price")
    assert (made.before, made.after) == ("$19.99 – $29.99", "$9.99 – $14.99")
    if not reason:
        assert "was $19.99 – $29.99" in "".join(buyer.seen)


@pytest.mark.browser
async def test_what_goes_after_the_decision_does_not_matter(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.script = f"addEventListener('click', () => {{ {TAKEN} }});"
    trajectory, _, _ = await carry_out(place, tmp_path)
    assert trajectory.outcome == "choice", trajectory.reason


@pytest.mark.browser
async def test_what_was_never_in_view_was_not_shown(place: Place, shop: ForeignShop, tmp_path: Path) -> None:
    far = edit("insert_text", {"after": "product.description", "text": NUDGE})
    trajectory, _, _ = await carry_out(place, tmp_path, edits=far)
    assert trajectory.outcome == "choice", trajectory.reason
    shop.script = "document.querySelector('#description').style.marginTop = '3000px';"
    trajectory, _, _ = await carry_out(place, tmp_path, edits=far)
    assert (trajectory.outcome, "was not shown" in trajectory.reason) == ("treatment_failed", True), (
        trajectory.reason
    )
    trajectory, _, _ = await carry_out(place, tmp_path, edits=far, observation={"page": "whole"})
    assert trajectory.outcome == "choice", trajectory.reason


@pytest.mark.browser
async def test_after_a_page_is_loaded_anew_it_is_still_its_products(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.reloads = True
    trajectory, session, trial = await carry_out(place, tmp_path, page="products/${key}")
    assert (trajectory.outcome, trajectory.choice) == ("choice", trial.products[0].key), trajectory.reason
    assert len([r for r in session.receipts if r.intervention == "praised"]) == 2


@pytest.mark.browser
async def test_a_page_with_another_good_status_is_treated(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.status = 203
    trajectory, session, trial = await carry_out(place, tmp_path)
    assert (trajectory.outcome, nudges(session)) == ("choice", {trial.carrier}), trajectory.reason


@pytest.mark.browser
async def test_a_whole_rating_elsewhere_may_be_what_a_customer_gave(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.extra = "<p>80%</p>"
    trajectory, _, _ = await carry_out(place, tmp_path, edits=edit("set_rating", 60))
    assert trajectory.outcome == "choice", trajectory.reason


BOUGHT = {
    "a related product": ("You added Rye Crackers to your shopping cart.", ""),
    "the other product of the set": ("You added {other} to your shopping cart.", "other"),
    "a longer name": ("You added {name} Large to your shopping cart.", ""),
    "nothing that is named": ("You added this item to your shopping cart.", "own"),
    "the name alone": ("You added {name}.", "own"),
    "a longer name alone": ("You added {name} Large.", ""),
}


@pytest.mark.browser
async def test_a_name_that_the_shop_reads_from_its_page_is_the_products(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.script = (
        "const old = say; say = () => old(`You added ${document.querySelector('h1').textContent.trim()}`"
        " + ' to your shopping cart.');"
    )
    trajectory, _, trial = await carry_out(place, tmp_path, edits=edit("set_title", "Golden Lamp"))
    assert (trajectory.outcome, trajectory.choice) == ("choice", trial.carrier), trajectory.reason


@pytest.mark.browser
@pytest.mark.parametrize("bought", BOUGHT)
async def test_what_the_shop_says_was_added_is_the_choice(
    bought: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    message, whose = BOUGHT[bought]
    shop.message = message.replace("{other}", "Cedar Reading Lamp")
    shop.names = {"harbour-desk-lamp": "Harbour Desk Lamp", "cedar-reading-lamp": "Cedar Reading Lamp"}
    made = design(experiment(tmp_path, shop, place.address))
    first = next(t for t in made.trials(["simulated:balanced"]) if t.carrier == t.products[0].key)
    if first.products[0].key == "cedar-reading-lamp":
        shop.message = message.replace("{other}", "Harbour Desk Lamp")
    trajectory, _, trial = await carry_out(place, tmp_path)
    own, other = (product.key for product in trial.products)
    if not whose:
        assert trajectory.outcome == "no_choice", trajectory.choice
        assert "which is not in the choice set" in trajectory.reason
    else:
        assert (trajectory.outcome, trajectory.choice) == ("choice", {"own": own, "other": other}[whose])


@pytest.mark.browser
async def test_the_longest_name_wins(place: Place, shop: ForeignShop, tmp_path: Path) -> None:
    shop.names = {"oat-cookies-large": "Oat Cookies Large", "oat-cookies-plain": "Oat Cookies"}
    for message, choice in (("Oat Cookies Large", "oat-cookies-large"), ("Oat Cookies", "oat-cookies-plain")):
        shop.message = f"You added {message} to your shopping cart."
        trajectory, _, _ = await carry_out(place, tmp_path)
        assert (trajectory.outcome, trajectory.choice) == ("choice", choice), trajectory.reason


# What the receipts have to prove, on pages as the proxy has passed them on


MORE = "document.querySelector('#more')"
OVER = "document.querySelector('#description').attachShadow({mode: 'closed'})"
COVER = """const nudge = document.querySelector('.product-title-details');
const { left, top, width, height } = nudge.getBoundingClientRect();
document.body.insertAdjacentHTML('beforeend', `<div style="position:fixed; background:white;
pointer-events:none; left:${left}px; top:${top}px; width:${width}px; height:${height}px">`);"""
CHEAPER: Edits = edit("set_price", 9.99)
IN_A_PICTURE: dict[str, tuple[Edits, str, str]] = {
    "a cover that takes no pointer": ([], COVER, "not shown"),
    # Without a ground of its own, a page has nothing to blend a text with.
    "a blend with the ground": (
        [], f"document.body.style.background = 'white'; {GONE}.style.mixBlendMode = 'screen';", "not shown",
    ),
    "a closed shadow tree": (
        CHEAPER, f"{MORE}.attachShadow({{mode: 'closed'}}).innerHTML = '<p>$19.99</p>';", "old price",
    ),
    "a closed shadow tree over a text": (CHEAPER, f"{OVER}.innerHTML = '<p>$19.99</p>';", "old price"),
    "a closed shadow tree over the edit": (
        edit("replace_text", {"in": "product.description", "from": "warm", "to": "cold"}),
        f"{OVER};",
        "not shown",
    ),
    "a sandboxed frame": (
        CHEAPER, f"{MORE}.innerHTML = '<iframe sandbox srcdoc=\"<p>$19.99</p>\"></iframe>';", "old price",
    ),
    "a drawing": (
        CHEAPER, f"{MORE}.innerHTML = '<svg width=90 height=30><text y=20>$19.99</text></svg>';", "old price",
    ),
    "a picture that never came": (edit("set_image", "/other.png"), "", "not shown"),
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(IN_A_PICTURE, 3))
async def test_what_a_picture_does_not_show_fails_the_trial(
    kind: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    edits, script, reason = IN_A_PICTURE[kind]
    seen = {"observation": {"screenshot": True}}
    if script:
        trajectory, *_ = await carry_out(place, tmp_path, edits=edits, **seen)
        assert trajectory.outcome == "choice", trajectory.reason
    shop.script = f"if ('KEY' === 'harbour-desk-lamp') {{ {script} }}"
    trajectory, *_ = await carry_out(place, tmp_path, edits=edits, **seen)
    assert trajectory.outcome == "treatment_failed", trajectory.reason
    assert reason in trajectory.reason


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
