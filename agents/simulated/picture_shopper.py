"""A simulated shopper that looks: it knows what can be seen in the pictures, and acts at their points."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from agents.simulated.nudges import Nudge
from agents.simulated.readers.picture_page import button_in, option_groups, read_picture
from agents.simulated.tab_shopper import Eyesight, SimulatedShopper
from agents.simulated.utility import Taste
from environments.protocol.actions import Action
from environments.protocol.drawn import Drawn
from environments.protocol.observation import Observation

_MIDDLE: Final = (640.0, 400.0)
DOWN: Final = Action("scroll_at", (*_MIDDLE, 0.0, 500.0))
UP: Final = Action("scroll_at", (*_MIDDLE, 0.0, -500.0))
MOST_SCROLLS: Final = 12
"""How far it looks for what it needs before it gives up."""


def give_up(wanted: str) -> tuple[str, Action]:
    """Return the thought and the action of a shopper who has looked for something long enough."""
    return f"I cannot see {wanted}.", Action("give_up", (f"{wanted} cannot be seen",))


class PicturePurchase:
    """Puts what a product's page shows into the cart: required options, then the button, of any size."""

    def __init__(self) -> None:
        self._picked: set[str] = set()
        self._scrolls = 0

    def go_on(self, drawn: Sequence[Drawn], title: str) -> tuple[str, Action]:
        """Return the next thing to do on the page of the product with this title."""
        for group in option_groups(drawn):
            if not self._picked & {each.text for each in group}:
                self._picked.add(group[0].text)
                return f"{title} needs an option; the first will do.", Action("mouse_click", group[0].at)
        if at := button_in(drawn):
            return f"I prefer {title} and add it to the cart.", Action("mouse_click", at)
        self._scrolls += 1
        if self._scrolls > MOST_SCROLLS:
            return give_up("a button for the cart")
        return "I scroll to find the button for the cart.", DOWN


class PictureShopper(SimulatedShopper):
    """A shopper of a known taste who looks at pictures, and reads of them what its `sight` can.

    It visits the tabs as `SimulatedShopper` does, and chooses alike by what it has read.
    """

    def __init__(self, taste: Taste, sight: Eyesight, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        super().__init__(taste, seed=seed, nudges=nudges)
        self._sight, self._buying = sight, PicturePurchase()
        self._views = defaultdict[int, list[list[Drawn]]](list)

    def _decide(self, observation: Observation) -> tuple[str, Action]:
        tab = observation.active_tab
        if self._choice is None:
            views = self._views[tab]
            views.append([each for each in observation.drawn if self._sight.reads(each)])
            self._pages[tab] = read_picture(views)
            if len(views) <= self._sight.scrolls:
                return f"I look further down in tab {tab}.", DOWN
            if further := self._go_on(observation):
                return further
            self._choice = self._choose_tab(sorted(self._pages))
        if self._choice != tab:
            return self._go_back(self._choice)
        return self._buying.go_on(observation.drawn, self._pages[tab].title)

    def _describe(self, tab: int) -> str:
        return f"Tab {tab} shows {self._reader.describe(self._pages[tab])}"
