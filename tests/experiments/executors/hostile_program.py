"""A program that tries all that it must not do, writes down what worked, and then shops as it should.

`hostile_program.py PLACES`: a file of JSON with files, ports and processes that are none of its business.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

trial = json.loads(sys.stdin.readline())
places: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
places["files"]["the authority's key"] = str(Path(trial["ca"]).with_name("mitmproxy-ca.pem"))
places["folders"]["all trials' folder"] = places["listed"]["all trials' folder"] = str(
    Path(os.environ["TMPDIR"]).parent
)
worked: list[str] = []


def attempt(what: str, done: Callable[[], Any]) -> None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if done() is not False:
            worked.append(what)


def connect(address: Any, family: int = socket.AF_INET, blocking: bool = True) -> None:
    with socket.socket(family) as connection:
        connection.settimeout(5)
        if not blocking:
            connection.setblocking(False)
            connection.connect_ex(address)
            select.select([], [connection], [], 5)
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError
            return
        connection.connect(address)


def datagram(address: Any, family: int = socket.AF_INET) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        for _ in range(2):  # the second one fails where nobody was there for the first
            sender.send(b"from a program")


def pair_of_datagrams(address: Any) -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"from a program", address)


def fast_open(port: int) -> None:
    with socket.socket() as connection:
        connection.sendto(b"x", 0x20000000, ("127.0.0.1", port))


def environments() -> bool:
    """Read the environments of processes that are not this one's."""
    mine = {os.getpid(), os.getppid()} if "again" in sys.argv else {os.getpid()}
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) not in mine:
            with contextlib.suppress(OSError):
                found.append((folder / "environ").read_bytes())
    return any(b"=" in each for each in found)


def signalled() -> None:
    os.kill(places["bystander"], 0)


def raw() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


def keys() -> bool:
    """Search the keys of the user's session for the one that another process has put there."""
    number = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
    return bool(ctypes.CDLL(None).syscall(number, 10, -3, b"user", places["key"].encode(), 0) >= 0)


def flagged() -> None:
    """Set a file's flags again; a read-only mount refuses that too."""
    with Path(places["victim"]).open("rb") as file:
        flags = fcntl.ioctl(file, 0x80086601, bytes(8))
        fcntl.ioctl(file, 0x40086602, flags)


def machines_settings() -> None:
    """Open a setting of the machine for writing; nothing is written."""
    Path("/proc/sys/kernel/core_pattern").open("ab").close()


def namespaces() -> bool:
    """Become root in a namespace of one's own, where folders in memory can be made."""
    if child := os.fork():
        return os.waitpid(child, 0)[1] == 0
    os._exit(ctypes.CDLL(None).unshare(0x10000000) != 0)


def shared_memory() -> bool:
    """Attach a segment of memory that another process of the user's has made."""
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    return bool(libc.shmat(places["segment"], None, 0o10000) != ctypes.c_void_p(-1).value)


def traced() -> bool:
    libc = ctypes.CDLL(None)
    return bool(libc.ptrace(0x4206, places["bystander"], 0, 0) == 0)


def limited() -> bool:
    number = {"x86_64": 302, "aarch64": 261}[os.uname().machine]
    limits = bytes(16)  # of the size of memory images
    return bool(ctypes.CDLL(None).syscall(number, places["bystander"], 4, limits, None) == 0)


def hard_link() -> None:
    os.link(places["files"][".env"], Path(os.environ["TMPDIR"], "linked"))


own = {Path(os.environ["TMPDIR"])}


