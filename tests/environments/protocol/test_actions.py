import re
import warnings
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from environments.protocol.actions import (
    ACTIONS,
    EVERY,
    MAX_LENGTH,
    MAX_NUMBER,
    POINTER,
    Action,
    ActionError,
    offered,
    parse_action,
    points_of,
)

VALUES = {
    str: st.text(max_size=60),
    int: st.integers(-MAX_NUMBER, MAX_NUMBER),
    float: st.floats(-MAX_NUMBER, MAX_NUMBER),
}


@st.composite
def actions(draw: st.DrawFn) -> Action:
    name = draw(st.sampled_from(sorted(ACTIONS)))
    return Action(name, tuple(draw(VALUES[kind]) for _, kind in ACTIONS[name].parameters))


@settings(deadline=None)
@given(actions())
def test_an_action_reads_back_from_its_own_text(action: Action) -> None:
    assert parse_action(str(action)) == action


@settings(deadline=None)
@given(st.text() | st.text("()[]{}'\",.*=-+:;# \\\n0123456789abcdefxf_clik", max_size=80))
@example("click(" + "-" * 3_900 + "1)")
@example("click(" + "(" * 1_900 + ")" * 1_900 + ")")
@example("(" * 4_000)
@example("click(0x" + "f" * 3_900 + ")")
@example("tab_focus(0x" + "f" * 3_900 + ")")
@example("scroll(" + "9" * 3_900 + ", 0)")
@example("click('\ud800')")
@example("\0click('1')")
def test_nothing_but_an_action_error_comes_out(text: str) -> None:
    try:
        action = parse_action(text)
    except ActionError as error:
        assert "\n" not in str(error)
        return
    assert parse_action(str(action)) == action


@settings(deadline=None)
@given(st.sampled_from(sorted(ACTIONS)), st.text("'\"\\,()=*0123456789.-abdxy \u00e9\U0001f600", max_size=60))
def test_any_arguments_give_an_action_or_an_action_error(name: str, arguments: str) -> None:
    try:
        action = parse_action(f"{name}({arguments})")
    except ActionError:
        return
    assert action.name == name
    assert [type(value) for value in action.args] == [kind for _, kind in ACTIONS[name].parameters]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("click('12')", Action("click", ("12",))),
        ("  click(12)\n", Action("click", ("12",))),
        ('click(bid="a51")', Action("click", ("a51",))),
        ("fill('3', text='desk lamp')", Action("fill", ("3", "desk lamp"))),
        ("fill(text='x', bid=3)", Action("fill", ("3", "x"))),
        (r"fill('1', '\d')", Action("fill", ("1", r"\d"))),  # an odd escape warns nobody
        ("scroll(0, -300)", Action("scroll", (0.0, -300.0))),
        ("tab_focus(1)", Action("tab_focus", (1,))),
        ("go_back()", Action("go_back")),
        ("keyboard_press('Control+a')", Action("keyboard_press", ("Control+a",))),
    ],
)
def test_what_models_write(text: str, action: Action) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_action(text) == action


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no action given"),
        ("click", "not a call of an action"),
        ("click('1') or go_back()", "not a call of an action"),
        ("click('1'), go_back()", "not a call of an action"),
        ("click('1')\ngo_back()", "not a single call"),
        ("x = click('1')", "not a single call"),
        ("import os", "not a single call"),
        ("page.click('1')", "not a call of an action"),
        ("click('1')('2')", "not a call of an action"),
        ("clik('1')", "did you mean click?"),
        ("exec('1')", "unknown action 'exec'; the actions are click, "),
        ("x" * 3_000 + "()", "unknown action '" + "x" * 40 + "';"),
        ("click()", "click takes 1 arguments, got 0"),
        ("click('1', '2')", "click takes 1 arguments, got 2"),
        ("click(id='1')", "wrong arguments; the form is click(bid: str)"),
        ("click('1', bid='1')", "wrong arguments"),
        ("click(**{'bid': '1'})", "wrong arguments"),
        ("click('1', **{'bid': '2'})", "wrong arguments"),
        ("click(bid='1', bid='2')", "wrong arguments"),
        ("click(*['1'])", "bid must be a plain value"),
        ("click(f'{1}')", "bid must be a plain value"),
        ("click(open('x').read())", "bid must be a plain value"),
        ("click([])", "bid must be of type str, got list"),
        ("click(True)", "bid must be of type str, got bool"),
        ("fill('1', 2)", "text must be of type str, got int"),
        ("tab_focus('1')", "index must be of type int, got str"),
        ("tab_focus(1.0)", "index must be of type int, got float"),
        ("tab_focus(True)", "index must be of type int, got bool"),
        ("scroll(0, 1e999)", "dy is out of range; the largest number is 1,000,000"),
        ("scroll(0, -1e999)", "dy is out of range; the largest number is 1,000,000"),
        ("tab_focus(-1000001)", "index is out of range; the largest number is 1,000,000"),
        ("scroll(True, 0)", "dx must be of type float, got bool"),
        ("goto('\\ud800')", "url holds half a character"),
        (f"goto('{'x' * MAX_LENGTH}')", "the limit is 4,000"),
        ("fill('1', '''" + "\n" * 3_000 + "''')", "the action is too long; the limit is 4,000"),
    ],
)
def test_everything_else_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ActionError) as caught:
        parse_action(text)
    assert reason in str(caught.value)


numbers = st.floats(-2000, 2000, allow_nan=False).map(lambda number: round(number, 2))
OF_POINTER = {float: numbers, int: st.integers(-5, 5), str: st.text(max_size=20)}


@given(st.data())
def test_actions_of_the_pointer_are_read_back(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(POINTER)))
    kind = POINTER[name]
    least = len(kind.parameters) - len(kind.defaults)
    count = data.draw(st.integers(least, len(kind.parameters)))
    action = Action(name, tuple(data.draw(OF_POINTER[each]) for _, each in kind.parameters[:count]))
    assert parse_action(str(action), EVERY) == action
    named = ", ".join(
        f"{key}={value!r}" for (key, _), value in zip(kind.parameters, action.args, strict=False)
    )
    whole = kind.complete(action.args)
    assert kind.complete(parse_action(f"{name}({named})", EVERY).args) == whole
    with pytest.raises(ActionError, match="unknown action"):
        parse_action(str(action))


@given(st.lists(st.tuples(numbers, numbers), max_size=5), st.text("0123456789.,- ", max_size=30))
def test_points(points: list[tuple[float, float]], text: str) -> None:
    written = " ".join(f"{x},{y}" for x, y in points)
    if len(points) > 1:
        assert points_of(written) == tuple(points)
    else:
        with pytest.raises(ActionError, match="two or more"):
            points_of(written)
    try:
        assert re.fullmatch(r"[-\d. ,]+", " ".join(f"{x},{y}" for x, y in points_of(text)))
    except ActionError:
        assert len(re.findall(r"-?\d+,-?\d+", text)) < 2 or text


def test_an_agent_is_offered_what_it_can_do() -> None:
    assert "click" not in offered(marks=False, pointer=True)
    assert "mouse_click" not in offered(marks=True, pointer=False)
    assert {"scroll", "goto", "tab_focus"} <= set(offered(marks=False, pointer=True))
