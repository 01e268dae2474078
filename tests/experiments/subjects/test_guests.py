"""Subjects that Souk did not start: the guide's own scripts as subjects, cookies, ends of trials."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, Any

import httpx
import pytest
from playwright.sync_api import sync_playwright
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from environments.browser.pool import find_browser, run_browsers
from tests.experiments.command_line import forked_souk, program
from tests.experiments.foreign_shop import ForeignShop, experiment
from tests.experiments.subjects.guest_place import JSON
from tests.support import serve, size, usual

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "any-agent.md").read_text()
OWN = "http://souk.test/.souk/"

EXPERIMENT = """\
name: guests
goal: Add the best product to the cart.
options: {sets: 2}
factors:
  nudge: {interventions: NUDGE}
limits: {seconds: SECONDS}
"""
SERVED = ("--db", "sqlite:///t.db", "--port", "0", "--as", "tester")


def block(language: str) -> str:
    """The guide's first block of code in a language."""
    found = re.search(rf"```{language}\n(.*?)```", GUIDE, re.S)
    assert found
    return found[1]


class Lines:
    """The lines of a stream, as they come."""

    def __init__(self, stream: IO[str]) -> None:
        self._lines: Queue[str] = Queue()
        self.seen: list[str] = []
        Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put("")

    def next(self, pattern: str) -> re.Match[str]:
        """The next line that matches. Fails when the stream ends, or nothing comes for a minute."""
        while line := self._lines.get(timeout=60):
            self.seen.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no {pattern} in {self.seen}")


class Served:
    """A running `souk trials serve`."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        assert process.stderr
        assert process.stdout
        self._out, self.said, self._db = Lines(process.stdout), Lines(process.stderr), folder / "t.db"
        self.url = self.said.next(r"souk proxy on (http://\S+):")[1]
        self.said.next("Ctrl-C ends it")

    def ended(self) -> dict[str, Any]:
        """The next trial that ends, as it is told."""
        told: dict[str, Any] = json.loads(self._out.next(r"\{.*\}")[0])
        return told

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the records hold."""
        with sqlite3.connect(self._db) as connection:
            return connection.execute(query).fetchall()


def serve_in(
    folder: Path, *options: str, nudge: str = "nudges, only: [best-seller]", seconds: int = 300
) -> tuple[str, ...]:
    """The command that gives the trials of an experiment, which is written into the folder."""
    text = EXPERIMENT.replace("NUDGE", nudge).replace("SECONDS", str(seconds))
    (folder / "e.yaml").write_text(text)
    return ("trials", "serve", "e.yaml", *SERVED, *options)


@contextmanager
def served(folder: Path, *options: str, **experiment: Any) -> Iterator[Served]:
    with started(folder, *serve_in(folder, *options, **experiment)) as running:
        yield running


