"""The parts of docs/faults.md are written one by one."""

from pathlib import Path

import pytest

from tests.lab.faults import document
from tests.lab.faults.schedules import Report, Schedule


def test_a_part_that_is_written_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "faults.md"
    monkeypatch.setattr(document, "DOCUMENT", page)
    page.write_text(
        "# Faults\n\n## What was found\n\nOld.\n\n## What failed\n\nOld.\n\n## Programs\n\nOld.\n"
    )
    document.write_document([Report(Schedule.of(7), 1, 1.5)])
    assert page.read_text().count("Old.") == 1
    for text in ("\nNew.\n\n### What was found\n", "\nNewer.\n"):
        document.write_section("## Programs", text)
    written = page.read_text()
    assert written.startswith("# Faults\n\nWritten by")
    assert "seeds from 7 to 7" in written
    assert written.endswith("|\n\n## Programs\n\nNewer.\n")
