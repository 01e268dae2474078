"""Analyse the choices of people: all trials as they were meant, and those that followed the protocol."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from analysis.choice.effects.effects import main_effects
from analysis.estimators.shares import share_interval
from analysis.tables.choice_table import TRIAL_ID

INTENDED: Final = "intention to treat"
PER_PROTOCOL: Final = "per protocol"
NOT_CHOSEN: Final = ("no_choice", "agent_limit")
"""The outcomes that count as choosing none of the options, where all trials count."""


def has_people(table: pd.DataFrame) -> bool:
    """Return whether a checked table has trials of people."""
    return "participant" in table and bool(table["participant"].ne("").any())


def participation(table: pd.DataFrame, declared: Mapping[str, Any]) -> pd.DataFrame:
    """Count the people, and whom each declared rule leaves out of the analysis per protocol.

    table: checked. declared: `exclusions` by rule, with the number that it names. Columns: agent, rule,
    participants, trials; the rule `all` and the rule `left` are those before and after all rules.
    """
    rows = []
    for agent, own in table[table["participant"].ne("")].groupby("agent", sort=True):
        out = excluded(own, declared)
        everybody = set(own["participant"])
        by_rule = {"all": everybody, **out, "left": everybody.difference(*out.values())}
        for rule, people in by_rule.items():
            trials = own.loc[own["participant"].isin(people), TRIAL_ID].nunique()
            rows.append((agent, rule, len(people), trials))
    return pd.DataFrame(rows, columns=["agent", "rule", "participants", "trials"])


def excluded(rows: pd.DataFrame, declared: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return by declared rule the people whom it leaves out.

    `attention_failed`: so many attention items or more. `seconds_per_trial`: the median trial took less.
    `seen_seconds`: in the median trial the edit that was in view for the shortest time was so for less.
    `seen_share`: of the trials, a smaller share had all that was planned in view.
    """
    trials = rows.drop_duplicates(TRIAL_ID)
    people = trials.groupby("participant")
    told = {
        "attention_failed": lambda at: people["attention"].max() >= at,
        "seconds_per_trial": lambda at: people["seconds"].median() < at,
        "seen_seconds": lambda at: people["seen_seconds"].median() < at,
        "seen_share": lambda at: people["in_view"].mean() < at,
    }
    rules = {rule: told[rule](at) for rule, at in (declared.get("exclusions") or {}).items() if rule in told}
    return {rule: set(out.index[out.fillna(False).astype(bool)]) for rule, out in rules.items()}


def people_effects(table: pd.DataFrame, declared: Mapping[str, Any]) -> pd.DataFrame:
    """Return the effects on the choices of people twice, as `main_effects` gives them, by `analysis`.

    `intention to treat`: every trial whose pages were served; who chose nothing chose none of the options.
    `per protocol`: the choices before which all that was planned was in view, of people whom no declared rule
    leaves out. Errors are clustered by participant and, with enough of both, by choice set.
    """
    own = table[table["participant"].ne("")]
    out = set().union(
        *(people for _, rows in own.groupby("agent") for people in excluded(rows, declared).values())
    )
    meant = own.assign(chosen=own["chosen"].mask(own["outcome"].isin(NOT_CHOSEN), 0))
    kept = own[~own["participant"].isin(out) & own["in_view"].eq(1)]
    parts = {INTENDED: meant, PER_PROTOCOL: kept}
    frames = [
        main_effects(rows.reset_index(drop=True)).assign(analysis=name)
        for name, rows in parts.items()
        if len(rows)
    ]
    return pd.concat(frames, ignore_index=True)


def teams(table: pd.DataFrame) -> pd.DataFrame:
    """Return how often people followed the agent that proposed, and how long they took.

    table: checked, with the column `proposed`. A row of each agent for all proposals, for those of an option
    with a nudge, and for the others. Columns: agent, proposals, followed and its interval (percent; clustered
    by participant, see `share_interval`), seconds (median), seconds_without (of trials without a proposal),
    participants, n.
    """
    own = table[table["participant"].ne("") & table["chosen"].notna()]
    rows = []
    for agent, its in own.groupby("agent", sort=True):
        told = its[its["proposed"].eq(1)]
        alone = its[its["proposed"].isna()].drop_duplicates(TRIAL_ID)["seconds"].median()
        is_nudged = told["nudged"].eq(1)
        for name, part in (("all", told), ("with a nudge", told[is_nudged]), ("others", told[~is_nudged])):
            people = part.groupby("participant")["chosen"].agg(["sum", "size"])
            if people.empty:
                continue
            found = share_interval(people["sum"].astype(float), people["size"].astype(float))
            share = float(people["sum"].sum() / people["size"].sum())
            ends = {"followed": share, "conf_low": found.low, "conf_high": found.high}
            rows.append(
                {"agent": agent, "proposals": name}
                | {column: 100 * value for column, value in ends.items()}
                | {"seconds": part["seconds"].median(), "seconds_without": alone}
                | {"participants": len(people), "n": len(part)}
            )
    return pd.DataFrame(rows)
