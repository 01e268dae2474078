"""Generate the shipped pool: invented hotels in New York, of the real chain families, from a seed."""

import random
from functools import cache
from typing import Final

from experiments.designs.cards.hotel_profiles import HotelProfile

SIZE: Final = 180
LOWEST_PRICE: Final = 45
HIGHEST_PRICE: Final = 1_650

_SEED: Final = 180
_SHARES: Final = {1: 6, 2: 18, 3: 58, 4: 68, 5: 30}
"""The number of hotels with each number of stars."""
_PRICES: Final = {1: (52, 85), 2: (85, 140), 3: (130, 260), 4: (210, 420), 5: (430, 1_240)}
"""The range of the typical price, in dollars per night, by stars."""
_SCORES: Final = {1: 7.0, 2: 7.5, 3: 8.0, 4: 8.3, 5: 8.8}
_CANCELLATION: Final = {1: 0.2, 2: 0.3, 3: 0.5, 4: 0.6, 5: 0.6}
_BREAKFAST: Final = {1: 0.1, 2: 0.15, 3: 0.4, 4: 0.2, 5: 0.25}

_BRANDS: Final[dict[str, dict[int, tuple[str, ...]]]] = {
    "Hilton": {
        2: ("Tru by Hilton",),
        3: ("Hampton Inn", "Hilton Garden Inn"),
        4: ("DoubleTree by Hilton", "Hilton", "Embassy Suites by Hilton"),
        5: ("Conrad",),
    },
    "Marriott": {
        3: ("Fairfield Inn by Marriott", "Courtyard by Marriott", "Moxy"),
        4: ("Marriott", "Sheraton", "Westin", "Residence Inn by Marriott"),
        5: ("JW Marriott", "St. Regis"),
    },
    "IHG": {
        2: ("Holiday Inn Express",),
        3: ("Holiday Inn", "Staybridge Suites"),
        4: ("Crowne Plaza", "voco", "Hotel Indigo"),
        5: ("InterContinental",),
    },
    "Hyatt": {3: ("Hyatt Place", "Hyatt House"), 4: ("Hyatt Regency", "Hyatt Centric"), 5: ("Park Hyatt",)},
    "Wyndham": {2: ("Days Inn by Wyndham",), 3: ("Wyndham Garden",), 4: ("TRYP by Wyndham",)},
}
_WEIGHTS: Final = {"Independent": 46, "Marriott": 21, "Hilton": 13, "IHG": 10, "Hyatt": 7, "Wyndham": 3}
"""Hotels per hundred, by chain family, where the family has hotels of that many stars."""

_PATTERNS: Final = {
    1: ("{} Pods", "The {} Bunkhouse", "{} Hostel"),
    2: ("{} Inn", "{} Rooms", "The {} Lodge"),
    3: ("The {} Hotel", "Hotel {}", "{} House"),
    4: ("The {}", "Hotel {}", "The {} Hotel"),
    5: ("The {}", "The {} Grand", "{} Residences"),
}
_FIRST: Final = (
    "Alder", "Amberley", "Arbor", "Bellweather", "Birch", "Blackthorn", "Bramwell", "Calder", "Cedar",
    "Chandler", "Cobble", "Copper", "Corbel", "Dovetail", "Dunmore", "Ember", "Fenwick", "Ferry",
    "Foundry", "Gable", "Garnet", "Granary", "Halyard", "Harrow", "Hazel", "Heron", "Ivory", "Juniper",
    "Kestrel", "Lantern", "Larkspur", "Linden", "Lockwood", "Marlow", "Mason", "Merchant", "Mulberry",
    "Nettle", "Oriel", "Osprey", "Pemberton", "Pewter", "Quill", "Rowan", "Sable", "Saltmarsh",
    "Sorrel", "Tallow", "Tamarind", "Thistle", "Umber", "Vesper", "Wainwright", "Weaver", "Wicker",
    "Willow", "Wren", "Yarrow",
)  # fmt: skip
_SECOND: Final = ("Court", "Gate", "Hall", "Landing", "Mews", "Row", "Square", "Walk", "Yard")

NEIGHBORHOODS: Final = {
    "Astoria": 0.75, "Battery Park City": 1.1, "Bowery": 1.05, "Brooklyn Heights": 1.0, "Bushwick": 0.7,
    "Carroll Gardens": 0.9, "Chelsea": 1.1, "Chinatown": 0.85, "Clinton Hill": 0.8, "Cobble Hill": 0.9,
    "Downtown Brooklyn": 0.85, "DUMBO": 1.1, "East Harlem": 0.75, "East Village": 1.0,
    "Financial District": 0.95, "Flatiron District": 1.1, "Flushing": 0.7, "Garment District": 0.85,
    "Gowanus": 0.75, "Gramercy Park": 1.05, "Greenpoint": 0.85, "Greenwich Village": 1.15,
    "Harlem": 0.75, "Hell's Kitchen": 0.95, "Herald Square": 0.9, "Hudson Yards": 1.15, "Jamaica": 0.65,
    "Kips Bay": 0.9, "Long Island City": 0.75, "Lower East Side": 0.95, "Meatpacking District": 1.2,
    "Nolita": 1.15, "SoHo": 1.25, "Tribeca": 1.25, "Upper East Side": 1.15, "Williamsburg": 1.0,
}  # fmt: skip
"""The price level of each neighborhood, relative to the average."""

