"""Factorial: the six products, conditions, and products that people bring."""

from collections import Counter
from pathlib import Path

import pytest

from environments.shop.catalogue import generate
from interventions.errors import UserError
from tests.experiments.designs.cards.make import AGENT, made, shipped, trials

PRICES = [49.99, 57.31, 59.99, 64.99, 42.49, 44.65]
OWN = "key,title,description,price,low,high\nlamp,Desk Lamp,A lamp.,25,5,80\n"


def test_every_product_in_every_condition() -> None:
    asked = shipped("wtp")
    cells = Counter((trial.item, trial.condition) for trial in asked)
    assert len(cells) == 18
    assert set(cells.values()) == {100}
    assert list(dict.fromkeys(trial.reference for trial in asked)) == PRICES
    for trial in asked:
        assert trial.set == trial.page
        assert trial.low and trial.reference and trial.high
        assert trial.low < trial.reference < trial.high
        assert not trial.options
        assert trial.temperature == 1


@pytest.mark.slow
def test_the_cards_of_a_condition() -> None:
    shop = generate()
    for trial in trials("wtp", repeats=1):
        ids = [card.id for card in trial.cards]
        texts = "\n".join(card.system + card.prompt for card in trial.cards)
        product = shop.by_key[trial.page]
        assert product.name in texts
        assert f"{product.price:.2f}" not in texts
        if trial.condition == "control":
            assert ids == ["wtp-control"]
            assert "Social Security" not in texts
            assert "$15" not in texts and "$95" not in texts
        else:
            anchor = {"low": "15", "high": "95"}[trial.condition]
            assert ids == ["buy", "wtp"]
            assert f"987-65-43{anchor}" in trial.cards[0].system
            assert f"${anchor}" in trial.cards[0].prompt
        assert trial.cards[-1].answer.read("$12.50").value == 12.5


def test_conditions_and_repeats_are_chosen() -> None:
    asked = trials("wtp", conditions=["high", "control"], repeats=3)
    assert [trial.condition for trial in asked[:4]] == ["high", "control"] * 2
    assert Counter(trial.repeat for trial in asked) == {0: 12, 1: 12, 2: 12}


@pytest.mark.parametrize("form", ["csv", "yaml"])
def test_own_products(tmp_path: Path, form: str) -> None:
    sold = generate().products[0]
    path = tmp_path / f"products.{form}"
    path.write_text(
        OWN + f"{sold.key},,,,1,2\n"
        if form == "csv"
        else "products:\n"
        "  - {key: lamp, title: Desk Lamp, description: A lamp., price: 25, low: 5, high: 80}\n"
        f"  - {{key: {sold.key}, low: 1, high: 2}}\n"
    )
    lamp, other = (
        next(trial for trial in made("wtp", products=str(path)).trials([AGENT]) if trial.item == key)
        for key in ("lamp", sold.key)
    )
    assert (lamp.page, lamp.reference, lamp.low, lamp.high) == ("", 25, 5, 80)
    assert "Desk Lamp\n\nA lamp." in lamp.cards[0].prompt
    # A product of the shop needs no more than its range.
    assert (other.page, other.reference, other.low, other.high) == (sold.key, sold.price, 1, 2)
    assert sold.name in other.cards[0].prompt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("csv", OWN.replace("5,80", "80,5"), r"products\.csv:2: high: is below low, 80; swap the two"),
        ("csv", OWN.replace(",25,", ",,"), r"products\.csv:2: price: missing, and the embedded shop has no"),
        (
            "csv",
            OWN.replace(",25,", ",dear,"),
            r'products\.csv:2: price: expected a number, found "dear"; mend',
        ),
        ("yaml", "products: [{key: lamp, low: 5, high: 2}]", r":1:\d+: products\[0\]\.high: is below low, 5"),
        (
            "yaml",
            "products: [{key: lamp, low: 5, high: 8}]",
            r":1:\d+: products\[0\]\.title: missing, and the",
        ),
        ("yaml", "products: []", r":1:\d+: products: the list is empty; write at least one item"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, form: str, text: str, message: str) -> None:
    path = tmp_path / f"products.{form}"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        made("wtp", products=str(path))
    assert "\n" not in str(caught.value)


def test_the_shops_own_words_are_not_contradicted(tmp_path: Path) -> None:
    path = tmp_path / "products.csv"
    path.write_text(OWN.replace("lamp,", f"{generate().products[0].key},", 1))
    with pytest.raises(UserError, match=r"products\.csv:2: title: the embedded shop's page says it; remove"):
        made("wtp", products=str(path))
