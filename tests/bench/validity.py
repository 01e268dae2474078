"""`python -m tests.bench.validity`: are the printed p values and intervals honest?

Choices of the shipped designs are redrawn from the simulated shoppers' utilities, without a browser: the
sets, texts, orders, profiles and facts are those that a browser would show, and so are the chances of each
choice. Each study is analysed as `souk analyze choice` does. Of the rows that print a p value are counted
those with p < .05 although the true effect is 0 (`rejected`), and the intervals that hold the true effect
(`held`). The true effect of a design is what its estimator gives for the chances: it is linear in choices.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from agents.simulated import shipped, shipped_taste, taste_for
from agents.utility import Alternative, Taste, choice_probabilities, draw
from analysis.choice.groups import profile_effects
from analysis.choice.nudges import nudge_effects
from analysis.choice.sensitivity import sensitivity
from analysis.effects import main_effects
from analysis.table import TRIAL_ID, check_table
from experiments.design import Design, Trial
from experiments.schema import experiment_source

Floats = npt.NDArray[np.float64]

EXPERIMENTS = ("nudges", "nudges-mr", "trios", "profiles")
TRIALS = (60, 240, 600, 2400)
LEVEL = 0.05
ROUNDING = 1e-7


@dataclass(frozen=True)
class Shopper:
    """Whose choices are drawn. `alike`: what chance adds to a product's utility is the same in all trials of
    its set, so that the shopper answers the same question alike, whatever the order, the text or the profile.
    """

    taste: Taste
    alike: bool = False


def shoppers() -> dict[str, Shopper]:
    """Null: the balanced shopper without a weight for nudges. Price-only: nothing but the price counts."""
    balanced = shipped_taste("balanced")
    null = balanced.model_copy(update={"nudge": 0.0})
    return {
        "null": Shopper(null),
        "random": Shopper(Taste()),
        "balanced": Shopper(balanced),
        "price-only": Shopper(Taste(log_price=-5)),
        "deterministic": Shopper(balanced, alike=True),
    }


@dataclass(frozen=True)
class Drawable:
    """Trials as a checked tidy table, and the chance of each row's option to be chosen."""

    table: pd.DataFrame
    trials: tuple[Trial, ...]
    chances: Floats

    def as_run(self) -> pd.DataFrame:
        """The table that the run itself gives: each trial's choice is drawn with its own seed."""
        chosen = np.zeros(len(self.table), int)
        ends = np.cumsum([len(trial.products) for trial in self.trials])
        for trial, end in zip(self.trials, ends, strict=True):
            chances = self.chances[end - len(trial.products) : end]
            chosen[end - len(chances) + draw(chances, random.Random(trial.seed).random())] = 1
        return self.table.assign(chosen=pd.Series(chosen, self.table.index, dtype="Int64"))

    def redrawn(self, rng: np.random.Generator, *, alike: bool = False) -> pd.DataFrame:
        """The table with fresh choices: the highest utility, with Gumbel noise, in each trial."""
        noise = rng.gumbel(size=len(self.table))
        if alike:
            noise = noise[pd.factorize(self.table["set"] + "\n" + self.table["option"])[0]]
        with np.errstate(divide="ignore"):
            utility = pd.Series(np.log(self.chances) + noise, self.table.index)
        best = utility == utility.groupby(self.table[TRIAL_ID]).transform("max")
        return self.table.assign(chosen=best.astype("Int64"))


def drawable(design: Design, taste: Taste, limit: int | None, agent: str = "simulated") -> Drawable:
    """The first trials of a design, and the chances of a shopper with this taste; page by page in tabs."""
    trials = tuple(islice(design.trials([agent]), limit))
    rows: list[dict[str, Any]] = []
    chances: list[Floats] = []
    for trial in trials:
        rows += trial_rows(trial, design)
        chances.append(choice_probabilities(taste_for(trial.goal, taste), alternatives(trial)))
    table = pd.DataFrame(rows)
    return Drawable(check_table(table.assign(chosen=table["viewed_first"])), trials, np.concatenate(chances))


def trial_rows(trial: Trial, design: Design) -> Iterator[dict[str, Any]]:
    """The tidy rows of a trial in tabs, but for its choice."""
    nudge = trial.nudge
    for position, item in enumerate(trial.products):
        yield {
            "run": design.run,
            "trial": trial.id,
            "agent": trial.agent,
            "set": trial.set,
            "option": item.key,
            "position": position,
            "viewed_first": int(position == len(trial.products) - 1),
            "outcome": "choice",
            "category": item.category,
            "price": item.price,
            "rating": item.rating,
            "reviews": item.reviews,
            "nudged": int(item.key == trial.carrier),
            "nudge": nudge.id if nudge else "",
            "nudge_text": nudge.text if nudge else "",
            "family": nudge.family if nudge else "",
            "direction": nudge.direction if nudge else None,
            "condition": trial.condition,
            "match": design.match,
            "profile": trial.profile,
            "repeat": trial.repeat,
            "ordering": trial.ordering,
        }


