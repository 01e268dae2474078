"""`python -m tests.lab.bench.validity`: are the printed p values and intervals honest?

Answers to the shipped designs are redrawn as the simulated agents give them, without a browser: the sets,
texts, orders, profiles, cards and questions are those that an agent would be shown, and so are the chances of
each answer. Each study is analysed as `souk analyze` does. Counted are the printed p values below .05
although the true effect is 0 (`rejected`), and the intervals that hold the true effect (`held`).
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from tests.lab.bench.validity.cells import EXPERIMENTS, SLOWER, Cell, respondents, simulate
from tests.lab.bench.validity.counting import rates
from tests.lab.bench.validity.document import DOCUMENT, write_document

TRIALS = (60, 240, 600, 2400)


def kept(file: Path, cells: Sequence[Cell]) -> dict[Cell, pd.DataFrame]:
    """What the file holds of these cells; a line that was cut off is none."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            counts = pd.DataFrame(json.loads(line))
        except ValueError:
            continue
        key: Any = tuple(counts.iloc[0][["experiment", "trials", "shopper", "asked", "seed"]])
        if key in cells:
            found[key] = counts
    return found


def main() -> None:
    """Simulate every experiment, shopper and size, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.bench.validity", description=__doc__)
    parser.add_argument("experiments", nargs="*", default=EXPERIMENTS, metavar="|".join(EXPERIMENTS))
    parser.add_argument(
        "--studies",
        type=int,
        default=500,
        help=f"of each cell (default: 500); of slower tables one in {SLOWER}",
    )
    parser.add_argument("--trials", type=int, nargs="+", default=TRIALS)
    parser.add_argument(
        "--respondents", nargs="+", default=[], help="only these, such as null (default: all)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="note what is done, and do it only once")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    given = parser.parse_args()
    cells = [
        (name, limit, who, given.studies, given.seed)
        for name, limit in product(given.experiments, given.trials)
        for who in respondents(name)
        if who in (given.respondents or [who])
    ]
    found = kept(given.keep, cells) if given.keep else {}
    waiting, began = [each for each in cells if each not in found], time.monotonic()
    with ProcessPoolExecutor(given.workers) as pool:
        for number, (key, done) in enumerate(zip(waiting, pool.map(simulate, waiting), strict=True), 1):
            found[key] = done
            if given.keep:
                with given.keep.open("a") as lines:
                    lines.write(done.to_json(orient="records") + "\n")
            left = (time.monotonic() - began) / number * (len(waiting) - number) / 60
            sys.stderr.write(f"{len(found)} of {len(cells)}, {left:.0f} min left\n")
    shown = rates(pd.concat([found[key] for key in cells], ignore_index=True))
    if given.write:
        write_document(shown, seed=given.seed)
        sys.stderr.write(f"written to {DOCUMENT}\n")
    sys.stdout.write(f"{shown.to_string(index=False, float_format='{:.3f}'.format)}\n")


if __name__ == "__main__":
    main()
