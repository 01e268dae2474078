"""Serve a shop of Node.js; for its `serve.py`."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def serve(name: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> None:
    """Run the shop until standard input is closed; what it says goes to stderr, but for `shop ready URL`."""
    # Node makes a pipe that it inherits non-blocking for everybody.
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("shop ready "):
                print(line.strip(), flush=True)
                break
            print(line, end="", file=sys.stderr)
        else:
            raise SystemExit(f"{name} did not start; its own messages are above")
        sys.stdin.read()
    finally:
        process.terminate()
        process.wait()
