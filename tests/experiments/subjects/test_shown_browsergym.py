"""A trial in BrowserGym counts only where its agent was shown each edit, and the old value nowhere."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("browsergym.core")

import gymnasium

from experiments.designs.loading import load_shop_design
from experiments.designs.shop.trial import ShopTrial
from experiments.records import tables
from experiments.subjects.browsergym import open_experiment
from tests.experiments.foreign_shop import NUDGE, ForeignShop, experiment
from tests.experiments.subjects.conftest import InThread
from tests.experiments.subjects.test_browsergym import rows
from tests.experiments.treatment.test_layers import LAYER
from tests.experiments.treatment.test_treatment_check import MOVED, put
from tests.support import serve

pytestmark = pytest.mark.browser

EDITS = [
    {"insert_text": {"after": "product.title", "text": NUDGE}},
    {"set_price": 9.99},
    {"set_reviews": 4321},
    {"banner": {"text": "Free delivery today"}},
]
PRESS = "page.click('#product-addtocart-button')"
BELOW = {"head": "<style>[class$=title-details]{position:relative;top:3000px}</style>"}
CARD = (
    '<ol><li class="product-item"><strong class="product-item-name">'
    '<a class="product-item-link" href="/KEY.html">KEY</a></strong>'
    '<div class="reviews-actions"><a class="action view">12 Reviews</a></div>'
    '<span class="price-wrapper" data-price-type="finalPrice"><span class="price">$19.99</span></span>'
    "</li></ol>"
)
ATTACKS: dict[str, tuple[dict[str, str], str]] = {
    "the old price below the fold": (
        {"script": "document.querySelector('#more').innerHTML = "
         "'<p style=\"margin-top:3000px\">Buy now for $19.99</p>'"}, "the old price too",
    ),
    "the reviews put back": ({"script": put("a.action.view", "12 Reviews")}, "set_reviews is gone"),
    "the banner removed": (
        {"script": "document.querySelector('.page-banner-details').remove()"}, "banner is gone",
    ),
    "another address": (MOVED["another address"], "insert_text is gone"),
    "the old price in a card": (
        {"extra": CARD, "script": "document.querySelector('li').append('now $19.99')"},
        "the old price too",
    ),
    "below the fold": (BELOW, "was not shown"),
    "white on white": (
        {"head": "<style>[class$=title-details]{color:white!important;background:white!important}</style>"},
        "was not shown",
    ),
}  # fmt: skip


@dataclass
class Gym:
    """One shop and one open experiment for all tests of this file, and trials that nobody has begun."""

    shop: ForeignShop
    tasks: Iterator[tuple[str, ShopTrial]]
    db: str
    in_thread: InThread

    async def buy(self, **options: Any) -> dict[str, Any]:
        """Buy what the tab shows that is active at the start, which is nudged; return the trial's row."""
        task, trial = next(self.tasks)
        await self.in_thread(self._buy, task, options)
        return next(row for row in rows(self.db, tables.trials) if row["trial"] == trial.id)

    def _buy(self, task: str, options: dict[str, Any]) -> None:
        env = gymnasium.make(task, **options)
        try:
            env.reset()
            if options:
                *_, info = env.step(PRESS)
            else:
                bid = env.unwrapped.page.locator("#product-addtocart-button").get_attribute("bid")
                *_, info = env.step(f"click('{bid}')")
            assert info["task_info"]["outcome"]
        finally:
            env.close()


@pytest.fixture(scope="module")
async def gym(tmp_path_factory: pytest.TempPathFactory, in_thread: InThread) -> AsyncIterator[Gym]:
    shop, folder, stack = ForeignShop(), tmp_path_factory.mktemp("gym"), ExitStack()
    db = f"sqlite:///{folder}/t.db"
    site = folder / "map.yaml"
    site.write_text("name: m\nextends: onestopmarket\ndismiss: {text: accept all}\n")
    async with serve(shop.app()) as address:
        file = str(experiment(folder, shop, address, EDITS, site=str(site), repeats=10))
        trials = list(load_shop_design(file, "tester").trials(["tester"]))
        opened = open_experiment(file, agent="tester", db=db)
        tasks = await in_thread(stack.enter_context, opened)
        nudged = (
            (task, trial)
            for task, trial in zip(tasks, trials, strict=True)
            if trial.carrier == trial.products[-1].key
        )
        yield Gym(shop, nudged, db, in_thread)
        await in_thread(stack.close)


@pytest.fixture
def shop(gym: Gym) -> ForeignShop:
    """The shop without anything that another test has made it do."""
    vars(gym.shop).update(vars(ForeignShop()))
    return gym.shop


@pytest.mark.thorough
async def test_a_layer_that_the_map_names_is_taken_away(gym: Gym, shop: ForeignShop) -> None:
    shop.script = LAYER.replace("160px", "100%").replace("}, 300)", "}, 0)")
    row = await gym.buy()
    assert row["outcome"] == "choice", row["reason"]


@pytest.mark.thorough
@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_a_page_undoes_or_hides_does_not_count(attack: str, gym: Gym, shop: ForeignShop) -> None:
    how, reason = ATTACKS[attack]
    vars(shop).update(how)
    row = await gym.buy()
    made = [each for each in rows(gym.db, tables.receipts) if each["trial"] == row["trial"]]
    assert {each["edit"] for each in made} >= {name for edit in EDITS for name in edit}
    assert row["outcome"] == "treatment_failed", row["reason"]
    assert reason in row["reason"]


async def test_an_agent_that_is_given_the_page_itself_may_read_all_of_it(gym: Gym, shop: ForeignShop) -> None:
    vars(shop).update(BELOW)
    row = await gym.buy(use_raw_page_output=True, action_mapping=lambda action: action)
    assert row["outcome"] == "choice", row["reason"]
