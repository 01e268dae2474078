"""Choice effects of 80,000 trials, against a bare pyfixest call for the same model."""

import tempfile
import warnings
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyfixest

from analysis.choice import analyze_choice
from analysis.choice.effects.effects import TERMS, choice_effects
from analysis.choice.report.report import report
from analysis.reporting.html import write_files, write_report
from tests.lab.bench.result import Result
from tests.lab.bench.timing import in_turn, rows, times_as_many

AGENTS, SETS, NUDGES, CATEGORIES = 5, 50, 10, 26
TRIALS = 80_000
REPETITIONS = 3
GOAL, GOAL_SECONDS = 2, 3
TOLERANCE = 1e-8
OURS = "Souk, from the table to effects with standard errors"
PEER = "pyfixest, from a frame of its columns to a fit"
WHOLE = "Souk, all sections, figures and files of the report"


async def run() -> Result:
    """Five agents, 50 pairs of products, ten nudges; two rows per trial."""
    table = made_table()
    bare = bare_frame(table)
    products = [list(factors) for size in range(1, len(TERMS) + 1) for factors in combinations(TERMS, size)]
    agents = sorted(table["agent"].unique())
    names = []
    for code in range(len(agents)):
        for factors in products:
            names.append(f"a{code}_{'_'.join(factors)}")
            bare[names[-1]] = bare[factors].prod(axis=1) * (bare["agent"] == code)
    formula = f"y ~ {' + '.join(names)} | trial"

    def theirs() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pyfixest.feols(formula, bare, vcov={"CRV1": "text+category"})

    with tempfile.TemporaryDirectory() as folder:
        sides = {
            OURS: lambda: choice_effects(table),
            PEER: theirs,
            WHOLE: lambda: analyze(table, Path(folder)),
        }
        times = in_turn(sides, REPETITIONS)
    difference = largest_difference(choice_effects(table), theirs().coef(), bare, products, agents)
    ratio, seconds = times_as_many(times, OURS, PEER), median(times[WHOLE])
    return Result(
        what=f"choice effects, {TRIALS:,} trials of {AGENTS} agents",
        against="a bare pyfixest call for the same model",
        figure=f"{ratio:.2f} times its time, estimates within {difference:.0e} percentage points;"
        f" the whole analysis with its figures {seconds:.1f} s",
        goal=f"under {GOAL} times its time; the whole analysis under {GOAL_SECONDS} s",
        reached=ratio < GOAL and seconds < GOAL_SECONDS and difference < 100 * TOLERANCE,
        times=rows(times),
        how=(
            "Pairs of products chosen by softmax, each trial with one of ten nudges on none, the first or the"
            " second product. The model has all interactions of four features and the agent, and trial fixed"
            " effects; errors are clustered by nudge text and category. Timed is the processor's time."
        ),
        notes=(
            "Souk's time includes checking the table, the average marginal effects and the largest of three"
            " standard errors; pyfixest's is one fit with one variance, its columns made beforehand.",
            "Souk fits the agents one by one, which gives the same estimates.",
        ),
    )


def made_table() -> pd.DataFrame:
    """Choices by softmax with known weights, `TRIALS` of them in all."""
    rng = np.random.default_rng(1)
    agent, choice_set = rng.integers(AGENTS, size=TRIALS), rng.integers(SETS, size=TRIALS)
    nudge, target = rng.integers(NUDGES, size=TRIALS), rng.integers(-1, 2, size=TRIALS)
    base = np.exp(rng.normal(3.5, 1, size=SETS))
    price = np.round(base[:, None] * (1 + rng.uniform(0, 0.5, size=(SETS, 2))), 2)
    rating = rng.integers(70, 90, size=(SETS, 1)) + rng.integers(0, 10, size=(SETS, 2))
    category = rng.integers(CATEGORIES, size=SETS)
    option = np.tile([0, 1], TRIALS)
    trial = np.repeat(np.arange(TRIALS), 2)
    first = option == np.repeat(rng.integers(2, size=TRIALS), 2)
    nudged = option == target[trial]
    own, score = price[choice_set[trial], option], rating[choice_set[trial], option]
    utility = -3 * np.log(own) + 0.1 * score + 0.5 * nudged + 0.4 * first + rng.gumbel(size=2 * TRIALS)
    wins = utility.reshape(-1, 2).argmax(axis=1)
    none = target[trial] < 0
    return pd.DataFrame(
        {
            "run": "r",
            "trial": pd.Series(trial).map("t{:06d}".format),
            "agent": pd.Series(agent[trial]).map("agent{}".format),
            "set": pd.Series(choice_set[trial]).map("set{}".format),
            "option": pd.Series(option).map("product{}".format),
            "position": 1 - first.astype(int),
            "chosen": (option == wins[trial]).astype(int),
            "outcome": "choice",
            "category": pd.Series(category[choice_set[trial]]).map("category{}".format),
            "price": own,
            "rating": score.astype(float),
            "nudged": nudged.astype(int),
            "nudge_text": np.where(none, "", pd.Series(nudge[trial]).map("text {}".format)),
            "condition": np.where(none, "control", "nudged"),
            "steps": np.repeat(rng.integers(3, 10, size=TRIALS), 2),
        }
    )


def bare_frame(table: pd.DataFrame) -> pd.DataFrame:
    """What pyfixest needs: numbers only."""
    trials = table.groupby("trial")
    return pd.DataFrame(
        {
            "y": table["chosen"].astype(float),
            "trial": trials.ngroup(),
            "agent": pd.factorize(table["agent"], sort=True)[0],
            "text": pd.factorize(trials["nudge_text"].transform("max"))[0],
            "category": pd.factorize(table["category"])[0],
            "viewed_first": (table["position"] == 0).astype(float),
            "higher_rated": (
                (table["rating"] == trials["rating"].transform("max"))
                & (trials["rating"].transform("nunique") > 1)
            ).astype(float),
            "cheaper": (table["price"] == trials["price"].transform("min")).astype(float),
            "nudged": table["nudged"].astype(float),
        }
    )


def analyze(table: pd.DataFrame, folder: Path) -> None:
    """As `souk analyze` does, but for reading and printing."""
    made = report(analyze_choice(table))
    write_report(folder / "report.html", "Benchmark", {}, made)
    write_files(folder, made.sections)


def largest_difference(
    effects: pd.DataFrame,
    coefficients: "pd.Series[float]",
    bare: pd.DataFrame,
    products: list[list[str]],
    agents: list[str],
) -> float:
    """Between our average marginal effects and those that follow from pyfixest's coefficients."""
    found = effects.set_index(["group", "term"])["estimate"]
    largest = 0.0
    for code, agent in enumerate(agents):
        rows = bare[bare["agent"] == code]
        for term in TERMS:
            theirs = sum(
                coefficients.get(f"a{code}_{'_'.join(factors)}", 0.0)
                * rows[[name for name in factors if name != term]].prod(axis=1).mean()
                for factors in products
                if term in factors
            )
            largest = max(largest, abs(100 * theirs - found[agent, term]))
    return largest
