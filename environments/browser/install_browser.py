"""Make sure that there is a browser: `python -m environments.browser.install_browser`.

This is Playwright's own Chromium where it is installed or can be downloaded, else a Chromium or Chrome of the
system, else the distribution's package through apt-get (as root or with sudo). The browser is tested by
launching it.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from environments.browser import system_packages
from environments.browser.pool import BROWSER_VARIABLE, INSTALL_LIBRARIES, run_browsers
from environments.browser.system_packages import say
from interventions.errors import UserError

DOWNLOAD_SECONDS = 600


def _has_own() -> bool:
    """Return whether Playwright's own Chromium is installed."""
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


def download() -> bool:
    """Let Playwright download its Chromium; return whether that worked."""
    say("browser: downloading Playwright's Chromium ...")
    return _playwright("install", "chromium")


def install() -> bool:
    """Install the libraries of Playwright's own Chromium, else a browser; return whether that worked."""
    if _has_own():
        return _playwright("install-deps", "chromium")
    return any(map(system_packages.apt_install, system_packages.BROWSER_PACKAGES))


async def launch() -> str:
    """Launch the browser that Souk would use and return its name and version.

    Raises:
        UserError: none is found, or it does not start; the message says what to do.
    """
    try:
        async with run_browsers() as pool:
            browser = await pool.browser()
            return f"{browser.browser_type.name} {browser.version}"
    except PlaywrightError:
        raise UserError(f"the browser does not start; {INSTALL_LIBRARIES}") from None


def _playwright(*arguments: str) -> bool:
    command = [sys.executable, "-m", "playwright", *arguments]
    try:
        result = subprocess.run(command, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    return result.returncode == 0


def main() -> int:
    """Find or install a browser; return the exit status.

    The status is 1, with one line that says what to do, when no browser can be had.
    """
    if not system_packages.bring(system_packages.find_missing_for_browser()):
        return 1
    named = BROWSER_VARIABLE in os.environ
    if not named and not _has_own() and not download():
        say("browser: that download does not work here; looking for one of the system")
    try:
        try:
            found = asyncio.run(launch())
        except UserError:
            if named or not install():
                raise
            found = asyncio.run(launch())
    except UserError as error:
        say(f"browser: {error}")
        return 1
    say(f"browser: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
