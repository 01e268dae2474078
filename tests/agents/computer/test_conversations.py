"""Models that act by their providers' own tools: real SDKs against a server that speaks each wire format."""

import asyncio
import base64
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from agents.base import Agent, AgentError, Decision
from agents.computer.agent import FAILED, NAVIGATED
from agents.computer.options import ComputerOptions
from agents.providers.settings import COMPUTERS
from agents.registry import check_agent, check_name, make_agent, make_respondent
from environments.protocol.actions import Action
from interventions.errors import UserError
from tests.agents.computer.forms import (
    ANTHROPIC,
    BATCHES,
    BROWSER,
    CLICK,
    ENDS,
    FAMILIES,
    FARA,
    GEMINI,
    OPEN,
    OPENAI,
    QWEN,
    TARS,
    WAITS,
    browse,
    call,
    function,
    google,
    is_answered,
    pictures,
    png,
    say,
    script,
    seen,
    use,
)

of_each_family = pytest.mark.parametrize("name", FAMILIES)


def words(request: dict[str, Any]) -> str:
    """A request, in which names that some versions of Google's SDK write as Python does are as Google's."""
    text = json.dumps(request)
    for name in ("excludedPredefinedFunctions", "thoughtSignature"):
        text = text.replace(re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name), name)
    return text


@of_each_family
async def test_a_batch_is_taken_action_by_action(provider, key: str, name: str) -> None:
    agent = make_agent(name, seed=1)
    script(provider, name, BATCHES[name])
    script(provider, name, ENDS[name])
    first = await agent.act(seen())
    assert first.action == Action("mouse_click", (640.0, 360.0, "left", 1, ""))
    assert (first.looked, len(first.calls), first.usage.tokens_in, first.usage.tokens_out) == (
        True,
        1,
        1_500,
        40,
    )
    assert name != OPENAI or first.usage.cost == pytest.approx((1_500 * 5 + 40 * 30) / 1e6)
    second = await agent.act(seen())
    assert (str(second.action), second.looked, second.calls) == ("keyboard_type('mug')", False, ())
    assert len(provider.requests) == 1
    last = await agent.act(seen("red"))
    assert last.action.name == "give_up"
    assert name == FARA or last.action.args == ("It is done.",)
    begun, then = provider.requests
    assert "Add the best product" in words(begun)
    assert "Tab 1 (active): Page 1" in words(begun)
    assert pictures(begun) == [png()]
    assert pictures(then)[0] == png() and set(pictures(then)[1:]) == {png("red")}
    assert is_answered(then)
    assert ("signed//" in words(then).replace("_", "/")) == (name in (OPENAI, GEMINI)), "it goes back"
    assert provider.keys == [key] * 2


@of_each_family
@pytest.mark.parametrize("more", [{"arrived": True}, {"error": "mouse_click: outside"}])
async def test_a_batch_stops_where_the_page_is_left_and_where_an_action_fails(
    provider, name: str, more: dict[str, Any]
) -> None:
    agent = make_agent(name, seed=1)
    script(provider, name, BATCHES[name])
    script(provider, name, WAITS[name])
    await agent.act(seen())
    assert (await agent.act(seen(**more))).action.name == "wait"
    assert is_answered(provider.requests[1])
    told = words(provider.requests[1])
    assert ("mouse_click: outside" in told) == ("error" in more)
    halted = "Not executed: an earlier action in this turn failed." if name == BROWSER else FAILED
    assert (halted if "error" in more else NAVIGATED) in told


@of_each_family
async def test_unusable_answers_are_asked_for_again(provider, name: str) -> None:
    odd: Any = "I like mugs." if name in OPEN else []
    script(provider, name, odd)
    script(provider, name, BATCHES[name], how="cut_off")
    script(provider, name, BATCHES[name])
    decision = await make_agent(name, seed=1).act(seen())
    assert decision.action.name == "mouse_click"
    errors = [each.error for each in decision.calls]
    assert errors[0].startswith("unusable answer: ")
    assert errors[1:] == ["unusable answer: cut_off", ""]
    assert pictures(provider.requests[2]) == [png()] * 3
    assert is_answered(provider.requests[2])
    for _ in range(4):
        script(provider, name, odd)
    with pytest.raises(AgentError, match="the last of 4") as raised:
        await make_agent(name, seed=1).act(seen())
    assert len(raised.value.calls) == 4


