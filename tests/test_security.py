"""The threat model: every claim of docs/security.md has its test, and those that no room has are here."""

import ast
import asyncio
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.async_api import BrowserContext
from sqlalchemy import make_url
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from environments.browser.pool import BROWSER_VARIABLE, BrowserPool, run_browsers
from environments.browser.system_packages import SYSTEM_BROWSERS
from environments.browser.through_proxy import BrowserFailure
from environments.episode import Episode
from environments.protocol.actions import Action
from experiments.cli import main
from experiments.console.terminal import plain
from experiments.episodes.shop_episode import is_error_page
from experiments.records.record import artifact_hash
from experiments.records.store import Records, run_folder
from experiments.treatment.trajectory import Trajectory
from interventions.apply.plan import Plan
from interventions.errors import UserError
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.error_page import NOT_TREATED
from proxy.serve import PrintingSession
from proxy.server import Proxy, run_proxy
from proxy.session import Session
from tests.experiments.command_line import forked_souk, left_after, processes_with, program
from tests.support import STOPS, Answer, listening, pages, serve

pytestmark = pytest.mark.first  # else it ends alone, after all others

ROOT = Path(__file__).parents[1]
ROOMS = ("interventions", "proxy", "environments", "agents", "experiments", "analysis")
SITE = load_site_map("onestopmarket")
DANGEROUS = (
    *("eval", "exec", "compile", "__import__", "os.system"),
    *("yaml.load", "yaml.load_all", "yaml.full_load"),
)
KEY = "sk-secret-0123456789abcdef0123456789"
HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b2J\r\u202e"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def files_with(content: bytes, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and content in path.read_bytes()]


# The document


def named_tests(text: str) -> list[tuple[str, str]]:
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)


def defined_in(path: Path) -> set[str]:
    found = ast.walk(ast.parse(path.read_text())) if path.exists() else ()
    return {node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.slow
def test_every_claim_names_tests_that_exist() -> None:
    claims, _, _ = (ROOT / "docs" / "security.md").read_text().partition("## What is not defended")
    items = re.findall(r"^\* .+(?:\n  .+)*", claims, re.M)
    assert len(items) > 40
    assert [item for item in items if not named_tests(item)] == []
    assert [
        f"{path}::{name}" for path, name in named_tests(claims) if name not in defined_in(ROOT / path)
    ] == []


def dangers(tree: ast.Module) -> Iterator[str]:
    """What would execute data, or open us to the network."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from {"pickle", "marshal", "shelve", "dill"} & {name.partition(".")[0] for name in names}
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in DANGEROUS or called.endswith(("import_module", "unsafe_load")):
                yield called
            for keyword in node.keywords:
                if keyword.arg == "shell" or (keyword.arg == "Loader" and "Safe" not in ast.unparse(keyword)):
                    yield ast.unparse(keyword)
        elif isinstance(node, ast.Constant) and node.value in ("0.0.0.0", "::"):
            yield node.value


@pytest.mark.slow
def test_nothing_of_ours_executes_data_or_listens_beyond_loopback() -> None:
    bad = "import pickle.x; yaml.load(a, Loader=yaml.Loader); eval(b); run(c, shell=True); host = '0.0.0.0'"
    assert len(list(dangers(ast.parse(bad)))) == 6
    found = {
        str(path.relative_to(ROOT)): list(dangers(ast.parse(path.read_text())))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
    }
    assert {path: names for path, names in found.items() if names} == {
        # The modules of its own package, by the names of their files.
        "interventions/edits/registry.py": ["importlib.import_module"],
        # The class of a provider, and of its tool for computers, from a table in the same file.
        "agents/providers/__init__.py": ["importlib.import_module"],
        "agents/computer/__init__.py": ["importlib.import_module"],
        # Between a worker and the process that started it, over a socket pair that nobody else can reach.
        "experiments/executors/worker_protocol.py": ["pickle"],
    }


# A hostile page


class Contacts(asyncio.DatagramProtocol):
    """A loopback port, TCP and UDP, that nobody may contact: notes whoever does."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.port = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.heard.append(b"UDP " + data)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(b"TCP " + await reader.read(200))
        writer.close()


@pytest.fixture
async def forbidden() -> AsyncIterator[Contacts]:
    contacts = Contacts()
    async with listening(contacts.converse, "127.0.0.1", 0) as server:
        contacts.port = server.sockets[0].getsockname()[1]
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: contacts, local_addr=("127.0.0.1", contacts.port)
        )
        yield contacts
        transport.close()


