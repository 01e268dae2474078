"""The browser: which one is used, and that nothing in the repository looks for one in another way."""

import ast
import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable
from playwright.async_api import Error as PlaywrightError

from environments import pulse
from environments.browser import SYSTEM_BROWSERS, run_browsers
from tests.support import own_processes

ROOT = Path(__file__).parents[2]
ROOMS = ("interventions", "proxy", "environments", "agents", "experiments", "analysis", "docker", "tests")
KNOWN = {
    "environments/browser.py": "the programs",
    "environments/install_browser.py": "what Playwright calls its own",
    "environments/system_packages.py": "Debian's packages",
    "experiments/traces/playwright_trace.py": "what Playwright calls it in a trace",
}


def nodes() -> Iterator[tuple[str, ast.AST]]:
    """Every part of every Python file that mentions a browser, with the path of its file."""
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "chrom" in text:
                yield from ((str(path.relative_to(ROOT)), node) for node in ast.walk(ast.parse(text)))


def test_only_find_browser_knows_the_names_of_programs() -> None:
    named = [
        f"{path}:{node.lineno}: {node.value!r}"
        for path, node in nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and Path(node.value).name in SYSTEM_BROWSERS
        and path not in KNOWN
    ]
    assert named == []


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


@pytest.mark.browser
async def test_a_driver_that_ends_as_it_starts_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, _ = compute_driver_executable()
    dies_once = tmp_path / "node"
    dies_once.write_text(f'#!/bin/sh\nmkdir "{tmp_path}/began" 2>/dev/null && exit 1\nexec "{node}" "$@"\n')
    dies_once.chmod(0o755)
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(dies_once))
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
@pytest.mark.slow
@pytest.mark.parametrize("words", ["run-driver", "--remote-debugging-pipe"])
async def test_a_browser_that_stands_still_as_it_starts_is_ended_and_started_again(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "START_SECONDS", 8)
    others = own_processes(words)

    async def stop() -> set[int]:
        while not (found := own_processes(words) - others):  # noqa: ASYNC110 - nobody tells that they begin
            await asyncio.sleep(0.005)
        for process in found:
            os.kill(process, signal.SIGSTOP)
        return found

    async with run_browsers() as browsers:
        stopping = asyncio.create_task(stop())
        with pytest.raises(PlaywrightError):
            await browsers.browser()
        assert not await stopping & own_processes(words)
        monkeypatch.undo()
        assert (await browsers.browser()).is_connected()
