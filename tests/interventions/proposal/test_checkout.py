"""The way from the cart to the checkout: which links may be opened."""

from dataclasses import replace

import pytest
from selectolax.lexbor import LexborHTMLParser

from interventions.proposal.checkout import checkout_link, leads_elsewhere
from interventions.proposal.purchase import PurchaseRules, learn
from interventions.proposal.scan import Capture
from tests.interventions.proposal.test_purchase import PURCHASE

LINES = """<!doctype html><title>Checkout</title><main class="one-page-checkout"><ul><li class=ordered>
<a href="/p/1-lamp/">Lamp</a><input type=number class=pieces value=2><b class=cost>$79.80</b></li></ul>
<p class=due><strong>$79.80</strong></p></main>"""
CART = "https://shop.test/en/cart?step=1"


def link(html: str) -> str:
    return checkout_link(Capture(CART, f"<!doctype html><main><h1>Cart</h1>{html}</main>"))


@pytest.mark.parametrize(
    ("html", "address"),
    [
        ("<a href=/checkout>Checkout</a>", "/checkout"),
        ("<a href=/checkout/start role=button class=btn>Proceed to checkout →</a>", "/checkout/start"),
        ("<a href='/checkout?step=2#top'><svg></svg>Check out</a>", "/checkout?step=2"),
        ("<a href=/kasse>Weiter zur Kasse</a>", "/kasse"),
        ("<a href=/caisse>Passer à la caisse</a>", "/caisse"),
        ("<a href=/pedido>Tramitar pedido</a>", "/pedido"),
        ("<a href=/go aria-label=Checkout><i></i></a>", "/go"),
        ("<a href=/checkout/shipping-address>チェックアウト / レジに進む</a>", "/checkout/shipping-address"),
        ("<a href=/pay>Pay now</a> <a href=/one>Checkout</a> <a href=/two>Checkout</a>", "/one"),
    ],
)
def test_a_plain_link_to_the_checkout(html: str, address: str) -> None:
    assert link(html) == f"https://shop.test{address}"


@pytest.mark.parametrize(
    "html",
    [
        "<a href=/order>Place order</a>",
        "<a href=/order>Checkout and pay</a>",
        "<a href=/order>Checkout: place your order</a>",
        "<a href=/order title='Pay now'>Checkout</a>",
        "<a href=/buy>Buy now</a>",
        "<a href=/order>Zahlungspflichtig bestellen</a>",
        "<a href=/commande>Passer la commande</a>",
        "<a href=/paypal>PayPal Checkout</a>",
        "<a href=/checkout/express>Checkout</a>",
        "<a href=/checkout/pay>Checkout</a>",
        "<a href=/checkout onclick='go()'>Checkout</a>",
        "<a href=/checkout data-method=post>Checkout</a>",
        "<a href='javascript:go()'>Checkout</a>",
        "<a href=#>Checkout</a>",
        "<a>Checkout</a>",
        "<a href=https://pay.test/checkout>Checkout</a>",
        "<a href=http://shop.test/checkout>Checkout</a>",
        "<a href=//[>Checkout</a>",
        "<button>Checkout</button>",
        "<form action=/checkout><button>Checkout</button></form>",
        "<form action=/checkout><input type=submit value=Checkout></form>",
        "<a href=/faq>How do I get from here to the checkout, and which ways are there to pay?</a>",
        "<a href=/cart>Back to the cart</a>",
    ],
)
def test_nothing_else_is_opened(html: str) -> None:
    assert link(html) == ""


@pytest.mark.parametrize(
    ("asked", "reached", "elsewhere"),
    [
        ("/checkout", "/checkout", False),
        ("/checkout/", "/checkout?step=1", False),
        ("/checkout", "/checkout/shipping", False),
        ("/checkout", "/login?next=/checkout", True),
        ("/checkout", "/checkouts-are-closed", True),
        ("/en/checkout", "/en/cart", True),
    ],
)
def test_another_page_than_the_checkout(asked: str, reached: str, elsewhere: bool) -> None:
    assert leads_elsewhere(f"https://shop.test{asked}", f"https://shop.test{reached}") is elsewhere


def learnt(html: str) -> PurchaseRules:
    return learn(replace(PURCHASE, checkout=Capture("http://shop.test/checkout/", html)))


def places(learned: PurchaseRules) -> dict[str, list[str]]:
    return {role.role: [place.css for place in role.places] for role in learned.roles}


def test_lines_and_sums_of_the_checkout_join_those_of_the_cart() -> None:
    learned = learnt(LINES)
    assert learned.checkout_page == "main.one-page-checkout"
    assert learned.by_hand == ()
    found, alone = places(learned), places(learn(PURCHASE))
    # One place each: an edit needs the first place of a role in every line.
    assert found["row"] == [f"{alone['row'][0]}, li.ordered"]
    assert found["row.subtotal"] == [f"{alone['row.subtotal'][0]}, b.cost"]
    assert found["row.quantity"][0].startswith(f"{alone['row.quantity'][0]}")
    assert found["cart.total"] == [*alone["cart.total"], "main.one-page-checkout strong"]


def test_a_total_there_is_not_looked_for_on_other_pages() -> None:
    """A product's page has prices of the same class, which are no totals."""
    page = PURCHASE.before.html.replace(
        "<p>$39.90</p>", "<main><p class=due><strong>$39.90</strong></p></main>"
    )
    shop = Capture(PURCHASE.before.url, page)
    html = LINES.replace('<main class="one-page-checkout">', "<body id=steps><main>")
    checkout = Capture("http://shop.test/checkout/", html)
    learned = learn(replace(PURCHASE, before=shop, after=shop, elsewhere=shop, checkout=checkout))
    css = places(learned)["cart.total"][-1]
    assert css.startswith("html:has(body#steps) ")
    assert LexborHTMLParser(page).css(css) == []
    assert [node.text() for node in LexborHTMLParser(checkout.html).css(css)] == ["$79.80"]


@pytest.mark.parametrize("pieces", ["<i class=pieces>2</i>", ""])
def test_lines_of_another_form_are_left_to_a_person(pieces: str) -> None:
    """The number of pieces is a text there, or does not show: the edit would take it for one piece."""
    learned = learnt(LINES.replace("<input type=number class=pieces value=2>", pieces))
    (left,) = learned.by_hand
    assert left.startswith("http://shop.test/checkout/: its lines have another form than the cart's")
    found, alone = places(learned), places(learn(PURCHASE))
    assert {role: css for role, css in found.items() if role.startswith("row")} == {
        role: css for role, css in alone.items() if role.startswith("row")
    }
    assert found["cart.total"] == [*alone["cart.total"], "main.one-page-checkout strong"]


def test_a_page_that_nothing_tells_from_the_others_is_not_proposed() -> None:
    assert PURCHASE.second is not None
    assert learnt(PURCHASE.second.html).checkout_page == ""
    assert learn(PURCHASE).checkout_page == ""
