"""Run Vendure with the test catalogue and pages of our own in React, in what `install.py` made.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from node_shop import serve

HERE = Path(__file__).parent

if __name__ == "__main__":
    serve("Vendure", ["node", HERE / "server.mjs", HERE.parent / "catalogue.json", HERE / "page.js"])
