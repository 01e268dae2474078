"""`python -m tests.bench.validity`: are the printed p values and intervals honest?

Choices of the shipped designs are redrawn from the simulated shoppers' utilities, without a browser: the
sets, texts, orders, profiles and facts are those that a browser would show, and so are the chances of each
choice. Each study is analysed as `souk analyze choice` does. Of the rows that print a p value are counted
those with p < .05 although the true effect is 0 (`rejected`), and the intervals that hold the true effect
(`held`). The true effect of a design is what its estimator gives for the chances: it is linear in choices.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from tests.bench.validity.choice import shoppers, simulate
from tests.bench.validity.counting import rates
from tests.bench.validity.document import DOCUMENT, write_document

EXPERIMENTS = ("nudges", "nudges-mr", "trios", "profiles")
TRIALS = (60, 240, 600, 2400)

Cell = tuple[str, int, str, int, int]
"""Experiment, trials, shopper, studies, seed."""


def cell(arguments: Cell) -> pd.DataFrame:
    """`simulate` for one experiment, size and shopper."""
    name, limit, shopper, studies, seed = arguments
    with threadpool_limits(limits=1, user_api="blas"):
        counts = simulate(ShopDesign(experiment_source(name)), shoppers()[shopper], limit, studies, seed)
    return counts.assign(experiment=name, trials=limit, shopper=shopper, studies=studies, seed=seed)


def kept(file: Path, cells: Sequence[Cell]) -> dict[Cell, pd.DataFrame]:
    """What the file holds of these cells; a line that was cut off is none."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            counts = pd.DataFrame(json.loads(line))
        except ValueError:
            continue
        first = counts.iloc[0]
        key = (
            first["experiment"],
            int(first["trials"]),
            first["shopper"],
            int(first["studies"]),
            int(first["seed"]),
        )
        if key in cells:
            found[key] = counts
    return found


def main() -> None:
    """Simulate every experiment, shopper and size, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.validity", description=__doc__)
    parser.add_argument("experiments", nargs="*", default=EXPERIMENTS, metavar="|".join(EXPERIMENTS))
    parser.add_argument("--studies", type=int, default=500, help="of each cell (default: 500)")
    parser.add_argument("--trials", type=int, nargs="+", default=TRIALS)
    parser.add_argument("--shoppers", nargs="+", default=list(shoppers()), choices=list(shoppers()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="note what is done, and do it only once")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    given = parser.parse_args()
    cells = [
        (name, limit, shopper, given.studies, given.seed)
        for name, limit, shopper in product(given.experiments, given.trials, given.shoppers)
    ]
    found = kept(given.keep, cells) if given.keep else {}
    waiting, began = [each for each in cells if each not in found], time.monotonic()
    with ProcessPoolExecutor(given.workers) as pool:
        for number, (key, done) in enumerate(zip(waiting, pool.map(cell, waiting), strict=True), 1):
            found[key] = done
            if given.keep:
                with given.keep.open("a") as lines:
                    lines.write(done.to_json(orient="records") + "\n")
            left = (time.monotonic() - began) / number * (len(waiting) - number) / 60
            sys.stderr.write(f"{len(found)} of {len(cells)}, {left:.0f} min left\n")
    shown = rates(pd.concat([found[key] for key in cells], ignore_index=True))
    if given.write:
        write_document(shown, studies=given.studies, seed=given.seed)
        sys.stderr.write(f"written to {DOCUMENT}\n")
    sys.stdout.write(f"{shown.to_string(index=False, float_format='{:.3f}'.format)}\n")


if __name__ == "__main__":
    main()
