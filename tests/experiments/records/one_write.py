"""Store three trials again and again, each time in a process and a database of its own.

Run by strace, which lets the write with the number `FAULT` of each process fail: a process that has written
to nowhere `FAULT - n` times before meets that fault at the `n`-th write of its database.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from experiments.records.store import Records
from tests.experiments.records.test_store import a_record, some_facts

FAULT = 400
TRIALS = ("t1", "t2", "t3")


def store(file: Path) -> None:
    """Store the trials; leave a file for each that is durable."""
    records = Records(f"sqlite:///{file}")
    records.begin_run("r-1", "nudges", some_facts())
    for trial in TRIALS:
        records.save(a_record(trial, page=f"<p>{trial}</p>"))
        file.with_suffix(f".{trial}").touch()
    records.close()


def main(folder: Path, call: str, numbers: list[int]) -> None:
    """Let the write with each of these numbers fail; leave a file with the error, if there was one."""
    null = os.open(os.devnull, os.O_WRONLY)
    for number in numbers:
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        file = folder / f"{number}.db"
        for _ in range(FAULT - number):
            with suppress(OSError):
                os.pwrite(null, b"", 0) if call == "pwrite64" else os.fdatasync(null)
        try:
            store(file)
        except Exception as error:
            file.with_suffix(".error").write_text(f"{type(error).__name__}: {error}")
        os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [*map(int, sys.argv[3:])])
