"""Confine a program of the user's by bubblewrap (`bwrap`): files, processes and a network of its own.

The program sees the files that it needs, read-only, and nothing else. Its processes are in a namespace of
their own, so all end with its keeper, which is the first of them.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from environments.browser.system_packages import SYSTEM_BROWSERS
from interventions.data_file import read_data
from proxy.authority import KEY

_FILES: Final = read_data(__file__, "bubblewrap.yaml")
KEEPER: Final = Path(__file__).with_name("program_keeper.py")
_NAMESPACES: Final = (
    "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1",
    "--new-session", "--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev",
)  # fmt: skip
# Root could write settings of the machine in /proc/sys; the root of the tree and /dev are memory without end.
_CLOSED: Final = ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")
_OWN_NETWORK: Final = "--unshare-net"
_SHOW, _SHARE, _LINK, _HIDE = "--ro-bind", "--bind", "--symlink", "--tmpfs"
_SQLITE: Final = b"SQLite format 3\0"
_BESIDE_DATABASES: Final = ("-wal", "-shm", "-journal")
_MOST_LINKS: Final = 40
_CAN: Final = "they can read your files and reach the network; run those of strangers elsewhere"


@cache
def left_open() -> str:
    """Return a line that says why programs are not confined here, and what to do; empty: they are."""
    if sys.platform != "linux":
        return f"programs are not confined here, as only Linux can do it: {_CAN}"
    if shutil.which("bwrap") is None:
        return (
            "programs are not confined here: install bubblewrap, 0.8 or newer (apt-get install bubblewrap); "
            f"without it {_CAN}"
        )
    system = [word for path in _system() for word in (f"{_SHOW}-try", str(path), str(path))]
    command = ("bwrap", *_NAMESPACES, _OWN_NETWORK, *system, *_CLOSED, shutil.which("true") or "true")
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode == 0:
        return ""
    said = ended.stderr.strip().rpartition("\n")[2] or f"status {ended.returncode}"
    return f"programs are not confined here, as bubblewrap does not work ({said}): {_CAN}"


@dataclass(frozen=True, slots=True)
class Files:
    """What a program gets: folders whose hidden entries are not for it, and the kind and source of mounts."""

    folders: list[Path]
    mounts: dict[Path, tuple[str, str]]


def files_of(command: Sequence[str], *, told: Iterable[Path], shared: Iterable[Path]) -> Files:
    """Return the files that a program needs.

    They are the system's; those that it is `told` of; what is installed with it, with Souk's interpreter, and
    in the folders of PATH, PYTHONPATH and NODE_PATH; and what stands in the working directory and beside the
    files that its command names. `shared` may be written too. Links are followed once for all programs of a
    run: one that may write could replace a file by a link before the next is started.
    """
    named = [path for word in command if _is_file(path := Path(word).absolute())]
    there = [Path(each).absolute() for each in (shutil.which(command[0]),) if each]
    programs = [*there, *told, Path(sys.executable)]
    near = [link.parent for path in programs for link in _links(path) if os.access(path, os.X_OK)]
    installed = [each for folder in (*_folders_in("PATH"), *near) for each in _around(folder)]
    working = [Path.cwd(), *_folders_in("PYTHONPATH"), *_folders_in("NODE_PATH")]
    working += [path.parent for path in named]
    folders = [each for each in dict.fromkeys((*installed, *working)) if _is_shown_whole(each)]
    # A folder of programs is full of links to elsewhere.
    leading = [each for folder in installed if folder in folders for each in _entries(folder)]
    leading = [each for each in leading if each.is_symlink() and not each.name.startswith(".")]
    variables = [path for variable in _FILES["variables"] for path in _folders_in(variable)]
    mounts: dict[Path, tuple[str, str]] = {}
    for path in (*folders, *leading, *_system(), *programs, *named, *variables, KEEPER):
        mounts |= _mounts_of(path, _SHOW)
    for path in shared:
        mounts |= _mounts_of(path.absolute(), _SHARE)
    return Files([folder.resolve() for folder in folders], mounts)


def confine(files: Files, private: Iterable[Path], folder: Path, memory: int, *, network: bool) -> list[str]:
    """Return the command of bubblewrap that confines a program; the program's own comes after it.

    Hidden entries of its folders are not shown, nor databases, folders of runs and sockets. private: what is
    not shown either, wherever it is. folder: the program's own, which holds at most `memory` bytes, as does
    /dev/shm. network: whether it has this machine's network, and not one of its own.
    """
    hidden = [entry for each in files.folders for entry in _entries(each) if _is_hidden(entry)]
    mounts = {path: (_HIDE, "") for path in hidden} | files.mounts
    mounts |= {path.resolve(): (_HIDE, "") for path in private if path.exists()}
    kept = dict(_kept(mounts))
    here, size = str(Path.cwd()), ("--size", str(memory), "--perms", "0700", "--tmpfs")
    closed = [str(path) for path, (kind, of) in kept.items() if kind == _HIDE]
    return [
        *("bwrap", *_NAMESPACES, *(() if network else (_OWN_NETWORK,))),
        *(word for path, (kind, of) in kept.items() for word in filter(None, (kind, of, str(path)))),
        *(*size, str(folder), *size, "/dev/shm", "--dir", here, "--chdir", here),  # noqa: S108 (its own)
        *(word for path in closed for word in ("--remount-ro", path)),
        *(*_CLOSED, "--"),
    ]


def _kept(mounts: Mapping[Path, tuple[str, str]]) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Yield the mounts that are needed: none for what another one shows, nor to hide what none shows."""
    kept: dict[Path, str] = {}
    for path, (kind, of) in sorted(mounts.items()):
        above = next((kept[parent] for parent in path.parents if parent in kept), "")
        if kind == _HIDE:
            is_needed = above == _SHOW
        else:
            is_needed = above != _SHARE and (kind == _SHARE or above != _SHOW)
        if is_needed:
            kept[path] = kind
            yield path, (_SHOW, os.devnull) if kind == _HIDE and not path.is_dir() else (kind, of)


