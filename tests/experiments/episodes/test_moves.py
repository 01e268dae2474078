"""Generated ways of a page that moves and undoes its edit: no choice counts that an observation belies."""

import random
import re
from pathlib import Path

import pytest

from agents.base import Decision
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from tests.experiments.foreign_shop import NAMES, ForeignShop
from tests.experiments.hostile_moves import case
from tests.experiments.treatment.test_treatment_check import Place, carry_out, place, shop
from tests.journeys.screen import is_read
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.timeout(size(300, 1_800))]
__all__ = ["place", "shop"]


class Reader:
    """Does what it is told in the first tab, and buys what it then sees; `read` is what it was given last."""

    def __init__(self, address: str, deeds: tuple[str, ...]) -> None:
        self._address, self._deeds = address, ["", *deeds]
        self._urls: list[str] = []
        self.read = ""

    async def act(self, observation: Observation) -> Decision:
        self.read = observation.html
        if not self._urls:  # whatever addresses the pages have given themselves
            keys = {name: key for key, name in NAMES.items()}
            # A tab that never comes to rest has no title.
            found = [keys.get(tab.title) for tab in observation.tabs]
            left = [key for key in keys.values() if key not in found]
            self._urls = [f"{self._address}{key or left.pop()}.html" for key in found]
        return Decision("", "", self._next())

    def _next(self) -> Action:
        match self._deeds.pop(0) if self._deeds else "Add to Cart":
            case "":
                return Action("tab_focus", (0,))
            case "goto":
                return Action("goto", (self._urls[0],))
            case "other":
                return Action("goto", (self._urls[1],))
            case "back":
                return Action("go_back")
            case words:
                found = re.search(rf'<(?:button|a) bid="(\w+)"[^>]*>{words}<', self.read)
                if found:
                    return Action("click", (found[1],))
                return Action("give_up", ("",)) if words == "Add to Cart" else Action("wait", (0.0,))


@pytest.mark.thorough
async def test_no_choice_counts_that_the_observation_belies(
    place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    rng, honest, wrong = random.Random("run"), 0, []
    for number in range(size(6, 100)):
        made = case(rng, honest=number % 2 == 0)
        vars(shop).update(vars(ForeignShop()) | made.shop)
        reader = Reader(place.address, made.reader)
        trajectory, _, trial = await carry_out(place, tmp_path, reader, edits=made.edits)
        shown = is_read(reader.read, made.new) and not is_read(reader.read, made.old)
        counts = trajectory.outcome == "choice"
        edited = trajectory.choice == trial.carrier
        if (counts and edited and not shown) or (made.honest and shown and not counts):
            wrong.append((made.name, shown, trajectory.outcome, trajectory.reason))
        honest += made.honest and counts
    assert not wrong
    assert honest, "no choice on an honest page"
