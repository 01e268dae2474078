"""The code makes the same figures of the same tables as when they were last meant to change.

`archives/` has the tables of a small run of each shipped experiment, and `today/` the figures.
"""

from pathlib import Path

import pytest

from experiments.bundles.verify import differing
from experiments.designs.inputs.experiment_file import LIBRARY
from tests.experiments.bundles.figures_of_today import ARCHIVES, TODAY, made_today, stored


def test_there_is_an_archive_of_each_shipped_experiment() -> None:
    assert sorted(path.stem for path in ARCHIVES) == sorted(path.stem for path in LIBRARY.glob("*.yaml"))
    assert {path.stem for path in ARCHIVES} == {path.name.split(".")[0] for path in TODAY.glob("*.json.gz")}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_every_figure_is_the_stored_one(path: Path) -> None:
    """To 1e-7: the last digits differ from one processor to another."""
    assert [*differing(stored(path.stem), made_today(path), 1e-7)] == []
