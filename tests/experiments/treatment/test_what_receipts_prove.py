"""What receipts, sights and looks prove of a page, without a browser."""

from dataclasses import replace
from typing import Any

import pytest

from experiments.designs.shop.listing import ShowOnly
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import unchecked, untreated
from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.in_browser import Element, ElementQuery, InsertedElement, PageElements
from interventions.edits.insert_text import InsertText
from interventions.edits.show_rating_text import ShowRatingText
from interventions.html.source_page import ParsedPage
from interventions.yaml.sitemap import load_site_map
from proxy.session import Session
from proxy.shown_page import ShownPage
from tests.experiments.foreign_shop import NUDGE
from tests.interventions.shop_pages import HOST, HTML, KEY, card, category_page, product_page

SITE = load_site_map("onestopmarket")
UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
NUDGED = Treatment("praised", KEY, (InsertText(after="product.title", text=NUDGE),))
EVERYWHERE = Treatment("show-rating", None, (ShowRatingText(),))


def passed_on(plan: Plan, *answers: tuple[str, bytes], treat: bool = True) -> Session:
    """A session that has passed these pages on."""
    session = Session(plan, SITE)
    for path, body in answers:
        done = rewrite(body, content_type=HTML, url=HOST + path, plan=plan, site=SITE)
        session.note_receipts(done.receipts if treat else ())
        session.note_page(ShownPage(HOST + path, HTML, done.body if treat else body, done.product))
    return session


@pytest.fixture
def session() -> Session:
    """One that has passed on a product's page with a nudge."""
    return passed_on(Plan((NUDGED,)), (f"{KEY}.html", product_page()))


def test_a_page_is_parsed_once_however_many_look_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan((NUDGED,))
    session = passed_on(plan, ("category.html", category_page(card(KEY, 1))), (f"{KEY}.html", product_page()))
    parsed: list[str] = []
    read = ParsedPage.__init__

    def counted(page: ParsedPage, *arguments: Any, **options: Any) -> None:
        read(page, *arguments, **options)
        parsed.append(page.url)

    monkeypatch.setattr(ParsedPage, "__init__", counted)
    untreated(sights_of(session), session, [KEY])
    assert [page.sightings(SITE) != [] for page in session.pages] == [True, True]
    untreated(sights_of(session), session, [KEY])
    assert sorted(parsed) == sorted(page.url for page in session.pages)


def sights_of(session: Session) -> list[ProductObservation]:
    return [ProductObservation(page.product, page.text) for page in session.pages if page.product]


@pytest.mark.parametrize("planned", [NUDGED, EVERYWHERE])
def test_a_product_page_needs_a_receipt_of_each_edit(planned: Treatment) -> None:
    plan, answer = Plan((planned,)), (f"{KEY}.html", product_page())
    treated, not_treated = passed_on(plan, answer), passed_on(plan, answer, treat=False)
    assert untreated(sights_of(treated), treated, [KEY]) == ""
    reason = untreated(sights_of(not_treated), not_treated, [KEY])
    assert f"has no receipt for {KEY}" in reason
    # A page that was not opened needs none, unless its product was chosen.
    empty = Session(plan, SITE)
    assert untreated([], empty, [KEY]) == ""
    assert "has no receipt" in untreated([], empty, [KEY], chosen=KEY)


def test_where_only_the_html_is_known_the_text_is_looked_for_in_it(session: Session) -> None:
    shown = session.pages[0].text
    assert untreated([ProductObservation(KEY, shown)], session, [KEY]) == ""
    for html in (shown.replace(NUDGE, ""), shown.replace(NUDGE, f"Not{NUDGE}")):
        assert "was not shown" in untreated([ProductObservation(KEY, html)], session, [KEY])
    assert [effect.edit for effect in unchecked([ProductObservation(KEY, shown)], session)] == ["insert_text"]


def stood(given: str) -> PageElements:
    """The nudge below the title, and what of it the reader was given."""
    (place, *_) = SITE.role("product.title")
    title = Element("Oat Cookies", "Oat Cookies", (InsertedElement("after", NUDGE, given),))
    return PageElements({ElementQuery(place.css, place.attribute): (title,)})


def test_one_look_that_was_given_the_text_is_enough(session: Session) -> None:
    for given, shown in (((NUDGE, ""), True), (("", NUDGE), True), (("", ""), False)):
        looks = [ProductObservation(KEY, "", stood(each)) for each in given]
        assert (untreated(looks, session, [KEY]) == "") is shown


def test_what_stood_there_before_an_observation_and_after_it_both_count(session: Session) -> None:
    for before, after in ((NUDGE, NUDGE), (NUDGE, ""), ("", NUDGE)):
        looks = [ProductObservation(KEY, "", stood(after), before=stood(before))]
        assert (untreated(looks, session, [KEY]) == "") is bool(before and after)
    gone = replace(stood(NUDGE), found={spot: () for spot in stood(NUDGE).found})
    for before, after in ((gone, stood(NUDGE)), (stood(NUDGE), gone)):
        assert "is gone" in untreated([ProductObservation(KEY, "", after, before=before)], session, [KEY])


def test_what_one_look_could_not_check_is_on_record(session: Session) -> None:
    looked, blind = ProductObservation(KEY, "", stood(NUDGE)), ProductObservation(KEY, NUDGE)
    assert unchecked([looked], session) == []
    for looks in ([looked, blind], [blind, looked]):
        assert [effect.edit for effect in unchecked(looks, session)] == ["insert_text"]
    in_data = replace(session.receipts[0], edit="set_price", role="data.price")
    session.note_receipts((in_data,))
    assert unchecked([looked], session) == [], "nobody reads data but the page's scripts"


def test_what_nobody_sees_is_left_out_of_html_too(session: Session) -> None:
    shown = session.pages[0].text
    for between in (UNSEEN, "&shy;", "&#8203;", "&ZeroWidthSpace;", "&NoBreak;", "&zwnj;"):
        sprinkled = shown.replace(NUDGE, between.join(NUDGE))
        assert untreated([ProductObservation(KEY, sprinkled)], session, [KEY]) == ""
        changed = shown.replace(NUDGE, between.join(f"{NUDGE[:-1]}s"))
        assert "was not shown" in untreated([ProductObservation(KEY, changed)], session, [KEY])


def test_a_card_needs_a_receipt_of_what_is_planned_for_it() -> None:
    plan = Plan((NUDGED,))
    answer = ("cookies.html", category_page(card(KEY, 1), card("rye-crackers", 2)))
    treated, not_treated = passed_on(plan, answer), passed_on(plan, answer, treat=False)
    assert untreated([], treated, [KEY]) == ""
    assert f"has no receipt for {KEY} on {HOST}cookies.html" in untreated([], not_treated, [KEY])
    assert [effect.page_type for effect in unchecked([], treated)] == ["listing"]


def test_only_a_list_of_the_choice_set_proves_that_it_was_listed() -> None:
    plan = Plan((Treatment("show-only", None, (ShowOnly(keys=(KEY,)),), ("listing",)),))
    listed = passed_on(plan, ("cookies.html", category_page(card(KEY, 1), card("rye-crackers", 2))))
    assert untreated([], listed, [KEY]) == ""
    others = passed_on(
        plan, ("crackers.html", category_page(card("rye-crackers", 2), card("oat-crackers", 3)))
    )
    assert [receipt.edit for receipt in others.receipts] == ["show_only"]
    assert untreated([], others, [KEY]) == "show-only: no page has listed the choice set"
