"""What the tests of models that look at pictures share: each provider's form, and what they are shown."""

import base64
import importlib
import io
import json
import re
from functools import cache
from itertools import pairwise
from typing import Any

from PIL import Image
from starlette.responses import JSONResponse

from agents.computer import _CLASSES
from agents.computer.agent import ComputerModel
from agents.computer.options import DEFAULT, ComputerOptions
from environments.protocol.observation import Observation, Tab
from tests.agents.conftest import Provider

OPENAI, ANTHROPIC = "openai-computer:gpt-5.5", "anthropic-computer:claude-sonnet-5"
BROWSER, GEMINI = "anthropic-browser:claude-sonnet-5", "gemini-computer:gemini-3.5-flash"
TARS, QWEN = "ui-tars-computer:ByteDance-Seed/UI-TARS-1.5-7B", "qwen-computer:Qwen/Qwen3-VL-8B-Instruct"
FARA = "fara-computer:microsoft/Fara-7B"
OPEN = (TARS, QWEN, FARA)
"""Open models, which write their actions as text."""
FAMILIES = (OPENAI, ANTHROPIC, BROWSER, GEMINI, *OPEN)
Parts = list[dict[str, Any]]


@cache
def png(colour: str = "white", size: tuple[int, int] = (1280, 720)) -> bytes:
    """A picture of one colour."""
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, "PNG")
    return written.getvalue()


def seen(colour: str = "white", size: tuple[int, int] = (1280, 720), **more: Any) -> Observation:
    """An observation of two tabs by a picture of one colour."""
    tabs = tuple(Tab(f"Page {i}", f"http://shop.test/{i}.html", i == 1) for i in range(2))
    goal = "Add the best product to the cart."
    return Observation(goal, "", tabs, screenshot=png(colour, size), marks=False, pointer=True, **more)


def begun(name: str, options: ComputerOptions = DEFAULT) -> ComputerModel:
    """A model that has been shown a picture."""
    family, _, model = name.partition(":")
    module, kind = _CLASSES[family]
    made: ComputerModel = getattr(importlib.import_module(f"agents.computer.{module}"), kind)(model)
    made.options = options
    made.begin(seen())
    return made


# The parts of answers


def say(text: str) -> Parts:
    """What OpenAI's models say."""
    return [{"type": "message", "content": [{"type": "output_text", "text": text}]}]


def call(*actions: Any, number: int = 1, **more: Any) -> dict[str, Any]:
    """A call of OpenAI's tool."""
    told = {"type": "computer_call", "id": f"cu_{number}", "call_id": f"call_{number}", "status": "completed"}
    return {**told, "pending_safety_checks": [], "actions": list(actions), **more}


def function_call(name: str, arguments: str, number: int = 1) -> dict[str, Any]:
    """A call of a function by OpenAI's models."""
    return {"type": "function_call", "call_id": f"f_{number}", "name": name, "arguments": arguments}


