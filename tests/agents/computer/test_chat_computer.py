"""Open models that act at points of pictures: the real SDK against a server that speaks chat completions."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse

from agents.base import AgentError
from agents.computer.chat_computer import ChatComputer, resized
from agents.computer.options import ComputerOptions, Coordinates
from agents.computer.qwen_computer import FaraComputer, QwenComputer
from agents.computer.ui_tars_computer import UITarsComputer
from agents.registry import check_agent, check_name, known_agents, make_agent, make_respondent
from environments.protocol.actions import EVERY, Action, parse_action
from environments.protocol.observation import Observation, Tab
from interventions.errors import UserError
from tests.agents.computer.test_computer import json_data, png
from tests.agents.conftest import Provider

TARS, QWEN, FARA = (
    "ui-tars-computer:ByteDance-Seed/UI-TARS-1.5-7B",
    "qwen-computer:Qwen/Qwen3-VL-8B-Instruct",
    "fara-computer:microsoft/Fara-7B",
)
FAMILIES = (TARS, QWEN, FARA)


def seen(colour: str = "white", size: tuple[int, int] = (1280, 720), **more: Any) -> Observation:
    tabs = tuple(Tab(f"Page {i}", f"http://shop.test/{i}.html", i == 1) for i in range(2))
    goal = "Add the best product to the cart."
    return Observation(goal, "", tabs, screenshot=png(colour, size), marks=False, pointer=True, **more)


def call(name: str = "computer_use", /, **arguments: Any) -> str:
    told = json.dumps({"name": name, "arguments": arguments})
    return f"I go on.\n<tool_call>\n{told}\n</tool_call>"


def waiting(name: str) -> str:
    """An answer of a family that asks to wait."""
    return "Thought: I wait.\nAction: wait()" if name == TARS else call(action="wait", time=1)


def pictures(request: dict[str, Any]) -> list[bytes]:
    return [
        base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
        for message in request["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]


@pytest.mark.parametrize("name", FAMILIES)
async def test_what_is_sent_and_recorded(
    provider: Provider, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"as_of: '2026-10'\nmodels:\n  '{name.partition(':')[0]}:*': {{input: 1, output: 2}}\n")
    monkeypatch.setenv("SOUK_PRICES", str(prices))
    agent = make_agent(name, seed=1)
    kept = 5 if name == TARS else 3
    for _ in range(kept + 1):
        provider.say(waiting(name), usage=(1_500, 40))
    decision = await agent.act(seen())
    assert decision.action.name == "wait"
    assert decision.thought in ("I wait.", "I go on.")
    assert decision.usage.cost == pytest.approx((1_500 * 1 + 40 * 2) / 1e6)
    assert (decision.usage.tokens_in, decision.usage.tokens_out) == (1_500, 40)
    for _ in range(kept):
        await agent.act(seen("red", error="click: no"))
    assert provider.keys == [key] * (kept + 1)
    first, *_, last = provider.requests
    assert (first["model"], first["temperature"]) == (name.partition(":")[2], 0.0)
    assert "tools" not in first
    assert [each["role"] for each in first["messages"]] == ["user"] if name == TARS else ["system", "user"]
    assert pictures(first) == [png()]
    told = json.dumps(first["messages"])
    assert "Add the best product" in told
    assert "Tab 1 (active): Page 1" in told
    assert pictures(last) == [png("red")] * kept, "older pictures are not sent again"
    assert "Add the best product" in json.dumps(last["messages"])
    assert "wait: click: no" in last["messages"][-1]["content"][0]["text"]
    roles = [each["role"] for each in last["messages"] if each["role"] != "system"]
    assert roles == ["user", "assistant"] * kept + ["user"]


# The picture has 1280 x 720 pixels; models of the line of Qwen2.5-VL see it as 1288 x 728.
TARS_ACTIONS = {
    "click(start_box='(644,364)')": "mouse_click(640.0, 360.0, 'left', 1, '')",
    "click(start_box='<|box_start|>(644,364)<|box_end|>')": "mouse_click(640.0, 360.0, 'left', 1, '')",
    "click(point='<point>644 364</point>')": "mouse_click(640.0, 360.0, 'left', 1, '')",
    "click(start_box='[600, 300, 688, 428]')": "mouse_click(640.0, 360.0, 'left', 1, '')",
    "left_double(start_box='(0,0)')": "mouse_click(0.0, 0.0, 'left', 2, '')",
    "right_single(start_box='(644,364)')": "mouse_click(640.0, 360.0, 'right', 1, '')",
    "drag(start_box='(0,0)', end_box='(644,364)')": "mouse_drag('0,0 640,360', 'left', '')",
    "drag(start_point='<point>0 0</point>', end_point='<point>644 364</point>')": (
        "mouse_drag('0,0 640,360', 'left', '')"
    ),
    "scroll(start_box='(644,364)', direction='up')": "scroll_at(640.0, 360.0, 0.0, -500.0, '')",
    "scroll(direction='down')": "scroll_at(640.0, 360.0, 0.0, 500.0, '')",
    "hotkey(key='ctrl a')": "keyboard_press('Control+a')",
    "type(content='mug')": "keyboard_type('mug')",
    "type(content='mug\\n')": "keyboard_type('mug') keyboard_press('Enter')",
    "type(content='it\\'s\nmine')": 'keyboard_type("it\'s\\nmine")',
    "wait()": "wait(5000.0)",
    "goto(url='http://shop.test/')": "goto('http://shop.test/')",
    "go_back()": "go_back()",
    "tab_focus(index='1')": "tab_focus(1)",
    "tab_focus(index=1)": "tab_focus(1)",
    "finished(content='none fits')": "give_up('none fits')",
    "wait()\n\nclick(start_box='(644,364)')": "wait(5000.0) mouse_click(640.0, 360.0, 'left', 1, '')",
    "wait()\nAction: go_back()": "wait(5000.0) go_back()",
    "wait()\n\nThought: back.\nAction: go_back()": "wait(5000.0) go_back()",
}
QWEN_ACTIONS: list[tuple[dict[str, Any], str]] = [
    ({"action": "left_click", "coordinate": [500, 500]}, "mouse_click(640.0, 360.0, 'left', 1, '')"),
    ({"action": "right_click", "coordinate": [0, 999]}, "mouse_click(0.0, 719.28, 'right', 1, '')"),
    ({"action": "triple_click", "coordinate": [500, 500]}, "mouse_click(640.0, 360.0, 'left', 3, '')"),
    ({"action": "mouse_move", "coordinate": [500, 250]}, "mouse_move(640.0, 180.0)"),
    ({"action": "left_click_drag", "coordinate": [0, 0]}, "mouse_drag('640,360 0,0', 'left', '')"),
    ({"action": "scroll", "pixels": -300}, "scroll_at(640.0, 360.0, 0.0, 300.0, '')"),
    ({"action": "hscroll", "pixels": 300}, "scroll_at(640.0, 360.0, 300.0, 0.0, '')"),
    ({"action": "key", "keys": ["ctrl", "a"]}, "keyboard_press('Control+a')"),
    ({"action": "type", "text": "mug"}, "keyboard_type('mug')"),
    ({"action": "wait", "time": 2}, "wait(2000.0)"),
    ({"action": "answer", "text": "It is A."}, "give_up('It is A.')"),
    ({"action": "terminate", "status": "failure"}, "give_up('terminate: failure')"),
]
FARA_ACTIONS: list[tuple[dict[str, Any], str]] = [
    ({"action": "left_click", "coordinate": [644, 364]}, "mouse_click(640.0, 360.0, 'left', 1, '')"),
    (
        {
            "action": "type",
            "text": "mug",
            "coordinate": [644, 364],
            "press_enter": True,
            "delete_existing_text": True,
        },
        "mouse_click(640.0, 360.0, 'left', 1, '') keyboard_press('Control+a') keyboard_press('Backspace') "
        "keyboard_type('mug') keyboard_press('Enter')",
    ),
    ({"action": "visit_url", "url": "http://shop.test/"}, "goto('http://shop.test/')"),
    ({"action": "history_back"}, "go_back()"),
    ({"action": "pause_and_memorize_fact", "fact": "A costs 5"}, "wait(0.0)"),
    ({"action": "terminate", "status": "success"}, "give_up('terminate: success')"),
]
ANSWERS = [
    *((TARS, f"Thought: on.\nAction: {told}", wanted) for told, wanted in TARS_ACTIONS.items()),
    *((QWEN, call(**told), wanted) for told, wanted in QWEN_ACTIONS),
    *((FARA, call(**told), wanted) for told, wanted in FARA_ACTIONS),
    (QWEN, call("tab_focus", index=1), "tab_focus(1)"),
    (QWEN, call("goto", url="http://shop.test/"), "goto('http://shop.test/')"),
    (FARA, call("tab_focus", index=0), "tab_focus(0)"),
    (QWEN, call(action="wait") + call("go_back"), "wait(1000.0) go_back()"),
    # A click that misses the picture does not move the pointer.
    (
        QWEN,
        call(action="left_click", coordinate=[1_500, 9]) + call(action="scroll", pixels=9),
        "mouse_click(1920.0, 6.48, 'left', 1, '') scroll_at(640.0, 360.0, 0.0, -9.0, '')",
    ),
    (QWEN, "<think>\nA <tool_call>?\n</think>\n" + call("go_back").removesuffix("</tool_call>"), "go_back()"),
    # Families differ in the units of points, which follow from the model's name.
    (
        "qwen-computer:Qwen2.5-VL-7B",
        call(action="left_click", coordinate=[644, 364]),
        "mouse_click(640.0, 360.0, 'left', 1, '')",
    ),
    (
        "ui-tars-computer:UI-TARS-7B-DPO",
        "Action: click(start_box='[400, 450, 600, 550]')",
        "mouse_click(640.0, 360.0, 'left', 1, '')",
    ),
    (
        "ui-tars-computer:doubao-1-5-ui-tars-250428",
        "Action: click(point='<point>500 500</point>')",
        "mouse_click(640.0, 360.0, 'left', 1, '')",
    ),
]


@pytest.mark.parametrize(("name", "told", "wanted"), ANSWERS)
async def test_actions(provider: Provider, name: str, told: str, wanted: str) -> None:
    provider.say(told)
    agent = make_agent(name, seed=1)
    taken = []
    while len(taken) < len(wanted.split(") ")):
        taken.append(str((await agent.act(seen())).action))
        assert str(parse_action(taken[-1], EVERY)) == taken[-1]
    assert " ".join(taken) == wanted
    assert len(provider.requests) == 1


async def test_points_are_those_of_the_picture_that_was_sent(provider: Provider) -> None:
    agent = make_agent(TARS, seed=1)
    for _ in range(2):
        provider.say("Action: click(start_box='(140,140)')")
    assert (await agent.act(seen(size=(280, 280)))).action.args[:2] == (140.0, 140.0)
    assert (await agent.act(seen(size=(560, 840)))).action.args[:2] == (140.0, 140.0)
    provider.say("Action: click(start_box='(140,140)')")  # seen as 392 x 224
    assert (await agent.act(seen(size=(384, 216)))).action.args[:2] == (137.14, 135.0)


SPACES: list[tuple[Coordinates, tuple[int, int]]] = [
    ("pixels", (640, 360)),
    ("grid1000", (500, 500)),
    ("smart_resize28", (644, 364)),
]


@pytest.mark.parametrize(("space", "middle"), SPACES)
@pytest.mark.parametrize("name", FAMILIES)
async def test_the_experiment_says_in_what_points_are(
    provider: Provider, name: str, space: Coordinates, middle: tuple[int, int]
) -> None:
    """A model that was tuned further has any name."""
    x, y = middle
    told = f"Thought: On.\nAction: click(start_box='({x},{y})')"
    provider.say(told if name == TARS else call(action="left_click", coordinate=[x, y]))
    agent = make_agent(f"{name.partition(':')[0]}:mine", seed=1, options=ComputerOptions(coordinates=space))
    assert (await agent.act(seen())).action == Action("mouse_click", (640.0, 360.0, "left", 1, ""))
    if name != TARS:
        units = {"pixels": "1280x720", "grid1000": "1000x1000", "smart_resize28": "1288x728"}[space]
        assert f"whose size is {units}" in provider.requests[0]["messages"][0]["content"]


async def test_the_prompt_tells_what_its_family_knows(provider: Provider) -> None:
    sent: dict[str, str] = {}
    for name in (*FAMILIES, "qwen-computer:qwen2.5-vl-72b", "ui-tars-computer:doubao-1.5-ui-tars"):
        provider.say(waiting(TARS if name.startswith("ui-tars") else QWEN))
        await make_agent(name, seed=1).act(seen())
        first = provider.requests[-1]["messages"][0]["content"]
        sent[name] = first if isinstance(first, str) else first[0]["text"]
    assert "click(start_box='<|box_start|>(x,y)<|box_end|>')" in sent[TARS]
    assert "drag(start_point='<point>x y</point>'" in sent["ui-tars-computer:doubao-1.5-ui-tars"]
    tools = {
        name: [json.loads(line)["function"] for line in text.splitlines() if line.startswith('{"type"')]
        for name, text in sent.items()
    }
    assert [each["name"] for each in tools[QWEN]] == ["computer_use", "tab_focus", "goto", "go_back"]
    assert [each["name"] for each in tools[FARA]] == ["computer_use", "tab_focus"]
    assert "visit_url" in tools[FARA][0]["parameters"]["properties"]["action"]["enum"]
    assert "1000x1000" in tools[QWEN][0]["description"]
    assert "1288x728" in tools[FARA][0]["description"]
    assert "1288x728" in tools["qwen-computer:qwen2.5-vl-72b"][0]["description"]


async def test_tokens_around_points_go_back_where_the_server_left_them_out(provider: Provider) -> None:
    provider.say("Action: drag(start_box='(1,2)', end_box='(3,4)')")
    provider.say("Action: wait()")
    agent = make_agent(TARS, seed=1)
    await agent.act(seen())
    await agent.act(seen())
    boxes = "start_box='<|box_start|>(1,2)<|box_end|>', end_box='<|box_start|>(3,4)<|box_end|>'"
    assert provider.requests[1]["messages"][1]["content"] == f"Action: drag({boxes})"


@pytest.mark.parametrize("arguments", ['{"action": "left_click", "coordinate": [500, 500]}', None, "{", "7"])
async def test_calls_that_the_server_has_read(provider: Provider, arguments: str | None) -> None:
    function = {"name": "computer_use", "arguments": arguments}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]}
    body = {"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}
    provider.script.append(JSONResponse(body))
    provider.say(call(action="wait"))
    decision = await make_agent(QWEN, seed=1).act(seen())
    is_good = bool(arguments and "action" in arguments)
    assert decision.action.name == ("mouse_click" if is_good else "wait")
    assert [bool(each.error) for each in decision.calls] == ([False] if is_good else [True, False])
    assert decision.usage.cost is None, "nobody counted the tokens of the first"


ODD = {
    "garbage": "I like mugs.",
    "an empty text": "",
    "nothing": None,
    "only a thought": "<think>Hm.</think>",
}
ODD_TARS = {
    "an unknown action": "Action: teleport(start_box='(1,2)')",
    "an action of a telephone": "Action: press_home()",
    "no point": "Action: click(start_box='here')",
    "no arguments": "Action: click()",
    "three numbers": "Action: click(start_box='(1,2,3)')",
    "a point far out": "Action: click(start_box='(99999999,2)')",
    "no call": "Action: __import__('os').system('id')",
    "an expression": "Action: type(content=open('x').read())",
    "an argument without a name": "Action: click('(1,2)')",
    "a number too large": f"Action: click(start_box=0x{'f' * 3_900})",
    "far too long": f"Action: type(content='{'a' * 5_000}')",
    "half a character": r"Action: type(content='\ud800')",
    "an unknown key": "Action: hotkey(key='hyper x')",
    "no direction": "Action: scroll(start_box='(1,2)', direction='in')",
    "a tab without a number": "Action: tab_focus(index='first')",
    "one of two is wrong": "Action: wait()\n\nbuy()",
}
ODD_CALLS = {
    "no JSON": "<tool_call>{</tool_call>",
    "a list": "<tool_call>[]</tool_call>",
    "no arguments": '<tool_call>{"name": "computer_use"}</tool_call>',
    "a deep list": f"<tool_call>{'[' * 100_000}</tool_call>",
    "an unknown function": call("buy", what="mug"),
    "half a character": call("\ud800"),
    "an unknown action": call(action="teleport"),
    "no action": call(coordinate=[1, 2]),
    "a strange action": call(action=[[]]),
    "no point": call(action="left_click"),
    "a point in words": call(action="left_click", coordinate="here"),
    "a point of one number": call(action="left_click", coordinate=[1]),
    "a huge point": call(action="left_click", coordinate=[10**400, 1]),
    "not a number": call(action="left_click", coordinate=[float("nan"), 1]),
    "an unknown key": call(action="key", keys=["hyper"]),
    "keys of numbers": call(action="key", keys=[7]),
    "no text": call(action="type"),
    "a wrong index": call("tab_focus", index="0"),
    "no search": call(action="web_search", query="mug"),
    "one of two is wrong": call(action="wait") + call("buy"),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "told"),
    [
        *((name, told) for name in FAMILIES for told in ODD.values()),
        *((TARS, told) for told in ODD_TARS.values()),
        *((name, told) for name in (QWEN, FARA) for told in ODD_CALLS.values()),
        (QWEN, call(action="visit_url", url="http://shop.test/")),
        (FARA, call(action="triple_click", coordinate=[1, 2])),
    ],
)
async def test_odd_answers_are_asked_for_again(provider: Provider, name: str, told: str | None) -> None:
    provider.say(told)
    provider.say(waiting(name))
    decision = await make_agent(name, seed=1).act(seen())
    assert decision.action.name == "wait"
    unusable, usable = decision.calls
    assert unusable.error.startswith("unusable answer: ")
    assert "\n" not in unusable.error
    assert len(unusable.error) < 400
    assert not usable.error
    assert pictures(provider.requests[1]) == [png()] * 2


@pytest.mark.parametrize("name", FAMILIES)
async def test_an_agent_without_a_usable_answer_has_failed(provider: Provider, name: str) -> None:
    for _ in range(3):
        provider.say("I like mugs.")
    provider.say(waiting(name), finish_reason="length")
    with pytest.raises(AgentError, match=r"invalid answer: cut_off \(the last of 4\)") as caught:
        await make_agent(name, seed=1).act(seen())
    assert len(caught.value.calls) == 4


@pytest.mark.parametrize("name", FAMILIES)
async def test_settings(provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("COMPATIBLE_API_KEY")
    family = name.partition(":")[0]
    known = {agent.name: agent for agent in known_agents()}
    assert known[f"{family}:MODEL"].problem == ""
    provider.say(waiting(name))
    await make_agent(name, seed=1).act(seen())
    assert provider.keys == ["none"]
    with pytest.raises(UserError, match="looks at pictures; write observation: screenshot"):
        await make_agent(name, seed=1).act(replace(seen(), screenshot=b""))
    with pytest.raises(UserError, match="cannot answer in text"):
        make_respondent(name, seed=1)
    with pytest.raises(UserError, match="the model is missing"):
        check_name(family)
    monkeypatch.delenv("COMPATIBLE_BASE_URL")
    with pytest.raises(UserError, match="COMPATIBLE_BASE_URL is not set"):
        check_agent(name)


SEEN = seen()


def begun(kind: Callable[[str], ChatComputer], name: str) -> ChatComputer:
    model = kind(name)
    model.begin(SEEN)
    return model


KINDS = st.sampled_from(
    [
        (UITarsComputer, "UI-TARS-1.5-7B"),
        (UITarsComputer, "doubao-ui-tars"),
        (QwenComputer, "Qwen3-VL-8B"),
        (QwenComputer, "Qwen2.5-VL-7B"),
        (FaraComputer, "Fara-7B"),
    ]
)
WORDS = st.sampled_from(
    [
        *("Action: ", "Thought: ", "click(", "type(", "drag(", "scroll(", "hotkey(key='ctrl c'", "content="),
        *("'(1,2)'", "'[1, 2, 3, 4]'", "'<point>1 2</point>'", "start_box=", "end_box=", ")", "\n\n", "\\"),
        *("<tool_call>", "</tool_call>", '{"name": "computer_use", "arguments": ', '{"action": ', "}", "]"),
        *('"left_click"', '"type"', ', "coordinate": ', "[1, 2", ', "text": "a"', "<think>", "</think>"),
    ]
)  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=12), max_size=12).map("".join), KINDS)
def test_any_text_is_actions_or_a_problem(text: str, kind: tuple[Callable[[str], ChatComputer], str]) -> None:
    turn = begun(*kind).read([{"text": text}], cut_off=False)
    assert turn.asked or not text.rpartition("</think>")[2].strip()
    for asked in turn.asked:
        assert (asked.action is None) == bool(asked.problem)
        assert "\n" not in asked.problem
        (asked.name + asked.problem).encode()  # it is sent back
        if asked.action:
            assert parse_action(str(asked.action), EVERY) == asked.action


@given(json_data, st.sampled_from(sorted(QwenComputer.tool["actions"] | FaraComputer.tool["actions"])))
def test_any_arguments_are_actions_or_a_problem(data: Any, action: str) -> None:
    given = {"action": action, **data} if isinstance(data, dict) else data
    told = "<tool_call>" + json.dumps({"name": "computer_use", "arguments": given}) + "</tool_call>"
    for kind in (QwenComputer, FaraComputer):
        turn = begun(kind, "m").read([{"text": told}], cut_off=False)
        assert turn.asked
        for asked in turn.asked:
            assert (asked.action is None) == bool(asked.problem)


POINTS = st.tuples(st.integers(0, 999), st.integers(0, 719))  # within the picture in all units
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


def scaled(point: tuple[int, int], units: tuple[int, int]) -> tuple[float, float]:
    return round(point[0] * 1280 / units[0], 2), round(point[1] * 720 / units[1], 2)


@given(POINTS, POINTS, TEXTS)
def test_what_is_written_as_actions_of_ui_tars_reads_back(
    start: tuple[int, int], end: tuple[int, int], text: str
) -> None:
    written = [
        f"click(start_box='<|box_start|>({start[0]},{start[1]})<|box_end|>')",
        f"left_double(point='<point>{start[0]} {start[1]}</point>')",
        f"drag(start_box='({start[0]},{start[1]})', end_box='[{end[0]}, {end[1]}]')",
        f"type(content={text + '.'!r})",
        f"finished(content={text!r})",
    ]
    turn = begun(UITarsComputer, "UI-TARS-1.5-7B").read(
        [{"text": "Thought: I act.\nAction: " + "\n\n".join(written)}], cut_off=False
    )
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
def test_what_is_written_as_calls_reads_back(
    start: tuple[int, int], end: tuple[int, int], text: str, pixels: int
) -> None:
    for kind, name, units in (
        (QwenComputer, "Qwen3-VL-8B", (1000, 1000)),
        (QwenComputer, "Qwen2.5-VL-7B", (1288, 728)),
        (FaraComputer, "Fara-7B", (1288, 728)),
    ):
        written = [
            call(action="left_click", coordinate=list(start)),
            call(action="scroll", pixels=pixels),
            call(action="mouse_move", coordinate=list(end)),
            call(action="type", text=text),
            call("tab_focus", index=pixels),
        ]
        (x, y), (right, bottom) = scaled(start, units), scaled(end, units)
        turn = begun(kind, name).read([{"text": "".join(written)}], cut_off=False)
        assert [asked.action for asked in turn.asked] == [
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
    assert resized((1280, 720)) == (1288, 728)
    assert resized((1280, 800)) == (1288, 812)
    assert resized((20, 20), fewest=100) == (280, 280)
