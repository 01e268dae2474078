"""Count in which direction choices went: this stands behind an effect that has no interval."""

import pandas as pd

from analysis.choice.effects.effects import LESS_PLACEBO, PLACEBO, TERMS, agents, regressors, varies
from analysis.tables.choice_table import TRIAL_ID, trial_ids
from analysis.tables.frame import join_notes

STRATA = ("strata_for", "strata_against", "strata")
SETS = ("sets_for", "sets_against", "sets")

ROUNDING = 1e-9

_STRATUM = ("run", "agent", "set", "nudge_text", "nudge", "match", "profile", "modality", "repeat")


def strata(nudged: pd.DataFrame) -> "pd.Series[float]":
    """Return the direction of each stratum of trials: +1 for the nudge, -1 against it, 0 neither.

    nudged: rows of trials with a choice in which one option carries a nudge. In a stratum the nudge is on
    each option of the set in turn and all else is the same (text, order, profile, repeat). An agent that the
    nudge does not move chooses its carrier in one of these trials; more often is for the nudge, never is
    against it, and the other way round where the nudge is meant to push away. So in pairs this is the sign
    that McNemar's test counts. Strata in which a trial is missing are left out.

    The index is a row of `nudged` in each stratum.
    """
    carriers = nudged[nudged["nudged"] == 1]
    first = nudged.loc[nudged["viewed_first"] == 1].set_index(TRIAL_ID)["option"]
    known = [name for name in _STRATUM if name in nudged]
    cells = carriers.assign(first=carriers[TRIAL_ID].map(first), row=carriers.index).groupby(
        [*known, "first"], dropna=False
    )
    found = cells.agg(
        won=("chosen", "sum"),
        trials=("option", "size"),
        options=("option", "nunique"),
        direction=("direction", "first"),
        row=("row", "first"),
    )
    size = nudged.groupby(TRIAL_ID)["option"].size()
    found["size"] = nudged.loc[found["row"], TRIAL_ID].map(size).to_numpy()
    whole = found[(found["trials"] == found["size"]) & (found["options"] == found["size"])]
    signs = (whole["won"].astype(float) - 1).clip(-1, 1) * whole["direction"]
    return signs.set_axis(whole["row"])


def by_set(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the raw effect of each term (columns) in each choice set (rows).

    It is the share of the options with the term that were chosen, less that of those without it, in trials
    where both are. All trials have a choice. A placebo has a column too, and the nudge less it.
    """
    x, trial = regressors(rows), trial_ids(rows).to_numpy()
    found = {}
    for term in x:
        moving = varies(x[term], trial)
        own = rows["chosen"].astype(float)[moving]
        shares = own.groupby([rows["set"][moving], x[term][moving]]).mean().unstack()
        found[str(term)] = shares[1.0] - shares[0.0] if moving.any() else pd.Series(dtype=float)
    raw = pd.DataFrame(found, columns=[*TERMS, *([PLACEBO] if PLACEBO in found else [])])
    return raw.assign(**{LESS_PLACEBO: raw["nudged"] - raw[PLACEBO]}) if PLACEBO in raw else raw


def tally(signs: "pd.Series[float]", names: tuple[str, str, str]) -> dict[str, int]:
    """Count the signs above 0, below 0 and all of them, under the three names."""
    known = signs.dropna()
    counts = (known > ROUNDING).sum(), (known < -ROUNDING).sum(), len(known)
    return {name: int(count) for name, count in zip(names, counts, strict=True)}


def with_counts(effects: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the effects; where a row has an estimate but no error, its note says how the choice sets went.

    effects: of `main_effects`. table: checked, of the same trials.
    """
    bare = effects["estimate"].notna() & effects["std_error"].isna()
    frame = effects.copy()
    for agent, _, used in agents(table[table["agent"].isin(effects.loc[bare, "group"])]):
        own = bare & (effects["group"] == agent)
        signs = by_set(used)
        rows = frame.loc[own, ["term", "note"]].to_dict("records")
        frame.loc[own, "note"] = [noted(row["note"], signs[row["term"]]) for row in rows]
    return frame


def noted(note: str, signs: "pd.Series[float]") -> str:
    """Return the note of an estimate without an error, with the counts of the choice sets (see `tally`)."""
    counts = tally(signs, SETS)
    return join_notes(note, "choice sets for {sets_for}, against {sets_against}, of {sets}".format(**counts))
