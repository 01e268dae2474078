"""What simulated shoppers must have chosen: it follows from their weights, the seeds and the true facts."""

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import sqlalchemy as sql

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import DisplayedOption, choice_probabilities, draw
from analysis.choice.effects.effects import choice_effects
from environments.shop.shop import Shop
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, open_testbed
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.store import Records
from interventions.yaml.yaml_source import Source
from tests.experiments.running import run_trials
from tests.true_effects import true_effects


@dataclass
class Done:
    """A finished run and what it was made from."""

    records: Records
    design: ShopDesign
    trials: dict[str, ShopTrial]
    table: pd.DataFrame

    def rows(self, table: sql.Table) -> dict[str, list[sql.RowMapping]]:
        """The rows of a table by trial."""
        found = defaultdict(list)
        with self.records.engine.connect() as connection:
            for row in connection.execute(sql.select(table)).mappings():
                found[row["trial"]].append(row)
        return found


async def carry_out(
    folder: Path,
    source: Source,
    agent: str,
    count: int,
    slots: int,
    base_url: str | None = None,
    *,
    step: int = 1,
) -> Done:
    """Run so many trials in the embedded shop, or in the one at `base_url`: every `step`th of the design.

    A step of 5 or 7 gives all conditions and orders of a design with 6 trials of a choice set, and more sets.
    """
    design = ShopDesign(source)
    trials = {trial.id: trial for trial in islice(design.trials([agent]), 0, count * step, step)}
    records = Records(f"sqlite:///{folder}/t.db")
    records.begin_run(design.run_id, design.experiment.name, design.facts([agent]))
    async with open_testbed(folder, Shop(base_url) if base_url else design.shop) as testbed:
        runner = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, slots)
        await run_trials(runner, design, records, trials.values())
    return Done(records, design, trials, tidy_table(records, design.run_id))


def probabilities(
    table: pd.DataFrame, taste: str, badges: Mapping[str, int] = MappingProxyType({})
) -> "pd.Series[float]":
    """The true choice probability of every row, from the shopper's known weights.

    badges: the direction of each badge that was drawn.
    """
    weights = shipped_taste(taste)
    told = sum((way * table[f"attr_badge_{name}"] for name, way in badges.items()), pd.Series(0, table.index))
    found = pd.Series(np.nan, index=table.index)
    for _, rows in table.groupby("trial"):
        alternatives = [
            DisplayedOption(
                price=row.price,
                rating=None if pd.isna(row.rating) else row.rating,
                reviews=0 if pd.isna(row.reviews) else row.reviews,
                cue=int(told[row.Index]) + (int(row.direction) if row.nudged else 0),
                viewed_first=bool(row.viewed_first),
            )
            for row in rows.itertuples()
        ]
        found[rows.index] = choice_probabilities(weights, alternatives)
    return found


def assert_chosen_as_known(done: Done, chances: "pd.Series[float]") -> None:
    """In every trial the choice is the one that the true probabilities and the trial's seed give."""
    by_trial = dict(list(done.table.groupby("trial")))
    assert set(by_trial) == set(done.trials)
    for name, trial in done.trials.items():
        rows = by_trial[name].sort_values("position")
        drawn = draw(chances[rows.index].to_numpy(), random.Random(trial.seed).random())
        assert rows["chosen"].tolist() == [int(position == drawn) for position in range(len(rows))], name


def redraw(table: pd.DataFrame, chances: "pd.Series[float]", seed: int) -> pd.DataFrame:
    """The same trials with choices drawn anew from the true probabilities."""
    first = ~table.duplicated("trial")
    wins = np.random.default_rng(seed).random(int(first.sum())) < chances[first]
    first_wins = table["trial"].map(dict(zip(table.loc[first, "trial"], wins, strict=True)))
    return table.assign(chosen=(first == first_wins).astype("Int64"), outcome="choice")


def held(table: pd.DataFrame, chances: "pd.Series[float]", repetitions: int) -> "pd.Series[int]":
    """In how many repetitions of the estimation the interval of each effect has the true effect.

    They are the same ones however the trials are called: names follow from the shop's address, so its port.
    """
    told = table[["set", "option", "position", "nudge", "nudged", "repeat"]].astype(str).agg("|".join, axis=1)
    told = told.groupby(table["trial"]).transform("\n".join) + table["position"].astype(str)
    order = told.sort_values().index
    table, chances = table.loc[order], chances[order]
    truth = true_effects(table, chances).set_index("term")["estimate"]
    found = pd.Series(0, index=truth.index)
    for seed in range(repetitions):
        effects = choice_effects(redraw(table, chances, seed)).set_index("term")
        found += ((effects["conf_low"] <= truth) & (truth <= effects["conf_high"])).astype(int)
    return found
