"""Lists that are cut, and that stand in another order: generated ones, read back by another parser."""

import random
import re
from collections.abc import Mapping
from decimal import Decimal

import pytest
from bs4 import BeautifulSoup

from experiments.designs.shop.listing import ShowOnly
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.mapped_page import MappedPage
from interventions.apply.plan import Plan, Treatment
from interventions.edits.badge import Badge
from interventions.edits.base import Edit
from interventions.edits.insert_item import InsertItem
from interventions.edits.link_to import LinkTo
from interventions.edits.reorder import Reorder
from interventions.edits.results import Results
from interventions.edits.set_price import SetPrice
from interventions.edits.show_rating_text import ShowRatingText
from interventions.edits.sort_default import SortDefault
from interventions.edits.swap import Swap
from interventions.yaml.sitemap import SiteMap
from proxy.shown_page import ShownPage
from tests.support import size

SITE = SiteMap.model_validate(
    {
        "name": "s",
        "pages": {"listing": {"css": "body.list"}, "home": {"css": "body.home"}},
        "roles": {
            "product.rating": [{"css": "i"}],
            "product.stars": [{"css": "i"}],
            "item": [{"css": "li"}],
            "item.link": [{"css": "a", "attribute": "href"}],
            "item.name": [{"css": "a"}],
            "item.title": [{"css": "a"}],
            "item.price": [{"css": "b"}],
            "item.rating": [{"css": "i", "attribute": "title"}],
            "item.stars": [{"css": "i"}],
            "item.reviews": [{"css": "u"}],
            "listing.sort": [{"css": "select"}],
            "listing.sort_default": [{"css": "select", "attribute": "data-usual"}],
            "listing.sort_direction": [{"css": "a.arrow"}],
        },
    }
)
CARD = '<li><a href="/{key}">{key}</a><b>${price:.2f}</b>{rating}<u>{reviews}</u></li>'
CONTROL = (
    '<p><select class="s" data-usual="pos"><option value="pos"{0}>Position</option>'
    '<option value="p"{1}>Price</option></select> <a class=arrow href="/x">v</a></p>'
)


def made(chance: random.Random, number: int) -> dict[str, dict[str, object]]:
    """Products in the shop's order; of some no rating is shown."""
    keys = [f"{chance.choice('abcXYZ')}{each}" for each in range(number)]
    return {
        key: {
            "price": Decimal(chance.randint(100, 900)) / 100,
            "rating": chance.choice([None, chance.randint(20, 100)]),
            "reviews": chance.randint(0, 30),
        }
        for key in keys
    }


def shown(
    products: Mapping[str, Mapping[str, object]],
    *edits: Edit | Treatment,
    kind: str = "list",
    sorted_by: str = "pos",
    **known: str,
) -> tuple[BeautifulSoup, Rewrite]:
    cards = "".join(
        CARD.format(
            key=key, price=facts["price"], reviews=facts["reviews"],
            rating="" if facts["rating"] is None else f'<i title="{facts["rating"]}%">*</i>',
        )
        for key, facts in products.items()
    )  # fmt: skip
    control = CONTROL.format(*(" selected" if each == sorted_by else "" for each in ("pos", "p")))
    body = f'<!doctype html><html lang="en"><body class="{kind}">{control}<ul>{cards}</ul></body></html>'
    plan = Plan(
        tuple(each if isinstance(each, Treatment) else Treatment("made", None, (each,)) for each in edits)
    )
    html = "text/html; charset=utf-8"
    found = rewrite(
        body.encode(), content_type=html, url="http://s.test/l", plan=plan, site=SITE, known=known
    )
    return BeautifulSoup(found.body, "html.parser"), found


def names(page: BeautifulSoup) -> list[str]:
    return [each.get_text() for each in page.select("li > a")]


def test_a_list_keeps_the_choice_set_and_the_first_of_the_others() -> None:
    chance = random.Random(3)
    for _ in range(size(60, 2_000)):
        products = made(chance, chance.randint(1, 12))
        keys, count = list(products), chance.randint(1, 12)
        chosen = {
            key.lower(): key.lower() for key in chance.sample(keys, chance.randint(0, min(3, len(keys))))
        }
        known = dict.fromkeys(chosen, "") | chosen
        edits = (Results(count), Treatment("display", None, (ShowRatingText(),)))
        if len(chosen) > count:
            with pytest.raises(EditFailed, match=f"{len(chosen)} products of this list are to choose from"):
                shown(products, *edits, **known)
            continue
        page, found = shown(products, *edits, **known)
        room = count - len(chosen)
        others = [key for key in keys if key.lower() not in chosen][:room]
        assert names(page) == [key for key in keys if key.lower() in chosen or key in others]
        (receipt,) = [each for each in found.receipts if each.edit == "results"]
        assert receipt.after == f"{min(count, len(keys))} products"
        assert receipt.product in [name.lower() for name in names(page)]


