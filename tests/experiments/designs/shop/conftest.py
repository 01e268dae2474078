"""The embedded shop, in which single trials of a design are carried out."""

from collections.abc import AsyncIterator

import pytest

from agents.base import Agent
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.records.record import Start, TrialRecord
from experiments.treatment.trajectory import Trajectory
from proxy.server import Slot

Place = tuple[Testbed, Slot]


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    async with open_testbed(tmp_path_factory.mktemp("testbed")) as opened:
        yield opened, await opened.proxy.open_slot()


async def carry_out(
    place: Place, made: ShopDesign, trial: ShopTrial, agent: Agent | None = None
) -> tuple[Trajectory, TrialRecord]:
    """One trial, by its own agent or by another."""
    opened, slot = place
    episodes = ShopTrialRunner(made, opened.base_url)
    session = slot.session = episodes.session(trial)
    try:
        async with opened.browsers.context(slot.url) as context:
            trajectory = await episodes.episode(trial, agent or episodes.agent(trial), context, session)
        return trajectory, episodes.record(trial, trajectory, session, start=Start.now(), attempts=1)
    finally:
        slot.session = None
