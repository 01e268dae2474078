"""The ready agents of the docs, as they are: the real packages, asked by a server that knows what to say.

`make agents` installs the packages. The models open each product, and buy the last one.
"""

import json
import os
import re
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.experiments.command_line import Ended, forked_souk
from tests.experiments.executors.program_runs import DB, EXPERIMENT, rows

DOCS = Path(__file__).parents[3] / "docs" / "agents"
INSTALLED = Path.home() / ".cache" / "souk" / "agents"
MODULES = INSTALLED / "node_modules"
PROGRAMS = f"{MODULES / '.bin'}:{os.environ['PATH']}"
KEY = "sk-0123456789abcdef0123456789abcdef"
VENVS = INSTALLED / "venv" / "bin", INSTALLED / "agentlab" / "bin"
AGENTS = {
    "playwright-mcp": (
        f"{sys.executable} {DOCS / 'playwright_mcp.py'} model",
        shutil.which("playwright-mcp", path=PROGRAMS),
    ),
    "browser-use": (
        f"{VENVS[0] / 'python'} {DOCS / 'browser_use_agent.py'} model",
        (VENVS[0] / "browser-use").exists(),
    ),
    "stagehand": (
        f"node {DOCS / 'stagehand_agent.mjs'} model",
        shutil.which("node") and (MODULES / "@browserbasehq" / "stagehand").exists(),
    ),
    "agentlab": (f"{VENVS[1] / 'python'} {DOCS / 'agentlab_agent.py'} model", (VENVS[1] / "python").exists()),
}
"""The command of each, and whether it is installed."""
pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    command, is_installed = AGENTS[request.param]
    if not is_installed:
        pytest.skip("run `make agents`")
    return command


Message = dict[str, Any]


def calls_of_tools(asked: Message) -> Message | None:
    """The next turn of a model with the tools of @playwright/mcp; None: the request is not as it must be."""
    messages = asked["messages"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or []]
    results = [message for message in messages if message["role"] == "tool"]
    if calls != [result["tool_call_id"] for result in results]:
        return None
    urls = re.findall(r"http\S+", messages[1]["content"])
    turn = sum(message["role"] == "assistant" for message in messages)
    if turn == 0:
        uses = [("browser_run_code_unsafe", '{"code": "async () => 1"}'), ("browser_click", '{"target": ')]
    elif not all(result["content"].startswith("Error: ") for result in results[:2]):
        return None
    elif turn <= len(urls):
        uses = [("browser_navigate", json.dumps({"url": urls[turn - 1]})), ("browser_snapshot", "{}")]
    else:
        found = re.search(r'button "Add to Cart".*?\[ref=(\w+)\]', results[-1]["content"])
        uses = [("browser_click", json.dumps({"target": found[1]}))] if found else []
    written = [
        {"id": f"call_{turn}_{number}", "type": "function", "function": {"name": name, "arguments": given}}
        for number, (name, given) in enumerate(uses)
    ]
    return {"content": None, "tool_calls": written}


def next_step(asked: Message) -> Message | None:
    """The next step of a model that browser-use asks; None: the request is not as it must be."""
    said = asked["messages"][-1]["content"]
    parts = [{"type": "text", "text": said}] if isinstance(said, str) else said
    text = "\n".join(part.get("text", "") for part in parts)
    request = re.search(r"<user_request>(.*?)</user_request>", text, re.S)
    step = re.search(r"<step_info>Step ?(\d+)", text)
    if not (request and step) or (int(step[1]) > 1 and parts[-1]["type"] != "image_url"):
        return None
    urls = re.findall(r"http\S+", request[1])
    button = re.search(r"\[(\d+)\]<button[^\n]*>\s*Add to Cart", text)
    action: Message
    if int(step[1]) <= len(urls):
        action = {"navigate": {"url": urls[int(step[1]) - 1], "new_tab": False}}
    elif button:
        action = {"click": {"index": int(button[1])}}
    else:
        action = {"done": {"text": "there is no button", "success": False}}
    words = dict.fromkeys(("thinking", "evaluation_previous_goal", "memory", "next_goal"), "I go on.")
    return {"content": json.dumps({**words, "action": [action]})}


def tools_of_stagehand(asked: Message) -> Message:
    """The next turn of Stagehand's agent; which element it means is asked in a request of its own."""
    urls = re.findall(r"http\S+", str(asked["messages"][1]["content"]).split("Begin with:")[-1])
    turn = sum(message["role"] == "assistant" for message in asked["messages"])
    if turn < len(urls):
        name, given = "goto", {"url": urls[turn]}
    else:
        name, given = "act", {"action": "click the button Add to Cart"}
    function = {"name": name, "arguments": json.dumps(given)}
    return {"content": None, "tool_calls": [{"id": f"call_{turn}", "type": "function", "function": function}]}


