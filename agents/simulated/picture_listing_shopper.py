"""Simulate shopping from one tab that is shown as pictures: search, look at the cards, weigh, buy."""

from collections.abc import Sequence
from itertools import count

from agents.simulated.listing_shopper import words_to_search
from agents.simulated.nudges import Nudge
from agents.simulated.picture_shopper import DOWN, MOST_SCROLLS, UP, PicturePurchase, give_up
from agents.simulated.readers.listing_page import ListedProduct
from agents.simulated.readers.picture_page import read_cards_in_picture, search_field_in
from agents.simulated.tab_shopper import Eyesight, Shopper
from agents.simulated.utility import Taste
from environments.protocol.actions import Action
from environments.protocol.drawn import Drawn
from environments.protocol.observation import Observation


class PictureListingShopper(Shopper):
    """A shopper of a known taste who looks at a listing, or at a page to search from, by pictures.

    It chooses as `ListingShopper` does among the cards that it has seen: those above the fold of the listing,
    and as far below as its `sight` says. Where there are none, it looks further down for the first of them.
    """

    def __init__(self, taste: Taste, sight: Eyesight, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        super().__init__(taste, seed=seed, nudges=nudges)
        self._sight = sight
        self._clicked = self._typed = self._searched = self._opened = False
        self._views: list[list[Drawn]] = []
        self._read_further = 0
        self._choice: ListedProduct | None = None
        self._scrolls = count(1)
        self._purchase = PicturePurchase()

    def _memory(self) -> str:
        return self._describe_all(read_cards_in_picture(self._views))

    def _decide(self, observation: Observation) -> tuple[str, Action]:
        drawn, words = observation.drawn, words_to_search(observation.goal)
        if self._choice and self._opened:
            return self._purchase.go_on(drawn, self._choice.title)
        if self._choice:
            return self._open(drawn, self._choice)
        if words and not self._searched:
            return self._search(drawn, words)
        return self._browse(drawn)

    def _search(self, drawn: Sequence[Drawn], words: str) -> tuple[str, Action]:
        if self._typed:
            self._searched = True
            return f"I search for {words}.", Action("keyboard_press", ("Enter",))
        if self._clicked:
            self._typed = True
            return f"I write {words}.", Action("keyboard_type", (words,))
        if at := search_field_in(drawn):
            self._clicked = True
            return "I go to the search field.", Action("mouse_click", at)
        return self._look(DOWN, "the search field")

    def _browse(self, drawn: Sequence[Drawn]) -> tuple[str, Action]:
        self._views.append([each for each in drawn if self._sight.reads(each)])
        cards = read_cards_in_picture(self._views)
        if not cards:
            return self._look(DOWN, "something to choose from")
        if self._read_further < self._sight.scrolls:
            self._read_further += 1
            return "I look whether there is more to choose from.", DOWN
        self._choice = self._choose_card(cards)
        return self._open(drawn, self._choice)

    def _open(self, drawn: Sequence[Drawn], choice: ListedProduct) -> tuple[str, Action]:
        on_card = (each for each in drawn if str(each.card) == choice.address and each.kind == "link")
        title = next((each for each in on_card if each.text == choice.title), None)
        if title is None:
            return self._look(UP, choice.title)
        self._opened = True
        return f"Of all I saw I prefer {choice.title}; I open its page.", Action("mouse_click", title.centre)

    def _look(self, where: Action, wanted: str) -> tuple[str, Action]:
        if next(self._scrolls) > MOST_SCROLLS:
            return give_up(wanted)
        return f"I look for {wanted}.", where
