"""A real PostgreSQL server of one's own, which can be stopped and started again."""

import fcntl
import itertools
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sql


class PostgresServer:
    """The server; `stop` and `start` are what happens to it in the middle of a run."""

    def __init__(self, folder: Path) -> None:
        pgserver = pytest.importorskip("pgserver", reason="pgserver has no PostgreSQL for this Python")
        # As root it makes a user of the machine first: two that do so at once fail.
        with Path(tempfile.gettempdir(), "souk-pgserver.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._server = pgserver.get_server(folder, cleanup_mode="delete")
        self._numbers = itertools.count()

    def new_database(self, encoding: str = "UTF8") -> str:
        """The URL of an empty database."""
        name = f"souk{next(self._numbers)}"
        engine = sql.create_engine(self._url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(
                sql.text(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
            )
        engine.dispose()
        return self._url(name)

    def stop(self) -> None:
        """End it at once, as a machine that loses its power does."""
        from pgserver._commands import pg_ctl

        server = self._server
        pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=server.pgdata, user=server.system_user)

    def start(self) -> None:
        """Start it again; it recovers what was committed."""
        self._server.ensure_postgres_running()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """All its processes are stopped while the block lasts: connections stay, and nothing is answered."""
        main = self._server.get_postmaster_info().process
        stopped = [main, *main.children(recursive=True)]
        for process in stopped:
            process.suspend()
        try:
            yield
        finally:
            for process in reversed(stopped):
                process.resume()

    def close(self) -> None:
        """Stop it for good, without writing everything out first."""
        running = self._server.get_postmaster_info()
        self.stop()
        running.process.wait(60)  # it takes its file away shortly before it ends
        self._server.cleanup()

    def _url(self, database: str) -> str:
        return str(self._server.get_uri(database)).replace("postgresql:", "postgresql+psycopg:")


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it names the folder that it uses for want of a better one
            server = PostgresServer(Path(folder) / "data")
        try:
            yield server
        finally:
            server.close()
