"""Each kind of edit in each shop and modality: the trial of an honest page counts."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from environments.observation.views import VIEWS, Modality
from environments.shop.shop import Shop
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.treatment.trajectory import Trajectory
from interventions.edits.registry import EDITS, edit_from_dict
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml
from tests.lab.storefronts.cases import Case, cases, write
from tests.lab.storefronts.install import is_installed
from tests.lab.storefronts.shops import running
from tests.support import THOROUGH

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AGENT: Final = "simulated:looker"
HIDDEN: Final = {("plone", "set_stock"), ("plone", "rewrite_text")}
"""What a shop shows only under a pointer."""
BOXES: Final = {"collapse"}
"""What needs a box that can hold others: only the embedded shop has its price in one."""
MOST: Final = 25
"""How many trials a shop has before it is started again: it has 31 of what is bought."""
CASES: Final[dict[str, list[dict[str, Any]]]] = {
    "insert_text": [{"insert_text": {"after": "product.price_box", "text": "Only today"}}],
    "badge": [{"badge": {"text": "Best seller"}}],
    "banner": [{"banner": {"text": "Free returns"}}],
    "countdown": [{"countdown": {"minutes": 15, "text": "Offer ends in {time}"}}],
    "set_title": [{"set_title": "Pier Lamp of Oak"}],
    "set_price": [{"set_price": 17.99}],
    "strike_price": [{"set_price": 17.99}, {"strike_price": {}}],
    "set_rating": [{"set_rating": 94}],
    "set_reviews": [{"set_reviews": 1204}],
    "set_stock": [{"set_stock": "Only 3 left"}],
    "set_image": [{"set_image": "/not-there.png"}],
    "remove": [{"remove": "product.stars"}],
    "set_attribute": [{"set_attribute": {"role": "product.title", "name": "title", "value": "Loved"}}],
    "hidden_text": [
        {"hidden_text": {"channel": channel, "text": "Loved by many"}}
        for channel in ("title", "off-screen", "meta", "json-ld")
    ],
    "rewrite_text": [{"rewrite_text": {"in": "product.stock", "text": "Ships soon", "facts": "free"}}],
    "collapse": [{"collapse": {"role": "product.price_box", "label": "Price"}}],
    "unit_price": [{"set_price": 17.99}, {"unit_price": {"content": 250, "unit": "g"}}],
    "style": [{"style": {"role": "product.title", "background": "yellow"}}],
    "show_rating_text": [{"insert_text": {"before": "product.title", "text": "Stars in words"}}],
}
ELSEWHERE: Final = {"ask", "hide_option", "reorder", "replace_text", "review", "set_default", "swap"} | {
    *("results", "sort_default", "insert_item", "link_to"),
    *("fee", "order_total", "add_line", "checkout_option", "dialog", "require_step"),
}
"""They need a card, a product with options, a list, words of one product, or a checkout."""
EMBEDDED: Final = "embedded"
PICTURE: Final = "/media/catalog/product/cache/1240a4684403b160e6597a653a88f56c/B/0/B0Q0ZOZAIV.0.svg"
"""That of another product of the embedded shop."""
EXPERIMENT: Final = {
    "name": "edited",
    "goal": "Add the best product to the cart.",
    "options": {"pairing": "price-adjacent", "set_size": 2, "sets": 1},
}
USUAL: Final = [
    (EMBEDDED, "set_rating", "screenshot"),
    (EMBEDDED, "set_image", "screenshot"),
    (EMBEDDED, "set_image", "html"),
    (EMBEDDED, "remove", "tree"),
    (EMBEDDED, "style", "screenshot"),
    (EMBEDDED, "unit_price", "screenshot"),
    (EMBEDDED, "collapse", "tree"),
    (EMBEDDED, "rewrite_text", "screenshot"),
    ("old-tables", "strike_price", "screenshot"),
    ("drawn-by-scripts", "strike_price", "html"),
    ("shadow-dom", "set_rating", "screenshot"),
]
"""What `make test` tries; `make thorough` tries all that the shops' maps have places for."""


def has_places(case: Case, kind: str) -> bool:
    """Return whether a shop's map has what the edits of a kind need."""
    site = load_site_map(case.site)
    return kind not in BOXES and all(site.role(edit_from_dict(edit).roles()[0]) for edit in CASES[kind])


