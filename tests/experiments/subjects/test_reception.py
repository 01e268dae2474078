"""Who gets which trial: hosts with a session and without one, calls that are cancelled, answers not sent."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from mcp.shared.memory import create_connected_server_and_client_session

from agents.base import Decision, GaveUp
from environments.protocol.observation import Observation, Tab
from experiments.subjects.mcp_modern import NO_ADDRESS
from experiments.subjects.mcp_server import make_server
from experiments.subjects.mcp_subject import HostAgent, Reception, Subject
from tests.experiments.subjects.mcp_clients import (
    NEW,
    STRANGE,
    Modern,
    call,
    message,
    of_each_revision,
    over_http,
    picture_of,
    refused,
)

PAGE = Observation("Buy.", "<html>", (Tab("", "http://shop/", active=True),))


async def yes(trial: str) -> bool:
    return True


def reception(run: Any, *trials: str, claim: Any = yes) -> Reception:
    """One whose trials are carried out by a function, without a browser."""
    given: list[Any] = [SimpleNamespace(id=each) for each in trials]
    return Reception(given, claim, run, "how")


NO_CHOICE = SimpleNamespace(trial=SimpleNamespace(outcome="no_choice", reason=""))


async def test_a_host_reaches_no_trial_of_another() -> None:
    """A call with an argument that its tool has not begins no trial, and looks at none."""
    begun, ended = list[str](), list[str]()

    async def run(trial: Any, agent: HostAgent) -> Any:
        begun.append(trial.id)
        with suppress(GaveUp):
            await agent.act(PAGE)
        ended.append(trial.id)
        return NO_CHOICE

    server = make_server(reception(run, "a", "b"))._mcp_server
    async with (
        create_connected_server_and_client_session(server) as one,
        create_connected_server_and_client_session(server) as other,
    ):
        for unknown in ({"trial": "b"}, {"": 1}, {"context": {}}, {"ctx": None}):
            assert "has no argument" in await refused(one, "next_trial", **unknown)
        assert begun == []
        assert "Goal: Buy." in await call(one, "next_trial")
        for tool in ("observe", "give_up", "act"):
            more = {"action": "scroll(0, 1)"} if tool == "act" else {}
            said = await refused(other, tool, **more)
            assert "no trial has begun" in said
            assert "keep one" in said
            assert "has no argument 'trial'" in await refused(other, tool, **more, trial="a")
        await call(other, "next_trial")
        assert "no_choice" in await call(other, "give_up")
        assert (begun, ended) == (["a", "b"], ["b"])
        assert "no_choice" in await call(one, "give_up")


async def looked(trial: Any, agent: HostAgent) -> Any:
    """A trial that ends when its host gives up."""
    with suppress(GaveUp):
        await agent.act(replace(PAGE, screenshot=b"png", pointer=True))
    return NO_CHOICE


async def test_hosts_without_a_session() -> None:
    """They have the tools and answers of those with one; each is known by its address."""
    async with (
        of_each_revision(reception(looked, *"abcd")) as url,
        httpx.AsyncClient() as client,
        over_http(url) as one,
        over_http(url) as other,
    ):
        host, same, third = (Modern(client, each) for each in (url, url, f"{url}?third"))
        listed = await host.ask("tools/list")
        assert (listed.pop("ttlMs"), listed.pop("cacheScope")) == (0, "private")
        assert listed == (await one.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)
        nobody = await client.post(url.removesuffix("?a"), **message("server/discover"))
        assert (nobody.status_code, nobody.json()["error"]["message"]) == (400, NO_ADDRESS)
        found = await host.ask("server/discover")
        assert found["supportedVersions"] == [NEW]
        assert "Call next_trial" in found["instructions"]
        wrong: list[tuple[str, dict[str, Any]]] = [("next_trial", {"trial": "b"}), ("act", {}), ("buy", {})]
        for tool, more in (("observe", {}), *wrong):
            said = await host.call_tool(tool, more)
            assert said.isError
            assert said == await one.call_tool(tool, more)
        shown = await host.call_tool("next_trial", {})
        assert shown == await one.call_tool("next_trial", {})
        assert picture_of(shown) == b"png"
        assert shown == await same.call_tool("observe", {})
        assert "a trial runs" in await refused(same, "next_trial")
        for each in (other, third):
            assert "no trial has begun" in await refused(each, "observe")
            await call(each, "next_trial")
        assert "All trials are done" in await call(Modern(client, f"{url}?fourth"), "next_trial")
        for each in (one, other, third, same):
            assert "no_choice" in await call(each, "give_up")
        assert "no_choice" in await call(host, "observe")


async def test_who_gets_no_trial_without_a_session() -> None:
    """A page in a browser, a request that contradicts itself, and a client that goes away."""
    claiming, gone = asyncio.Event(), asyncio.Event()

    async def claim(trial: str) -> bool:
        claiming.set()
        try:
            return await asyncio.Event().wait()
        finally:
            gone.set()

    async with of_each_revision(reception(looked, "a", claim=claim)) as url, httpx.AsyncClient() as client:

        async def said(status: int, header: str = "", value: str = "", **more: Any) -> Any:
            sent = message("tools/call", "next_trial")
            sent["json"]["params"] |= more
            sent["headers"] |= {header: value} if header else {}
            answer = await client.post(url, **sent)
            assert answer.status_code == status, answer.text
            return answer

        for header, value, status in STRANGE:
            if status != 200:
                await said(status, header, value)
        for header, value in (("Mcp-Method", "ping"), ("Mcp-Name", "observe"), ("MCP-Protocol-Version", "1")):
            assert (await said(400, header, value)).json()["error"]["code"] == -32020
        for arguments in (["x"], "x", 7):
            assert (await said(400, arguments=arguments)).json()["error"]["code"] == -32602
        await said(413, arguments={"thought": "x" * 300_000})
        assert (await client.post(url, **message("ping"))).status_code == 404
        assert (await client.get(url, headers={"MCP-Protocol-Version": NEW})).status_code == 405
        assert not claiming.is_set()
        calling = asyncio.create_task(said(200))
        await claiming.wait()
        assert "one at a time" in await refused(Modern(client, url), "observe")
        calling.cancel()
        await gone.wait()
        assert "no trial has begun" in await refused(Modern(client, url), "observe")


async def test_what_was_not_sent_was_not_looked_at() -> None:
    """A host that cancels its call has not seen what the call would have shown."""
    decisions: list[Decision] = []

    async def run(trial: Any, agent: HostAgent) -> Any:
        for _ in range(3):
            await asyncio.sleep(0)
            decisions.append(await agent.act(replace(PAGE, screenshot=b"png", pointer=True)))

    subject = Subject(reception(run, "t"))
    cancelled = asyncio.create_task(subject.next_trial())
    while not subject._agent.turn.is_set():
        await asyncio.sleep(0)
        if len(asyncio.all_tasks()) > 2:  # the trial runs: the host goes away before it is shown anything
            cancelled.cancel()
    with suppress(asyncio.CancelledError):
        await cancelled
    for _ in range(2):
        await subject.act("wait(0)", "")
    assert [each.looked for each in decisions] == [False, True]


async def test_a_cancelled_call_loses_no_trial_and_no_end() -> None:
    claiming, looking, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def run(trial: Any, agent: HostAgent) -> Any:
        try:
            while True:
                await agent.act(PAGE)
                await looking.wait()
        except GaveUp as gave_up:
            ended.append(str(gave_up))
            return NO_CHOICE

    async def claim(trial: str) -> bool:
        await claiming.wait()
        return True

    async def cancel(call: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(call)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    subject = Subject(reception(run, "t", claim=claim))
    await cancel(subject.next_trial())
    claiming.set()
    assert await subject.next_trial() == PAGE
    await cancel(subject.act("scroll(0, 1)", ""))
    giving_up = asyncio.create_task(subject.give_up("enough"))
    await asyncio.sleep(0)
    looking.set()
    assert "no_choice" in str(await giving_up)
    assert ended == ["enough"]
