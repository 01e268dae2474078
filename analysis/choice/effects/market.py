"""Say which products are chosen from sets of three and more, and how far choices gather on few of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.choice.effects.frames import QUESTION, SQUARE, wilson, with_questions
from analysis.choice.effects.groups import set_sizes
from analysis.choice.effects.right_answers import FAMILY
from analysis.estimators.concentration import concentration
from analysis.tables.choice_table import TRIAL_ID, row_weights
from analysis.tables.frame import counted, join_notes, result_frame

LEAST_OPTIONS: Final = 3
BY_NUMBER: Final = "no interval: it depends on the number of trials"
TOO_FEW: Final = "no interval: fewer than three pages, or Latin squares, of a set have a choice"
ALIKE: Final = "no interval: the pages of a set do not differ in their choices"
ONE_ANSWER: Final = "no choice set has two choices, or two Latin squares"
LEAST_DEFINED, LEAST_INTERVAL = 5, 10
"""With so many answers to each product of a set the entropy is defined, and has an interval."""
TOO_LOW: Final = f"too low with fewer than {LEAST_DEFINED} answers to each product of a set"
FEW: Final = f"no interval: fewer than {LEAST_INTERVAL} answers to each product of a set"


def in_markets(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of trials that say which product wins: those with three options or more.

    table: checked. Questions with one right answer are left out, for what is right was drawn; and so are all
    trials beside a decoy, for the design says what each product costs, and all trials where they have chances
    of assignment, which shares do not weigh.
    """
    if row_weights(table) is not None:
        return table[:0]
    told = (set_sizes(table) >= LEAST_OPTIONS) & (table["family"] != FAMILY)
    return table[told & table["attr_role"].isna()] if "attr_role" in table else table[told]


def markets(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how far choices gather on few products, by agent, and the share of each product of each set.

    table: checked. The trials of a set count alike, whatever page they show. Pages are draws, whose trials
    may be answered alike; of a set with one page the trials are the draws, and in a Latin square it is the
    square, whose pages are balanced. Intervals are about these choice sets. Both frames are empty without
    sets of three options or more.

    The first has the columns of every estimator, and Student's intervals. A row is the mean over choice sets
    (`sets`) of a term: `hhi`, `entropy` (nats; see `concentration`), `leader_share` (percent), `never_chosen`
    (products); `effective_number` is exp(entropy). chance: the value in the long run if all products are
    chosen alike often. effective_n: how many independent answers would tell as much. The second: group, set,
    option, chosen, trials, estimate, conf_low, conf_high (percent; Wilson's 1927, of effective_n answers),
    chance, effective_n.
    """
    rows = in_markets(table)
    rows = rows.assign(market=rows.groupby(["agent", "set"]).ngroup())
    products = rows.groupby(["market", "option"])["chosen"].sum().astype(int).reset_index()
    sets = rows.drop_duplicates("market").set_index("market")[["agent", "set"]].sort_index()
    sets["options"] = products.groupby("market").size()
    sets["trials"] = rows.drop_duplicates(TRIAL_ID)["market"].value_counts()
    sets = sets.join(concentration(_choices(rows)).rename(columns={"chosen": "winners"}))
    market = result_frame(
        (row for agent, own in sets.groupby("agent") for row in _measures(str(agent), own)),
        *("chance", "sets", "effective_n"),
    )
    return market, _shares(products.join(sets, on="market"))


def _choices(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each choice; its unit is the page, or the trial where the market has one page alone.

    The pages of a Latin square are not independent: each product has each place once. It is one unit.
    """
    pages = with_questions(rows).set_index(TRIAL_ID)[QUESTION]
    chosen = rows.loc[rows["chosen"] == 1, ["market", TRIAL_ID, "option"]]
    unit = chosen[TRIAL_ID].map(pages)
    several = unit.groupby(chosen["market"]).transform("nunique") > 1
    unit = unit.where(several, chosen[TRIAL_ID])
    if (in_square := rows.loc[chosen.index, "ordering"].eq(SQUARE)).any():
        options = rows.groupby(TRIAL_ID)["option"].transform("size")
        squares = rows.assign(square=rows["repeat"].fillna(0) // options)
        number = squares.groupby(["market", "square"]).ngroup().loc[chosen.index]
        unit = unit.mask(in_square, rows[TRIAL_ID].max() + unit.max() + 1 + number)
    return chosen.assign(unit=unit)


def _measures(agent: str, sets: pd.DataFrame) -> Iterator[Mapping[str, Any]]:
    """The rows of an agent. sets: its markets."""
    used = sets[sets["units"] > 1]
    n, lost = int(used["answers"].sum()), len(sets) - len(used)
    row = {"group": agent, "n": n, "n_missing": int(sets["trials"].sum()) - n, "sets": len(used)}
    if used.empty:
        yield row | {"term": "hhi", "note": ONE_ANSWER}
        return
    row["effective_n"] = float(used["effective_n"].sum())
    left_out = f"{counted(lost, 'choice set')} with fewer than two choices left out" if lost else ""
    even, uniform = (1 / used["options"]).mean(), np.log(used["options"]).mean()
    per_option = (used["effective_n"] / used["options"]).min()
    entropy = _mean(used, "entropy", uniform)
    if per_option < LEAST_DEFINED:
        entropy = {"note": TOO_LOW}
    elif per_option < LEAST_INTERVAL:
        entropy = {"estimate": entropy["estimate"], "note": FEW}
    number = {name: value if name == "note" else np.exp(value) for name, value in entropy.items()}
    if "std_error" in entropy:
        number["std_error"] = number["estimate"] * entropy["std_error"]
    rows: dict[str, tuple[dict[str, Any], float]] = {
        "hhi": (_mean(used, "hhi", 1.0), even),
        "entropy": (entropy, uniform),
        "effective_number": (number, np.exp(uniform)),
        "leader_share": ({"estimate": 100 * used["leader"].mean(), "note": BY_NUMBER}, 100 * even),
        "never_chosen": ({"estimate": (used["options"] - used["winners"]).mean(), "note": BY_NUMBER}, 0.0),
    }
    for term, (own, chance) in rows.items():
        yield row | own | {"term": term, "chance": chance, "note": join_notes(own["note"], left_out)}


def _mean(sets: pd.DataFrame, term: str, most: float) -> dict[str, Any]:
    """The mean of a measure over sets, with its interval, which ends at 0 and `most`."""
    estimate, error = sets[term].mean(), np.sqrt(sets[f"{term}_variance"].sum(skipna=False)) / len(sets)
    if not error > 0:
        return {"estimate": estimate, "note": TOO_FEW if np.isnan(error) else ALIKE}
    reach = error * stats.t.ppf(0.975, (sets["units"] - 1).sum())
    low, high = np.clip([estimate - reach, estimate + reach], 0, max(most, estimate))
    return {"estimate": estimate, "std_error": error, "conf_low": low, "conf_high": high, "note": ""}


def _shares(products: pd.DataFrame) -> pd.DataFrame:
    """The share of each product that was shown in a set with a choice."""
    of = products[products["answers"] > 0].rename(columns={"agent": "group"}).reset_index(drop=True)
    whole = of["answers"].astype(int)
    found = of[["group", "set", "option", "chosen"]].assign(trials=whole)
    limits = wilson(of["chosen"] / whole * of["effective_n"], of["effective_n"])
    return found.assign(**limits, chance=100 / of["options"], effective_n=of["effective_n"])
