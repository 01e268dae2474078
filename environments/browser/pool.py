"""Find and launch Chromium, and give each episode a fresh context."""

import asyncio
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from environments.browser.fonts import DRAWING, pinned, read_fonts
from environments.browser.kept import Lease
from environments.browser.pulse import Pulse, starts
from environments.browser.system_packages import SYSTEM_BROWSERS, describe_install, find_missing_library
from environments.browser.through_proxy import DEAD_END, Passage
from interventions.errors import UserError

logger = logging.getLogger(__name__)

VIEWPORT = (1280, 720)
"""Width and height in CSS pixels, as in the consumer-choice study."""

BROWSER_VARIABLE = "SOUK_BROWSER"
FONTS_SECONDS = 10.0
"""The longest time in which the fonts are read."""
INSTALL_LIBRARIES = f"run as root: {sys.executable} -m playwright install-deps chromium"
"""The advice when Playwright's own browser does not start on this system."""

FLAGS = (
    "--renderer-process-limit=1",  # an episode's tabs share a process; contexts, and so episodes, never do
    "--disable-quic",  # HTTP/3 would go past the proxy
    # And so would WebRTC. The headless shell knows this switch by its old name, other builds by the new one.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-partial-raster",  # the edges of what is drawn again in part depend on when it is
    *DRAWING,
)
WITHOUT_PICTURES = (
    # It replaces Playwright's own of this name, whose settings come first.
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4,"
    "imagesEnabled=false",
    "--force-gpu-mem-available-mb=0",  # so there is no room for what is drawn
)
"""The switches that load no pictures and draw nothing; pages notice neither."""
DRIVER_ENDED = "Connection closed while reading from the driver"
"""What Playwright says where its process has ended, also where nobody waits for an answer."""
UNWANTED_FLAGS = ("--disable-ipc-flooding-protection",)
"""Playwright's own switches that are left out: without the protection a page that navigates within itself
thousands of times a second stops the browser, and with it the other episodes."""
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|_URL$", re.IGNORECASE)
"""Names of environment variables that the browser must not get; a URL may hold a password."""


def find_browser(playwright: Playwright) -> Path | None:
    """Find the browser's executable.

    It is the one that `SOUK_BROWSER` names, else Playwright's own Chromium (None), else one of the system.

    Raises:
        UserError: there is none.
    """
    named = os.environ.get(BROWSER_VARIABLE)
    if named:
        program = shutil.which(named)
        if program is None:
            raise UserError(f"{BROWSER_VARIABLE}: {named} is no program; set it to a Chromium or Chrome")
        return Path(program)
    if Path(playwright.chromium.executable_path).exists():
        return None
    for name in SYSTEM_BROWSERS:
        found = shutil.which(name)
        if found:
            return Path(found)
    raise UserError(
        "no browser found; run `playwright install chromium`, or install chromium or google-chrome "
        f"with your system's package manager, or set {BROWSER_VARIABLE}"
    )


def flags(spki: str | None, *, pictures: bool = True) -> list[str]:
    """Return the browser's switches.

    A browser that is given the key of a proxy's authority (`spki`) can reach the network only through
    proxies. Without `pictures` it loads none.
    """
    own = FLAGS if pictures else (*FLAGS, *WITHOUT_PICTURES)
    return [*own, *((f"--ignore-certificate-errors-spki-list={spki}", *DEAD_END) if spki else ())]


def environment(folder: Path) -> dict[str, str]:
    """Return the browser's variables: those of this process but for secrets, and those that pin its fonts.

    The folder holds what these name, and has to be there as long as the browser. Raises UserError.
    """
    return {name: value for name, value in os.environ.items() if not SECRET.search(name)} | pinned(folder)