def try_all(suffix: str = "") -> None:
    for name, file in places["files"].items():
        attempt(f"read {name}{suffix}", Path(file).read_bytes)
    for name, file in places["listed"].items():
        attempt(f"list {name}{suffix}", lambda file=file: bool({*Path(file).iterdir()} - own))
    for name, folder in places["folders"].items():
        attempt(f"write {name}{suffix}", lambda folder=folder: Path(folder, "left").write_text("x"))
    attempt(f"change a file{suffix}", lambda: Path(places["script"]).open("ab").close())
    attempt(f"truncate a file{suffix}", lambda: os.truncate(places["victim"], 0))
    attempt(f"attributes{suffix}", lambda: os.setxattr(places["victim"], "user.x", b"x"))
    attempt(f"permissions{suffix}", lambda: Path(places["victim"]).chmod(0o644))
    attempt(f"times{suffix}", lambda: os.utime(places["victim"]))
    attempt(f"flags{suffix}", flagged)
    attempt(f"settings of the machine{suffix}", machines_settings)
    attempt(f"namespaces{suffix}", namespaces)
    attempt(f"link{suffix}", hard_link)
    attempt(f"environments{suffix}", environments)
    attempt(f"memory{suffix}", lambda: Path(f"/proc/{places['bystander']}/mem").open("rb").close())
    attempt(f"signal{suffix}", signalled)
    attempt(f"shared memory{suffix}", shared_memory)
    attempt(f"ptrace{suffix}", traced)
    attempt(f"limits{suffix}", limited)
    attempt(f"another server{suffix}", lambda: connect(("127.0.0.1", places["tcp"])))
    attempt(f"without waiting{suffix}", lambda: connect(("127.0.0.1", places["tcp"]), blocking=False))
    attempt(f"its IPv6{suffix}", lambda: connect(("::ffff:127.0.0.1", places["tcp"]), socket.AF_INET6))
    attempt(f"another address{suffix}", lambda: connect(("127.9.9.9", places["tcp"])))
    attempt(f"fast open{suffix}", lambda: fast_open(places["tcp"]))
    attempt(f"datagrams{suffix}", lambda: datagram(("127.0.0.1", places["udp"])))
    attempt(f"Unix socket{suffix}", lambda: connect(places["unix"], socket.AF_UNIX))
    attempt(f"Unix datagrams{suffix}", lambda: datagram(places["unix_datagrams"], socket.AF_UNIX))
    attempt(f"a pair's datagrams{suffix}", lambda: pair_of_datagrams(places["unix_datagrams"]))
    attempt(f"abstract socket{suffix}", lambda: connect(places["abstract"], socket.AF_UNIX))
    attempt(f"keys{suffix}", keys)
    if os.geteuid() == 0:
        attempt(f"raw socket{suffix}", raw)


def own_server() -> None:
    """Serve and ask as browsers with a debugging port do."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.create_server((address, 0), family=family) as server:
            server.listen()  # anew, as asyncio does with a socket that it is given
            socket.create_connection(server.getsockname()[:2]).close()
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"hello")
        accepted, _ = server.accept()
        if accepted.recv(5) != b"hello":
            raise OSError
        accepted.close()
        client.close()
    path = f"{os.environ['TMPDIR']}/own.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        connect(path, socket.AF_UNIX)


if len(sys.argv) > 2 and sys.argv[2] == "again":
    try_all(" afresh")
    print(json.dumps(worked))
    sys.exit()

try_all()
again = subprocess.run(
    [sys.executable, __file__, sys.argv[1], "again"],
    input=json.dumps(trial), capture_output=True, text=True, check=False, start_new_session=True,
)  # fmt: skip
worked += json.loads(again.stdout.splitlines()[-1])
honest: list[str] = []
worked, tried = honest, worked
attempt("own folder", lambda: Path(os.environ["TMPDIR"], "own").write_text("x"))
attempt("own memory", lambda: Path("/dev/shm", trial["trial"]).write_text("x"))
attempt("own server", own_server)
attempt("authority", Path(trial["ca"]).read_bytes)
attempt("file beside it", Path("beside.txt").read_bytes)
attempt("module beside it", lambda: __import__("beside"))
print(json.dumps({"tried": tried, "honest": honest, "stderr": again.stderr}), flush=True)
if tried:
    sys.exit("there is no need to shop")

from playwright.sync_api import sync_playwright  # noqa: E402

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=trial["browser"],
        proxy={"server": trial["proxy"]},
        args=["--no-sandbox", f"--ignore-certificate-errors-spki-list={trial['spki']}"],
    )
    page = browser.new_page()
    page.goto(trial["urls"][0])
    page.locator("#product-addtocart-button").click()
    page.locator(".message-success").wait_for()
    browser.close()
