"""Make sure that a browser is there: `python -m environments.install_browser`.

Playwright's own Chromium where it is there or can be downloaded, else a Chromium or Chrome of the system,
else the distribution's package through apt-get (as root or with sudo). It is tried by launching it.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from environments.browser import BROWSER_VARIABLE, run_browsers
from interventions.errors import UserError

DOWNLOAD_SECONDS = 600


def has_own() -> bool:
    """Whether Playwright's own Chromium is there."""
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


async def working_browser() -> str | None:
    """Name and version of the browser that Souk would use, or None when none can be launched."""
    try:
        async with run_browsers() as pool:
            browser = await pool.browser()
            return f"{browser.browser_type.name} {browser.version}"
    except (UserError, PlaywrightError):
        return None


def download() -> bool:
    """Let Playwright download its Chromium."""
    say("downloading Playwright's Chromium ...")
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        result = subprocess.run(command, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    return result.returncode == 0


def install_package() -> bool:
    """Install the distribution's chromium."""
    apt = shutil.which("apt-get")
    sudo = shutil.which("sudo")
    if apt is None or (os.geteuid() != 0 and sudo is None):
        return False
    prefix = [] if os.geteuid() == 0 else [str(sudo)]

    def run(*arguments: str) -> bool:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        command = [*prefix, apt, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0  # noqa: S603

    run("update", "-qq")
    for package in ("chromium-headless-shell", "chromium"):
        say(f"installing the package {package} with {'sudo ' if prefix else ''}apt-get ...")
        if run("install", "-y", "-qq", package):
            return True
    return False


def say(text: str) -> None:
    """Tell what is being done."""
    sys.stdout.write(f"browser: {text}\n")
    sys.stdout.flush()


def main() -> int:
    """Find or install a browser. Exit status 1 when none can be had."""
    if BROWSER_VARIABLE not in os.environ and not has_own() and not download():
        say("that download does not work here; looking for one of the system")
    found = asyncio.run(working_browser())
    if found is None and install_package():
        found = asyncio.run(working_browser())
    if found is None:
        say(f"none found; install chromium or google-chrome, or set {BROWSER_VARIABLE} to one")
        return 1
    say(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
