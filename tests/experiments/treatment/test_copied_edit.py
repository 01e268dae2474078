"""An edit that a package brings, copied as CONTRIBUTING says, is as safe as one that comes with Souk."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.records.store import Records
from tests.experiments.command_line import ROOT
from tests.experiments.foreign_shop import ForeignShop, experiment
from tests.support import serve

ENTRY = "[souk.edits]\nset_availability = availability\n"


def installed(folder: Path) -> Path:
    """A folder in which a package with a copy of `set_stock.py` is installed."""
    folder.mkdir()
    text = (ROOT / "interventions/edits/set_stock.py").read_text().replace("SetStock", "SetAvailability")
    (folder / "availability.py").write_text(text)
    about = folder / "availability-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: availability\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY)
    return folder


@pytest.mark.browser
@pytest.mark.thorough
async def test_a_trial_whose_page_shows_the_old_text_too_is_not_treated(tmp_path: Path) -> None:
    paths = [installed(tmp_path / "souk"), ROOT]
    shop = ForeignShop()
    outcomes = {}
    async with serve(shop.app()) as address:
        file = experiment(tmp_path, shop, address, [{"set_availability": "Only two left"}])
        for extra in ("", "<p>In stock</p>"):
            shop.extra = extra
            db = f"sqlite:///{tmp_path}/{bool(extra)}.db"
            words = ["run", file.name, "-a", "simulated:balanced", "--limit", "6", "--db", db]
            done = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-m", "experiments.cli", *words],
                cwd=tmp_path,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
                capture_output=True,
                text=True,
            )
            records = Records(db)
            outcomes[extra] = records.outcomes(records.latest_run()["run"]), done.stderr[-300:]
    assert outcomes[""][0] == {"choice": 6}, outcomes[""]
    assert outcomes["<p>In stock</p>"][0] == {"choice": 2, "treatment_failed": 4}, outcomes
