"""A simulated agent: shops in tabs, and answers questions in a conversation or on a page."""

from agents.base import Decision, Message, Reply
from agents.page_respondent import PageRespondent
from agents.respondent import SimulatedRespondent
from agents.simulated import Profile, SimulatedShopper
from environments.observation import Observation


class SimulatedAgent:
    """An agent and respondent of a known profile, whose draws follow from `seed`."""

    def __init__(self, profile: Profile, *, seed: int) -> None:
        self._shopper = SimulatedShopper(profile.taste, seed=seed)
        self._respondent = SimulatedRespondent(profile, seed=seed)
        self._on_page = PageRespondent(self._respondent)

    async def act(self, observation: Observation) -> Decision:
        """Answer the card that is in sight, else shop. Raises AgentError as `answer` does."""
        return self._on_page.decide(observation) or await self._shopper.act(observation)

    async def answer(self, messages: list[Message], *, temperature: float | None, max_tokens: int) -> Reply:
        """See `SimulatedRespondent.answer`."""
        return await self._respondent.answer(messages, temperature=temperature, max_tokens=max_tokens)
