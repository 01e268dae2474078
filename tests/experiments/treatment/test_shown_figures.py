"""What is stored of each option is what its pages showed; catalogues are compared with what the shop sent."""

import random
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from mitmproxy import http

from experiments.records.page_figures import differences, figure_row, unread_notes
from experiments.treatment.shown_figures import NOT_SHOWN, shown_figures
from experiments.treatment.sights import ProductObservation
from interventions.apply.engine import PlaceMemory
from interventions.apply.plan import Plan, ProductFacts, Treatment
from interventions.authoring.page_facts import ShownFacts
from interventions.edits.in_browser import Element, ElementQuery, PageElements
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import SiteMap
from proxy.addon import treat
from proxy.session import Session
from proxy.shown_page import ShownPage
from tests.support import size

SITE = SiteMap.model_validate(
    {
        "name": "stalls",
        "pages": {"product": {"css": "main.own"}, "listing": {"css": "ul.stall"}},
        "roles": {
            "product.title": "h1",
            "product.name": "h1",
            "product.price": "main .now",
            "product.stock": "main .left",
            "product.rating": {"css": "main .stars", "pattern": r"([\d.]+) of", "scale": 10},
            "product.reviews": "main .said",
            "item": "li.ware",
            "item.link": {"css": "a", "attribute": "href"},
            "item.name": "a",
            "item.price": ".now",
            "item.rating": {"css": ".stars", "pattern": r"([\d.]+) of", "scale": 10},
            "item.reviews": ".said",
            "item.stock": ".left",
        },
        "choice": {"request": {"path": "/add", "field": "id"}},
    }
)
SHOP = "http://stalls.test/"
HTML = "text/html; charset=utf-8"


class Ware(NamedTuple):
    """A product as its page is made to show it: cents, tenths of ten stars, and how many have said so."""

    key: str
    title: str
    cents: int
    tenths: int
    said: int
    left: int

    def parts(self) -> str:
        whole, cents = divmod(self.cents, 100)
        return (
            f'<s>$9,999.00</s> <b class="now">${whole:,}.{cents:02}</b> '
            f'<i class="stars">{self.tenths / 10:.1f} of 10</i> <u class="said">{self.said:,} reviews</u> '
            f'<em class="left">{self.left} left</em>'
        )

    def page(self, beside: str = "") -> bytes:
        return (
            f'<!doctype html><html lang="en"><title>x</title><main class="own"><h1>{self.title}</h1>'
            f"{self.parts()}</main><ul>{beside}</ul></html>"
        ).encode()

    def card(self) -> str:
        return f'<li class="ware"><a href="/{self.key}.html">{self.title}</a> {self.parts()}</li>'

    @property
    def truth(self) -> ShownFacts:
        rating = float(Decimal(self.tenths))
        return ShownFacts(self.title, f"{self.left} left", self.cents / 100, rating, self.said)

    @property
    def facts(self) -> ProductFacts:
        return ProductFacts(self.key, "", self.title, self.cents / 100, self.tenths, self.said)


def wares(rng: random.Random, number: int) -> list[Ware]:
    return [
        Ware(
            f"ware-{n}",
            f"Ware {n} {rng.choice(['of oak', 'in blue', '& co'])}".replace("&", "and"),
            rng.randint(1, 200_000),
            rng.randint(10, 100),
            rng.randint(1, 20_000) | 1,
            rng.randint(1, 9),
        )
        for n in range(number)
    ]


EDITS = ("set_price", "set_rating", "set_reviews", "set_stock", "set_title")


def edited(ware: Ware, rng: random.Random) -> tuple[tuple[dict[str, Any], ...], ShownFacts]:
    """Some edits of a product, and what its page has to show then."""
    price, tenths, said = rng.randint(1, 90_000) / 100, rng.randint(10, 100), rng.randint(1, 900)
    every: dict[str, tuple[Any, dict[str, Any]]] = {
        "set_price": (price, {"price": price}),
        "set_rating": (tenths, {"rating": float(tenths)}),
        "set_reviews": (said, {"reviews": said}),
        "set_stock": ("Sold soon", {"stock": "Sold soon"}),
        "set_title": ("Another name", {"title": "Another name"}),
    }
    names = rng.sample(EDITS, rng.randint(1, len(EDITS)))
    truth = ware.truth
    for name in names:
        truth = truth._replace(**every[name][1])
    return tuple({name: every[name][0]} for name in names), truth


def passed_on(session: Session, url: str, body: bytes) -> None:
    """Let a page through, as the proxy does with and without a plan."""
    response = http.Response.make(200, body, {"content-type": HTML})
    request = http.Request.make("GET", url, headers={"accept": "text/html"})
    if session.plan.treatments:
        treat(request, response, session, PlaceMemory())
    else:
        session.keep(ShownPage(url, HTML, body, None))


