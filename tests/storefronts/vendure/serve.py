"""Run Vendure with the test catalogue and pages of our own in React, in what `install.py` made.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CATALOGUE = HERE.parent / "catalogue.json"


def main() -> None:
    # Node makes a pipe that it inherits non-blocking for everybody.
    process = subprocess.Popen(
        ["node", HERE / "server.mjs", CATALOGUE, HERE / "page.js"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("shop ready "):
                print(line.strip(), flush=True)
                break
            print(line, end="", file=sys.stderr)
        else:
            raise SystemExit("Vendure did not start; its own messages are above")
        sys.stdin.read()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
