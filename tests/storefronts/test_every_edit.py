"""Each kind of edit in shops in other markup, in each modality: the trial of an honest page counts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from environments.views import VIEWS, Modality
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.episodes.trajectory import Trajectory
from experiments.executors.browser import Testbed, open_testbed
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml
from tests.journeys.test_every_edit import CASES
from tests.storefronts.cases import Case, cases, write
from tests.storefronts.install import is_installed
from tests.storefronts.shops import running
from tests.support import THOROUGH

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AGENT: Final = "simulated:looker"
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


TRIED: Final = [
    (name, kind, modality)
    for name, case in cases().items()
    if case.is_hand_written or is_installed(name)
    for kind in CASES
    if has_places(case, kind)
    for modality in VIEWS
]


class Stage:
    """One running shop at a time, with a testbed in front of it."""

    def __init__(self, case: Case, testbed: Testbed, folder: Path) -> None:
        self.case, self.testbed, self.folder = case, testbed, folder
        self.experiment: dict[str, Any] = yaml.safe_load((folder / "experiment.yaml").read_text())

    async def carried_out(self, edits: list[dict[str, Any]], modality: str) -> Trajectory:
        """The first trial of an experiment in which a product carries the edits."""
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


@pytest.fixture(scope="module")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    case, folder = cases()[request.param], tmp_path_factory.mktemp(request.param)
    async with running(case.name) as base, open_testbed(folder, base) as testbed:
        case.write_files(folder, base)
        yield Stage(case, testbed, folder)


@pytest.mark.parametrize(
    ("stage", "kind", "modality"), TRIED if THOROUGH else USUAL, indirect=["stage"], scope="module"
)
async def test_an_honest_page_counts(stage: Stage, kind: str, modality: Modality) -> None:
    given = {"set_price": 31.5 * stage.case.times, "set_image": "/another.png"}
    edits = [{name: given.get(name, value) for name, value in edit.items()} for edit in CASES[kind]]
    trajectory = await stage.carried_out(edits, modality)
    view = VIEWS[modality]
    if kind == "set_attribute" and not view.html and not view.tree:  # on the screen only under a pointer
        assert (trajectory.outcome, "not shown" in trajectory.reason) == ("treatment_failed", True)
    else:
        assert trajectory.outcome == "choice", trajectory.reason