def alternatives(trial: Trial) -> list[Alternative]:
    """What a simulated shopper sees of a trial in tabs; the last tab is the one seen first."""
    last = len(trial.products) - 1
    return [
        Alternative(
            price=item.price,
            rating=item.rating,
            reviews=item.reviews or 0,
            cue=shipped().cues.sign(trial.nudge.text.lower())
            if trial.nudge and item.key == trial.carrier
            else 0,
            viewed_first=position == last,
        )
        for position, item in enumerate(trial.products)
    ]


def tables(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables of the choice analysis that print p values, indexed by agent, term and level."""
    by_text, by_category = nudge_effects(table)
    profiles, differences = profile_effects(table)
    frames = {
        "effects": main_effects(table),
        "nudge_texts": by_text,
        "categories": by_category,
        "profiles": profiles,
        "profile_differences": differences,
        "slopes": sensitivity(table)[0],
    }
    keys = ("group", "term", "nudge_text", "category", "profile")
    return {
        name: frame.set_index([key for key in keys if key in frame])
        for name, frame in frames.items()
        if len(frame)
    }


def simulate(design: Design, shopper: Shopper, limit: int, studies: int, seed: int = 0) -> pd.DataFrame:
    """Studies of one design, size and shopper: by table the rows, those with a p value, and how these did.

    Columns: table, rows (of one study), printed (in all studies), null (printed, of a true 0), rejected (of
    these, p < .05), held (of the printed, the intervals with the truth), any_null (studies that print a row
    of a true 0) and any_rejected (those in which an adjusted p of such a row is below .05).
    """
    made = drawable(design, shopper.taste, limit)
    truth = tables(made.table.assign(chosen=made.chances))
    counts = {name: dict.fromkeys(COUNTS, 0) | {"rows": len(frame)} for name, frame in truth.items()}
    rng = np.random.default_rng([seed, limit, len(design.sets)])
    for _ in range(studies):
        found = tables(made.redrawn(rng, alike=shopper.alike))
        for name, frame in found.items():
            count, true = counts[name], truth[name]["estimate"].reindex(frame.index)
            printed = frame["p_value"].notna()
            null = printed & (true.abs() < ROUNDING)
            held = frame["conf_low"].le(true + ROUNDING) & frame["conf_high"].ge(true - ROUNDING)
            count["printed"] += int(printed.sum())
            count["null"] += int(null.sum())
            count["rejected"] += int((null & (frame["p_value"] < LEVEL)).sum())
            count["held"] += int((printed & held).sum())
            count["any_null"] += int(null.any())
            count["any_rejected"] += int((null & (frame["p_adjusted"] < LEVEL)).any())
    return pd.DataFrame([{"table": name, **count} for name, count in counts.items()])


COUNTS = ("rows", "printed", "null", "rejected", "held", "any_null", "any_rejected")


def rates(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts as shares, each with its Monte-Carlo standard error; rows of one study go together."""
    studies = counts["studies"]

    def share(part: str, whole: str) -> "pd.Series[float]":
        found: pd.Series[float] = counts[part] / counts[whole].where(counts[whole] > 0)
        return found

    found = counts[["experiment", "trials", "shopper", "table", "rows"]].assign(
        printed=counts["printed"] / (counts["rows"] * studies),
        rejected=share("rejected", "null"),
        held=share("held", "printed"),
        any_rejected=share("any_rejected", "any_null"),
    )
    for name in ("rejected", "held"):
        # As if the rows of a study were one: at most this large.
        found[f"{name}_error"] = np.sqrt(found[name] * (1 - found[name]) / studies)
    return found


def cell(arguments: tuple[str, str, int, int, int]) -> pd.DataFrame:
    """`simulate` for one experiment, shopper and size."""
    name, shopper, limit, studies, seed = arguments
    with threadpool_limits(limits=1, user_api="blas"):
        counts = simulate(Design(experiment_source(name)), shoppers()[shopper], limit, studies, seed)
    return counts.assign(experiment=name, trials=limit, shopper=shopper, studies=studies)


def main() -> None:
    """Simulate every experiment, shopper and size, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.validity", description=__doc__)
    parser.add_argument("experiments", nargs="*", default=EXPERIMENTS, metavar="|".join(EXPERIMENTS))
    parser.add_argument("--studies", type=int, default=500, help="of each cell (default: 500)")
    parser.add_argument("--trials", type=int, nargs="+", default=TRIALS)
    parser.add_argument("--shoppers", nargs="+", default=list(shoppers()), choices=list(shoppers()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    cells = [
        (name, shopper, limit, given.studies, given.seed)
        for name, limit, shopper in product(given.experiments, given.trials, given.shoppers)
    ]
    found = []
    with ProcessPoolExecutor(given.workers) as pool:
        for done in pool.map(cell, cells):
            found.append(done)
            sys.stderr.write(f"{len(found)} of {len(cells)}\n")
    text = rates(pd.concat(found, ignore_index=True)).to_string(index=False, float_format="{:.3f}".format)
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
