"""What the shop is sent of a checkout's form, and what the session knows of the order."""

import json
from urllib.parse import parse_qsl

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from interventions.apply.plan import Plan, Treatment
from interventions.edits.add_line import AddLine
from interventions.edits.checkout_option import CheckoutOption
from interventions.edits.dialog import Dialog
from interventions.edits.require_step import RequireStep
from interventions.yaml.sitemap import STAGES, SiteMap
from proxy.allow_list import AllowList
from proxy.server import Slot
from proxy.session import Session
from tests.support import serve

SITE = SiteMap.model_validate(
    {
        "name": "s",
        "pages": {
            "cart": {"css": "body.cart"},
            "checkout": {"css": "body.pay"},
            "order": {"css": "body.done"},
        },
        "roles": {
            **{f"{stage}.due": [{"css": ".due"}] for stage in STAGES},
            **{f"{stage}.due_line": [{"css": ".last"}] for stage in STAGES},
            "checkout.place": [{"css": "button"}],
            "page.body": [{"css": "body"}],
        },
        "order": {"place": "/place", "placed": "/done"},
    }
)
WRAP = CheckoutOption(label="Gift wrap", price="4.50", ticked=True)
NEWS = CheckoutOption(label="News by mail")
PLAN = Plan((Treatment("made", None, (WRAP, NEWS)),))
PAGE = '<!doctype html><body class="{}"><p class="last">Due <b class="due">$20.00</b></p><button>Buy</button>'
FETCHES = {"sec-fetch-dest": "empty"}
BROWSES = {"sec-fetch-dest": "document", "accept": "text/html"}


