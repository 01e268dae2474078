"""Conjoint: which sets, what is drawn, both orders, and the prompt of the study."""

from collections import Counter, defaultdict
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.simulated.readers.card_text import family_of
from analysis.conjoint.cards import chain_family
from experiments.designs.cards.experiment_file import Block
from experiments.designs.cards.hotel_profiles import HotelProfile, hotels
from experiments.designs.cards.profile_sets import form_sets, shown_sets_of
from tests.experiments.designs.make import shipped, trials

POOL = {hotel.id: hotel for hotel in hotels()}

small_pools = st.integers(4, 12).flatmap(
    lambda size: st.lists(
        st.builds(
            HotelProfile,
            id=st.uuids().map(str),
            name=st.just("A Hotel"),
            stars=st.integers(1, 5),
            neighborhood=st.just("Harlem"),
            amenities=st.just("Free WiFi"),
            low=st.integers(1, 500),
            high=st.integers(500, 1650),
            rooms=st.just(("Queen Room", "King Room")),
            score=st.floats(0, 10).map(lambda score: round(score, 1)),
            reviews=st.integers(0, 9000),
            cancellation=st.floats(0, 1),
            breakfast=st.floats(0, 1),
        ),
        min_size=size,
        max_size=size,
        unique_by=lambda profile: profile.id,
    )
)


@settings(max_examples=40, deadline=None)
@given(small_pools, st.integers(2, 4), st.integers(1, 6), st.integers(1, 3), st.integers(0, 10**6))
def test_sets_and_draws(pool: list[HotelProfile], size: int, sets: int, repeats: int, seed: int) -> None:
    block = Block(set_size=size, sets=min(sets, comb(len(pool), size)), repeats=repeats)
    formed = form_sets(pool, block, seed)
    assert formed == form_sets(pool[::-1], block, seed)
    assert len({frozenset(hotel.id for hotel in members) for members in formed}) == block.sets
    assert all(len({hotel.id for hotel in members}) == size for members in formed)
    shown = Counter(hotel.id for members in formed for hotel in members)
    by_id = {hotel.id: hotel for hotel in pool}
    drawn = list(shown_sets_of(formed, block, seed))
    assert len(drawn) == block.sets * repeats
    assert [shown_set.repeat for shown_set in drawn] == sorted(shown_set.repeat for shown_set in drawn)
    for shown_set in drawn:
        for alternative in shown_set.alternatives:
            hotel = by_id[str(alternative["id"])]
            price, score, reviews = (float(alternative[name]) for name in ("price", "score", "reviews"))
            assert hotel.low <= price <= hotel.high
            assert price == int(price)
            assert abs(score - hotel.score) <= 0.2 + 1e-9
            assert 0 <= score <= 10
            assert abs(reviews - hotel.reviews) <= 0.1 * hotel.reviews + 0.5
            assert alternative["room"] in hotel.rooms
            assert alternative["cancellation"] in (
                (0, 1) if 0 < hotel.cancellation < 1 else (hotel.cancellation,)
            )
            fixed = ("name", "stars", "neighborhood", "chain", "amenities")
            assert all(alternative[name] == getattr(hotel, name) for name in fixed)
    assert sum(shown.values()) == size * block.sets


def test_the_shipped_pool() -> None:
    pool = list(POOL.values())
    assert len(pool) == len({hotel.name for hotel in pool}) == 180
    assert len({hotel.neighborhood for hotel in pool}) == 36
    assert {hotel.chain for hotel in pool} == {"Hilton", "Marriott", "IHG", "Hyatt", "Wyndham", "Independent"}
    assert {hotel.stars for hotel in pool} == {1, 2, 3, 4, 5}
    assert min(hotel.low for hotel in pool) == 45
    assert 1_450 < max(hotel.high for hotel in pool) <= 1_650
    prices = {stars: [h.typical_price for h in pool if h.stars == stars] for stars in range(1, 6)}
    assert all(sum(prices[n]) / len(prices[n]) < sum(prices[n + 1]) / len(prices[n + 1]) for n in range(1, 5))


@pytest.mark.parametrize("reader", ["agents", "analysis"])
def test_names_tell_the_chain(reader: str) -> None:
    """Agents know a chain by the name alone, and so does the analysis of tables that do not give it."""
    family = family_of if reader == "agents" else chain_family
    for hotel in POOL.values():
        assert (family(hotel.name) or "Independent") == hotel.chain, hotel.name


@pytest.mark.slow
def test_the_study_in_full() -> None:
    shown = shipped("hotels")
    assert Counter(len(trial.options) for trial in shown) == {2: 3_600, 3: 3_600}
    sets = {trial.set: {option.option for option in trial.options} for trial in shown}
    assert Counter(len(members) for members in sets.values()) == {2: 450, 3: 300}
    # Each hotel stands in about as many sets as any other.
    appearances = Counter(hotel for members in sets.values() for hotel in members)
    assert len(appearances) == 180
    assert max(appearances.values()) <= min(appearances.values()) + 4
    for option in (option for trial in shown for option in trial.options):
        assert option.rating == pytest.approx(10 * float(option.attributes["score"]))
        assert set(option.attributes) == {
            "stars", "neighborhood", "chain", "score", "room", "cancellation", "breakfast", "amenities",
        }  # fmt: skip
    # Price gaps of pairs, against the cheaper one: many small, many large.
    pairs = [[option.price or 0 for option in trial.options] for trial in shown if len(trial.options) == 2]
    gaps = sorted((max(prices) - min(prices)) / min(prices) for prices in pairs)
    assert gaps[len(gaps) // 4] < 0.35
    assert gaps[3 * len(gaps) // 4] > 0.7


@pytest.mark.parametrize("size", [2, 3, 8])
def test_the_reversed_trial_shows_the_same_in_the_other_order(size: int) -> None:
    shown = trials("hotels", blocks=[{"set_size": size, "sets": 40, "repeats": 3}])
    letters = "ABCDEFGH"[:size]
    for forward, backward in zip(shown[::2], shown[1::2], strict=True):
        assert (forward.ordering, backward.ordering) == ("forward", "reversed")
        assert (forward.set, forward.repeat) == (backward.set, backward.repeat)
        assert backward.options == forward.options[::-1]
        for trial in (forward, backward):
            (card,) = trial.cards
            assert [item.key for item in card.alternatives] == [option.option for option in trial.options]
            assert card.chosen(letters[-1]) == trial.options[-1].option
            assert all(f"Option {letter}:" in card.prompt for letter in letters)


def test_repeats_are_drawn_anew_and_more_sets_leave_the_others_as_they_are() -> None:
    few = trials("hotels", blocks=[{"set_size": 2, "sets": 60, "repeats": 4}], order="listed")
    prices = defaultdict(set)
    for trial in few:
        prices[trial.set].add(tuple(option.price for option in trial.options))
        assert trial.ordering == "forward"
    assert sum(len(drawn) == 4 for drawn in prices.values()) >= 58
    many = trials("hotels", blocks=[{"set_size": 2, "sets": 70, "repeats": 4}], order="listed")
    assert [trial.id for trial in few[:60]] == [trial.id for trial in many[:60]]