async def test_far_too_many_actions_are_none(provider) -> None:
    script(provider, OPENAI, [call(*[CLICK] * 200)])
    script(provider, OPENAI, WAITS[OPENAI])
    assert (await make_agent(OPENAI, seed=1).act(seen())).action.name == "wait"
    assert is_answered(provider.requests[1])


@pytest.mark.parametrize("name", OPEN)
async def test_older_pictures_are_not_sent_again(provider, name: str) -> None:
    agent, kept = make_agent(name, seed=1), 5 if name == TARS else 3
    for _ in range(kept + 1):
        script(provider, name, WAITS[name])
    for colour in ("white", *["red"] * kept):
        await agent.act(seen(colour, error="" if colour == "white" else "click: no"))
    first, *_, last = provider.requests
    assert (first["model"], first["temperature"]) == (name.partition(":")[2], 0.0)
    assert "tools" not in first
    assert pictures(last) == [png("red")] * kept
    assert "Add the best product" in words(last)
    assert "wait: click: no" in last["messages"][-1]["content"][0]["text"]
    roles = [each["role"] for each in last["messages"] if each["role"] != "system"]
    assert roles == ["user", "assistant"] * kept + ["user"]


PREVIEW = "openai-computer:computer-use-preview-2025-03-11"
EARLIER = "anthropic-computer:claude-opus-4-6"
SIZE = {"display_width": 1280, "display_height": 720}
OFFERED: list[tuple[str, Any, dict[str, Any]]] = [
    (OPENAI, BATCHES[OPENAI], {"type": "computer"}),
    (
        PREVIEW,
        [call() | {"actions": None, "action": CLICK}],
        {"type": "computer_use_preview", "environment": "browser", **SIZE},
    ),
    (ANTHROPIC, BATCHES[ANTHROPIC], {"type": "computer_toolset_20260801"}),
    (
        EARLIER,
        [function("computer", action="left_click", coordinate=[640, 360])],
        {"type": "computer_20251124", "name": "computer", "enable_zoom": True}
        | {f"{side}_px": pixels for side, pixels in SIZE.items()},
    ),
]


@pytest.mark.parametrize(("name", "told", "tool"), OFFERED)
async def test_each_model_is_offered_the_tool_that_it_knows(
    provider, name: str, told: Any, tool: Any
) -> None:
    script(provider, name, told)
    assert (await make_agent(name, seed=1).act(seen())).action.name == "mouse_click"
    (sent,) = provider.requests
    assert sent["tools"][0] == tool
    assert provider.headers[0].get("anthropic-beta") == (
        "computer-use-2025-11-24" if name == EARLIER else None
    )
    if name == PREVIEW:
        assert (sent["truncation"], sent["input"][0]["content"][1]["detail"]) == ("auto", "auto")
    elif name == ANTHROPIC:
        assert sent["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("model", "excluded"),
    [
        ("gemini-2.5-computer-use-preview-10-2025", ["search"]),
        ("gemini-3.1-pro-preview", ["search"]),
        ("gemini-3.6-pro", ["key_down", "key_up"]),
    ],
)
async def test_what_cannot_be_done_is_not_offered(provider, model: str, excluded: list[str]) -> None:
    script(provider, GEMINI, BATCHES[GEMINI])
    await make_agent(f"gemini-computer:{model}", seed=1).act(seen())
    tool, functions = json.loads(words(provider.requests[0]))["tools"]
    assert tool["computerUse"] == {
        "environment": "ENVIRONMENT_BROWSER",
        "excludedPredefinedFunctions": excluded,
    }
    assert [each["name"] for each in functions["functionDeclarations"]] == ["tab_focus", "give_up"]