@pytest.mark.parametrize("seed", range(size(6, 60)))
def test_the_stored_figures_are_those_of_the_pages(seed: int) -> None:
    rng = random.Random(seed)
    own = wares(rng, 4)
    truth = {ware.key: ware.truth for ware in own}
    treatments = []
    for ware in rng.sample(own, rng.randint(0, 2)):
        edits, truth[ware.key] = edited(ware, rng)
        treatments.append(Treatment("n", ware.key, tuple(map(edit_from_dict, edits))))
    session, in_list = Session(Plan(tuple(treatments)), SITE, awaited={}), rng.random() < 0.5
    listing = f'<ul class="stall">{"".join(ware.card() for ware in own)}</ul>'.encode()
    if in_list:
        passed_on(session, f"{SHOP}stall", listing)
    else:
        for ware in own:  # first with an earlier price, then as it is; beside it others at a stale one
            stale = "".join(
                each._replace(cents=777).card() for each in own if not treatments and each != ware
            )
            if not treatments:  # a changed price would follow it, as that of a variant
                passed_on(session, f"{SHOP}{ware.key}.html?v=1", ware._replace(cents=555).page())
            passed_on(session, f"{SHOP}{ware.key}.html", ware.page(stale))
    found = shown_figures([*truth], session, [], in_lists=in_list)
    for ware in own:
        assert found[ware.key].shown == pytest.approx(truth[ware.key]), (seed, in_list)
        assert found[ware.key].sent == pytest.approx(ware.truth)
        assert found[ware.key].unread == ""


@pytest.mark.parametrize("seed", range(size(6, 60)))
def test_the_differences_that_are_told_are_those_that_were_made(seed: int) -> None:
    rng = random.Random(seed)
    own = wares(rng, 12)
    wrong: dict[str, dict[str, object]] = {}
    rows = []
    for ware in own:
        mine = ware.facts
        for part, value in (
            ("price", ware.cents / 100 + rng.choice([0.01, -0.01, 40])),
            ("rating", ware.tenths - 5),
            ("reviews", ware.said + 1),
            ("name", f"No {rng.random()}"),
        ):
            if rng.random() < 0.2:
                mine = ProductFacts(**{**mine.__dict__, part: value})
                wrong.setdefault("title" if part == "name" else part, {})[ware.key] = value
        rows += [figure_row(mine, ware.truth)] * rng.randint(1, 3)
    lines = {line.partition(":")[0]: line for line in differences(rows)}
    assert lines.keys() == wrong.keys()
    for part, those in wrong.items():
        assert f"{len(those)} of {len(own)} products" in lines[part]
        first = next(ware for ware in own if ware.key in those)
        there, here = those[first.key], getattr(first.truth, part)
        say = repr if part == "title" else "{:.10g}".format
        assert f"{first.key} has {say(there)} there and {say(here)} on its page" in lines[part]


def test_a_figure_that_scripts_have_drawn_anew_is_that_of_the_look() -> None:
    (ware,) = wares(random.Random(1), 1)
    session = Session(Plan(), SITE, awaited={})
    passed_on(session, f"{SHOP}{ware.key}.html", ware.page())
    spot = ElementQuery(SITE.role("product.price")[0].css)

    def looked(text: str) -> float | None:
        sight = ProductObservation(ware.key, "", PageElements({spot: (Element(text, text),)}))
        return shown_figures([ware.key], session, [sight], in_lists=False)[ware.key].shown.price

    assert looked("$12.34") == 12.34
    assert looked("Choose a size") == ware.cents / 100


def test_what_no_page_showed_is_not_known_and_the_reason_is_told() -> None:
    ware, other = wares(random.Random(2), 2)
    session = Session(Plan(), SITE, awaited={})
    body = ware.page().replace(b"of 10", b"of 100").replace(b'class="said"', b"")
    body = body.replace(b'class="now">$', b'class="now">$1 or $')
    passed_on(session, f"{SHOP}{ware.key}.html", body)
    found = shown_figures([ware.key, other.key], session, [], in_lists=False)
    assert found[other.key] == (NOT_SHOWN, NOT_SHOWN, "no page showed it")
    shown = found[ware.key].shown
    assert (shown.title, shown.price, shown.reviews) == (ware.title, None, None)
    lines = unread_notes([(each.unread, 2) for each in found.values()])
    assert [line.partition("table: ")[2][:34] for line in lines] == [
        "no page showed it",
        "price: no figure in '$1 or $" + f"{ware.cents / 100:,.2f}"[:6],
        "reviews: nothing at product.review",
    ]
