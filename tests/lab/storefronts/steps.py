"""The steps of the matrix: what a user does with a shop never seen before, by the command line."""

import asyncio
import json
import os
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext

from interventions.yaml.sitemap import load_site_map
from tests.experiments.certificates import certificates
from tests.experiments.command_line import environment, program
from tests.lab.storefronts.cases import NUDGE, Case
from tests.lab.storefronts.look import buy, faults, shown

PATIENCE_S = 400.0
JSON = {"accept": "application/json"}


class Failed(Exception):
    """A step did not do what it should; the message says what was seen."""


@dataclass(frozen=True)
class Shop:
    """A running shop, the files of an experiment in it, and a browser to look at it."""

    case: Case
    base: str
    folder: Path
    browser: Browser
    trials: int = 14
    """How many `souk run` runs."""


Step = Callable[[Shop], Awaitable[str]]


async def map_it(shop: Shop) -> str:
    """`souk interventions map`; says how much of the map that is used had to be written by hand."""
    out = shop.folder / "proposed.yaml"
    start, listing = shop.case.start_page(shop.base), shop.base + shop.case.listing
    render = ("--render",) if load_site_map(shop.case.site).drawn else ()
    await souk(shop, "interventions", "map", start, "--listing", listing, "--out", out, *render)
    roles = sum(bool(re.match(r"  [\w.]+: ", line)) for line in out.read_text().splitlines())
    lines = shop.case.by_hand(out.read_text())
    return f"{roles} proposed, {lines} by hand"


async def preview(shop: Shop) -> str:
    """`souk interventions preview` of the three edits."""
    receipts = 0
    for edit in ("text", "price", "third"):
        done = await souk(
            shop, "interventions", "preview", "edits.yaml", edit, shop.case.start_page(shop.base),
            "--site", shop.case.site, "--json",
        )  # fmt: skip
        receipts += len(json.loads(done)["receipts"])
    return f"{receipts} receipts"


async def regular(shop: Shop) -> str:
    """`souk proxy serve`, and a browser that uses it."""
    async with proxy(shop, "--allow", shop.base) as (url, told), context(shop, url) as browser:
        return await _look(browser, shop, shop.base, told)


async def reverse(shop: Shop) -> str:
    """`souk proxy serve --reverse`, and a browser without any setting."""
    async with proxy(shop, "--reverse", shop.base) as (url, told), context(shop) as browser:
        return await _look(browser, shop, url + "/", told)


async def https(shop: Shop) -> str:
    """The shop behind a TLS server of its own certificate, which speaks HTTP/2; both kinds of proxy."""
    async with tls(shop) as (base, authority, log):
        options = ("--upstream-ca", authority)
        async with proxy(shop, "--allow", base, *options) as (url, told), context(shop, url) as browser:
            await _look(browser, shop, base, told)
        # A browser that speaks HTTP/1.1 to the proxy in the shop's place is spoken for in HTTP/1.1.
        protocols = Counter(log.read_text().split())
        async with proxy(shop, "--reverse", base, *options) as (url, told), context(shop) as browser:
            await _look(browser, shop, url + "/", told)
    if set(protocols) != {"HTTP/2.0"}:
        raise Failed(f"not all requests came as HTTP/2: {dict(protocols)}")
    return f"{protocols.total()} requests"


async def run(shop: Shop) -> str:
    """`souk run` with a simulated shopper, from trials to effects."""
    done = await souk(
        shop, "run", "experiment.yaml", "--agent", "simulated:balanced", "--limit", str(shop.trials),
        "--db", "sqlite:///run.db", "--out", "out", status=(0, 1),
    )  # fmt: skip
    with closing(sqlite3.connect(shop.folder / "run.db")) as records:
        ended = Counter(outcome for (outcome,) in records.execute("SELECT outcome FROM trials"))
        (receipts,) = records.execute("SELECT count(*) FROM receipts").fetchone()
    told = _told(shop.folder / "run.db", ended)
    if not receipts or "Nudged" not in done:
        raise Failed(f"{told}, {receipts} receipts, and no table of effects")
    return f"{told}, {receipts} receipts"


def _told(db: Path, ended: Counter[str]) -> str:
    """How trials have ended. Raises Failed unless all are choices, and each nudge of them has a receipt."""
    told = ", ".join(f"{count} {outcome}" for outcome, count in ended.most_common())
    with closing(sqlite3.connect(db)) as records:
        if set(ended) != {"choice"}:
            query = "SELECT reason FROM trials WHERE outcome != 'choice' AND reason != ''"
            (reason,) = records.execute(query).fetchone() or ("no reason",)
            raise Failed(f"{told}: {reason}")
        bare = records.execute(
            "SELECT nudge FROM trials WHERE condition = 'nudged' AND NOT EXISTS "
            "(SELECT * FROM receipts WHERE trial = trials.trial AND intervention = trials.nudge)"
        ).fetchall()
    if bare:
        raise Failed(f"{told}; without a receipt: {', '.join(nudge for (nudge,) in bare)}")
    return told


