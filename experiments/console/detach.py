"""Start a command that goes on in the background, with its output in a file."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from environments.launch.watchdog import unwatched
from interventions.errors import UserError


def detach(
    log: Path, fix: str, env: Mapping[str, str] = os.environ, **options: Any
) -> "subprocess.Popen[bytes]":
    """Start this command again without `--detach`, apart from the terminal; `log` gets its output.

    `fix` is what to do where the log cannot be written, `options` are those of `subprocess.Popen`.

    Raises:
        UserError: the log cannot be written.
    """
    command = [sys.executable, *(word for word in sys.orig_argv[1:] if word != "--detach")]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            return subprocess.Popen(  # noqa: S603 (the user's own command)
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=unwatched(env),
                start_new_session=True,
                **options,
            )
    except OSError as error:
        raise UserError(f"--detach: {log}: {error.strerror}; {fix}") from None
