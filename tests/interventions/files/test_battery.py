"""The eight questions, with the exact numbers of each scenario, and which answers are biased."""

import re
from pathlib import Path

import pytest

from interventions.cards.card import LetterAnswer, NumberAnswer
from interventions.errors import UserError
from interventions.files.battery import CONDITIONS, SCENARIOS, Battery, load_battery

# Study numbers in the order in which they stand in the question and its options, without the 20 minutes:
# of the scenario base, of odd, and of large.
NUMBERS = {
    ("anchoring", "control"): "10 | 12 | 0",
    ("anchoring", "treatment"): "65 | 76 | 100",
    ("category-size", "control"): "15 1 15 1 5 6 10 11 15 8 | 146 1 146 1 48 58 97 107 146 78 | "
    "833332 1 833332 1 277778 333333 555555 611110 833332 444444",
    ("category-size", "treatment"): "15 1 15 1 2 3 13 14 15 8 | 146 1 146 1 19 29 126 136 146 78 | "
    "833332 1 833332 1 111111 166666 722222 777777 833332 444444",
    ("endowment", "control"): "4 | 39 | 222222",
    ("endowment", "treatment"): "4 | 39 | 222222",
    ("framing", "control"): "10 10 10 | 97 97 97 | 555555 555555 555555",
    ("framing", "treatment"): "10 10 | 97 97 | 555555 555555",
    ("gamblers-fallacy", "control"): "6 | 58 | 333333",
    ("gamblers-fallacy", "treatment"): "6 | 58 | 333333",
    ("loss-aversion", "control"): "300 100 50 200 50 0 | 2910 970 50 1940 50 0 | "
    "16666650 5555550 50 11111100 50 0",
    ("loss-aversion", "treatment"): "500 100 50 200 50 0 | 4850 970 50 1940 50 0 | "
    "27777750 5555550 50 11111100 50 0",
    ("sunk-cost", "control"): "50 50 | 485 485 | 2777775 2777775",
    ("sunk-cost", "treatment"): "100 50 | 970 485 | 5555550 2777775",
    ("transaction-utility", "control"): "650 20 640 | 6305 20 6208 | 36111075 20 35555520",
    ("transaction-utility", "treatment"): "35 20 25 | 340 20 242 | 1944442 20 1388888",
}
LETTERS = {"framing": "B", "loss-aversion": "B", "sunk-cost": "A", "transaction-utility": "B"}
BATTERY = load_battery()


def test_every_number_of_every_question() -> None:
    assert NUMBERS.keys() == {(bias, condition) for bias in BATTERY.biases for condition in CONDITIONS}
    for (bias, condition), numbers in NUMBERS.items():
        shown = []
        for scenario in ("base", "odd", "large"):
            card = BATTERY.card(bias, condition, scenario)
            labels = card.answer.labels.values() if isinstance(card.answer, LetterAnswer) else ()
            shown.append(" ".join(re.findall("[0-9]+", " ".join([card.question, *labels]))))
        assert (bias, condition, " | ".join(shown)) == (bias, condition, numbers)


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
