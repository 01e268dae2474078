"""Factorial: the six products, conditions, and products that people bring."""

from collections import Counter
from pathlib import Path

import pytest

from environments.shop.catalogue import generate
from tests.experiments.designs.make import AGENT, made, shipped, trials

PRICES = [49.99, 57.31, 59.99, 64.99, 42.49, 44.65]
OWN = "key,title,description,price,low,high\nlamp,Desk Lamp,A lamp.,25,5,80\n"


def test_every_product_in_every_condition() -> None:
    asked = shipped("wtp")
    cells = Counter((trial.item, trial.condition) for trial in asked)
    assert (len(cells), set(cells.values())) == (18, {100})
    assert list(dict.fromkeys(trial.reference for trial in asked)) == PRICES
    for trial in asked:
        assert trial.set == trial.page
        assert (trial.low or 0) < (trial.reference or 0) < (trial.high or 0)
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
