"""A person's page is an agent's in the same trial, to the byte, but for the observer, form key and host."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

import httpx
import pytest

from environments.shop.shop import Shop
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner, start_urls
from experiments.people.register import participants
from experiments.people.serving import ServedStudy, served
from experiments.people.study_file import PeopleStudy
from experiments.records.store import Records
from proxy import keys
from proxy.server import run_proxy
from proxy.session import Session
from tests.experiments.people.study_files import study_file
from tests.experiments.people.test_site import DEVICE
from tests.support import size

pytestmark = pytest.mark.slow

_SCRIPT: Final = rb'<script src="[^"]+" integrity="[^"]+"></script><script>(.*?)</script>'
OBSERVER: Final = re.compile(_SCRIPT, re.DOTALL)
PLACEBO: Final = """\
name: placebos
goal: Add the best product to the cart.
options: {sets: 20}
factors:
  nudge: {interventions: placebo, on: [none, each]}
  order: both
"""
TRIALS: Final = 8
_DESIGNS: Final = {
    "nudges": {"control", "nudged"},
    "placebos.yaml": {"control", "placebo"},
    "head-to-head": {"both"},
    "trios": {"control", "nudged"},
    "prices": {"control"},
}

Pages = list[tuple[bytes, str]]
"""Bodies without form key and host, and their types."""
Receipts = list[tuple[str, ...]]


@dataclass(frozen=True)
class Seen:
    """What was shown in a trial."""

    trial: ShopTrial
    urls: Sequence[str]
    pages: Pages
    receipts: Receipts


@pytest.mark.parametrize("seed", range(size(1, 6)))
@pytest.mark.parametrize("experiment", _DESIGNS)
async def test_a_page_of_a_person_is_that_of_an_agent(tmp_path: Path, experiment: str, seed: int) -> None:
    (tmp_path / "placebos.yaml").write_text(PLACEBO)
    file = study_file(
        tmp_path, experiment=experiment, seed=seed, block={"trials": TRIALS}, source=None, check=None,
        participants={"target": 10, "spare": 0.0}, reasons=False, questions=None,
    )  # fmt: skip
    records = Records(f"sqlite:///{tmp_path}/t.db")
    async with Shop().opened() as shop:
        async with served(PeopleStudy.load(file), records, 0, reverse=shop) as there:
            seen = await _as_a_person(there, shop, Random(seed))
        runner = ShopTrialRunner(there.design, shop)
        async with run_proxy(tmp_path / "agents") as proxy:
            slot = await proxy.open_slot()
            for each in seen:
                slot.session = session = runner.session(each.trial)
                assert await _as_an_agent(each, slot.url) == each.pages
                assert _receipts(session) == each.receipts
    records.close()
    trials = [each.trial for each in seen]
    assert {trial.condition for trial in trials} == _DESIGNS[experiment]
    assert {trial.ordering for trial in trials} == {"forward", "reversed"}
    carried = {p for trial in trials for p, each in enumerate(trial.products) if each.key == trial.carrier}
    places = range(3 if experiment == "trios" else 2) if experiment != "prices" else ()
    assert carried == set(places)
    assert all(each.receipts for each in seen)


async def _as_a_person(there: ServedStudy, shop: str, random: Random) -> list[Seen]:
    """Go through a block: in each trial see the products, the home page and a search.

    Each page has the observer besides, once, at its beginning.
    """
    found = []
    async with httpx.AsyncClient(base_url=there.address, follow_redirects=True, timeout=60) as person:
        await person.post("/.souk/consent", data={"device": DEVICE, "button": "agree", "agree": "yes"})
        await person.post("/.souk/next", data={"stage": "instructions"})
        for _ in range(TRIALS):
            await person.post("/.souk/start")
            (row,) = there.visits.register.rows(participants)
            running = there.visits.running(row)
            assert running
            trial, session = running.definition, running.session
            word = random.choice(trial.products[0].name.split())
            urls = [*start_urls(shop, trial), shop, urljoin(shop, f"catalogsearch/result/?q={quote(word)}")]
            pages = []
            for url in urls:
                path = urlsplit(url)._replace(scheme="", netloc="").geturl()
                page = await person.get(path, headers={"sec-fetch-dest": "iframe"})
                script = session.script.replace(keys.PLACE, session.key).encode()
                assert OBSERVER.findall(page.content) == [script]
                pages.append(_neutral(person, page, OBSERVER.sub(b"", page.content)))
            found.append(Seen(trial, urls, pages, _receipts(session)))
            await person.post("/.souk/end")
    return found


async def _as_an_agent(seen: Seen, proxy: str) -> Pages:
    """Ask for the same pages in the same order through an agent's port of the proxy."""
    async with httpx.AsyncClient(proxy=proxy, follow_redirects=True, timeout=60) as agent:
        answers = [await agent.get(url) for url in seen.urls]
        return [_neutral(agent, each, each.content) for each in answers]


def _neutral(client: httpx.AsyncClient, page: httpx.Response, body: bytes) -> tuple[bytes, str]:
    assert page.status_code == 200
    body = body.replace(client.cookies["form_key"].encode(), b"KEY")
    return body.replace(page.url.netloc, b"HOST"), page.headers["content-type"]


def _receipts(session: Session) -> Receipts:
    """The receipts of interventions: which edit, where, and what stood there before and after."""
    return [
        (each.intervention, each.edit, each.role, each.page_type, each.product, each.before, each.after)
        for each in session.receipts
        if each.intervention
    ]
