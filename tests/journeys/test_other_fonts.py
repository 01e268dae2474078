"""A run that goes on, or is replayed, where other fonts are installed says so, once."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from environments.browser.fonts import pinned_files
from experiments.records.store import Records
from experiments.replay.replay import Replay
from experiments.runs.experiment_run import ExperimentRun
from tests.environments.browser.test_fonts import altered

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.thorough
async def test_a_run_that_goes_on_or_is_replayed_with_other_fonts_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "fonts"
    folder.mkdir(parents=True)
    altered(pinned_files()[0], folder / "far.ttf", "Far Hand", range(0x2E80, 0xA000))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    database = f"sqlite:///{tmp_path}/t.db"

    async def told(limit: int, data: str) -> list[str]:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / data))
        agents = ["simulated:balanced"]
        run = ExperimentRun("nudges", agents=agents, limit=limit, db=database, out=tmp_path)
        said = StringIO()
        await run.run(Console(file=said, width=1_000))
        (before, *after) = run.records.latest_run("nudges")["facts"]["fonts"]
        lines = [line for line in said.getvalue().splitlines() if "draws letters otherwise" in line]
        for line in lines:
            assert line.endswith(f"otherwise: {after[0]}; earlier: {before}")
            assert "Far Hand" in after[0]
        return lines

    async def noted(data: str) -> list[str]:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / data))
        records = Records(database)
        again = Replay(records, records.latest_run("nudges"))
        assert await again.run(lambda _: None) == []
        return again.notes

    assert await told(1, "none") == []
    assert await told(2, "none") == []
    assert await noted("none") == []
    [note] = await noted("data")
    assert "letters are drawn otherwise here" in note
    assert "Far Hand" in note
    assert len(await told(4, "data")) == 1
    assert await told(5, "data") == []
