"""Lines that are added to an order, on pages of several shops and in several formats."""

import re
from decimal import Decimal

import pytest
from bs4 import BeautifulSoup
from pydantic import ValidationError

from interventions.apply.consistency import disagreements, figures_on
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.mapped_page import MappedPage
from interventions.apply.plan import Plan, Treatment, compile_treatment
from interventions.apply.sums import sums_on_page
from interventions.edits.base import Edit
from interventions.edits.checkout_option import CheckoutOption
from interventions.edits.dialog import Dialog
from interventions.edits.fee import Fee
from interventions.edits.order_total import OrderTotal
from interventions.edits.require_step import RequireStep
from interventions.files.schema import Intervention, load_interventions
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap, load_site_map

SITE = SiteMap.model_validate(
    {
        "name": "s",
        "pages": {
            "cart": {"css": "body.cart"},
            "checkout": {"css": "body.pay"},
            "order": {"css": "body.done"},
        },
        "roles": {
            "cart.total": [{"css": ".due"}],
            **{f"{stage}.due": [{"css": ".due"}] for stage in ("cart", "checkout", "order")},
            **{f"{stage}.due_line": [{"css": ".last"}] for stage in ("cart", "checkout", "order")},
            "checkout.place": [{"css": "button"}],
            "page.body": [{"css": "body"}],
        },
    }
)
ROWS = '<tr><th>Sum</th><td>{0}</td></tr><tr class="last"><th>Due</th><td class="due">{0}</td></tr>'
TABLE = f"<table><tbody>{ROWS}</tbody></table>"
LIST = '<ul><li>Sum <b>{0}</b></li><li class="last">Due <span class="due">{0}</span></li></ul>'
OPTION = CheckoutOption(label="Gift wrap for all of it", price=Decimal("4.5"), ticked=True)
DUES = {"$19.99": "$24.49", "19,99 €": "24,49 €", "1.234,50 €": "1.239,00 €", "$999.90": "$1,004.40"}


def shown(kind: str, edit: Edit | Treatment, layout: str = TABLE, amount: str = "$19.99") -> Rewrite:
    lang = "de" if "€" in amount else "en"
    form = "<form><p><button>Buy</button></p></form>"
    body = f'<!doctype html><html lang="{lang}"><body class="{kind}">{layout.format(amount)}{form}'
    plan = Plan((edit if isinstance(edit, Treatment) else Treatment("made", None, (edit,)),))
    return rewrite(
        body.encode(), content_type="text/html; charset=utf-8", url="http://s.test/", plan=plan, site=SITE
    )


PATTERNS = load_interventions("checkout", load_site_map("embedded")).interventions


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.id)
def test_no_page_names_its_pattern(pattern: Intervention) -> None:
    treatment = compile_treatment(pattern, None)
    pages = [shown(kind, treatment).body.lower() for kind in ("cart", "pay", "done")]
    words = treatment.edits[-1].words().lower().encode()
    names = {pattern.id, *((pattern.family, pattern.gray, pattern.mathur) if pattern.control else ())}
    assert any(words in page for page in pages)
    assert not [name for name in names if any(name.lower().encode() in page for page in pages)]


@pytest.mark.parametrize("layout", [TABLE, LIST])
@pytest.mark.parametrize("amount", list(DUES))
def test_a_line_and_the_sum_have_the_format_of_the_page(layout: str, amount: str) -> None:
    page = BeautifulSoup(shown("done", OPTION, layout, amount).body, "html.parser")
    last = page.select_one(".last")
    before = last.find_previous_sibling()
    assert re.sub(r"\s", " ", page.select_one(".due").get_text()) == DUES[amount]
    assert "Gift wrap for all of it" in before.get_text()
    assert ("4,50" if "€" in amount else "4.50") in before.get_text()
    assert before.name == ("tr" if layout is TABLE else "div")


def test_a_line_keeps_the_spaces_within_amounts_and_its_sum_is_read() -> None:
    """With other spaces `1 234,50` would be read as 234.50, beside a text that ends with a figure."""
    fee = Fee(label="Install", amount=Decimal("1234.5"))
    body = shown("cart", fee, TABLE, "1\u202f299,00\xa0€").body
    assert "1\u202f234,50\xa0€" in BeautifulSoup(body, "html.parser").get_text()
    page = Page(body, "text/html; charset=utf-8", Marks(frozenset()), "http://s.test/cart")
    (total,) = sums_on_page(MappedPage(page, SITE)).totals
    assert (total.value, total.beside) == (Decimal("2533.50"), Decimal("2533.50"))


@pytest.mark.parametrize(
    "start, pages", [("cart", {"cart", "pay", "done"}), ("checkout", {"pay", "done"}), ("order", {"done"})]
)
def test_a_fee_stands_on_its_first_page_and_on_all_that_follow(start: str, pages: set[str]) -> None:
    fee = Fee(label="Service fee", percent=Decimal(10), start=start)
    seen = {kind for kind in ("cart", "pay", "done", "elsewhere") if b"$2.00" in shown(kind, fee).body}
    assert seen == pages


