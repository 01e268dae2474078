"""Respondents on card pages in a real browser, through the real observation and actions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from agents.base import Agent, Decision
from agents.language_model.agent import LanguageModelShopper
from agents.registry import make_agent
from agents.simulated.agent import SimulatedAgent
from agents.simulated.respondent import SimulatedRespondent
from agents.simulated.tab_shopper import ShopperProfile, shipped_profile
from environments.browser.pool import run_browsers
from environments.episode import Episode
from environments.protocol.observation import Observation, Tab
from interventions.cards.card import Alternative, Card, LetterAnswer, NumberAnswer
from interventions.cards.page import ANSWER_PATH, render_fragment, render_page, thanks_page
from interventions.cards.reply import InvalidAnswer
from tests.support import serve

YES_NO = LetterAnswer(labels={"A": "Yes", "B": "No"})
OPTIONS = "\n\nA: Yes\nB: No\n\nReply with only the letter A or B."
COUNTS = {2: "two", 3: "three", 6: "six"}
BUY = Card(
    id="buy",
    look="shop",
    intro="Corvane Docking Station\n\nA small box with many ports.",
    question="Would you buy this product for $95?",
    reply=OPTIONS,
    answer=YES_NO,
)
WORTH = Card(
    id="wtp",
    look="shop",
    question="What is the highest price, in US dollars, that you would pay for the docking station?",
    answer=NumberAnswer(unit="$"),
)
FRAMING = Card(
    id="framing",
    intro="Answer with the letter only.\n\n----------",
    question="You go to see a play. You have lost the ticket, which was $10. Would you pay $10 for another?",
    reply=OPTIONS,
    answer=YES_NO,
)
SHOP_PAGE = """<!doctype html><title>Docking Station</title><a href="/">Home</a>
<h1>Corvane Docking Station</h1>{}<button>Add to Cart</button><h2>More</h2><p>Coffee pods, $12.50</p>"""


def hotels(count: int) -> Card:
    facts = [
        (
            ("Hotel", f"Hotel {name}"),
            ("Star rating", f"{2 + number % 4} stars"),
            ("Neighborhood", "Midtown"),
            ("Guest review score", f"{8 + number / 10}/10 ({1_000 + number:,} reviews)"),
            ("Room type", "King Room (1 king bed)"),
            ("Free cancellation", "Yes" if number % 2 else "No"),
            ("Breakfast included", "No" if number % 3 else "Yes"),
            ("Key amenities", "Free WiFi; Air conditioning; Fitness center; Restaurant"),
            ("Price per night", f"${250 + 4 * number}"),
        )
        for number, name in enumerate(["Larch", "Reade", "Tern", "Alder", "Osprey", "Wren"][:count])
    ]
    return Card(
        id="hotel-choice",
        look="booking",
        intro=f"You are booking a hotel room. You must choose between the following {COUNTS[count]} options.",
        alternatives=tuple(Alternative(key=str(i), facts=each) for i, each in enumerate(facts)),
        question="Which option do you choose?",
        answer=LetterAnswer(labels=dict.fromkeys("ABCDEF"[:count], "")),
    )


@dataclass
class Questioner:
    """Serves cards one after the other; an invalid answer brings the same card again, with what was wrong."""

    cards: Sequence[Card]
    within: str = ""
    """A shop's page that holds the card."""
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
        if self.within:
            return HTMLResponse(
                self.within.format(render_fragment(card, action=ANSWER_PATH, problem=self.problem))
            )
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


async def respond(agent: Agent, questioner: Questioner, *, steps: int = 10) -> list[Decision]:
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


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize(("count", "scrolls"), [(2, 0), (3, 0), (6, 1)])
async def test_a_choice_on_the_page_is_the_choice_of_the_prompt(count: int, scrolls: int) -> None:
    card, profile = hotels(count), shipped_profile("balanced")
    for seed in (1, 2):
        questioner = Questioner([card])
        decisions = await respond(SimulatedAgent(profile, seed=seed), questioner)
        assert questioner.valid == [SimulatedRespondent(profile, seed=seed).reply([card.prompt])]
        names = [decision.action.name for decision in decisions]
        assert names[-1] == "click"
        assert names[:-1].count("scroll") == len(names) - 1 >= scrolls
        assert count > 3 or len(names) == 1


