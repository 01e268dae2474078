"""Before the first trial: does the proxy know each start page as its product's? Else it treats none."""

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import httpx

from experiments.design import Design, Trial
from experiments.download import download
from experiments.trial import allowed, known, start_urls
from interventions.errors import CannotEdit
from interventions.marking import Marks
from interventions.media import is_html
from interventions.page import Page
from interventions.plan import Plan
from interventions.view import View
from interventions.yaml_source import Source
from proxy.session import AllowList, Session

TOGETHER: Final = 8
"""Requests at the same time."""
TIMEOUT_S: Final = 20.0
MOST_HOPS: Final = 10
GONE: Final = (404, 410)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a start address leads to; `problem`: why it leads to no page, if that is for sure."""

    address: str
    kind: str = ""
    body: bytes = b""
    problem: str = ""


async def check_start_pages(design: Design, trials: Iterable[Trial], source: Source) -> None:
    """Fetch the start pages of these trials, each once, and see whose pages the proxy takes them for.

    A shop that cannot be reached, or does not answer programs, is left to the trials, which tell what is
    wrong. The embedded shop's pages are known.

    Raises:
        UserError: a start page is not known as its product's.
    """
    base_url = design.base_url
    if base_url is None or design.experiment.task != "compare-tabs":
        return
    key = ("live", "page") if design.experiment.live else ("environment",)
    allow, free = allowed(design, base_url), asyncio.Semaphore(TOGETHER)
    context = ssl.create_default_context()

    async def fetch(session: Session, url: str) -> Fetched | None:
        async with free, httpx.AsyncClient(verify=context, timeout=TIMEOUT_S, trust_env=False) as client:
            return await _fetch(client, session, allow, url)

    async def check(trial: Trial) -> None:
        session = Session(Plan(), design.site, known=known(design, trial, base_url))
        urls = start_urls(base_url, trial)
        pages = await asyncio.gather(*(fetch(session, url) for url in urls))
        for product, url, page in zip(trial.products, urls, pages, strict=True):
            if page and (problem := page.problem or _mistaken(session, page, product.key)):
                raise source.error(key, f"{url} {problem}; {product.key} could not be treated there")

    first = {trial.set: trial for trial in trials}
    checks = [asyncio.create_task(check(trial)) for trial in first.values()]
    try:
        await asyncio.gather(*checks)
    except httpx.HTTPError:
        return
    finally:
        for each in checks:
            each.cancel()
        await asyncio.gather(*checks, return_exceptions=True)


async def _fetch(client: httpx.AsyncClient, session: Session, allow: AllowList, url: str) -> Fetched | None:
    """What an address leads to, noted in the session as the proxy does; None: a program is not told."""
    address = url
    for _ in range(MOST_HOPS):
        host = httpx.URL(address)
        if (host.host, host.port or (443 if host.scheme == "https" else 80)) not in allow:
            return Fetched(address, problem=f"leads to {host.host}, which is not named in live.allow")
        answer, body = await download(client, address, {"accept": "text/html,*/*;q=0.8"})
        location = answer.headers.get("location", "")
        if not (answer.is_redirect and location):
            break
        session.redirected(address, location)
        address = str(host.join(location))
    else:
        return Fetched(address, problem="leads from one address to the next without an end")
    if answer.status_code in GONE:
        return Fetched(address, problem=f"is no page (HTTP {answer.status_code})")
    if not answer.is_success:
        return None
    return Fetched(address, answer.headers.get("content-type", "text/html"), body)


def _mistaken(session: Session, page: Fetched, product: str) -> str:
    """What the proxy would take a start page for, if not for the page of the product."""
    if not is_html(page.kind):
        return f"is no page but {page.kind}"
    try:
        read = Page(page.body, page.kind, Marks(frozenset()), page.address)
        shown = View(read, session.site, known=session.known).product
    except CannotEdit as error:
        return f"cannot be read: {error}"
    if shown == product:
        return ""
    if shown is None:
        return f"is not a product's page as the site map {session.site.name} knows it"
    if not shown:
        return "is told from the pages of other products neither by its path nor by a link to itself"
    return f"is the page of {shown}"