def test_a_sent_form_decides_and_an_unknown_field_does_not() -> None:
    plan = Plan((Treatment("made", None, (OPTION,)),))
    assert plan.fields == {"gift_wrap_for_all_of_it"}
    assert plan.sent({"email": "x"}) == plan
    left = plan.sent({"gift_wrap_for_all_of_it": ""})
    ((edit,),) = (treatment.edits for treatment in left.treatments)
    assert not edit.gets and left.sent({"gift_wrap_for_all_of_it": "1"}) == plan
    assert b"Gift wrap" not in shown("done", edit).body
    again = BeautifulSoup(shown("pay", edit).body, "html.parser")
    assert not again.select_one("input[type=checkbox]").has_attr("checked")
    assert again.select_one("[data-charge]").has_attr("hidden")


def test_what_the_box_does_follows_from_its_words_and_not_from_the_tick() -> None:
    trick = OPTION.model_copy(update={"means": "opt_out"})
    assert not trick.gets and trick.sent({trick.name: ""}).gets


def test_what_was_refused_in_one_tab_can_be_accepted_in_another_and_stays_so() -> None:
    asked = Dialog(text="Cover it?", accept="Yes", decline="No", line="Cover", price="3")
    no, yes = {asked.name: "decline"}, {asked.name: "accept"}
    assert asked.sent(no).sent(no).answers == ("decline",)
    assert asked.sent(no).sent(yes).is_charged
    assert asked.sent(yes).sent(no).answers == ("accept",)
    step = RequireStep(text="Your phone please.", asks="Phone", skip_label="Skip")
    skip, give = {step.skip: "1"}, {step.name: "5550199"}
    assert [step.sent(one).sent(two).answer for one, two in ((skip, give), (give, skip), (skip, skip))] == [
        "gave",
        "gave",
        "skipped",
    ]


@pytest.mark.parametrize("kind", ["cart", "pay", "done"])
def test_a_page_without_a_sum_is_not_shown(kind: str) -> None:
    fee = Fee(label="Service fee", amount=Decimal(1))
    with pytest.raises(EditFailed, match="nothing on the page matches"):
        shown(kind, fee, "<p>Nothing to pay</p>")
    with pytest.raises(EditFailed, match="does not hold exactly one figure"):
        shown(kind, fee, LIST, "free")


def figures(kind: str, edit: Edit | None) -> list:
    plain = shown("elsewhere", OPTION, TABLE).body.replace(b"elsewhere", kind.encode())
    made = shown(kind, edit) if edit else None
    page, sent = (
        Page(each, "text/html", Marks(frozenset()), f"http://s.test/{kind}")
        for each in (made.body if made else plain, plain)
    )
    return figures_on(page, sent, SITE, 0, made.drift if made else Decimal(0))


DRIFTS = {"factor": "$23.99", "add": "$21.49"}


@pytest.mark.parametrize("start", ["cart", "checkout", "order"])
@pytest.mark.parametrize("by", [{"factor": "1.2"}, {"add": "1.5"}], ids=lambda by: next(iter(by)))
def test_a_total_drifts_from_its_page_on_and_no_line_says_so(start: str, by: dict[str, str]) -> None:
    edit, (name, _) = OrderTotal(start=start, **by), *by.items()
    for number, kind in enumerate(("cart", "pay", "done")):
        made = shown(kind, edit)
        page = BeautifulSoup(made.body, "html.parser")
        is_made = number >= ("cart", "checkout", "order").index(start)
        assert [cell.get_text() for cell in page.select("td")] == [
            "$19.99",
            DRIFTS[name] if is_made else "$19.99",
        ]
        receipts = [(each.before, each.after) for each in made.receipts]
        assert receipts == ([("$19.99", DRIFTS[name])] if is_made else [])


@pytest.mark.parametrize("by", [{}, {"factor": 1.2, "add": 1}, {"factor": 1}, {"factor": 11}, {"add": -1}])
def test_a_drift_has_one_figure_in_its_bounds(by: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        OrderTotal(**by)


def test_a_share_is_of_what_the_order_comes_to_without_the_drift() -> None:
    drift, fee = OrderTotal(factor="1.5"), Fee(label="Service fee", percent=Decimal(10))
    for edits in ((drift, fee), (fee, drift)):
        body = shown("done", Treatment("made", None, edits)).body
        assert b"$2.00" in body and b"$31.99" in body  # 19.99 + 2.00 + 10.00


def test_a_total_that_drifts_as_planned_agrees_and_one_that_drifts_otherwise_does_not() -> None:
    drift = OrderTotal(factor="1.2")
    assert not disagreements([*figures("cart", None), *figures("pay", drift)])
    made, plain = shown("pay", drift), shown("elsewhere", OPTION).body.replace(b"elsewhere", b"pay")
    wrong = made.body.replace(b"$23.99", b"$24.99")
    pages = [Page(each, "text/html", Marks(frozenset()), "http://s.test/pay") for each in (wrong, plain)]
    assert disagreements([*figures("cart", None), *figures_on(*pages, SITE, 0, made.drift)])


def test_sums_with_an_added_line_agree_and_one_that_forgot_it_does_not() -> None:
    fee = Fee(label="Service fee", amount=Decimal(3))
    assert not disagreements([*figures("cart", fee), *figures("pay", fee)])
    wrong = shown("pay", fee).body.replace(b"$22.99", b"$25.99")
    sent = shown("elsewhere", OPTION).body.replace(b"elsewhere", b"pay")
    pages = (Page(each, "text/html", Marks(frozenset()), "http://s.test/pay") for each in (wrong, sent))
    assert disagreements([*figures("cart", fee), *figures_on(*pages, SITE, 0)])
