"""Simulated shoppers that look: they know what can be seen in pictures, and act at their points."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Final

from agents.simulated.listing_shopper import words_to_search
from agents.simulated.nudges import Nudge
from agents.simulated.readers.listing_page import ListedProduct
from agents.simulated.readers.picture_page import (
    button_in,
    option_groups,
    read_cards_in_picture,
    read_picture,
    search_field_in,
)
from agents.simulated.tab_shopper import Eyesight, Shopper, SimulatedShopper
from agents.simulated.utility import Taste
from environments.protocol.actions import Action
from environments.protocol.observation import Observation, VisibleElement

_MIDDLE: Final = (640.0, 400.0)
_DOWN: Final = Action("scroll_at", (*_MIDDLE, 0.0, 500.0))
_UP: Final = Action("scroll_at", (*_MIDDLE, 0.0, -500.0))
_MOST_SCROLLS: Final = 12
"""How far it looks for what it needs before it gives up."""


def _give_up(wanted: str) -> tuple[str, Action]:
    """Return the thought and the action of a shopper who has looked for something long enough."""
    return f"I cannot see {wanted}.", Action("give_up", (f"{wanted} cannot be seen",))


class _PicturePurchase:
    """Puts what a product's page shows into the cart: required options, then the button, of any size."""

    def __init__(self) -> None:
        self._picked: set[str] = set()
        self._scrolls = 0

    def go_on(self, drawn: Sequence[VisibleElement], title: str) -> tuple[str, Action]:
        """Return the next thing to do on the page of the product with this title."""
        for group in option_groups(drawn):
            if not self._picked & {each.text for each in group}:
                self._picked.add(group[0].text)
                return f"{title} needs an option; the first will do.", Action("mouse_click", group[0].at)
        if at := button_in(drawn):
            return f"I prefer {title} and add it to the cart.", Action("mouse_click", at)
        self._scrolls += 1
        if self._scrolls > _MOST_SCROLLS:
            return _give_up("a button for the cart")
        return "I scroll to find the button for the cart.", _DOWN


class PictureShopper(SimulatedShopper):
    """A shopper of a known taste who looks at pictures, and reads of them what its `sight` can.

    It visits the tabs as `SimulatedShopper` does, and chooses alike by what it has read.
    """

    def __init__(self, taste: Taste, sight: Eyesight, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        super().__init__(taste, seed=seed, nudges=nudges)
        self._sight, self._buying = sight, _PicturePurchase()
        self._views = defaultdict[int, list[list[VisibleElement]]](list)

    def _decide(self, observation: Observation) -> tuple[str, Action]:
        tab = observation.active_tab
        if self._choice is None:
            views = self._views[tab]
            views.append([each for each in observation.drawn if self._sight.reads(each)])
            self._pages[tab] = read_picture(views)
            if len(views) <= self._sight.scrolls:
                return f"I look further down in tab {tab}.", _DOWN
            if further := self._go_on(observation):
                return further
            self._choice = self._choose_tab(sorted(self._pages))
        if self._choice != tab:
            return self._go_back(self._choice)
        return self._buying.go_on(observation.drawn, self._pages[tab].title)

    def _describe(self, tab: int) -> str:
        return f"Tab {tab} shows {self._reader.describe(self._pages[tab])}"


class PictureListingShopper(Shopper):
    """A shopper of a known taste who looks at a listing, or at a page to search from, by pictures.

    It chooses as `ListingShopper` does among the cards that it has seen: those above the fold of the listing,
    and as far below as its `sight` says. Where there are none, it looks further down for the first of them.
    """

    def __init__(self, taste: Taste, sight: Eyesight, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        super().__init__(taste, seed=seed, nudges=nudges)
        self._sight = sight
        self._clicked = self._typed = self._searched = self._opened = False
        self._views: list[list[VisibleElement]] = []
        self._read_further = 0
        self._choice: ListedProduct | None = None
        self._scrolls = count(1)
        self._buying = _PicturePurchase()

    def _memory(self) -> str:
        return self._describe_all(read_cards_in_picture(self._views))

    def _decide(self, observation: Observation) -> tuple[str, Action]:
        drawn, words = observation.drawn, words_to_search(observation.goal)
        if self._choice and self._opened:
            return self._buying.go_on(drawn, self._choice.title)
        if self._choice:
            return self._open(drawn, self._choice)
        if words and not self._searched:
            return self._search(drawn, words)
        return self._browse(drawn)

    def _search(self, drawn: Sequence[VisibleElement], words: str) -> tuple[str, Action]:
        if self._typed:
            self._searched = True
            return f"I search for {words}.", Action("keyboard_press", ("Enter",))
        if self._clicked:
            self._typed = True
            return f"I write {words}.", Action("keyboard_type", (words,))
        if at := search_field_in(drawn):
            self._clicked = True
            return "I go to the search field.", Action("mouse_click", at)
        return self._look(_DOWN, "the search field")

    def _browse(self, drawn: Sequence[VisibleElement]) -> tuple[str, Action]:
        self._views.append([each for each in drawn if self._sight.reads(each)])
        cards = read_cards_in_picture(self._views)
        if not cards:
            return self._look(_DOWN, "something to choose from")
        if self._read_further < self._sight.scrolls:
            self._read_further += 1
            return "I look whether there is more to choose from.", _DOWN
        self._choice = self._choose_card(cards)
        return self._open(drawn, self._choice)

    def _open(self, drawn: Sequence[VisibleElement], choice: ListedProduct) -> tuple[str, Action]:
        on_card = (each for each in drawn if str(each.card) == choice.address and each.kind == "link")
        title = next((each for each in on_card if each.text == choice.title), None)
        if title is None:
            return self._look(_UP, choice.title)
        self._opened = True
        return f"Of all I saw I prefer {choice.title}; I open its page.", Action("mouse_click", title.centre)

    def _look(self, where: Action, wanted: str) -> tuple[str, Action]:
        if next(self._scrolls) > _MOST_SCROLLS:
            return _give_up(wanted)
        return f"I look for {wanted}.", where
