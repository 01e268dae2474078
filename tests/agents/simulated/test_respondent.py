import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from agents.base import AgentError, ChatMessage
from agents.registry import make_respondent
from agents.simulated.readers.card_text import read_options, to_alternatives
from agents.simulated.respondent import REFUSAL, SimulatedRespondent
from agents.simulated.tab_shopper import ShopperProfile, shipped_profile
from agents.simulated.utility import choice_probabilities
from agents.simulated.valuation import shipped_valuations
from interventions.cards.card import LetterAnswer, NumberAnswer
from interventions.cards.reply import ENDED, InvalidAnswer
from interventions.files.schema import load_interventions
from tests.agents.simulated.hotels import hotels

TRIPLE = hotels(
    {"name": "The Larch", "stars": 4, "score": 8.4, "price": 250},
    {"name": "Hotel Reade", "stars": 3, "score": 8.6, "price": 220},
    {"name": "The Tern", "stars": 5, "score": 8.0, "price": 280},
).prompt
BUY = (
    "The product: a docking station with two ports. Take the last two digits of your number as a price in"
    " dollars. Would you buy it for ${anchor}? A: Yes, B: No. Answer with the letter only."
)
WORTH = "What is the maximum amount in US dollars that you would be willing to pay for the docking station?"


def ask(profile: ShopperProfile, texts: list[str], seed: int) -> str:
    return SimulatedRespondent(profile, seed=seed).reply(texts)


def said(*texts: str) -> list[ChatMessage]:
    """A conversation: a system message, then questions with an answer in between."""
    messages: list[ChatMessage] = [{"role": "system", "content": "Your number is 987-65-4395."}]
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "B"}]
    return messages[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("taste", ["balanced", "position-locked", "random"])
def test_choices_are_as_frequent_as_their_probabilities(taste: str) -> None:
    profile = shipped_profile(taste)
    letters = [ask(profile, [TRIPLE], seed) for seed in range(2_000)]
    counts = [letters.count(letter) for letter in "ABC"]
    alternatives = to_alternatives(read_options(TRIPLE))
    expected = choice_probabilities(profile.taste, alternatives) * len(letters)
    assert chisquare(counts, expected).pvalue > 1e-3


def test_equal_seeds_and_a_question_that_is_asked_again_give_equal_answers() -> None:
    profile = shipped_profile("balanced")
    for text in (TRIPLE, BUY.format(anchor=15), WORTH):
        respondent = SimulatedRespondent(profile, seed=7)
        assert {respondent.reply([text]) for _ in range(3)} == {ask(profile, [text], 7)}
    assert len({ask(profile, [WORTH], seed) for seed in range(20)}) == 20


def _mean_worth(anchoring: float, anchor: int | None, seeds: range) -> float:
    texts = [WORTH] if anchor is None else [BUY.format(anchor=anchor), WORTH]
    return statistics.fmean(float(ask(ShopperProfile(anchoring=anchoring), texts, seed)) for seed in seeds)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_the_anchoring_weight_is_recovered(weight: float) -> None:
    """With the same seeds the draws are equal, and so the difference is exact but for the cents."""
    seeds = range(100)
    high, low = (_mean_worth(weight, anchor, seeds) for anchor in (95, 15))
    assert high - low == pytest.approx(weight * 80, abs=0.01)
    assert low == pytest.approx((1 - weight) * _mean_worth(weight, None, seeds) + weight * 15, abs=0.01)


def test_answers_follow_the_known_valuations() -> None:
    known = shipped_valuations().products["docking station"]
    worth = [float(ask(ShopperProfile(), [WORTH], seed)) for seed in range(1_000)]
    logs = np.log(worth)
    assert abs(logs.mean() - math.log(known.median)) < 4 * known.spread / math.sqrt(len(worth))
    assert logs.std() == pytest.approx(known.spread, rel=0.1)


@pytest.mark.parametrize(
    ("anchor", "question"), [(15, BUY), (60, BUY), (95, BUY.replace("A: Yes, B: No", "A: No, B: Yes"))]
)
def test_what_is_worth_its_price_is_bought(anchor: int, question: str) -> None:
    yes = "A" if "A: Yes" in question else "B"
    for seed in range(50):
        worth = float(ask(ShopperProfile(), [WORTH], seed))
        assert (ask(ShopperProfile(), [question.format(anchor=anchor)], seed) == yes) == (worth >= anchor)


@pytest.mark.parametrize(("condition", "anchor"), [("low", 15), ("high", 95)])
def test_the_shipped_cards_are_understood(condition: str, anchor: int) -> None:
    shipped = load_interventions("willingness-to-pay")
    values = {"title": "Linden Paper Towels", "description": "Sixteen rolls.", "condition": condition}
    buy, worth, control = (
        card.fill(values, id=name)
        for name in ("buy", "wtp", "wtp-control")
        if (card := shipped[name].card) is not None
    )
    pulled, free = (
        SimulatedRespondent(ShopperProfile(anchoring=anchoring), seed=2) for anchoring in (0.25, 0)
    )
    letter = buy.answer.read(pulled.reply([buy.prompt])).value
    after = worth.answer.read(pulled.reply([buy.prompt, worth.prompt])).value
    value = control.answer.read(free.reply([control.prompt])).value
    assert isinstance(after, float)
    assert isinstance(value, float)
    assert after == pytest.approx(0.75 * value + 0.25 * anchor, abs=0.01)
    assert letter == ("A" if value >= anchor else "B")


async def test_a_conversation_in_parts_and_as_a_whole_give_the_same() -> None:
    buy = BUY.format(anchor=95)
    asked = make_respondent("simulated:anchored", seed=3)
    await asked.answer(said(buy), temperature=1.0, max_tokens=8)
    in_parts = await asked.answer(said(buy, WORTH), temperature=1.0, max_tokens=8)
    whole = await make_respondent("simulated:anchored", seed=3).answer(
        said(buy, WORTH), temperature=None, max_tokens=8
    )
    assert in_parts == whole
    assert NumberAnswer(unit="$").read(whole.text).value > 0
    assert whole.ending == ENDED
    assert whole.call is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "form"), [(TRIPLE, LetterAnswer(labels=dict.fromkeys("ABC", ""))), (WORTH, NumberAnswer())]
)
def test_invalid_answers_come_as_often_as_configured_and_are_mended(
    text: str, form: LetterAnswer | NumberAnswer
) -> None:
    refused = 0
    for seed in range(1_000):
        respondent = SimulatedRespondent(ShopperProfile(invalid=0.1), seed=seed)
        if respondent.reply([text]) == REFUSAL:
            refused += 1
            with pytest.raises(InvalidAnswer):
                form.read(REFUSAL)
            form.read(respondent.reply([text, "Answer properly, and nothing else."]))
            form.read(respondent.reply([text]))
    assert binomtest(refused, 1_000, 0.1).pvalue > 1e-3


@given(st.lists(st.text(max_size=200) | st.just(WORTH), max_size=3), st.integers(0, 5))
def test_whatever_is_asked_is_answered_or_refused_in_one_line(texts: list[str], seed: int) -> None:
    try:
        answer = ask(shipped_profile("balanced"), texts, seed)
    except AgentError as error:
        assert "\n" not in str(error)
        assert WORTH not in texts
    else:
        assert answer.isascii()
