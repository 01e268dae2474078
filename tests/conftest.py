"""Settings of all tests."""

import asyncio
import gc
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest

from tests.support import THOROUGH, size

# The same cases at each time, as far as the same modules are loaded: constants in them are tried too.
# `make thorough` draws new ones.
hypothesis.settings.register_profile(
    "souk", deadline=None, max_examples=size(10, 100), derandomize=not THOROUGH
)
hypothesis.settings.load_profile("souk")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start long runs first, so that other tests fill the time beside them; leave `thorough` tests out."""
    if not THOROUGH and "thorough" not in config.option.markexpr:
        left = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def pytest_collection_finish() -> None:
    """Thousands of tests and all modules stay to the end: looking through them for garbage takes time."""
    gc.freeze()
    gc.set_threshold(5_000)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder to be TMPDIR. Chromium makes a socket in it, and `tmp_path` is too long for its path."""
    with tempfile.TemporaryDirectory(prefix="souk-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def browsergym_thread() -> Iterator[ThreadPoolExecutor]:
    """Where BrowserGym lives: synchronous Playwright and the tests' event loop cannot share a thread."""
    from browsergym.core import _get_global_playwright, _set_global_playwright

    with ThreadPoolExecutor(max_workers=1) as executor:
        yield executor

        def stop() -> None:
            _get_global_playwright().stop()
            _set_global_playwright(None)

        executor.submit(stop).result()


@pytest.fixture(scope="module")
async def one_driver() -> AsyncIterator[None]:
    """Let the browsers of a module share Playwright's own process, which takes half a second to start."""
    from environments.browser import pool as browser

    loop, start, started = asyncio.get_running_loop(), browser._start_driver, list[asyncio.Future[Any]]()

    async def lend() -> Any:
        if asyncio.get_running_loop() is not loop:
            return await start()
        if not started:
            started.append(asyncio.ensure_future(start()))
        driver = await asyncio.shield(started[0])
        return SimpleNamespace(chromium=driver.chromium, stop=partial(asyncio.sleep, 0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browser, "_start_driver", lend)
        yield
    for each in started:
        await (await each).stop()


# Where this was started in the background Ctrl-C may be ignored, and what tests start would ignore it too.
signal.signal(signal.SIGINT, signal.default_int_handler)
