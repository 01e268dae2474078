"""Estimate the effects in groups of trials: under each profile, and in sets of each size."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.choice.effects.counts import SETS, by_set, tally
from analysis.choice.effects.effects import LIMIT, TERMS, agents, main_estimands
from analysis.choice.effects.frames import (
    CLUSTERED,
    by_trial,
    clustered,
    empty_frame,
    level_frame,
    stacked,
    wilson,
)
from analysis.estimators.clusters import choose_clusters, cluster_codes
from analysis.estimators.lpm import Contrast
from analysis.tables.choice_table import TRIAL_ID, row_weights, trial_ids
from analysis.tables.yaml_data import read_data

HTML = "html"
TYPE, MIXED = "attr_product_type", "mixed"
PRODUCT_TYPES = {
    category: kind
    for kind, categories in read_data(Path(__file__).with_name("product_types.yaml")).items()
    for category in categories
}
NO_PROFILE = "none"
"""The profile that says nothing; an empty one means the same."""


def profile_effects(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate the effects under each profile, and how far each profile moves them from no profile.

    table: checked. The main model of each agent's trials under each profile. Errors are clustered by
    category, or by choice set where a profile has fewer than twelve categories; a difference has that of
    leaving out each cluster under both profiles at once. Both frames have the columns of every estimator,
    `profile`, and in how many choice sets the raw effect (or difference) was above 0, below 0, and there at
    all: sets_for, sets_against, sets. They are empty where the table has one profile only.
    """
    return _by(table, table["profile"].replace("", NO_PROFILE), "profile", NO_PROFILE)


def modality_effects(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate the effects in each modality, and how far each moves them from those of HTML.

    table: checked. Both frames are as those of `profile_effects`, with the column `modality`; where no page
    was shown as HTML, the modality to compare with is the first by its name. Trials without a modality, such
    as those of programs, are left out.
    """
    table = table[table["modality"] != ""]
    levels = table["modality"]
    base = HTML if (levels == HTML).any() else str(levels.min())
    return _by(table, levels, "modality", base)


def set_size_effects(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate the effects in sets of each size (`options`); empty where all sets have one size.

    table: checked.
    """
    return _by(table, set_sizes(table).astype(str), "options", None)[0]


def product_type_effects(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate the effects with products of each type; empty without two types.

    table: checked; the column `attr_product_type` says what an option is, such as consumable or durable.
    Without it the category does, where all are of the shipped shop (`product_types.yaml`). A trial of options
    of two types is of the type `mixed`; trials without a type are left out.
    """
    known_types = table[TYPE] if TYPE in table else table["category"].map(PRODUCT_TYPES)
    if known_types.nunique() < 2 or (TYPE not in table and known_types.isna().any()):
        return empty_frame("product_type", *SETS)
    types = known_types.fillna("").astype(str).groupby(table[TRIAL_ID])
    level = types.transform("first").where(types.transform("nunique") == 1, MIXED)
    known = level != ""
    return _by(table[known], level[known], "product_type", None)[0]


def position_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return how often the option in each position was chosen, by agent and set size, beside chance.

    table: checked. Columns: group, options, position (from 1), chosen, trials, estimate, conf_low, conf_high
    (percent, Wilson), chance (percent), clustered_low, clustered_high, effective_n (see `clustered`; they are
    about sets like these). Empty where no set has more than two options, and where trials have chances of
    assignment, which shares do not weigh.
    """
    sizes = set_sizes(table)
    columns = ["group", "options", "position", "chosen", "trials"]
    if sizes.max() < 3 or row_weights(table) is not None:
        return pd.DataFrame(columns=[*columns, "estimate", "conf_low", "conf_high", "chance", *CLUSTERED])
    used = table.assign(options=sizes, position=table["position"] + 1, group=table["agent"])
    used = used[used["chosen"].notna()]
    cells = (
        used.groupby(columns[:3])["chosen"]
        .agg(chosen="sum", trials="size")
        .reset_index()
        .astype({"chosen": int, "position": int})
    )
    shares = cells.assign(**wilson(cells["chosen"], cells["trials"]), chance=100 / cells["options"])
    own = clustered(used["chosen"], [used[name] for name in columns[:3]], used["set"])
    return shares.join(own.reindex(shares.index, columns=CLUSTERED))


def set_sizes(table: pd.DataFrame) -> "pd.Series[int]":
    """Return the number of options in each row's trial."""
    return table.groupby(TRIAL_ID)["option"].transform("size")


def _by(
    table: pd.DataFrame, level: "pd.Series[str]", name: str, base: str | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The effects at each level, and their differences from those at `base` where there is one."""
    levels = sorted(level.unique(), key=lambda each: (each != base, each))
    effects, differences = [], []
    for agent, rows, used in agents(table) if len(levels) > 1 else ():
        own = level[used.index]
        found = contrasts_by_level(used, own, levels)
        raw = {each: by_set(used[own == each]) for each in levels}
        of_trials = by_trial(level, rows), by_trial(level, used)
        between: dict[tuple[str, str], Contrast] = {}
        apart = []
        for each in levels:
            within = {(term, each): found[each][term] for term in TERMS}
            frame = level_frame(within, agent, name, *of_trials)
            effects.append(frame.join(_counts(raw[each][term] for term in TERMS)))
            if each != base:
                between |= {(term, each): less_base(found, term, each, base, name) for term in TERMS}
                apart += [raw[each][term] - raw[base][term] for term in TERMS if base in levels]
        if base is not None:
            frame = level_frame(between, agent, name, *of_trials, limit=2 * LIMIT)
            differences.append(frame.join(_counts(apart)) if apart else frame)
    return stacked(effects, name, *SETS), stacked(differences, name, *SETS)


def contrasts_by_level(
    used: pd.DataFrame, own: "pd.Series[str]", levels: list[str]
) -> dict[str, dict[str, Contrast]]:
    """Return the contrasts of each level by term, fitted to its own trials, clustered all alike."""
    trial = trial_ids(used).to_numpy()
    code = pd.Categorical(own, levels).codes.astype(int)
    clusters, note = choose_clusters(cluster_codes(used, trial, ["category"]), code)
    found = {}
    for at, each in enumerate(levels):
        inside = code == at
        its = {name: codes[inside] for name, codes in clusters.items()}
        rows = used[inside]
        estimates = main_estimands(rows, its).fit(rows["chosen"].to_numpy(float), its, note)
        found[each] = {term: estimates.of(term) for term in TERMS}
    return found


def less_base(
    found: dict[str, dict[str, Contrast]], term: str, level: str, base: str | None, name: str
) -> Contrast:
    """Return a term's contrast at a level less that at the base, leaving out clusters of both."""
    if base not in found:
        return Contrast(note=f"no trial has the {name} {base!r} to compare with")
    one, other = found[level][term], found[base][term]
    for each in (one, other):
        if np.isnan(each.estimate):
            return each
    return one.less(other)


def _counts(signs: Iterable["pd.Series[float]"]) -> pd.DataFrame:
    """In how many choice sets each went which way."""
    return pd.DataFrame([tally(each, SETS) for each in signs])
