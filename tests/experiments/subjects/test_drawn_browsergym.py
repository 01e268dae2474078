"""BrowserGym's tasks in shops that scripts draw: its agents look at drawn pages, with the edits."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("browsergym.core")

import gymnasium

from environments.observation import settling
from experiments.records import tables
from experiments.subjects.browsergym import open_experiment
from tests.experiments.drawn_shop import (
    DATA,
    EDITS,
    NUDGE,
    READ,
    SITE,
    UNDONE,
    DrawnShop,
    Glance,
    experiment,
)
from tests.experiments.subjects.test_browsergym import rows
from tests.support import serve, size, usual

pytestmark = pytest.mark.browser

KINDS = (
    "late", "in parts", "the nudge goes at once", "the old price beside", "the nudge is hidden", "no price",
)  # fmt: skip


def shop_around(file: Path, db: str, trials: int) -> dict[str, list[Glance]]:
    """Look at both tabs of each trial and press Buy on the first; by trial, what the reader saw."""
    seen: dict[str, list[Glance]] = {}
    with open_experiment(str(file), agent="tester", db=db, limit=trials) as tasks:
        for task in tasks:
            env = gymnasium.make(task)
            _, info = env.reset()
            glances = seen[info["task_info"]["trial"]] = []
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
    return seen


@pytest.mark.thorough
@pytest.mark.parametrize("kind", usual(KINDS, 2))
async def test_a_choice_counts_only_where_the_edits_were_seen(
    kind: str, browsergym_thread: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind in UNDONE:
        monkeypatch.setattr(settling, "SETTLE_SECONDS", 0.7)
    db = f"sqlite:///{tmp_path}/t.db"
    async with serve(DrawnShop(kind).app()) as address:
        file = experiment(tmp_path, address, SITE | {"data": DATA}, EDITS)
        loop = asyncio.get_running_loop()
        seen = await loop.run_in_executor(browsergym_thread, shop_around, file, db, size(2, 3))
    for row in rows(db, tables.trials):
        receipts = [each for each in rows(db, tables.receipts) if each["trial"] == row["trial"]]
        made = {(each["edit"], each["role"]) for each in receipts}
        treated = [NUDGE in each.text for each in seen[row["trial"]]]
        if row["condition"] == "control":
            assert row["outcome"] == "choice", row["reason"]
            assert not made
            assert not any(treated)
        elif kind in UNDONE:
            assert row["outcome"] == "treatment_failed", row["reason"]
        else:
            assert row["outcome"] == "choice", row["reason"]
            assert {edit for edit, _ in made} == {name for edit in EDITS for name in edit}
            assert sum(treated) == 1
            for glance in seen[row["trial"]]:
                old = "1,299" if glance.product == "harbour-lamp" else "1,249"
                assert glance.is_treated(old) == (
                    glance.product == {each["product"] for each in receipts}.pop()
                )