async def test_switches_of_google_are_sent(provider) -> None:
    """Through an SDK that does not know them."""
    switched = ComputerOptions(
        disabled_safety_policies=("FINANCIAL_TRANSACTIONS",), prompt_injection_detection=False
    )
    for options in (switched, ComputerOptions()):
        script(provider, GEMINI, BATCHES[GEMINI])
        await make_agent(GEMINI, seed=1, options=options).act(seen())
    first, second = (json.loads(words(each)) for each in provider.requests)
    switches = {"disabledSafetyPolicies": ["FINANCIAL_TRANSACTIONS"], "enablePromptInjectionDetection": False}
    assert first["tools"][0]["computerUse"] == second["tools"][0]["computerUse"] | switches
    assert first["generationConfig"] == second["generationConfig"]


async def test_the_prompt_tells_what_its_family_knows(provider) -> None:
    sent: dict[str, str] = {}
    for name in (*OPEN, "qwen-computer:qwen2.5-vl-72b", "ui-tars-computer:doubao-1.5-ui-tars"):
        script(provider, name, WAITS[TARS if name.startswith("ui-tars") else QWEN])
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
    assert "1288x728" in tools["qwen-computer:qwen2.5-vl-72b"][0]["description"]


async def test_tokens_around_points_go_back_where_the_server_left_them_out(provider) -> None:
    agent = make_agent(TARS, seed=1)
    script(provider, TARS, "Action: drag(start_box='(1,2)', end_box='(3,4)')")
    script(provider, TARS, WAITS[TARS])
    for _ in range(2):
        await agent.act(seen())
    boxes = "start_box='<|box_start|>(1,2)<|box_end|>', end_box='<|box_start|>(3,4)<|box_end|>'"
    assert provider.requests[1]["messages"][1]["content"] == f"Action: drag({boxes})"


