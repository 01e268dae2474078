"""An empty database of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.records.store import Records
from tests.experiments.postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/t.db"
    server: PostgresServer = request.getfixturevalue("server")
    return server.new_database()


@pytest.fixture
def records(url: str) -> Iterator[Records]:
    opened = Records(url)
    yield opened
    opened.close()