async def guest(shop: Shop) -> str:
    """`souk trials serve`, and a plain Playwright script that buys the first product.

    Fails also where it has seen a nudge in a trial for which none was planned, or none where it was.
    """
    outcomes: Counter[str] = Counter()
    seen: dict[str, bool] = {}
    command = ("trials", "serve", "experiment.yaml", "--as", "guest", "--db", "sqlite:///guest.db")
    async with served(shop, *command) as (url, _):
        for _ in range(4):
            async with context(shop, url, bypass="") as browser:
                trial = await (await browser.request.post("http://souk.test/.souk/next", headers=JSON)).json()
                page = await browser.new_page()
                for address in reversed(trial["urls"]):
                    await page.goto(address, wait_until="networkidle")
                    sees = await shown(page.get_by_text(NUDGE), patience_ms=0)
                    seen[trial["trial"]] = seen.get(trial["trial"], False) or sees
                try:
                    await buy(page, shop.case)
                finally:
                    trial = await _ended(browser)
                if not trial["outcome"]:
                    await browser.request.post("http://souk.test/.souk/end", headers=JSON)
                outcomes[trial["outcome"] or "no outcome"] += 1
    told = _told(shop.folder / "guest.db", outcomes)
    with closing(sqlite3.connect(shop.folder / "guest.db")) as records:
        planned = dict(records.execute("SELECT trial, condition = 'nudged' AND nudge = 'text' FROM trials"))
    if wrong := [trial for trial in seen if seen[trial] != planned[trial]]:
        raise Failed(f"{told}; of {len(wrong)} the nudge was seen otherwise than planned")
    return told


async def _ended(guest: BrowserContext) -> dict[str, Any]:
    """The guest's trial once it has an outcome, which a page that scripts draw may give it later."""
    for _ in range(100):
        answer = await guest.request.get("http://souk.test/.souk/trial", headers=JSON)
        trial: dict[str, Any] = await answer.json()
        if trial["outcome"]:
            break
        await asyncio.sleep(0.1)
    return trial


STEPS: dict[str, Step] = {
    "map": map_it,
    "preview": preview,
    "regular": regular,
    "reverse": reverse,
    "HTTPS, h2": https,
    "souk run": run,
    "guest": guest,
}


async def _look(browser: BrowserContext, shop: Shop, base: str, told: list[str]) -> str:
    found = await faults(await browser.new_page(), base, shop.case)
    if found:
        lines = [json.loads(line) for line in told if "treatment_failed" in line]
        reasons = dict.fromkeys(line["treatment_failed"] for line in lines)
        causes = f" ({'; '.join(reasons)})" if reasons else ""
        raise Failed("; ".join(f"{view}: {fault}" for view, fault in found.items()) + causes)
    return "all right"


async def souk(shop: Shop, *arguments: str | Path, status: tuple[int, ...] = (0,)) -> str:
    """Run a command in the shop's folder; returns its standard output. Raises Failed."""
    process = await _start(shop, *arguments)
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Failed(f"souk {arguments[0]} did not end in {PATIENCE_S:.0f} s") from None
    if process.returncode not in status:
        raise Failed(_error(err.decode().splitlines()))
    return out.decode()


@asynccontextmanager
async def proxy(shop: Shop, *options: str | Path) -> AsyncIterator[tuple[str, list[str]]]:
    """`souk proxy serve` with the three edits for a block: its address, and what it tells."""
    async with served(
        shop, "proxy", "serve", "-i", "edits.yaml", "--site", shop.case.site, *options
    ) as running:
        yield running


@asynccontextmanager
async def served(shop: Shop, *options: str | Path) -> AsyncIterator[tuple[str, list[str]]]:
    process = await _start(shop, *options, "--port", "0")
    assert process.stderr
    assert process.stdout
    said: list[str] = []
    told: list[str] = []
    try:
        while line := (await asyncio.wait_for(process.stderr.readline(), 60)).decode():
            said.append(line.strip())
            if found := re.search(r"souk proxy(?: on|: open) (http://[^\s:]+:\d+)", line):
                break
        else:
            raise Failed(_error(said))
        reading = asyncio.gather(_read(process.stderr, said), _read(process.stdout, told))
        yield found[1], told
        process.terminate()
        await reading
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _read(stream: asyncio.StreamReader, lines: list[str]) -> None:
    async for line in stream:
        lines.append(line.decode().strip())


def _error(said: list[str]) -> str:
    lines = [line.strip() for line in said if line.strip()]
    return next((line for line in lines if "error:" in line), lines[-1] if lines else "no message")


async def _start(shop: Shop, *arguments: str | Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        program(), *map(str, arguments), cwd=shop.folder, env=environment({}),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=1 << 24,
    )  # fmt: skip


@asynccontextmanager
async def context(shop: Shop, url: str = "", bypass: str = "<-loopback>") -> AsyncIterator[BrowserContext]:
    """A fresh browser profile, behind a proxy where one is named."""
    proxied = await shop.browser.new_context(
        proxy={"server": url, "bypass": bypass} if url else None, ignore_https_errors=True
    )
    try:
        yield proxied
    finally:
        await proxied.close()


@asynccontextmanager
async def tls(shop: Shop) -> AsyncIterator[tuple[str, Path, Path]]:
    """nginx as the shop's TLS server: its address, the authority, a log of each request's protocol.

    A shop that was told its own address, such as EverShop, is given this one.
    """
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise Failed("nginx is not installed")
    folder = shop.folder / "tls"
    folder.mkdir()
    authority, certificate = certificates(folder)
    port, log = _free_port(), folder / "protocols.log"
    (folder / "nginx.conf").write_text(f"""\
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  log_format protocol $server_protocol;
  access_log {log} protocol;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {certificate}; ssl_certificate_key {certificate};
    location / {{
      proxy_pass {shop.base}; proxy_http_version 1.1;
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;
      proxy_set_header Accept-Encoding "";
      sub_filter {shop.base.rstrip("/")} https://127.0.0.1:{port}; sub_filter_once off; sub_filter_types *;
    }}
  }}
}}
""")
    process = await asyncio.create_subprocess_exec(program, "-c", folder / "nginx.conf", "-p", folder)
    try:
        await _listens(port, process)
        yield f"https://127.0.0.1:{port}/", authority, log
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _listens(port: int, process: asyncio.subprocess.Process) -> None:
    for _ in range(200):
        if process.returncode is not None:
            break
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.close()
        return
    raise Failed("nginx does not listen")