def _mounts_of(path: Path, kind: str) -> dict[Path, tuple[str, str]]:
    """Return the mount of a file or folder, and the links that lead to it; empty where it is not there."""
    found: dict[Path, tuple[str, str]] = {}
    for _ in range(_MOST_LINKS):
        link = next((each for each in (*reversed(path.parents), path) if os.path.islink(each)), None)  # noqa: PTH114 (pathlib fails in folders that are not ours to read)
        if link is None:
            return found | ({path: (kind, str(path))} if os.path.exists(path) else {})  # noqa: PTH110
        of = os.readlink(link)  # noqa: PTH115
        found[link] = _LINK, of
        path = Path(os.path.normpath(link.parent / of / path.relative_to(link)))
    return {}


def _system() -> list[Path]:
    etc = (Path("/etc", name) for name in (*SYSTEM_BROWSERS, *_FILES["etc"]))
    caches = (Path(name).expanduser() for name in _FILES["caches"])
    return [*map(Path, _FILES["system"]), *etc, *caches]


def _is_hidden(entry: Path) -> bool:
    """Whether an entry is not for programs; what a link leads to is hidden, or shown, by its own name."""
    with suppress(OSError):
        hidden = entry.name.startswith(".") or entry.is_socket() or _holds_records(entry)
        return hidden and not entry.is_symlink()
    return False


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # the word is too long for a name, or none
        return False


def _folders_in(variable: str) -> list[Path]:
    return [Path(each).absolute() for each in os.environ.get(variable, "").split(os.pathsep) if each]


def _around(folder: Path) -> Iterator[Path]:
    """Yield the folders that hold what is installed with the programs of a folder.

    A virtual environment names the Python that it was made of.
    """
    yield folder
    above = folder.parent
    if folder.name in ("bin", ".bin") and not _holds_home(above) and above != Path.home() / ".local":
        yield above
        with suppress(OSError):
            for line in (above / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition("=")
                if name.strip() == "home":
                    yield from _around(Path(value.strip()))


def _links(path: Path) -> Iterator[Path]:
    """Yield a path, and what it leads to, link by link."""
    yield path
    for _ in range(_MOST_LINKS):
        if not os.path.islink(path):  # noqa: PTH114
            return
        path = Path(os.path.normpath(path.parent / os.readlink(path)))  # noqa: PTH115
        yield path


def _is_systems(folder: Path) -> bool:
    return any(folder.is_relative_to(name) for name in _FILES["system"])


def _is_shown_whole(folder: Path) -> bool:
    return not _is_systems(folder) and not _holds_home(folder)


def _holds_home(folder: Path) -> bool:
    return Path.home().is_relative_to(folder)


def _holds_records(path: Path) -> bool:
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
