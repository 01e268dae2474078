"""A simulated shopper that looks: it knows what can be seen in the pictures, and acts at their points."""

import random
from collections.abc import Sequence
from typing import Final

from agents.base import Decision
from agents.simulated.nudges import Nudge
from agents.simulated.readers.picture_page import button_in, option_groups, read_picture
from agents.simulated.readers.product_page import ProductPage
from agents.simulated.tab_shopper import Eyesight, PageReader
from agents.simulated.utility import Taste, choose, source_for
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


class PictureShopper:
    """A shopper of a known taste who looks at pictures, and reads of them what its `sight` can.

    It visits the tabs as `SimulatedShopper` does, and chooses alike by what it has read.
    """

    def __init__(self, taste: Taste, sight: Eyesight, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        self._taste, self._sight, self._reader = taste, sight, PageReader(nudges)
        self._random = random.Random(seed)  # noqa: S311 (sampling must be reproducible; nothing is secret)
        self._views: dict[int, list[list[Drawn]]] = {}  # by tab; the first key is the tab viewed first
        self._choice: int | None = None
        self._purchase = PicturePurchase()

    async def act(self, observation: Observation) -> Decision:
        """Look at the picture of the active tab, then take the next action."""
        tab = observation.active_tab
        if self._choice is None:
            views = self._views.setdefault(tab, [])
            views.append([each for each in observation.drawn if self._sight.reads(each)])
        thought, action = self._decide(observation, tab)
        if observation.error:
            thought = f"My last action failed: {observation.error} {thought}"
        memory = " ".join(self._describe(index) for index in self._views)
        return Decision(thought, memory, action)

    def _decide(self, observation: Observation, tab: int) -> tuple[str, Action]:
        if self._choice is None:
            if len(self._views[tab]) <= self._sight.scrolls:
                return f"I look further down in tab {tab}.", DOWN
            unread = set(range(len(observation.tabs))) - set(self._views)
            if unread:
                following = max(unread)
                return f"{self._describe(tab)} I go on to tab {following}.", Action("tab_focus", (following,))
            self._choice = self._choose()
        title = self._page(self._choice).title
        if self._choice != tab:
            return f"Of all I saw I prefer {title}; back to tab {self._choice}.", Action(
                "tab_focus", (self._choice,)
            )
        return self._purchase.go_on(observation.drawn, title)

    def _choose(self) -> int:
        tabs, first = sorted(self._views), next(iter(self._views))
        alternatives = [
            self._reader.alternative(self._page(tab), self._taste, viewed_first=tab == first) for tab in tabs
        ]
        shown = " ".join(f"{tab == first} {self._describe(tab)}" for tab in tabs)
        return tabs[choose(self._taste, alternatives, source_for(self._taste, shown, self._random))]

    def _page(self, tab: int) -> ProductPage:
        return read_picture(self._views[tab])

    def _describe(self, tab: int) -> str:
        return f"Tab {tab} shows {self._reader.describe(self._page(tab))}"