def function(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    """A call of a function, or of the earlier tool, by Anthropic's models."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}


def use(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    """A call of a member of Anthropic's toolset for computers."""
    return function(name, number, **given) | {"toolset_name": "computer"}


def browse(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    """A call of a member of Anthropic's toolset for browsers."""
    return function(name, number, **given) | {"toolset_name": "browser"}


def google(name: str, **args: Any) -> dict[str, Any]:
    """A call of a function by Google's models."""
    return {"function_call": {"name": name, "args": args}}


def written(name: str = "computer_use", /, **arguments: Any) -> str:
    """A call as Qwen and Fara write it."""
    told = json.dumps({"name": name, "arguments": arguments})
    return f"I go on.\n<tool_call>\n{told}\n</tool_call>"


CLICK = {"type": "click", "x": 640, "y": 360, "button": "left"}
MIDDLE = {"type": "coordinate", "x": 640, "y": 360}
AND_TYPE = written(action="type", text="mug")
BATCHES: dict[str, Any] = {
    OPENAI: [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "signed//"},
        call(CLICK, {"type": "type", "text": "mug"}),
    ],
    ANTHROPIC: [use("left_click", coordinate=[640, 360]), use("type", 2, text="mug")],
    BROWSER: [browse("left_click", target=MIDDLE), browse("type", 2, text="mug")],
    GEMINI: [google("click", x=500, y=500) | {"thoughtSignature": "signed//"}, google("type", text="mug")],
    TARS: "Thought: On.\nAction: click(start_box='(644,364)')\n\ntype(content='mug')",
    QWEN: written(action="left_click", coordinate=[500, 500]) + AND_TYPE,
    FARA: written(action="left_click", coordinate=[644, 364]) + AND_TYPE,
}
"""Answers that click in the middle, and type a word."""
WAITS: dict[str, Any] = {
    OPENAI: [call({"type": "wait"}, number=9)],
    ANTHROPIC: [use("wait", 9, duration=1)],
    BROWSER: [browse("wait", 9, duration=1)],
    GEMINI: [google("wait", seconds=1)],
    TARS: "Action: wait()",
    **dict.fromkeys((QWEN, FARA), written(action="wait", time=1)),
}
ENDS: dict[str, Any] = {
    OPENAI: say("It is done."),
    ANTHROPIC: [{"type": "text", "text": "It is done."}],
    BROWSER: [{"type": "text", "text": "It is done."}],
    GEMINI: [{"text": "It is done."}],
    TARS: "Action: finished(content='It is done.')",
    QWEN: written(action="answer", text="It is done."),
    FARA: written(action="terminate", status="success"),
}


def script(provider: Provider, name: str, told: Any, *, how: str = "", **more: Any) -> None:
    """Script an answer of these parts, or this text; `how` it ended: "", cut_off or refused."""
    if isinstance(told, str | None):
        return provider.say(told, finish_reason="length" if how else "stop", usage=(1_500, 40))
    usage: dict[str, Any] = {"input_tokens": 1_500, "output_tokens": 40}
    if name.startswith("openai"):
        status = "incomplete" if how else "completed"
        body = {"id": "resp_1", "object": "response", "status": status, "output": told, "usage": usage}
    elif name.startswith("gemini"):
        parts = [
            {"functionCall" if key == "function_call" else key: value for key, value in part.items()}
            for part in told
        ]
        reason = "MAX_TOKENS" if how else "STOP"
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": reason}
        counts = {"promptTokenCount": 1_500, "candidatesTokenCount": 40}
        body = {"candidates": [candidate], "usageMetadata": counts}
    else:
        reason = {"cut_off": "max_tokens", "refused": "refusal"}.get(how, "tool_use")
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": told}
        body |= {"stop_reason": reason, "usage": usage}
    provider.script.append(JSONResponse(body | more))


# The requests


def pictures(request: dict[str, Any]) -> list[bytes]:
    """The pictures of a request, in order, in whatever form."""
    found = re.findall(r"iVBORw0KGgo[\w+/=-]+", json.dumps(request))
    return [base64.urlsafe_b64decode(each.replace("+", "-").replace("/", "_")) for each in found]


def is_answered(request: dict[str, Any]) -> bool:
    """Whether each call of a conversation has one result, in order, and of its own toolset."""
    if "input" in request:
        asked = [item["call_id"] for item in request["input"] if item.get("type", "").endswith("_call")]
        told = [item["call_id"] for item in request["input"] if item.get("type", "").endswith("_call_output")]
        return asked == told
    if "contents" in request:
        parts = [part for content in request["contents"] for part in content["parts"]]
        asked = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        return asked == [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
    blocks = [each["content"] for each in request["messages"] if each["role"] != "system"]
    for before, after in pairwise(blocks):
        if isinstance(before, list) and isinstance(after, list):
            uses = [(each["id"], each.get("toolset_name")) for each in before if each["type"] == "tool_use"]
            results = [each for each in after if each["type"] == "tool_result"]
            if [(each["tool_use_id"], each.get("toolset_name")) for each in results] != uses:
                return False
    return True
