"""Form choice sets of profiles, and draw the attributes with which each is shown."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb
from typing import Final

from experiments.designs.cards.experiment_file import Block
from experiments.designs.cards.hotel_profiles import HotelProfile
from experiments.designs.cards.ready_cards import ShownSet

_REACHES: Final = (0.05, 0.15, 0.4, 1.0)
"""How far from the first hotel of a set the others may be in the ranking by price, as a share of the pool.

A quarter of the sets has each value, so that price gaps run from small to large.
"""
_NAMES: Final = {2: "pair", 3: "triple"}

ProfileSet = tuple[HotelProfile, ...]


def form_sets(profiles: Sequence[HotelProfile], block: Block, seed: int) -> list[ProfileSet]:
    """Form different sets of different hotels of a city, with each hotel in about as many sets as any other.

    Cities take turns. The caller checks that there are as many sets (`most_sets`).
    """
    cities = sorted({profile.city or "" for profile in profiles})
    within = ([each for each in profiles if (each.city or "") == city] for city in cities)
    count = -(-block.sets // len(cities))
    formed = [_within_city(those, block.set_size, count, seed) for those in within]
    return [formed[number % len(cities)][number // len(cities)] for number in range(block.sets)]


def most_sets(profiles: Sequence[HotelProfile], size: int) -> int:
    """Return how many sets of a size hotels make, if each of their cities has as many."""
    cities = Counter(profile.city for profile in profiles)
    return len(cities) * min(comb(hotels, size) for hotels in cities.values())


def _within_city(profiles: Sequence[HotelProfile], size: int, sets: int, seed: int) -> list[ProfileSet]:
    rng = random.Random(f"{seed}:{size}")  # noqa: S311 - a design, not a secret
    ranked = sorted(profiles, key=lambda profile: (profile.typical_price, profile.id))
    everyone = range(len(ranked))
    shown = Counter[int]()
    found: dict[frozenset[int], ProfileSet] = {}

    def rarest(candidates: Sequence[int]) -> int:
        return min(candidates, key=lambda rank: (shown[rank], rng.random()))

    while len(found) < sets:
        reach = max(size, round(_REACHES[len(found) % len(_REACHES)] * len(ranked)))
        members = [rarest(everyone)]
        near = [rank for rank in everyone if abs(rank - members[0]) <= reach and rank != members[0]]
        while len(members) < size:
            members.append(rarest(near))
            near.remove(members[-1])
        while frozenset(members) in found:
            members = rng.sample(everyone, size)
        shown.update(members)
        rng.shuffle(members)
        found[frozenset(members)] = tuple(ranked[rank] for rank in members)
    return list(found.values())


def shown_sets_of(sets: Sequence[ProfileSet], block: Block, seed: int) -> Iterator[ShownSet]:
    """Yield every set once, then every set again, with attributes drawn anew each time."""
    kind = _NAMES.get(block.set_size, f"{block.set_size}-options")
    for repeat in range(block.repeats):
        for number, members in enumerate(sets, 1):
            name = f"{kind}-{number:03}"
            # A generator for each hotel: what one draws does not depend on how much another one draws.
            draws = (random.Random(f"{seed}:{name}:{repeat}:{hotel.id}") for hotel in members)  # noqa: S311
            yield ShownSet(
                name, repeat, tuple(hotel.draw(rng) for hotel, rng in zip(members, draws, strict=True))
            )
