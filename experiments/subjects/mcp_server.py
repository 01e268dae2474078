"""Serve trials to MCP hosts: over standard input and output, or as streamable HTTP on this machine."""

import base64
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import uvicorn
from starlette.applications import Starlette

from environments.protocol.observation import Observation
from experiments.console.listener import HOST, listen
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.trial import ShopTrial
from experiments.executors.browser import BrowserExecutor, open_testbed
from experiments.executors.executor import Attempt
from experiments.executors.start_pages import check_start_pages
from experiments.records.record import Start, TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from experiments.subjects.mcp_subject import (
    MOST_AT_ONCE,
    HostAgent,
    HostTrialRunner,
    OutOfTurn,
    Reception,
    Subject,
    as_text,
    how_to_act,
)
from interventions.errors import UserError

try:
    from mcp.server.fastmcp import Context, FastMCP
    from mcp.server.fastmcp.exceptions import ToolError
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import ContentBlock, ImageContent, TextContent

    from experiments.subjects.mcp_modern import CALLER, ModernOverHttp, serve_stdio
except ImportError as error:
    raise UserError(
        f"--mcp needs the package mcp, from 1.23 on and below 2 ({error.name} is missing); "
        "pip install 'mcp>=1.23,<2'"
    ) from None

INSTRUCTIONS: Final = (
    "You are given tasks in a shop, one at a time. Call next_trial, do what its goal says with act, "
    "and call next_trial again when the trial has ended."
)

_OWN_NAMES: Final = TransportSecuritySettings(allowed_hosts=[f"{HOST}:*", "localhost:*"])
"""Any other name is one that was made to lead here; whoever names an origin is a page in a browser."""

_MOST_CALLERS: Final = 1_000
"""Hosts without a session that are remembered; those that have not called for longest are forgotten."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The settings of `souk trials serve --mcp`.

    `port`: None is standard input and output, 0 any free port.
    """

    experiment: str
    label: str
    db: str
    port: int | None = None
    upstream_ca: Path | None = None


@asynccontextmanager
async def open_reception(offer: Offer) -> AsyncIterator[Reception]:
    """Start what trials need, and give them out. Raises UserError."""
    design = load_shop_design(offer.experiment, offer.label, shown=True)
    records = Records(offer.db)
    done = records.finished(design.run_id)
    every = list(design.trials([offer.label]))
    trials = [trial for trial in every if trial.id not in done]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="souk-mcp-")))
        await check_start_pages(design, trials, design.shop, upstream_ca=offer.upstream_ca)
        testbed = await stack.enter_async_context(open_testbed(folder, design.shop, offer.upstream_ca))
        begin = cache(partial(records.begin_run, design.run_id, design.name, design.facts([offer.label])))
        admission = await stack.enter_async_context(
            Admission(records, design.run_id, trials=len(done) + len(trials))
        )
        writer = Writer(records)
        stack.push_async_callback(writer.close)
        runner = HostTrialRunner(design, testbed.base_url)
        executor = BrowserExecutor(runner, testbed, MOST_AT_ONCE)

        async def claim(trial: str) -> bool:
            begin()  # with the first trial: a server that nobody asked leaves no run
            return trial in (await writer.claim(admission.runner, [trial])).own

        async def run(trial: ShopTrial, agent: HostAgent) -> TrialRecord:
            runner.agents[trial.id] = agent
            try:
                record = await executor.run(Attempt(trial, 1, Start.now()))
            finally:
                del runner.agents[trial.id]
            await writer.store(record)
            admission.settle(record)
            return record

        reception = Reception(trials, claim, run, how_to_act(map(design.view, every)))
        stack.push_async_callback(reception.close)
        yield reception


class _Server(FastMCP[Any]):
    """Refuses arguments that a tool does not have; FastMCP leaves them out without a word."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool. Raises ToolError: it has no such argument, or the call failed."""
        known = [
            each
            for tool in await self.list_tools()
            if tool.name == name
            for each in tool.inputSchema["properties"]
        ]
        if unknown := [each for each in arguments if each not in known]:
            has = f"its arguments are {', '.join(known)}" if known else "it has none"
            raise ToolError(f"{name} has no argument {unknown[0][:80]!r}; {has}. Nothing was done")
        return await super().call_tool(name, arguments)


def make_server(reception: Reception, port: int = 0) -> "FastMCP[Any]":
    """Return a server with the four tools; each session of it is a subject, where no `CALLER` is set."""
    server: FastMCP[Any] = _Server(
        "souk", INSTRUCTIONS, host=HOST, port=port, log_level="ERROR", transport_security=_OWN_NAMES
    )
    subjects: WeakKeyDictionary[object, Subject] = WeakKeyDictionary()

    def subject(context: "Context[Any, Any, Any]") -> Subject:
        if caller := CALLER.get():
            return caller
        session = context.session
        if session not in subjects:
            subjects[session] = Subject(reception)
        return subjects[session]

    @server.tool(structured_output=False)
    async def next_trial(context: Context[Any, Any, Any]) -> list[ContentBlock]:
        """Begin the next trial: a goal, and the pages of a shop. A trial that runs has to end first."""
        return await told(subject(context).next_trial())

    @server.tool(structured_output=False)
    async def observe(context: Context[Any, Any, Any]) -> list[ContentBlock]:
        """Look at the active tab again."""
        return await told(subject(context).observe())

    @server.tool(structured_output=False, description=reception.how)
    async def act(action: str, context: Context[Any, Any, Any], thought: str = "") -> list[ContentBlock]:
        return await told(subject(context).act(action, thought))

    @server.tool(structured_output=False)
    async def give_up(context: Context[Any, Any, Any], reason: str = "") -> list[ContentBlock]:
        """End the trial without a choice, because none of the products is wanted."""
        return await told(subject(context).give_up(reason))

    return server


async def told(seen: Awaitable[Observation | str]) -> "list[ContentBlock]":
    """Return what a call has shown, as MCP says it."""
    try:
        found = await seen
    except OutOfTurn as error:
        raise ToolError(str(error)) from None
    if isinstance(found, str):
        return [TextContent(type="text", text=found)]
    blocks: list[ContentBlock] = [TextContent(type="text", text=as_text(found))]
    if found.screenshot:
        picture = base64.b64encode(found.screenshot).decode()
        blocks.append(ImageContent(type="image", data=picture, mimeType="image/png"))
    return blocks


def make_app(reception: Reception, port: int = 0) -> Starlette:
    """Return the server for streamable HTTP, for hosts of every revision of MCP."""
    server = make_server(reception, port)
    callers = lru_cache(_MOST_CALLERS)(lambda _query: Subject(reception))
    app = server.streamable_http_app()
    app.add_middleware(ModernOverHttp, server=server, caller=callers)
    return app


async def _serve_http(reception: Reception, port: int) -> None:
    """Serve streamable HTTP on this machine until interrupted. Raises UserError: the port is taken."""
    listener = listen(port, "--port")
    at = listener.getsockname()[1]
    config = uvicorn.Config(
        make_app(reception, at),
        log_config=None,
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    sys.stderr.write(f"souk trials at http://{HOST}:{at}/mcp; Ctrl-C ends it\n")
    sys.stderr.flush()
    await uvicorn.Server(config).serve(sockets=[listener])


async def serve_hosts(offer: Offer) -> None:
    """Serve the trials of an experiment until the host has gone, or this is cancelled. Raises UserError."""
    async with open_reception(offer) as reception:
        if offer.port is None:
            CALLER.set(Subject(reception))
            await serve_stdio(make_server(reception))
        else:
            await _serve_http(reception, offer.port)
