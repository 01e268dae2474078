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
from environments.browser.pool import INSTALL_LIBRARIES, run_browsers
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
            return CheckResult("browser", True, f"{browser.browser_type.name} {browser.version}")
    except UserError as error:
        found, _, fix = str(error).partition("; ")
        return CheckResult("browser", False, found, fix)
    except PlaywrightError as error:
        return CheckResult(
            "browser", False, f"does not start: {str(error).splitlines()[0]}", INSTALL_LIBRARIES
        )


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
