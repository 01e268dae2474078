"""What models that look at pictures write is read as actions, in each family's form, or as a problem."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.computer.chat_computer import resized
from agents.computer.options import ComputerOptions, Coordinates
from agents.computer.qwen_computer import FaraComputer, QwenComputer
from environments.protocol.actions import EVERY, Action, parse_action
from tests.agents.computer.forms import (
    ANTHROPIC,
    BATCHES,
    BROWSER,
    CLICK,
    FARA,
    GEMINI,
    OPEN,
    OPENAI,
    QWEN,
    TARS,
    begun,
    browse,
    call,
    function,
    function_call,
    google,
    seen,
    use,
    written,
)

EARLIER, DOUBAO, QWEN_2 = (
    "anthropic-computer:claude-opus-4-6",
    "ui-tars-computer:doubao-1-5-ui-tars-250428",
    "qwen-computer:Qwen2.5-VL-7B",
)
CLICKED = "mouse_click(640.0, 360.0, 'left', 1, '')"
AT = {"type": "coordinate", "x": 1, "y": 2}


def read(name: str, told: Any) -> Any:
    """What a model reads of an answer, given as its parts, or as text."""
    return begun(name).read([{"text": told}] if isinstance(told, str) else told, cut_off=False)


OPENAI_ACTIONS: list[tuple[dict[str, Any], str]] = [
    ({"type": "screenshot"}, "wait(0.0)"),
    ({"type": "double_click", "x": 1, "y": 2}, "mouse_click(1.0, 2.0, 'left', 2, '')"),
    ({"type": "click", "x": 1, "y": 2, "button": "wheel"}, "mouse_click(1.0, 2.0, 'middle', 1, '')"),
    (CLICK | {"keys": ["SHIFT"]}, "mouse_click(640.0, 360.0, 'left', 1, 'Shift')"),
    ({"type": "move", "x": 1, "y": 2}, "mouse_move(1.0, 2.0)"),
    ({"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}, "mouse_drag('1,2 3,4', 'left', '')"),
    ({"type": "scroll", "x": 1, "y": 2, "scroll_y": 300}, "scroll_at(1.0, 2.0, 0.0, 300.0, '')"),
    ({"type": "keypress", "keys": ["CTRL", "A"]}, "keyboard_press('Control+a')"),
]  # fmt: skip
BY_DRAG = {"start_coordinate": [1, 2], "coordinate": [3, 4]}
ANTHROPIC_ACTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("left_click", {"coordinate": [1, 2], "text": "shift"}, "mouse_click(1.0, 2.0, 'left', 1, 'Shift')"),
    ("triple_click", {"coordinate": [1, 2]}, "mouse_click(1.0, 2.0, 'left', 3, '')"),
    ("right_click", {}, "mouse_click(0.0, 0.0, 'right', 1, '')"),
    ("mouse_move", {"coordinate": [1, 2]}, "mouse_move(1.0, 2.0)"),
    ("left_click_drag", BY_DRAG, "mouse_drag('1,2 3,4', 'left', '')"),
    (
        "scroll",
        {"coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": 3},
        "scroll_at(1.0, 2.0, 0.0, 360.0, '')",
    ),
    ("key", {"text": "ctrl+s"}, "keyboard_press('Control+s')"),
    ("key", {"text": "Tab", "repeat": 2}, "keyboard_press('Tab') keyboard_press('Tab')"),
    ("type", {"text": "mug"}, "keyboard_type('mug')"),
    ("wait", {"duration": 1.5}, "wait(1500.0)"),
    ("left_mouse_down", {}, "mouse_down('left')"),
    ("hold_key", {"text": "shift", "duration": 3}, "keyboard_hold('Shift', 3000.0)"),
    ("zoom", {"region": [10, 20, 300, 200.5]}, "zoom(10.0, 20.0, 300.0, 200.5)"),
]  # fmt: skip
BROWSER_ACTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("right_click", {"target": AT, "modifiers": "shift"}, "mouse_click(1.0, 2.0, 'right', 1, 'Shift')"),
    ("double_click", {"target": AT, "tab_id": "1"}, "mouse_click(1.0, 2.0, 'left', 2, '')"),
    ("hover", {"target": AT}, "mouse_move(1.0, 2.0)"),
    ("left_mouse_down", {"target": AT}, "mouse_move(1.0, 2.0) mouse_down('left')"),
    ("left_click_drag", {"from": AT, "target": AT | {"x": 3}}, "mouse_drag('1,2 3,2', 'left', '')"),
    ("scroll", {"target": AT, "scroll_direction": "down"}, "scroll_at(1.0, 2.0, 0.0, 360.0, '')"),
    (
        "scroll",
        {"target": AT, "scroll_direction": "up", "scroll_amount": 1},
        "scroll_at(1.0, 2.0, 0.0, -120.0, '')",
    ),
    ("zoom", {"region": [10, 20, 300, 200], "tab_id": "1"}, "zoom(10.0, 20.0, 300.0, 200.0)"),
    ("list_tabs", {}, "wait(0.0)"),
    ("switch_tab", {"tab_id": "0"}, "tab_focus(0)"),
    ("navigate", {"url": "http://shop.test/"}, "goto('http://shop.test/')"),
    ("navigate", {"url": "shop.test"}, "goto('https://shop.test')"),
    ("navigate", {"url": "back"}, "go_back()"),
    ("navigate", {"url": "reload"}, "reload()"),
    ("new_tab", {}, "new_tab()"),
    ("close_tab", {"tab_id": "0"}, "close_tab(0)"),
    ("close_tab", {}, "close_tab(1)"),
]
GRID = {"x": 500, "y": 500}
TYPED = "keyboard_press('Control+a') keyboard_press('Backspace') keyboard_type('mug') keyboard_press('Enter')"
GEMINI_ACTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("click_at", GRID, CLICKED),
    ("triple_click", GRID, "mouse_click(640.0, 360.0, 'left', 3, '')"),
    ("hover_at", GRID, "mouse_move(640.0, 360.0)"),
    ("mouse_down", GRID, "mouse_move(640.0, 360.0) mouse_down('left')"),
    ("type_text_at", GRID | {"text": "mug"}, f"{CLICKED} {TYPED}"),
    (
        "type_text_at",
        GRID | {"text": "mug", "press_enter": False, "clear_before_typing": False},
        f"{CLICKED} keyboard_type('mug')",
    ),
    (
        "drag_and_drop",
        {"x": 0, "y": 0, "destination_x": 500, "destination_y": 250},
        "mouse_drag('0,0 640,180', 'left', '')",
    ),
    ("scroll", GRID | {"direction": "down"}, "scroll_at(640.0, 360.0, 0.0, 300.0, '')"),
    ("scroll", GRID | {"direction": "left", "magnitude": 500}, "scroll_at(640.0, 360.0, -640.0, 0.0, '')"),
    ("scroll_document", {"direction": "down"}, "scroll_at(640.0, 360.0, 0.0, 576.0, '')"),
    ("hotkey", {"keys": ["ctrl", "a"]}, "keyboard_press('Control+a')"),
    ("key_combination", {"keys": "Control+A"}, "keyboard_press('Control+a')"),
    ("press_key", {"key": "enter"}, "keyboard_press('Enter')"),
    ("wait_5_seconds", {}, "wait(5000.0)"),
    ("navigate", {"url": "http://shop.test/"}, "goto('http://shop.test/')"),
    ("go_back", {}, "go_back()"),
    ("tab_focus", {"index": 1}, "tab_focus(1)"),
]
# The picture has 1280 x 720 pixels; models of the line of Qwen2.5-VL see it as 1288 x 728.
TARS_ACTIONS = {
    "click(start_box='(644,364)')": CLICKED,
    "click(start_box='<|box_start|>(644,364)<|box_end|>')": CLICKED,
    "click(point='<point>644 364</point>')": CLICKED,
    "click(start_box='[600, 300, 688, 428]')": CLICKED,
    "left_double(start_box='(0,0)')": "mouse_click(0.0, 0.0, 'left', 2, '')",
    "right_single(start_box='(644,364)')": "mouse_click(640.0, 360.0, 'right', 1, '')",
    "drag(start_box='(0,0)', end_box='(644,364)')": "mouse_drag('0,0 640,360', 'left', '')",
    "drag(start_point='<point>0 0</point>', end_point='<point>644 364</point>')":
        "mouse_drag('0,0 640,360', 'left', '')",
    "scroll(start_box='(644,364)', direction='up')": "scroll_at(640.0, 360.0, 0.0, -500.0, '')",
    "scroll(direction='down')": "scroll_at(640.0, 360.0, 0.0, 500.0, '')",
    "hotkey(key='ctrl a')": "keyboard_press('Control+a')",
    "type(content='mug\\n')": "keyboard_type('mug') keyboard_press('Enter')",
    "type(content='it\\'s\nmine')": 'keyboard_type("it\'s\\nmine")',
    "goto(url='http://shop.test/')": "goto('http://shop.test/')",
    "tab_focus(index=1)": "tab_focus(1)",
    "finished(content='none fits')": "give_up('none fits')",
    "wait()\n\nclick(start_box='(644,364)')": f"wait(5000.0) {CLICKED}",
    "wait()\n\nThought: back.\nAction: go_back()": "wait(5000.0) go_back()",
}  # fmt: skip
QWEN_ACTIONS: list[tuple[dict[str, Any], str]] = [
    ({"action": "right_click", "coordinate": [0, 999]}, "mouse_click(0.0, 719.28, 'right', 1, '')"),
    ({"action": "mouse_move", "coordinate": [500, 250]}, "mouse_move(640.0, 180.0)"),
    ({"action": "left_click_drag", "coordinate": [0, 0]}, "mouse_drag('640,360 0,0', 'left', '')"),
    ({"action": "scroll", "pixels": -300}, "scroll_at(640.0, 360.0, 0.0, 300.0, '')"),
    ({"action": "hscroll", "pixels": 300}, "scroll_at(640.0, 360.0, 300.0, 0.0, '')"),
    ({"action": "key", "keys": ["ctrl", "a"]}, "keyboard_press('Control+a')"),
    ({"action": "wait", "time": 2}, "wait(2000.0)"),
    ({"action": "answer", "text": "It is A."}, "give_up('It is A.')"),
    ({"action": "terminate", "status": "failure"}, "give_up('terminate: failure')"),
]
AT_ONCE = {"coordinate": [644, 364], "press_enter": True, "delete_existing_text": True}
FARA_ACTIONS: list[tuple[dict[str, Any], str]] = [
    ({"action": "type", "text": "mug", **AT_ONCE}, f"{CLICKED} {TYPED}"),
    ({"action": "visit_url", "url": "http://shop.test/"}, "goto('http://shop.test/')"),
    ({"action": "history_back"}, "go_back()"),
    ({"action": "pause_and_memorize_fact", "fact": "A costs 5"}, "wait(0.0)"),
    ({"action": "terminate", "status": "success"}, "give_up('terminate: success')"),
]
ACTIONS: list[tuple[str, Any, str]] = [
    *((name, told, f"{CLICKED} keyboard_type('mug')") for name, told in BATCHES.items()),
    *((OPENAI, [call(told)], wanted) for told, wanted in OPENAI_ACTIONS),
    *((ANTHROPIC, [use(name, **given)], wanted) for name, given, wanted in ANTHROPIC_ACTIONS),
    *((BROWSER, [browse(name, **given)], wanted) for name, given, wanted in BROWSER_ACTIONS),
    *((GEMINI, [google(name, **args)], wanted) for name, args, wanted in GEMINI_ACTIONS),
    *((TARS, f"Thought: on.\nAction: {told}", wanted) for told, wanted in TARS_ACTIONS.items()),
    *((QWEN, written(**told), wanted) for told, wanted in QWEN_ACTIONS),
    *((FARA, written(**told), wanted) for told, wanted in FARA_ACTIONS),
    # Their earlier tools.
    (OPENAI, [call() | {"actions": None, "action": CLICK}], CLICKED),
    (EARLIER, [function("computer", action="left_click", coordinate=[640, 360])], CLICKED),
    (EARLIER, [function("computer", action="zoom", region=[0, 0, 9, 9])], "zoom(0.0, 0.0, 9.0, 9.0)"),
    # What is in no picture is done by functions.
    (OPENAI, [function_call("tab_focus", '{"index": 0}')], "tab_focus(0)"),
    (OPENAI, [function_call("give_up", '{"reason": "none fits"}')], "give_up('none fits')"),
    (ANTHROPIC, [function("tab_focus", index=0)], "tab_focus(0)"),
    (QWEN, written("tab_focus", index=1), "tab_focus(1)"),
    (QWEN, written("goto", url="http://shop.test/"), "goto('http://shop.test/')"),
    (FARA, written("tab_focus", index=0), "tab_focus(0)"),
    (QWEN, f"<think>\nA <tool_call>?</think>{written('go_back').removesuffix('</tool_call>')}", "go_back()"),
    # A click that misses the picture does not move the pointer.
    (
        QWEN,
        written(action="left_click", coordinate=[1_500, 9]) + written(action="scroll", pixels=9),
        "mouse_click(1920.0, 6.48, 'left', 1, '') scroll_at(640.0, 360.0, 0.0, -9.0, '')",
    ),
    # Families differ in the units of points, which follow from the model's name.
    (QWEN_2, written(action="left_click", coordinate=[644, 364]), CLICKED),
    ("ui-tars-computer:UI-TARS-7B-DPO", "Action: click(start_box='[400, 450, 600, 550]')", CLICKED),
    (DOUBAO, "Action: click(point='<point>500 500</point>')", CLICKED),
]  # fmt: skip


@pytest.mark.parametrize(("name", "told", "wanted"), ACTIONS)
def test_actions(name: str, told: Any, wanted: str) -> None:
    asked = read(name, told).asked
    assert " ".join(str(each.action) for each in asked) == wanted
    assert [parse_action(str(each.action), EVERY) for each in asked] == [each.action for each in asked]


SIZES = [((280, 280), (140.0, 140.0)), ((560, 840), (140.0, 140.0)), ((384, 216), (137.14, 135.0))]


@pytest.mark.parametrize(("size", "point"), SIZES)
def test_points_are_those_of_the_picture_that_was_sent(
    size: tuple[int, int], point: tuple[float, float]
) -> None:
    model = begun(TARS)
    model.begin(seen(size=size))
    (asked,) = model.read([{"text": "Action: click(start_box='(140,140)')"}], cut_off=False).asked
    assert asked.action and asked.action.args[:2] == point


SPACES: list[tuple[Coordinates, tuple[int, int], str]] = [
    ("pixels", (640, 360), "1280x720"),
    ("grid1000", (500, 500), "1000x1000"),
    ("smart_resize28", (644, 364), "1288x728"),
]


@pytest.mark.parametrize(("space", "middle", "units"), SPACES)
@pytest.mark.parametrize("name", OPEN)
def test_the_experiment_says_in_what_points_are(
    name: str, space: Coordinates, middle: tuple[int, int], units: str
) -> None:
    """A model that was tuned further has any name."""
    model = begun(f"{name.partition(':')[0]}:mine", ComputerOptions(coordinates=space))
    told = f"Action: click(start_box='({middle[0]},{middle[1]})')"
    if name != TARS:
        told = written(action="left_click", coordinate=[*middle])
        assert f"whose size is {units}" in model.conversation()["messages"][0]["content"]
    assert [str(each.action) for each in model.read([{"text": told}], cut_off=False).asked] == [CLICKED]


LONG, DEEP = "a" * 5_000, "[" * 100_000
ODD: dict[str, list[Any]] = {
    OPENAI: [
        [],
        [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret"}],
        [call({"type": "teleport", "x": 1, "y": 2})],
        [call({"type": "click", "x": None, "y": "2"})],
        [call({"type": "click", "x": 10**400, "y": 2})],
        [call()],
        [call("click")],
        [call({"type": "keypress", "keys": ["HYPER"]})],
        [call({"type": "type", "text": LONG})],
        [call({"type": "drag", "path": [{"x": 100, "y": 200}] * 1_000})],
        [call({"type": "drag", "path": [{"x": 1, "y": 2}]})],
        [function_call("buy", "{}")],
        [function_call("goto", "{")],
        [function_call("tab_focus", '{"index": "0"}')],
    ],
    ANTHROPIC: [
        [],
        [use("teleport")],
        [use("zoom", region=[0, 0, 10])],
        [use("zoom", region=[0, 0, 10, "wide"])],
        [use("left_click", coordinate=[1])],
        [use("left_click", coordinate=[1, 2], text="a")],
        [use("hold_key", text="shift")],
        [use("type", text=LONG)],
        [use("scroll", coordinate=[1, 2], scroll_direction="sideways", scroll_amount=1)],
        [function("tab_focus", index="0")],
    ],
    BROWSER: [
        [browse("read_page")],
        [browse("left_click", target={"type": "ref", "ref": "ref_2"})],
        [browse("left_click", coordinate=[1, 2])],
        [browse("left_click", target=AT, tab_id="0")],
        [browse("left_click", target=AT, modifiers="a")],
        [browse("left_click_drag", target=AT)],
        [browse("switch_tab", tab_id="7")],
        [browse("navigate", url="")],
        [browse("javascript_exec", code="1")],
        [function("goto", url="http://shop.test/")],
    ],
    GEMINI: [
        [google("search")],
        [google("key_down", key="shift")],
        [google("click", x=1)],
        [google("scroll", x=1, y=1, direction="in")],
    ],
    TARS: [
        "Action: teleport(start_box='(1,2)')",
        "Action: click()",
        "Action: click(start_box='(1,2,3)')",
        "Action: click(start_box='(99999999,2)')",
        "Action: __import__('os').system('id')",
        "Action: type(content=open('x').read())",
        "Action: click('(1,2)')",
        f"Action: click(start_box=0x{'f' * 3_900})",
        f"Action: type(content='{LONG}')",
        r"Action: type(content='\ud800')",
        "Action: hotkey(key='hyper x')",
        "Action: scroll(start_box='(1,2)', direction='in')",
        "Action: tab_focus(index='first')",
        "Action: wait()\n\nbuy()",
    ],
    QWEN: [written(action="visit_url", url="http://shop.test/")],
    FARA: [written(action="triple_click", coordinate=[1, 2])],
}
ODD_CALLS = [
    "<tool_call>{</tool_call>",
    '<tool_call>{"name": "computer_use"}</tool_call>',
    f"<tool_call>{DEEP}</tool_call>",
    written("buy", what="mug"),
    written("\ud800"),
    written(action="teleport"),
    written(coordinate=[1, 2]),
    written(action=[[]]),
    written(action="left_click"),
    written(action="left_click", coordinate=[10**400, 1]),
    written(action="left_click", coordinate=[float("nan"), 1]),
    written(action="key", keys=[7]),
    written(action="type"),
    written("tab_focus", index="0"),
    written(action="web_search", query="mug"),
    written(action="wait") + written("buy"),
]
ODD_TEXTS = ["I like mugs.", "", "<think>Hm.</think>"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *((name, told) for name, answers in ODD.items() for told in answers),
        *((name, told) for name in (QWEN, FARA) for told in ODD_CALLS),
        *((name, told) for name in OPEN for told in ODD_TEXTS),
    ],
)
def test_what_is_no_action_is_a_problem_in_one_line(name: str, told: Any) -> None:
    turn = read(name, told)
    problems = [each.problem for each in turn.asked if each.action is None]
    assert problems or not (turn.asked or turn.said)
    for problem in problems:
        assert problem.encode() and "\n" not in problem and len(problem) < 400


NAMES = [
    *("type", "x", "y", "keys", "path", "text", "button", "coordinate", "start_coordinate", "action"),
    *("scroll_amount", "scroll_direction", "duration", "repeat", "index", "name", "actions", "input"),
    *("target", "from", "url", "tab_id", "modifiers"),
]
json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
KINDS = [
    *("click", "drag", "scroll", "keypress", "type", "left_click", "key", "left_click_drag", "wait"),
    *("navigate", "switch_tab", "hover", "hotkey", "left_mouse_down", "type_text_at", "drag_and_drop"),
]
QWENS = sorted(QwenComputer.tool["actions"] | FaraComputer.tool["actions"])


@given(json_data, st.sampled_from(KINDS), st.sampled_from(QWENS))
def test_whatever_a_model_says_is_an_action_or_a_problem(data: Any, kind: str, action: str) -> None:
    given = {"type": kind, **data} if isinstance(data, dict) else data
    written = {"action": action, **data} if isinstance(data, dict) else data
    told = f"<tool_call>{json.dumps({'name': 'computer_use', 'arguments': written})}</tool_call>"
    for name, parts in (
        (OPENAI, [call(given), {"type": "function_call", "call_id": "f", "name": kind, "arguments": data}]),
        (ANTHROPIC, [use(kind) | {"input": data}, {"type": "end"}]),
        (BROWSER, [browse(kind) | {"input": data}, {"type": "end"}]),
        (GEMINI, [{"function_call": {"name": kind, "args": data}}]),
        (QWEN, told),
        (FARA, told),
    ):
        turn = read(name, parts)
        assert turn.asked
        for asked in turn.asked:
            assert (asked.action is None) == bool(asked.problem)
            if asked.action:
                assert parse_action(str(asked.action), EVERY) == asked.action


WORDS = st.sampled_from(
    [
        *("Action: ", "Thought: ", "click(", "type(", "drag(", "scroll(", "hotkey(key='ctrl c'", "content="),
        *("'(1,2)'", "'[1, 2, 3, 4]'", "'<point>1 2</point>'", "start_box=", "end_box=", ")", "\n\n", "\\"),
        *("<tool_call>", "</tool_call>", '{"name": "computer_use", "arguments": ', '{"action": ', "}", "]"),
        *('"left_click"', '"type"', ', "coordinate": ', "[1, 2", ', text": "a"', "<think>", "</think>"),
    ]
)


@given(
    st.lists(WORDS | st.text(max_size=12), max_size=12).map("".join), st.sampled_from([*OPEN, DOUBAO, QWEN_2])
)
def test_any_text_is_actions_or_a_problem(text: str, name: str) -> None:
    turn = read(name, text)
    assert turn.asked or not text.rpartition("</think>")[2].strip()
    for asked in turn.asked:
        assert (asked.action is None) == bool(asked.problem)
        assert "\n" not in asked.problem
        (asked.name + asked.problem).encode()  # it is sent back
        if asked.action:
            assert parse_action(str(asked.action), EVERY) == asked.action


POINTS = st.tuples(st.integers(0, 999), st.integers(0, 719))  # within the picture in all units
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


def scaled(point: tuple[int, int], units: tuple[int, int]) -> tuple[float, float]:
    return round(point[0] * 1280 / units[0], 2), round(point[1] * 720 / units[1], 2)


@given(POINTS, POINTS, TEXTS)
def test_what_is_written_as_actions_of_ui_tars_reads_back(start: Any, end: Any, text: str) -> None:
    told = [
        f"click(start_box='<|box_start|>({start[0]},{start[1]})<|box_end|>')",
        f"left_double(point='<point>{start[0]} {start[1]}</point>')",
        f"drag(start_box='({start[0]},{start[1]})', end_box='[{end[0]}, {end[1]}]')",
        f"type(content={text + '.'!r})",
        f"finished(content={text!r})",
    ]
    turn = read(TARS, "Thought: I act.\nAction: " + "\n\n".join(told))
    (x, y), (right, bottom) = scaled(start, (1288, 728)), scaled(end, (1288, 728))
    assert turn.said == "I act."
    assert [asked.action for asked in turn.asked] == [
        Action("mouse_click", (x, y, "left", 1, "")),
        Action("mouse_click", (x, y, "left", 2, "")),
        Action("mouse_drag", (f"{x:g},{y:g} {right:g},{bottom:g}", "left", "")),
        Action("keyboard_type", (text + ".",)),
        Action("give_up", (text,)),
    ]


@given(POINTS, POINTS, TEXTS, st.integers(-3_000, 3_000))
def test_what_is_written_as_calls_reads_back(start: Any, end: Any, text: str, pixels: int) -> None:
    for name, units in ((QWEN, (1000, 1000)), (QWEN_2, (1288, 728)), (FARA, (1288, 728))):
        told = [
            written(action="left_click", coordinate=list(start)),
            written(action="scroll", pixels=pixels),
            written(action="mouse_move", coordinate=list(end)),
            written(action="type", text=text),
            written("tab_focus", index=pixels),
        ]
        (x, y), (right, bottom) = scaled(start, units), scaled(end, units)
        assert [asked.action for asked in read(name, "".join(told)).asked] == [
            Action("mouse_click", (x, y, "left", 1, "")),
            Action("scroll_at", (x, y, 0.0, float(-pixels), "")),
            Action("mouse_move", (right, bottom)),
            Action("keyboard_type", (text,)),
            Action("tab_focus", (pixels,)),
        ]


@given(st.integers(200, 6_000), st.integers(200, 6_000))
def test_pictures_are_resized_to_squares_of_28_pixels(width: int, height: int) -> None:
    across, down = resized((width, height))
    assert across % 28 == down % 28 == 0
    assert across * down <= 16_384 * 28**2
    assert across / down == pytest.approx(width / height, rel=0.2)
    if width * height < 16_000 * 28**2:
        assert abs(across - width) <= 14
        assert abs(down - height) <= 14
    assert resized((1280, 800)) == (1288, 812)
    assert resized((20, 20), fewest=100) == (280, 280)
