"""All models of the hotel study, for as many agents as it had."""

import time

import numpy as np
import pandas as pd

from analysis.conjoint.cards import encode
from analysis.conjoint.fits import fit_models
from experiments.designs.cards.design import make_card_design
from experiments.designs.inputs.experiment_file import experiment_source
from tests.lab.bench.result import Result
from tests.lab.bench.validity.cards import respondents, simulated_cards

AGENTS = 28
GOAL_SECONDS = 30


async def run() -> Result:
    """Simulated choices of many agents, from one design."""
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
            "The hotel study's design, with choices of its own for each agent, drawn from a conditional "
            "logit. For each agent: binary logits and conditional logits of pairs, triples and both, "
            "with log, linear and decile price, and the brand model."
        ),
        notes=("The processor's time is that of all cores together; the fits use one.",),
    )


def choices() -> pd.DataFrame:
    """The tidy table: one row per agent, presentation and option."""
    made = simulated_cards(make_card_design(experiment_source("hotels")), respondents()["balanced"], None)
    random = np.random.default_rng(1)
    tables = [
        made.table.assign(
            agent=f"agent {agent}", trial=made.table["trial"] + f"-{agent}", chosen=made.drawn(random)
        )
        for agent in range(AGENTS)
    ]
    return pd.concat(tables, ignore_index=True)
