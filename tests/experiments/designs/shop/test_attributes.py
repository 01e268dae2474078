"""Drawn attributes: independent of product, position, nudge and each other, and shown in the shop."""

import re
from collections import Counter
from collections.abc import AsyncIterator
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.attributes import NAMES, Attributes, value, versions
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.tables import receipts
from interventions.apply.plan import ProductFacts
from tests.experiments.designs.make import AGENT, shop, source
from tests.experiments.designs.test_trials import assert_balanced
from tests.ground_truth import Done, assert_chosen_as_known, carry_out, probabilities
from tests.support import size

LEVELS: dict[str, list[Any]] = {
    "price": ["-40%", "-20%", "0%", "+20%", "+40%"],
    "rating": [50, 60, 75, 90],
    "reviews": [10, 100, 1000, 5000],
}


def level(made: ShopDesign, name: str, item: ProductFacts) -> Any:
    """Which level was drawn, found by what the product itself costs."""
    own = made.list_facts(item)
    return own["price_step"] if name == "price" else getattr(item, name)


@pytest.mark.slow
@settings(max_examples=size(12, 60), deadline=None)
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    set_size=st.sampled_from([2, 3]),
    levels=st.integers(2, 4),
    sets=st.integers(1, 8),
    repeats=st.integers(1, 3),
    order=st.sampled_from(["both", "listed"]),
    seed=st.integers(0, 1000),
)
def test_each_draw_is_orthogonal_to_product_position_nudge_and_the_other_attributes(
    names: list[str], set_size: int, levels: int, sets: int, repeats: int, order: str, seed: int
) -> None:
    made = shop(
        "attributes",
        attributes={name: LEVELS[name][:levels] for name in names},
        options={"set_size": set_size, "sets": sets},
        factors={**experiment_source("attributes").data["factors"], "order": order},
        repeats=repeats,
        seed=seed,
    )
    assert_balanced(made)
    trials = list(made.trials(["a"]))
    assert len(trials) == made.size == made.block_size() * len(made.sets) * repeats
    for start in range(0, len(trials), made.block_size()):
        block = trials[start : start + made.block_size()]
        keys = sorted(item.key for item in block[0].products)
        for name in names:
            seen = Counter(
                (i.key, t.carrier, t.ordering, level(made, name, i)) for t in block for i in t.products
            )
            hand = Counter(level(made, name, item) for item in block[0].products)
            assert len(hand) == min(set_size, levels)  # as different as can be
            cells = list(product(keys, keys, {trial.ordering for trial in block}))
            each = len(block) / len(cells) * len(keys)  # how often a product stands in a cell
            assert seen == {(*c, own): each * n / set_size for c in cells for own, n in hand.items()}
        for one, other in combinations(names, 2):
            pairs = Counter(
                (i.key, j.key, level(made, one, i), level(made, other, j))
                for t in block
                for i in t.products
                for j in t.products
            )
            if levels >= set_size:
                shared = {(a, b): Counter() for a in keys for b in keys}
                for (a, b, *both), count in pairs.items():
                    shared[a, b][tuple(both)] += count
                assert all(len(set(own.values())) == 1 and len(own) == set_size**2 for own in shared.values())


