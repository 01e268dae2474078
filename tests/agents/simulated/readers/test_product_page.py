import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.simulated.readers.product_page import read_product_page
from environments.protocol.shown_product import ShownProduct

PAGE = """
<a bid="1" href="/">Limited Edition</a> <a bid="2"><span>My Cart</span> <span>$99.00</span></a>
<h1 class="page-title"><span itemprop="name">Quiet Harbor  Oat Cookies</span></h1>
<h2>This product is a Best Seller!</h2>
<span>Rating:</span> <div class="rating-result" title="76%"><span>76% of 100</span></div>
<span>Rating: 76%</span>
<a bid="31" href="/q.html#reviews"><span>1,212</span>&nbsp;<span>Reviews</span></a>
<span class="price">$1,019.99</span> <span class="old">$2,000.00</span>
<button bid="55" title="Add to Cart"><span>Add
 to Cart</span></button> <p>Details</p>
"""


SHOP = '<h1>Harbour Lights Ltd</h1><h2>Desk Lamp</h2> $19.99 <button bid="3">Add to Cart</button>'


@pytest.mark.parametrize(
    ("html", "told", "facts"),
    [
        (PAGE, None, ("Quiet Harbor Oat Cookies", 1019.99, 76.0, 1212, "55")),
        ("<h1>Lamp</h1>Be the first to review<a bid=3>Add to Cart</a>", None, ("Lamp", None, None, 0, "3")),
        (
            "<h1>Lamp</h1> 1 Review <input bid=4 type=submit value='Add to Cart'>",
            None,
            ("Lamp", None, None, 1, "4"),
        ),
        ("<h1>Bad gateway</h1><p>No page.</p>", None, ("Bad gateway", None, None, 0, None)),
        (SHOP, None, ("Harbour Lights Ltd", 19.99, None, 0, "3")),
        # What the map tells comes before the first heading, and before any label.
        (SHOP, ShownProduct(name="Desk Lamp"), ("Desk Lamp", 19.99, None, 0, "3")),
        (
            f"{SHOP}<button bid=4>Yes</button>",
            ShownProduct(add_to_cart="4"),
            ("Harbour Lights Ltd", 19.99, None, 0, "4"),
        ),
    ],
)
def test_reads_what_a_person_would(html: str, told: ShownProduct | None, facts: tuple[object, ...]) -> None:
    page = read_product_page(html, told)
    assert (page.title, page.price, page.rating, page.reviews, page.add_to_cart) == facts


def test_the_text_is_all_that_is_visible() -> None:
    text = read_product_page(PAGE).text
    assert text.startswith("limited edition my cart")
    assert text.endswith("details")


@pytest.mark.parametrize(
    "control",
    [
        '<button bid="4">In den Warenkorb</button>',
        '<button bid="4">Buy now</button>',
        '<button bid="4"><svg></svg> カートに入れる</button>',
        '<input bid="4" type="submit" value="Ajouter au panier">',
        '<a bid="4" href="#" role="button">أضف إلى السلة</a>',
    ],
)
def test_the_button_is_known_by_its_label_in_many_languages(control: str) -> None:
    others = '<a bid="1" href="/cart">My cart</a> <button bid="2">Checkout</button>'
    assert read_product_page(f"<h1>Lamp</h1> {others} {control}").add_to_cart == "4"
    assert read_product_page(f"<h1>Lamp</h1> {others}").add_to_cart is None


def test_options_are_grouped_by_name_and_end_at_the_button() -> None:
    page = read_product_page(
        '<h1>Lamp</h1> Color <input type="radio" bid="6" name="o[1]"> Red'
        ' <input type="radio" bid="7" name="o[1]"> Blue'
        ' Size <input type="radio" bid="8" name="o[2]"> S <button bid="9">Add to Cart</button>'
        ' Your rating <input type="radio" bid="10" name="ratings[4]">'
    )
    assert page.options == (("6", "7"), ("8",))


@given(st.text())
def test_any_text_can_be_read(html: str) -> None:
    read_product_page(html)


def test_absurdly_long_numbers_do_no_harm() -> None:
    page = read_product_page(f"<h1>Lamp</h1> ${'9' * 9000} Rating: {'9' * 9000}% {'9' * 9000} Reviews")
    assert page.rating is None
    assert page.reviews < 10**15


@given(st.integers(0, 10**12), st.integers(0, 100), st.integers(0, 10**9))
def test_displayed_numbers_come_back(cents: int, rating: int, reviews: int) -> None:
    html = f"<h1>Lamp</h1> <b>${cents / 100:,.2f}</b> Rating: {rating}% {reviews:,} Reviews"
    page = read_product_page(html)
    assert (page.price, page.rating, page.reviews) == (float(f"{cents / 100:.2f}"), rating, reviews)
