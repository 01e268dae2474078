"""A page through the rewriting proxy, against the same page through mitmproxy as it comes."""

import asyncio
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.options import Options
from mitmproxy.tools.dump import DumpMaster

from interventions.plan import Plan
from interventions.sitemap import load_site_map
from proxy.server import run_proxy
from proxy.session import Session
from tests.bench.page import Page, product_page
from tests.bench.result import Result
from tests.bench.rewriting import describe, facts, how
from tests.support import pages

SIZE = 126_000
WARM_UP = 100
REPETITIONS = 500
GOAL_MS = 3.0

HOST = "127.0.0.1"


async def run() -> Result:
    """One server, two proxies in processes of their own, one client that asks each in turn."""
    page = await product_page(SIZE)
    with ExitStack() as stack:
        (upstream,) = stack.enter_context(process(serve_page, page))
        (stock,) = stack.enter_context(process(serve_mitmproxy))
        rewriting, passing = stack.enter_context(process(serve_souk, page))
        url = f"http://{HOST}:{upstream}{urlsplit(page.url).path}"
        return compare(page, url, {"mitmproxy": stock, "Souk": rewriting, "Souk without a plan": passing})


def compare(page: Page, url: str, ports: dict[str, int]) -> Result:
    """Ask through each port in turn, over connections that are kept."""
    clients = {name: HTTPConnection(HOST, port, timeout=30) for name, port in ports.items()}
    seconds: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(WARM_UP):
        bodies = {name: get(client, url) for name, client in clients.items()}
    assert bodies["mitmproxy"] == bodies["Souk without a plan"] == page.body, "the page was changed"
    assert facts(bodies["Souk"]) != facts_before(page), "the page was not rewritten"
    for _ in range(REPETITIONS):
        for name, client in clients.items():
            began = time.perf_counter()
            get(client, url)
            seconds[name].append(time.perf_counter() - began)
    p50 = {name: statistics.median(values) * 1000 for name, values in seconds.items()}
    more = p50["Souk"] - p50["mitmproxy"]
    difference = f"{abs(more):.2f} ms {'more' if more > 0 else 'less'} at p50"
    return Result(
        what="a proxied page of 126 KB, rewritten with four edits",
        against="mitmproxy without an addon, nothing rewritten",
        figure=difference,
        goal=f"at most {GOAL_MS:g} ms more at p50",
        reached=more <= GOAL_MS,
        times=tuple((f"{name}, p50", describe(values)) for name, values in seconds.items()),
        how="",
        notes=(),
    )
