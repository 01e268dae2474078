"""Install the shops that are not written for Souk: `python -m tests.lab.storefronts.install NAME`.

They go to the folder that `SOUK_STOREFRONTS` names, else to `~/.cache/souk/storefronts`; each has an
environment of its own there. One that is already there in this version is left alone.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path

from environments.browser.system_packages import MissingPackage, bring

HERE = Path(__file__).parent


class CannotInstall(Exception):
    """The storefront cannot be installed here; the message says why."""


def folder(name: str) -> Path:
    """Where a storefront is installed."""
    cache = os.environ.get("SOUK_STOREFRONTS") or Path.home() / ".cache" / "souk" / "storefronts"
    return Path(cache) / name


def python(name: str) -> Path:
    """The interpreter of a storefront's environment."""
    return folder(name) / "venv" / "bin" / "python"


def is_installed(name: str) -> bool:
    """Whether it is there, as the files beside this one ask for."""
    mark = folder(name) / ".ready"
    return mark.is_file() and mark.read_text() == _version(name)


def install(name: str) -> None:
    """Install a storefront unless it is there; a second process waits for the first. Raises CannotInstall."""
    folder(name).parent.mkdir(parents=True, exist_ok=True)
    with folder(name).with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_installed(name):
            _install(name)


def _install(name: str) -> None:
    shutil.rmtree(folder(name), ignore_errors=True)
    folder(name).mkdir()
    venv.create(folder(name) / "venv", with_pip=True)
    requirements = HERE / name / "requirements.txt"
    if requirements.is_file():
        pip = (python(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
        _run(name, *pip, "-r", requirements)
    STOREFRONTS[name]()
    (folder(name) / ".ready").write_text(_version(name))


def _npm(name: str, *options: str) -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise CannotInstall(f"{program} is not installed; {name} needs Node.js 20 or later")
    shutil.copy(HERE / name / "package.json", folder(name))
    _run(name, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *options)


def _evershop() -> None:
    _npm("evershop")
    # Folders that the shop looks into and does not make.
    for name in ("config", "public", "media", "themes", "extensions"):
        (folder("evershop") / name).mkdir(exist_ok=True)
    _run("evershop", python("evershop"), HERE / "evershop" / "serve.py", "--build")


def _medusa() -> None:
    _npm("medusa", "--legacy-peer-deps")
    # It is read where the packages are found.
    shutil.copy(HERE / "medusa" / "medusa-config.cjs", folder("medusa") / "medusa-config.js")


def _shuup() -> None:
    if sys.version_info >= (3, 12):
        raise CannotInstall("what Shuup 3.1 is built on does not run on Python 3.12 or later")


def _python_only() -> None:
    """What pip has installed is all."""


STOREFRONTS: dict[str, Callable[[], None]] = {
    "oscar": _python_only,
    "cartridge": _python_only,
    "pretix": _python_only,
    "shuup": _shuup,
    "vendure": partial(_npm, "vendure"),
    "medusa": _medusa,
    "evershop": _evershop,
    "plone": _python_only,
}


def _run(name: str, *command: str | Path) -> None:
    done = subprocess.run(
        command, cwd=folder(name), check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        last = (done.stdout.strip().splitlines() or ["no message"])[-1]
        raise CannotInstall(f"{name}: {Path(command[0]).name} failed with status {done.returncode}: {last}")


def _version(name: str) -> str:
    files = (HERE / name / file for file in ("requirements.txt", "package.json"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def find_missing_servers() -> list[MissingPackage]:
    """List the servers that the steps need beside the shops."""
    there = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    return [] if there else [MissingPackage("nginx", 'the step "HTTPS, h2"', "nginx-light")]


def main() -> None:
    failed = 0
    if not sys.argv[1:]:
        failed = int(not bring(find_missing_servers()))
    for name in sys.argv[1:] or STOREFRONTS:
        if name not in STOREFRONTS:
            raise SystemExit(f"error: no storefront {name!r}; there are: {', '.join(STOREFRONTS)}")
        start = time.monotonic()
        there = is_installed(name)
        try:
            install(name)
        except CannotInstall as error:
            print(f"error: {error}", file=sys.stderr)
            failed = 1
        else:
            took = f"installed in {time.monotonic() - start:.0f} s"
            print(f"{name}: {'is' if there else took} in {folder(name)}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
