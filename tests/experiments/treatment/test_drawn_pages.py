"""Pages that scripts draw: a trial counts only where a reader in the browser saw the edits at each look."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import BrowserContext
from starlette.concurrency import run_in_threadpool

from agents.base import Agent, Decision
from environments.browser.pool import BrowserPool, run_browsers
from environments.observation import settling
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.treatment.sent_pages import made_again, sent_pages
from experiments.treatment.trajectory import Trajectory
from interventions.yaml.yaml_source import parse_yaml
from proxy.server import Proxy, run_proxy
from proxy.session import Session
from tests.experiments.command_line import forked_souk
from tests.experiments.drawn_shop import (
    DATA,
    EDITS,
    KINDS,
    NEW,
    NUDGE,
    READ,
    SITE,
    STORY,
    UNDONE,
    DrawnShop,
    Glance,
    experiment,
)
from tests.support import serve, usual

pytestmark = pytest.mark.browser


class Reader:
    """An agent that has each look read by the reader, and then buys."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self.glances: list[Glance] = []

    async def act(self, observation: Observation) -> Decision:
        path, text = await self._context.pages[observation.active_tab].evaluate(READ)
        self.glances.append(Glance(path.rpartition("/")[2], text))
        if self.glances[1:] or len(observation.tabs) == 1:
            before, found, _ = observation.html.partition(">Buy</")
            if not found:
                return Decision("", "", Action("scroll", (0.0, 0.0)))
            return Decision("", "", Action("click", (before.rpartition('bid="')[2].partition('"')[0],)))
        return Decision("", "", Action("tab_focus", (0,)))


class Stage(NamedTuple):
    proxy: Proxy
    browsers: BrowserPool
    folder: Path


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with run_proxy(tmp_path_factory.mktemp("ca")) as proxy, run_browsers(proxy.spki) as browsers:
        yield Stage(proxy, browsers, tmp_path_factory.mktemp("drawn"))


async def run(
    stage: Stage,
    shop: DrawnShop,
    *,
    site: dict[str, Any] = SITE,
    edits: list[dict[str, Any]] = EDITS,
    carrier: str | None = "harbour-lamp",
) -> tuple[str, str, list[Glance], Session]:
    """Run one trial; returns its outcome, the reason, what was seen at each look, and the session."""
    agents = list[Reader]()

    def agent(context: BrowserContext) -> Reader:
        agents.append(Reader(context))
        return agents[0]

    trajectory, session = await carry_out(stage, shop, agent, site=site, edits=edits, carrier=carrier)
    return trajectory.outcome or "", trajectory.reason, agents[0].glances, session


async def carry_out(
    stage: Stage,
    shop: DrawnShop,
    agent: Callable[[BrowserContext], Agent],
    *,
    site: dict[str, Any],
    edits: list[dict[str, Any]],
    carrier: str | None = "harbour-lamp",
    **more: Any,
) -> tuple[Trajectory, Session]:
    """Run one trial with an agent; `more` of its experiment."""
    async with serve(shop.app()) as address:
        file = experiment(stage.folder, address, site, edits, **more)
        made = ShopDesign(parse_yaml(file.read_text(), str(file)))
        trial = next(each for each in made.trials(made.experiment.agents) if each.carrier == carrier)
        runner = ShopTrialRunner(made, address)
        slot = await stage.proxy.open_slot()
        slot.session = session = runner.session(trial)
        async with stage.browsers.context(slot.url) as context:
            trajectory = await runner.episode(trial, agent(context), context, session)
    rows, texts = sent_pages(session)
    assert [made_again(row, texts.get).problem for row in rows] == [""] * len(rows)
    return trajectory, session


