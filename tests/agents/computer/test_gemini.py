"""Google's models, through the real package `google-genai`: as language models, and by their tool."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from starlette.responses import JSONResponse

from agents.base import AgentError, ChatMessage, ProviderError
from agents.computer.gemini_computer import GeminiComputer
from agents.computer.options import ComputerOptions
from agents.providers.gemini import Gemini
from agents.providers.settings import SERVICES
from agents.registry import check_agent, make_agent, make_respondent
from environments.protocol.actions import EVERY, Action, parse_action
from environments.protocol.observation import Observation
from interventions.errors import UserError
from tests.agents.computer.test_computer import json_data, png
from tests.agents.conftest import Provider

MODEL = "gemini-computer:gemini-3.5-flash"
TALK: list[ChatMessage] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "A or B?"},
    {"role": "assistant", "content": "A"},
    {"role": "user", "content": "Sure?", "images": [base64.b64encode(png()).decode()]},
]
SIGNATURE = base64.b64encode(bytes(range(250, 256)) * 5).decode()


@pytest.fixture
def provider(provider: Provider) -> Provider:
    """A provider that answers as Google does."""
    provider.kind = "gemini"
    return provider


@pytest.fixture
def see(observe: Callable[..., Observation]) -> Callable[..., Observation]:
    def make(colour: str = "white", **more: Any) -> Observation:
        return replace(observe(""), html="", screenshot=png(colour), marks=False, pointer=True, **more)

    return make


def answer(
    provider: Provider, *parts: dict[str, Any], finish: str = "STOP", model: str = "", **usage: int
) -> None:
    """Script an answer of these parts."""
    counts = {"promptTokenCount": 1_000, "candidatesTokenCount": 100, **usage}
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}
    body = {"candidates": [candidate], "usageMetadata": counts, "modelVersion": model}
    provider.script.append(JSONResponse(body))


def tools_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools that were sent; some versions of the SDK write names as Python does, as Google allows."""
    text = json.dumps(request["tools"])
    for name in ("excludedPredefinedFunctions", "parametersJsonSchema"):
        text = text.replace(re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name), name)
    found: list[dict[str, Any]] = json.loads(text)
    return found


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("gemini-2.5-flash", {"maxOutputTokens": 20, "thinkingConfig": {"thinkingBudget": 0}}),
        ("gemini-2.0-flash", {"maxOutputTokens": 20}),
        ("gemini-2.5-pro", {"maxOutputTokens": 14_020}),
        ("gemini-3.5-flash", {"maxOutputTokens": 14_020}),
    ],
)
async def test_what_is_sent(provider: Provider, key: str, model: str, config: dict[str, Any]) -> None:
    answer(provider, {"text": "B"}, thoughtsTokenCount=50, cachedContentTokenCount=600)
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    reply = await Gemini(model).ask(TALK, temperature=0.5, max_tokens=20, schema=schema)
    assert reply.call is not None
    assert (reply.text, reply.call.tokens_in, reply.call.tokens_out) == ("B", 1_000, 150)
    assert reply.call.tokens_cached == 600
    sent = json.loads(json.dumps(provider.requests[0]).replace("thinking_budget", "thinkingBudget"))
    assert sent["generationConfig"] == {
        **config,
        "temperature": 0.5,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    assert sent["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]
    assert sent["contents"][2]["parts"][0] == {"text": "Sure?"}
    assert base64.urlsafe_b64decode(sent["contents"][2]["parts"][1]["inlineData"]["data"]) == png()
    assert provider.keys == [key]


async def test_failures_in_googles_own_words(provider: Provider) -> None:
    provider.script.append(
        JSONResponse(
            {
                "error": {
                    "code": 400,
                    "message": "API key not valid.",
                    "details": [{"reason": "API_KEY_INVALID"}],
                }
            },
            400,
        )
    )
    with pytest.raises(UserError, match="refused GEMINI_API_KEY"):
        await Gemini("gemini-2.5-flash").ask(TALK)
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "500s"}
    error = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [retry]}
    provider.script.append(JSONResponse({"error": error}, 429))
    with pytest.raises(ProviderError, match="HTTP 429"):  # 500 s are not waited for
        await Gemini("gemini-2.5-flash").ask(TALK)
    assert len(provider.requests) == 2


async def test_it_answers_cards(provider: Provider) -> None:
    provider.say("A")
    asked = make_respondent("gemini:gemini-2.5-flash", seed=1)
    assert (await asked.answer(TALK[:2], temperature=None, max_tokens=16)).text == "A"


