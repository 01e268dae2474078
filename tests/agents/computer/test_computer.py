"""Models that act by their providers' own tools: real SDKs against servers that speak the wire format."""

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from starlette.responses import JSONResponse

from agents.base import Agent, AgentError, Decision, ProviderError
from agents.computer.agent import FAILED, NAVIGATED
from agents.computer.anthropic_browser import AnthropicBrowser
from agents.computer.anthropic_computer import AnthropicComputer
from agents.computer.openai_computer import OpenAIComputer
from agents.registry import check_agent, check_name, make_agent, make_respondent
from environments.protocol.actions import EVERY, Action, parse_action
from environments.protocol.observation import Observation
from interventions.errors import UserError
from tests.agents.conftest import Provider

OPENAI, ANTHROPIC = "openai-computer:gpt-5.5", "anthropic-computer:claude-sonnet-5"
BROWSER = "anthropic-browser:claude-sonnet-5"


@cache
def png(colour: str = "white", size: tuple[int, int] = (1280, 720)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, "PNG")
    return written.getvalue()


@pytest.fixture
def see(observe: Callable[..., Observation]) -> Callable[..., Observation]:
    def make(colour: str = "white", **more: Any) -> Observation:
        return replace(observe(""), html="", screenshot=png(colour), marks=False, pointer=True, **more)

    return make


