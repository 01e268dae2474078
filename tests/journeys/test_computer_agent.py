"""A model that looks: a server that speaks OpenAI's wire format, and knows what is in the pictures.

It goes to the other tab, back again, and clicks in the middle of the blue button.
"""

import base64
import io
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.experiments.command_line import forked_souk

BLUE = (25, 121, 195)


def pictures_of(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        if str(data.get("image_url", "")).startswith("data:image/png;base64,"):
            yield data["image_url"].partition(",")[2]
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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    app = Starlette(routes=[Route("/v1/responses", answer, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        server.should_exit = True
        thread.join()


@pytest.mark.browser
@pytest.mark.slow
def test_a_model_shops_by_what_it_sees(address: str, tmp_path: Path) -> None:
    env = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "any", "NO_PROXY": "127.0.0.1"}
    ended = forked_souk(
        "run", "nudges", "--agent", "openai-computer:gpt-5.5", "--limit", "6", cwd=tmp_path, env=env
    )
    assert ended.status == 0, ended.err
    with sqlite3.connect(tmp_path / "runs" / "souk.db") as database:
        assert database.execute("SELECT outcome, count(*) FROM trials GROUP BY 1").fetchall() == [
            ("choice", 6)
        ]
        hits = database.execute(
            "SELECT DISTINCT role, product <> '' FROM hits WHERE element <> ''"
        ).fetchall()
        assert hits == [("product.add_to_cart", 1)]
        batches = database.execute("SELECT action FROM steps WHERE looked = 0").fetchall()
        assert len(batches) == 6
        assert all(action.startswith("mouse_click(") for (action,) in batches)
        assert database.execute("SELECT count(*) FROM calls WHERE error <> ''").fetchall() == [(0,)]
