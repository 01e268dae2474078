import json
import re

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.language_model.answer import MAX_LENGTH, SCHEMA, Answer, AnswerError, parse_answer
from environments.protocol.actions import Action

GOOD = "<think>cheap</think>\n<memory>$5</memory>\n<action>click('12')</action>"


def test_text_around_the_tags_and_blank_parts_are_fine() -> None:
    answer = parse_answer(f"Sure!\n{GOOD.replace('cheap', '').replace('$5', '  ')}\nDone.")
    assert answer == Answer("", "", Action("click", ("12",)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing <think>, </think>, <memory>, </memory>, <action>, </action>"),
        ("click('12')", "missing <think>"),
        (GOOD.replace("</action>", ""), "missing </action>"),
        (GOOD.replace("memory>", "Memory>"), "missing <memory>, </memory>"),
        (GOOD + "<action>click('13')</action>", "each exactly once"),
        (GOOD.replace("cheap", "<action>go_back()</action>"), "each exactly once"),
        (GOOD.replace("$5", "</think><think>"), "missing </think>, <memory>"),
        ("<action>go_back()</action><think></think><memory></memory>", "in this order"),
        (GOOD.replace("click('12')", ""), "no action given"),
        (GOOD.replace("click('12')", "click('12')\nclick('13')"), "not a single call"),
        (GOOD.replace("click('12')", "click('12'); go_back()"), "not a single call"),
        (GOOD.replace("click('12')", "```click('12')```"), "not a single call"),
        (GOOD.replace("click('12')", "send_msg_to_user('hi')"), "unknown action 'send_msg_to_user'"),
        (GOOD.replace("click('12')", "page.click('12')"), "not a call of an action"),
        (GOOD.replace("click('12')", "click(open('/etc/passwd').read())"), "must be a plain value"),
        (GOOD.replace("click('12')", "__import__('os').system('id')"), "not a call of an action"),
        (GOOD + "x" * MAX_LENGTH, "the limit is 40,000"),
        (f"<think>so: {GOOD} and then", "each exactly once"),
        ("{}", "the JSON object: thought: Field required"),
        (
            '{"thought": "", "memory": "", "action": 7}',
            "the JSON object: action: Input should be a valid string",
        ),
        ('{"thought": "", "memory": "", "action": "", "more": ""}', "the JSON object: more: Extra inputs"),
        ('{"thought": "", "memory": "", "action": "buy()"}', "action: unknown action 'buy'"),
        ('{"thought": "\\ud800", "memory": "", "action": "go_back()"}', "the JSON object: Invalid JSON"),
        ('{"thought": "", ' * 9_000, "the limit is 40,000"),
        ('{"a":' * 7_000, "the JSON object: Invalid JSON"),
    ],
)
def test_hostile_answers_are_rejected_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(AnswerError) as caught:
        parse_answer(text)
    assert reason in str(caught.value)


JSON = '{"thought": "cheap", "memory": "$5", "action": "click(\'12\')"}'


@pytest.mark.parametrize("answer", [GOOD, JSON, f"```json\n{JSON}\n```", f"```\n{JSON}```"])
@pytest.mark.parametrize(
    "reasoning",
    [
        "",
        "<think></think>",
        "\n<think>\nThe lamp is cheap.\n</think>\n\n",
        "<think>I must write <think>, <memory> and then <action>click('1')</action>.</think>\n",
        f"<think>For example {GOOD}</think>",
        "The opening tag was part of the prompt.\n</think>\n",
        "<think>" + "a long thought " * 10_000 + "</think>",
    ],
)
def test_reasoning_before_the_answer_is_ignored(reasoning: str, answer: str) -> None:
    assert parse_answer(reasoning + answer) == Answer("cheap", "$5", Action("click", ("12",)))


def test_reasoning_that_takes_the_place_of_the_thought_is_the_thought() -> None:
    answer = GOOD.removeprefix("<think>")
    assert parse_answer(answer) == Answer("cheap", "$5", Action("click", ("12",)))


def test_an_object_may_speak_of_tags() -> None:
    thought = "no <action> </think> <think> {"
    answer = json.dumps({"thought": thought, "memory": "", "action": "go_back()"})
    assert parse_answer(answer) == Answer(thought, "", Action("go_back"))


TAGS = ["<think>", "</think>", "<memory>", "</memory>", "<action>", "</action>"]
pieces = st.sampled_from(
    [*TAGS, "click('1')", "<", "think>", '{"thought": "', '", "memory": "", "action": "', '"}', "```"]
)


@pytest.mark.slow
@given(st.lists(pieces | st.text(st.characters(), max_size=20), max_size=12).map("".join))
@example('{"thought": "\ud800", "memory": "", "action": "go_back()"}')
def test_nothing_but_an_answer_error_comes_out(text: str) -> None:
    try:
        answer = parse_answer(text)
    except AnswerError:
        return
    assert isinstance(answer.action, Action)
    assert str(answer.action)[:5] in text


plain = st.text().filter(lambda text: "<" not in text)


@pytest.mark.slow
@given(plain, plain)
def test_what_is_between_the_tags_comes_back(thought: str, memory: str) -> None:
    answer = parse_answer(f"<think>{thought}</think><memory>{memory}</memory><action>go_back()</action>")
    assert answer == Answer(thought.strip(), memory.strip(), Action("go_back"))


@given(st.text(), st.text())
def test_what_an_object_holds_comes_back(thought: str, memory: str) -> None:
    found = {"thought": thought, "memory": memory, "action": "go_back()"}
    jsonschema.validate(found, SCHEMA)
    try:
        answer = parse_answer(json.dumps(found))
    except AnswerError:
        assert re.search("[\ud800-\udfff]", thought + memory)
    else:
        assert answer == Answer(thought.strip(), memory.strip(), Action("go_back"))
