"""A command that goes on in the background, with its output in a file."""

import subprocess
import sys
from pathlib import Path

from interventions.errors import UserError


def detach(log: Path) -> int:
    """Start this command again without `--detach`, apart from the terminal; the id of its process.

    Raises:
        UserError: the log cannot be written.
    """
    command = [sys.executable, *(word for word in sys.orig_argv[1:] if word != "--detach")]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 (the user's own command)
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise UserError(f"--detach: {log}: {error.strerror}; choose another folder with --out") from None
    return process.pid
