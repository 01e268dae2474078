"""BrowserGym's tasks in shops that scripts draw: its agents look at drawn pages, with the edits."""

from pathlib import Path

import pytest

pytest.importorskip("browsergym.core")

import gymnasium

from environments.observation import settling
from experiments.designs.loading import load_shop_design
from experiments.records import tables
from experiments.subjects.browsergym import open_experiment
from tests.experiments.drawn_shop import DATA, EDITS, READ, SITE, UNDONE, DrawnShop, Glance, experiment
from tests.experiments.subjects.conftest import InThread
from tests.experiments.subjects.test_browsergym import rows
from tests.experiments.subjects.test_drawn_guests import is_as_seen
from tests.support import serve, usual

pytestmark = pytest.mark.browser

KINDS = (
    "late", "in parts", "the nudge goes at once", "the old price beside", "the nudge is hidden", "no price",
)  # fmt: skip


def carry_out(file: Path, db: str) -> tuple[str, list[Glance]]:
    """Look at both tabs of a trial and press Buy on the first; its id, and what the reader saw."""
    glances = list[Glance]()
    trials = load_shop_design(str(file), "tester").trials(["tester"])
    with open_experiment(str(file), agent="tester", db=db) as tasks:
        task, trial = next(
            each for each in zip(tasks, trials, strict=True) if each[1].carrier == "harbour-lamp"
        )
        env = gymnasium.make(task)
        _, info = env.reset()
        for action in ("tab_focus(0)", None):
            path, text = env.unwrapped.page.evaluate(READ)
            glances.append(Glance(path.rpartition("/")[2], text))
            if info["task_info"]["outcome"]:
                break
            button = env.unwrapped.page.locator("button.buy")
            bid = button.get_attribute("bid") if button.count() else ""
            *_, info = env.step(action or f"click({bid!r})")
        while not info["task_info"]["outcome"]:
            *_, info = env.step("scroll(0, 10)")
        env.close()
    return trial.id, glances


@pytest.mark.thorough
@pytest.mark.parametrize("kind", usual(KINDS, 2))
async def test_a_choice_counts_only_where_the_edits_were_seen(
    kind: str, in_thread: InThread, tmp_path: Path, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind in UNDONE:
        monkeypatch.setattr(settling, "SETTLE_SECONDS", 0.7)
    async with serve(DrawnShop(kind).app()) as address:
        file = experiment(tmp_path, address, SITE | {"data": DATA}, EDITS)
        trial, glances = await in_thread(carry_out, file, db)
    (row,) = rows(db, tables.trials)
    receipts = [each for each in rows(db, tables.receipts) if each["trial"] == trial]
    assert is_as_seen(kind, row, receipts, glances), (row, glances)