class Wire:
    """Scripts a provider's answers in its form, and checks what each request must hold."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def openai(self, *items: dict[str, Any], status: str = "completed", **more: Any) -> None:
        usage = {"input_tokens": 1_500, "output_tokens": 40}
        body = {"id": "resp_1", "object": "response", "status": status, "output": list(items), "usage": usage}
        self.provider.script.append(JSONResponse(body | more))

    def anthropic(self, *blocks: dict[str, Any], stop: str = "tool_use") -> None:
        usage = {"input_tokens": 1_500, "output_tokens": 40}
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
        self.provider.script.append(JSONResponse({**body, "stop_reason": stop, "usage": usage}))

    @property
    def sent(self) -> list[dict[str, Any]]:
        return self.provider.requests


@pytest.fixture
async def wire(provider: Provider) -> AsyncIterator[Wire]:
    yield Wire(provider)


def call(*actions: dict[str, Any], number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "type": "computer_call",
        "id": f"cu_{number}",
        "call_id": f"call_{number}",
        "status": "completed",
        "pending_safety_checks": [],
        "actions": list(actions),
        **more,
    }


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret"}
CLICK = {"type": "click", "x": 405, "y": 157, "button": "left"}


def use(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "toolset_name": "computer",
        "name": name,
        "input": given,
    }


def browse(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    return use(name, number, **given) | {"toolset_name": "browser"}


def function(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}


def is_answered(request: dict[str, Any]) -> bool:
    """Whether each call of an OpenAI conversation has one output, and follows its reasoning."""
    items = request["input"]
    calls = [each["call_id"] for each in items if each.get("type") in ("computer_call", "function_call")]
    outputs = [each["call_id"] for each in items if each.get("type", "").endswith("_call_output")]
    return sorted(calls) == sorted(outputs)


def are_results(request: dict[str, Any]) -> bool:
    """Whether the results of each Anthropic turn answer its calls, each once, with its toolset."""
    messages = request["messages"]
    for before, after in pairwise(messages):
        if before["role"] == "assistant":
            uses = {
                each["id"]: each.get("toolset_name")
                for each in before["content"]
                if each["type"] == "tool_use"
            }
            results = [each for each in after["content"] if each["type"] == "tool_result"]
            if [(each["tool_use_id"], each.get("toolset_name")) for each in results] != list(uses.items()):
                return False
    return True


async def test_a_batch_of_openai_is_taken_action_by_action(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    agent = make_agent(OPENAI, seed=1)
    wire.openai(
        THOUGHT, call(CLICK, {"type": "type", "text": "mug"}, {"type": "keypress", "keys": ["CTRL", "A"]})
    )
    wire.openai({"type": "message", "content": [{"type": "output_text", "text": "It is done."}]})
    first = await agent.act(see())
    assert first.action == Action("mouse_click", (405.0, 157.0, "left", 1, ""))
    assert (first.looked, len(first.calls), first.usage.tokens_in) == (True, 1, 1_500)
    assert first.usage.cost == pytest.approx((1_500 * 5 + 40 * 30) / 1e6)
    later = [await agent.act(see()), await agent.act(see())]
    assert [str(each.action) for each in later] == ["keyboard_type('mug')", "keyboard_press('Control+a')"]
    assert [(each.looked, each.calls) for each in later] == [(False, ())] * 2
    assert len(wire.sent) == 1
    last = await agent.act(see("red"))
    assert last.action == Action("give_up", ("It is done.",))
    begun, then = wire.sent
    assert begun["tools"][0] == {"type": "computer"}
    assert (begun["store"], begun["model"]) == (False, "gpt-5.5")
    (user,) = begun["input"]
    assert "Add the best product" in user["content"][0]["text"]
    assert "Tab 1 (active): Page 1" in user["content"][0]["text"]
    assert base64.b64decode(user["content"][1]["image_url"].partition(",")[2]) == png()
    assert is_answered(then)
    assert then["input"][1] == THOUGHT, "reasoning goes back before its call"
    output = then["input"][3]
    assert base64.b64decode(output["output"]["image_url"].partition(",")[2]) == png("red")
    assert "acknowledged_safety_checks" not in output


async def test_the_preview_of_openai_is_told_the_size_and_asks_for_one_action_at_a_time(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    agent = make_agent("openai-computer:computer-use-preview-2025-03-11", seed=1)
    one = call()
    del one["actions"]
    wire.openai(one | {"action": CLICK})
    wire.openai({"type": "message", "content": [{"type": "output_text", "text": "It is done."}]})
    assert (await agent.act(see())).action == Action("mouse_click", (405.0, 157.0, "left", 1, ""))
    assert (await agent.act(see("red"))).action.name == "give_up"
    size = {"display_width": 1280, "display_height": 720}
    told = {"type": "computer_use_preview", "environment": "browser", **size}
    assert [request["tools"][0] for request in wire.sent] == [told, told]
    assert [request["truncation"] for request in wire.sent] == ["auto", "auto"]
    assert wire.sent[0]["input"][0]["content"][1]["detail"] == "auto"
    assert is_answered(wire.sent[1])
    assert base64.b64decode(wire.sent[1]["input"][2]["output"]["image_url"].partition(",")[2]) == png("red")


@pytest.mark.parametrize("more", [{"arrived": True}, {"error": "mouse_click: outside"}])
async def test_a_batch_stops_where_the_page_is_left_and_where_an_action_fails(
    wire: Wire, see: Callable[..., Observation], more: dict[str, Any]
) -> None:
    agent, other = make_agent(OPENAI, seed=1), make_agent(ANTHROPIC, seed=1)
    wire.openai(call(CLICK, {"type": "type", "text": "mug"}))
    wire.openai(call({"type": "wait"}, number=2))
    await agent.act(see())
    assert str((await agent.act(see(**more))).action) == "wait(1000.0)"
    note = wire.sent[1]["input"][-1]["content"][0]["text"]
    assert f"type: {FAILED if 'error' in more else NAVIGATED}" in note
    assert is_answered(wire.sent[1])

    wire.anthropic(use("left_click", 1, coordinate=[640, 360]), use("type", 2, text="mug"))
    wire.anthropic(use("wait", 3, duration=2))
    await other.act(see())
    assert str((await other.act(see(**more))).action) == "wait(2000.0)"
    assert are_results(wire.sent[3])
    clicked, typed, *_ = wire.sent[3]["messages"][-1]["content"]
    assert clicked.get("is_error", False) == ("error" in more)
    assert typed["is_error"]
    assert typed["content"][0]["text"] == (FAILED if "error" in more else NAVIGATED)
    assert typed["content"][1]["type"] == "image"


async def test_safety_checks_end_the_trial_unless_the_experiment_says_otherwise(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    asked = [{"id": "sc_1", "code": "malicious_instructions", "message": "Look at it."}]
    wire.openai(call(CLICK, pending_safety_checks=asked))
    with pytest.raises(AgentError, match="malicious_instructions: Look at it") as raised:
        await make_agent(OPENAI, seed=1).act(see())
    assert [(each.code, each.acknowledged) for each in raised.value.checks] == [
        ("malicious_instructions", False)
    ]
    assert len(raised.value.calls) == 1

    agent = make_agent(OPENAI, seed=1, acknowledges=True)
    wire.openai(call(CLICK, pending_safety_checks=asked))
    wire.openai(call(CLICK, number=2))
    wire.openai(call(CLICK, number=3))
    first = await agent.act(see())
    assert [(each.message, each.acknowledged) for each in first.checks] == [("Look at it.", True)]
    assert (await agent.act(see())).checks == ()
    await agent.act(see())
    outputs = [each for each in wire.sent[-1]["input"] if each.get("type") == "computer_call_output"]
    assert [each.get("acknowledged_safety_checks") for each in outputs] == [asked, None]


async def test_what_was_confirmed_for_an_unusable_answer_is_recorded_too(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    asked = [{"id": "s1", "code": "c", "message": "Look at it."}]
    agent = make_agent(OPENAI, seed=1, acknowledges=True)
    wire.openai(call({"type": "levitate"}, pending_safety_checks=asked))
    wire.openai(call(CLICK, number=2))
    decision = await agent.act(see())
    assert [(each.message, each.acknowledged) for each in decision.checks] == [("Look at it.", True)]


ACTIONS = {
    "screenshot": ({"type": "screenshot"}, "wait(0.0)"),
    "double": ({"type": "double_click", "x": 1, "y": 2}, "mouse_click(1.0, 2.0, 'left', 2, '')"),
    "wheel": ({"type": "click", "x": 1, "y": 2, "button": "wheel"}, "mouse_click(1.0, 2.0, 'middle', 1, '')"),
    "held": (CLICK | {"keys": ["SHIFT"]}, "mouse_click(405.0, 157.0, 'left', 1, 'Shift')"),
    "move": ({"type": "move", "x": 1, "y": 2}, "mouse_move(1.0, 2.0)"),
    "drag": (
        {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]},
        "mouse_drag('1,2 3,4', 'left', '')",
    ),
    "scroll": (
        {"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 300},
        "scroll_at(1.0, 2.0, 0.0, 300.0, '')",
    ),
    "enter": ({"type": "keypress", "keys": ["ENTER"]}, "keyboard_press('Enter')"),
}


@pytest.mark.parametrize("name", ACTIONS)
async def test_actions_of_openai(wire: Wire, see: Callable[..., Observation], name: str) -> None:
    told, wanted = ACTIONS[name]
    wire.openai(call(told))
    action = (await make_agent(OPENAI, seed=1).act(see())).action
    assert str(action) == wanted
    assert parse_action(str(action), EVERY) == action
    # The earlier form has one action.
    wire.openai(call() | {"actions": None, "action": told})
    assert (await make_agent(OPENAI, seed=1).act(see())).action == action


USES = {
    "left_click": ({"coordinate": [1, 2], "text": "shift"}, "mouse_click(1.0, 2.0, 'left', 1, 'Shift')"),
    "triple_click": ({"coordinate": [1, 2]}, "mouse_click(1.0, 2.0, 'left', 3, '')"),
    "right_click": ({}, "mouse_click(0.0, 0.0, 'right', 1, '')"),
    "mouse_move": ({"coordinate": [1, 2]}, "mouse_move(1.0, 2.0)"),
    "left_click_drag": (
        {"start_coordinate": [1, 2], "coordinate": [3, 4]},
        "mouse_drag('1,2 3,4', 'left', '')",
    ),
    "scroll": (
        {"coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": 3},
        "scroll_at(1.0, 2.0, 0.0, 360.0, '')",
    ),
    "key": ({"text": "ctrl+s"}, "keyboard_press('Control+s')"),
    "type": ({"text": "mug"}, "keyboard_type('mug')"),
    "wait": ({"duration": 1.5}, "wait(1500.0)"),
    "screenshot": ({}, "wait(0.0)"),
    "left_mouse_down": ({}, "mouse_down('left')"),
    "hold_key": ({"text": "shift", "duration": 3}, "keyboard_hold('Shift', 3000.0)"),
    "zoom": ({"region": [10, 20, 300, 200.5]}, "zoom(10.0, 20.0, 300.0, 200.5)"),
}


@pytest.mark.parametrize("name", USES)
async def test_actions_of_anthropic(wire: Wire, see: Callable[..., Observation], name: str) -> None:
    given, wanted = USES[name]
    wire.anthropic(use(name, **given))
    action = (await make_agent(ANTHROPIC, seed=1).act(see())).action
    assert str(action) == wanted
    assert parse_action(str(action), EVERY) == action
    assert wire.sent[0]["cache_control"] == {"type": "ephemeral"}
    assert wire.sent[0]["tools"][0] == {"type": "computer_toolset_20260801"}
    earlier = make_agent("anthropic-computer:claude-opus-4-6", seed=1)
    wire.anthropic(function("computer", action=name, **given))
    wire.anthropic({"type": "text", "text": "Done."}, stop="end_turn")
    assert (await earlier.act(see())).action == action
    await earlier.act(see())
    assert wire.sent[1]["tools"][0] == {
        "type": "computer_20251124",
        "name": "computer",
        "display_width_px": 1280,
        "display_height_px": 720,
        "enable_zoom": True,
    }
    assert wire.provider.headers[1]["anthropic-beta"] == "computer-use-2025-11-24"
    assert are_results(wire.sent[2])


@pytest.mark.parametrize("said", ["gpt-5.5-2026-09-01", None, 7])
async def test_the_model_that_answered_is_recorded(
    wire: Wire, see: Callable[..., Observation], key: str, said: object
) -> None:
    wire.openai(call(CLICK), model=said)
    (asked,) = (await make_agent(OPENAI, seed=1).act(see())).calls
    assert (asked.model, asked.answered_by) == ("gpt-5.5", said if isinstance(said, str) else "")
    wire.anthropic(use("left_click", coordinate=[1, 2]))
    (asked,) = (await make_agent(ANTHROPIC, seed=1).act(see())).calls
    assert (asked.model, asked.answered_by) == ("claude-sonnet-5", "m")
    wire.openai(call(CLICK), model=f"{key} \0" + "a" * 999)
    (asked,) = (await make_agent(OPENAI, seed=1).act(see())).calls
    assert key not in asked.answered_by
    assert len(asked.answered_by.encode()) <= 210


async def test_a_click_that_misses_the_picture_moves_no_pointer(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    agent = make_agent(ANTHROPIC, seed=1)
    wire.anthropic(use("left_click", coordinate=[5_000, 9]))
    wire.anthropic(use("scroll", scroll_direction="down", scroll_amount=3))
    assert str((await agent.act(see())).action) == "mouse_click(5000.0, 9.0, 'left', 1, '')"
    assert (
        str((await agent.act(see(error="mouse_click: outside"))).action)
        == "scroll_at(0.0, 0.0, 0.0, 360.0, '')"
    )


async def test_the_pointer_is_where_the_last_action_that_was_taken_has_left_it(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    agent = make_agent(ANTHROPIC, seed=1)
    wire.anthropic(use("left_click", 1, coordinate=[7, 9]), use("cursor_position", 2))
    wire.anthropic(use("mouse_move", 3, coordinate=[5_000, 9]), use("mouse_move", 4, coordinate=[50, 60]))
    wire.anthropic(use("cursor_position", 5), use("left_click", 6))
    taken = [str((await agent.act(see())).action) for _ in range(3)]
    assert taken[2] == "mouse_move(5000.0, 9.0)"
    assert str((await agent.act(see(error="mouse_move: outside"))).action) == "wait(0.0)"
    assert str((await agent.act(see())).action) == "mouse_click(7.0, 9.0, 'left', 1, '')"
    wire.anthropic({"type": "text", "text": "Done."}, stop="end_turn")
    await agent.act(see())
    results = [
        block["content"][0]["text"]
        for message in wire.sent[-1]["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert results == ["OK", "X=7,Y=9", "mouse_move: outside", FAILED, "X=7,Y=9", "OK"]


@pytest.mark.parametrize(("name", "asked"), [(ANTHROPIC, use), (BROWSER, browse)])
async def test_a_zoom_is_answered_by_its_own_picture(
    wire: Wire, see: Callable[..., Observation], name: str, asked: Callable[..., dict[str, Any]]
) -> None:
    agent = make_agent(name, seed=1)
    wire.anthropic(asked("zoom", 1, region=[0, 0, 10, 10]), asked("type", 2, text="mug"))
    wire.anthropic(asked("screenshot", 3), asked("zoom", 4, region=[0, 0, 10, 10]))
    wire.anthropic(asked("zoom", 5, region=[0, 0, 9_999, 10]))
    wire.anthropic({"type": "text", "text": "Done."}, stop="end_turn")
    for picture in ({}, {"colour": "red", "zoomed": True}, {"colour": "blue"}, {"colour": "green"}):
        await agent.act(see(**picture))
    await agent.act(see("yellow", zoomed=True))
    assert (await agent.act(see("black", error="zoom: outside"))).action.name == "give_up"
    told = [
        [block.get("text") or base64.b64decode(block["source"]["data"]) for block in each["content"]]
        for message in wire.sent[-1]["messages"]
        for each in message["content"]
        if each["type"] == "tool_result"
    ]
    assert told == [
        [png("red")],
        ["OK", png("blue")],
        [png("green")],
        [png("yellow")],
        ["zoom: outside", png("black")],
    ]


AT = {"type": "coordinate", "x": 1, "y": 2}
MEMBERS: list[tuple[str, dict[str, Any], str]] = [
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
    ("type", {"text": "mug"}, "keyboard_type('mug')"),
    ("key", {"text": "Tab", "repeat": 2}, "keyboard_press('Tab') keyboard_press('Tab')"),
    ("wait", {"duration": 1}, "wait(1000.0)"),
    ("screenshot", {}, "wait(0.0)"),
    ("zoom", {"region": [10, 20, 300, 200], "tab_id": "1"}, "zoom(10.0, 20.0, 300.0, 200.0)"),
    ("list_tabs", {}, "wait(0.0)"),
    ("switch_tab", {"tab_id": "0"}, "tab_focus(0)"),
    ("navigate", {"url": "http://shop.test/"}, "goto('http://shop.test/')"),
    ("navigate", {"url": "shop.test"}, "goto('https://shop.test')"),
    ("navigate", {"url": "back"}, "go_back()"),
    ("navigate", {"url": "forward"}, "go_forward()"),
    ("navigate", {"url": "reload"}, "reload()"),
    ("new_tab", {}, "new_tab()"),
    ("close_tab", {"tab_id": "0"}, "close_tab(0)"),
    ("close_tab", {}, "close_tab(1)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "wanted"), MEMBERS)
async def test_actions_of_anthropics_browser(
    wire: Wire, see: Callable[..., Observation], name: str, given: dict[str, Any], wanted: str
) -> None:
    agent = make_agent(BROWSER, seed=1)
    wire.anthropic(browse(name, **given))
    wire.anthropic({"type": "text", "text": "Done."}, stop="end_turn")
    taken = []
    while (action := (await agent.act(see("red" if taken else "white"))).action).name != "give_up":
        taken.append(str(action))
        assert parse_action(taken[-1], EVERY) == action
    assert " ".join(taken) == wanted
    tool, *functions = wire.sent[0]["tools"]
    assert tool["type"] == "browser_toolset_20260801"
    assert set(tool["configs"]) >= {"read_page", "find"}
    assert "zoom" not in tool["configs"]
    assert not any(config["enabled"] for config in tool["configs"].values())
    assert [each["name"] for each in functions] == ["give_up"]
    assert are_results(wire.sent[1])
    result, text, *pictures = wire.sent[1]["messages"][-1]["content"]
    assert result["toolset_name"] == "browser"
    assert "Tab 1 (active): Page 1" in text["text"]
    if name.endswith(("_tab", "_tabs")):
        state = {"type": "browser_state", "tabs": []}
        for number in range(2):
            tab = {"title": f"Page {number}", "url": f"http://shop.test/{number}.html", "active": number == 1}
            state["tabs"].append({"tab_id": str(number), **tab})  # type: ignore[attr-defined]
        assert result["content"] == [state]
    else:
        assert not pictures
        pictures = result["content"][-1:]
    (picture,) = pictures
    assert base64.b64decode(picture["source"]["data"]) == png("red")


async def test_a_batch_of_anthropics_browser_stops_with_its_own_words(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    agent = make_agent(BROWSER, seed=1)
    wire.anthropic(browse("left_click", 1, target=AT), browse("list_tabs", 2), browse("wait", 3, duration=1))
    wire.anthropic(browse("wait", 4, duration=2))
    await agent.act(see())
    assert str((await agent.act(see(error="mouse_click: no"))).action) == "wait(2000.0)"
    results = wire.sent[1]["messages"][-1]["content"][:3]
    halted = "Not executed: an earlier action in this turn failed."
    assert [each["content"][0]["text"] for each in results] == ["mouse_click: no", halted, halted]
    assert all(each["is_error"] for each in results)


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
async def test_what_is_in_no_picture_is_done_by_functions(
    wire: Wire, see: Callable[..., Observation], name: str
) -> None:
    agent = make_agent(name, seed=1)
    if name == OPENAI:
        given = {"type": "function_call", "id": "fc_1", "call_id": "f_1", "name": "tab_focus"}
        wire.openai({**given, "arguments": json.dumps({"index": 0})})
        wire.openai({**given, "call_id": "f_2", "name": "give_up", "arguments": '{"reason": "none fits"}'})
    else:
        wire.anthropic(function("tab_focus", index=0))
        wire.anthropic(function("give_up", 2, reason="none fits"))
    assert (await agent.act(see())).action == Action("tab_focus", (0,))
    assert (await agent.act(see("red", arrived=True))).action == Action("give_up", ("none fits",))
    assert base64.b64encode(png("red")).decode() in json.dumps(wire.sent[1])
    assert is_answered(wire.sent[1]) if name == OPENAI else are_results(wire.sent[1])


ODD_OPENAI: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "thoughts": [THOUGHT],
    "an unknown action": [call({"type": "teleport", "x": 1, "y": 2})],
    "no point": [call({"type": "click", "x": None, "y": "2"})],
    "a huge point": [call({"type": "click", "x": 10**400, "y": 2})],
    "no actions": [call()],
    "no object": [call("click")],  # type: ignore[arg-type]
    "unknown keys": [call({"type": "keypress", "keys": ["HYPER"]})],
    "a text that is too long": [call({"type": "type", "text": "a" * 5_000})],
    "a path that is too long": [call({"type": "drag", "path": [{"x": 100, "y": 200}] * 1_000})],
    "a path of one point": [call({"type": "drag", "path": [{"x": 1, "y": 2}]})],
    "an unknown function": [{"type": "function_call", "call_id": "f", "name": "buy", "arguments": "{}"}],
    "arguments": [{"type": "function_call", "call_id": "f", "name": "goto", "arguments": "{"}],
    "a wrong argument": [
        {"type": "function_call", "call_id": "f", "name": "tab_focus", "arguments": '{"index": "0"}'}
    ],
    "far too many": [call(*[CLICK] * 200)],
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", ODD_OPENAI)
async def test_odd_answers_of_openai_are_asked_for_again(
    wire: Wire, see: Callable[..., Observation], name: str
) -> None:
    wire.openai(*ODD_OPENAI[name])
    wire.openai(call(CLICK, number=9))
    decision = await make_agent(OPENAI, seed=1).act(see())
    assert decision.action.name == "mouse_click"
    assert [bool(each.error) for each in decision.calls] == [True, False]
    assert is_answered(wire.sent[1])
    for _ in range(4):
        wire.openai(*ODD_OPENAI[name])
    with pytest.raises(AgentError, match="the last of 4") as raised:
        await make_agent(OPENAI, seed=1).act(see())
    assert len(raised.value.calls) == 4


ODD_ANTHROPIC: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "an unknown action": [use("teleport")],
    "a zoom without a part": [use("zoom", region=[0, 0, 10])],
    "a zoom in words": [use("zoom", region=[0, 0, 10, "wide"])],
    "no point": [use("left_click", coordinate=[1])],
    "a point in words": [use("left_click", coordinate="here")],
    "no modifier": [use("left_click", coordinate=[1, 2], text="a")],
    "unknown keys": [use("key", text="hyper")],
    "a wrong argument": [function("tab_focus", index="0")],
    "an unknown tool": [function("buy")],
    "a key that is held for no time": [use("hold_key", text="shift")],
    "a text that is too long": [use("type", text="a" * 5_000)],
    "no direction": [use("scroll", coordinate=[1, 2], scroll_direction="sideways", scroll_amount=1)],
}


@pytest.mark.parametrize("name", ODD_ANTHROPIC)
async def test_odd_answers_of_anthropic_are_asked_for_again(
    wire: Wire, see: Callable[..., Observation], name: str
) -> None:
    wire.anthropic(*ODD_ANTHROPIC[name])
    wire.anthropic(use("left_click", 9, coordinate=[1, 2]))
    decision = await make_agent(ANTHROPIC, seed=1).act(see())
    assert decision.action.name == "mouse_click"
    assert [bool(each.error) for each in decision.calls] == [True, False]
    assert are_results(wire.sent[1])


@pytest.mark.parametrize(
    "told",
    [
        browse("read_page"),
        browse("left_click", target={"type": "ref", "ref": "ref_2"}),
        browse("left_click", target={"type": "coordinate", "x": 1}),
        browse("left_click", coordinate=[1, 2]),
        browse("left_click", target=AT, tab_id="0"),
        browse("left_click", target=AT, modifiers="a"),
        browse("left_click_drag", target=AT),
        browse("switch_tab", tab_id="7"),
        browse("navigate", url=""),
        browse("javascript_exec", code="1"),
        function("goto", url="http://shop.test/"),
    ],
)
async def test_odd_answers_of_anthropics_browser_are_asked_for_again(
    wire: Wire, see: Callable[..., Observation], told: dict[str, Any]
) -> None:
    wire.anthropic(told)
    wire.anthropic(browse("wait", 2, duration=1))
    decision = await make_agent(BROWSER, seed=1).act(see())
    assert [bool(each.error) for each in decision.calls] == [True, False]
    assert are_results(wire.sent[1])


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
async def test_cut_off_answers_are_asked_for_again(
    wire: Wire, see: Callable[..., Observation], name: str
) -> None:
    if name == OPENAI:
        wire.openai(THOUGHT, call(CLICK), status="incomplete")
        wire.openai(call(CLICK, number=2))
    else:
        wire.anthropic({"type": "text", "text": "I"}, use("left_click", coordinate=[1, 2]), stop="max_tokens")
        wire.anthropic(use("left_click", 2, coordinate=[1, 2]))
    decision = await make_agent(name, seed=1).act(see())
    assert "cut_off" in decision.calls[0].error
    assert is_answered(wire.sent[1]) if name == OPENAI else are_results(wire.sent[1])


async def test_a_refusal_and_repeated_keys_of_anthropic(wire: Wire, see: Callable[..., Observation]) -> None:
    wire.anthropic({"type": "text", "text": "I will not shop."}, stop="refusal")
    with pytest.raises(AgentError, match="refused: I will not shop"):
        await make_agent(ANTHROPIC, seed=1).act(see())
    agent = make_agent(ANTHROPIC, seed=1)
    wire.anthropic(use("key", text="Tab", repeat=3))
    wire.anthropic(use("wait", 2, duration=1))
    taken = [str((await agent.act(see())).action) for _ in range(4)]
    assert taken == ["keyboard_press('Tab')"] * 3 + ["wait(1000.0)"]
    assert are_results(wire.sent[-1])


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
async def test_errors_of_the_provider_are_those_of_all_models(
    wire: Wire, see: Callable[..., Observation], name: str
) -> None:
    wire.provider.fail(429)
    if name == OPENAI:
        wire.openai(call(CLICK))
    else:
        wire.anthropic(use("left_click", coordinate=[1, 2]))
    assert (await make_agent(name, seed=1).act(see())).calls[0].retries == 1
    wire.provider.fail(400, "No tool output found for computer call call_1.")
    with pytest.raises(AgentError, match="No tool output found"):
        await make_agent(name, seed=1).act(see())
    wire.provider.fail(401)
    with pytest.raises(UserError, match="refused"):
        await make_agent(name, seed=1).act(see())
    wire.provider.send(b'{"output": 7, "content": 7}')
    for _ in range(4):
        wire.provider.send(b"no JSON")
    with pytest.raises(ProviderError, match="cannot be read"):
        await make_agent(name, seed=1).act(see())


async def test_a_key_that_is_echoed_is_not_told(
    wire: Wire, see: Callable[..., Observation], key: str
) -> None:
    wire.openai({"type": "message", "content": [{"type": "output_text", "text": f"Your key is {key}."}]})
    decision = await make_agent(OPENAI, seed=1).act(see())
    assert "[key]" in decision.thought
    assert key not in repr(decision)


async def test_they_look_at_pictures_and_answer_no_questions(
    wire: Wire, observe: Callable[..., Observation], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (OPENAI, ANTHROPIC, BROWSER):
        assert isinstance(make_agent(name, seed=1), Agent)
        check_agent(name)
        with pytest.raises(UserError, match="looks at pictures; write observation: screenshot"):
            await make_agent(name, seed=1).act(observe())
        with pytest.raises(UserError, match="cannot answer in text"):
            make_respondent(name, seed=1)
        with pytest.raises(UserError, match="the model is missing"):
            check_name(name.partition(":")[0])
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        check_agent(OPENAI)


NAMES = [
    *("type", "x", "y", "keys", "path", "text", "button", "coordinate", "start_coordinate", "action"),
    *("scroll_amount", "scroll_direction", "duration", "repeat", "index", "name", "actions", "input"),
    *("target", "from", "url", "tab_id", "modifiers"),
]
json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip
KINDS = st.sampled_from(
    [
        *("click", "drag", "scroll", "keypress", "type", "left_click", "key", "left_click_drag", "wait"),
        *("navigate", "switch_tab", "hover", "left_mouse_down"),
    ]
)


@given(json_data, KINDS)
def test_whatever_a_model_says_is_an_action_or_a_problem(data: Any, kind: str) -> None:
    given = {"type": kind, **data} if isinstance(data, dict) else data
    openai, anthropic = OpenAIComputer("gpt-5.5"), AnthropicComputer("claude-sonnet-5")
    asks = {"type": "function_call", "call_id": "f", "name": kind, "arguments": data}
    turns = [
        openai.read([call(given), asks], cut_off=False),
        anthropic.read([use(kind) | {"input": data}, {"type": "end"}], cut_off=False),
        AnthropicBrowser("claude-sonnet-5").read(
            [browse(kind) | {"input": data}, {"type": "end"}], cut_off=False
        ),
    ]  # fmt: skip
    for turn in turns:
        assert turn.asked
        for asked in turn.asked:
            assert (asked.action is None) == bool(asked.problem)
            if asked.action:
                assert parse_action(str(asked.action), EVERY) == asked.action


async def test_agents_of_one_process_share_no_conversation(
    wire: Wire, see: Callable[..., Observation]
) -> None:
    for number in range(2):
        wire.openai(call(CLICK, number=number))
    found: list[Decision] = await asyncio.gather(*(make_agent(OPENAI, seed=n).act(see()) for n in range(2)))
    assert [each.action.name for each in found] == ["mouse_click"] * 2
    assert [len(each["input"]) for each in wire.sent] == [1, 1]