def test_a_list_of_the_choice_set_only_keeps_all_of_it() -> None:
    products = made(random.Random(7), 9)
    keys = [list(products)[place].lower() for place in (7, 1, 4)]
    only = Treatment("show-only", None, (ShowOnly(keys=tuple(keys)),), ("listing",))
    page, _ = shown(products, Results(4), only)
    assert [name.lower() for name in names(page)] == keys
    with pytest.raises(EditFailed, match="3 products of this list are to choose from"):
        shown(products, Results(2), only)


def test_what_was_moved_up_before_stays() -> None:
    products = made(random.Random(1), 8)
    last = list(products)[-1]
    page, _ = shown(products, Results(3), Treatment("up", last.lower(), (Reorder(rank=1),)))
    assert names(page)[0] == last and len(names(page)) == 3


@pytest.mark.parametrize("by", ["price", "rating", "reviews", "name"])
@pytest.mark.parametrize("descending", [False, True])
def test_a_list_is_sorted_by_what_its_cards_show(by: str, descending: bool) -> None:
    chance = random.Random(f"{by} {descending}")
    for _ in range(size(20, 500)):
        products = made(chance, chance.randint(2, 12))
        dear = chance.choice(list(products))
        price = Decimal(chance.randint(100, 900)) / 100
        edits = Treatment("dear", dear.lower(), (SetPrice(price),)), SortDefault(by=by, descending=descending)
        page, _ = shown(products, *edits)
        facts = products | {dear: products[dear] | {"price": price}}
        known = [key for key in products if by == "name" or facts[key][by] is not None]
        values = {key: key.casefold() if by == "name" else facts[key][by] for key in known}
        wanted = sorted(known, key=values.__getitem__, reverse=descending) + [
            key for key in products if key not in known
        ]
        assert names(page) == wanted
        assert [each.get_text() for each in page.select("option[selected]")] == [by.capitalize()]
        assert page.select_one("select").attrs == {"class": ["s"], "data-usual": "pos"}
        assert len(page.select("option")) == (2 if by == "price" else 3)
        assert bool(page.select("a.arrow")) == (not descending)


@pytest.mark.parametrize("edit", [Results(1), SortDefault(by="name", descending=True)])
def test_other_pages_and_lists_that_somebody_has_sorted_stay(edit: Edit) -> None:
    products = made(random.Random(5), 5)
    assert names(shown(products, edit, kind="home")[0]) == list(products)
    page, found = shown(products, edit, sorted_by="p")
    if isinstance(edit, SortDefault):
        assert names(page) == list(products) and not found.receipts


@pytest.mark.parametrize("label", [None, "Sponsored"])
def test_an_advertisement_is_a_copy_of_the_card_with_its_edits(label: str | None) -> None:
    chance = random.Random(f"{label}")
    for _ in range(size(30, 500)):
        products = made(chance, chance.randint(1, 9))
        key, rank = chance.choice(list(products)), chance.randint(1, 11)
        ad = InsertItem(rank=rank, label=label)
        mine = [ad, SetPrice(Decimal("12.50")), Badge(text="Best seller")]
        chance.shuffle(mine)
        up = [Reorder(rank=chance.randint(1, len(products)))][: chance.randint(0, 1)]
        display = Treatment("display", None, (ShowRatingText(),))
        plain, _ = shown(products, Treatment("mine", key.lower(), tuple(up)), display)
        page, found = shown(products, Treatment("mine", key.lower(), (*up, *mine)), display)
        at = min(rank, len(products) + 1)
        assert names(page) == [*names(plain)[: at - 1], key, *names(plain)[at - 1 :]]
        copy = page.select("li")[at - 1]
        own = next(each for each in page.select("li") if each.a.get_text() == key and each is not copy)
        told = copy.select(".product-badge-details")
        assert [each.get_text() for each in told] == ["Best seller", *[label] * bool(label)]
        if label:
            told[-1].decompose()
        assert str(copy) == str(own) and "$12.50" in str(own)
        (receipt,) = [each for each in found.receipts if each.edit == "insert_item"]
        assert receipt.after == f"rank {at} of {len(products) + 1}" and receipt.product == key.lower()


