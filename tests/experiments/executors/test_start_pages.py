"""A foreign shop by `souk run`: treated as the guide says, or refused before the first trial."""

import asyncio
import os
import re
import sqlite3
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
import yaml
from rich.console import Console
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from experiments.episodes.shop_episode import known
from experiments.executors.start_pages import check_start_pages
from experiments.records.store import Records
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.status import run_statuses
from interventions.errors import UserError
from tests.experiments.command_line import Ended, environment, forked_souk, program
from tests.experiments.foreign_shop import KEYS, NUDGE, WALL, ForeignShop, design, experiment
from tests.support import serve, usual

pytestmark = pytest.mark.usefixtures("one_driver")


def run_in(folder: Path, file: Path, *more: str, limit: int = 12) -> Ended:
    """The command `souk run` of an experiment's file."""
    options = ("--limit", str(limit), "--db", "sqlite:///t.db", "--out", "out")
    return forked_souk("run", str(file), *options, *more, cwd=folder)


async def run(folder: Path, shop: ForeignShop, limit: int = 12, **how: Any) -> Ended:
    async with serve(shop.app()) as address:
        file = experiment(folder, shop, address, **how)
        return await run_in_threadpool(run_in, folder, file, limit=limit)


async def ran(folder: Path, shop: ForeignShop, **how: Any) -> ExperimentRun:
    """A run of three trials to its end without a complaint; of the nudged ones each was treated."""
    async with serve(shop.app()) as address:
        file = str(experiment(folder, shop, address, **how))
        run = ExperimentRun(file, agents=None, limit=3, db=f"sqlite:///{folder}/t.db", out=folder / "out")
        await run.run(Console(quiet=True))
    assert [*run.complaints()] == []
    assert query(folder, "SELECT outcome, count(*) FROM trials GROUP BY 1") == [("choice", 3)]
    trials = query(folder, "SELECT trial FROM trials WHERE condition = 'nudged'")
    treated = query(folder, "SELECT DISTINCT trial FROM receipts WHERE intervention = 'praised'")
    assert len(trials) == 2
    assert sorted(treated) == sorted(trials)
    return run


def query(folder: Path, statement: str) -> list[Any]:
    with sqlite3.connect(folder / "t.db") as connection:
        return connection.execute(statement).fetchall()


CARRIED = (
    "SELECT count(*) FROM receipts JOIN options USING (run, trial) "
    "WHERE intervention = 'praised' AND nudged AND product = option"
)
ELSEWHERE = """<title>Cookies</title><p>One moment</p>
<script>document.cookie = 'human=1; path=/'; location.replace('PATH?from=wall')</script>"""
TREATED: dict[str, tuple[ForeignShop, dict[str, Any]]] = {
    "the guide's example": (ForeignShop(), {"page": "products/${key}"}),
    "an address of its own": (ForeignShop(canonical="/products/KEY"), {"page": "products/${key}"}),
    "a wall that leads elsewhere": (ForeignShop(wall=ELSEWHERE), {}),
    "a wall that comes again": (ForeignShop(wall=WALL), {}),
}


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(TREATED, 3))
async def test_a_shop_as_the_guide_wants_it_is_treated(kind: str, tmp_path: Path) -> None:
    shop, how = TREATED[kind]
    await ran(tmp_path, shop, **how)
    assert query(tmp_path, CARRIED) == [(2,)]
    assert query(tmp_path, "SELECT count(*) FROM unchecked") == [(0,)]


@pytest.mark.browser
async def test_a_shop_that_answers_programs_otherwise_is_looked_at_in_the_browser(tmp_path: Path) -> None:
    class NotForPrograms(ForeignShop):
        async def answer(self, request: Request) -> Response:
            if "httpx" in request.headers["user-agent"]:
                return HTMLResponse("<title>No robots</title>", status_code=404)
            return await super().answer(request)

    async with serve(NotForPrograms().app()) as address:
        made = design(experiment(tmp_path, ForeignShop(), address))
        trials = list(made.trials(["simulated:balanced"]))
        await check_start_pages(made, trials, made.shop)
        with pytest.raises(UserError, match=r"could not be treated at \S+: it is no page \(HTTP 404\)"):
            await check_start_pages(made, trials, made.shop, in_browser=False)


@pytest.mark.thorough
@pytest.mark.browser
async def test_one_path_for_all_products_works_where_the_site_map_says_what_names_them(
    tmp_path: Path,
) -> None:
    shop = ForeignShop(extra='<p class="sku">KEY</p>', moved="/item?id=KEY")
    refused = await run(tmp_path, shop)
    assert refused.status == 2
    assert "which product it shows; give the site map onestopmarket the role product.link:" in refused.err
    (tmp_path / "own.yaml").write_text("name: own\nextends: onestopmarket\nroles: {product.link: p.sku}\n")
    await ran(tmp_path, shop, site="own.yaml")


