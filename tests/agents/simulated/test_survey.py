import math
import statistics
from collections.abc import Sequence

import pytest
from scipy.stats import binomtest

from agents.simulated.respondent import SimulatedRespondent
from agents.simulated.survey import LetterQuestion, Normal, NumberQuestion, Survey, shipped_survey
from agents.simulated.tab_shopper import ShopperProfile
from interventions.files.battery import CONDITIONS, SCENARIOS, load_battery

BATTERY = load_battery()
PRICES = {"base": 4, "no-persona": 4, "odd": 39, "large": 222_222}
ASKED = 150


def answers(bias: str, condition: str, scenario: str, profile: ShopperProfile) -> list[str | float]:
    """What respondents of `ASKED` seeds say to the prompt of the shipped card, as the card reads it."""
    card = BATTERY.card(bias, condition, scenario, persona="both")
    return [
        card.answer.read(SimulatedRespondent(profile, seed=seed).reply([card.prompt])).value
        for seed in range(ASKED)
    ]


def fits(given: Sequence[str | float], known: float | Normal, letter: str, unit: float) -> bool:
    """Whether the answers may well come from the known distribution."""
    if isinstance(known, float):
        return binomtest(given.count(letter), len(given), known).pvalue > 1e-4
    error = known.sd * unit / math.sqrt(len(given))
    mean, spread = statistics.fmean(map(float, given)), statistics.stdev(map(float, given))
    return abs(mean - known.mean * unit) < 4 * error and abs(spread / (known.sd * unit) - 1) < 0.25


def test_the_questions_are_those_of_the_shipped_battery() -> None:
    survey = shipped_survey()
    assert set(survey.questions) == set(BATTERY.biases)
    for bias in BATTERY.biases:
        for condition in CONDITIONS:
            for scenario in SCENARIOS:
                prompt = BATTERY.card(bias, condition, scenario, persona="both").prompt
                known = [name for name, each in survey.questions.items() if each.about.search(prompt)]
                assert known == [bias]
                treated = survey.questions[bias].treatment.search(prompt) is not None
                assert treated == (condition == "treatment"), (bias, condition, scenario)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("bias", BATTERY.biases)
def test_each_bias_has_its_known_size(bias: str, scenario: str) -> None:
    question = shipped_survey().questions[bias]
    letter = question.letter if isinstance(question, LetterQuestion) else ""
    unit = PRICES[scenario] if isinstance(question, NumberQuestion) and question.of_price else 1
    biased, unbiased = ShopperProfile(bias=1), ShopperProfile(bias=0)
    assert letter == BATTERY.biased_letter(bias)
    assert fits(answers(bias, "control", scenario, biased), question.control, letter, unit)
    assert fits(answers(bias, "treatment", scenario, biased), question.treated, letter, unit)
    assert fits(answers(bias, "treatment", scenario, unbiased), question.control, letter, unit)


def test_half_a_bias_is_half_the_effect() -> None:
    framing = shipped_survey().questions["framing"]
    assert isinstance(framing, LetterQuestion)
    given = answers("framing", "treatment", "base", ShopperProfile(bias=0.5))
    assert fits(given, (framing.control + framing.treated) / 2, "B", 1)


def test_numbers_stay_in_range() -> None:
    wide = Normal(mean=50, sd=1_000)
    question = NumberQuestion(about="x", treatment="y", control=wide, treated=wide, high=100)
    survey = Survey(choices={}, estimates={"x": question})
    assert survey.find("no such thing") is None
    source = SimulatedRespondent(ShopperProfile(), seed=1)._random
    drawn = {int(question.draw("X", 1.0, source)) for _ in range(200)}
    assert min(drawn) == 0
    assert max(drawn) == 100