def test_an_advertisement_stands_on_lists_only() -> None:
    products = made(random.Random(2), 4)
    plan = Treatment("ad", next(iter(products)).lower(), (InsertItem(rank=1),))
    assert names(shown(products, plan, kind="home")[0]) == list(products)


def test_a_card_whose_links_lead_elsewhere_stays_its_products() -> None:
    """Another parser reads where its link leads; Souk says whose card it is, of the page as it was sent."""
    chance = random.Random(9)
    for _ in range(size(40, 500)):
        products = made(chance, chance.randint(2, 9))
        bait, other, third = [*chance.sample(list(products), 2), chance.choice(list(products))]
        mine = [LinkTo(to=f"/{other}"), SetPrice(Decimal("12.50"))]
        mine += chance.sample([Reorder(rank=chance.randint(1, 9)), InsertItem(rank=1), Swap(third)], 2)
        chance.shuffle(mine)
        back = Treatment("back", other.lower(), (LinkTo(to=bait),))
        treatments = [Treatment("mine", bait.lower(), tuple(mine)), *[back] * chance.randint(0, 1)]
        chance.shuffle(treatments)
        page, found = shown(products, *treatments)
        leads = {bait: other} | ({other: bait} if back in treatments else {})
        for card in page.select("li"):
            name, link = card.a.get_text(), card.a["href"]
            path, mark = f"/{leads.get(name, name)}", r"#[0-9a-f]{8}" if name in leads else ""
            assert re.fullmatch(re.escape(path) + mark, link)
            assert (card.b.get_text() == "$12.50") == (name == bait)
        receipts = [(r.before, r.after.partition("#")[0]) for r in found.receipts if r.edit == "link_to"]
        assert sorted(receipts) == sorted((f"/{one}", f"/{two}") for one, two in leads.items())
        sent = ShownPage("http://s.test/l", "text/html", found.body, None, links=found.links)
        assert sent.parsed
        keys = [key for key, showing in MappedPage(sent.parsed, SITE).showings() if showing.group == "item"]
        assert keys == [name.lower() for name in names(page)]


def test_links_lead_to_another_product_of_the_list_at_the_same_shop_only() -> None:
    products = {key: {"price": Decimal(1), "rating": None, "reviews": 1} for key in "ab"}
    for to, kind in (("c", "list"), ("b", "home")):
        page, found = shown(products, Treatment("bait", "a", (LinkTo(to=to),)), kind=kind)
        assert [each["href"] for each in page.select("li > a")] == ["/a", "/b"] and not found.receipts
    with pytest.raises(EditFailed, match="a is the product itself; name another one"):
        shown(products, Treatment("bait", "a", (LinkTo(to="a"),)))
    abroad = '<body class="list"><ul><li><a href="/a">a</a></li><li><a href="//t.test/b">b</a></li></ul>'
    plan = Plan((Treatment("bait", "a", (LinkTo(to="b"),)),))
    with pytest.raises(EditFailed, match=r"//t\.test/b is at another host than /a"):
        rewrite(abroad.encode(), content_type="text/html", url="http://s.test/l", plan=plan, site=SITE)


def test_what_names_an_element_of_the_copy_means_the_copys() -> None:
    card = (
        '<li><a href="/p">p</a><label for="q">Size</label><input id="q" aria-describedby="out q">'
        "<b>$1.00</b></li>"
    )
    body = f'<!doctype html><html lang="en"><body class="list"><i id="out"></i><ul>{card}</ul></body></html>'
    plan = Plan((Treatment("ad", "p", (InsertItem(rank=1),)),))
    html = "text/html; charset=utf-8"
    found = rewrite(body.encode(), content_type=html, url="http://s.test/l", plan=plan, site=SITE)
    copy, own = BeautifulSoup(found.body, "html.parser").select("li")
    assert str(own) == str(BeautifulSoup(card, "html.parser").li)
    name = copy.input["id"]
    assert name != "q" and copy.label["for"] == name
    assert copy.input["aria-describedby"] == f"out {name}"
