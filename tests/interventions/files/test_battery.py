"""The eight questions, with the exact numbers of each scenario, and which answers are biased."""

import re
from pathlib import Path

import pytest

from interventions.cards.card import LetterAnswer, NumberAnswer
from interventions.errors import UserError
from interventions.files.battery import CONDITIONS, SCENARIOS, Battery, load_battery

# Study numbers in the order in which they stand in the question and its options, without the 20 minutes.
NUMBERS: dict[str, dict[str, dict[str, str]]] = {
    "anchoring": {
        "control": {"base": "10", "odd": "12", "large": "0"},
        "treatment": {"base": "65", "odd": "76", "large": "100"},
    },
    "category-size": {
        "control": {
            "base": "15 1 15 1 5 6 10 11 15 8",
            "odd": "146 1 146 1 48 58 97 107 146 78",
            "large": "833332 1 833332 1 277778 333333 555555 611110 833332 444444",
        },
        "treatment": {
            "base": "15 1 15 1 2 3 13 14 15 8",
            "odd": "146 1 146 1 19 29 126 136 146 78",
            "large": "833332 1 833332 1 111111 166666 722222 777777 833332 444444",
        },
    },
    "endowment": {
        "control": {"base": "4", "odd": "39", "large": "222222"},
        "treatment": {"base": "4", "odd": "39", "large": "222222"},
    },
    "framing": {
        "control": {"base": "10 10 10", "odd": "97 97 97", "large": "555555 555555 555555"},
        "treatment": {"base": "10 10", "odd": "97 97", "large": "555555 555555"},
    },
    "gamblers-fallacy": {
        "control": {"base": "6", "odd": "58", "large": "333333"},
        "treatment": {"base": "6", "odd": "58", "large": "333333"},
    },
    "loss-aversion": {
        "control": {
            "base": "300 100 50 200 50 0",
            "odd": "2910 970 50 1940 50 0",
            "large": "16666650 5555550 50 11111100 50 0",
        },
        "treatment": {
            "base": "500 100 50 200 50 0",
            "odd": "4850 970 50 1940 50 0",
            "large": "27777750 5555550 50 11111100 50 0",
        },
    },
    "sunk-cost": {
        "control": {"base": "50 50", "odd": "485 485", "large": "2777775 2777775"},
        "treatment": {"base": "100 50", "odd": "970 485", "large": "5555550 2777775"},
    },
    "transaction-utility": {
        "control": {"base": "650 20 640", "odd": "6305 20 6208", "large": "36111075 20 35555520"},
        "treatment": {"base": "35 20 25", "odd": "340 20 242", "large": "1944442 20 1388888"},
    },
}
LETTERS = {"framing": "B", "loss-aversion": "B", "sunk-cost": "A", "transaction-utility": "B"}
BATTERY = load_battery()


def test_every_number_of_every_question() -> None:
    assert set(BATTERY.biases) == set(NUMBERS)
    for bias, conditions in NUMBERS.items():
        for condition, scenarios in conditions.items():
            for scenario, numbers in scenarios.items():
                card = BATTERY.card(bias, condition, scenario)
                labels = card.answer.labels.values() if isinstance(card.answer, LetterAnswer) else ()
                shown = re.findall("[0-9]+", " ".join([card.question, *labels]))
                assert (bias, condition, scenario, shown) == (bias, condition, scenario, numbers.split())


def test_scaled_numbers_are_the_base_times_a_factor_rounded_half_to_even() -> None:
    for bias, factor, scenario in (
        (bias, factor, scenario)
        for bias in NUMBERS
        for factor, scenario in ((9.7, "odd"), (55_555.5, "large"))
        if bias not in ("anchoring", "loss-aversion", "transaction-utility")
    ):
        for condition in CONDITIONS:
            base, scaled = (NUMBERS[bias][condition][name].split() for name in ("base", scenario))
            assert [n for n in scaled if n != "1"] == [str(round(int(n) * factor)) for n in base if n != "1"]


