"""A viewer as a person meets it, in the browser: Souk's, and the one of inspect_ai beside it."""

import asyncio
import os
import re
import socket
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from playwright.async_api import Error, Page, async_playwright

from environments.browser.pool import VIEWPORT, find_browser
from experiments.console.listener import listen
from tests.experiments.command_line import ROOT
from tests.experiments.viewer.made_run import RUN

PEER_VARIABLE = "SOUK_INSPECT"
"""Names the Python of an environment that has inspect_ai, as it cannot share Souk's."""
PAGES, OPENED, SHOWN = 5, 5, 5
PATIENCE_S = 300
NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
FIRST_ROWS = """([rows, number]) => {
    const shown = [...document.querySelectorAll(rows)].filter((row) => row.checkVisibility());
    return shown.length < number ? "" : shown.slice(0, number).map((row) => row.href).join(" ");
}"""


@dataclass(frozen=True)
class Viewer:
    """Where a viewer has what both have. Rows are links to what they open."""

    table: str
    rows: str
    editor: str | None
    """Where a filter is typed, if it is."""
    filtering: Callable[[Page], Awaitable[None]]
    sorting: Callable[[Page], Awaitable[None]]


@dataclass(frozen=True)
class Looked:
    """Medians in seconds, and memory in MB."""

    first: float
    filtered: float
    sorted: float
    opened: float
    heap: float
    server: float

    def __str__(self) -> str:
        return (
            f"first rows {self.first:.2f} s, filter {self.filtered:.2f} s, sort {self.sorted:.2f} s, "
            f"open one {self.opened:.2f} s; page {self.heap:.0f} MB, server {self.server:.0f} MB"
        )


async def nudged(page: Page) -> None:
    """Choose the condition in Souk's viewer."""
    await page.click("nav.facets a:has(> span:text-is('nudged'))", no_wait_after=True)


async def by_seconds(page: Page) -> None:
    """Sort by the time that a trial took in Souk's viewer."""
    await page.click("thead a:text-is('Seconds')", no_wait_after=True)


async def chosen(page: Page) -> None:
    """Enter a filter in inspect_ai's viewer, all at once: it has no list of values to choose from."""
    await page.keyboard.insert_text('chosen == "C"')


async def by_duration(page: Page) -> None:
    """Sort by the time that a sample took in inspect_ai's viewer."""
    await page.click("[data-header-col-id=duration]", no_wait_after=True)


SOUK = Viewer(f"runs/{RUN}/trials", "a[data-row]", None, nudged, by_seconds)
INSPECT = Viewer("#/logs/made.eval", "a[role=row]", ".cm-content", chosen, by_duration)


async def look(viewer: Viewer, address: str, server: int) -> Looked:
    """Open a viewer's table in new contexts; then filter, sort, and open what its first rows say."""
    first, filtered, ordered, opened, heap = [], [], [], [], 0.0
    strangers: set[str] = set()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright), args=[NOWHERE])
        for _ in range(PAGES):
            for times, act in ((filtered, viewer.filtering), (ordered, viewer.sorting)):
                width, height = VIEWPORT
                context = await browser.new_context(viewport={"width": width, "height": height})
                page = await context.new_page()
                page.on("request", lambda request: strangers.add(urlsplit(request.url).hostname or ""))
                began = time.perf_counter()
                await page.goto(address + viewer.table, wait_until="commit")
                before = await until(page, FIRST_ROWS, [viewer.rows, SHOWN])
                first.append(time.perf_counter() - began)
                await page.wait_for_load_state("networkidle")
                if viewer.editor and act is viewer.filtering:
                    await page.click(viewer.editor)
                began = time.perf_counter()
                await act(page)
                await until(page, FIRST_ROWS, [viewer.rows, SHOWN], besides=before)
                times.append(time.perf_counter() - began)
                if (len(filtered), len(ordered)) == (PAGES, PAGES):
                    opened = [await open_row(viewer, page, place) for place in range(OPENED)]
                    heap = await heap_of(page)
                await context.close()
        await browser.close()
    assert strangers <= {"127.0.0.1", ""}, f"asked of {strangers}"
    medians = [statistics.median(each) for each in (first, filtered, ordered, opened)]
    return Looked(*medians, heap=heap, server=resident(server))


async def open_row(viewer: Viewer, page: Page, place: int) -> float:
    """Press a row of the table and go back; returns the seconds until the agent's words are visible."""
    await until(page, FIRST_ROWS, [viewer.rows, SHOWN])
    row = page.locator(viewer.rows).nth(place)
    href = await row.evaluate("(row) => row.href")
    found = re.search(r"/trials/([0-9a-f]{32})|/sample/([0-9]+)/", href)
    assert found, href
    said = f"I like lamp {int(found[1], 16) if found[1] else found[2]}."
    began = time.perf_counter()
    await row.click(no_wait_after=True)
    await until(page, "(said) => document.body.innerText.includes(said)", said)
    seconds = time.perf_counter() - began
    await page.go_back(wait_until="commit")
    return seconds


async def until(page: Page, script: str, argument: object, *, besides: object = "") -> object:
    """Ask a page, also while it becomes another, until it says something true that is not `besides`."""
    latest = time.monotonic() + PATIENCE_S
    while time.monotonic() < latest:
        try:
            said = await page.evaluate(script, argument)
        except Error as error:
            if page.is_closed() or not re.search("context was destroyed|null|navigat", str(error)):
                raise
            continue
        if said and said != besides:
            return said
    raise TimeoutError(f"{page.url}: nothing in {PATIENCE_S} s")


async def heap_of(page: Page) -> float:
    """Return the megabytes that a page's scripts hold, rubbish taken away; without its workers."""
    client = await page.context.new_cdp_session(page)
    await client.send("HeapProfiler.collectGarbage")
    used = await client.send("Runtime.getHeapUsage")
    return float(used["usedSize"]) / 2**20


def resident(process: int) -> float:
    """Return the megabytes of memory that a process holds."""
    return float(psutil.Process(process).memory_info().rss) / 2**20


async def peer(samples: int, folder: Path) -> Looked | None:
    """Look at inspect_ai's viewer over so many samples; None where `SOUK_INSPECT` names no Python."""
    python = os.environ.get(PEER_VARIABLE)
    if python is None:
        return None
    logs = folder / "logs"
    write = (python, "-m", "tests.lab.bench.inspect_log", str(samples), str(logs / "made.eval"))
    await asyncio.to_thread(subprocess.run, write, cwd=ROOT, check=True)
    with inspect_view(python, logs) as (address, process):
        return await look(INSPECT, address, process)


@contextmanager
def inspect_view(python: str, logs: Path) -> Iterator[tuple[str, int]]:
    """Serve a folder of logs; its address and its process."""
    with listen(0) as listener:
        port = listener.getsockname()[1]
    command = (python, "-m", "inspect_ai", "view", "start", "--display", "plain", "--host", "127.0.0.1")
    with subprocess.Popen(
        (*command, "--port", str(port), "--log-dir", str(logs)), cwd=logs, stdout=subprocess.DEVNULL
    ) as process:
        try:
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    continue
            assert process.poll() is None, "inspect view failed; its own message is above"
            yield f"http://127.0.0.1:{port}/", process.pid
        finally:
            process.terminate()