def test_every_hand_of_levels_is_dealt_equally_often() -> None:
    made = shop("attributes", options={"sets": 30}, factors={"order": "listed"})
    trials = list(made.trials(["a"]))
    for name, levels in (("price", 5), ("rating", 3), ("reviews", 3)):
        hands = Counter(
            frozenset(level(made, name, item) for item in trial.products)
            for trial in trials[:: made.block_size()]
        )
        assert set(hands.values()) == {30 // (levels * (levels - 1) // 2)}


@pytest.mark.parametrize("options", [2, 3, 5, 8])
def test_in_a_latin_square_each_product_has_each_place_and_each_badge_once(options: int) -> None:
    """And each level of each attribute equally often; a badge is on one product of every page."""
    made = shop("badges-grid", options={"pairing": "random", "set_size": options, "sets": 6})
    trials = list(made.trials(["a"]))
    assert made.block_size() == options and len(trials) == made.size == 6 * 2 * options
    orders = set()
    for start in range(0, len(trials), options):
        block = trials[start : start + options]
        keys = {item.key for item in block[0].products}
        assert {trial.ordering for trial in block} == {"latin-square"}
        places = Counter((at, item.key) for trial in block for at, item in enumerate(trial.products))
        assert places == Counter(product(range(options), keys))
        badges = Counter((badge.id, key) for trial in block for badge, key in trial.badges)
        assert badges == Counter(product(("sponsored", "overall-pick", "low-stock-2"), keys))
        for name in ("price", "rating", "reviews"):
            levels = Counter((item.key, level(made, name, item)) for t in block for item in t.products)
            hand = Counter(level(made, name, item) for item in block[0].products)
            assert levels == {(key, own): n for key in keys for own, n in hand.items()}
        for trial in block:
            facts = [trial.facts(item.key) for item in trial.products]
            assert all(
                sum(float(own[f"badge_{badge.id}"]) for own in facts) == 1 for badge, _ in trial.badges
            )
            planned = {(t.intervention, t.product) for t in made.plan(trial).treatments}
            assert {(badge.id, key) for badge, key in trial.badges} <= planned
        orders.add(tuple(item.key for item in block[0].products))
    assert len(orders) > 6 or options == 2  # the square of each repeat is another one


def test_an_order_in_a_latin_square_needs_no_drawn_attributes() -> None:
    made = shop("listing", factors={"order": "latin-square"}, options={"sets": 2, "set_size": 4})
    block = list(made.trials(["a"]))[:4]
    assert len({tuple(item.key for item in trial.products) for trial in block}) == made.block_size() == 4


@given(
    cents=st.integers(100, 10**6),
    levels=st.lists(st.integers(-90, 200), min_size=2, max_size=5, unique=True).map(sorted),
)
def test_a_changed_price_keeps_its_last_cent_and_is_near(cents: int, levels: list[int]) -> None:
    own = ProductFacts("k", price=cents / 100)
    prices = [value(f"{each}%", own) for each in levels]
    assert all(low <= high for low, high in pairwise(prices))
    for each, price in zip(levels, prices, strict=True):
        assert round(price * 100) % 10 == cents % 10 or price == 0.01
        assert price > 0 and abs(price - own.price * (100 + each) / 100) < 0.0501  # type: ignore[operator]
    assert value("0%", own) == own.price


def test_without_the_key_nothing_is_drawn_and_amounts_are_shown_as_they_are() -> None:
    assert not shop("nudges").drawn
    made = shop("attributes", attributes={"price": [20, 30.5]})
    trial = next(made.trials(["a"]))
    assert {item.price for item in trial.products} == {20.0, 30.5}
    assert versions(Attributes(price=(20, 30.5)), 2, square=False) == 2
    assert all("price_step" not in made.list_facts(item) for item in trial.products)


@pytest.fixture(scope="module")
async def done(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Done]:
    folder = tmp_path_factory.mktemp("drawn")
    yield await carry_out(folder, source("attributes", options={"sets": 2}), AGENT, size(8, 16), 4)


@pytest.mark.browser
def test_the_browser_shows_what_was_drawn(done: Done) -> None:
    """The shopper reads the pages itself: it can only choose as known if they show the drawn values."""
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    run = done.design.run_id
    done.records.begin_run(run, done.design.name, done.design.facts([AGENT]))
    assert set(tidy_table(done.records, run)["randomised"]) == {"price+rating+reviews"}
    assert (done.table["outcome"] == "choice").all()
    shown = done.table.set_index(["trial", "option"])
    written = done.rows(receipts)
    for trial in done.trials.values():
        for item in trial.products:
            row = shown.loc[(trial.id, item.key)]
            assert (row["price"], row["rating"], row["reviews"]) == (item.price, item.rating, item.reviews)
            own = done.design.list_facts(item)
            assert {name: row[f"attr_{name}"] for name in own} == pytest.approx(own)
            assert_written(written[trial.id], trial, item)


def assert_written(rows: list[Any], trial: ShopTrial, item: ProductFacts) -> None:
    """The texts after the edits, as numbers: each page of the product says the same."""
    for edit, wanted in (
        ("set_price", item.price),
        ("set_rating", item.rating),
        ("set_reviews", item.reviews),
    ):
        own = [row["after"] for row in rows if row["edit"] == edit and row["product"] == item.key]
        found = {float(re.sub(r"[^\d.]", "", text)) for text in own}
        assert own and found == {wanted}, (trial.id, edit, own)


@pytest.mark.browser
async def test_badges_and_places_are_those_that_the_browser_shows(tmp_path: Path) -> None:
    """A shopper that reads the list can only choose as known if each card shows its badges and figures."""
    file = source("badges-grid", options={"pairing": "random", "set_size": 8, "sets": 1}, repeats=1)
    done = await carry_out(tmp_path, file, AGENT, 8, 4)
    directions = {"sponsored": -1, "overall-pick": 1, "low-stock-2": 1}
    assert_chosen_as_known(done, probabilities(done.table, "balanced", directions))
    run = done.design.run_id
    done.records.begin_run(run, done.design.name, done.design.facts([AGENT]))
    drawn = "price+rating+reviews+badge_sponsored+badge_overall-pick+badge_low-stock-2"
    assert set(tidy_table(done.records, run)["randomised"]) == {drawn}
    cells = done.table[["position", "attr_row", "attr_column"]].astype(int).drop_duplicates()
    assert {*map(tuple, cells.to_numpy())} == {(at, 1 + at // 4, 1 + at % 4) for at in range(8)}
    written = done.rows(receipts)
    for trial in done.trials.values():
        made = {(row["intervention"], row["product"]) for row in written[trial.id] if row["edit"] == "badge"}
        assert made == {(badge.id, key) for badge, key in trial.badges}
