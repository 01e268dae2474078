"""The files that a confined program may read and write.

Landlock can only allow, and allows a folder with all that is in it. So where something in a folder is not
for the program, its other entries are allowed one by one.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from environments.browser import SYSTEM_BROWSERS
from proxy.authority import KEY

SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/snap", "/nix",
    "/run/current-system", "/run/systemd/resolve", "/var/cache/fontconfig", "/proc", "/sys",
)  # fmt: skip
ETC: Final = (
    *SYSTEM_BROWSERS, "alternatives", "ca-certificates", "chromium.d", "crypto-policies", "debian_version",
    "default/locale", "fonts", "gai.conf", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "ld.so.preload", "locale.alias", "localtime", "lsb-release", "machine-id", "mime.types",
    "nsswitch.conf", "opt", "os-release", "passwd", "pki/ca-trust", "pki/tls/cert.pem", "pki/tls/certs",
    "pki/tls/openssl.cnf", "protocols", "resolv.conf", "services", "ssl/cert.pem", "ssl/certs",
    "ssl/openssl.cnf", "static", "timezone",
)  # fmt: skip
"""What programs need of /etc, which also holds passwords and keys of the machine's."""
CACHES: Final = (
    "~/.cache/ms-playwright", "~/.cache/puppeteer", "~/.npm/_npx", "~/.local/lib", "~/.local/share/uv",
)  # fmt: skip
"""Where browsers of Playwright and Puppeteer, and packages of npx, pip and uv are installed."""
VARIABLES: Final = (
    "PLAYWRIGHT_BROWSERS_PATH", "PUPPETEER_CACHE_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
"""Variables that name other folders of browsers, and the authorities that programs trust."""
DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "shm")
"""What may be used of /dev; terminals may not, as the user's own stand beside a program's."""
_SQLITE: Final = b"SQLite format 3\0"
_BESIDE_DATABASES: Final = ("-wal", "-shm", "-journal")
_MOST_LINKS: Final = 40


@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """What a program may read and start, and folders of which it may see what is in them, not more."""

    read: list[Path]
    listed: list[Path]


def files_of(command: Sequence[str], *, private: Iterable[Path], told: Iterable[Path]) -> ProgramFiles:
    """Return the files that a program needs.

    They are the system's; those that it is `told` of; what is installed with the program, with those that it
    is told of, with Souk's interpreter, and in the folders of PATH, PYTHONPATH and NODE_PATH; and what stands
    in the working directory and beside the files that its command names. Of folders that are not the
    system's it is never what is hidden, a database, a folder of runs, or `private`.
    """
    found = [*map(Path, SYSTEM), *(Path("/etc", name) for name in ETC)]
    found += [Path(name).expanduser() for name in CACHES]
    found += [each for name in VARIABLES for each in _folders_in(name)]
    there = [Path(each) for each in (shutil.which(command[0]),) if each]
    programs = [link for path in (*there, *told, Path(sys.executable)) for link in links(path)]
    near = [*_folders_in("PATH"), *(path.parent for path in programs if os.access(path, os.X_OK))]
    named = list(_named_in(command))
    folders = [Path.cwd(), *_folders_in("PYTHONPATH"), *_folders_in("NODE_PATH")]
    folders += [path.parent for path in named if not _holds_home(path.parent)]
    # A folder of programs is full of links to elsewhere.
    follows = dict.fromkeys((each for folder in near for each in around(folder)), True)
    follows |= dict.fromkeys(folders, False)
    follows = {folder: each for folder, each in follows.items() if not _is_systems(folder)}
    hidden = [path.resolve() for path in private]
    for folder, leads_out in follows.items():
        found += entries(folder, hidden, leads_out=leads_out)
    # Without links: what a program may write it could replace by one before the next is started.
    read = dict.fromkeys(path.resolve() for path in (*found, *programs, *named))
    return ProgramFiles(list(read), list(follows))


def _folders_in(variable: str) -> list[Path]:
    return [Path(each).absolute() for each in os.environ.get(variable, "").split(os.pathsep) if each]


def _named_in(command: Sequence[str]) -> Iterator[Path]:
    """Yield the files that a command names, such as a script."""
    for word in command:
        with suppress(OSError, ValueError):
            if Path(word).is_file():
                yield Path(word).absolute()


def writable(folder: Path, further: Iterable[Path]) -> list[Path]:
    """Return what a program may write: its folder, some devices, and `further` folders."""
    return [path.resolve() for path in (folder, *(Path("/dev", name) for name in DEVICES), *further)]


def around(folder: Path) -> Iterator[Path]:
    """Yield the folders that hold what is installed with the programs of a folder.

    A virtual environment names the Python that it was made of.
    """
    if not _holds_home(folder):
        yield folder
    above = folder.parent
    if folder.name in ("bin", ".bin") and not _holds_home(above) and above != Path.home() / ".local":
        yield above
        with suppress(OSError):
            for line in (above / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition("=")
                if name.strip() == "home":
                    yield from around(Path(value.strip()))


def links(path: Path) -> Iterator[Path]:
    """Yield a path, and what it leads to, link by link."""
    yield path
    for _ in range(_MOST_LINKS):
        if not os.path.islink(path):  # noqa: PTH114 (pathlib fails in folders that are not ours to read)
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))
        yield path


def _is_systems(folder: Path) -> bool:
    return any(folder.is_relative_to(name) for name in SYSTEM)


def _holds_home(folder: Path) -> bool:
    return Path.home().is_relative_to(folder)


def entries(folder: Path, private: Sequence[Path], *, leads_out: bool = False) -> Iterator[Path]:
    """Yield what a program may read of a folder: no hidden entry, no database, no run, nothing private.

    `leads_out`: links that lead out of the folder count too.
    """
    here = folder.resolve()
    with suppress(OSError):
        for entry in folder.iterdir():
            real = entry.resolve()
            inside = real.is_relative_to(here)
            if entry.name.startswith(".") or holds_records(entry) or not (inside or leads_out):
                continue
            if any(real.is_relative_to(path) for path in private) or (inside and real.name.startswith(".")):
                continue
            if not any(path.is_relative_to(real) for path in (*private, here, Path.home())):
                yield real
            elif inside:
                yield from entries(entry, private)


def holds_records(path: Path) -> bool:
    """Return whether a path is a database or belongs to one, or is a folder of runs or of one run."""
    with suppress(OSError):
        if path.is_dir():
            named = path.name == "runs" or path.name.endswith("-runs")
            return named or (path / "ca" / KEY).exists() or any(path.glob("*.db"))
        if path.name.endswith(_BESIDE_DATABASES):
            return True
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_SQLITE)) == _SQLITE
    return False