async def test_a_batch_is_taken_action_by_action(provider: Provider, see: Callable[..., Observation]) -> None:
    agent = make_agent(MODEL, seed=1)
    signed = {**call("click", x=500, y=250, intent="open it"), "thoughtSignature": SIGNATURE}
    answer(provider, {"text": "I open it."}, signed, call("type", text="mug", press_enter=True))
    answer(provider, {"text": "It is done."})
    first = await agent.act(see())
    assert first.action == Action("mouse_click", (640.0, 180.0, "left", 1, ""))
    assert (first.looked, first.thought, len(first.calls)) == (True, "I open it.", 1)
    later = [await agent.act(see()), await agent.act(see())]
    assert [str(each.action) for each in later] == ["keyboard_type('mug')", "keyboard_press('Enter')"]
    assert (await agent.act(see("red"))).action == Action("give_up", ("It is done.",))
    begun, then = provider.requests
    excluded = {"excludedPredefinedFunctions": ["key_down", "key_up"]}
    assert tools_of(begun)[0]["computerUse"] == {"environment": "ENVIRONMENT_BROWSER", **excluded}
    assert [each["name"] for each in begun["tools"][1]["functionDeclarations"]] == ["tab_focus", "give_up"]
    (user,) = begun["contents"]
    assert "Add the best product" in user["parts"][0]["text"]
    assert base64.urlsafe_b64decode(user["parts"][1]["inlineData"]["data"]) == png()
    model, results = then["contents"][1:]
    assert model["role"] == "model"
    assert base64.urlsafe_b64decode(model["parts"][1]["thoughtSignature"]) == base64.b64decode(SIGNATURE)
    responses = [part["functionResponse"] for part in results["parts"] if "functionResponse" in part]
    assert [each["name"] for each in responses] == ["click", "type"]
    assert [each["response"] for each in responses] == [{"url": "http://shop.test/1.html"}] * 2
    for each in responses:
        blob = each["parts"][0].get("inlineData") or each["parts"][0]["inline_data"]
        assert base64.urlsafe_b64decode(blob["data"]) == png("red")


async def test_switches_of_the_provider_are_sent_and_the_model_that_answered_is_recorded(
    provider: Provider, see: Callable[..., Observation]
) -> None:
    """Through an SDK that does not know them."""
    switched = ComputerOptions(
        disabled_safety_policies=("FINANCIAL_TRANSACTIONS",), prompt_injection_detection=False
    )
    for options in (switched, ComputerOptions()):
        answer(provider, call("click", x=1, y=1), model="gemini-3.5-flash-002")
        (asked,) = (await make_agent(MODEL, seed=1, options=options).act(see())).calls
        assert (asked.model, asked.answered_by) == ("gemini-3.5-flash", "gemini-3.5-flash-002")
    first, second = provider.requests
    (tool, functions), (plain, same) = tools_of(first), tools_of(second)
    switches = {"disabledSafetyPolicies": ["FINANCIAL_TRANSACTIONS"], "enablePromptInjectionDetection": False}
    assert tool["computerUse"] == plain["computerUse"] | switches
    assert functions == same
    assert first["generationConfig"] == second["generationConfig"]
    assert provider.keys[0] == provider.keys[1]


async def test_a_batch_stops_at_what_fails(provider: Provider, see: Callable[..., Observation]) -> None:
    agent = make_agent(MODEL, seed=1)
    answer(provider, call("click", x=1, y=1), call("click", x=2, y=2))
    answer(provider, call("wait", seconds=1))
    await agent.act(see())
    await agent.act(see(error="mouse_click: outside"))
    parts = provider.requests[1]["contents"][-1]["parts"]
    errors = [part["functionResponse"]["response"].get("error") for part in parts if "text" not in part]
    assert errors[0] == "mouse_click: outside"
    assert errors[1].startswith("Not executed")


