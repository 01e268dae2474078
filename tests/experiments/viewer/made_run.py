"""A stored run, made without an agent, whose texts are given; and the viewer over it."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from mitmproxy import http
from selectolax.lexbor import LexborHTMLParser

from experiments.console.listener import listen
from experiments.records.record import RunFacts, TrialRecord, TrialRow
from experiments.records.store import Records
from experiments.treatment.sent_pages import sent_pages
from experiments.viewer.app import create_app
from interventions.apply.engine import PlaceMemory
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from proxy.addon import treat
from proxy.session import Session
from tests.experiments.records.test_store import a_record
from tests.interventions.shop_pages import HOST, HTML, KEY, product_page

RUN = "made-1"
PAGE = """<h1>A lamp</h1><h2>Best of all lamps</h2><button bid="7" type="submit">Add to Cart</button>"""


def trial(number: int, **changed: Any) -> TrialRow:
    """A row; of each field of `changed` the value is taken."""
    row: dict[str, Any] = {
        "run": RUN, "set": f"lamps-{number // 4}", "condition": "nudged" if number % 2 else "control",
        "nudge": "best", "nudge_text": "Best of all lamps", "family": "authority", "direction": 1,
        "ordering": "reversed" if number % 4 > 1 else "forward", "seed": number,
        "choice": "lamp-1" if number % 2 else "lamp-2",
        "started_at": f"2026-01-02T03:{number // 60 % 60:02d}:{number % 60:02d}.000+00:00",
        "seconds": float(number % 7), "steps": number % 5, "tokens_in": number, "tokens_out": 1,
        "cost": None if number % 3 == 0 else number / 1000,
    }  # fmt: skip
    return replace(a_record(f"{number:032x}").trial, **{**row, **changed})


def record(row: TrialRow, page: str = PAGE, text: str = "") -> TrialRecord:
    """A record with two options and one step, whose page and texts are given."""
    base = a_record(row.trial, page=page)
    options = [
        option
        | {
            "option": f"lamp-{place + 1}", "name": f"{text}Lamp {place + 1}", "category": f"{text}Lamps",
            "price": 20.0 + place, "rating": 90.0, "reviews": 5, "viewed_first": 1 - place, "opened": None,
            "nudged": int(place == 0 and row.condition == "nudged"),
        }
        for place, option in enumerate(base.options)
    ]  # fmt: skip
    step = base.steps[0] | {
        "url": f"http://127.0.0.1:5/{text}", "thought": f"{text}I like lamp {row.seed}.", "memory": text,
        "action": "click('7')", "error": text,
    }  # fmt: skip
    receipt = {
        "number": 0, "intervention": f"{text}best", "edit": "insert_text", "role": "product.title",
        "page_type": "product", "product": "lamp-1", "matches": 1, "before": text,
        "after": "Best of all lamps", "page_hash_before": "0", "page_hash_after": "1",
    }  # fmt: skip
    return replace(base, trial=row, options=options, steps=[step], receipts=[receipt])


def with_order(base: TrialRecord, text: str = "") -> TrialRecord:
    """The trial with an order of a lamp and of something that nobody asked for, which is called `text`."""
    asked = {"intervention": text, "edit": "dialog", "shown_step": 0, "result": "declined", "times_shown": 2}
    lines = [
        ("A lamp", "lamp-1", "product", 1020.0, 1, "product"),
        (text, "", "option", 4.99, 0, "checkout"),
    ]
    names = ("label", "product", "kind", "amount", "wanted", "first_seen_on")
    facts = {"ordered": 1, "accepted": 0, "deceived": 1, "shown_at": 1}
    order = {"number": "7", "currency": "USD", "advertised_total": 1020.0, "placed_total": 1024.99}
    return replace(
        base,
        orders=[{**order, "last_stage": "order"}],
        order_lines=[{**dict(zip(names, line, strict=True)), "quantity": 1} for line in lines],
        outcomes=[{"name": name, "value": float(value)} for name, value in facts.items()],
        dialogs=[asked],
    )


def with_sent_page(base: TrialRecord, extra: str = "") -> TrialRecord:
    """The trial with two looks at a page that holds `extra`, and in which the proxy has changed the price."""
    url, price = f"{HOST}{KEY}.html", edit_from_dict({"set_price": 5})
    session = Session(Plan((Treatment("cheap", KEY, (price,)),)), load_site_map("onestopmarket"))
    response = http.Response.make(200, product_page(extra=extra), {"content-type": HTML})
    treat(http.Request.make("GET", url), response, session, PlaceMemory())
    rows, texts = sent_pages(session)
    return replace(
        base,
        steps=[{**base.steps[0], "step": number, "url": f"{url}#{number}"} for number in range(2)],
        receipts=[{**asdict(each), "number": number} for number, each in enumerate(session.receipts)],
        sent_pages=rows,
        artifacts=base.artifacts | texts,
    )


def stored(url: str, made: Sequence[TrialRecord]) -> Records:
    """A database with these trials."""
    records = Records(url)
    facts = RunFacts(
        experiment={"name": "made", "mode": "page", "goal": "Buy a lamp."},
        agents=["simulated:balanced"],
        versions={"souk": "0"},
        inputs={},
    )
    records.begin_run(RUN, "made", facts)
    records.save(*made)
    return records


@contextmanager
def viewing(records: Records, url: str) -> Iterator[str]:
    """The viewer in a thread; its address, without the last slash."""
    listener = listen(0)
    config = uvicorn.Config(create_app(records, url), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        listener.close()


def screen(folder: Path, shown: TrialRecord, path: str = "") -> LexborHTMLParser:
    """The screen of a stored trial, or what is below it."""
    records = stored(url := sqlite(folder), [shown])
    with viewing(records, url) as address:
        answer = httpx.get(f"{address}/runs/{RUN}/trials/{shown.trial.trial}{path}", trust_env=False)
    assert answer.status_code == 200
    return LexborHTMLParser(answer.text)


def sqlite(folder: Path) -> str:
    """The URL of a database in a folder."""
    return f"sqlite:///{folder}/t.db"
