"""Which product was chosen, as what puts it into the cart tells."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from environments.episode import TabObservation
from environments.observation.stops import Stop
from environments.protocol.observation import Observation, Tab
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.choice import ChosenProduct, chosen, named
from experiments.treatment.treatment_check import squeeze
from interventions.apply.plan import Plan
from interventions.yaml.choice import PRODUCT, Message
from interventions.yaml.sitemap import load_site_map
from proxy.session import CartAddition, Session
from tests.support import STOPS

SHOP = "http://shop.test/"
SITE = load_site_map("onestopmarket")


@pytest.fixture(scope="module")
def trial() -> ShopTrial:
    return next(ShopDesign(experiment_source("listing")).trials(["simulated:balanced"]))


def look(path: str, said: str, stop: Stop = STOPS[0]) -> TabObservation:
    tab = Tab("", f"{SHOP}{path}", True)
    return TabObservation(Observation("", f'<div role="alert">{said}', (tab,)), tab.url, stop)


def in_cart(seen: TabObservation, trial: ShopTrial, *added: CartAddition) -> str:
    """The product that was chosen: its key, or in quotes what was seen of it."""
    product, other = chosen(trial, Session(Plan(), SITE, added=list(added)), seen)
    return product or other.partition(", ")[0]


def test_on_its_own_page_a_product_is_known_by_the_address(trial: ShopTrial) -> None:
    key = trial.products[1].key
    assert in_cart(look(f"{key}.html?a=b", "You added it to your cart"), trial) == key
    assert in_cart(look(f"{key}.html?a=b", "Nothing is said"), trial) == key


def test_from_a_list_a_product_is_known_by_its_name(trial: ShopTrial) -> None:
    one, other = trial.products
    both = replace(trial, products=(replace(one, name="Oat & Rye"), replace(other, name='Oat & Rye, 8" tin')))
    said = "You  added Oat &amp; Rye, 8&quot; tin to your\n <a>cart</a>"
    assert in_cart(look("cookies.html", said), both) == other.key
    assert in_cart(look("cookies.html", "You added Oat &amp; Rye to your cart"), both) == one.key


def test_what_the_shop_says_outweighs_the_page(trial: ShopTrial) -> None:
    one, other = trial.products
    both = replace(
        trial, products=(replace(one, name="Oat Cookies"), replace(other, name="Oat Cookies to Go"))
    )
    for said, choice in {
        "You added Oat Cookies to Go to your cart": other.key,
        "you added oat cookies to go to your cart": other.key,
        "You added Oat Cookies to your cart": one.key,
        "You added Oat Cookies.": one.key,
        "You added Oat Cookies Large to your cart": "'Oat Cookies Large'",
        "You added Oat Cookies, Large to your cart": "'Oat Cookies",
        "You added Oat Cookies Large": "'Oat Cookies Large'",
        "You added Oat Cookies to your cart</div><div>You added Rye to your cart": "'Rye'",
        "You added this product to your cart": "page",
        "You added 1 item to your cart": "page",
    }.items():
        assert in_cart(look("page.html", said), both) == choice, said


def test_the_message_is_read_where_the_stop_condition_was_met(trial: ShopTrial) -> None:
    """It may be out of view, and another text of the page may say the same."""
    one, other = trial.products
    seen = look("cookies.html", f"Customers say: You added {other.name} to your cart")
    said = replace(seen, said=f"You added {one.name} to your cart.")
    assert in_cart(said, trial) == one.key


def test_request_then_cart_then_message_then_page(trial: ShopTrial) -> None:
    one, other = trial.products
    seen = look(f"{other.key}.html", f"You added {other.name} to your cart")
    asked, shown = CartAddition("request", one.key, "17"), CartAddition("cart", one.key)
    unknown = CartAddition("request", "", "17", other.key)
    assert in_cart(seen, trial, shown, asked) == one.key
    assert in_cart(seen, trial, CartAddition("cart", other.key), asked) == one.key
    assert in_cart(seen, trial, shown) == one.key
    assert in_cart(seen, trial, unknown, shown) == one.key
    assert in_cart(seen, trial, unknown) == other.key, "the message"
    silent = replace(look(f"{one.key}.html", ""), stop=None)
    assert in_cart(silent, trial, unknown) == other.key, "the page of the request"
    assert in_cart(silent, trial, CartAddition("request", "", "17")) == "the id '17'"
    assert in_cart(silent, trial, CartAddition("address", other.key, "18")) == other.key


def test_a_product_outside_of_the_choice_set_is_never_taken_for_one_of_it(trial: ShopTrial) -> None:
    seen = look(f"{trial.products[0].key}.html", "")
    assert in_cart(seen, trial, CartAddition("request", "red-lamp", "3")) == "red-lamp"
    assert in_cart(replace(seen, stop=None), trial, CartAddition("request", "", "3")) == "the id '3'"


def message(says: str) -> Message:
    return Message(css="p", says=says)


@pytest.mark.parametrize(
    ("says", "text", "found"),
    [
        (
            "${product} wurde in den Warenkorb gelegt",
            "✓ Harbour Desk Lamp wurde in den Warenkorb gelegt.",
            "a",
        ),
        ("${product} wurde in den Warenkorb gelegt", "Red Lamp wurde in den Warenkorb gelegt.", "'Red Lamp'"),
        ("Ajouté : ${product}", "AJOUTÉ : Harbour Desk Lamp !", "a"),
        ("Added to basket", "Added to basket: Harbour Desk Lamp Deluxe", ""),
        ("Added to basket", "Added to basket", ""),
        ("You added ${product} to your", "Your cart is empty", ""),
    ],
)
def test_shops_say_it_in_other_words(says: str, text: str, found: str) -> None:
    told = named(text, message(says), [("Harbour Desk Lamp", "a"), ("Oak Chair", "b")])
    assert (told.product or told.seen.partition(", ")[0] if told else "") == found


WORDS = ("a", "Oat", "to", "your", "cart", "in the", "(2)", "+", '8"', "A.B", "&", "ß", "İ", "$1", "\\d")
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique_by=str.casefold),
    says=st.sampled_from(["You added ${product} to your cart", "${product} in the cart", "Added ${product}"]),
    which=st.integers(0, 3),
)
def test_whatever_products_are_called_the_message_names_the_right_one(
    names: list[str], says: str, which: int
) -> None:
    """Of two products whose names fit the same text, nobody could tell which one is meant."""
    mine = names[which % len(names)]
    text = squeeze(says.replace(PRODUCT, mine))
    rivals = [name for name in names if name != mine and name.casefold().strip(" .!") in text.casefold()]
    assume(not any(len(rival) > len(mine) for rival in rivals))
    told = named(text, message(says), sorted(((n, n) for n in names), key=lambda n: len(n[0]), reverse=True))
    assert told == ChosenProduct(mine)


def test_a_rule_without_words_beside_the_product_is_refused() -> None:
    for says in ("${product}", " ${product} ", "${product} and ${product}"):
        with pytest.raises(ValueError, match=r"\$\{product\}"):
            message(says)