@pytest.fixture(scope="module")
async def proxy(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proxy]:
    async with run_proxy(tmp_path_factory.mktemp("ca")) as proxy:
        yield proxy


@pytest.fixture(scope="module")
async def browsers(proxy: Proxy) -> AsyncIterator[BrowserPool]:
    async with run_browsers(proxy.spki) as browsers:
        yield browsers


@asynccontextmanager
async def visit(
    proxy: Proxy, browsers: BrowserPool, answers: dict[str, Answer]
) -> AsyncIterator[tuple[BrowserContext, Episode, str]]:
    """An episode on a shop with these pages, as trials have it: one context behind one slot."""
    async with pages(answers) as url:
        slot = await proxy.open_slot()
        slot.session = Session(Plan(()), SITE, AllowList.of(url))
        async with browsers.context(slot.url) as context:
            yield context, Episode(context, "Buy oats.", STOPS), url


# Every way out that a page has; `done` tells that all have been tried.
ESCAPES = """<!doctype html><title>Oats</title><body>
<a href="file:///etc/passwd">file</a><iframe src="file:///etc/passwd"></iframe><script>
const tcp = "127.0.0.1:PORT", udp = tcp, tried = [], name = "localhost:PORT";
const attempt = (start) => tried.push(new Promise((resolve) => {
  try { start(resolve); } catch (error) { resolve(error); }
}));
for (const host of [tcp, name]) {
  attempt((end) => fetch(`http://${host}/fetch`, { mode: "no-cors" }).then(end, end));
  attempt((end) => fetch(`https://${host}/fetch`, { mode: "no-cors" }).then(end, end));
  attempt((end) => { new WebSocket(`ws://${host}/`).onerror = end; });
  attempt((end) => { new EventSource(`http://${host}/`).onerror = end; });
  attempt((end) => { const image = new Image(); image.onerror = end; image.src = `http://${host}/i`; });
  attempt((end) => { navigator.sendBeacon(`http://${host}/beacon`); end(); });
}
attempt((end) => {
  const frame = document.createElement("iframe");
  frame.src = `http://${tcp}/frame`;
  frame.onload = end;
  document.body.append(frame);
});
for (const rel of ["preconnect", "dns-prefetch", "prefetch", "preload", "stylesheet", "manifest"]) {
  const link = document.createElement("link");
  Object.assign(link, { rel, href: `http://${tcp}/${rel}` });
  document.head.append(link);
}
attempt((end) => new WebTransport(`https://${udp}/`).ready.then(end, end));
attempt((end) => {
  const servers = [`stun:${udp}`, `turn:${udp}?transport=udp`, `turn:${tcp}?transport=tcp`];
  const peer = new RTCPeerConnection({
    iceServers: servers.map((urls) => ({ urls, username: "a", credential: "b" })),
  });
  peer.createDataChannel("x");
  peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && end();
  peer.createOffer().then((offer) => peer.setLocalDescription(offer));
});
addEventListener("pagehide", () => {
  navigator.sendBeacon(`http://${tcp}/bye`);
  fetch(`http://${tcp}/kept`, { keepalive: true });
});
window.done = Promise.all(tried).then(() => true);
</script>"""
AWAY = '<!doctype html><title>Away</title><meta http-equiv="refresh" content="0;url=http://127.0.0.1:PORT/">'


