"""What commands that read a database of runs do before they open it."""

from pathlib import Path

import pytest

from experiments.commands.common import checked_database, open_records
from experiments.records.store import Records
from interventions.errors import UserError

URLS = ("sqlite:///t.db", "sqlite:///t.db?timeout=5", "sqlite+pysqlite:///t.db")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("url", URLS)
def test_whatever_names_a_database_that_was_written_names_it_for_reading(url: str) -> None:
    Records(url).close()
    open_records(url).close()
    assert all(finding.ok for finding in checked_database(url))


@pytest.mark.parametrize("url", URLS)
def test_reading_makes_no_file(url: str, tmp_path: Path) -> None:
    for read in (open_records, checked_database):
        with pytest.raises(UserError, match="no such file; run an experiment first"):
            read(url)
    assert not list(tmp_path.iterdir())


def test_what_is_no_url_is_told_as_one() -> None:
    for url in ("t.db", "sqlite://host/t.db", "postgresql://host:port/x"):
        with pytest.raises(UserError, match="not a database URL"):
            open_records(url)
