"""People come over TLS, by a front server: nginx and Caddy as the docs configure them, and mitmproxy."""

import asyncio
import re
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.experiments.certificates import certificates
from tests.experiments.people.test_site import serving, to_end, to_trial

pytestmark = pytest.mark.slow
DOCS = Path(__file__).parents[3] / "docs" / "people.md"


def example(language: str, **changes: str) -> str:
    """The docs' example with the test's own ports and files; each of these has to be in it."""
    found = re.search(rf"```{language}\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    text = found[1]
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def mitmproxy(folder: Path, inside: int, outside: int) -> tuple[list[str], str]:
    program = [sys.executable, "-u", "-c", "from mitmproxy.tools.main import mitmdump; mitmdump()"]
    program += ["--mode", f"reverse:http://127.0.0.1:{inside}@127.0.0.1:{outside}"]
    return [*program, "--set", "keep_host_header=true", "--set", f"confdir={folder}"], "listening"


def nginx(folder: Path, inside: int, outside: int) -> tuple[list[str], str]:
    _, certificate = certificates(folder)
    server = example(
        "nginx",
        **{
            "listen 443": f"listen 127.0.0.1:{outside}",
            "study.example.org": "localhost",
            "/etc/ssl/study.pem": str(certificate),
            "127.0.0.1:8090": f"127.0.0.1:{inside}",
        },
    )
    paths = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    http = f"events {{}} http {{ access_log off; {paths} {server} }}"
    (folder / "nginx.conf").write_text(f"error_log stderr notice; pid {folder}/pid; daemon off; {http}")
    return ["nginx", "-c", f"{folder}/nginx.conf", "-e", "stderr"], "start worker process "


def caddy(folder: Path, inside: int, outside: int) -> tuple[list[str], str]:
    own = {"study.example.org": f"localhost:{outside}", "127.0.0.1:8090": f"127.0.0.1:{inside}"}
    options = (
        "admin off",
        "skip_install_trust",
        "auto_https disable_redirects",
        f"storage file_system {folder}",
    )
    quiet = "\n".join(["{", *options, "}\n"])
    (folder / "Caddyfile").write_text(quiet + example("caddy", **own))
    return ["caddy", "run", "--config", f"{folder}/Caddyfile"], "serving initial configuration"


@asynccontextmanager
async def running(command: list[str], ready: str) -> AsyncIterator[None]:
    both = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    front = await asyncio.create_subprocess_exec(*command, **both)
    assert front.stdout
    try:
        while ready not in (line := (await front.stdout.readline()).decode()):
            assert line, f"{command[0]} has ended"
        yield
    finally:
        front.terminate()
        await front.communicate()


@pytest.mark.parametrize("front", [mitmproxy, nginx, caddy])
async def test_a_front_server_brings_people_over_tls(
    tmp_path: Path, front: Callable[[Path, int, int], tuple[list[str], str]]
) -> None:
    """People come by its address, and stay there."""
    if front is not mitmproxy and not shutil.which(front.__name__):
        pytest.skip(f"{front.__name__} is not installed")
    inside, outside = free_port(), free_port()
    public = f"https://localhost:{outside}"
    (tmp_path / "front").mkdir()
    person = httpx.AsyncClient(base_url=public, follow_redirects=True, timeout=60, verify=False)
    async with (
        running(*front(tmp_path / "front", inside, outside)),
        serving(tmp_path, port=inside, public=public) as place,
        person as lou,
    ):
        lou.headers["origin"] = public
        page = await to_trial(lou, place.link("lou"))
        assert all(cookie.secure for cookie in lou.cookies.jar if cookie.name == "souk_guest")
        done = await to_end(lou, page)
        assert "Your code is" in done.text
        assert str(done.url).startswith(public)
        lou.headers["origin"] = "https://evil.example"
        assert (await lou.post("/.souk/leave")).status_code == 403


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