@pytest.mark.slow
@pytest.mark.parametrize("browser", [name for name in SYSTEM_BROWSERS if shutil.which(name)] or [None])
async def test_a_page_reaches_nothing_but_its_shop(
    proxy: Proxy, forbidden: Contacts, browser: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if browser:
        monkeypatch.setenv(BROWSER_VARIABLE, browser)
    port = str(forbidden.port)
    answers: dict[str, Answer] = {
        "/": ESCAPES.replace("PORT", port),
        "/away": AWAY.replace("PORT", port),
        "/redirect": Response(status_code=302, headers={"location": f"http://127.0.0.1:{port}/"}),
    }
    async with (
        run_browsers(proxy.spki) as browsers,
        visit(proxy, browsers, answers) as (context, episode, url),
    ):
        await episode.open([url])
        page = context.pages[0]
        assert await page.evaluate("done")
        assert not [frame.url for frame in page.frames if frame.url.startswith("file:")]
        await page.evaluate("document.querySelector('a').click()")
        assert page.url == url
        for action in (
            Action("goto", (f"{url}away",)),
            Action("goto", (f"{url}redirect",)),
            Action("goto", (f"http://127.0.0.1:{port}/",)),
            Action("goto", (f"http://localhost:{port}/",)),
        ):
            await episode.act(action)
            await page.wait_for_function("document.title === 'Host not allowed'")
    assert forbidden.heard == []


@pytest.mark.browser
async def test_without_the_proxy_the_same_page_gets_out(forbidden: Contacts) -> None:
    """The test above can fail."""
    async with (
        pages({"/": ESCAPES.replace("PORT", str(forbidden.port))}) as url,
        run_browsers() as browsers,
        browsers.context(None) as context,
    ):
        page = await context.new_page()
        await page.goto(url)
        assert await page.evaluate("done")
    ways = (b"UDP", b"TCP GET /fetch", b"TCP GET /frame", b"TCP POST /beacon", b"TCP GET /i")
    assert [way for way in ways if not any(heard.startswith(way) for heard in forbidden.heard)] == []


@pytest.mark.browser
async def test_files_neither_come_nor_go(
    proxy: Proxy, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(short_folder))
    payload = b"downloaded by nobody"
    attachment = {"content-disposition": "attachment; filename=../../run.sh"}
    answers: dict[str, Answer] = {
        "/": "<title>Oats</title><a href=/file>get</a><input type=file name=upload>",
        "/file": Response(payload, headers=attachment, media_type="application/octet-stream"),
    }
    async with (
        run_browsers(proxy.spki) as browsers,
        visit(proxy, browsers, answers) as (context, episode, url),
    ):
        await episode.open([url])
        html = (await episode.look()).observation.html
        link, upload = re.findall(r'bid="(\w+)"', html)
        async with context.pages[0].expect_download() as download:
            await episode.act(Action("click", (link,)))
        assert await (await download.value).failure()
        assert "cannot be filled" in await episode.act(Action("fill", (upload, "/etc/passwd")))
        await episode.act(Action("click", (upload,)))
        assert (await episode.look()).observation.html == html
        assert files_with(payload, short_folder) == []


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_flood_of_windows_is_stemmed(
    proxy: Proxy, browsers: BrowserPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("environments.episode.MAX_TABS", 4)
    flood = "<title>Flood</title><script>for (let i = 0; i < 12; i++) open('/')</script>"
    async with visit(proxy, browsers, {"/": "<title>Oats</title>Oats", "/flood": flood}) as (_, episode, url):
        await episode.open([url + "flood"])
        assert len((await episode.look()).observation.tabs) <= 4
        assert await episode.act(Action("tab_focus", (0,))) == ""
        assert await episode.act(Action("goto", (url,))) == ""
        assert (await episode.look()).observation.html == "Oats"


@pytest.mark.browser
async def test_a_page_that_never_rests_is_left(proxy: Proxy, browsers: BrowserPool) -> None:
    busy = "<title>Busy</title><script>setTimeout(() => { for (;;) alert(1) })</script>"
    async with visit(proxy, browsers, {"/": busy, "/oats": "Oats"}) as (context, episode, url):
        page = await context.new_page()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):  # as the limit of an experiment
                await episode.open([url])
                await episode.look()
        browser = context.browser
    assert page.is_closed()
    assert browser is not None
    assert browser.is_connected()


@pytest.mark.browser
@pytest.mark.parametrize(
    "script",
    [
        "Array.prototype.findIndex = () => 99",
        "Array.prototype.join = () => ({})",
        "Object.defineProperty(Document.prototype, 'title', {get: () => [1]})",
        "JSON.stringify = () => '{}'",
        "JSON.stringify = () => 'a lie'",
    ],
)
async def test_a_page_that_disturbs_the_observation_is_refused(
    proxy: Proxy, browsers: BrowserPool, script: str
) -> None:
    page = f"<!doctype html><title>Oats</title><p>Oats</p><script>{script}</script>"
    async with visit(proxy, browsers, {"/": page}) as (_, episode, url):
        with pytest.raises(BrowserFailure, match="disturb"):
            await episode.open([url])
            await episode.look()


@pytest.mark.browser
async def test_half_characters_of_a_page_can_be_stored(proxy: Proxy, browsers: BrowserPool) -> None:
    script = r"document.title = 'a\ud800'; document.body.textContent = 'b\udfff'"
    async with visit(proxy, browsers, {"/": f"<!doctype html><body><script>{script}</script>"}) as (
        _,
        episode,
        url,
    ):
        await episode.open([url])
        observation = (await episode.look()).observation
    assert (observation.html, observation.tabs[0].title) == ("b?", "a?")
    assert artifact_hash(observation.html)


@pytest.mark.browser
async def test_a_page_that_claims_to_be_an_error_page_is_no_choice(
    proxy: Proxy, browsers: BrowserPool
) -> None:
    """It ends the episode, and nothing but a choice or a limit replaces the outcome that all begin with."""
    async with visit(proxy, browsers, {"/": f"<title>{NOT_TREATED}</title>"}) as (_, episode, url):
        await episode.open([url])
        assert is_error_page(await episode.look())
    assert Trajectory().outcome == "infra_error"


# Secrets


@pytest.mark.browser
async def test_the_browser_does_not_get_the_keys(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"{os.getpid()}-{id(proxy)}"
    monkeypatch.setenv("SOUK_TEST_MARK", mark)
    for name in ("OPENAI_API_KEY", "POSTGRES_PASSWORD", "DATABASE_URL"):
        monkeypatch.setenv(name, KEY)
    async with (
        run_browsers(proxy.spki) as browsers,
        visit(proxy, browsers, {"/": "Oats"}) as (_, episode, url),
    ):
        await episode.open([url])
        marked = processes_with("SOUK_TEST_MARK", mark).values()
        holding = processes_with("OPENAI_API_KEY", KEY).values()
    assert [command for command in marked if "headless" in command]
    assert [command for command in holding if "headless" in command] == []


@dataclass
class EchoingProvider:
    """A model's server that gives the key back wherever it can: in errors, and in every part of answers."""

    requests: list[str] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        key = request.headers["authorization"].removeprefix("Bearer ")
        self.requests.append(key)
        error = {"error": {"message": f"bad key {key}", "type": key, "code": key}}
        if len(self.requests) < 3:
            status = 500 if len(self.requests) == 1 else 400
            return JSONResponse(error, status, headers={"retry-after-ms": "1", "x-request-id": key})
        text = f"{key}<think>{key}</think><memory>{key}</memory><action>fill('1', '{key}')</action>"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        body = {"id": key, "object": "chat.completion", "created": 1, "model": key, "choices": [choice]}
        return JSONResponse(body)


EXPERIMENT = """\
name: secrets
goal: Add the best product from the open tabs to the shopping cart.
options: {sets: 1}
factors: {order: both}
limits: {steps: 2}
"""


@pytest.mark.browser
async def test_an_echoed_key_stands_nowhere(tmp_path: Path) -> None:
    provider = EchoingProvider()
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    routes = [Route("/v1/chat/completions", provider.answer, methods=["POST"])]
    async with serve(Starlette(routes=routes)) as url:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}v1", "SOUK_LOG": "INFO", "NO_PROXY": "*"}
        arguments = ("run", "e.yaml", "--agent", "openai:m", "--slots", "1", "--db", "sqlite:///t.db")
        ended = await asyncio.to_thread(forked_souk, *arguments, cwd=tmp_path, env=env)
    assert set(provider.requests) == {KEY}
    with sqlite3.connect(tmp_path / "t.db") as connection:
        reasons = dict(connection.execute("select outcome, reason from trials"))
        thoughts = {thought for (thought,) in connection.execute("select thought from steps")}
        names = [name for (name,) in connection.execute("select hash from artifacts")]
    assert set(reasons) == {"agent_error", "agent_limit"}
    assert "[key]" in reasons["agent_error"]
    assert "[key]" in thoughts
    records = Records(f"sqlite:///{tmp_path}/t.db")
    assert [name for name in names if KEY in records.artifact(name)] == []
    assert files_with(b"secrets", tmp_path)
    assert files_with(KEY.encode(), tmp_path) == []
    assert KEY not in ended.out + ended.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://souk:hunter2@127.0.0.1:1/souk",
        "postgresql+psycopg://souk:hunter2@127.0.0.1:port/souk",
        "postgresql+psycopg://souk:a/hunter2@b@127.0.0.1/souk",
        "postgresql+psycopg://127.0.0.1:1/souk?user=souk&password=hunter2&connect_timeout=1",
        "nosuchdb://souk:hunter2@x/",
        "//souk:hunter2@x",
    ],
)
def test_the_password_of_a_database_is_not_shown(url: str) -> None:
    with pytest.raises(UserError, match="--db") as caught:
        Records(url)
    assert "hunter2" not in str(caught.value)


