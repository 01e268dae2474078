"""The profiles of simulated agents, and how they shop in tabs: read all, weigh, put one into the cart."""

import functools
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agents.base import Decision
from agents.simulated.readers.listing_page import Card
from agents.simulated.readers.product_page import ProductPage, read_product_page
from agents.simulated.utility import Alternative, Taste, choice_probabilities, draw
from environments.actions import Action
from environments.observation import Observation
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean, load_model

_SCROLL = Action("scroll", (0.0, 600.0))

Weight = Literal["log_price", "rating", "log_reviews", "position", "nudge"]


class Cues(BaseModel):
    """Phrases that speak for and against a product."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    positive: tuple[str, ...]
    negative: tuple[str, ...]

    @field_validator("positive", "negative")
    @classmethod
    def _lower(cls, phrases: tuple[str, ...]) -> tuple[str, ...]:
        if not all(phrase.strip() for phrase in phrases):
            raise ValueError("a phrase is empty; write words or remove it")
        return tuple(phrase.lower() for phrase in phrases)

    def find(self, text: str) -> list[str]:
        """Return the phrases that occur in a lower-case text, those in favour first."""
        return [phrase for phrase in (*self.positive, *self.negative) if phrase in text]

    def directions(self, text: str) -> set[int]:
        """Return +1 where a lower-case text speaks for the product, -1 where it speaks against it."""
        return {1 for phrase in self.positive if phrase in text} | {
            -1 for phrase in self.negative if phrase in text
        }


class Wish(BaseModel):
    """Words in the goal about the user, and the change that they make in a taste."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str = Field(min_length=1)
    weights: tuple[Weight, ...]
    times: float = Field(ge=0, description="what these weights are multiplied by")


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


class Profiles(BaseModel):
    """The file `simulated.yaml`: the cues and the profiles."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cues: Cues
    wishes: tuple[Wish, ...] = ()
    agents: dict[str, ShopperProfile]


@functools.cache
def shipped() -> Profiles:
    """Return the cues and profiles that come with Souk."""
    return load_model(Path(__file__).with_name("simulated.yaml"), Profiles)


def shipped_profile(name: str) -> ShopperProfile:
    """Return a profile of `simulated.yaml` by its name. Raises UserError when there is none."""
    agents = shipped().agents
    if name not in agents:
        raise UserError(
            f'agents: unknown simulated agent "{name}"; {did_you_mean(name, agents, noun="simulated agents")}'
        )
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
    return Taste(**weights)


class Reader:
    """Reads pages and cards: prices, ratings, reviews, and texts that speak for or against a product.

    It knows the phrases of `simulated.yaml`, and `nudges`: texts -> +1 or -1, such as those that the
    experiment puts on pages. It has to see on the page whether one of them is there.
    """

    def __init__(self, nudges: Mapping[str, int] | None = None) -> None:
        self._nudges = [
            (re.compile(rf"(?<!\w){re.escape(text)}(?!\w)"), direction)
            for text, direction in ((" ".join(t.lower().split()), d) for t, d in (nudges or {}).items())
            if text
        ]

    def alternative(self, item: ProductPage | Card, taste: Taste, *, viewed_first: bool) -> Alternative:
        """Return a page or a card as an alternative to choose."""
        title = item.title.lower()
        return Alternative(
            price=item.price,
            rating=item.rating,
            reviews=item.reviews,
            cue=self.cue(item),
            viewed_first=viewed_first,
            brand=next((brand for brand in taste.brand if brand in title), None),
        )

    def cue(self, item: ProductPage | Card) -> Literal[-1, 0, 1]:
        """Return +1 where the texts speak for the product, -1 where against it, 0 where neither or both."""
        text, directions = item.text, set[int]()
        for pattern, direction in self._nudges:
            if pattern.search(item.whole):
                directions.add(direction)
                text = pattern.sub("\n", text)  # a nudge counts as it is meant, whatever phrases are in it
        directions |= shipped().cues.directions(text)
        if len(directions) != 1:
            return 0
        return 1 if directions == {1} else -1

    def describe(self, item: ProductPage | Card) -> str:
        """Describe in words what a page or a card says."""
        price = "no price" if item.price is None else f"a price of {item.price:,.2f}"
        rating = "no rating" if item.rating is None else f"a rating of {item.rating:g}%"
        nudges = (pattern.search(item.whole) for pattern, _ in self._nudges)
        found = [*shipped().cues.find(item.text), *(match[0] for match in nudges if match)]
        said = f' It says "{found[0]}".' if found else ""
        reviews = f"{item.reviews:,} review{'' if item.reviews == 1 else 's'}"
        return f"{item.title} with {price}, {rating} and {reviews}.{said}"


class Purchase:
    """Puts what a product's page shows into the cart: first the required options, then the button."""

    def __init__(self) -> None:
        self._options_picked = 0

    def go_on(self, page: ProductPage) -> tuple[str, Action]:
        """Return the next thing to do on the page, which has a button."""
        if self._options_picked < len(page.options):
            first = page.options[self._options_picked][0]
            self._options_picked += 1
            return f"{page.title} needs an option; the first will do.", Action("click", (first,))
        return f"I prefer {page.title} and add it to the cart.", Action("click", (page.add_to_cart or "",))


