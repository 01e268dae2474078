"""Trials for MCP hosts: the official client is the subject, over each transport; so is a hostile host."""

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult

from environments.protocol.actions import Action
from experiments.subjects.mcp_modern import NO_ADDRESS
from experiments.subjects.mcp_server import Offer, make_server, open_reception
from experiments.subjects.mcp_subject import UNUSABLE_ACTIONS
from tests.experiments.command_line import environment, program
from tests.experiments.subjects.mcp_clients import (
    NEW,
    STRANGE,
    Caller,
    Modern,
    call,
    message,
    of_each_revision,
    over_http,
    picture_of,
    refused,
    text_of,
)
from tests.journeys.test_computer_agent import button_in
from tests.proxy.test_mcp_hosts import output
from tests.support import serve, size

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("one_driver")]


EXPERIMENT = """\
name: hosts
goal: Add the best product to the cart.
options: {sets: 4}
factors:
  nudge: {interventions: nudges, only: [best-seller]}
limits: {seconds: 120, steps: 6}
"""


def button(page: str) -> str:
    """The bid of the product's own button."""
    tag = next(tag for tag in re.findall(r"<button[^>]*>", page) if "Add to Cart" in tag)
    found = re.search(r'bid="(\w+)"', tag)
    assert found, tag
    return found[1]


async def buy(session: Caller) -> str:
    """Take a trial and buy the product in the active tab."""
    page = await call(session, "next_trial")
    assert "Goal: Add the best product to the cart." in page
    assert await call(session, "observe") == page
    return await call(session, "act", action=f"click('{button(page)}')", thought="this one")


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "t.db") as connection:
        return connection.execute(query).fetchall()


def arguments(*more: str) -> list[str]:
    return ["trials", "serve", "e.yaml", "--mcp", "--as", "tester", "--db", "sqlite:///t.db", *more]


