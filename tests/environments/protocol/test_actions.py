import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from environments.protocol.actions import ACTIONS, MAX_LENGTH, MAX_NUMBER, Action, ActionError, parse_action

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
        ("scroll(0, -300)", Action("scroll", (0.0, -300.0))),
        ("tab_focus(1)", Action("tab_focus", (1,))),
        ("go_back()", Action("go_back")),
        ("keyboard_press('Control+a')", Action("keyboard_press", ("Control+a",))),
    ],
)
def test_what_models_write(text: str, action: Action) -> None:
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


def test_odd_escapes_warn_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_action(r"fill('1', '\d')") == Action("fill", ("1", r"\d"))


def test_every_action_describes_itself() -> None:
    assert (
        ACTIONS["fill"].describe("fill") == "fill(bid: str, text: str)  Replace the content of a text field."
    )
    assert len(ACTIONS) == 9
