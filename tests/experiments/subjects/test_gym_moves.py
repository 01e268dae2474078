"""Generated ways of a page that moves and undoes its edit: no choice in BrowserGym counts against a view.

An agent there may read the HTML and look at the picture: the edit stands in both, the old value in none.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("browsergym.core")

import gymnasium
from browsergym.utils.obs import flatten_dom_to_str, prune_html

from experiments.designs.loading import load_shop_design
from experiments.records import tables
from experiments.subjects.browsergym import open_experiment
from tests.experiments.foreign_shop import ForeignShop, experiment
from tests.experiments.hostile_moves import RESTS, Case, case
from tests.experiments.subjects.conftest import InThread
from tests.experiments.subjects.test_browsergym import rows
from tests.journeys.screen import is_on_screen, is_read
from tests.support import serve, size

pytestmark = [pytest.mark.browser, pytest.mark.timeout(size(300, 3_600))]

BUY = "#product-addtocart-button"
LOOK = "scroll(0, 0)"


class Awaitable:
    """What Playwright's synchronous interface gives, with calls that can be awaited: the oracle awaits."""

    def __init__(self, given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._given, name)
        if not callable(found):
            return Awaitable(found)

        async def call(*arguments: Any, **options: Any) -> Any:
            plain = [each._given if isinstance(each, Awaitable) else each for each in arguments]
            answer = found(*plain, **options)
            return Awaitable(answer) if type(answer).__module__.startswith("playwright") else answer

        return call


def on_screen(page: Any, text: str) -> bool:
    """The oracle's answer; nothing in it waits, so one step leads to its end."""
    try:
        is_on_screen(Awaitable(page), text).send(None)  # type: ignore[arg-type]
    except StopIteration as end:
        return bool(end.value)
    raise AssertionError("the oracle waits for something")


def given(observation: dict[str, Any]) -> str:
    """The HTML that an agent is given, as BrowserGym's own functions write it."""
    more = observation["extra_element_properties"]
    return str(prune_html(flatten_dom_to_str(observation["dom_object"], more, filter_visible_only=True)))


def act(page: Any, deed: str, urls: Sequence[str]) -> str:
    """The action that a deed is."""
    match deed:
        case "":
            return LOOK
        case "goto":
            return f"goto({urls[0]!r})"
        case "other":
            return f"goto({urls[1]!r})"
        case "back":
            return "go_back()"
        case words:
            found = page.locator(BUY) if words == "Add to Cart" else page.get_by_text(words, exact=True)
            return f"click({found.get_attribute('bid')!r})" if found.count() else LOOK


def trial(task: str, made: Case) -> bool:
    """Carry out a trial; whether the edit, and nothing old, was in both views as the agent bought."""
    env = gymnasium.make(task)
    try:
        env.reset()
        own, urls = env.unwrapped, env.unwrapped.task.urls
        env.step("tab_focus(0)")
        for deed in ("", *made.reader, ""):
            observation, *_ = env.step(act(own.page, deed, urls))
            own.page.wait_for_function(RESTS)
        read, info = given(observation), {}
        while not info.get("outcome"):
            info = env.step(act(own.page, "Add to Cart", urls))[-1]["task_info"]
        shown, left = ((is_read(read, text), on_screen(own.page, text)) for text in (made.new, made.old))
        return all(shown) and not any(left)
    finally:
        env.close()


def carry_out(
    file: Path, db: str, shop: ForeignShop, cases: list[Case]
) -> list[tuple[Case, bool, dict[str, Any], bool]]:
    """A trial of each case: the case, the oracle, its row, whether the edited product was chosen."""
    trials, found = list(load_shop_design(str(file), "tester").trials(["tester"])), []
    with open_experiment(str(file), agent="tester", db=db) as tasks:
        edited = [
            (task, each)
            for task, each in zip(tasks, trials, strict=True)
            if each.carrier == each.products[0].key
        ]
        for made, (task, each) in zip(cases, edited, strict=False):
            vars(shop).update(vars(ForeignShop()) | made.shop)
            shown = trial(task, made)
            row = next(row for row in rows(db, tables.trials) if row["trial"] == each.id)
            found.append((made, shown, row, row["choice"] == each.carrier))
    return found


@pytest.mark.thorough
async def test_no_choice_counts_that_html_or_picture_belies(in_thread: InThread, tmp_path: Path) -> None:
    rng, honest, wrong = random.Random("gym"), 0, []
    cases = [case(rng, honest=number % 2 == 1) for number in range(size(3, 100))]
    shop = ForeignShop()
    async with serve(shop.app()) as address:
        for number, edits in enumerate({str(made.edits): made.edits for made in cases}.values()):
            folder = tmp_path / str(number)
            folder.mkdir()
            limits = {"steps": 12, "seconds": 86_400}
            file = experiment(folder, shop, address, edits, repeats=len(cases), limits=limits)
            same = [made for made in cases if made.edits == edits]
            db = f"sqlite:///{folder}/t.db"
            for made, shown, row, edited in await in_thread(carry_out, file, db, shop, same):
                counts = row["outcome"] == "choice"
                if (counts and edited and not shown) or (made.honest and shown and not counts):
                    wrong.append((made.name, shown, row["outcome"], row["reason"]))
                honest += made.honest and counts
    assert not wrong
    assert honest, "no choice on an honest page"