def element_of_stagehand(asked: Message) -> Message | None:
    """The element that Stagehand asks for, on the page that it describes; None: it is not there."""
    found = re.search(r"\[(\d+-\d+)\] button: Add to Cart", json.dumps(asked["messages"]))
    if not found:
        return None
    action = {"elementId": found[1], "description": "the button", "method": "click", "arguments": []}
    return {"content": json.dumps({"action": action, "twoStep": False})}


def action_of_agentlab(asked: Message) -> Message | None:
    """The next action of AgentLab's agent, at first an answer that is none; None: the request is wrong."""
    _, prompt, *again = asked["messages"]
    parts = prompt["content"]
    text = parts if isinstance(parts, str) else "\n".join(part.get("text", "") for part in parts)
    tabs = [bool(active) for active in re.findall(r"^Tab \d+( \(active tab\))?:$", text, re.M)]
    button = re.search(r"\[(\w+)\] button 'Add to Cart'", text)
    if not (button and tabs.count(True) == 1):
        return None
    if tabs[0] and not again:
        return {"content": "<think>I look around.</think>"}
    tab = tabs.index(True) + 1
    action = f"tab_focus({tab})" if tab < len(tabs) else f"click('{button[1]}')"
    return {"content": f"<think>I go on.</think>\n<action>\n{action}\n</action>"}


def turn_of(asked: Message) -> Message | None:
    """What the model says to whoever asks; None: the request is not as it must be."""
    tools = {tool["function"]["name"] for tool in asked.get("tools", [])}
    if "<action>" in json.dumps(asked):
        return action_of_agentlab(asked)
    if "goto" in tools:
        return tools_of_stagehand(asked)
    if tools:
        return calls_of_tools(asked)
    return next_step(asked) if "<user_request>" in json.dumps(asked) else element_of_stagehand(asked)


async def answer(request: Request) -> Response:
    asked = json.loads(await request.body())
    if request.headers["authorization"] != f"Bearer {KEY}":
        return JSONResponse({"error": {"message": "Incorrect API key provided"}}, status_code=401)
    said = turn_of(asked)
    if said is None:
        return JSONResponse({"error": {"message": "the request is not as it must be"}}, status_code=400)
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **said}}
    usage = {"prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020}
    head = {"id": "c", "object": "chat.completion", "created": 1_700_000_000, "model": asked["model"]}
    return JSONResponse({**head, "choices": [choice], "usage": usage})


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        server.should_exit = True
        thread.join()


@pytest.fixture
def shop(address: str, tmp_path: Path) -> Iterator[Callable[..., Ended]]:
    """Runs an agent; fails where it asks for anything beyond this machine."""
    (tmp_path / "e.yaml").write_text(EXPERIMENT.replace("seconds: 120", "seconds: 120, steps: 12"))
    with socket.create_server(("127.0.0.1", 0)) as beyond:
        proxy = f"http://127.0.0.1:{beyond.getsockname()[1]}"
        proxies = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "127.0.0.1,localhost"}
        model = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": KEY}

        def run(agent: str, limit: int, **env: str) -> Ended:
            command = ("run", "e.yaml", "--agent", f"command:{agent}", "--limit", str(limit))
            reach = {"SOUK_PROGRAM_REACH": address.removeprefix("http://").removesuffix("/v1")}
            env = {**proxies, **model, **reach, "PATH": PROGRAMS, "NODE_PATH": str(MODULES), **env}
            return forked_souk(*command, *DB, cwd=tmp_path, env=env)

        yield run
        beyond.setblocking(False)
        with pytest.raises(BlockingIOError):
            beyond.accept()


def test_it_shops(agent: str, shop: Callable[..., Ended], tmp_path: Path) -> None:
    ended = shop(agent, 2, SOUK_PROGRAM_ENV="OPENAI_API_KEY")
    trials = rows(tmp_path, "SELECT * FROM trials")
    assert [(trial["outcome"], trial["reason"]) for trial in trials] == [("choice", "")] * 2, ended.err
    for trial in trials:
        where = f"WHERE trial = '{trial['trial']}'"
        options = rows(tmp_path, f"SELECT option FROM options {where} ORDER BY position")
        assert trial["choice"] == options[-1]["option"]
        assert rows(tmp_path, f"SELECT count(*) AS n FROM receipts {where}") != [{"n": 0}]
        calls = rows(tmp_path, f"SELECT model, tokens_in, tokens_out FROM calls {where}")
        assert len(calls) >= len(options) + 1
        assert {tuple(call.values()) for call in calls} == {("model", 1_000, 20)}
        assert trial["cost"] is None


def test_without_a_key_it_says_so(agent: str, shop: Callable[..., Ended], tmp_path: Path) -> None:
    shop(agent, 1)
    (trial,) = rows(tmp_path, "SELECT * FROM trials")
    assert trial["outcome"] == "agent_error"
    assert "Incorrect API key provided" in trial["reason"]
