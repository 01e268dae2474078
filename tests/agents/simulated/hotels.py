"""Cards of hotels, as the shipped intervention makes them."""

from typing import Any

from interventions.cards.card import Card
from interventions.files.schema import load_interventions

USUAL = {"stars": 4, "score": 8.4, "reviews": 1_234, "room": "King Room (1 king bed)", "cancellation": 1}
USUAL |= {"breakfast": 0, "amenities": "Free WiFi; Fitness center", "neighborhood": "Midtown", "price": 250}


def hotels(*different: dict[str, Any]) -> Card:
    """A card of hotels that differ in this from the usual one."""
    template = load_interventions("hotels")["hotel-choice"].card
    assert template is not None
    return template.fill(template.example.values, [USUAL | each for each in different], id="hotel-choice")