@contextmanager
def started(folder: Path, *command: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [program(), *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "SERVED_FROM": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    try:
        yield Served(process, folder)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


@asynccontextmanager
async def beside(server: AbstractContextManager[Served]) -> AsyncIterator[Served]:
    """A server that starts and ends in a thread of its own: it asks a shop that answers in ours."""
    running = await run_in_threadpool(server.__enter__)
    try:
        yield running
    finally:
        await run_in_threadpool(server.__exit__, None, None, None)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("guests")) as running:
        yield running


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_guides_curl_script_is_a_subject(shop: Served, tmp_path: Path) -> None:
    script = block("bash").replace("http://127.0.0.1:8080", shop.url)
    done = subprocess.run(
        ["bash", "-eu", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    trial = json.loads(done.stdout)
    assert trial["outcome"] == "choice"
    told = shop.ended()
    assert (told["trial"], told["outcome"]) == (trial["trial"], "choice")
    assert trial["urls"][0].endswith(f"/{told['choice']}.html")
    ((agent, choice),) = shop.rows(f"select agent, choice from trials where trial = '{told['trial']}'")
    assert (agent, choice) == ("tester", told["choice"])


@pytest.mark.browser
def test_the_guides_playwright_script_is_a_subject(shop: Served, tmp_path: Path) -> None:
    with sync_playwright() as playwright:
        executable = find_browser(playwright) or playwright.chromium.executable_path
    (tmp_path / "agent.py").write_text(block("python"))
    command = [sys.executable, "agent.py", shop.url, str(executable)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "choice"
    told = shop.ended()
    where = f"where trial = '{told['trial']}'"
    ((price,),) = shop.rows(f"select min(price) from options {where}")
    assert shop.rows(f"select price from options {where} and option = '{told['choice']}'") == [(price,)]
    assert shop.rows(f"select count(*) from receipts {where} and edit = 'show_rating_text'")[0][0] >= 2
    assert shop.rows(f"select count(*) from steps {where}")[0][0] >= 3


@pytest.mark.slow
def test_giving_up_is_no_choice_and_the_next_trial_begins(tmp_path: Path) -> None:
    with served(tmp_path) as shop, httpx.Client(proxy=shop.url) as guest:
        waiting = guest.get(f"{OWN}trial").json()
        assert (waiting["trial"], waiting["outcome"][:9]) == (None, "not begun")
        assert "Open http://souk.test/.souk/ to take one" in guest.get("http://elsewhere.test/").text
        assert guest.post(f"{OWN}next").headers["location"] == "/.souk/"
        first = guest.get(f"{OWN}trial").json()
        page = guest.get(first["urls"][0])
        assert "Rating: " in page.text
        assert guest.get("http://elsewhere.test/").status_code == 403
        assert guest.post(f"{OWN}end").status_code == 303
        assert shop.ended() == {
            "trial": first["trial"],
            "outcome": "no_choice",
            "choice": None,
            "reason": "the guest ended the trial",
        }
        where = f"where trial = '{first['trial']}'"
        ((url, seconds, sent),) = shop.rows(
            f"select url, seconds, (select count(*) from sent_pages {where} and step = 0) from steps {where}"
        )
        assert first["urls"][0].endswith(url.rpartition("/")[2])
        assert (seconds > 0, sent) == (True, 1)
        assert "This trial has ended" in guest.get(OWN).text
        assert guest.get(f"{OWN}nowhere").status_code == 404
        trials = [first["trial"]]
        while trial := guest.post(f"{OWN}next", headers=JSON).json()["trial"]:
            trials.append(trial)
        assert len(set(trials)) == len(trials)
        assert "All trials are done" in guest.get(OWN).text
        assert guest.get(first["urls"][0]).status_code == 403


@pytest.mark.slow
def test_nothing_is_lost_while_the_database_is_away(tmp_path: Path) -> None:
    with (
        served(tmp_path, "--db", "sqlite:///t.db?timeout=0.1") as shop,
        httpx.Client(proxy=shop.url) as guest,
        sqlite3.connect(tmp_path / "t.db", isolation_level=None) as other,
    ):
        first = guest.post(f"{OWN}next", headers=JSON).json()["trial"]
        other.execute("BEGIN IMMEDIATE")
        guest.post(f"{OWN}end")
        shop.said.next("waiting for the database")
        later = guest.post(f"{OWN}next", headers=JSON)
        assert later.status_code == 503
        assert "The records cannot be reached" in later.text
        other.execute("ROLLBACK")
        assert shop.ended() == {
            **{"trial": first, "outcome": "no_choice", "choice": None},
            "reason": "the guest ended the trial",
        }
        assert shop.rows("select trial from trials") == [(first,)]
        assert guest.post(f"{OWN}next", headers=JSON).json()["trial"] not in (first, None)


@pytest.mark.thorough
@pytest.mark.browser
def test_two_servers_of_one_experiment_give_each_trial_once(tmp_path: Path) -> None:
    with served(tmp_path) as one, served(tmp_path) as two:
        given = []
        for _ in range(6):
            for shop in (one, two):
                told = httpx.post(f"{OWN}next", proxy=shop.url, headers=JSON).json()
                given += [told["trial"]] if told["trial"] else []
        assert len(given) == len(set(given)) == 12, "all trials of the design, each to one guest"
        assert one.rows("select count(*) from claims where trial not in (select trial from trials)") >= [(1,)]
    assert one.rows("select count(*) from claims") == [(0,)], "what was not ended is free"
    ended = one.rows("select trial from trials")[0][0]
    refused = forked_souk(*serve_in(tmp_path, "--trial", ended), cwd=tmp_path)
    assert refused.status == 2
    assert refused.err.startswith(f"error: --trial {ended}: it has ended and is stored")


@pytest.mark.thorough
@pytest.mark.slow
def test_time_runs_out(tmp_path: Path) -> None:
    with served(tmp_path, seconds=1) as shop:
        for _ in range(2):  # one is a control
            trial = httpx.post(f"{OWN}next", proxy=shop.url, headers=JSON).json()
            told = shop.ended()
            assert (told["trial"], told["outcome"]) == (trial["trial"], "agent_limit")
    shop.said.next("best-seller: planned in 1 trial, but no page has a receipt of it")


BROKEN = """\
interventions:
  - id: nowhere
    kind: nudge
    family: none
    direction: +1
    edits: [{insert_text: {after: "css:#nowhere", text: x}}]
"""


@pytest.mark.slow
def test_a_page_that_cannot_be_treated_ends_the_trial(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(BROKEN)
    with served(tmp_path, nudge="./broken.yaml") as shop:
        with httpx.Client(proxy=shop.url, headers=JSON) as guest:
            outcomes = set()
            for _ in range(6):
                trial = guest.post(f"{OWN}next").json()
                for url in trial["urls"]:
                    guest.get(url)
                guest.post(f"{OWN}end")
                outcomes.add(shop.ended()["outcome"])
        assert outcomes == {"treatment_failed", "no_choice"}  # a control carries no nudge


@pytest.mark.thorough
@pytest.mark.slow
def test_cookies_tell_subjects_apart_where_the_proxy_stands_for_the_shop(tmp_path: Path) -> None:
    """Each is led on by the name that it typed."""
    with served(tmp_path, "--reverse", "shop") as shop:
        assert httpx.get(shop.url).status_code == 403
        typed = shop.url.replace("127.0.0.1", "localhost")
        with (
            httpx.Client(base_url=typed, follow_redirects=True) as one,
            httpx.Client(base_url=shop.url) as two,
        ):
            assert "Begin" in one.get("/.souk/").text
            assert "Your task" in one.post("/.souk/next").text
            trials = [one.get("/.souk/trial").json(), two.post("/.souk/next", headers=JSON).json()]
            assert trials[0]["trial"] != trials[1]["trial"]
            url = trials[0]["urls"][0]
            assert url.startswith(typed)
            page = one.get(url)
            assert "Rating: " in page.text
            form = dict(re.findall(r'<input[^>]*name="(form_key|product)"[^>]*value="([^"]*)"', page.text))
            action = re.search(r'action="([^"]*checkout/cart/add[^"]*)"', page.text)
            assert action
            assert action[1].startswith(typed)
            one.post(action[1], data=form | {"qty": "1"})
            assert one.get("/.souk/trial").json()["outcome"] == "choice"
            assert two.get("/.souk/trial").json()["outcome"] == ""
            assert shop.ended()["trial"] == trials[0]["trial"]
            # The next trial begins with an empty cart.
            assert one.cookies.get("PHPSESSID")
            one.post("/.souk/next")
            assert one.cookies.get("PHPSESSID") is None


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--shop", "--reverse"])
async def test_a_shop_without_the_start_pages_is_refused_in_one_line(how: str, tmp_path: Path) -> None:
    async with serve(ForeignShop().app()) as address:
        command = serve_in(tmp_path, how, address.rstrip("/"))
        ended = await run_in_threadpool(forked_souk, *command, cwd=tmp_path)
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1), ended.err
    assert re.match(
        rf"error: e\.yaml:\d+:\d+: environment: \S+ could not be treated at {address}\S+: it is no page",
        ended.err,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trial", "nope"], "--trial nope: no trial of this experiment"),
        (["--reverse", "http://x/y"], "http://x/y/: not the origin of a shop"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, options: list[str], message: str) -> None:
    ended = forked_souk(*serve_in(tmp_path, *options), cwd=tmp_path)
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"error: {message}")


@pytest.mark.thorough
@pytest.mark.slow
def test_a_subject_past_the_proxy_is_told_so(tmp_path: Path) -> None:
    with served(tmp_path) as shop, httpx.Client(proxy=shop.url, headers=JSON) as guest:
        trial = guest.post(f"{OWN}next").json()
        assert trial["note"] == ""
        said = shop.said.next(
            r"trial (\w+): No page of the shop has come through the proxy yet\. Open (\S+) "
        )
        assert (said[1], said[2]) == (trial["trial"], "http://shop.souk.test/")
        note = guest.get(f"{OWN}trial").json()["note"]
        assert note.startswith("No page of the shop has come through the proxy yet.")
        assert note.split(". ")[0] in guest.get(OWN, headers={"accept": "text/html"}).text
        assert guest.get(trial["urls"][0]).status_code == 200
        assert guest.get(f"{OWN}trial").json()["note"] == ""


class PoliteShop(ForeignShop):
    """A shop with a strict policy that sells at once, and knows no other address than its own."""

    def __init__(self) -> None:
        super().__init__(extra='<form method="post" action="/order"><button>Place order</button></form>')
        self.orders = 0
        self.heard: list[tuple[str, str, str]] = []

    async def answer(self, request: Request) -> Response:
        heard = [request.headers.get(name, "") for name in ("host", "referer", "origin")]
        self.heard.append((heard[0], heard[1], heard[2]))
        self.orders += request.url.path == "/order"
        if request.url.path.startswith("/start/"):
            answer: Response = RedirectResponse(f"{request.base_url}products{request.url.path[6:]}")
            answer.set_cookie("visitor", "7", domain=request.url.hostname)
            return answer
        answer = await super().answer(request)
        answer.headers["content-security-policy"] = "default-src 'self'; script-src 'self'"
        return answer


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("way", usual([[], ["--reverse"]], 1))
async def test_what_is_never_pressed_ends_the_trial_of_a_guest_of_another_shop(
    way: list[str], tmp_path: Path
) -> None:
    shop = PoliteShop()

    async def visit(running: Served, proxy: str | None, start: str) -> None:
        async with run_browsers() as browsers:
            pool = await browsers.browser()
            for number in range(size(3, 6)):
                # As every agent's defaults: addresses of this machine go past the proxy.
                settings = {"server": proxy} if proxy else None
                context = await pool.new_context(proxy=settings)  # type: ignore[arg-type]
                page = await context.new_page()
                await page.goto(f"{start}/.souk/")
                await page.click("text=Begin" if number == 0 or not proxy else "text=Next trial")
                async with context.expect_page() as opened:
                    await page.click("text=Product 2")
                product = await opened.value
                assert ("visitor", "7") in {(each["name"], each["value"]) for each in await context.cookies()}
                await product.click("text=Place order", no_wait_after=True)
                await product.wait_for_selector("text=This trial has ended")
                assert shop.orders == 0
                told = await run_in_threadpool(running.ended)
                assert (told["outcome"], told["reason"]) == (
                    "no_choice",
                    "about to press what stop_before names",
                )
                await context.close()

    async with serve(shop.app()) as address:
        experiment(tmp_path, shop, address, page="start/${key}")
        options = [*way, address.rstrip("/")] if way else []
        command = ("trials", "serve", "foreign.yaml", *SERVED, *options)
        async with beside(started(tmp_path, *command)) as running:
            start = running.url if way else "http://souk.test"
            await visit(running, None if way else running.url, start)
        conditions = running.rows("SELECT condition, count(*) FROM trials GROUP BY 1 ORDER BY 1")
    assert conditions == [("control", size(1, 2)), ("nudged", size(2, 4))]
    assert running.rows("SELECT count(*) FROM receipts WHERE intervention = 'praised'")[0][0] > 0
    host = address.split("/")[2]
    assert {heard[0] for heard in shop.heard} == {host}
    assert not [heard for heard in shop.heard if "souk" in "".join(heard[1:])]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_job_in_the_background_ends_without_a_word_while_guests_are_connected(tmp_path: Path) -> None:
    """Shells start such jobs with Ctrl-C ignored, which an interpreter of its own finds."""
    background = 'trap "" INT; exec "$0" "$@"'
    command = (sys.executable, "-m", "experiments.cli", "trials", "serve", "nudges")
    process = subprocess.Popen(
        ["sh", "-c", background, *command, "--db", "sqlite:///t.db", "--port", "0"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    shop = Served(process, tmp_path)
    with ExitStack() as open_connections:
        for _ in range(5):
            guest = open_connections.enter_context(httpx.Client(proxy=shop.url, headers=JSON))
            url = guest.post(f"{OWN}next").json()["urls"][0]
            assert guest.get(url).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
    with pytest.raises(AssertionError, match=r"no Traceback in \["):
        shop.said.next("Traceback")


@pytest.mark.thorough
@pytest.mark.slow
async def test_the_shops_own_addresses_become_those_of_the_name(tmp_path: Path) -> None:
    """Redirects, cookies and headers, with and without TLS, for a guest that keeps to the proxy's rules."""
    shop = PoliteShop()

    def visit(running: Served) -> None:
        settings = {"proxy": running.url, "verify": False}
        with httpx.Client(**settings, headers=JSON) as guest:  # type: ignore[arg-type]
            trial = guest.post(f"{OWN}next").json()
            for scheme in ("http", "https"):
                url = trial["urls"][0].replace("http://", f"{scheme}://")
                assert url.startswith(f"{scheme}://shop.souk.test/start/")
                moved = guest.get(url)
                assert moved.headers["location"].startswith(f"{scheme}://shop.souk.test/products/")
                assert "domain" not in moved.headers["set-cookie"].lower()
                sent = {
                    "referer": moved.headers["location"],
                    "origin": f"{scheme}://shop.souk.test",
                    "accept": "text/html",
                }
                page = guest.get(moved.headers["location"], headers=sent)
                assert "Rating: " in page.text
            assert guest.cookies.get("visitor") == "7"

    async with serve(shop.app()) as address:
        experiment(tmp_path, shop, address, page="start/${key}")
        async with beside(started(tmp_path, "trials", "serve", "foreign.yaml", *SERVED)) as running:
            await run_in_threadpool(visit, running)
    host = address.split("/")[2]
    pages = [heard for heard in shop.heard if heard[1]]
    assert len(pages) == 2
    for heard in pages:
        assert heard[0] == host
        assert heard[1].startswith(f"{address}products/")
        assert heard[2] == address.rstrip("/")
