"""Each kind of edit in the embedded shop, in each modality: the trial of an honest page counts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from environments.observation.views import VIEWS, Modality
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.treatment.trajectory import Trajectory
from interventions.edits.registry import EDITS
from interventions.yaml.yaml_source import parse_yaml
from proxy.server import Slot
from tests.support import THOROUGH

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AGENT: Final = "simulated:looker"
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
    "set_image": [{"set_image": "PICTURE"}],
    "remove": [{"remove": "product.stars"}],
    "set_attribute": [{"set_attribute": {"role": "product.title", "name": "title", "value": "Loved"}}],
    "show_rating_text": [{"insert_text": {"before": "product.title", "text": "Stars in words"}}],
}
PICTURE: Final = "/media/catalog/product/cache/1240a4684403b160e6597a653a88f56c/B/0/B0Q0ZOZAIV.0.svg"
"""That of another product."""
ELSEWHERE: Final = {"ask", "hide_option", "reorder", "replace_text", "swap"}
"""They need a card, a product with options, a list, or words of one product."""
USUAL: Final = {
    ("set_rating", "screenshot"),
    ("set_image", "screenshot"),
    ("set_image", "html"),
    ("remove", "tree"),
}
"""What `make test` tries; `make thorough` tries all."""


def test_no_edit_is_left_out() -> None:
    shipped = {name for name, edit in EDITS.items() if edit.__module__.startswith("interventions.")}
    assert CASES.keys() | ELSEWHERE == shipped


@pytest.fixture(scope="module")
async def testbed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Testbed, Slot]]:
    async with open_testbed(tmp_path_factory.mktemp("testbed")) as opened:
        yield opened, await opened.proxy.open_slot()


async def carried_out(
    testbed: tuple[Testbed, Slot], folder: Path, kind: str, modality: str, task: str
) -> Trajectory:
    """The first trial of an experiment in which a product carries edits of a kind."""
    opened, slot = testbed
    edits = [
        {name: PICTURE if given == "PICTURE" else given}
        for each in CASES[kind]
        for name, given in each.items()
    ]
    nudge = {"id": "edited", "kind": "nudge", "family": "any", "direction": 1, "edits": edits}
    (folder / "edited.yaml").write_text(yaml.safe_dump({"interventions": [nudge]}))
    experiment = {
        "name": "edited",
        "task": task,
        "goal": "Add the best product to the cart.",
        "options": {"pairing": "price-adjacent", "set_size": 2, "sets": 1},
        "observation": modality,
        "factors": {"nudge": {"interventions": "edited.yaml", "on": ["each"]}},
    }
    design = ShopDesign(parse_yaml(yaml.safe_dump(experiment), str(folder / "x.yaml")))
    episodes = ShopTrialRunner(design, opened.base_url)
    trial = next(design.trials([AGENT]))
    session = slot.session = episodes.session(trial)
    async with opened.browsers.context(slot.url) as context:
        return await episodes.episode(trial, episodes.agent(trial), context, session)


@pytest.mark.thorough
@pytest.mark.parametrize("modality", VIEWS)
@pytest.mark.parametrize("kind", CASES)
async def test_an_honest_page_counts(
    kind: str, modality: Modality, testbed: tuple[Testbed, Slot], tmp_path: Path
) -> None:
    if not THOROUGH and (kind, modality) not in USUAL:
        pytest.skip("make thorough tries it")
    trajectory = await carried_out(testbed, tmp_path, kind, modality, "compare-tabs")
    view = VIEWS[modality]
    if kind == "set_attribute" and not view.html and not view.tree:  # on the screen only under a pointer
        assert (trajectory.outcome, "not shown" in trajectory.reason) == ("treatment_failed", True)
    else:
        assert trajectory.outcome == "choice", trajectory.reason


@pytest.mark.parametrize("modality", VIEWS)
async def test_an_honest_list_counts(
    modality: Modality, testbed: tuple[Testbed, Slot], tmp_path: Path
) -> None:
    if not THOROUGH and modality != "screenshot":
        pytest.skip("make thorough tries it")
    trajectory = await carried_out(testbed, tmp_path, "badge", modality, "listing")
    assert trajectory.outcome == "choice", trajectory.reason