@pytest.mark.parametrize("arguments", ['{"action": "left_click", "coordinate": [500, 500]}', None, "{", "7"])
async def test_calls_that_the_server_has_read(provider, arguments: str | None) -> None:
    asked = {"id": "c", "function": {"name": "computer_use", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [asked]}
    provider.send(json.dumps({"id": "1", "choices": [{"index": 0, "message": message}]}).encode())
    script(provider, QWEN, WAITS[QWEN])
    decision = await make_agent(QWEN, seed=1).act(seen())
    is_good = bool(arguments and "action" in arguments)
    assert decision.action.name == ("mouse_click" if is_good else "wait")
    assert [bool(each.error) for each in decision.calls] == ([False] if is_good else [True, False])
    assert decision.usage.cost is None, "nobody counted the tokens of the first"


# What a provider asks to confirm

LOOK = {"id": "sc_1", "code": "malicious_instructions", "message": "Look at it."}
DECISION = {"decision": "require_confirmation", "explanation": "Look at it."}
CHECKED = [
    (OPENAI, [call(CLICK, pending_safety_checks=[LOOK])], LOOK["code"]),
    (GEMINI, [google("click", x=500, y=500, safety_decision=DECISION)], DECISION["decision"]),
]


@pytest.mark.parametrize(("name", "told", "code"), CHECKED)
async def test_safety_checks_end_the_trial_unless_the_experiment_says_otherwise(
    provider, name: str, told: Any, code: str
) -> None:
    script(provider, name, told)
    with pytest.raises(AgentError, match=f"asks to confirm .*{code}: Look at it") as raised:
        await make_agent(name, seed=1).act(seen())
    assert [(each.code, each.acknowledged) for each in raised.value.checks] == [(code, False)]
    assert len(raised.value.calls) == 1
    agent = make_agent(name, seed=1, acknowledges=True)
    for answer in (told, WAITS[name], ENDS[name]):
        script(provider, name, answer)
    first = await agent.act(seen())
    assert [(each.message, each.acknowledged) for each in first.checks] == [("Look at it.", True)]
    assert (await agent.act(seen())).checks == ()
    assert words(provider.requests[-1]).count("acknowledge") == 1
    await agent.act(seen())
    assert words(provider.requests[-1]).count("acknowledge") == 1, "what was not asked is not confirmed"


async def test_what_was_confirmed_for_an_unusable_answer_is_recorded_too(provider) -> None:
    agent = make_agent(OPENAI, seed=1, acknowledges=True)
    script(provider, OPENAI, [call({"type": "levitate"}, pending_safety_checks=[LOOK])])
    script(provider, OPENAI, WAITS[OPENAI])
    decision = await agent.act(seen())
    assert [(each.message, each.acknowledged) for each in decision.checks] == [("Look at it.", True)]


async def test_a_refusal_ends_the_trial(provider) -> None:
    script(provider, ANTHROPIC, [{"type": "text", "text": "I will not shop."}], how="refused")
    with pytest.raises(AgentError, match="refused: I will not shop"):
        await make_agent(ANTHROPIC, seed=1).act(seen())


# Anthropic's results


def results(request: dict[str, Any]) -> list[list[Any]]:
    """The texts and pictures of the results of a conversation with Anthropic."""
    return [
        [block.get("text") or base64.b64decode(block["source"]["data"]) for block in each["content"]]
        for message in request["messages"]
        for each in message["content"]
        if each["type"] == "tool_result"
    ]


async def test_the_pointer_is_where_the_last_action_that_was_taken_has_left_it(provider) -> None:
    agent = make_agent(ANTHROPIC, seed=1)
    for told in (
        [use("left_click", 1, coordinate=[7, 9]), use("cursor_position", 2)],
        [use("mouse_move", 3, coordinate=[5_000, 9]), use("mouse_move", 4, coordinate=[50, 60])],
        [use("cursor_position", 5), use("scroll", 6, scroll_direction="down", scroll_amount=3)],
        ENDS[ANTHROPIC],
    ):
        script(provider, ANTHROPIC, told)
    taken = [str((await agent.act(seen())).action) for _ in range(3)]
    assert taken[2] == "mouse_move(5000.0, 9.0)"
    assert str((await agent.act(seen(error="mouse_move: outside"))).action) == "wait(0.0)"
    assert str((await agent.act(seen())).action) == "scroll_at(7.0, 9.0, 0.0, 360.0, '')"
    await agent.act(seen())
    told = [each[0] for each in results(provider.requests[-1])]
    assert told == ["OK", "X=7,Y=9", "mouse_move: outside", FAILED, "X=7,Y=9", "OK"]


@pytest.mark.parametrize(("name", "asked"), [(ANTHROPIC, use), (BROWSER, browse)])
async def test_a_zoom_is_answered_by_its_own_picture(provider, name: str, asked: Any) -> None:
    agent = make_agent(name, seed=1)
    part = [0, 0, 10, 10]
    for told in (
        [asked("zoom", 1, region=part), asked("type", 2, text="mug")],
        [asked("screenshot", 3), asked("zoom", 4, region=part)],
        [asked("zoom", 5, region=[0, 0, 9_999, 10])],
        ENDS[name],
    ):
        script(provider, name, told)
    for picture in ({}, {"colour": "red", "zoomed": True}, {"colour": "blue"}, {"colour": "green"}):
        await agent.act(seen(**picture))
    await agent.act(seen("yellow", zoomed=True))
    assert (await agent.act(seen("black", error="zoom: outside"))).action.name == "give_up"
    assert results(provider.requests[-1]) == [
        [png("red")], ["OK", png("blue")], [png("green")], [png("yellow")], ["zoom: outside", png("black")],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("member", "given"),
    [("list_tabs", {}), ("switch_tab", {"tab_id": "0"}), ("new_tab", {}), ("close_tab", {})],
)
async def test_what_is_about_tabs_is_answered_by_all_of_them(provider, member: str, given: Any) -> None:
    agent = make_agent(BROWSER, seed=1)
    script(provider, BROWSER, [browse(member, **given)])
    script(provider, BROWSER, ENDS[BROWSER])
    for colour in ("white", "red"):
        await agent.act(seen(colour))
    tool, *functions = provider.requests[0]["tools"]
    assert tool["type"] == "browser_toolset_20260801"
    assert "zoom" not in tool["configs"] and {"read_page", "find"} <= set(tool["configs"])
    assert not any(config["enabled"] for config in tool["configs"].values())
    assert [each["name"] for each in functions] == ["give_up"]
    result, _, picture = provider.requests[1]["messages"][-1]["content"]
    tabs = [
        {"tab_id": str(i), "title": f"Page {i}", "url": f"http://shop.test/{i}.html", "active": i == 1}
        for i in range(2)
    ]
    assert result["content"] == [{"type": "browser_state", "tabs": tabs}]
    assert base64.b64decode(picture["source"]["data"]) == png("red")


# What they share with all models


@pytest.mark.parametrize("said", ["gpt-5.5-2026-09-01", None, 7])
async def test_the_model_that_answered_is_recorded(provider, key: str, said: object) -> None:
    for name, more, answered_by in (
        (OPENAI, {"model": said}, said if isinstance(said, str) else ""),
        (ANTHROPIC, {}, "m"),
        (GEMINI, {"modelVersion": "gemini-3.5-flash-002"}, "gemini-3.5-flash-002"),
    ):
        script(provider, name, BATCHES[name], **more)
        (asked,) = (await make_agent(name, seed=1).act(seen())).calls
        assert (asked.model, asked.answered_by) == (name.partition(":")[2], answered_by)
    script(provider, OPENAI, BATCHES[OPENAI], model=f"{key} \0" + "a" * 999)
    (asked,) = (await make_agent(OPENAI, seed=1).act(seen())).calls
    assert key not in asked.answered_by
    assert len(asked.answered_by.encode()) <= 210


@of_each_family
async def test_errors_of_the_provider_are_those_of_all_models(provider, name: str) -> None:
    provider.kind = "gemini" if name == GEMINI else "openai"
    provider.fail(429)
    script(provider, name, BATCHES[name])
    assert (await make_agent(name, seed=1).act(seen())).calls[0].retries == 1
    provider.fail(400, "No tool output found for computer call call_1.")
    with pytest.raises(AgentError, match="No tool output found"):
        await make_agent(name, seed=1).act(seen())
    provider.fail(401)
    with pytest.raises(UserError, match="refused"):
        await make_agent(name, seed=1).act(seen())


async def test_a_key_that_is_echoed_is_not_told(provider, key: str) -> None:
    script(provider, OPENAI, say(f"Your key is {key}."))
    decision = await make_agent(OPENAI, seed=1).act(seen())
    assert "[key]" in decision.thought
    assert key not in repr(decision)


@of_each_family
async def test_they_look_at_pictures_and_answer_no_questions(provider, monkeypatch, name: str) -> None:
    assert isinstance(make_agent(name, seed=1), Agent)
    with pytest.raises(UserError, match="looks at pictures; write observation: screenshot"):
        await make_agent(name, seed=1).act(replace(seen(), screenshot=b""))
    with pytest.raises(UserError, match="cannot answer in text"):
        make_respondent(name, seed=1)
    with pytest.raises(UserError, match="the model is missing"):
        check_name(name.partition(":")[0])
    service = COMPUTERS[name.partition(":")[0]]
    variable = service.key_variable if service.needs_key else service.url_variable
    if not service.needs_key:
        monkeypatch.delenv(service.key_variable)
        script(provider, name, WAITS[name])
        await make_agent(name, seed=1).act(seen())
        assert provider.keys == ["none"]
    monkeypatch.delenv(variable)
    with pytest.raises(UserError, match=f"{variable} is not set"):
        check_agent(name)


async def test_agents_of_one_process_share_no_conversation(provider) -> None:
    for _ in range(2):
        script(provider, OPENAI, BATCHES[OPENAI])
    found: list[Decision] = await asyncio.gather(*(make_agent(OPENAI, seed=n).act(seen()) for n in range(2)))
    assert [each.action.name for each in found] == ["mouse_click"] * 2
    assert [len(each["input"]) for each in provider.requests] == [1, 1]
