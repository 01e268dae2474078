"""The code makes the same figures of the same tables as when they were last meant to change.

`archives/` has the tables of a small run of each shipped experiment, and `today/` the figures.
"""

import re
from pathlib import Path

import pytest

from experiments.bundles.verify import differing
from experiments.designs.inputs.experiment_file import LIBRARY
from tests.experiments.bundles.figures_of_today import ARCHIVES, TODAY, made_today, stored

CURVE = re.compile(r"analysis\.curves\[\d+\]")


def test_there_is_an_archive_of_each_shipped_experiment() -> None:
    assert sorted(path.stem for path in ARCHIVES) == sorted(path.stem for path in LIBRARY.glob("*.yaml"))
    assert {path.stem for path in ARCHIVES} == {path.name.split(".")[0] for path in TODAY.glob("*.json.gz")}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_every_figure_is_the_stored_one(path: Path) -> None:
    """To 1e-12, and smooth curves to 1e-9: their last digits differ from one processor to another."""
    known, found = stored(path.stem), made_today(path)
    assert [line for line in differing(known, found, 1e-12) if not CURVE.match(line)] == []
    assert [*differing(known, found, 1e-9)] == []