# The terminal


@given(st.text(st.characters()))
def test_no_text_speaks_to_the_terminal(text: str) -> None:
    assert not CONTROL.search(plain(text).replace("\t", ""))
    assert json.loads(plain(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.slow
async def test_pages_and_files_do_not_speak_to_the_terminal(tmp_path: Path) -> None:
    page = f"""<!doctype html><meta charset=utf-8><title>{HOSTILE}</title>
    <meta property="og:type" content="product"><div class="page-title-wrapper product">
    <h1 class="page-title"><span class="base">Oats {HOSTILE}</span></h1></div>"""
    text = r'"\e]0;owned\a\x9b2J\u202e[red]x"'
    interventions = (
        "interventions:\n  - id: x\n    kind: title\n    edits:\n"
        f"      - set_title: {text}\n      - insert_text: {{after: product.title, text: {text}}}\n"
    )
    (tmp_path / "x.yaml").write_text(interventions)
    (tmp_path / "bad.yaml").write_text(interventions.replace("id: x", f"id: {text}"))
    async with pages({"/oats.html": page}) as url:
        said = []
        for arguments in (
            ("preview", "x.yaml", "x", f"{url}oats.html"),
            ("preview", "x.yaml", "x", f"{url}oats.html", "--json"),
            ("show", "x.yaml"),
            ("show", "x.yaml", "--json"),
            ("validate", "bad.yaml"),
            ("show", "bad.yaml"),
            ("show", f"no-such-file{HOSTILE}"),
        ):
            ended = await asyncio.to_thread(forked_souk, "interventions", *arguments, cwd=tmp_path)
            said.append(ended.out + ended.err)
            assert "Traceback" not in said[-1]
            assert "\\u001b" in said[-1]
    assert [found for found in said if CONTROL.search(found)] == []


def test_the_proxys_lines_hold_no_escape_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    PrintingSession(Plan(()), SITE).note_failure(f"http://shop.test/: {HOSTILE}")
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert said.count("\n") == 1


def test_a_mistake_is_one_line_whatever_it_quotes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["souk", "interventions", "show", f"nudges\nerror: forged{HOSTILE}"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert not CONTROL.search(said)


# Files


@pytest.mark.parametrize("name", ["..", "../elsewhere", "/etc", "a/b", "", "a\n", "a\0b"])
def test_a_strangers_database_names_no_folder(name: str) -> None:
    with pytest.raises(UserError, match="--out"):
        run_folder(make_url("sqlite:///t.db"), name)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "before"),
    [
        (signal.SIGINT, []),
        (signal.SIGTERM, []),
        (signal.SIGTERM, ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]),
    ],
    ids=["Ctrl-C", "terminated", "terminated where Ctrl-C is ignored"],
)
def test_the_authority_of_a_proxy_is_private_and_goes_with_it(
    tmp_path: Path, end: signal.Signals, before: list[str]
) -> None:
    # What ignores a signal hands this on to what it starts, but not to a fork of something else.
    souk = [*before, sys.executable, "-m", "experiments.cli"] if before else [program()]
    command = [*souk, "proxy", "serve", "-i", "nudges", "--port", "0"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    while "Ctrl-C ends it" not in process.stderr.readline():
        assert process.poll() is None
    (folder,) = tmp_path.glob("souk-*/souk-ca-*")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert (stat.S_IMODE(folder.stat().st_mode), modes) == (0o700, {0o600})
    process.send_signal(end)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert not left_after("TMPDIR", str(tmp_path), seconds=20)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_ended_command_takes_its_shop_along(tmp_path: Path) -> None:
    command = [program(), "env", "up", "shop", "--local", "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    found = re.search(r":(\d+)/", process.stdout.readline())
    assert found
    process.terminate()
    process.communicate(timeout=30)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(found[1])))