class Shop:
    def __init__(self) -> None:
        self.forms: list[list[tuple[str, str]]] = []

    async def place(self, request: Request) -> Response:
        self.forms.append(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        return RedirectResponse("/done", 303)

    def app(self) -> Starlette:
        def page(kind: str) -> Route:
            return Route("/" + kind, lambda _: HTMLResponse(PAGE.format(kind)))

        return Starlette(
            routes=[page("cart"), page("pay"), page("done"), Route("/place", self.place, methods=["POST"])]
        )


@pytest.mark.parametrize("fields, due", [({"gift_wrap": "1"}, "$24.50"), ({"news_by_mail": "1"}, "$20.00")])
async def test_the_shop_is_sent_its_own_fields_and_the_order_shows_what_was_ticked(
    slot: Slot, client: httpx.AsyncClient, fields: dict[str, str], due: str
) -> None:
    shop = Shop()
    async with serve(shop.app()) as url:
        session = slot.session = Session(PLAN, SITE, AllowList.of(url))
        assert "$24.50" in (await client.get(f"{url}pay", headers=BROWSES)).text
        sent = [("name", "Kim"), *fields.items(), ("tag", "a"), ("tag", "b")]
        await client.post(f"{url}place", content=str(httpx.QueryParams(sent)), headers=BROWSES | FORM)
        done = await client.get(f"{url}done", headers=BROWSES)
    assert shop.forms == [[("name", "Kim"), ("tag", "a"), ("tag", "b")]]
    assert due in done.text
    assert session.order is not None and session.order.body == done.content
    assert not session.failures


async def test_an_order_whose_form_cannot_be_read_fails_the_trial(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    async with serve(Shop().app()) as url:
        session = slot.session = Session(PLAN, SITE, AllowList.of(url))
        await client.post(f"{url}place", files={"gift_wrap": (None, "1")}, headers=BROWSES)
    (failure,) = session.failures
    assert "what was ticked cannot be read" in failure


async def test_a_box_that_was_ticked_stays_so_when_the_page_is_loaded_again(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    async with serve(Shop().app()) as url:
        session = slot.session = Session(PLAN, SITE, AllowList.of(url))
        for fields in ({"gift_wrap": ""}, {"news_by_mail": "1"}):
            assert (await client.post(f"{url}pay", data=fields, headers=FETCHES)).status_code == 204
        page = (await client.get(f"{url}pay", headers=BROWSES)).text
    assert '<input type="checkbox" name="gift_wrap" value="1">' in page
    assert '<input type="checkbox" name="news_by_mail" value="1" checked>' in page
    assert "$20.00" in page and session.order is None


async def test_a_dialog_is_answered_once_and_one_that_nags_as_often_as_it_says(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    asks = Dialog(text="Protect it?", accept="Yes", decline="No", again=1, line="Protection", price="4.50")
    async with serve(Shop().app()) as url:
        slot.session = Session(Plan((Treatment("made", None, (asks,)),)), SITE, AllowList.of(url))
        for answer, is_there in (("decline", True), ("decline", True), ("decline", False)):
            page = (await client.get(f"{url}pay", headers=BROWSES)).text
            assert ('role="dialog"' in page) == is_there
            back = await client.post(f"{url}pay", data={"protect_it": answer}, headers=BROWSES)
            assert (back.status_code, back.headers["location"]) == (303, "/pay")
        assert "Protection" not in (await client.get(f"{url}done", headers=BROWSES)).text
        slot.session.plan = Plan((Treatment("made", None, (asks,)),))
        await client.post(f"{url}pay", data={"protect_it": "accept"}, headers=BROWSES)
        for path in ("pay", "done"):
            page = (await client.get(f"{url}{path}", headers=BROWSES)).text
            assert "Protection" in page and "$24.50" in page and 'role="dialog"' not in page


GIVEN, BLANK = {"leave_your_number": "555 0199"}, {"leave_your_number": " "}
SKIPPED = {"leave_your_number": "555 0199", "leave_your_number_skip": "1"}


@pytest.mark.parametrize("skip_label", [None, "Skip"])
@pytest.mark.parametrize("form", [GIVEN, SKIPPED, BLANK], ids=["gives", "skips", "blank"])
async def test_a_step_is_passed_with_what_it_asks_for_which_is_not_kept(
    slot: Slot, client: httpx.AsyncClient, skip_label: str | None, form: dict[str, str]
) -> None:
    step = RequireStep(text="Leave your number.", asks="Phone", type="tel", skip_label=skip_label)
    shop = Shop()
    async with serve(shop.app()) as url:
        session = slot.session = Session(Plan((Treatment("made", None, (step,)),)), SITE, AllowList.of(url))
        page = (await client.get(f"{url}pay", headers=BROWSES)).text
        assert 'role="dialog"' in page and ("Skip" in page) == bool(skip_label)
        back = await client.post(f"{url}pay", data=form, headers=BROWSES)
        assert (back.status_code, back.headers["location"]) == (303, "/pay")
        page = (await client.get(f"{url}pay", headers=BROWSES)).text
        skips = form is SKIPPED and skip_label is not None
        gives = form is GIVEN or (form is SKIPPED and not skips)
        assert ('role="dialog"' in page) == (not (skips or gives))
        (passed,) = session.plan.treatments[0].edits
        assert passed.outcomes(ordered=False) == {"gave": gives}
        assert "0199" not in json.dumps(session.plan.to_dict())
        await client.post(f"{url}place", data={"telephone": "555 0100"} | GIVEN, headers=BROWSES)
    assert shop.forms == [[("telephone", "555 0100")]]


@pytest.mark.parametrize("added", [True, False])
async def test_a_line_follows_the_buttons_of_the_cart_on_all_pages(
    slot: Slot, client: httpx.AsyncClient, added: bool
) -> None:
    line = AddLine(label="Gift bag", price="4.50", added=added)
    shop = Shop()
    async with serve(shop.app()) as url:
        session = slot.session = Session(Plan((Treatment("made", None, (line,)),)), SITE, AllowList.of(url))
        for button in ["", *([] if added else ["add"]), "remove"]:
            if button:
                back = await client.post(f"{url}cart", data={"gift_bag": button}, headers=BROWSES)
                assert (back.status_code, back.headers["location"]) == (303, "/cart")
            is_there = button == "add" or (added and not button)
            for path in ("cart", "pay", "done"):
                page = (await client.get(f"{url}{path}", headers=BROWSES)).text
                assert (("$24.50" if is_there else "$20.00") in page, "$24.50" in page) == (True, is_there)
                is_cart = path == "cart"
                assert ('value="remove"' in page) == (is_cart and is_there)
                assert ('value="add"' in page) == (is_cart and not is_there and not button)
                assert ("(+$4.50)" in page) == ('value="add"' in page)
                assert ("Gift bag" in page) == (is_there or (is_cart and not button))
        assert "Gift bag" not in (await client.get(f"{url}cart", headers=BROWSES)).text
        await client.post(f"{url}place", data={"name": "Kim"}, headers=BROWSES)
    assert shop.forms == [[("name", "Kim")]], "the shop is not told of the line"
    assert not session.plan.treatments[0].edits[0].is_charged
    assert not session.failures


async def test_a_session_without_such_edits_passes_the_form_as_it_is(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    shop = Shop()
    body = "b=1&a=%E4%BD%A0&a=2&gift_wrap=1"
    async with serve(shop.app()) as url:
        slot.session = Session(Plan(), SITE, AllowList.of(url))
        await client.post(f"{url}place", content=body, headers=BROWSES | FORM)
    assert shop.forms == [parse_qsl(body)]


FORM = {"content-type": "application/x-www-form-urlencoded"}