_AMENITIES: Final = (
    ("Air conditioning", 1), ("Luggage storage", 1), ("Shared kitchen", 1), ("Laundry", 2),
    ("Fitness center", 3), ("Business center", 3), ("Coffee bar", 3), ("Restaurant", 4),
    ("Rooftop terrace", 4), ("Concierge", 4), ("Spa", 5), ("Indoor pool", 5), ("Butler service", 5),
)  # fmt: skip
"""Each amenity with the number of stars of hotels that have it."""

_ROOMS: Final = {
    1: ("Bunk Pod (1 bunk bed)", "Single Pod (1 twin bed)", "Twin Room (2 twin beds)"),
    2: ("Twin Room (2 twin beds)", "Full Room (1 full bed)", "Queen Room (1 queen bed)"),
    3: ("Full Room (1 full bed)", "Queen Room (1 queen bed)", "Double Room (2 double beds)",
        "King Room (1 king bed)"),
    4: ("Queen Room (1 queen bed)", "Double Room (2 double beds)", "King Room (1 king bed)",
        "Corner King Room (1 king bed)"),
    5: ("Deluxe Queen Room (1 queen bed)", "Deluxe King Room (1 king bed)", "King Suite (1 king bed)"),
}  # fmt: skip


@cache
def hotels() -> tuple[HotelProfile, ...]:
    """Return the 180 profiles.

    The price depends on stars, neighborhood and amenities, the score on stars and price.
    """
    rng = random.Random(_SEED)  # noqa: S311 - a design, not a secret
    stars = [number for number, count in _SHARES.items() for _ in range(count)]
    places = list(NEIGHBORHOODS) * (SIZE // len(NEIGHBORHOODS))
    names = rng.sample([(first, second) for first in _FIRST for second in _SECOND], SIZE)
    rng.shuffle(stars)
    rng.shuffle(places)
    return tuple(
        _hotel(number, *facts, rng) for number, facts in enumerate(zip(stars, places, names, strict=True), 1)
    )


def _hotel(number: int, stars: int, place: str, words: tuple[str, str], rng: random.Random) -> HotelProfile:
    chain, name = _chain_and_name(stars, words, rng)
    amenities = _amenities(stars, rng)
    low, high = _PRICES[stars]
    # Half of what a hotel costs within its class is its place and its amenities, the rest is its own.
    luck = rng.random()
    worth = (
        0.5 * luck + 0.35 * (NEIGHBORHOODS[place] - 0.65) / 0.6 + 0.15 * min(1.0, (len(amenities) - 2) / 3)
    )
    typical = low + (high - low) * worth
    score = _SCORES[stars] + 0.6 * (worth - 0.5) + rng.uniform(-0.5, 0.5)
    return HotelProfile(
        id=f"hotel-{number:03}",
        name=name,
        stars=stars,
        neighborhood=place,
        chain=chain,
        amenities="; ".join(amenities),
        low=max(LOWEST_PRICE, round(typical * 0.67)),
        high=min(HIGHEST_PRICE, round(typical * 1.33)),
        rooms=tuple(sorted(rng.sample(_ROOMS[stars], rng.randint(2, 3)))),
        score=round(score, 1),
        reviews=round(10 ** rng.uniform(2.6, 3.8)),
        cancellation=_CANCELLATION[stars],
        breakfast=_BREAKFAST[stars],
    )


def _chain_and_name(stars: int, words: tuple[str, str], rng: random.Random) -> tuple[str, str]:
    chains = [chain for chain in _WEIGHTS if chain == "Independent" or stars in _BRANDS[chain]]
    (chain,) = rng.choices(chains, [_WEIGHTS[chain] for chain in chains])
    if chain == "Independent":
        return chain, rng.choice(_PATTERNS[stars]).format(" ".join(words))
    return chain, f"{rng.choice(_BRANDS[chain][stars])} {' '.join(words)}"


def _amenities(stars: int, rng: random.Random) -> list[str]:
    """Free WiFi, and one to four more that suit the class."""
    fitting = [name for name, level in _AMENITIES if level - 1 <= stars <= level + 1]
    chosen = set(rng.sample(fitting, min(len(fitting), rng.randint(1, 2 + stars // 2))))
    return ["Free WiFi", *(name for name, _ in _AMENITIES if name in chosen)]
