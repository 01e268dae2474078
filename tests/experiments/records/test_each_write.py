"""A disk that fails or a process that is killed at any write or sync; a server that goes at any message.

After each: a trial that was said to be stored is there, whole, and each other one whole or not at all; and
the same command goes on to what it would have stored undisturbed.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.records import writer
from experiments.records.integrity.check import check_database
from experiments.records.integrity.salvage import Salvage
from experiments.records.store import Records
from experiments.records.writer import Writer
from tests.experiments.command_line import environment
from tests.experiments.postgres_server import PostgresServer
from tests.experiments.records.cut_connections import CuttingProxy
from tests.experiments.records.integrity.test_repair import quiet
from tests.experiments.records.one_write import FAULT, TRIALS, store
from tests.experiments.records.test_store import a_record, some_facts
from tests.support import size

WRITES, SYNCS = 190, 15
"""More than one process makes, so that the last ones pass undisturbed."""


def strace() -> str:
    """The program, where it is installed and may be used."""
    found = shutil.which("strace")
    if not found or subprocess.run([found, "-o", "/dev/null", "true"], check=False).returncode:
        pytest.skip("strace is not installed (apt-get install strace), or may not be used here")
    return found


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["error=ENOSPC", "signal=KILL", "error=EIO", "error=EROFS"][: size(1, 4)])
@pytest.mark.parametrize(("call", "most"), [("pwrite64", WRITES), ("fdatasync", SYNCS)])
def test_each_write_can_fail(call: str, most: int, fault: str, tmp_path: Path) -> None:
    numbers = range(1, most + 1, size(most // 10, 1))
    program = [sys.executable, "-m", "tests.experiments.records.one_write", str(tmp_path), call]
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={FAULT}"]
    subprocess.run(
        [strace(), "-f", "-qq", "-o", "/dev/null", *inject, *program, *map(str, numbers)],
        env=environment({}),
        check=True,
    )
    disturbed = 0
    for number in numbers:
        file = tmp_path / f"{number}.db"
        said = {trial for trial in TRIALS if file.with_suffix(f".{trial}").exists()}
        error = file.with_suffix(".error")
        if error.exists():
            assert error.read_text().startswith(("UserError: --db", "OperationalError: ")), error.read_text()
        disturbed += error.exists() or len(said) < len(TRIALS)
        records = Records(f"sqlite:///{file}")
        assert said <= records.finished("r-1")
        records.close()
        assert [each for each in check_database(f"sqlite:///{file}", quiet) if not each.ok] == []
        store(file)
        with Salvage(f"sqlite:///{file}") as salvage:
            found = salvage.read(quiet)
        assert (found.trials, found.pages, found.lost) == (3, 3, 0)
    assert disturbed >= len(numbers) / 4


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_server_can_go_at_each_message(
    side: str, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_FIRST_PAUSE", 0.01)
    url = server.new_database()
    records = Records(url)
    records.begin_run("r-1", "nudges", some_facts())
    records.close()
    with CuttingProxy(url) as proxy:
        for number in range(1, 40, size(3, 1)):
            records = Records(proxy.url)
            proxy.cut(number, after=side == "after")
            said: list[str] = []
            keeper = Writer(records, say=said.append)
            for trial in TRIALS:
                await keeper.store(a_record(f"{number}-{trial}", page=f"<p>{number}{trial}</p>"))
            await keeper.close()
            records.close()
            proxy.mend()
    assert proxy.cuts > 5
    records = Records(url)
    assert len(records.finished("r-1")) == 3 * len(range(1, 40, size(3, 1)))
    records.close()
    assert [each for each in check_database(url, quiet) if not each.ok] == []
