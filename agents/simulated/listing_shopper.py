"""Simulate shopping from one tab: search where the goal says so, read the cards, weigh, buy."""

import re
from collections.abc import Sequence

from agents.simulated.nudges import Nudge
from agents.simulated.readers.listing_page import ListedProduct, read_cards, search_field
from agents.simulated.readers.product_page import read_product_page
from agents.simulated.tab_shopper import Shopper
from agents.simulated.utility import Taste
from environments.protocol.actions import Action
from environments.protocol.observation import Observation

# So far that a card which the window cut off comes into sight as a whole.
_SCROLL = Action("scroll", (0.0, 300.0))
_SOLD_OUT = "out of stock"
_WORDS = re.compile(r'\bsearch\b[^"]*"([^"]+)"', re.IGNORECASE)


def words_to_search(goal: str) -> str:
    """Return what the goal wants searched: the first words in double quotes after the word "search"."""
    match = _WORDS.search(goal)
    return match[1] if match else ""


class ListingShopper(Shopper):
    """A shopper of a known taste that starts with one tab: a listing, or a page to search from.

    It scrolls until the page does not move any more. Its choice is as in `SimulatedShopper`, over the cards
    in the page's order, the first of which is the one viewed first; it opens the page of its choice and buys
    there.
    """

    def __init__(self, taste: Taste, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        super().__init__(taste, seed=seed, nudges=nudges)
        self._filled = self._searched = False
        # In the page's order. Two products may lead to one address.
        self._cards: dict[tuple[str, str], ListedProduct] = {}
        self._last_sight = ""
        self._choice: ListedProduct | None = None

    def _memory(self) -> str:
        return self._describe_all(self._cards.values())

    def _decide(self, observation: Observation) -> tuple[str, Action]:
        if self._choice:
            page = read_product_page(observation.html, observation.product)
            if not page.add_to_cart:
                return f"I look for a way to buy {self._choice.title}.", _SCROLL
            return self._purchase.go_on(page)
        words = words_to_search(observation.goal)
        if words and not self._searched:
            return self._search(words, search_field(observation.html))
        return self._browse(observation.html)

    def _search(self, words: str, field: str | None) -> tuple[str, Action]:
        if self._filled:
            self._searched = True
            return f"I search for {words}.", Action("keyboard_press", ("Enter",))
        if field is None:
            return "I look for the search field.", _SCROLL
        self._filled = True
        return f"I write {words} into the search field.", Action("fill", (field, words))

    def _browse(self, sight: str) -> tuple[str, Action]:
        for card in read_cards(sight):
            if _SOLD_OUT in card.text:
                continue
            self._cards.setdefault((card.address, card.title), card)
        if not self._cards or sight != self._last_sight:
            self._last_sight = sight
            return "I look whether there is more to choose from.", _SCROLL
        self._choice = self._choose_card([*self._cards.values()])
        return f"Of all I saw I prefer {self._choice.title}; I open its page.", Action(
            "click", (self._choice.link,)
        )