def test_the_biased_answers() -> None:
    assert {
        bias: BATTERY.biased_letter(bias) for bias in BATTERY.biases if BATTERY.biased_letter(bias)
    } == LETTERS
    assert [bias for bias in BATTERY.biases if BATTERY.direction(bias) == "either"] == ["framing"]
    for bias in BATTERY.biases:
        answer = BATTERY.card(bias, "control").answer
        assert isinstance(answer, LetterAnswer if bias in LETTERS else NumberAnswer)
        if isinstance(answer, NumberAnswer):
            assert answer.high == (None if bias == "endowment" else 100)


def test_what_the_letters_stand_for() -> None:
    def label(bias: str, condition: str) -> str:
        answer = BATTERY.card(bias, condition).answer
        assert isinstance(answer, LetterAnswer)
        return answer.labels[LETTERS[bias]]

    assert [label("framing", c) for c in CONDITIONS] == ["No", "No"]
    assert "50%" in label("loss-aversion", "treatment")
    assert "lose" in label("loss-aversion", "treatment")
    assert "gain" in label("loss-aversion", "control")
    assert "Michigan" in label("sunk-cost", "treatment")
    assert "other branch" in label("transaction-utility", "control")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_prompts(scenario: str) -> None:
    for bias in BATTERY.biases:
        for condition in CONDITIONS:
            card = BATTERY.card(bias, condition, scenario)
            tokens = 10 if scenario == "large" else 2
            assert card.max_tokens == tokens
            assert f"no more than {tokens} tokens" in card.system
            assert ("ordinary customer" in card.system) == (scenario != "no-persona")
            assert "ordinary customer" not in card.prompt
            forced, question, form = card.prompt.split("\n\n----------\n\n")
            assert forced.endswith("Answer with the letter or the number only.")
            assert question.startswith(card.question)
            assert form == ("Letter only." if bias in LETTERS else "Number only.")
            assert "${" not in card.system + card.prompt


def test_the_persona_is_a_switch() -> None:
    def where(persona: str) -> tuple[bool, bool]:
        card = BATTERY.card("framing", "control", persona=persona)
        return "ordinary customer" in card.system, "ordinary customer" in card.prompt

    assert [where(persona) for persona in ("system", "user", "both")] == [
        (True, False),
        (False, True),
        (True, True),
    ]


def test_colours_of_the_urn_do_not_overlap() -> None:
    for scenario in ("base", "odd", "large"):
        for condition in CONDITIONS:
            question = BATTERY.card("category-size", condition, scenario).question
            bounds = [int(n) for pair in re.findall(r"(\d+)-(\d+)", question) for n in pair]
            assert bounds == sorted(set(bounds))
            balls, drawn = re.findall(r"holds (\d+)|ball (\d+)\?", question)
            assert int(balls[0]) == bounds[-1]
            assert bounds[2] <= int(drawn[1]) <= bounds[3]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nudges", "a battery holds cards only; write kind: card"),
        ("hotels", "a battery says which answers are biased"),
    ],
)
def test_other_files_are_no_batteries(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_battery(name)


def test_a_battery_needs_all_its_cases(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(
        "interventions: [{id: a, kind: card, card: {question: '${x}', answer: {kind: number}, biased: {}},"
        " cases: {condition: {control: {x: a}, treated: {x: b}}}}]"
    )
    with pytest.raises(UserError, match=r'one\.yaml:1:.*: the level "treatment" is missing; add it'):
        load_battery(path)


def test_what_is_not_there_is_said() -> None:
    battery: Battery = BATTERY
    with pytest.raises(UserError, match='no scenario "odds"; did you mean "odd"'):
        battery.card("framing", "control", "odds")
    with pytest.raises(UserError, match='no intervention "framign"; did you mean "framing"'):
        battery.card("framign", "control")
