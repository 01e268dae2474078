"""Respondents on card pages in a real browser, through the real observation and actions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from agents.base import Agent, Decision
from agents.registry import make_agent
from agents.simulated.agent import SimulatedAgent
from agents.simulated.respondent import SimulatedRespondent
from agents.simulated.tab_shopper import ShopperProfile, shipped_taste
from environments.browser.pool import run_browsers
from environments.episode import Episode
from interventions.cards.card import Card
from interventions.cards.page import ANSWER_PATH, render_page, thanks_page
from interventions.cards.reply import InvalidAnswer
from interventions.files.schema import load_interventions
from tests.agents.simulated.hotels import hotels
from tests.support import serve

pytestmark = pytest.mark.browser

SHIPPED = load_interventions("willingness-to-pay")
TOWELS = {"title": "Linden Paper Towels", "description": "Sixteen rolls.", "condition": "high"}
BUY, WORTH = (SHIPPED[name].card.fill(TOWELS, id=name) for name in ("buy", "wtp"))
SIX = [
    {
        "name": f"Hotel {name}",
        "stars": 2 + i % 4,
        "reviews": 1_000 + i,
        "cancellation": i % 2,
        "price": 250 + 4 * i,
    }
    for i, name in enumerate(["Larch", "Reade", "Tern", "Alder", "Osprey", "Wren"])
]


@dataclass
class Questioner:
    """Serves cards one after the other; an invalid answer brings the same card again, with what was wrong."""

    cards: Sequence[Card]
    given: list[str] = field(default_factory=list)
    valid: list[str | float] = field(default_factory=list)
    problem: str = ""

    @property
    def done(self) -> bool:
        return len(self.valid) == len(self.cards)

    def show(self, request: Request) -> Response:
        if self.done:
            return HTMLResponse(thanks_page())
        card = self.cards[len(self.valid)]
        return HTMLResponse(render_page(card, action=ANSWER_PATH, problem=self.problem))

    async def take(self, request: Request) -> Response:
        text = str((await request.form())["answer"])
        self.given.append(text)
        try:
            self.valid.append(self.cards[len(self.valid)].answer.read(text).value)
            self.problem = ""
        except InvalidAnswer as error:
            self.problem = f"That is no answer: {error}."
        return RedirectResponse("/", status_code=303)


async def respond(agent: Agent, questioner: Questioner, *, steps: int = 20) -> list[Decision]:
    """Let an agent act until all is answered."""
    routes = [Route("/", questioner.show), Route(ANSWER_PATH, questioner.take, methods=["POST"])]
    decisions: list[Decision] = []
    async with (
        serve(Starlette(routes=routes)) as url,
        run_browsers() as browsers,
        browsers.context(None) as context,
    ):
        episode = Episode(context, "Answer the questions.")
        await episode.open([url])
        while not questioner.done and len(decisions) < steps:
            decisions.append(await agent.act((await episode.look()).observation))
            assert not await episode.act(decisions[-1].action)
    return decisions


@pytest.mark.parametrize("seed", [1, 2])
async def test_an_answer_on_the_page_is_the_answer_to_the_prompt(seed: int) -> None:
    """The anchor of an earlier page is remembered."""
    profile = ShopperProfile(taste=shipped_taste("balanced"), anchoring=0.4)
    questioner = Questioner([hotels(*SIX[:2]), hotels(*SIX), BUY, WORTH])
    await respond(SimulatedAgent(profile, seed=seed), questioner)
    respondent = SimulatedRespondent(profile, seed=seed)
    choices = [respondent.reply([card.prompt]) for card in (hotels(*SIX[:2]), hotels(*SIX), BUY)]
    assert questioner.valid == [*choices, float(respondent.reply([BUY.prompt, WORTH.prompt]))]


async def test_an_invalid_answer_is_mended_when_the_page_says_so() -> None:
    questioner = Questioner([WORTH])
    await respond(SimulatedAgent(ShopperProfile(invalid=1.0), seed=6), questioner)
    refusal, mended = questioner.given
    assert not any(digit in refusal for digit in "0123456789")
    assert [float(mended)] == questioner.valid


async def test_a_language_model_chooses_among_hotels(provider) -> None:
    questioner = Questioner([hotels(*SIX[:2])])
    provider.say("<think>Larch is cheaper.</think><memory></memory><action>click('1')</action>")
    await respond(make_agent("openai:gpt-4.1-mini", seed=1), questioner)
    assert questioner.valid == ["A"]
    shown = provider.requests[0]["messages"][1]["content"]
    body = LexborHTMLParser(shown).body
    assert body is not None
    text = " ".join(body.text(separator=" ").split())
    for _, value in (fact for each in hotels(*SIX[:2]).alternatives for fact in each.facts):
        assert value in text
    assert 'aria-label="Choose Hotel Reade"' in shown
