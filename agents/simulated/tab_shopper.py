"""The profiles of simulated agents, and how they shop in tabs: read all, weigh, put one into the cart."""

import functools
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.base import Decision
from agents.simulated.customer import CheckoutHabits
from agents.simulated.nudges import DeclaredNudges, Nudge
from agents.simulated.readers.listing_page import ListedProduct
from agents.simulated.readers.product_page import ProductPage, ReadFacts, read_product_page
from agents.simulated.utility import DisplayedOption, Taste, choose, source_for
from environments.protocol.actions import Action
from environments.protocol.observation import Observation, VisibleElement
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean, load_model

_SCROLL = Action("scroll", (0.0, 600.0))

Weight = Literal["log_price", "rating", "log_reviews", "position", "nudge"]


class Wish(BaseModel):
    """Words in the goal about the user, and the change that they make in a taste."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str = Field(min_length=1)
    weights: tuple[Weight, ...]
    times: float = Field(ge=0, description="what these weights are multiplied by")


class Eyesight(BaseModel):
    """What a shopper can read of a picture, and how far down a page it looks before it chooses."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    smallest: float = Field(
        default=0.0, ge=0, le=1_000, description="letters below this size (px) are not read"
    )
    contrast: float = Field(default=1.0, ge=1, le=21, description="ink below this contrast is not read")
    scrolls: int = Field(default=0, ge=0, le=20, description="how often it scrolls down a page to read on")

    def reads(self, each: VisibleElement) -> bool:
        """Return whether a text is large and dark enough for these eyes."""
        return each.size >= self.smallest and each.contrast >= self.contrast


class ShopperProfile(BaseModel):
    """A simulated agent's profile: its taste, its biases and the rest of what decides its answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    taste: Taste = Field(default=Taste(), description="how it chooses between products, or options of a card")
    anchoring: float = Field(
        default=0.0, ge=0, le=1, description="how far an anchor pulls its willingness to pay"
    )
    bias: float = Field(
        default=0.0, ge=0, le=1, description="share of each bias of survey.yaml that it shows"
    )
    invalid: float = Field(default=0.0, ge=0, le=1, description="share of questions first answered invalidly")
    checkout: CheckoutHabits = Field(default=CheckoutHabits(), description="how much of a checkout it reads")
    sight: Eyesight = Field(
        default=Eyesight(), description="what it can read where pages are shown as pictures"
    )


class Profiles(BaseModel):
    """The file `simulated.yaml`: the wishes and the profiles."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wishes: tuple[Wish, ...] = ()
    agents: dict[str, ShopperProfile]


@functools.cache
def shipped() -> Profiles:
    """Return the wishes and profiles that come with Souk."""
    return load_model(Path(__file__).with_name("simulated.yaml"), Profiles)


def shipped_profile(name: str) -> ShopperProfile:
    """Return a profile of `simulated.yaml` by its name. Raises UserError when there is none."""
    agents = shipped().agents
    if name not in agents:
        hint = did_you_mean(name, agents, noun="simulated agents")
        raise UserError(f'agents: unknown simulated agent "{name}"; {hint} (a file\'s name ends in .yaml)')
    return agents[name]


def shipped_taste(name: str) -> Taste:
    """Return the taste of a profile. Raises UserError as `shipped_profile` does."""
    return shipped_profile(name).taste


def taste_for(goal: str, taste: Taste) -> Taste:
    """Return the taste of an agent that shops for the user whom the goal describes."""
    weights = taste.model_dump()
    for wish in shipped().wishes:
        if wish.says in goal:
            weights |= {name: weights[name] * wish.times for name in wish.weights}
            spread = weights["spread"]
            weights["spread"] = spread | {n: spread[n] * wish.times for n in wish.weights if n in spread}
    return Taste(**weights)


class PageReader:
    """Reads pages and cards: prices, ratings, reviews, and the experiment's nudges.

    `nudges` are those that the experiment declares. The reader has to see on the page whether one is there.
    """

    def __init__(self, nudges: Sequence[Nudge] = ()) -> None:
        self._nudges = DeclaredNudges(nudges)

    def alternative(self, item: ReadFacts, taste: Taste, *, viewed_first: bool) -> DisplayedOption:
        """Return a page or a card as an alternative to choose."""
        title = item.title.lower()
        return DisplayedOption(
            price=item.price,
            rating=item.rating,
            reviews=item.reviews,
            cue=self._nudges.cue(item.text),
            viewed_first=viewed_first,
            brand=next((brand for brand in taste.brand if brand in title), None),
        )

    def describe(self, item: ReadFacts) -> str:
        """Describe in words what a page or a card says."""
        price = "no price" if item.price is None else f"a price of {item.price:,.2f}"
        rating = "no rating" if item.rating is None else f"a rating of {item.rating:g}%"
        nudge = next(iter(self._nudges.find(item.text)), None)
        said = f' It says "{nudge.text}"' if nudge else ""
        said += f" ({nudge.family})." if nudge and nudge.family else "." if nudge else ""
        reviews = f"{item.reviews:,} review{'' if item.reviews == 1 else 's'}"
        return f"{item.title} with {price}, {rating} and {reviews}.{said}"