class SimulatedShopper:
    """A shopper of a known taste.

    The tab that is active at its first step is the one viewed first; it then visits the others, the last one
    first. Its choice is `draw(choice_probabilities(...), random.Random(seed).random())` over the tabs that
    show something to buy, in the order of the tabs. For `nudges` see `Reader`.
    """

    def __init__(self, taste: Taste, *, seed: int, nudges: Mapping[str, int] | None = None) -> None:
        self._taste, self._reader = taste, Reader(nudges)
        self._random = random.Random(seed)  # noqa: S311 (sampling must be reproducible; nothing is secret)
        self._pages: dict[int, ProductPage] = {}  # by tab; the first key is the tab viewed first
        self._choice: int | None = None
        self._purchase = Purchase()

    async def act(self, observation: Observation) -> Decision:
        """Read the active tab, then take the next action; never fails, whatever the page holds."""
        tab = observation.active_tab
        self._pages[tab] = read_product_page(observation.html, observation.product)
        thought, action = self._decide(observation, tab)
        if observation.error:
            thought = f"My last action failed: {observation.error} {thought}"
        memory = " ".join(self._describe(index) for index in self._pages)
        return Decision(thought, memory, action)

    def _decide(self, observation: Observation, tab: int) -> tuple[str, Action]:
        unread = set(range(len(observation.tabs))) - set(self._pages)
        if unread:
            following = max(unread)
            return f"{self._describe(tab)} I go on to tab {following}.", Action("tab_focus", (following,))
        buyable = sorted(index for index, page in self._pages.items() if page.add_to_cart)
        if not buyable:
            return "No open tab shows a product that can be bought here. I scroll to look for one.", _SCROLL
        if self._choice not in buyable:
            self._choice = self._choose(buyable)
            self._purchase = Purchase()
        title = self._pages[self._choice].title
        if self._choice != tab:
            return f"Of all I saw I prefer {title}; back to tab {self._choice}.", Action(
                "tab_focus", (self._choice,)
            )
        return self._purchase.go_on(self._pages[tab])

    def _choose(self, tabs: list[int]) -> int:
        first = next(iter(self._pages))
        alternatives = [
            self._reader.alternative(self._pages[tab], self._taste, viewed_first=tab == first) for tab in tabs
        ]
        return tabs[draw(choice_probabilities(self._taste, alternatives), self._random.random())]

    def _describe(self, tab: int) -> str:
        page = self._pages[tab]
        if not page.add_to_cart:
            return f'Tab {tab} shows nothing to buy; its title is "{page.title}".'
        return f"Tab {tab} shows {self._reader.describe(page)}"
