"""Packages whose edits cannot be had; what works: tests/experiments/treatment/test_copied_edit.py."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def error_of(folder: Path, module: str) -> str:
    """What is told where a package is installed whose entry point is in `module`."""
    (folder / "shouting.py").write_text(module)
    metadata = folder / "shouting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[souk.edits]\nshout = shouting:Shout\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    words = [sys.executable, "-c", "import interventions.edits.registry"]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stderr


def test_a_package_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    assert (
        "UserError: edit \"shout\" (shouting:Shout): No module named 'nowhere_at_all'; "
        "mend or uninstall its package"
    ) in error_of(tmp_path, "import nowhere_at_all")


def test_two_edits_cannot_have_one_name(tmp_path: Path) -> None:
    told = error_of(tmp_path, (ROOT / "interventions/edits/remove.py").read_text() + "\nShout = Remove")
    assert 'UserError: edit "remove": ' in told
    assert "both define it; rename or uninstall one" in told