class PurchaseSteps:
    """Puts what a product's page shows into the cart: first the required options, then the button."""

    def __init__(self) -> None:
        self._options_picked = 0
        self.is_done = False
        """Whether the button was pressed."""

    def go_on(self, page: ProductPage) -> tuple[str, Action]:
        """Return the next thing to do on the page, which has a button."""
        if self._options_picked < len(page.options):
            first = page.options[self._options_picked][0]
            self._options_picked += 1
            return f"{page.title} needs an option; the first will do.", Action("click", (first,))
        self.is_done = True
        return f"I prefer {page.title} and add it to the cart.", Action("click", (page.add_to_cart or "",))


class Shopper(ABC):
    """A shopper of a known taste, which draws by `seed`. For `nudges` see `PageReader`."""

    def __init__(self, taste: Taste, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        self._taste, self._reader = taste, PageReader(nudges)
        self._random = random.Random(seed)  # noqa: S311 (sampling must be reproducible; nothing is secret)
        self._purchase = PurchaseSteps()

    @property
    def has_bought(self) -> bool:
        """Whether it has put something into the cart."""
        return self._purchase.is_done

    async def act(self, observation: Observation) -> Decision:
        """Read what is shown, then take the next action; never fails, whatever the page holds."""
        thought, action = self._decide(observation)
        if observation.error:
            thought = f"My last action failed: {observation.error} {thought}"
        return Decision(thought, self._memory(), action)

    @abstractmethod
    def _decide(self, observation: Observation) -> tuple[str, Action]:
        """Return the thought and the action."""

    @abstractmethod
    def _memory(self) -> str:
        """Return what is remembered of all that was read."""

    def _choose(self, items: Sequence[ReadFacts], first: int, shown: str) -> int:
        """Return the index of the item that is taken; `first`: of the one that was viewed first."""
        alternatives = [
            self._reader.alternative(item, self._taste, viewed_first=index == first)
            for index, item in enumerate(items)
        ]
        return choose(self._taste, alternatives, source_for(self._taste, shown, self._random))

    def _choose_card(self, cards: Sequence[ListedProduct]) -> ListedProduct:
        return cards[self._choose(cards, 0, self._describe_all(cards))]

    def _describe_all(self, items: Iterable[ReadFacts]) -> str:
        return " ".join(map(self._reader.describe, items))


class SimulatedShopper(Shopper):
    """A shopper who visits tabs.

    The tab that is active at its first step is the one viewed first; it then visits the others, the last one
    first. Its choice is `choose(..., source_for(..., random.Random(seed)))` over the tabs that show something
    to buy, in the order of the tabs.
    """

    def __init__(self, taste: Taste, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        super().__init__(taste, seed=seed, nudges=nudges)
        self._pages: dict[int, ProductPage] = {}  # by tab; the first key is the tab viewed first
        self._choice: int | None = None

    def _decide(self, observation: Observation) -> tuple[str, Action]:
        tab = observation.active_tab
        self._pages[tab] = read_product_page(observation.html, observation.product)
        if further := self._go_on(observation):
            return further
        buyable = sorted(index for index, page in self._pages.items() if page.add_to_cart)
        if not buyable:
            return "No open tab shows a product that can be bought here. I scroll to look for one.", _SCROLL
        if self._choice not in buyable:
            self._choice = self._choose_tab(buyable)
            self._purchase = PurchaseSteps()
        if self._choice != tab:
            return self._go_back(self._choice)
        return self._purchase.go_on(self._pages[tab])

    def _go_on(self, observation: Observation) -> tuple[str, Action] | None:
        """Go to the last of the tabs that have not been read; None: all have been."""
        unread = set(range(len(observation.tabs))) - set(self._pages)
        if not unread:
            return None
        following = max(unread)
        told = f"{self._describe(observation.active_tab)} I go on to tab {following}."
        return told, Action("tab_focus", (following,))

    def _go_back(self, tab: int) -> tuple[str, Action]:
        told = f"Of all I saw I prefer {self._pages[tab].title}; back to tab {tab}."
        return told, Action("tab_focus", (tab,))

    def _choose_tab(self, tabs: list[int]) -> int:
        first = next(iter(self._pages))
        shown = " ".join(f"{tab == first} {self._describe(tab)}" for tab in tabs)
        viewed_first = tabs.index(first) if first in tabs else -1
        return tabs[self._choose([self._pages[tab] for tab in tabs], viewed_first, shown)]

    def _memory(self) -> str:
        return " ".join(map(self._describe, self._pages))

    def _describe(self, tab: int) -> str:
        page = self._pages[tab]
        if not page.add_to_cart:
            return f'Tab {tab} shows nothing to buy; its title is "{page.title}".'
        return f"Tab {tab} shows {self._reader.describe(page)}"
