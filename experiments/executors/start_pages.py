"""Check before the first trial that the proxy knows each start page as its product's.

A start page that it does not know would not be treated.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response

from environments.browser.download import download
from environments.browser.through_proxy import BrowserFailure
from environments.episode import Episode
from environments.protocol.actions import Action
from environments.shop.shop import Shop
from experiments.console.terminal import stderr_console, waiting
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import allowed, known, start_urls
from experiments.executors.browser import Testbed, open_testbed
from experiments.records.page_figures import differences, figure_row
from experiments.records.record import Row
from interventions.apply.following import left_behind
from interventions.apply.mapped_page import MappedPage
from interventions.apply.plan import Plan
from interventions.apply.product_json import Document
from interventions.authoring.page_facts import ShownFacts, shown_on
from interventions.errors import CannotEdit, UserError
from interventions.html.content_type import is_html
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap
from proxy.allow_list import AllowList
from proxy.session import Session
from proxy.trust import ADVICE, is_untrusted, trusting

TOGETHER: Final = 8
"""The number of requests at the same time."""
TIMEOUT_S: Final = 20.0
MOST_HOPS: Final = 10
GONE: Final = (404, 410)
_LOOKED_AT: Final = 500
"""In how many trials a new price is looked for."""


@dataclass(frozen=True, slots=True)
class StartPage:
    """The page that a start address leads to.

    `problem`: why it certainly leads to no page.
    """

    address: str
    kind: str = ""
    body: bytes = b""
    problem: str = ""


async def check_start_pages(
    design: ShopDesign,
    trials: Iterable[ShopTrial],
    shop: Shop,
    *,
    upstream_ca: Path | None = None,
    in_browser: bool = True,
    strict: bool = False,
) -> None:
    """Find for each start page of these trials whose page the proxy takes it for, and what it shows.

    Each is fetched once. Where that gives another page than the product's, it is opened once as a trial does
    (`in_browser`): a shop may answer programs otherwise, or lead on by a script. A shop that cannot be
    reached, or does not answer programs, is left to the trials, which tell what is wrong. The embedded shop's
    pages are known. Where the start pages lead is noted in the design (`led`). Where the
    catalogue differs from them, one line for each kind says so. Of trials that begin with a whole list of
    another shop, one line says if the list shows nothing of the choice set.

    Raises:
        UserError: a start page is not known as its product's, or the shop's certificate is not trusted; with
            `strict`: the catalogue differs from the pages.
    """
    if design.experiment.task != "compare-tabs":
        return await _check_lists(design, trials, shop.url or "", upstream_ca, strict)
    if (base_url := shop.url) is None:
        options = design.experiment.options
        named = options.catalogue or options.file
        _tell(list(_embedded(design, trials, shop)) if named else [], strict)
        return
    key = _where(design)
    allow, free = allowed(design, base_url), asyncio.Semaphore(TOGETHER)
    context = trusting(upstream_ca)
    suspected: dict[str, list[tuple[str, UserError]]] = {}
    figures: dict[str, Row] = {}

    async def fetch(session: Session, url: str) -> StartPage | None:
        async with free, httpx.AsyncClient(verify=context, timeout=TIMEOUT_S, trust_env=False) as client:
            return await _fetch(client, session, allow, url)

    async def read(trial: ShopTrial) -> None:
        session = Session(Plan(), design.site, known=known(design, trial, base_url))
        urls = start_urls(base_url, trial)
        pages = await asyncio.gather(*(fetch(session, url) for url in urls))
        for product, url, page in zip(trial.products, urls, pages, strict=True):
            problem, shown = _read(session, page, product.key, design) if page else ("", None)
            if shown:
                figures[product.key] = figure_row(design.products[product.key], shown)
            if problem:
                error = design.source.error(key, f"{product.key} could not be treated at {url}: it {problem}")
                suspected.setdefault(trial.set, []).append((product.key, error))
            elif page and prices and (said := left_behind(_page(page), design.site)):
                left.append(f"{url}: {said}")
        design.led.update((key, product) for key, product in session.known.items() if product)

    async def look(trial: ShopTrial, testbed: Testbed) -> None:
        async with free:
            shown = await _shown(testbed, design, trial, base_url, allow)
        for product, error in suspected[trial.set]:
            if product not in shown:
                raise error

    every, left = list(trials), list[str]()
    first = {trial.set: trial for trial in every}
    plans = (design.plan(trial) for trial in every[:_LOOKED_AT])
    prices = any(
        "price" in edit.values() for plan in plans for each in plan.treatments for edit in each.edits
    )
    try:
        with waiting(f"looking at the start pages of {base_url} ..."):
            await _together(read(trial) for trial in first.values())
    except httpx.HTTPError as error:
        if is_untrusted(error):
            raise UserError(f"{base_url}: {ADVICE}") from None
    _tell_left(left)
    if suspected and not in_browser and not design.site.drawn:
        raise next(iter(suspected.values()))[0][1]
    if suspected and in_browser:
        said = f"opening start pages of {base_url} in the browser ..."
        with waiting(said), TemporaryDirectory(prefix="souk-start-") as folder:
            async with open_testbed(Path(folder), shop, upstream_ca) as testbed:
                await _together(look(first[name], testbed) for name in suspected)
    _tell(list(figures.values()), strict)


async def _check_lists(
    design: ShopDesign, trials: Iterable[ShopTrial], base_url: str, upstream_ca: Path | None, strict: bool
) -> None:
    """Say what the cards of whole lists of another shop show otherwise than the catalogue, or not at all."""
    if not base_url or not design.experiment.shows_whole_lists or design.experiment.task == "search":
        return
    context = trusting(upstream_ca)
    figures, left = dict[str, Row](), list[str]()
    first = {trial.set: trial for trial in trials}
    async with httpx.AsyncClient(verify=context, timeout=TIMEOUT_S, trust_env=False) as client:
        for trial in first.values():
            session = Session(Plan(), design.site, known=known(design, trial, base_url))
            (url,) = start_urls(base_url, trial)
            try:
                page = await _fetch(client, session, allowed(design, base_url), url)
                view = MappedPage(_page(page), design.site, known=session.known) if page else None
                cards = {key: shown for key, _, shown in shown_on(view)} if view else {}
            except CannotEdit:
                cards = {}
            except httpx.HTTPError as error:
                if is_untrusted(error):
                    raise UserError(f"{base_url}: {ADVICE}") from None
                continue
            mine = [product for product in trial.products if product.key in cards]
            figures |= {each.key: figure_row(design.products[each.key], cards[each.key]) for each in mine}
            if page and not mine and not design.site.drawn:
                left.append(f"{url} shows none of the {len(trial.products)} products of {trial.set}")
    _tell_left([f"{line}, as the site map {design.site.name} knows cards (item, item.link)" for line in left])
    _tell(list(figures.values()), strict)


def _tell(figures: Sequence[Row], strict: bool) -> None:
    """Say where the catalogue differs from the pages. Raises UserError where that is refused."""
    lines = differences(figures)
    if lines and strict:
        raise UserError(f"--strict: {lines[0]}")
    for line in lines:
        stderr_console().print(line, style="yellow", highlight=False, markup=False, soft_wrap=True)


def _embedded(design: ShopDesign, trials: Iterable[ShopTrial], shop: Shop) -> Iterator[Row]:
    """What the embedded shop's pages show of the products. Raises UserError where it has no such page."""
    sold = {f"{product.key}.html": product for product in shop.catalogue.products}
    starts = {
        product.key: path for each in trials for product, path in zip(each.products, each.start, strict=True)
    }
    missing = [path for path in starts.values() if path not in sold]
    if missing:
        raise design.source.error(
            ("options",),
            f"{len(missing):,} of {len(starts):,} products are not in the embedded shop, as {missing[0]}; "
            "name the shop of the catalogue (environment: https://...), or leave out options.catalogue",
        )
    for key, path in starts.items():
        its = sold[path]
        shown = ShownFacts(its.name, None, its.price, its.rating, its.reviews)
        yield figure_row(design.products[key], shown)


