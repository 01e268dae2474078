"""Models that look: a server that speaks wire formats, and knows what is in the pictures.

They go to the other tab, back again, and click in the middle of the blue button. Open models, which write
their actions as text, answer oddly at first. Other wire formats: tests/agents/computer.
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

from tests.chat_completion import completion
from tests.experiments.command_line import forked_souk
from tests.support import size, usual

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BLUE = (25, 121, 195)


def pictures_of(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
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
        call = {"type": "computer_call", "call_id": call_id, "pending_safety_checks": [], "actions": actions}
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
    return JSONResponse(completion(text, tokens_out=20))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    routes = [
        ("/v1/responses", answer),
        ("/v1/chat/completions", answer_chat),
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
BY_CODE = "openai-computer:gpt-5.5"
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
    agents = [BY_CODE, *(f"{family}-computer:{family}" for family in FAMILIES)]
    env = {
        "OPENAI_BASE_URL": address,
        "OPENAI_API_KEY": "any",
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


def test_a_model_shops_by_what_it_sees(shopped: sqlite3.Connection) -> None:
    assert_bought_by_a_click(shopped, BY_CODE)
    assert rows(shopped, BY_CODE, "* FROM calls", "error <> ''") == []


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
