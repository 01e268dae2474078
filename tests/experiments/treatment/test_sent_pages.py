"""What was shown is made again from what the shop sent and the plan, or the record says why it cannot be."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import http

from experiments.episodes.card_episode import in_page
from experiments.records.record import Row
from experiments.treatment.sent_pages import MadeAgain, made_again, sent_pages
from interventions.apply.engine import PlaceMemory
from interventions.apply.plan import Plan, Treatment
from interventions.cards.card import Card, NumberAnswer
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import SiteMap, load_site_map
from proxy.addon import treat
from proxy.session import Session
from tests.interventions.shop_pages import HOST, HTML, KEY, product_page

SITE = load_site_map("onestopmarket")
URL = f"{HOST}a/page.html"
NUDGE = {"insert_text": {"after": "product.title", "text": "Bought by all"}}


def planned(*edits: dict[str, object]) -> Plan:
    return Plan((Treatment("the-id", KEY, tuple(edit_from_dict(edit) for edit in edits)),))


def shown(session: Session, body: bytes, url: str = URL, kind: str = HTML) -> bytes:
    """What the proxy makes of what the shop has sent."""
    response = http.Response.make(200, body, {"content-type": kind})
    treat(http.Request.make("GET", url), response, session, PlaceMemory())
    return response.raw_content or b""


def again(session: Session) -> tuple[list[Row], list[MadeAgain]]:
    """The stored rows, and what is made of them alone."""
    rows, texts = sent_pages(session)
    assert json.loads(json.dumps([rows, texts])) == [rows, texts], "workers send them as JSON"
    return rows, [made_again(row, texts.get) for row in rows]


@pytest.mark.parametrize(
    "edits",
    [
        [NUDGE],
        [{"set_price": 5}, {"set_reviews": 1}, {"remove": "product.stock"}, NUDGE],
        [{"set_rating": 91}, {"insert_text": {"after": "product.title", "text": "ü €"}}],
    ],
)
@pytest.mark.parametrize("kind", [HTML, "text/html; charset=iso-8859-1"])
def test_what_was_shown_is_made_again(edits: list[dict[str, object]], kind: str) -> None:
    session = Session(planned(*edits), SITE)
    session.step = 2
    page = product_page().decode().encode("utf-8" if kind == HTML else "cp1252")
    page = page.replace(b"</h1>", " ä</h1>".encode("utf-8" if kind == HTML else "cp1252"))
    body = shown(session, page, kind=kind)
    ((row,), (made,)) = again(session)
    codec = "utf-8" if kind == HTML else "cp1252"
    assert made == MadeAgain(URL, page.decode(codec), body.decode(codec), "")
    assert made.sent != made.shown
    assert (row["step"], row["page_hash_after"]) == (2, session.receipts[0].page_hash_after)


def test_a_card_in_a_page_is_made_again() -> None:
    card = Card(id="wtp", look="shop", question="How much at most?", answer=NumberAnswer(unit="$"))
    session = Session(in_page(KEY, card), SITE)
    body = shown(session, product_page())
    assert [made.shown for made in again(session)[1]] == [body.decode()]


def test_data_are_made_again() -> None:
    site = SiteMap.model_validate(
        {
            "name": "x",
            "data": [
                {"url": "/api/*", "items": "$[*]", "link": "$.url", "roles": {"price": {"path": "$.price"}}}
            ],
        }
    )
    session = Session(planned({"set_price": 5}), site)
    data = json.dumps([{"url": f"{HOST}{KEY}.html", "price": 19.99}]).encode()
    body = shown(session, data, f"{HOST}api/products", "application/json")
    assert body != data
    assert [(made.sent, made.shown) for made in again(session)[1]] == [(data.decode(), body.decode())]


def test_a_page_without_an_edit_is_not_kept() -> None:
    session = Session(planned(NUDGE), SITE)
    shown(session, b"<html><h1>About us</h1></html>", f"{HOST}about")
    assert again(session) == ([], [])


def test_a_page_that_cannot_be_made_again_says_so() -> None:
    session = Session(planned(NUDGE), SITE)
    shown(session, product_page())
    (row,), texts = sent_pages(session)
    other = {**row, "page_hash_after": "0" * 32}
    assert made_again(other, texts.get).problem == "this version of Souk makes another page of it"
    assert made_again(other, texts.get).sent == product_page().decode()
    lost = made_again(row, {**texts, row["body"]: None}.get)
    assert (lost.sent, lost.shown) == (None, None)
    assert lost.problem == "a part of it was lost; souk db check says more"
    told = json.loads(texts[row["given"]])
    told["plan"]["treatments"][0]["edits"] = [{"edit_of_tomorrow": {}}]
    later = made_again(row, {**texts, row["given"]: json.dumps(told)}.get)
    assert later.problem == "this version of Souk cannot read what was planned"
    without = made_again(row, {**texts, row["body"]: "<html></html>"}.get)
    assert without.shown is None
    assert without.problem


@given(st.text(), st.text())
def test_whatever_is_stored_raises_nothing(given: str, site: str) -> None:
    session = Session(planned(NUDGE), SITE)
    shown(session, product_page())
    (row,), texts = sent_pages(session)
    for name, text in (("given", given), ("site", site)):
        assert made_again(row, {**texts, row[name]: text}.get).shown is None


def test_what_comes_after_the_end_is_not_kept() -> None:
    session = Session(planned(NUDGE), SITE)
    shown(session, product_page())
    session.end()
    shown(replace(session), product_page())
    assert session.sent == []