OF_PAGES = [name for name, view in VIEWS.items() if view.interface == "page"]
"""The modalities in which a page is shown."""


def every() -> Iterator[tuple[str, str, str]]:
    """Yield all that can be tried: shop, kind of edit, modality."""
    yield from product([EMBEDDED], CASES, OF_PAGES)
    for name, case in cases().items():
        if case.is_hand_written or is_installed(name):
            yield from product([name], [kind for kind in CASES if has_places(case, kind)], OF_PAGES)


class Stage:
    """A running shop with a testbed in front of it."""

    def __init__(self, name: str, testbed: Testbed, folder: Path) -> None:
        self.name, self.testbed, self.folder, self.trials = name, testbed, folder, 0
        own = folder / "experiment.yaml"
        self.experiment: dict[str, Any] = yaml.safe_load(own.read_text()) if own.exists() else EXPERIMENT
        foreign = {"set_price": 31.5 * cases()[name].times} if name != EMBEDDED else {"set_image": PICTURE}
        self.given: dict[str, Any] = foreign

    async def carried_out(self, kind: str, modality: str, task: str = "compare-tabs") -> Trajectory:
        """The first trial of an experiment in which a product carries edits of a kind."""
        self.trials += 1
        edits = [{name: self.given.get(name, value) for name, value in edit.items()} for edit in CASES[kind]]
        nudge = {"id": "edited", "kind": "nudge", "family": "any", "direction": 1, "edits": edits}
        write(self.folder / "edited.yaml", {"interventions": [nudge]})
        factors = {"nudge": {"interventions": "edited.yaml", "on": ["each"]}}
        experiment = self.experiment | {"task": task, "observation": modality, "factors": factors}
        design = ShopDesign(parse_yaml(yaml.safe_dump(experiment), str(self.folder / "x.yaml")))
        episodes = ShopTrialRunner(design, self.testbed.base_url)
        trial, slot = next(design.trials([AGENT])), await self.testbed.proxy.open_slot()
        session = slot.session = episodes.session(trial)
        async with self.testbed.browsers.context(slot.url) as context:
            return await episodes.episode(trial, episodes.agent(trial), context, session)


class Stages:
    """The shops, of which one runs at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, AsyncExitStack()
        self._stage: Stage | None = None

    async def of(self, name: str) -> Stage:
        """Start a shop, unless it runs already and still has something to sell."""
        if not self._stage or self._stage.name != name or self._stage.trials == MOST:
            await self.close()
            folder, base = self._folder / name, None
            folder.mkdir(exist_ok=True)
            if name != EMBEDDED:
                base = await self._stack.enter_async_context(running(name))
                cases()[name].write_files(folder, base)
            testbed = await self._stack.enter_async_context(open_testbed(folder, Shop(base)))
            self._stage = Stage(name, testbed, folder)
        return self._stage

    async def close(self) -> None:
        """Stop the one that runs."""
        self._stage = None
        await self._stack.aclose()


def test_no_edit_is_left_out() -> None:
    shipped = {name for name, edit in EDITS.items() if edit.__module__.startswith("interventions.")}
    assert CASES.keys() | ELSEWHERE == shipped


@pytest.fixture(scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stages]:
    stages = Stages(tmp_path_factory.mktemp("shops"))
    yield stages
    await stages.close()


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "kind", "modality"), [*every()] if THOROUGH else USUAL)
async def test_an_honest_page_counts(name: str, kind: str, modality: Modality, stages: Stages) -> None:
    stage, view = await stages.of(name), VIEWS[modality]
    trajectory = await stage.carried_out(kind, modality)
    # On the screen an attribute is only under a pointer, and a picture that is not there nowhere.
    no_picture = kind == "set_image" and name != EMBEDDED and view.screenshot
    no_attribute = kind == "set_attribute" and view.screenshot and not view.html
    if no_picture or no_attribute or (name, kind) in HIDDEN:
        assert (trajectory.outcome, "not shown" in trajectory.reason) == ("treatment_failed", True)
    else:
        assert trajectory.outcome == "choice", trajectory.reason


@pytest.mark.parametrize("modality", OF_PAGES if THOROUGH else ["screenshot"])
async def test_an_honest_list_counts(modality: Modality, stages: Stages) -> None:
    stage = await stages.of(EMBEDDED)
    trajectory = await stage.carried_out("badge", modality, "listing")
    assert trajectory.outcome == "choice", trajectory.reason