ANYTHING, NOWHERE = ForeignShop(), {"page": "none/${key}"}
REFUSED: dict[str, tuple[ForeignShop, dict[str, Any], str]] = {
    "a redirect to one path": (
        ForeignShop(moved="/item?id=KEY"), {}, "has the path of other products' pages (/item)"
    ),
    "no such page": (ANYTHING, NOWHERE, "is no page (HTTP 404)"),
    "no product's page": (
        ANYTHING, {"site": "none.yaml"}, "is not a product's page as the site map none knows it"
    ),
    "one page for both": (ForeignShop(canonical=f"/{KEYS[0]}.html"), {}, f"is the page of {KEYS[0]}"),
    "another host": (
        ForeignShop(moved="http://elsewhere.test/KEY"), {}, "elsewhere.test, which is not named in"
    ),
    "a wall that stays": (ForeignShop(wall="<title>Are you human?</title>"), {}, "is not a product's page"),
    "no such page behind a wall": (ForeignShop(wall=WALL), NOWHERE, "is not a product's page"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", usual(REFUSED, 4))
async def test_what_could_not_be_treated_is_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    shop, how, message = REFUSED[kind]
    (tmp_path / "none.yaml").write_text(
        "name: none\nextends: onestopmarket\npages: {product: body.no-such-page}\n"
    )
    ended = await run(tmp_path, shop, **how)
    assert ended.status == 2, ended.err
    lines = [line for line in ended.err.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert "foreign.yaml:" in lines[0]
    assert message in lines[0]
    assert "Traceback" not in ended.err
    assert query(tmp_path, "SELECT count(*) FROM trials") == [(0,)]


@pytest.mark.parametrize("is_down", [True, False])
async def test_a_shop_that_does_not_answer_programs_is_left_to_the_trials(
    is_down: bool, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serve(ForeignShop(status=403).app()))
        if is_down:
            await stack.aclose()
        made = design(experiment(tmp_path, ForeignShop(), address))
        await check_start_pages(made, made.trials(["simulated:balanced"]), made.shop)


@pytest.mark.slow
@pytest.mark.parametrize("lost", range(4))
async def test_each_product_of_each_set_is_looked_for(lost: int, tmp_path: Path) -> None:
    names = ["Harbour Desk Lamp", "Cedar Reading Lamp", "Rye Floor Lamp", "Oak Wall Lamp"]
    shop = ForeignShop(names={name.lower().replace(" ", "-"): name for name in names})
    options = {"catalogue": str(tmp_path / "products.csv"), "set_size": 2, "sets": 2, "max_rating_gap": 1}
    async with serve(shop.app()) as address:
        made = design(experiment(tmp_path, shop, address, options=options))
        assert len(made.sets) == 2
        del shop.names[key := list(shop.names)[lost]]
        with pytest.raises(UserError, match=f"{key} could not be treated at "):
            trials = made.trials(["simulated:balanced"])
            await check_start_pages(made, trials, made.shop, in_browser=False)


@pytest.mark.thorough
@pytest.mark.browser
async def test_an_intervention_that_no_page_has_got_is_told(tmp_path: Path) -> None:
    ended = await run(tmp_path, ForeignShop(), limit=3, pages=["cart"])
    assert ended.status == 1, ended.err
    told = "praised: planned in 2 trials, but no page has a receipt of it"
    assert told in ended.err
    assert told in " ".join(ended.out.split())
    report = (tmp_path / "out" / "report.html").read_text()
    assert f"{told}: its trials count as treated without a proof" in report
    (status,) = run_statuses(Records(f"sqlite:///{tmp_path}/t.db"))
    assert status.unreceived == {"praised": 2}
    assert told in forked_souk("status", "--db", "sqlite:///t.db", cwd=tmp_path).out
    assert query(tmp_path, "SELECT outcome, count(*) FROM trials GROUP BY 1") == [("choice", 3)]


PLAIN_MAP = """name: plain
pages: {product: .product-info-main}
roles:
  product.title: h1.page-title
  product.name: h1 .base
  product.price: .price
  product.option: .options-list .choice
choice: {message: {css: .message-success, says: "You added ${product} to your"}}
"""
"""A map without stars, ratings and stock."""


def test_a_dry_run_says_what_the_map_lacks(tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text(PLAIN_MAP)
    edits = [{"set_stock": "Only 2 left"}, {"insert_text": {"after": "product.title", "text": NUDGE}}]
    file = experiment(
        tmp_path, ForeignShop(), "http://127.0.0.1:9/", edits, site="plain.yaml", match=["reviews", "price"]
    )
    ended = forked_souk("run", str(file), "--dry-run", cwd=tmp_path)
    assert ended.status == 0, ended.err
    rest = "needs on a product's page: no such page can be treated; add it to the map"
    said = [line for line in ended.err.splitlines() if "has no role product." in line]
    assert said[:2] == [
        f"the site map plain has no role product.stock, which praised {rest}",
        f"the site map plain has no role product.reviews, which match-reviews {rest}",
    ]
    assert said[2].startswith("ratings are not added as text: the site map plain has no role product.stars")
    assert len(said) == 3


def test_a_rating_that_stands_as_text_is_not_written_beside_it_again(tmp_path: Path) -> None:
    stars = "  product.stars: .rating-summary\n  product.rating: {css: '.rating-summary b', scale: 5}\nchoice"
    (tmp_path / "plain.yaml").write_text(PLAIN_MAP.replace("\nchoice:", f"\n{stars}:", 1))
    file = experiment(tmp_path, ForeignShop(), "http://127.0.0.1:9/", site="plain.yaml")
    ended = forked_souk("run", str(file), "--dry-run", cwd=tmp_path)
    assert ended.status == 0, ended.err
    assert "ratings are not added as text: they are one on the pages (plain: product.rating)" in ended.err
    made = design(file)
    plan = made.plan(next(iter(made.trials(["simulated:balanced"]))))
    assert "show-rating" not in {treatment.intervention for treatment in plan.treatments}


async def test_where_a_start_page_leads_is_known_before_it_is_opened(tmp_path: Path) -> None:
    """So a card is its product's on whatever page it is seen first; each page is asked for once."""
    shop = ForeignShop(moved="/shop/KEY-and-its-name")
    async with serve(shop.app()) as address:
        made = design(experiment(tmp_path, shop, address))
        trials = list(made.trials(["simulated:balanced"]))
        await check_start_pages(made, trials, made.shop)
    for trial in trials:
        places = known(made, trial, f"{address}/")
        assert [places[f"shop/{key}-and-its-name"] for key in KEYS] == list(KEYS)
    ways = [(f"/{key}.html", f"/shop/{key}-and-its-name") for key in KEYS]
    assert sorted(shop.asked) == sorted(path for way in ways for path in way)


async def test_a_terminal_says_what_is_waited_for(tmp_path: Path) -> None:
    """The shop answers only once the line stands on the terminal."""
    said, shop = asyncio.Event(), ForeignShop()

    async def answer(request: Request) -> Response:
        await said.wait()
        return HTMLResponse("<title>Not here</title>", status_code=404)

    def read(terminal: int) -> None:
        text = b""
        while b"looking at the start pages" not in text:
            text += os.read(terminal, 1000)

    app = Starlette(routes=[Route("/{path:path}", answer)])
    terminal, theirs = os.openpty()
    async with serve(app) as address:
        file = experiment(tmp_path, shop, address)
        command = (program(), "run", str(file), "--db", "sqlite:///t.db")
        process = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, env=environment({"TERM": "xterm"}), stderr=theirs
        )
        await run_in_threadpool(read, terminal)
        said.set()
        assert await process.wait() == 2
    os.close(terminal)
    os.close(theirs)


class PricedShop(ForeignShop):
    """A shop with a price for each product."""

    prices: ClassVar = dict(zip(KEYS, ("$52.40", "$49.90"), strict=True))

    def page(self, key: str, *, plain: bool = False, added: bool = False) -> str:
        self.price = self.prices[key]
        return super().page(key, plain=plain, added=added)


REVERSED = """key,category,name,price,rating,reviews
harbour-desk-lamp,Lamps,Harbour Desk Lamp,19.90,60,12
cedar-reading-lamp,Lamps,Cedar Reading Lamp,22.40,60,12
"""


@pytest.mark.browser
async def test_a_catalogue_that_the_pages_contradict_is_told_and_the_table_has_what_they_showed(
    tmp_path: Path,
) -> None:
    shop = PricedShop()
    async with serve(shop.app()) as address:
        edits = [{"insert_text": {"after": "product.title", "text": NUDGE}}, {"set_price": 33.33}]
        file = experiment(tmp_path, shop, address, edits)
        (tmp_path / "products.csv").write_text(REVERSED)
        refused = await run_in_threadpool(run_in, tmp_path, file, "--strict", limit=3)
        assert query(tmp_path, "SELECT count(*) FROM trials") == [(0,)]
        ended = await run_in_threadpool(run_in, tmp_path, file, limit=3)
    price = "price: 2 of 2 products are otherwise in the catalogue than on the shop's page: "
    example = "cedar-reading-lamp has 22.4 there and 49.9 on its page"
    assert refused.status == 2 and f"--strict: {price}" in refused.err
    assert ended.status == 0, ended.err
    lines = ended.err.splitlines()
    told = [number for number, line in enumerate(lines) if line.startswith(price) and example in line]
    assert len(told) == 2, ended.err
    assert sum(line.startswith("rating: 2 of 2 products") for line in lines) == 2
    assert not any(line.startswith(("reviews:", "title:")) for line in lines)
    forked_souk("export", "--db", "sqlite:///t.db", "--out", "table.csv", cwd=tmp_path)
    table = pd.read_csv(tmp_path / "table.csv")
    for _, row in table.iterrows():
        own = float(shop.prices[row["option"]][1:])
        nudged = row["nudged"] == 1
        assert row["price"] == (33.33 if nudged else own)
        some_nudged = row["condition"] == "nudged"
        assert row["cheaper"] == int(nudged if some_nudged else row["option"] == KEYS[1])
        assert (row["rating"], row["reviews"], row["catalogue_rating"]) == (80, 12, 60)
        assert row["catalogue_price"] == (19.9 if row["option"] == KEYS[0] else 22.4)
    sent = query(
        tmp_path, "SELECT DISTINCT option, sent_price, sent_rating, stock FROM options ORDER BY 1 DESC"
    )
    assert sent == [(KEYS[0], 52.4, 80, "In stock"), (KEYS[1], 49.9, 80, "In stock")]


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_choice_rule_that_never_matches_is_told_with_its_cause(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\nextends: onestopmarket\nchoice: {request: {path: /never}}\n"
    )
    shop = ForeignShop(press="fetch('/cart', {method: 'POST'})")
    ended = await run(tmp_path, shop, limit=3, site="own.yaml", limits={"steps": 4})
    assert ended.status == 1, ended.err
    cause = (
        r"3 of 3 trials ended as agent_limit: 4 actions without a choice; add to cart was pressed \d times"
    )
    assert re.search(f"{cause}, and no rule of choice was met \\(choice in the site map own\\)", ended.err)
    assert "0 of 3 trials ended in a choice (3 agent_limit); " in " ".join(ended.out.split())
    assert "every planned edit" not in ended.out


def test_a_catalogue_of_another_shop_is_refused_in_the_embedded_one(tmp_path: Path) -> None:
    file = experiment(tmp_path, ForeignShop(), "http://127.0.0.1:9/")
    data = yaml.safe_load(file.read_text())
    del data["environment"], data["live"]
    file.write_text(yaml.safe_dump(data))
    ended = forked_souk("run", str(file), cwd=tmp_path)
    assert ended.status == 2, ended.err
    assert "options: 2 of 2 products are not in the embedded shop, as " in ended.err
    assert "name the shop of the catalogue (environment: https://...)" in ended.err
    assert ended.err.count("\n") < 12 and "agent_limit" not in ended.err


HYDRATES = """
const SENT = ["page-title-wrapper product", "product-info-main", "", ""];
console.error("an error in all conditions at " + location.href);
if ([...document.querySelector("main").children].some((each, at) => each.className !== SENT[at])) {
  reportError(new Error("Hydration failed; visit https://shop.test/errors?text=" + Math.random()));
}
"""


@pytest.mark.browser
async def test_errors_that_only_treated_pages_report_are_told(tmp_path: Path) -> None:
    """Scripts that compare the page with what they know see the edit, and say so in the console."""
    shop = ForeignShop(script=HYDRATES)
    ended = await run(tmp_path, shop, limit=6, page="products/${key}")
    assert ended.status == 0, ended.err
    (told,) = [line for line in ended.err.splitlines() if "in its console" in line]
    assert told.startswith("in 4 of 4 trials of nudged and in none of control a page reports the error ")
    assert "'Hydration failed; visit https://shop.test/errors'" in told
    by = "SELECT condition, count(DISTINCT trial) FROM page_errors JOIN trials USING (run, trial) WHERE text "
    assert query(tmp_path, f"{by} LIKE 'an error in all%' GROUP BY 1") == [("control", 2), ("nudged", 4)]
    assert query(tmp_path, f"{by} LIKE '%Hydration%' GROUP BY 1") == [("nudged", 4)]