def _where(design: ShopDesign) -> tuple[str, ...]:
    """The key that says where products' pages are."""
    return ("page",) if design.experiment.says_page else ("environment",)


async def _together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run them at the same time; where one raises, the others end too."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _shown(
    testbed: Testbed, design: ShopDesign, trial: ShopTrial, base_url: str, allow: AllowList
) -> set[str]:
    """The products whose own pages, or data for them, pass when the start pages are opened as in a trial."""
    everywhere = Plan(tuple(each for each in design.plan(trial).treatments if each.product is None))
    session = Session(everywhere, design.site, allow, known=known(design, trial, base_url))
    slot = await testbed.proxy.open_slot()
    slot.session = session
    answers, data = list[Response](), list[tuple[str, str]]()

    def note(answer: Response) -> None:
        if design.site.loads(answer.url):
            answers.append(answer)

    with suppress(PlaywrightError, BrowserFailure):  # what has not come was not shown
        async with testbed.browsers.context(slot.url) as context:
            context.on("response", note)
            episode = Episode(context, trial.goal, site=design.site)
            await episode.open(start_urls(base_url, trial))
            for tab in range(len(trial.products)):  # each is waited for while it is the active one
                await episode.act(Action("tab_focus", (tab,)))
            data = [(answer.url, await answer.text()) for answer in answers]
    slot.session = None
    drawn = [page.parsed for page in (*session.pages, *session.as_sent.values()) if page.drawn]
    views = [MappedPage(page, design.site, known=session.known) for page in drawn if page]
    return {
        *(page.product for page in session.pages if page.product),
        *(view.product for view in views if view.product),
        *(session.known.get(key, key) for url, text in data for key in _in_data(url, text, design.site)),
    }


