"""Find the levels of attributes that the design drew, and what these could have been."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.estimators.randomisation import Null
from analysis.tables.choice_table import ATTRIBUTES, BADGE, TRIAL_ID, drawn_column
from analysis.tables.frame import Floats, Ints

STEP = "attr_price_step"
"""The column with the change of a product's own price, where prices were drawn as such changes."""


class Draws(NamedTuple):
    """The effect of the highest level in each draw, what it could have been, its trials and choice set.

    low, high: the ends of the range of its effect. trials: how many; sets: the number of the choice set.
    """

    values: Floats
    low: Floats
    high: Floats
    nulls: tuple[Null, ...]
    trials: Ints
    sets: Ints

    def weights(self) -> Floats:
        """Return the weight of each draw with which each choice set counts alike in their mean."""
        count = np.bincount(self.sets)[self.sets]
        weights: Floats = len(self.values) / (len(np.unique(self.sets)) * count)
        return weights


def randomised(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the attributes and badges that were drawn in all these trials. rows: of a checked table."""
    drawn = [text.split("+") for text in rows["randomised"].unique()]
    common = {name for name in drawn[0] if all(name in each for each in drawn)} if drawn else set()
    badges = (name for name in (drawn[0] if drawn else ()) if name.startswith(BADGE))
    return tuple(name for name in (*ATTRIBUTES, *badges) if name in common)


def _drawn_levels(rows: pd.DataFrame, name: str) -> "pd.Series[float]":
    """Return the level of an attribute: what was drawn, and not what follows from the product itself."""
    if name == "price" and STEP in rows:
        step = pd.to_numeric(rows[STEP], errors="coerce").astype(float)
        return step if step.notna().all() else rows[name]
    return pd.to_numeric(rows[drawn_column(name)], errors="coerce")


def displays(rows: pd.DataFrame) -> "pd.Series[str]":
    """Return by trial which product was shown with which drawn values; "" where nothing was drawn."""
    own = rows[rows["randomised"] != ""]
    if own.empty:
        return pd.Series("", rows[TRIAL_ID].unique())
    badges = [name for name in own if str(name).startswith(drawn_column(BADGE))]
    names = [name for name in ATTRIBUTES if name in own] + badges
    shown = own[["option", *names]].astype(str).agg("\t".join, axis=1)
    by_trial = shown.groupby(own[TRIAL_ID]).agg(lambda options: "\n".join(sorted(options)))
    return by_trial.reindex(rows[TRIAL_ID].unique(), fill_value="")


def draws_of(rows: pd.DataFrame, name: str) -> Draws:
    """Return what the highest level of an attribute did in each draw.

    rows: of one agent's trials with a choice. In a trial the value is 1 if an option with the highest level
    is chosen, less the mean over the others; in a draw the mean of its trials. The trials of a draw are those
    of one choice set that show the same levels of each attribute, on whichever options. Which option had
    which level was drawn for all of them at once, each place as likely: so the levels could have been moved
    round the options by any number of places, whatever the agent does, and whatever else was drawn.
    """
    names = randomised(rows)
    ordered = rows.sort_values([TRIAL_ID, "option"], kind="stable")
    trial = ordered[TRIAL_ID]
    levels = {each: _drawn_levels(ordered, each).astype(str).groupby(trial) for each in names}
    hands = pd.DataFrame(
        {each: own.agg(lambda hand: "\t".join(sorted(hand))) for each, own in levels.items()}
    )
    sets = ordered.groupby(trial)[["run", "set"]].first().join(hands)
    draw = sets.groupby(list(sets), sort=False).ngroup().to_numpy()
    set_of = sets.groupby(["run", "set"], sort=False).ngroup().to_numpy()
    level = _drawn_levels(ordered, name)
    top = level.eq(level.groupby(trial).transform("max")).to_numpy()
    size = trial.groupby(trial).size().to_numpy()
    chosen = ordered["chosen"].eq(1).to_numpy()
    found, ends, nulls, trials, its_sets = [], [], [], [], []
    begin = np.cumsum([0, *size[:-1]])
    for number in range(draw.max() + 1):
        own = np.flatnonzero(draw == number)
        options = int(size[own[0]])
        at = begin[own][:, None] + np.arange(options)
        marks, picked = top[at], chosen[at].argmax(axis=1)
        high = marks.sum(axis=1)
        if (high == options).all():
            continue
        taken = [marks[np.arange(len(own)), (picked - moved) % options] for moved in range(options)]
        each = [np.where(won, 1 / high, -1 / (options - high)).mean() for won in taken]
        found.append(each[0])
        ends.append((float((-1 / (options - high)).mean()), float((1 / high).mean())))
        nulls.append(Null(tuple(map(float, each)), (1 / options,) * options))
        trials.append(len(own))
        its_sets.append(int(set_of[own[0]]))
    low, high_end = np.array(ends, float).reshape(-1, 2).T
    return Draws(np.array(found), low, high_end, tuple(nulls), np.array(trials, int), np.array(its_sets, int))


def drawn_by_agent(rows: pd.DataFrame) -> Iterator[tuple[str, Draws]]:
    """Yield each attribute that was drawn in trials of one agent, with its draws; none without a choice."""
    own = rows[rows["randomised"] != ""]
    for name in randomised(own) if len(own) else ():
        yield name, draws_of(own, name)