@pytest.mark.thorough
@pytest.mark.browser
async def test_one_card_after_the_other() -> None:
    cards = [hotels(2), hotels(3), FRAMING]
    questioner = Questioner(cards)
    await respond(SimulatedAgent(shipped_profile("position-locked"), seed=4), questioner)
    respondent = SimulatedRespondent(shipped_profile("position-locked"), seed=4)
    assert questioner.valid == [respondent.reply([card.prompt]) for card in cards]


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("within", ["", SHOP_PAGE])
async def test_the_anchor_of_an_earlier_page_is_remembered(within: str) -> None:
    questioner = Questioner([BUY, WORTH], within)
    decisions = await respond(SimulatedAgent(ShopperProfile(anchoring=0.4), seed=5), questioner)
    assert [decision.action.name for decision in decisions] == ["click", "fill", "click"]
    respondent = SimulatedRespondent(ShopperProfile(anchoring=0.4), seed=5)
    bought = respondent.reply([BUY.prompt])
    assert questioner.valid == [bought, float(respondent.reply([BUY.prompt, WORTH.prompt]))]


@pytest.mark.browser
async def test_an_invalid_answer_is_mended_when_the_page_says_so() -> None:
    questioner = Questioner([WORTH])
    await respond(SimulatedAgent(ShopperProfile(invalid=1.0), seed=6), questioner)
    refusal, mended = questioner.given
    assert not any(digit in refusal for digit in "0123456789")
    assert [float(mended)] == questioner.valid


@pytest.mark.thorough
@pytest.mark.browser
async def test_there_is_no_button_for_a_refusal() -> None:
    questioner = Questioner([hotels(2), FRAMING])
    await respond(SimulatedAgent(ShopperProfile(invalid=1.0), seed=6), questioner)
    assert questioner.given == questioner.valid


@pytest.mark.browser
async def test_a_language_model_fills_in_and_clicks(provider) -> None:
    questioner = Questioner([WORTH])
    answer = "<think>It is worth it.</think><memory>asked for a price</memory><action>{}</action>"
    provider.say(answer.format("fill('1', '49.50')"))
    provider.say(answer.format("click('2')"))
    agent = make_agent("openai:gpt-4.1-mini", seed=1)
    assert isinstance(agent, LanguageModelShopper)
    await respond(agent, questioner)
    assert questioner.valid == [49.5]
    shown = provider.requests[0]["messages"][1]["content"]
    assert WORTH.question in shown
    assert '<input bid="1" name="answer"' in shown
    assert 'value="49.50"' in provider.requests[1]["messages"][1]["content"]


@pytest.mark.browser
async def test_a_language_model_chooses_among_hotels(provider) -> None:
    questioner = Questioner([hotels(2)])
    provider.say("<think>Larch is cheaper.</think><memory></memory><action>click('1')</action>")
    await respond(make_agent("openai:gpt-4.1-mini", seed=1), questioner)
    assert questioner.valid == ["A"]
    shown = provider.requests[0]["messages"][1]["content"]
    body = LexborHTMLParser(shown).body
    assert body is not None
    text = " ".join(body.text(separator=" ").split())
    for _, value in (fact for each in hotels(2).alternatives for fact in each.facts):
        assert value in text
    assert 'aria-label="Choose Hotel Reade"' in shown


async def test_without_a_card_it_shops(observe: Callable[..., Observation]) -> None:
    page = '<h1>Lamp</h1><span>$20.00</span><button bid="55">Add to Cart</button>'
    observation = Observation("Buy.", page, (Tab("Lamp", "http://shop.test/", True),))
    decision = await SimulatedAgent(ShopperProfile(), seed=1).act(observation)
    assert str(decision.action) == "click('55')"
