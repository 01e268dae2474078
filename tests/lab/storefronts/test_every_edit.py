"""Each kind of edit in shops in other markup, in each modality: the trial of an honest page counts."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from environments.observation.views import VIEWS, Modality
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.treatment.trajectory import Trajectory
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml
from tests.journeys.test_every_edit import CASES
from tests.lab.storefronts.cases import Case, cases, write
from tests.lab.storefronts.install import is_installed
from tests.lab.storefronts.shops import running
from tests.support import THOROUGH

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AGENT: Final = "simulated:looker"
HIDDEN: Final = {("plone", "set_stock")}
"""What a shop shows only under a pointer."""
MOST: Final = 25
"""How many trials a shop has before it is started again: it has 31 of what is bought."""
USUAL: Final = [
    ("old-tables", "strike_price", "screenshot"),
    ("drawn-by-scripts", "strike_price", "html"),
    ("shadow-dom", "set_rating", "screenshot"),
]
"""What `make test` tries; `make thorough` tries all that the shops' maps have places for."""


def has_places(case: Case, kind: str) -> bool:
    """Return whether a shop's map has what the edits of a kind need."""
    site = load_site_map(case.site)
    return all(site.role(edit_from_dict(edit).roles()[0]) for edit in CASES[kind])


def every() -> Iterator[tuple[str, str, str]]:
    """Yield all that can be tried: shop, kind of edit, modality."""
    for name, case in cases().items():
        if case.is_hand_written or is_installed(name):
            yield from product([name], [kind for kind in CASES if has_places(case, kind)], VIEWS)


class Stage:
    """A running shop with a testbed in front of it."""

    def __init__(self, case: Case, testbed: Testbed, folder: Path) -> None:
        self.case, self.testbed, self.folder, self.trials = case, testbed, folder, 0
        self.experiment: dict[str, Any] = yaml.safe_load((folder / "experiment.yaml").read_text())

    async def carried_out(self, edits: list[dict[str, Any]], modality: str) -> Trajectory:
        """The first trial of an experiment in which a product carries the edits."""
        self.trials += 1
        nudge = {"id": "edited", "kind": "nudge", "family": "any", "direction": 1, "edits": edits}
        write(self.folder / "edited.yaml", {"interventions": [nudge]})
        factors = {"nudge": {"interventions": "edited.yaml", "on": ["each"]}}
        experiment = self.experiment | {"observation": modality, "factors": factors}
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
        if not self._stage or self._stage.case.name != name or self._stage.trials == MOST:
            await self.close()
            folder = self._folder / name
            folder.mkdir(exist_ok=True)
            base = await self._stack.enter_async_context(running(name))
            testbed = await self._stack.enter_async_context(open_testbed(folder, base))
            cases()[name].write_files(folder, base)
            self._stage = Stage(cases()[name], testbed, folder)
        return self._stage

    async def close(self) -> None:
        """Stop the one that runs."""
        self._stage = None
        await self._stack.aclose()


@pytest.fixture(scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stages]:
    stages = Stages(tmp_path_factory.mktemp("shops"))
    yield stages
    await stages.close()


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "kind", "modality"), [*every()] if THOROUGH else USUAL)
async def test_an_honest_page_counts(name: str, kind: str, modality: Modality, stages: Stages) -> None:
    stage, view = await stages.of(name), VIEWS[modality]
    given = {"set_price": 31.5 * stage.case.times, "set_image": "/not-there.png"}
    edits = [{name: given.get(name, value) for name, value in edit.items()} for edit in CASES[kind]]
    trajectory = await stage.carried_out(edits, modality)
    # On the screen an attribute is only under a pointer, and a picture that is not there nowhere.
    unseen = kind == "set_image" or (kind == "set_attribute" and not view.html)
    if (view.screenshot and unseen) or (name, kind) in HIDDEN:
        assert (trajectory.outcome, "not shown" in trajectory.reason) == ("treatment_failed", True)
    else:
        assert trajectory.outcome == "choice", trajectory.reason
