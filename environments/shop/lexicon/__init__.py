"""Our own word lists, from which the catalogue's products are made; nothing here is a real brand."""

from environments.shop.lexicon import audio, bakery, care, decor, pantry, photo, screens
from environments.shop.lexicon.shelf import Shelf

SHELVES: dict[str, Shelf] = (
    bakery.SHELVES
    | pantry.SHELVES
    | care.SHELVES
    | decor.SHELVES
    | audio.SHELVES
    | photo.SHELVES
    | screens.SHELVES
)
"""Word lists by leaf category."""

__all__ = ["SHELVES", "Shelf"]
