"""A hostile program that tries everything gets nothing, and shops nevertheless; unconfined it gets it all."""

import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agents.programs.bubblewrap import left_open
from tests.experiments.command_line import forked_souk
from tests.experiments.executors.program_runs import DB, EXPERIMENT, rows

pytestmark = pytest.mark.skipif(bool(left_open()), reason=left_open())

PROGRAM = Path(__file__).with_name("hostile_program.py")
NOT_EVERYWHERE = {
    "ptrace", "memory", "fast open", "keys", "raw socket", "environments", "attributes", "flags",
    "namespaces", "settings of the machine",
}  # fmt: skip
"""What some machines allow to no program."""


class World:
    """What is none of a program's business."""

    def __init__(self, folder: Path, rest: ExitStack) -> None:
        self.work, elsewhere = folder / "work", folder / "home"
        for each in (self.work / ".git", self.work / "old" / "ca", elsewhere / ".ssh"):
            each.mkdir(parents=True)
        self.files = {
            ".env": self.work / ".env",
            ".git": self.work / ".git" / "config",
            "a private key": elsewhere / ".ssh" / "id",
            "a database of before": self.work / "old.sqlite",
            "the key of a run of before": self.work / "old" / "ca" / "mitmproxy-ca.pem",
        }
        for file in self.files.values():
            file.write_bytes(b"SQLite format 3\0 secret")
        (self.work / "link").symlink_to(elsewhere / ".ssh")
        (self.work / "other-link").symlink_to(self.work / ".env")
        for name, text in {
            "e.yaml": EXPERIMENT,
            "hostile.py": PROGRAM.read_text(),
            "beside.txt": "",
            "beside.py": "",
            "victim": "whole",
        }.items():
            (self.work / name).write_text(text)
        self.tcp = rest.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.servers = [self.tcp]
        for kind, address in (
            (socket.SOCK_STREAM, str(folder / "s.sock")),
            (socket.SOCK_STREAM, f"\0{folder}/abstract"),
            (socket.SOCK_DGRAM, str(folder / "d.sock")),
        ):
            server = rest.enter_context(socket.socket(socket.AF_UNIX, kind))
            server.bind(address)
            if kind == socket.SOCK_STREAM:
                server.listen()
            self.servers.append(server)
        udp = rest.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        elsewhere_here = socket.create_server(("127.9.9.9", self.tcp.getsockname()[1]))
        self.servers += [udp, rest.enter_context(elsewhere_here)]
        libc = ctypes.CDLL(None)
        segment = libc.shmget(0, 4096, 0o600)
        rest.callback(libc.shmctl, segment, 0, None)
        self.key = f"souk-{os.getpid()}"
        add_key = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
        libc.syscall(add_key, b"user", self.key.encode(), b"secret", 6, -3)
        bystander = subprocess.Popen(["sleep", "600"])
        rest.callback(bystander.wait)
        rest.callback(bystander.kill)
        places = {
            "files": {**{name: str(file) for name, file in self.files.items()}, "t.db": "t.db"},
            "listed": {"another folder": str(elsewhere)},
            "folders": {"the working directory": str(self.work), "another folder": str(elsewhere)},
            "script": str(self.work / "hostile.py"),
            "victim": str(self.work / "victim"),
            "bystander": bystander.pid,
            "segment": segment,
            "key": self.key,
            "tcp": self.tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": str(folder / "s.sock"),
            "unix_datagrams": str(folder / "d.sock"),
            "abstract": f"\0{folder}/abstract",
        }
        (self.work / "places.json").write_text(json.dumps(places))

    def reached(self) -> Iterator[int]:
        """The servers that were reached, by their numbers."""
        for number, server in enumerate(self.servers):
            server.setblocking(False)
            try:
                if server.type == socket.SOCK_STREAM:
                    server.accept()[0].close()
                else:
                    server.recv(100)
            except BlockingIOError:
                continue
            yield number


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as rest:
        yield World(tmp_path, rest)


