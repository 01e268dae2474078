"""An answer with its reason is one JSON object and nothing else."""

import json

import jsonschema
import pytest

from interventions.cards.card import Alternative, Card, LetterAnswer, NumberAnswer
from interventions.cards.reply import ENDED, Ending, InvalidAnswer

LETTER = Card(
    id="x",
    question="Which?",
    alternatives=tuple(Alternative(key=key, facts=(("Hotel", key),)) for key in ("Alder", "Birch")),
    answer=LetterAnswer(labels={"A": "", "B": ""}),
    rationale=True,
)
NUMBER = Card(id="x", question="How much?", answer=NumberAnswer(unit="$", high=100), rationale=True)
WHOLE = Card(id="x", question="How many?", answer=NumberAnswer(strict=True), rationale=True)
CASES = [
    (LETTER, {"answer": "B"}, "B"),
    (LETTER, {"answer": "Birch"}, "B"),
    (NUMBER, {"answer": 45.5}, 45.5),
    (NUMBER, {"answer": "$45"}, 45.0),
    (WHOLE, {"answer": 7}, 7.0),
]


@pytest.mark.parametrize(("card", "said", "value"), CASES)
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "<think>A? Or B?</think>\n{}"])
def test_an_answer_with_its_reason(card: Card, said: dict[str, object], value: object, form: str) -> None:
    text = form.replace("{}", json.dumps(said | {"reason": "A is far, and I choose A never."}))
    assert card.read(text) == (value, "json")


def test_a_schema_lets_pass_what_is_read() -> None:
    for card, answer in ((LETTER, "B"), (NUMBER, 45.5), (WHOLE, 7)):
        assert card.answer_schema is not None
        jsonschema.validate({"answer": answer, "reason": "Because."}, card.answer_schema)
        for wrong in ({"answer": answer}, {"answer": "C", "reason": ""}, {"answer": None, "reason": ""}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(wrong, card.answer_schema)
    assert LETTER.model_copy(update={"rationale": False}).answer_schema is None


@pytest.mark.parametrize(
    ("text", "ending", "reason"),
    [
        ("B", ENDED, "unclear"),
        ('{"answer": "B"}', ENDED, "unclear"),
        ('{"answer": "B", "reason": "x", "more": 1}', ENDED, "unclear"),
        ('I choose: {"answer": "B", "reason": "x"}', ENDED, "unclear"),
        ('{"answer": "C", "reason": "x"}', ENDED, "unclear"),
        ('{"answer": "", "reason": "x"}', ENDED, "empty"),
        ('{"answer": "B", "reason": "x', Ending("cut_off"), "cut_off"),
        ('{"answer": "B", "reason": "x"}', Ending("refused"), "refused"),
        ("I cannot answer this.", ENDED, "refused"),
        ("", ENDED, "empty"),
    ],
)
def test_what_is_no_answer_with_a_reason(text: str, ending: Ending, reason: str) -> None:
    with pytest.raises(InvalidAnswer) as invalid:
        LETTER.read(text, ending)
    assert invalid.value.reason == reason


def test_a_number_outside_its_limits() -> None:
    with pytest.raises(InvalidAnswer) as invalid:
        NUMBER.read('{"answer": 101, "reason": "x"}')
    assert invalid.value.reason == "out_of_range"
