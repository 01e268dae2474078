"""Models that look: a server that speaks wire formats, and knows what is in the pictures.

They go to the other tab, back again, and click in the middle of the blue button. One searches before. Open
models, which write their actions as text, answer oddly at first.
"""

import base64
import io
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.computer.agent import NAVIGATED
from tests.experiments.command_line import forked_souk
from tests.support import size, usual

BLUE = (25, 121, 195)


def pictures_of(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        if data.get("media_type") == "image/png":
            yield data["data"]
        url = data.get("url", data.get("image_url"))
        if str(url).startswith("data:image/png;base64,"):
            yield str(url).partition(",")[2]
        data = list(data.values())
    if isinstance(data, list):
        for each in data:
            yield from pictures_of(each)


def button_in(picture: bytes) -> tuple[int, int] | None:
    """The middle of what is blue as the button is, below the head of the page."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    blue = [
        (x, y)
        for y in range(160, image.height, 3)
        for x in range(500, image.width, 3)
        if max(abs(a - b) for a, b in zip(image.getpixel((x, y)), BLUE, strict=True)) < 12  # type: ignore[arg-type]
    ]
    if len(blue) < 50:
        return None
    return sum(x for x, _ in blue) // len(blue), sum(y for _, y in blue) // len(blue)


async def answer(request: Request) -> Response:
    asked = json.loads(await request.body())
    calls = [each for each in asked["input"] if str(each.get("type", "")).endswith("_call")]
    outputs = [each for each in asked["input"] if str(each.get("type", "")).endswith("_call_output")]
    if len(calls) != len(outputs):
        return JSONResponse({"error": {"message": "No tool output found"}}, status_code=400)
    call_id = f"call_{len(calls)}"
    if len(calls) < 2:
        arguments = json.dumps({"index": len(calls)})
        call = {"type": "function_call", "call_id": call_id, "name": "tab_focus", "arguments": arguments}
    else:
        at = button_in(base64.b64decode(list(pictures_of(asked["input"]))[-1]))
        x, y = at or (640, 400)
        actions = [{"type": "move", "x": x, "y": y}, {"type": "click", "x": x, "y": y, "button": "left"}]
        if not at:
            actions = [{"type": "scroll", "x": 640, "y": 400, "scroll_x": 0, "scroll_y": 400}]
        call = {"type": "computer_call", "call_id": call_id, "pending_safety_checks": []}
        is_preview = asked["tools"][0]["type"] == "computer_use_preview"  # it asks for one action
        call |= {"action": actions[-1]} if is_preview else {"actions": actions}
    usage = {"input_tokens": 1_000, "output_tokens": 20}
    return JSONResponse(
        {"id": "r", "object": "response", "status": "completed", "output": [call], "usage": usage}
    )


def told(family: str, name: str, **given: Any) -> str:
    """An action as a family writes it; x and y are pixels of a picture of 1280 x 720."""
    if family == "ui-tars":  # points are pixels of the picture of 1288 x 728 that it sees
        if "x" in given:
            at = round(given.pop("x") * 1288 / 1280), round(given.pop("y") * 728 / 720)
            given = {"start_box": f"({at[0]},{at[1]})", **given}
        return f"Thought: On.\nAction: {name}({', '.join(f'{key}={str(given[key])!r}' for key in given)})"
    wide, high = (1000, 1000) if family == "qwen" else (1288, 728)
    if "x" in given:
        given["coordinate"] = [round(given.pop("x") * wide / 1280), round(given.pop("y") * high / 720)]
    function = {"name": name, "arguments": given}
    if name != "tab_focus":
        function = {"name": "computer_use", "arguments": {"action": name, **given}}
    return f"On.\n<tool_call>\n{json.dumps(function)}\n</tool_call>"


async def answer_chat(request: Request) -> Response:
    asked = json.loads(await request.body())
    family = asked["model"]
    click = "click" if family == "ui-tars" else "left_click"
    first = [
        *("I would like to buy a mug.", "", told(family, "teleport", x=1, y=1)),
        told(family, "tab_focus", index=0),
        told(family, "tab_focus", index=1),
        told(family, click, x=5_000, y=400),
    ]
    answered = sum(message["role"] == "assistant" for message in asked["messages"])
    if answered < len(first):
        text = first[answered]
    elif at := button_in(base64.b64decode(list(pictures_of(asked["messages"]))[-1])):
        calm = told(family, "wait") if family == "ui-tars" else told(family, "wait", time=0)
        text = calm + "\n\n" + told(family, click, x=at[0], y=at[1])
    else:
        way = {"x": 640, "y": 400, "direction": "down"} if family == "ui-tars" else {"pixels": -400}
        text = told(family, "scroll", **way)
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return JSONResponse({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})


async def answer_messages(request: Request) -> Response:
    """Answers as Anthropic does, where each use of a tool has its result in the message after it."""
    asked = json.loads(await request.body())
    messages, tool = asked["messages"], asked["tools"][0]["type"].partition("_20")[0]
    blocks = [block for message in messages for block in message["content"]]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [
        block["tool_use_id"]
        for block in blocks
        if block["type"] == "tool_result"
        and block["content"]
        and (tool != "browser_toolset" or block["toolset_name"] == "browser")
    ]
    if uses != results:
        return JSONResponse({"type": "error", "error": {"message": "a result is missing"}}, status_code=400)
    turn = sum(message["role"] == "assistant" for message in messages)
    acts = ACTS[tool](turn, button_in(base64.b64decode(list(pictures_of(messages))[-1])))
    content = []
    for number, (name, given) in enumerate(acts):
        use = {"type": "tool_use", "id": f"t{turn}_{number}", "name": name, "input": given}
        if tool == "computer" and name != "tab_focus":
            use |= {"name": "computer", "input": {"action": name, **given}}
        elif name != "tab_focus":
            use["toolset_name"] = tool.removesuffix("_toolset")
        content.append(use)
    usage = {"input_tokens": 1_000, "output_tokens": 20}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
    return JSONResponse({**body, "stop_reason": "tool_use", "usage": usage})


Acts = list[tuple[str, dict[str, Any]]]
"""Names of functions, each with its arguments."""


def in_browser(turn: int, at: tuple[int, int] | None) -> Acts:
    """What a model does by Anthropic's toolset for browsers."""
    if turn < 3:
        return [("switch_tab", {"tab_id": str(turn - 1)})] if turn else [("list_tabs", {})]
    x, y = at or (640, 400)
    target = {"type": "coordinate", "x": x, "y": y}
    if at:
        return [("hover", {"target": target}), ("left_click", {"target": target})]
    return [("scroll", {"target": target, "scroll_direction": "down"})]


def on_screen(turn: int, at: tuple[int, int] | None) -> Acts:
    """What a model does by Anthropic's tools for computers: it clicks where it has moved the pointer."""
    if turn < 2:
        return [("tab_focus", {"index": turn})]
    if at:
        return [("mouse_move", {"coordinate": [*at]}), ("left_click", {})]
    return [("scroll", {"coordinate": [640, 400], "scroll_direction": "down", "scroll_amount": 3})]


ACTS = {"browser_toolset": in_browser, "computer_toolset": on_screen, "computer": on_screen}
SEARCH = (1050, 62)
"""A point of the field in which one searches, at the head of each page."""


async def answer_gemini(request: Request) -> Response:
    """Answers as Google does, where each call has its response in the content after it.

    It searches for something, and asks for a click in the same answer, which the new page forestalls.
    """
    asked = json.loads(await request.body())
    parts = [part for content in asked["contents"] for part in content["parts"]]
    calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
    responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
    turn = sum(content["role"] == "model" for content in asked["contents"])
    errors = [each["response"]["error"] for each in responses if "error" in each["response"]]
    if calls != [each["name"] for each in responses] or errors != [NAVIGATED] * (turn > 2):
        return JSONResponse({"error": {"code": 400, "message": "a response is missing"}}, status_code=400)
    blob = responses[-1]["parts"][0] if responses else parts[-1]
    picture = (blob.get("inlineData") or blob["inline_data"])["data"]
    if not (at := button_in(base64.urlsafe_b64decode(picture))):
        acts = [("scroll_document", {"direction": "down"})]
    else:
        acts = [("click_at", in_grid(*at))]
    if turn < 2:
        acts = [("tab_focus", {"index": turn})]
    elif turn == 2:
        acts = [("type_text_at", {**in_grid(*SEARCH), "text": "mug"}), ("click_at", {"x": 999, "y": 999})]
    elif turn == 3:
        acts = [("go_back", {})]
    content = {
        "role": "model",
        "parts": [{"functionCall": {"name": name, "args": args}} for name, args in acts],
    }
    usage = {"promptTokenCount": 1_000, "candidatesTokenCount": 20}
    return JSONResponse(
        {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}
    )


def in_grid(x: int, y: int) -> dict[str, int]:
    """A point of a picture of 1280 x 720 on the grid of Google's models, from 0 to 999."""
    return {"x": x * 1000 // 1280, "y": y * 1000 // 720}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    routes = [
        ("/v1/responses", answer),
        ("/v1/chat/completions", answer_chat),
        ("/v1/messages", answer_messages),
        ("/v1beta/models/{model}:generateContent", answer_gemini),
    ]
    app = Starlette(routes=[Route(path, handle, methods=["POST"]) for path, handle in routes])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        server.should_exit = True
        thread.join()


FAMILIES = usual(["ui-tars", "qwen", "fara"], 2)
BY_CODE, BY_TOOLS = "openai-computer:gpt-5.5", "anthropic-browser:claude-sonnet-5"
PREVIEW, IN_GRID = "openai-computer:computer-use-preview", "gemini-computer:gemini-3.5-flash"
BY_POINTS = usual(["anthropic-computer:claude-sonnet-5", "anthropic-computer:claude-haiku-4-5"], 1)
"""Models with Anthropic's toolset for computers, and with the tool before it."""
TRIALS = size(1, 6)
"""Trials of each model."""
EXPERIMENT = """\
name: looking
goal: Add the best product to the cart.
options: {sets: 6}
factors:
  nudge: {interventions: nudges, on: [each]}
limits: {steps: 10, seconds: 300}
"""


@pytest.fixture(scope="module")
def shopped(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A database in which all of the models have shopped, in one run."""
    folder = tmp_path_factory.mktemp("shopped")
    agents = [BY_CODE, BY_TOOLS, PREVIEW, IN_GRID, *BY_POINTS]
    agents += [f"{family}-computer:{family}" for family in FAMILIES]
    env = {
        "OPENAI_BASE_URL": address,
        "OPENAI_API_KEY": "any",
        "ANTHROPIC_BASE_URL": address.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "any",
        "GEMINI_BASE_URL": address.removesuffix("/v1"),
        "GEMINI_API_KEY": "any",
        "COMPATIBLE_BASE_URL": address,
        "COMPATIBLE_API_KEY": None,
        "NO_PROXY": "127.0.0.1",
    }
    (folder / "e.yaml").write_text(EXPERIMENT)
    options = [word for agent in agents for word in ("--agent", agent)]
    ended = forked_souk("run", "e.yaml", *options, "--limit", str(TRIALS), cwd=folder, env=env)
    assert ended.status == 0, ended.err
    with closing(sqlite3.connect(folder / "runs" / "souk.db")) as database:
        yield database


def rows(database: sqlite3.Connection, agent: str, what: str, condition: str = "1") -> list[Any]:
    """The rows of an agent's trials: `what` stands in SELECT, with its table."""
    of_agent = "trial IN (SELECT trial FROM trials WHERE agent = ?)"
    return database.execute(f"SELECT {what} WHERE {of_agent} AND {condition}", [agent]).fetchall()


def assert_bought_by_a_click(database: sqlite3.Connection, agent: str) -> None:
    """Each trial ends in a choice, made by one batch of actions that clicks at the product's button."""
    assert rows(database, agent, "outcome FROM trials") == [("choice",)] * TRIALS
    hits = rows(database, agent, "DISTINCT role, product <> '' FROM hits", "element <> ''")
    assert hits == [("product.add_to_cart", 1)]
    batches = rows(database, agent, "action FROM steps", "looked = 0")
    assert len(batches) == TRIALS
    assert all(action.startswith("mouse_click(") for (action,) in batches)


@pytest.mark.browser
@pytest.mark.slow
def test_a_model_shops_by_what_it_sees(shopped: sqlite3.Connection) -> None:
    assert_bought_by_a_click(shopped, BY_CODE)
    assert rows(shopped, BY_CODE, "* FROM calls", "error <> ''") == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_an_open_model_shops_by_what_it_writes(shopped: sqlite3.Connection, family: str) -> None:
    agent = f"{family}-computer:{family}"
    assert_bought_by_a_click(shopped, agent)
    errors = rows(shopped, agent, "error FROM steps", "error <> ''")
    assert len(errors) == TRIALS
    assert all("lies outside of the picture" in error for (error,) in errors)
    calls = rows(shopped, agent, "error FROM calls", "error <> ''")
    said = ("unclear: it holds no action", "empty", "unclear: t")
    assert all(
        sum(error.startswith(f"unusable answer: {each}") for (error,) in calls) == TRIALS for each in said
    )
    assert len(calls) == 3 * TRIALS
    assert rows(shopped, agent, "DISTINCT tokens_in, tokens_out FROM calls") == [(1_000, 20)]


@pytest.mark.browser
@pytest.mark.slow
def test_a_model_shops_by_anthropics_toolset_for_browsers(shopped: sqlite3.Connection) -> None:
    assert rows(shopped, BY_TOOLS, "outcome FROM trials") == [("choice",)] * TRIALS
    assert len(rows(shopped, BY_TOOLS, "action FROM steps", "action LIKE 'tab_focus%'")) == 2 * TRIALS
    assert rows(shopped, BY_TOOLS, "* FROM steps", "error <> ''") == []
    assert rows(shopped, BY_TOOLS, "* FROM calls", "error <> ''") == []


@pytest.mark.browser
@pytest.mark.slow
def test_the_preview_of_openai_shops_by_one_action_at_a_time(shopped: sqlite3.Connection) -> None:
    assert rows(shopped, PREVIEW, "outcome FROM trials") == [("choice",)] * TRIALS
    assert rows(shopped, PREVIEW, "DISTINCT role, product <> '' FROM hits") == [("product.add_to_cart", 1)]
    assert rows(shopped, PREVIEW, "* FROM steps", "looked = 0") == []
    assert rows(shopped, PREVIEW, "* FROM calls", "error <> ''") == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("agent", BY_POINTS)
def test_a_model_shops_by_anthropics_tools_for_computers(shopped: sqlite3.Connection, agent: str) -> None:
    assert_bought_by_a_click(shopped, agent)
    assert rows(shopped, agent, "* FROM steps", "error <> ''") == []
    assert rows(shopped, agent, "* FROM calls", "error <> ''") == []


@pytest.mark.browser
@pytest.mark.slow
def test_a_model_of_google_searches_goes_back_and_buys(shopped: sqlite3.Connection) -> None:
    """A function becomes several steps, and what was asked for after it ends at the page that it leads to."""
    assert rows(shopped, IN_GRID, "outcome FROM trials") == [("choice",)] * TRIALS
    bought, searched = "product.add_to_cart", "page.body"
    hits = rows(shopped, IN_GRID, "element, role FROM hits", "1 ORDER BY trial, step")
    assert hits == [("input", searched), ("span", bought)] * TRIALS
    batch = ["keyboard_press('Control+a')", "keyboard_press('Backspace')", "keyboard_type('mug')"]
    batch.append("keyboard_press('Enter')")
    later = rows(shopped, IN_GRID, "action FROM steps", "looked = 0 ORDER BY trial, step")
    assert [action for (action,) in later] == batch * TRIALS
    found = rows(shopped, IN_GRID, "action FROM steps", "url LIKE '%/catalogsearch/result/?q=mug'")
    assert found == [("go_back()",)] * TRIALS
    assert rows(shopped, IN_GRID, "* FROM steps", "error <> ''") == []
    assert rows(shopped, IN_GRID, "* FROM calls", "error <> ''") == []
