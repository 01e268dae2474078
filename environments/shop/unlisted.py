"""Products with a page of their own that no listing shows: those of willingness-to-pay studies.

They have no reviews, so that their pages say no more of them than their texts do.
"""

from dataclasses import dataclass
from typing import Final

from environments.shop.lexicon.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A product that no listing shows.

    `path` is its category, and the last part of `path` names its picture.
    """

    path: tuple[str, str]
    brand: str
    name: str
    cents: int
    features: tuple[str, ...]
    details: dict[str, str]

    @property
    def shelf(self) -> Shelf:
        """The product's texts, in the form in which those of other products are kept."""
        return Shelf((self.brand,), (), (), {}, {}, {}, self.details, self.features, ())


UNLISTED: Final = (
    Unlisted(
        ("Electronics", "Docking Stations"),
        "Corvane",
        "Corvane 11-in-1 USB-C Docking Station with Dual 4K Display Output",
        4999,
        (
            "Eleven ports: two HDMI, DisplayPort, gigabit Ethernet, four USB-A, USB-C, audio and SD card",
            "Drives two 4K displays at 60 Hz from laptops with USB-C video output",
            "Passes up to 85 W on to the laptop",
            "Aluminum case, 5.1 x 2.4 x 0.7 inches, that sheds heat without a fan",
            "Comes with a 2.6 ft USB-C cable; the power supply is not included",
        ),
        {"Connector": "USB-C", "Ports": "11", "Weight": "7.4 oz"},
    ),
    Unlisted(
        ("Grocery & Gourmet Food", "Coffee Pods"),
        "Morrow Peak",
        "Morrow Peak Medium Roast Coffee Pods for Single-Serve Brewers, 96 Count",
        5731,
        (
            "96 pods of ground Arabica coffee from Colombia and Guatemala",
            "Medium roast with a note of cocoa and a mild acidity",
            "Fits the usual single-serve brewers with pods of 2 inches",
            "Each pod is sealed on its own and keeps for twelve months",
            "The cups can be recycled once the lid and the grounds are taken out",
        ),
        {"Roast": "Medium", "Units": "96 Count", "Caffeine": "Regular"},
    ),
    Unlisted(
        ("Sports & Outdoors", "Weighted Vests"),
        "Stride & Anvil",
        "Stride & Anvil Adjustable Weighted Vest, 20 lb",
        5999,
        (
            "20 lb of iron sand in ten pockets; each can be taken out",
            "Two straps across the chest fit a girth of 30 to 48 inches",
            "Breathable neoprene with wide shoulder pads",
            "Reflective strips on front and back, and a pocket for a phone",
            "For walking, running and body-weight exercise",
        ),
        {"Weight": "20 lb", "Material": "Neoprene", "Size": "One size"},
    ),
    Unlisted(
        ("Books", "Paperback Books"),
        "Tidewater Academic",
        "Estuary and Empire: A Social History of River Ports, Paperback",
        6499,
        (
            "How seven river ports changed between 1500 and 1900, from tax rolls, letters and court records",
            "612 pages with 48 maps and 90 illustrations",
            "Paperback, 9.2 x 6.1 inches, sewn binding",
            "With a bibliography, an index of places and an index of names",
            "Written for students and for general readers alike",
        ),
        {"Pages": "612", "Language": "English", "Binding": "Paperback"},
    ),
    Unlisted(
        ("Health & Household", "Paper Towels"),
        "Linden Fold",
        "Linden Fold 2-Ply Paper Towels, 16 Double Rolls",
        4249,
        (
            "16 rolls of 110 sheets, two plies each",
            "Perforated every 5.9 inches, so that half a sheet can be torn off",
            "Holds together when wet and leaves no lint on glass",
            "Made without dyes or scent",
            "Fits the usual stand and wall holders",
        ),
        {"Units": "16 Rolls", "Sheets per Roll": "110", "Ply": "2"},
    ),
    Unlisted(
        ("Clothing, Shoes & Jewelry", "Women's Shorts"),
        "Fernley",
        "Fernley Women's High-Waisted Linen Blend Shorts with Pockets",
        4465,
        (
            "55% linen and 45% cotton, pre-washed",
            "High waist with a flat front and an elastic back",
            "Two side pockets and one back pocket",
            "Relaxed fit with an inseam of 4.5 inches",
            "Machine wash cold, line dry",
        ),
        {"Material": "Linen and cotton", "Fit": "Relaxed", "Inseam": "4.5 in"},
    ),
)
