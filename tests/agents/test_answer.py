import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.answer import MAX_LENGTH, Answer, AnswerError, parse_answer
from environments.actions import Action

GOOD = "<think>cheap</think>\n<memory>$5</memory>\n<action>click('12')</action>"


def test_a_good_answer() -> None:
    assert parse_answer(GOOD) == Answer("cheap", "$5", Action("click", ("12",)))


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
        (GOOD.replace("cheap", "</think><think>"), "each exactly once"),
        ("<action>go_back()</action><think></think><memory></memory>", "in this order"),
        (GOOD.replace("click('12')", ""), "no action given"),
        (GOOD.replace("click('12')", "click('12')\nclick('13')"), "not a single call"),
        (GOOD.replace("click('12')", "click('12'); go_back()"), "not a single call"),
        (GOOD.replace("click('12')", "```click('12')```"), "not a single call"),
        (GOOD.replace("click('12')", "send_msg_to_user('hi')"), "unknown action 'send_msg_to_user'"),
        (GOOD.replace("click('12')", "page.click('12')"), "not a call of an action"),
        (GOOD.replace("click('12')", "click(open('/etc/passwd').read())"), "must be a plain value"),
        (GOOD.replace("click('12')", "__import__('os').system('id')"), "not a call of an action"),
        (GOOD + " " * MAX_LENGTH, "the limit is 40,000"),
    ],
)
def test_hostile_answers_are_rejected_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(AnswerError) as caught:
        parse_answer(text)
    assert reason in str(caught.value)


pieces = st.sampled_from(
    ["<think>", "</think>", "<memory>", "</memory>", "<action>", "</action>", "click('1')", "<", "think>"]
)


@given(st.lists(pieces | st.text(max_size=20), max_size=12).map("".join))
def test_nothing_but_an_answer_error_comes_out(text: str) -> None:
    try:
        answer = parse_answer(text)
    except AnswerError:
        return
    assert all(text.count(tag) == 1 for tag in ("<think>", "</memory>", "<action>"))
    assert isinstance(answer.action, Action)


plain = st.text().filter(lambda text: "<" not in text)


@given(plain, plain)
def test_what_is_between_the_tags_comes_back(thought: str, memory: str) -> None:
    answer = parse_answer(f"<think>{thought}</think><memory>{memory}</memory><action>go_back()</action>")
    assert answer == Answer(thought.strip(), memory.strip(), Action("go_back"))