def _in_data(url: str, text: str, site: SiteMap) -> list[str]:
    """The products that an answer in JSON shows."""
    try:
        document = Document(text)
    except CannotEdit:
        return []
    return [key for data in site.data_at(url) for key, _ in document.entries(data, url, query=site.query)]


async def _fetch(client: httpx.AsyncClient, session: Session, allow: AllowList, url: str) -> StartPage | None:
    """What an address leads to, noted in the session as the proxy does; None: a program is not told."""
    address = url
    for _ in range(MOST_HOPS):
        host = httpx.URL(address)
        if (host.host, host.port or (443 if host.scheme == "https" else 80)) not in allow:
            return StartPage(address, problem=f"leads to {host.host}, which is not named in live.allow")
        answer, body = await download(client, address, {"accept": "text/html,*/*;q=0.8"})
        location = answer.headers.get("location", "")
        if not (answer.is_redirect and location):
            break
        session.redirected(address, location)
        address = str(host.join(location))
    else:
        return StartPage(address, problem="leads from one address to the next without an end")
    if answer.status_code in GONE:
        return StartPage(address, problem=f"is no page (HTTP {answer.status_code})")
    if not answer.is_success:
        return None
    return StartPage(address, answer.headers.get("content-type", "text/html"), body)


def _tell_left(left: Sequence[str]) -> None:
    """Tell of amounts near a price that will not follow it."""
    if left:
        others = f" (and on {len(left) - 1} more start pages)" if len(left) > 1 else ""
        stderr_console().print(f"{left[0]}{others}", markup=False, highlight=False, soft_wrap=True)


def _page(page: StartPage) -> Page:
    return Page(page.body, page.kind, Marks(frozenset()), page.address)


def _read(
    session: Session, page: StartPage, product: str, design: ShopDesign
) -> tuple[str, ShownFacts | None]:
    """What is wrong with a start page of a product, and what it shows of this; the former may be empty."""
    if page.problem or not is_html(page.kind):
        return page.problem or f"is no page but {page.kind}", None
    try:
        view = MappedPage(_page(page), session.site, known=session.known)
        if view.product == product:
            return "", next((shown for key, _, shown in shown_on(view) if key == product), None)
    except CannotEdit as error:
        return f"cannot be read: {error}", None
    return _mistaken(session, page, view.product, design), None


def _mistaken(session: Session, page: StartPage, shown: str | None, design: ShopDesign) -> str:
    """What the proxy would take a start page for."""
    if shown is None:
        return f"is not a product's page as the site map {session.site.name} knows it (pages.product)"
    if not shown:
        path = urlsplit(page.address).path
        way = "write ${key} into the path of page, or " if design.experiment.says_page else ""
        return (
            f"has the path of other products' pages ({path}) and does not say which product it shows; {way}"
            f"give the site map {session.site.name} the role product.link: what on the page holds the "
            "product's key, or an address with that path"
        )
    return f"is the page of {shown}"