@asynccontextmanager
async def started_server(folder: Path) -> AsyncIterator[ClientSession]:
    """A host that starts `souk trials serve --mcp` itself."""
    server = StdioServerParameters(command=program(), args=arguments(), cwd=folder, env=environment({}))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def test_standard_input_and_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that goes away leaves its trial to the next one."""
    monkeypatch.setattr(
        "mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 60
    )  # its end is not killed under load
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    claimed, stored = "SELECT trial FROM claims", "SELECT trial FROM trials"
    async with started_server(tmp_path) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == {"next_trial", "observe", "act", "give_up"}
        assert "click(bid: str)" in str(tools["act"].description)
        await call(session, "next_trial")
        left = rows(tmp_path, claimed)
    assert (len(left), rows(tmp_path, claimed), rows(tmp_path, stored)) == (1, [], [])
    async with started_server(tmp_path) as session:
        assert "This trial has ended: choice." in await buy(session)
        assert rows(tmp_path, stored) == left
        assert "This trial has ended: choice." in await buy(session)
    assert rows(tmp_path, claimed) == []
    assert rows(tmp_path, "SELECT outcome, steps FROM trials") == [("choice", 1)] * 2
    assert rows(tmp_path, "SELECT DISTINCT thought FROM steps WHERE step = 0") == [("this one",)]


async def test_a_call_without_a_session_is_cancelled_on_standard_input(tmp_path: Path) -> None:
    """It is not answered; the trial that it has begun is the host's."""
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    cancelled = {
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1},
    }  # fmt: skip
    said = [
        message("tools/call", "next_trial", 1)["json"],
        cancelled | {"params": {"requestId": []}},
        cancelled,
        message("tools/call", "next_trial", 2)["json"],
    ]
    process = await asyncio.create_subprocess_exec(
        program(), *arguments(), cwd=tmp_path, env=environment({}), limit=2**20,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    process.stdin.writelines(json.dumps(each).encode() + b"\n" for each in said)
    answers = [json.loads(await process.stdout.readline())]
    process.stdin.write(json.dumps(message("tools/call", "observe", 3)["json"]).encode() + b"\n")
    answers.append(json.loads(await process.stdout.readline()))
    process.stdin.close()
    assert await process.stdout.read() == b""
    await process.wait()
    assert [each["id"] for each in answers] == [2, 3]
    assert "Goal: Add" in answers[1]["result"]["content"][0]["text"]
    assert (rows(tmp_path, "SELECT * FROM trials"), rows(tmp_path, "SELECT * FROM claims")) == ([], [])


def offer_in(folder: Path, experiment: str = EXPERIMENT) -> Offer:
    (folder / "e.yaml").write_text(experiment)
    return Offer(experiment=str(folder / "e.yaml"), label="tester", db=f"sqlite:///{folder}/t.db")


async def test_a_server_that_nobody_used_leaves_no_run(tmp_path: Path) -> None:
    offer = offer_in(tmp_path)
    async with open_reception(offer):
        pass
    assert rows(tmp_path, "SELECT run FROM runs") == []
    async with open_reception(offer) as reception:
        await reception.next()
        assert len(rows(tmp_path, "SELECT run FROM runs")) == 1


async def test_a_trial_by_requests_without_a_session(tmp_path: Path) -> None:
    """It is recorded as the same trial with a session is."""
    told = []
    for name in ("session", "requests"):
        (folder := tmp_path / name).mkdir()
        async with open_reception(offer_in(folder)) as reception, of_each_revision(reception) as url:
            if name == "session":
                async with over_http(url) as session:
                    told.append(await buy(session))
            else:
                async with httpx.AsyncClient(timeout=120) as client:
                    told.append(await buy(Modern(client, url)))
    assert told[0] == told[1]
    for query in (
        "SELECT trial, outcome, reason, steps FROM trials",
        "SELECT step, action, thought, error FROM steps ORDER BY step",
        "SELECT edit, role, matches FROM receipts ORDER BY 1, 2, 3",
    ):
        one, other = (rows(tmp_path / name, query) for name in ("session", "requests"))
        assert one == other
    assert rows(tmp_path / "requests", "SELECT outcome, steps FROM trials") == [("choice", 1)]


@pytest.mark.thorough
async def test_the_trial_of_a_session_that_is_dropped_ends_with_its_time(tmp_path: Path) -> None:
    short = EXPERIMENT.replace("seconds: 120", "seconds: 5")
    async with open_reception(offer_in(tmp_path, short)) as reception:
        server = make_server(reception)
        app = server.streamable_http_app()
        async with server.session_manager.run(), serve(app) as url:
            async with over_http(f"{url}mcp") as session:
                await call(session, "next_trial")
            (trial,) = reception._running
            record = await trial
    assert (record.trial.outcome, record.trial.reason) == ("agent_limit", "5 seconds have passed")
    assert rows(tmp_path, "SELECT trial, outcome FROM trials") == [(record.trial.trial, "agent_limit")]
    assert rows(tmp_path, "SELECT trial FROM claims") == []


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of `souk trials serve --mcp --port`."""
    process = subprocess.Popen(
        [program(), *arguments("--port", "0")], cwd=folder, env=environment({}),
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr
        yield process.stderr.readline().split()[3].removesuffix(";")
    finally:
        process.terminate()
        process.wait(30)


WHO = {"capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}


HELLO = {
    **{"jsonrpc": "2.0", "id": 1, "method": "initialize"},
    "params": {"protocolVersion": "2025-06-18", **WHO},
}


ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.thorough
async def test_streamable_http(tmp_path: Path) -> None:
    """Two hosts at the same time have trials of their own; a page in a browser has none."""
    (tmp_path / "e.yaml").write_text(EXPERIMENT)

    async def host(url: str) -> str:
        async with over_http(url) as session:
            return await buy(session)

    with served(tmp_path) as url:
        async with httpx.AsyncClient() as strange:
            for header, value, status in STRANGE:
                said = await strange.post(url, json=HELLO, headers={**ACCEPT, header: value})
                assert said.status_code == status, said.text
        for ended in await asyncio.gather(host(url), host(url)):
            assert "This trial has ended: choice." in ended
    assert rows(tmp_path, "SELECT outcome FROM trials") == [("choice",)] * 2


HOST: Final = Path(__file__).parent / "mcp_hosts/sdk_2.py"


@pytest.mark.thorough
async def test_a_host_of_sdk_2(tmp_path: Path) -> None:
    """It buys by each revision and transport; MCP's SDK 2 has an environment of its own."""
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    python = tmp_path / "bin/python"
    await output(sys.executable, "-m", "venv", tmp_path)
    status, told = await output(python, "-m", "pip", "install", "--quiet", "mcp==2.3.0")
    if status:
        pytest.skip(f"pip cannot install mcp 2.3.0: {told.splitlines()[-1]}")
    with served(tmp_path) as url:
        status, told = await output(python, HOST, url, tmp_path, program(), *arguments())
    assert status == 0, told
    tools, ended = ["next_trial", "observe", "act", "give_up"], "This trial has ended: choice"
    lines = [line for line in told.splitlines() if line.startswith("[")]  # others are of standard error
    old = "2025-11-25"  # a host that chooses by itself has a session, so that each has its own trials
    assert [json.loads(line) for line in lines] == [
        [NO_ADDRESS],
        *(["http", revision, tools, ended] for revision in (NEW, old, old)),
        *(["stdio", revision, tools, ended] for revision in (NEW, NEW, old)),
    ]
    assert rows(tmp_path, "SELECT outcome, steps FROM trials") == [("choice", 1)] * 6


@asynccontextmanager
async def in_process(folder: Path, experiment: str = EXPERIMENT) -> AsyncIterator[ClientSession]:
    async with (
        open_reception(offer_in(folder, experiment)) as reception,
        create_connected_server_and_client_session(make_server(reception)._mcp_server) as session,
    ):
        yield session


@pytest.mark.thorough
async def test_a_hostile_host(tmp_path: Path) -> None:
    async with in_process(tmp_path, EXPERIMENT.replace("sets: 4", f"sets: {size(1, 4)}")) as host:
        for tool in ("observe", "act", "give_up"):
            more = {"action": "click('1')"} if tool == "act" else {}
            assert "call next_trial" in await refused(host, tool, **more)
        await call(host, "next_trial")
        assert "a trial runs" in await refused(host, "next_trial")
        for bad in ({}, {"action": 7}, {"action": None}, {"action": ["click('1')"]}, {"act": "click('1')"}):
            await refused(host, "act", **bad)
        await refused(host, "no_such_tool")
        # What is no action changes nothing; too many in a row end the trial.
        for _ in range(UNUSABLE_ACTIONS - 1):
            assert "not a" in await refused(host, "act", action="__import__('os').system('id')")
        await call(host, "act", action="scroll(0, 10)", thought="\ud800\0" * 10)
        for _ in range(UNUSABLE_ACTIONS - 1):
            await refused(host, "act", action="x" * 100_000)
        assert "agent_error" in await call(host, "act", action="rm -rf /")
        assert "agent_error" in await call(host, "act", action="click('1')")  # it has ended
        # A flood: one at a time, and never more actions than a trial has.
        await call(host, "next_trial")
        many = [host.call_tool("act", {"action": "scroll(0, 1)"}) for _ in range(size(60, 2_000))]
        said = await asyncio.gather(*many)
        assert any("one at a time" in text_of(each) for each in said)
        while "has ended" not in (page := await call(host, "act", action="scroll(0, 1)")):
            assert "Goal:" in page
        assert "agent_limit" in page
        await call(host, "next_trial")
        assert "no_choice" in await call(host, "give_up", reason="none\nof them")
        taken = 3
        while "All trials are done" not in await call(host, "next_trial"):
            taken += 1
            await call(host, "give_up")
    assert rows(tmp_path, "SELECT count(*) FROM trials") == [(taken,)]
    ended = dict(rows(tmp_path, "SELECT outcome, count(*) FROM trials GROUP BY outcome"))
    assert ended == {"agent_error": 1, "agent_limit": 1, "no_choice": taken - 2}
    assert rows(tmp_path, "SELECT count(*) FROM claims") == [(0,)]


BELOW = """\
interventions:
  - id: below
    kind: nudge
    family: far down
    direction: +1
    pages: [product]
    edits:
      - insert_text: {after: product.description, text: Our customers recommend this product}
"""


LOOKING = """\
name: lookers
goal: Add the best product to the cart.
observation: screenshot
options: {sets: 3}
factors:
  nudge: {interventions: below.yaml, on: [each]}
  order: listed
limits: {seconds: 120, steps: 8}
"""


async def buy_by_sight(host: ClientSession, seen: CallToolResult) -> str:
    """Click in the middle of the blue button of the picture."""
    at = button_in(picture_of(seen))
    assert at
    return await call(host, "act", action=f"mouse_click({at[0]}, {at[1]})")


@pytest.mark.thorough
async def test_a_host_acts_on_pictures(tmp_path: Path) -> None:
    """What stands below the picture was not seen, unless the host has scrolled to it."""
    (tmp_path / "below.yaml").write_text(BELOW)
    outcomes: list[tuple[int, str]] = []
    async with in_process(tmp_path, LOOKING) as host:
        (act,) = [tool for tool in (await host.list_tools()).tools if tool.name == "act"]
        assert "mouse_click(x: float, y: float" in str(act.description)
        assert "bid" not in str(act.description)
        sets: dict[str, int] = {}
        while "All trials are done" not in text_of(seen := await host.call_tool("next_trial", {})):
            assert "bid=" not in text_of(seen)
            # Two trials of each pair of products: one has the text in the tab that is bought from.
            number = sets.setdefault(str(sorted(re.findall(r"/[\w-]+\.html", text_of(seen)))), len(sets))
            if number == 1:  # this pair is looked at as a whole
                picture_of(await host.call_tool("act", {"action": "scroll_at(640, 400, 0, 5000)"}))
                seen = await host.call_tool("act", {"action": "scroll_at(640, 400, 0, -5000)"})
            elif number == 2:
                for address in ("file:///etc/passwd", "http://example.org/", "javascript:alert(1)"):
                    told = await call(host, "act", action=f"goto({address!r})")
                    assert "The last action failed: goto: only http" in told or "Host not allowed" in told
                assert "unknown action 'click'" in await refused(host, "act", action="click('12')")
                assert "outside of the picture" in await call(host, "act", action="mouse_click(1280, 5)")
                assert "typed" not in await call(host, "act", action="keyboard_type('typed')")
                assert "no_choice" in await call(host, "act", action="give_up('none')")
                continue
            outcomes.append((number, (await buy_by_sight(host, seen)).split()[4].rstrip(".")))
    assert sorted(outcomes) == [(0, "choice"), (0, "treatment_failed"), (1, "choice"), (1, "choice")]
    hit = "SELECT DISTINCT role FROM hits JOIN trials USING (run, trial) WHERE outcome = 'choice'"
    assert ("product.add_to_cart",) in rows(tmp_path, hit)


async def test_a_host_buys_without_pages(tmp_path: Path) -> None:
    """It is told what it can do by each interface, and what the proxy has planned."""
    experiment = EXPERIMENT.replace("options: {sets: 4}", "options: {sets: 1}\nobservation: [feed, mcp]")
    async with in_process(tmp_path, experiment.replace("only:", "on: [each], only:")) as host:
        (how,) = [each.description for each in (await host.list_tools()).tools if each.name == "act"]
        assert how and "add_to_cart(id: str)" in how and "call_tool(" in how and "click" not in how
        given = list[str]()
        while (shown := await call(host, "next_trial")) != "All trials are done.":
            answer = json.loads(shown.partition("The shop has answered:\n")[2])
            product = answer["products"][0]
            if "variants" in product:
                given.append(shown)
                ended = await call(host, "act", action=f"add_to_cart('{product['id']}')")
            else:
                assert "get_product: " in shown
                asked = str(
                    Action("call_tool", ("get_product", json.dumps({"catalog": {"id": product["id"]}})))
                )
                looked = await call(host, "act", action=asked)
                assert "get_product: " not in looked
                given.append(looked)
                product = json.loads(looked.partition("The shop has answered:\n")[2])["product"]
                lines = {"line_items": [{"item": {"id": product["variants"][0]["id"]}, "quantity": 1}]}
                bought = str(Action("call_tool", ("create_cart", json.dumps({"cart": lines}))))
                ended = await call(host, "act", action=bought)
            assert ended.startswith("This trial has ended: choice")
    found = rows(tmp_path, "SELECT modality, outcome, count(*) FROM trials GROUP BY 1, 2 ORDER BY 1")
    assert found == [("feed", "choice", 4), ("mcp", "choice", 4)]
    assert any("best seller" in text.lower() for text in given)
    nudged = "SELECT count(*) FROM receipts WHERE role = 'data.told'"
    assert rows(tmp_path, nudged)[0][0] > 0
