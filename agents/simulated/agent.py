"""A simulated agent: it shops in tabs, from a list or by data, and answers in a conversation or on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.base import ChatMessage, Decision, Reply
from agents.simulated.customer import Customer, wants_order
from agents.simulated.data_shopper import DataShopper
from agents.simulated.listing_shopper import ListingShopper, words_to_search
from agents.simulated.nudges import Nudge
from agents.simulated.page_respondent import PageRespondent
from agents.simulated.picture_shopper import PictureListingShopper, PictureShopper
from agents.simulated.readers.listing_page import read_cards
from agents.simulated.readers.product_page import read_product_page
from agents.simulated.readers.tree_page import as_html
from agents.simulated.respondent import SimulatedRespondent
from agents.simulated.tab_shopper import Shopper, ShopperProfile, SimulatedShopper, taste_for
from environments.protocol.observation import Observation


class SimulatedAgent:
    """An agent and respondent of a known profile, which draws by `seed`. For `nudges` see `PageReader`."""

    def __init__(self, profile: ShopperProfile, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        self._taste, self._seed, self._nudges = profile.taste, seed, nudges
        self._sight = profile.sight
        self._shopper: Shopper | None = None
        self._customer = Customer(profile.checkout, seed=seed)
        self._respondent = SimulatedRespondent(profile, seed=seed)
        self._on_page = PageRespondent(self._respondent)

    async def act(self, observation: Observation) -> Decision:
        """Answer the card that is in sight; without a card, shop. Raises AgentError as `answer` does."""
        if observation.tree and not observation.html:
            observation = replace(observation, html=as_html(observation.tree))
        if observation.interface == "page" and (decision := self._on_page.decide(observation)):
            return decision
        self._shopper = self._shopper or self._shopper_for(observation)
        if observation.interface == "page" and wants_order(observation.goal):
            if self._shopper.has_bought:
                thought, action = self._customer.decide(observation)
                return Decision(thought, "", action)
            self._customer.read(observation.html)
        return await self._shopper.act(observation)

    async def answer(
        self,
        messages: list[ChatMessage],
        *,
        temperature: float | None,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """See `SimulatedRespondent.answer`."""
        return await self._respondent.answer(
            messages, temperature=temperature, max_tokens=max_tokens, schema=schema
        )

    def _shopper_for(self, observation: Observation) -> Shopper:
        """Of pictures by looking; from one tab with cards, or with nothing to buy in view, as from a list.

        So from one from which to search. Without pages by data, else as from tabs.
        """
        taste = taste_for(observation.goal, self._taste)
        if observation.interface != "page":
            return DataShopper(taste, seed=self._seed, nudges=self._nudges)
        looks = observation.screenshot and not observation.html
        has_cards = any(each.card >= 0 for each in observation.drawn) or read_cards(observation.html)
        has_none = not (looks or read_product_page(observation.html, observation.product).add_to_cart)
        lists = len(observation.tabs) == 1 and (words_to_search(observation.goal) or has_cards or has_none)
        if looks:
            by_pictures = PictureListingShopper if lists else PictureShopper
            return by_pictures(taste, self._sight, seed=self._seed, nudges=self._nudges)
        by_text = ListingShopper if lists else SimulatedShopper
        return by_text(taste, seed=self._seed, nudges=self._nudges)