class BrowserPool:
    """One Chromium that is launched again when it has died; each episode gets a context of its own."""

    def __init__(
        self,
        spki: str | None,
        trusted: Sequence[str] = (),
        *,
        pictures: bool = True,
        viewport: tuple[int, int] = VIEWPORT,
    ) -> None:
        self._pulse: Pulse | None = None
        self._viewport = viewport
        self._flags = flags(spki, pictures=pictures)
        if trusted:
            self._flags.append(f"--ignore-certificate-errors-spki-list={','.join(trusted)}")
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._kept: dict[str | None, Lease] = {}
        self._fonts = ""
        self._launching, self._reading = asyncio.Lock(), asyncio.Lock()

    async def browser(self) -> Browser:
        """Return the running browser, launched again if it has died."""
        async with self._launching:
            if self._browser is None or not self._browser.is_connected():
                await self.close()
                await starts(self._start())
            assert self._browser is not None  # noqa: S101 - it has started
            return self._browser

    async def fonts(self) -> str:
        """Return a fingerprint of how the browser draws letters (see `read_fonts`); empty: it is gone."""
        async with self._reading:
            if not self._fonts:
                with suppress(PlaywrightError, TimeoutError):
                    async with asyncio.timeout(FONTS_SECONDS):
                        context = await self._new_context(await self.browser(), None)
                        self._fonts = await read_fonts(context)
                        await context.close()
        return self._fonts

    def silent(self) -> float:
        """Return for how many seconds the browser has not answered."""
        return self._pulse.silent() if self._pulse else 0.0

    @asynccontextmanager
    async def context(self, proxy_url: str | None) -> AsyncIterator[BrowserContext]:
        """Yield a context without history, cookies or cache; all its traffic goes through `proxy_url`.

        Raises:
            BrowserFailure: at the end of the block: the browser's network service has died meanwhile, or a
                document did not come through the proxy. What was seen in the context is worth nothing.
        """
        async with self.lend(proxy_url, keep=False) as lease:
            yield lease.context

    @asynccontextmanager
    async def lend(
        self, proxy_url: str | None, *, keep: bool, left: Callable[[], bool] = lambda: False
    ) -> AsyncIterator[Lease]:
        """Yield a context as `context` does; if it is to be kept, the one that was kept for this proxy.

        Such a one is as good as fresh, but has blank tabs already. `left`: whether the proxy knows of
        something that stays in it, asked once it is cleared. Raises as `context` does.
        """
        browser = await self.browser()
        lease = self._kept.pop(proxy_url, None) if keep else None
        if lease is None or lease.context.browser is not browser:
            lease = Lease(await self._open(browser, proxy_url), keep)
        cleared = False
        try:
            passage = Passage(lease.context, proxy_url) if proxy_url else None
            if passage:
                await passage.begin()
            yield lease
            if passage:
                await passage.check()
            cleared = await lease.clear() and not left()
        finally:
            if cleared:
                self._kept[proxy_url] = lease
            elif lease.context.browser and lease.context.browser.is_connected():
                await lease.context.close()

    async def _open(self, browser: Browser, proxy_url: str | None) -> BrowserContext:
        try:
            return await self._new_context(browser, proxy_url)
        except PlaywrightError:
            # When Playwright's own process has died, its browser seems to be connected for ever.
            async with self._launching:
                if browser is self._browser:
                    await self.close()
            return await self._new_context(await self.browser(), proxy_url)

    async def _new_context(self, browser: Browser, proxy_url: str | None) -> BrowserContext:
        width, height = self._viewport
        return await browser.new_context(
            # Chromium sends loopback past a proxy, silently, unless the bypass list says otherwise.
            proxy={"server": proxy_url, "bypass": "<-loopback>"} if proxy_url else None,
            viewport={"width": width, "height": height},
            locale="en-US",
            timezone_id="UTC",
            accept_downloads=False,
        )

    async def close(self) -> None:
        """End the browser, and Playwright's own process; either may be dead already."""
        browser, playwright, self._browser, self._playwright = self._browser, self._playwright, None, None
        self._kept.clear()
        if self._pulse:
            self._pulse.end()
        with suppress(Exception):  # what is dead says so in many ways
            if browser is not None and browser.is_connected():
                await browser.close()
        with suppress(Exception):
            if playwright is not None:
                await playwright.stop()
        if self._folder:
            self._folder.cleanup()

    async def _start(self) -> None:
        self._playwright = await _start_driver()
        self._browser = await self._launch(self._playwright)
        self._pulse = await Pulse.of(self._browser)

    async def _launch(self, playwright: Playwright) -> Browser:
        executable = find_browser(playwright)
        self._folder = TemporaryDirectory(prefix="souk-fonts-", ignore_cleanup_errors=True)
        variables: dict[str, str | float | bool] = {**environment(Path(self._folder.name))}

        async def launch(sandbox: bool) -> Browser:
            return await playwright.chromium.launch(
                executable_path=executable,
                args=self._flags,
                ignore_default_args=UNWANTED_FLAGS,
                env=variables,
                chromium_sandbox=sandbox,
                handle_sigint=False,  # at Ctrl-C it is we who close it; else the driver exits under our feet
            )

        try:
            return await launch(sandbox=os.geteuid() != 0)  # Chromium's sandbox does not work for root
        except PlaywrightError as error:
            await asyncio.to_thread(_check_named)
            if "sandbox" not in str(error).lower() or os.geteuid() == 0:
                raise
            logger.warning("Chromium's sandbox is not available on this machine; running without it")
            return await launch(sandbox=False)


