"""The effects in groups of trials: under each profile, and in sets of each size."""

import pandas as pd

from analysis.choice.frames import by_trial, level_frame, stacked, wilson
from analysis.clusters import choose_clusters
from analysis.effects import TERMS, agents, main_estimands
from analysis.lpm import Contrast
from analysis.table import TRIAL_ID, trial_ids

NO_PROFILE = "none"
"""The profile that says nothing; an empty one means the same."""


def profile_effects(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The effects under each profile, and how far each profile moves them from those without one.

    table: checked. One model per agent, fully interacted with the profile, so that the difference of two
    effects has its standard error. Both frames have the columns of every estimator and `profile`; they are
    empty where the table has one profile only.
    """
    return _by(table, table["profile"].replace("", NO_PROFILE), "profile", NO_PROFILE)


def set_size_effects(table: pd.DataFrame) -> pd.DataFrame:
    """The effects in sets of each size (`options`); empty where all sets have one size. table: checked."""
    return _by(table, set_sizes(table).astype(str), "options", None)[0]


def position_shares(table: pd.DataFrame) -> pd.DataFrame:
    """How often the option in each position was chosen, by agent and size of the set, beside chance.

    table: checked. Columns: group, options, position (from 1), chosen, trials, estimate, conf_low, conf_high
    (percent, Wilson), chance (percent). Empty where no set has more than two options.
    """
    sizes = set_sizes(table)
    columns = ["group", "options", "position", "chosen", "trials"]
    if sizes.max() < 3:
        return pd.DataFrame(columns=[*columns, "estimate", "conf_low", "conf_high", "chance"])
    used = table.assign(options=sizes, position=table["position"] + 1, group=table["agent"])
    used = used[used["chosen"].notna()]
    cells = (
        used.groupby(columns[:3])["chosen"]
        .agg(chosen="sum", trials="size")
        .reset_index()
        .astype({"chosen": int, "position": int})
    )
    return cells.assign(**wilson(cells["chosen"], cells["trials"]), chance=100 / cells["options"])


def set_sizes(table: pd.DataFrame) -> "pd.Series[int]":
    """The number of options in each row's trial."""
    return table.groupby(TRIAL_ID)["option"].transform("size")


def _by(
    table: pd.DataFrame, level: "pd.Series[str]", name: str, base: str | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The effects at each level, and their differences from those at `base` where there is one."""
    levels = sorted(level.unique(), key=lambda each: (each != base, each))
    effects, differences = [], []
    for agent, rows, used in agents(table) if len(levels) > 1 else ():
        groups = pd.Categorical(level[used.index], levels).codes.astype(int)
        found = main_estimands(used, groups, len(levels))
        clusters, note = choose_clusters(used, trial_ids(used).to_numpy()) if len(used) else ({}, "")
        estimates = found.fit(used["chosen"].to_numpy(float), clusters, note)
        of_trials = by_trial(level, rows), by_trial(level, used)
        between: dict[tuple[str, str], Contrast] = {}
        for at, each in enumerate(levels):
            within = {(term, each): estimates.of((term, at)) for term in TERMS}
            effects.append(level_frame(within, agent, name, *of_trials))
            if each != base:
                between |= {(term, each): estimates.difference((term, at), (term, 0)) for term in TERMS}
        if base not in levels:
            nothing = f"no trial has the {name} {base!r} to compare with"
            between = {key: Contrast(note=nothing) for key in between}
        if base is not None:
            differences.append(level_frame(between, agent, name, *of_trials))
    return stacked(effects, name), stacked(differences, name)
