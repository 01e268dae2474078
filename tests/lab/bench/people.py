"""A page of a study with fifty people at once, against the same page without Souk."""

import asyncio
import re
import statistics
import tempfile
import time
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from random import Random
from typing import Any

import httpx
import yaml

from environments.shop.shop import Shop
from experiments.people.serving import served
from experiments.people.study_file import PeopleStudy
from experiments.records.store import Records
from tests.experiments.people.study_files import study_file
from tests.lab.bench.proxied import HOST, Announce, process
from tests.lab.bench.result import Result
from tests.lab.bench.timing import describe

PEOPLE = 50
EACH_S = 2.0
"""A person asks for a page about so often, as somebody does who looks quickly."""
ROUNDS = 20
GOAL_MS = 10.0

DEVICE = "1280,800,0"
TEXT = "Our guests like this one best."
EDITS: list[dict[str, Any]] = [
    {"insert_text": {"after": "product.title", "text": TEXT}},
    {"set_price": 12.5},
    {"set_rating": 90},
    {"set_reviews": 321},
]
_FRAME = re.compile(r'<iframe[^>]*src="([^"]+)"')


async def run() -> Result:
    """The shop and the study in processes of their own; one program is all people."""
    with ExitStack() as stack:
        study, shop = stack.enter_context(process(serve_study))
        return await compare(f"http://{HOST}:{study}", f"http://{HOST}:{shop}")


async def compare(study: str, shop: str) -> Result:
    """Let each person ask for a treated page of the own trial, now through Souk, now without it."""
    async with AsyncExitStack() as stack:
        people = [
            await stack.enter_async_context(httpx.AsyncClient(timeout=60, follow_redirects=True))
            for _ in range(PEOPLE)
        ]
        paths = [await begun(person, study) for person in people]
        seconds: dict[str, list[float]] = {"through the study": [], "without Souk": []}

        async def ask(at: int, to: str, name: str, random: Random) -> None:
            await asyncio.sleep(random.uniform(0, EACH_S))
            began = time.perf_counter()
            page = await people[at].get(to + paths[at], headers={"sec-fetch-dest": "iframe"})
            seconds[name].append(time.perf_counter() - began)
            is_treated = TEXT.encode() in page.content
            assert page.status_code == 200 and is_treated == (to == study), page.url

        random = Random(0)
        for number in range(-2, 2 * ROUNDS):
            to, name = ((study, "through the study"), (shop, "without Souk"))[number % 2]
            await asyncio.gather(*(ask(at, to, name, random) for at in range(PEOPLE)))
            if number == -1:
                seconds = {each: [] for each in seconds}  # the first pages warm up
    p50 = {name: statistics.median(values) * 1000 for name, values in seconds.items()}
    more = p50["through the study"] - p50["without Souk"]
    return Result(
        what="a page of a study with fifty people at once, with four edits",
        against="the same page from the shop itself",
        figure=f"{more:+.1f} ms at p50",
        goal=f"at most {GOAL_MS:g} ms more at p50",
        reached=more <= GOAL_MS,
        times=tuple((f"{name}, p50", describe(values)) for name, values in seconds.items()),
        how=(
            f"`souk study serve` with the embedded shop, in a process of its own, and {PEOPLE} people in one"
            " program, each in a trial whose page has a text, a price, a rating and a number of reviews"
            f" changed. Each asks for the page once in {EACH_S:g} seconds, at a time that is drawn, over a"
            f" connection that is kept, {ROUNDS} times through the study and {ROUNDS} times, in turn, from"
            " the shop; timed is one request with its whole answer. The benchmark checks that the page is"
            " treated through the study, and only there."
        ),
        notes=(
            "People, study and shop share the machine's cores.",
            "The study also finds out whose browser asks, and adds the script that observes.",
        ),
    )


async def begun(person: httpx.AsyncClient, study: str) -> str:
    """Take part, and begin a trial; return the path of the treated product's page."""
    root = f"{study}/.souk/"
    await person.post(f"{root}consent", data={"device": DEVICE, "button": "agree", "agree": "yes"})
    await person.post(f"{root}next", data={"stage": "instructions"})
    page = await person.post(f"{root}start")
    for path in _FRAME.findall(page.text):
        shown = await person.get(study + path, headers={"sec-fetch-dest": "iframe"})
        if TEXT in shown.text:
            return str(path)
    raise AssertionError("no page of the trial is treated")


async def serve_study(announce: Announce) -> None:
    """A study whose trials are all treated."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        edits = {"id": "best", "kind": "nudge", "family": "social proof", "direction": 1, "edits": EDITS}
        (own / "best.yaml").write_text(yaml.safe_dump({"interventions": [edits]}))
        nudge = {"interventions": "best.yaml", "on": ["each"]}
        experiment = {
            "name": "treated",
            "goal": "Buy one.",
            "options": {"pairing": "price-adjacent", "sets": 50},
        }
        experiment |= {"factors": {"nudge": nudge, "order": "both"}}
        (own / "treated.yaml").write_text(yaml.safe_dump(experiment))
        file = study_file(
            own, experiment="treated.yaml", block={"trials": 1}, source=None, check=None, reasons=False,
            participants={"target": PEOPLE, "spare": 0.0}, questions=None,
        )  # fmt: skip
        records = Records(f"sqlite:///{own}/t.db")
        async with (
            Shop().opened() as shop,
            served(PeopleStudy.load(file), records, 0, reverse=shop) as there,
        ):
            announce(*(httpx.URL(url).port for url in (there.address, shop)))
            await asyncio.Event().wait()