def _check_named() -> None:
    """Check that the program of `SOUK_BROWSER`, which has not started, says that it is a browser.

    Raises:
        UserError: it says something else, or nothing.
    """
    if not (named := os.environ.get(BROWSER_VARIABLE)):
        return
    said = ""
    with suppress(OSError, subprocess.TimeoutExpired):
        asked = subprocess.run([named, "--version"], capture_output=True, timeout=10, check=False)  # noqa: S603
        said = asked.stdout.decode(errors="replace").strip()
    if not re.search("chrom", said, re.IGNORECASE):
        raise UserError(
            f"{BROWSER_VARIABLE}: {named} is no browser (--version says {said[:80]!r}); set it to a Chromium "
            "or Chrome, or unset it: souk doctor says what is there"
        )


async def _start_driver() -> Playwright:
    """Start Playwright's own process, a Node.js.

    Raises:
        UserError: the system lacks a library for it.
        PlaywrightError: it has not started, or ended as it did.
    """
    try:
        return await async_playwright().start()
    except Exception as error:  # of no class of its own where the process ended before it said anything
        missing = find_missing_library()
        if missing is None:
            raise PlaywrightError(f"Playwright's process did not start: {error}") from error
        raise UserError(f"missing: {missing}; {describe_install([missing])}") from None


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Let asyncio say what nobody has awaited, but for the end of Playwright's process, which is noticed."""
    if DRIVER_ENDED not in str(context.get("exception")):
        loop.default_exception_handler(context)


@asynccontextmanager
async def run_browsers(
    spki: str | None = None,
    *,
    trusted: Sequence[str] = (),
    pictures: bool = True,
    viewport: tuple[int, int] = VIEWPORT,
) -> AsyncIterator[BrowserPool]:
    """Run one Chromium.

    `spki` is the key of the proxy's certificate authority (base64 SHA-256): certificates that it signed are
    accepted, and only those, so that HTTPS keeps its meaning and its cache. With it, contexts reach nothing
    but the proxy that each is given. Without a proxy, `trusted` are the keys of shops' own certificates that
    are accepted besides those that public authorities have signed. Without `pictures` it loads none.
    `viewport`: width and height in CSS pixels.
    """
    pool = BrowserPool(spki, trusted, pictures=pictures, viewport=viewport)
    asyncio.get_running_loop().set_exception_handler(_note)
    try:
        yield pool
    finally:
        await pool.close()