def run(folder: Path, *arguments: str, **env: str) -> tuple[dict[str, Any], str, str]:
    """Run a trial with a program; return its record, its output, and what the command has said."""
    agent = f"command:{sys.executable} {' '.join(arguments)}"
    ended = forked_souk("run", "e.yaml", "--agent", agent, *DB, "--limit", "1", cwd=folder, env=env)
    (trial,) = rows(folder, "SELECT * FROM trials")
    written = rows(folder, "SELECT text FROM output")
    return trial, written[0]["text"] if written else "", ended.err


@pytest.mark.browser
@pytest.mark.slow
def test_a_hostile_program_gets_nothing_and_shops(world: World) -> None:
    trial, written, said = run(world.work, "hostile.py", "places.json")
    found = json.loads(written.splitlines()[0])
    assert found["tried"] == []
    own = ["own folder", "own memory", "own server"]
    assert found["honest"] == [*own, "authority", "file beside it", "module beside it"]
    assert (trial["outcome"], trial["reason"]) == ("choice", ""), written
    assert [*world.reached()] == []
    assert (world.work / "victim").read_text() == "whole"
    assert "not confined" not in said
    assert not Path("/dev/shm", trial["trial"]).exists()


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.slow
def test_what_is_not_confined_gets_it_all(world: World) -> None:
    trial, written, _ = run(world.work, "hostile.py", "places.json", SOUK_PROGRAM_CONFINED="no")
    Path("/dev/shm", trial["trial"]).unlink()
    found = json.loads(written.splitlines()[0])
    names = {
        line.split('attempt(f"')[1].split("{suffix}")[0]
        for line in PROGRAM.read_text().splitlines()
        if 'attempt(f"' in line
    } - {"read {name}", "list {name}", "write {name}"}
    first = {each.removesuffix(" afresh") for each in found["tried"]}
    assert names - NOT_EVERYWHERE <= first
    for name in (*world.files, "t.db", "the authority's key"):
        assert f"read {name}" in first
    for name in ("the working directory", "another folder", "all trials' folder"):
        assert f"write {name}" in first
    assert [*world.reached()] == [*range(len(world.servers))]


REACHING = """\
import json, os, pathlib, socket, sys
told = json.loads(sys.stdin.readline())
ports, file = [int(each) for each in sys.argv[1].split(",")], pathlib.Path(sys.argv[2])
for port in ports:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        print("reached", ports.index(port))
    except ConnectionRefusedError:
        print("refused", ports.index(port))
file.write_text(file.read_text() + " and written")
print(file.read_text())
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
"""


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("reach", ["127.0.0.1:1024,127.0.0.1:{named}", "any"])
def test_what_is_named_can_be_reached_and_written(reach: str, world: World, tmp_path: Path) -> None:
    (world.work / "reaching.py").write_text(REACHING)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("read")
    with socket.create_server(("127.0.0.1", 0)) as other:
        named, unnamed = world.tcp.getsockname()[1], other.getsockname()[1]
        arguments = ("reaching.py", f"{named},{unnamed}", str(tmp_path / "data" / "file"))
        settings = {
            "SOUK_PROGRAM_REACH": reach.format(named=named),
            "SOUK_PROGRAM_FILES": str(tmp_path / "data"),
        }
        trial, written, _ = run(world.work, *arguments, **settings)
    other_port = "reached 1" if reach == "any" else "refused 1"
    assert written.splitlines()[:3] == ["reached 0", other_port, "read and written"]
    assert (tmp_path / "data" / "file").read_text() == "read and written"
    assert trial["outcome"] == "no_choice"


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("said", ["", "bwrap: setting up uid map: Permission denied"])
def test_where_programs_cannot_be_confined_it_is_said(world: World, said: str) -> None:
    """Without bubblewrap, and with one that the machine does not let work."""
    (world.work / "reading.py").write_text("print(open('.env').read())")
    (programs := world.work / "bin").mkdir()
    if said:
        (programs / "bwrap").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
        (programs / "bwrap").chmod(0o755)
    trial, written, told = run(world.work, "reading.py", PATH=str(programs))
    expected = f"bubblewrap does not work ({said})" if said else "install bubblewrap"
    assert told.count("programs are not confined here") == 1
    assert expected in told
    assert "secret" in written
    assert trial["outcome"] == "no_choice"