@pytest.mark.parametrize("acknowledges", [True, False])
async def test_safety_decisions_end_the_trial_unless_the_experiment_says_otherwise(
    provider: Provider, see: Callable[..., Observation], acknowledges: bool
) -> None:
    decision = {"decision": "require_confirmation", "explanation": "a cookie banner"}
    answer(provider, call("click", x=1, y=1, safety_decision=decision))
    answer(provider, {"text": "done"})
    agent = make_agent(MODEL, seed=1, acknowledges=acknowledges)
    if not acknowledges:
        with pytest.raises(AgentError, match="asks to confirm") as caught:
            await agent.act(see())
        (check,) = caught.value.checks
        assert (check.code, check.message, check.acknowledged) == (*decision.values(), False)
        return
    assert [check.acknowledged for check in (await agent.act(see())).checks] == [True]
    await agent.act(see())
    sent = provider.requests[1]["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert sent["safety_acknowledgement"] == "true"


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("click", {"x": 0, "y": 999}, "mouse_click(0.0, 719.28, 'left', 1, '')"),
        ("click_at", {"x": 500, "y": 500}, "mouse_click(640.0, 360.0, 'left', 1, '')"),
        ("triple_click", {"x": 500, "y": 500}, "mouse_click(640.0, 360.0, 'left', 3, '')"),
        ("hover_at", {"x": 500, "y": 500}, "mouse_move(640.0, 360.0)"),
        ("mouse_down", {"x": 500, "y": 500}, "mouse_move(640.0, 360.0) mouse_down('left')"),
        ("type", {"text": "mug"}, "keyboard_type('mug')"),
        (
            "type_text_at",
            {"x": 500, "y": 500, "text": "mug"},
            "mouse_click(640.0, 360.0, 'left', 1, '') keyboard_press('Control+a') "
            "keyboard_press('Backspace') keyboard_type('mug') keyboard_press('Enter')",
        ),
        (
            "type_text_at",
            {"x": 500, "y": 500, "text": "mug", "press_enter": False, "clear_before_typing": False},
            "mouse_click(640.0, 360.0, 'left', 1, '') keyboard_type('mug')",
        ),
        (
            "drag_and_drop",
            {"x": 0, "y": 0, "destination_x": 500, "destination_y": 250},
            "mouse_drag('0,0 640,180', 'left', '')",
        ),
        ("scroll", {"x": 500, "y": 500, "direction": "down"}, "scroll_at(640.0, 360.0, 0.0, 300.0, '')"),
        (
            "scroll",
            {"x": 500, "y": 500, "direction": "left", "magnitude": 500},
            "scroll_at(640.0, 360.0, -640.0, 0.0, '')",
        ),
        ("scroll_document", {"direction": "down"}, "scroll_at(640.0, 360.0, 0.0, 576.0, '')"),
        ("hotkey", {"keys": ["ctrl", "a"]}, "keyboard_press('Control+a')"),
        ("key_combination", {"keys": "Control+A"}, "keyboard_press('Control+a')"),
        ("press_key", {"key": "enter"}, "keyboard_press('Enter')"),
        ("wait_5_seconds", {}, "wait(5000.0)"),
        ("take_screenshot", {}, "wait(0.0)"),
        ("navigate", {"url": "http://shop.test/"}, "goto('http://shop.test/')"),
        ("go_back", {}, "go_back()"),
        ("tab_focus", {"index": 1}, "tab_focus(1)"),
    ],
)
async def test_actions(
    provider: Provider, see: Callable[..., Observation], name: str, args: dict[str, Any], wanted: str
) -> None:
    answer(provider, call(name, **args))
    answer(provider, {"text": "done"})
    agent = make_agent(MODEL, seed=1)
    taken = []
    while (action := (await agent.act(see())).action).name != "give_up":
        taken.append(str(action))
        assert parse_action(str(action), EVERY) == action
    assert " ".join(taken) == wanted


@pytest.mark.parametrize(
    ("model", "excluded"),
    [("gemini-2.5-computer-use-preview-10-2025", ["search"]), ("gemini-3.1-pro-preview", ["search"]),
     ("gemini-3.6-pro", ["key_down", "key_up"])],
)  # fmt: skip
async def test_what_cannot_be_done_is_not_offered(
    provider: Provider, see: Callable[..., Observation], model: str, excluded: list[str]
) -> None:
    answer(provider, call(excluded[0], key="shift"))
    answer(provider, call("click", x=1, y=1))
    decision = await make_agent(f"gemini-computer:{model}", seed=1).act(see())
    assert decision.action.name == "mouse_click"
    offered, refused = provider.requests
    assert tools_of(offered)[0]["computerUse"]["excludedPredefinedFunctions"] == excluded
    (told,) = [part for part in refused["contents"][-1]["parts"] if "functionResponse" in part]
    assert "no such action" in told["functionResponse"]["response"]["error"]


async def test_odd_answers_are_asked_for_again(provider: Provider, see: Callable[..., Observation]) -> None:
    for name, args in (("search", {}), ("click", {"x": 1}), ("scroll", {"x": 1, "y": 1, "direction": "in"})):
        answer(provider, call(name, **args))
    answer(provider, call("click", x=1, y=1), finish="MAX_TOKENS")
    with pytest.raises(AgentError, match=r"invalid answer: cut_off \(the last of 4\)") as caught:
        await make_agent(MODEL, seed=1).act(see())
    assert len(caught.value.calls) == 4


async def test_settings(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SERVICES["gemini"].problem() == ""
    monkeypatch.delenv("GEMINI_API_KEY")
    for name in (MODEL, "gemini:gemini-2.5-flash"):
        with pytest.raises(UserError, match="GEMINI_API_KEY is not set"):
            check_agent(name)


@given(json_data)
def test_whatever_a_model_says_is_an_action_or_a_problem(data: Any) -> None:
    for name in ("click", "type_text_at", "scroll", "hotkey", "wait", "navigate", "drag_and_drop"):
        args = json.loads(json.dumps(data)) if isinstance(data, dict) else data
        model = GeminiComputer("gemini-3.5-flash")
        for asked in model.read([{"function_call": {"name": name, "args": args}}], cut_off=False).asked:
            assert (asked.action is None) == bool(asked.problem)
            if asked.action:
                assert parse_action(str(asked.action), EVERY) == asked.action