@pytest.mark.thorough
@pytest.mark.parametrize("kind", usual(KINDS, 5))
async def test_a_choice_counts_only_where_the_edits_were_seen(
    kind: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind in UNDONE:
        monkeypatch.setattr(settling, "SETTLE_SECONDS", 0.7)
    # Of half of the shops that are well it is known what their data are.
    site = SITE | {"data": DATA if kind in UNDONE or [*KINDS].index(kind) % 2 else ()}
    outcome, reason, glances, session = await run(stage, DrawnShop(kind), site=site)
    assert outcome == ("treatment_failed" if kind in UNDONE else "choice"), reason
    if outcome == "choice":
        assert any(page.came for page in session.sent), "what scripts have drawn is kept as it was drawn"
        assert len(glances) == 2
        for glance in glances:
            if glance.product == "harbour-lamp":
                assert glance.is_treated("1,299"), glance
            else:
                assert NUDGE not in glance.text and "$1,249.00" in glance.text, glance


TAKES_OVER = """
self.__next_f = [];
setTimeout(async () => {
  const main = document.querySelector("main"), own = document.createElement("div");
  own.innerHTML = product(await load(`/api/lamps/${slug()}`));
  const [sent, drawn] = [main, own].map((each) => each.textContent.replace(/\\s/g, ""));
  if (sent !== drawn) {
    main.replaceWith(own.firstChild);
    reportError(new Error("Hydration failed"));
  }
  for (const each of document.querySelectorAll("*")) each.__reactFiber$1 = {};
}, 300);"""


async def test_edits_wait_until_react_has_taken_the_page_over(stage: Stage) -> None:
    """It compares what the server has sent with its data, and would report an edit as an error."""
    shop = DrawnShop("hydrated", script=TAKES_OVER)
    trajectory, _ = await carry_out(stage, shop, Reader, site=SITE, edits=EDITS)
    assert trajectory.outcome == "choice", trajectory.reason
    assert not [text for text in trajectory.page_errors if "Hydration" in text]


PRICE = [{"set_price": 949}]


@pytest.mark.parametrize("data", [(), DATA], ids=["nothing known", "data"])
async def test_a_shell_passes_where_its_data_carry_the_edit(data: Any, stage: Stage) -> None:
    site = SITE | {"drawn": False, "data": data}
    outcome, reason, glances, session = await run(stage, DrawnShop("shell"), site=site, edits=PRICE)
    assert outcome == ("choice" if data else "treatment_failed"), reason
    if data:
        assert {(each.role, each.after) for each in session.receipts} == {("data.price", "94900")}
        assert [NEW in each.text for each in glances] == [each.product == "harbour-lamp" for each in glances]


async def test_a_shell_whose_data_carry_no_text_is_not_treated(stage: Stage) -> None:
    site = SITE | {"drawn": False, "data": DATA}
    outcome, reason, _, _ = await run(stage, DrawnShop("shell"), site=site)
    assert outcome == "treatment_failed"
    assert "drawn: true" in reason


async def test_the_price_that_data_have_lost_can_be_struck(stage: Stage) -> None:
    edits: list[dict[str, Any]] = [{"set_price": 949}, {"strike_price": {}}]
    outcome, reason, glances, session = await run(stage, DrawnShop(), site=SITE | {"data": DATA}, edits=edits)
    assert outcome == "choice", reason
    assert "data.price" in {each.role for each in session.receipts}
    for glance in glances:
        assert ("$949.00was $1,299.00" in glance.text) == (glance.product == "harbour-lamp"), glance.text


async def test_without_edits_a_page_stays_as_its_scripts_draw_it(stage: Stage) -> None:
    outcome, reason, glances, session = await run(stage, DrawnShop("hydrated"), carrier=None)
    assert outcome == "choice", reason
    assert not session.receipts
    for glance in glances:
        assert NUDGE not in glance.text and STORY in glance.text and "In stock" in glance.text


async def test_souk_run_in_a_shop_that_scripts_draw(tmp_path: Path) -> None:
    async with serve(DrawnShop("shell").app()) as address:
        file = experiment(tmp_path, address, SITE | {"data": DATA}, EDITS)
        ended = await run_in_threadpool(
            forked_souk, "run", str(file), "--db", "sqlite:///t.db", "--limit", "3", cwd=tmp_path
        )
    assert ended.status == 0, ended.err
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        outcomes = connection.execute("SELECT outcome, count(*) FROM trials GROUP BY outcome").fetchall()
        roles = {role for (role,) in connection.execute("SELECT role FROM receipts")}
    assert outcomes == [("choice", 3)]
    assert roles >= {"product.title", "product.stock"}


async def test_what_scripts_draw_in_the_cart_is_a_choice(stage: Stage) -> None:
    """The shop's request is not known; the cart's row tells which product was added."""
    site = SITE | {
        "roles": SITE["roles"] | {"row": "p.in-cart", "row.link": {"css": "a", "attribute": "href"}},
        "choice": {"cart": "row"},
    }
    outcome, reason, _, session = await run(stage, DrawnShop("a cart on the page"), site=site)
    assert outcome == "choice", reason
    assert [(each.by, each.product) for each in session.added[:1]] == [("cart", "harbour-lamp")]
