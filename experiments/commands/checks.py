"""Check the machine; each finding names its remedy."""

import os
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Error as PlaywrightError

from agents.command import CONFINED_VARIABLE, is_confined
from agents.programs.bubblewrap import left_open
from agents.providers.settings import setting
from agents.registry import KEYS
from environments.browser.pool import INSTALL_LIBRARIES, BrowserPool, run_browsers
from interventions.errors import UserError
from proxy.server import HOST, run_proxy


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A finding; `ok` is None for something that is absent but optional."""

    name: str
    ok: bool | None
    found: str
    fix: str = ""


async def check_machine() -> list[CheckResult]:
    """Check browser, proxy and its certificate authority, ports, folder, confinement and provider keys."""
    return [await _browser(), await _proxy(), _ports(), _folder(), _programs(), *_keys()]


async def _browser() -> CheckResult:
    try:
        async with run_browsers() as pool:
            browser = await pool.browser()
            found = f"{browser.browser_type.name} {browser.version}; its contexts are "
            if await _clears(pool):
                return CheckResult("browser", True, f"{found}kept: cleared between trials")
            return CheckResult("browser", True, f"{found}fresh: they can't be cleared between trials")
    except UserError as error:
        found, _, fix = str(error).partition("; ")
        return CheckResult("browser", False, found, fix)
    except PlaywrightError as error:
        return CheckResult(
            "browser", False, f"does not start: {str(error).splitlines()[0]}", INSTALL_LIBRARIES
        )


async def _clears(pool: BrowserPool) -> bool:
    """Whether a context that is lent again has lost what a page has stored in it."""
    contexts = []
    for stored in ("[localStorage.left, sessionStorage.left, document.cookie] = ['1', '1', 'left=1']", FOUND):
        async with pool.lend(None, keep=True) as lease:
            context = lease.context
            page = context.pages[0] if context.pages else await context.new_page()
            await page.route(ANYWHERE, lambda route: route.fulfill(body="<p>", content_type="text/html"))
            await page.goto(ANYWHERE)
            found = await page.evaluate(stored)
            await page.unroute(ANYWHERE)
            contexts.append(context)
    return contexts[0] is contexts[1] and not any(found)


ANYWHERE = "http://anywhere.souk.test/"
"""An address that no server has; the name is reserved for tests."""
FOUND = "[localStorage.left, sessionStorage.left, document.cookie]"


async def _proxy() -> CheckResult:
    try:
        with tempfile.TemporaryDirectory() as folder:
            async with run_proxy(Path(folder) / "ca") as proxy:
                slot = await proxy.open_slot()
                return CheckResult("proxy", True, f"listens on {slot.url}; certificate authority can be made")
    except (UserError, OSError) as error:
        return CheckResult("proxy", False, str(error), "make the temporary folder writable (TMPDIR)")


def _ports() -> CheckResult:
    try:
        with socket.create_server((HOST, 0)) as server:
            return CheckResult(
                "ports", True, f"{HOST} can be listened on (for example port {server.getsockname()[1]})"
            )
    except OSError as error:
        return CheckResult(
            "ports", False, f"{HOST}: {error.strerror}", "allow programs to listen on loopback"
        )


def _folder() -> CheckResult:
    folder = Path.cwd()
    if os.access(folder, os.W_OK):
        return CheckResult("folder", True, f"{folder} can be written")
    return CheckResult(
        "folder", False, f"{folder} cannot be written", "change to another folder, or use --db and --out"
    )


def _programs() -> CheckResult:
    if not is_confined():
        return CheckResult("programs", None, f"{CONFINED_VARIABLE}=no", f"unset {CONFINED_VARIABLE}")
    if open_here := left_open():
        found, _, fix = open_here.partition(": ")
        return CheckResult("programs", None, found, fix)
    return CheckResult("programs", True, "those of command: and kept: are confined")


def _keys() -> list[CheckResult]:
    return [
        CheckResult(f"key {provider}", True, f"{variable} is set")
        if setting(variable)
        else CheckResult(
            f"key {provider}", None, f"{variable} is not set", f"export {variable}=... to use {provider}"
        )
        for provider, variable in KEYS.items()
    ]
