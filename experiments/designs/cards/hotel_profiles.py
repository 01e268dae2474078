"""Hotel profiles: what is fixed for each hotel, and what is drawn anew at each showing."""

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from experiments.designs.inputs.csv_rows import Row, read_rows
from interventions.yaml.yaml_source import problem_at

Value = str | int | float
Alternative = Mapping[str, Value]
"""An alternative as shown: `id`, `name`, and its attributes by the names that cards use."""

Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(min_length=1)]

SCORE_SPREAD = 0.2
REVIEWS_SPREAD = 0.1


class HotelProfile(BaseModel):
    """The profile of a hotel, with prices in dollars per night and a review score from 0 to 10."""

    model_config = ConfigDict(frozen=True)

    id: Text
    name: Text
    stars: int = Field(ge=1, le=5)
    neighborhood: Text
    chain: str = "Independent"
    amenities: Text
    low: int = Field(ge=1)
    """The lowest price."""
    high: int
    """The highest price."""
    rooms: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The room types; in a table, separated by `|`."""
    score: float = Field(ge=0, le=10)
    reviews: int = Field(ge=0)
    cancellation: Share = 0.5
    """The probability that free cancellation is offered."""
    breakfast: Share = 0.5
    """The probability that breakfast is included."""
    city: Text | None = None
    """What its cards say for `${city}`; None: what the experiment or the card says."""
    currency: Text | None = None
    """What its cards say for `${currency}`, such as `€`; None: as of `city`."""

    @field_validator("rooms", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(room.strip() for room in value.split("|")) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _is_a_range(self) -> "HotelProfile":
        if self.high < self.low:
            raise problem_at("high", message=f"is below low, {self.low}; swap the two")
        return self

    @property
    def typical_price(self) -> float:
        """The middle of the price range."""
        return (self.low + self.high) / 2

    def draw(self, rng: random.Random) -> Alternative:
        """Draw the hotel as it is shown once: price, room, conditions and reviews vary."""
        tenths = round(10 * self.score)
        spread = round(10 * SCORE_SPREAD)
        score = rng.randint(max(0, tenths - spread), min(100, tenths + spread)) / 10
        return {
            "id": self.id,
            "category": "hotel",
            "name": self.name,
            "stars": self.stars,
            "neighborhood": self.neighborhood,
            "chain": self.chain,
            "score": score,
            "reviews": round(self.reviews * rng.uniform(1 - REVIEWS_SPREAD, 1 + REVIEWS_SPREAD)),
            "room": rng.choice(self.rooms),
            "cancellation": int(rng.random() < self.cancellation),
            "breakfast": int(rng.random() < self.breakfast),
            "amenities": self.amenities,
            "price": rng.randint(self.low, self.high),
            **{name: value for name in ("city", "currency") if (value := getattr(self, name))},
        }


def is_table_of_profiles(columns: list[str]) -> bool:
    """Return whether these are the columns of profiles."""
    return {"low", "high", "rooms"} <= set(columns)


def profiles_from(rows: list[Row]) -> tuple[HotelProfile, ...]:
    """Read the profiles of a table. Raises UserError."""
    profiles: dict[str, HotelProfile] = {}
    for row in rows:
        profile = row.read(HotelProfile)
        if profile.id in profiles:
            raise row.error("id", f"the id {profile.id} is taken; give each hotel its own")
        if profile.currency != next(iter(profiles.values()), profile).currency:
            raise row.error("currency", "is another than in the row above; make a pool for each currency")
        profiles[profile.id] = profile
    return tuple(profiles.values())


@cache
def hotels() -> tuple[HotelProfile, ...]:
    """Return the shipped pool: 180 invented hotels in New York, many of the real chain families.

    The price depends on stars, neighborhood and amenities, the score on stars and price.
    """
    return profiles_from(read_rows(str(Path(__file__).with_name("hotels.csv"))).rows)
