"""All models of the hotel study, for as many agents as it had."""

import time

import numpy as np
import pandas as pd

from analysis.conjoint.cards import encode
from analysis.conjoint.fits import fit_models
from experiments.designs.cards.design import make_card_design
from experiments.designs.inputs.experiment_file import experiment_source
from tests.lab.bench.result import Result

AGENTS = 28
GOAL_SECONDS = 30


async def run() -> Result:
    """Simulated choices of agents with different weights, from one design."""
    table = choices()
    began = time.process_time()
    cards = encode(table)
    encoded = time.process_time() - began
    agents = list(table["agent"].unique())
    began = time.process_time()
    fits = fit_models(cards, agents)
    fitted = time.process_time() - began
    presentations = table["trial"].nunique() // AGENTS
    return Result(
        what=f"all models of the hotel study, {AGENTS} agents with {presentations:,} presentations each",
        against="nothing: the processor's time",
        figure=f"{fitted:.1f} s for {len(fits)} fits",
        goal=f"{GOAL_SECONDS} s",
        reached=fitted <= GOAL_SECONDS,
        times=(
            ("reading and encoding the table", f"{encoded:.1f} s ({len(table):,} rows)"),
            (f"{len(fits)} fits with standard errors", f"{fitted:.1f} s"),
        ),
        how=(
            "The hotel study's design, with choices drawn from conditional logits; each agent has its own "
            "weights. For each agent: binary logits and conditional logits of pairs, triples and both, "
            "with log, linear and decile price, and the brand model."
        ),
        notes=("The processor's time is that of all cores together; the fits use one.",),
    )


def choices() -> pd.DataFrame:
    """The tidy table: one row per agent, presentation and option."""
    design = make_card_design(experiment_source("hotels"))
    shown = pd.DataFrame(
        [
            {
                "trial": trial.id,
                "set": trial.set,
                "repeat": trial.repeat,
                "ordering": trial.ordering,
                "option": option.option,
                "position": position,
                "price": option.price,
                "rating": option.rating,
                "reviews": option.reviews,
                **{f"attr_{name}": value for name, value in option.attributes.items()},
            }
            for trial in design.trials(["agent"])
            for position, option in enumerate(trial.options)
        ]
    )
    random = np.random.default_rng(1)
    tables = []
    for agent in range(AGENTS):
        weights = random.uniform(0.5, 1.5, 4)
        utility = (
            -3 * weights[0] * np.log(shown["price"])
            + 0.1 * weights[1] * shown["rating"]
            + 0.5 * weights[2] * shown["attr_stars"]
            + 0.2 * weights[3] * (shown["position"] == 0)
            + random.gumbel(size=len(shown))
        )
        best = utility == utility.groupby(shown["trial"]).transform("max")
        tables.append(
            shown.assign(
                agent=f"agent {agent}",
                trial=shown["trial"] + f"-{agent}",
                chosen=best.astype(int),
                outcome="choice",
            )
        )
    return pd.concat(tables, ignore_index=True)
