"""The browser: which one is used, and that nothing in the repository looks for one in another way."""

import ast
import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright._impl._driver import compute_driver_executable
from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from environments.browser import pulse, through_proxy
from environments.browser.pool import find_browser, run_browsers
from environments.browser.through_proxy import BrowserFailure
from tests.support import network_services, own_processes, pages

ROOT = Path(__file__).parents[3]
ROOMS = ("interventions", "proxy", "environments", "agents", "experiments", "analysis", "docker", "tests")


def nodes() -> Iterator[tuple[str, ast.AST]]:
    """Every part of every Python file that mentions a browser, with the path of its file."""
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "chrom" in text:
                yield from ((str(path.relative_to(ROOT)), node) for node in ast.walk(ast.parse(text)))


def test_every_browser_that_is_launched_has_been_looked_for() -> None:
    """Playwright launches its own unless it is told another, and its own may be absent."""
    launched = [
        f"{path}:{node.lineno}"
        for path, node in nodes()
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith((".chromium.launch", ".chromium.launch_persistent_context"))
        and "executable_path" not in [keyword.arg for keyword in node.keywords]
    ]
    assert launched == []


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The program of Playwright's own process and of the browser, with the variables that name them."""
    monkeypatch.delenv("PLAYWRIGHT_NODEJS_PATH", raising=False)
    node, _ = compute_driver_executable()
    with sync_playwright() as playwright:
        browser = find_browser(playwright) or Path(playwright.chromium.executable_path)
    return {"PLAYWRIGHT_NODEJS_PATH": Path(node), "SOUK_BROWSER": browser}


def once(command: str, program: Path, folder: Path) -> Path:
    """Write a program that does as another, but runs a command of the shell first when it is begun first."""
    path = folder / "once"
    path.write_text(
        f'#!/bin/sh\nif mkdir "{folder}/began" 2>/dev/null; then {command}; fi\nexec "{program}" "$@"\n'
    )
    path.chmod(0o755)
    return path


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_driver_that_ends_as_it_starts_is_started_again(programs, tmp_path, monkeypatch) -> None:
    variable = "PLAYWRIGHT_NODEJS_PATH"
    monkeypatch.setenv(variable, str(once("exit 1", programs[variable], tmp_path)))
    async with run_browsers() as browsers:
        with pytest.raises(PlaywrightError, match=r"^Playwright's process did not start"):
            async with browsers.context(None):
                pass
        assert (tmp_path / "began").exists()
        async with browsers.context(None) as context:
            page = await context.new_page()
            await page.set_content("<p>Here</p>")
            assert await page.inner_text("p") == "Here"


@pytest.mark.browser
async def test_tabs_of_a_context_share_a_process_and_contexts_never_do() -> None:
    async with pages({"/": "<p>Here</p>"}) as base_url, run_browsers() as browsers:
        session = await (await browsers.browser()).new_browser_cdp_session()
        async with browsers.context(None) as first, browsers.context(None) as second:
            for context in (first, second):
                for host in ("127.0.0.1", "127.0.0.1", "localhost"):
                    page = await context.new_page()
                    await page.goto(base_url.replace("127.0.0.1", host))
            found = await session.send("SystemInfo.getProcessInfo")
            assert [each["type"] for each in found["processInfo"]].count("renderer") == 2


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("variable", ["PLAYWRIGHT_NODEJS_PATH", "SOUK_BROWSER"])
async def test_a_program_that_stands_still_as_it_starts_is_ended_and_started_again(
    variable: str, programs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = once(f'echo $$ > "{tmp_path}/process"; kill -STOP $$', programs[variable], tmp_path)
    monkeypatch.setenv(variable, str(stop))
    async with run_browsers() as browsers:
        with monkeypatch.context() as patched, pytest.raises(PlaywrightError):
            patched.setattr(pulse, "START_SECONDS", 10)
            await browsers.browser()
        stopped = int((tmp_path / "process").read_text())
        assert stopped not in own_processes(str(stop))
        assert (await browsers.browser()).is_connected()


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_network_service_that_dies_as_it_is_asked_is_not_waited_for(monkeypatch) -> None:
    """What it was asked is never answered, though the browser is well and another service takes its place."""
    monkeypatch.setattr(pulse, "EVERY_SECONDS", 600)
    add_cookies, others = BrowserContext.add_cookies, network_services()
    async with run_browsers("abc=") as browsers:
        async with browsers.context("http://127.0.0.1:9"):
            pass
        session = await (await browsers.browser()).new_browser_cdp_session()

        async def dies(context: BrowserContext, cookies: list[Any]) -> None:
            for each in (found := network_services() - others):
                os.kill(each, signal.SIGSTOP)
            asking = asyncio.create_task(add_cookies(context, cookies))
            await asyncio.sleep(0)
            await session.send("Browser.getVersion")  # the browser has heard of the cookies before
            for each in found:
                os.kill(each, signal.SIGKILL)
            await asking

        with monkeypatch.context() as patched, pytest.raises(BrowserFailure, match="does not answer"):
            patched.setattr(BrowserContext, "add_cookies", dies)
            patched.setattr(through_proxy, "PATIENCE_SECONDS", 2)
            async with browsers.context("http://127.0.0.1:9"):
                pass
        async with browsers.context("http://127.0.0.1:9"):
            pass
