"""Install what Souk needs of the system, or say how to: `python -m environments.browser.system_packages`.

Set-up runs this with the system's Python before it downloads anything: only the standard library is imported.
"""

import ctypes
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

# The headless shell first: without windows, profiles and extensions it runs more than twice as many episodes.
SYSTEM_BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
BROWSER_PACKAGES = ("chromium-headless-shell", "chromium")
"""Debian's packages of a browser, the wanted one first."""


@dataclass(frozen=True, slots=True)
class MissingPackage:
    """A package that the system lacks: what needs it, and the Debian package that holds it."""

    name: str
    needed_by: str
    package: str

    def __str__(self) -> str:
        return f"{self.name} (needed by {self.needed_by})"


def find_missing_library() -> MissingPackage | None:
    """Return the library that Playwright's own Node.js needs to start, when the system lacks it."""
    if sys.platform != "linux" or _loads("libatomic.so.1"):
        return None
    return MissingPackage("libatomic.so.1", "Playwright", "libatomic1")


def find_missing_for_browser() -> list[MissingPackage]:
    """List what the browser and its driver need."""
    library = find_missing_library()
    found = [library] if library else []
    # Every Chromium loads this library. Distributions other than Debian package browsers in other ways.
    if "SOUK_BROWSER" not in os.environ and _is_debian() and not _loads("libnss3.so"):
        found.append(MissingPackage("libnss3.so", "Chromium", BROWSER_PACKAGES[0]))
    return found


def _find_missing() -> list[MissingPackage]:
    """List what set-up needs and pip cannot install."""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    has_venv = importlib.util.find_spec("ensurepip") is not None
    module = (
        [] if has_venv else [MissingPackage("ensurepip", f"the venv module of {python}", f"{python}-venv")]
    )
    return [*module, *find_missing_for_browser()]


def _bring_bubblewrap() -> None:
    """Install what confines programs that are agents, where Debian's packages can be; it is not needed."""
    if sys.platform == "linux" and shutil.which("bwrap") is None and not apt_install("bubblewrap"):
        say("without bubblewrap programs of command: and kept: are not confined (apt-get install bubblewrap)")


def describe_install(missing: Sequence[MissingPackage]) -> str:
    """Return the command that installs what is missing, for a person to type."""
    if shutil.which("apt-get") is None:
        return f"install {', '.join(part.name for part in missing)} with your system's package manager"
    return f"run as root: apt-get update && apt-get install {' '.join(part.package for part in missing)}"


def apt_install(*packages: str) -> bool:
    """Install Debian packages as root or with sudo; return whether that worked."""
    apt, sudo = shutil.which("apt-get"), shutil.which("sudo")
    if apt is None or (os.geteuid() != 0 and sudo is None):
        return False
    prefix = [] if os.geteuid() == 0 else [str(sudo)]
    say(f"installing {' '.join(packages)} with {'sudo ' if prefix else ''}apt-get ...")

    def run(*arguments: str) -> bool:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        command = [*prefix, apt, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0  # noqa: S603

    run("update", "-qq")
    return run("install", "-y", "-qq", *packages)


def say(text: str) -> None:
    """Print what is being done, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _is_debian() -> bool:
    try:
        return platform.freedesktop_os_release().get("ID") == "debian"
    except OSError:
        return False


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def bring(missing: Sequence[MissingPackage]) -> bool:
    """Install what is missing, or say in one line how to; return whether all is there."""
    if not missing or apt_install(*(part.package for part in missing)):
        return True
    say(f"missing: {', '.join(map(str, missing))}; {describe_install(missing)}")
    return False


if __name__ == "__main__":
    if not bring(_find_missing()):
        sys.exit(1)
    _bring_bubblewrap()
