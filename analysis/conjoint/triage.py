"""Find agents that choose by position, before anything else is estimated."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.conjoint.cards import OUT, ShownOptions, answered, taken
from analysis.conjoint.frames import Row, tidy_frame, tidy_row
from analysis.estimators.choice_sets import has_chances
from analysis.estimators.randomisation import exact_p, flipped, score_interval
from analysis.estimators.shares import share_interval
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import join_notes

LOCKED = 0.35
"""The distance of the first-shown rate from a half beyond which an agent is locked.

So an agent is locked outside 15-85 %.
"""

PRIMACY, RECENCY, AT_PLACE = "locked-primacy", "locked-recency", "locked-position-"
"""The verdicts of locked agents: they take what is shown first, or last, or at a place, which follows."""
ORDERS = 2
PERCENT = 2
"""The decimals of chances in the exact test: of finer ones the sums would be too many to count."""
PAIR = 2
UNCLEAR = "the interval reaches over a limit of 15 to 85 %"
NO_PLACES = "no set has two options besides none: positions tell nothing"
LAST = "last"
"""The position of the last option in sets of any size, beside the numbers of others."""


def positions(cards: ShownOptions) -> pd.DataFrame:
    """Return the share of choices at each position, in sets of all sizes together and of each size.

    Terms: `position_1` ..., and `last`; `options`: the size of the sets without opt-outs, empty for all.
    Shares (0 to 1) are of the choices of an option that is no opt-out. The interval takes choice sets as
    draws (see `share_interval`). Extra columns: `options`, `chance`, the share of a chooser at random.
    """
    rows: list[Row] = []
    for agent, own in cards.placed.groupby("agent", sort=True):
        sizes = sorted(own["options"].unique())
        for size in ["", *(sizes if len(sizes) > 1 else [])]:
            rows += _at_places(own if size == "" else own[own["options"] == size], str(agent), size)
    return tidy_frame(rows, "options", "chance")


def positions_by_order(cards: ShownOptions) -> pd.DataFrame:
    """Return the share of choices at each position, by the size of the set and the order.

    An agent that takes a letter or a place takes it in both orders; one that takes an option takes the place
    where it stands. Columns as of `positions`, and `ordering`.
    """
    rows: list[Row] = []
    for (agent, size, order), own in cards.placed.groupby(["agent", "options", "ordering"], sort=True):
        rows += [row | {"ordering": order} for row in _at_places(own, str(agent), size)]
    return tidy_frame(rows, "options", "ordering", "chance")


def _at_places(shown: pd.DataFrame, agent: str, size: object) -> Iterator[Row]:
    """The shares of one agent; size: of the sets, empty for all sizes together, which have a last place."""
    made = taken(shown)
    if made.empty:
        return
    weight, options, places = (made[name].to_numpy() for name in ("weight", "options", "place"))
    unit = pd.factorize(made["set"])[0]
    asked = np.bincount(unit, weight)
    for place in [*range(1, options.max() + 1), *([LAST] if size == "" else [])]:
        at = places == (options if place == LAST else place)
        share = share_interval(np.bincount(unit, at * weight), asked)
        # A chooser at random takes each option alike.
        chance = (options >= (1 if place == LAST else place)) / options
        yield tidy_row(
            LAST if place == LAST else f"position_{place}",
            agent,
            answered(made),
            estimate=float((at * weight).sum() / weight.sum()),
            conf_low=share.low,
            conf_high=share.high,
            options=str(size),
            chance=float((chance * weight).sum() / weight.sum()),
        )


def triage(cards: ShownOptions) -> pd.DataFrame:
    """Return the first-shown rate of each agent, with an interval, a test against chance, and the verdict.

    The interval is Wilson's, the test a z test. Where there are pairs, counted are the choices of A or B, as
    published: first-shown is the one of the two that stood before the other, so an agent that does not look
    at positions comes near a half when every set is shown in both orders. In larger sets alone, counted are
    all choices, and first-shown is the one at the first position.

    Extra columns: `p_exact`, `exact_low` and `exact_high`, of the sets with pairs that were shown in both
    orders: if positions do nothing, the two orders of a set could have been exchanged. That is McNemar's
    exact test, with Tango's score interval. `verdict`: locked-primacy, locked-recency or, at a place between,
    locked-position-2 ..., where the whole interval of the share of a position is above 85 % (`positions`; of
    pairs as above), undecided where one reaches over it, engaged where none does, or "" without a choice.
    """
    rows = []
    every, places = cards.placed, positions(cards)
    published = bool((every["options"] == PAIR).any())
    larger = bool((every["options"] > PAIR).any())
    by_agent = dict(iter(every.groupby("agent")))
    for agent, own in cards.by_agent.items():
        chosen = taken(own)
        missing = own[TRIAL_ID].nunique() - answered(chosen)
        shown = by_agent.get(agent, every[:0])
        between = shown[shown["letter"] < ORDERS] if published else shown
        front = between["place"] == between.groupby(TRIAL_ID)["place"].transform("min")
        counted = taken(between).assign(front=front)
        weight = counted["weight"]
        first, n = float((counted["front"] * weight).sum()), answered(counted)
        if n == 0:
            none = len(chosen) and shown.empty
            verdict, note = ("undecided", NO_PLACES) if none else ("", _nothing(chosen))
            rows.append(tidy_row("first_shown", agent, 0, missing, note=note, verdict=verdict))
            continue
        rate = first / float(weight.sum())
        chance = 0.5 if published else float((weight / counted["options"]).sum() / weight.sum())
        low, high = proportion_confint(rate * n, n, method="wilson")
        exact = _by_set(counted) if published else {}
        known = places[(places["group"] == agent) & (places["options"] == "")]
        verdict = _of_places(known) if larger else ""
        if published and verdict in ("", "engaged", "undecided"):
            verdict = _verdict(exact.get("exact_low", low), exact.get("exact_high", high))
        z = (rate - chance) / np.sqrt(chance * (1 - chance) / n)
        rows.append(
            tidy_row(
                "first_shown",
                agent,
                n,
                missing,
                estimate=rate,
                std_error=np.sqrt(rate * (1 - rate) / n),
                statistic=z,
                p_value=2 * stats.norm.sf(abs(z)),
                conf_low=low,
                conf_high=high,
                note=join_notes(
                    _note(own),
                    UNCLEAR if verdict == "undecided" else "",
                    "" if published else f"of all positions; chance is {100 * chance:.1f} %",
                ),
                verdict=verdict,
                **exact,
            )
        )
    return tidy_frame(rows, "p_exact", "exact_low", "exact_high", "verdict")


def takes(places: pd.DataFrame, agent: str, verdict: str) -> str:
    """Say how often an agent takes the option shown first, and before it the one where it is locked.

    places: of `positions`. Empty where the agent has no choice.
    """
    own = places[(places["group"] == agent) & (places["options"] == "")].set_index("term")
    if own.empty:
        return ""
    said = f"takes the option shown first in {100 * own['estimate']['position_1']:.1f} % of its choices"
    if verdict.startswith(AT_PLACE) or verdict == RECENCY:
        place = LAST if verdict == RECENCY else f"position_{verdict.removeprefix(AT_PLACE)}"
        what = "the last option" if place == LAST else f"the option at {place.replace('_', ' ')}"
        share = 100 * own["estimate"][place]
        first = said.removeprefix("takes ").removesuffix(" of its choices")
        return f"takes {what} in {share:.1f} % of its choices, {first}"
    return said


def _nothing(taken: pd.DataFrame) -> str:
    """Why nothing can be counted."""
    if taken.empty:
        return "no choice of A or B"
    return "it takes none of the options" if (taken[OUT] == 1).all() else "no choice of A or B"


def _of_places(known: pd.DataFrame) -> str:
    """The verdict by the shares of all positions."""
    locked = known[known["conf_low"] > 0.5 + LOCKED]
    if locked.empty:
        return "undecided" if (known["conf_high"] > 0.5 + LOCKED).any() else "engaged"
    terms = set(locked["term"])
    if "position_1" in terms:
        return PRIMACY
    return RECENCY if LAST in terms else f"{AT_PLACE}{locked['term'].iloc[0].removeprefix('position_')}"


def _by_set(counted: pd.DataFrame) -> dict[str, float]:
    """The exact test and the interval of the rate; nothing where no set was chosen from in both orders."""
    cells = counted.assign(front=counted["front"] * counted["weight"]).groupby(["set", "ordering"])
    weight = cells["weight"].sum()
    # Of scored letters, where another option is likelier than these two there is as good as no answer.
    shares = (cells["front"].sum() / weight).where(weight >= 0.5).unstack().dropna()
    if shares.shape[1] != ORDERS or shares.empty:
        return {}
    values = shares.sum(axis=1).to_numpy() - 1
    low, high = score_interval(values, -1, 1)
    if has_chances(counted["weight"].to_numpy()):
        values = values.round(PERCENT)
    p_exact = exact_p(values, [flipped(value) for value in values.tolist()])
    return {"p_exact": p_exact, "exact_low": (1 + low) / 2, "exact_high": (1 + high) / 2}


def _verdict(low: float, high: float) -> str:
    if low > 0.5 + LOCKED:
        return PRIMACY
    if high < 0.5 - LOCKED:
        return RECENCY
    return "engaged" if low >= 0.5 - LOCKED and high <= 0.5 + LOCKED else "undecided"


def _note(own: pd.DataFrame) -> str:
    """Without both orders, a preference for A cannot be told from one for the place where A stands."""
    orders = own.drop_duplicates(TRIAL_ID)["ordering"].value_counts()
    if orders.get("forward", 0) == orders.get("reversed", 0):
        return ""
    return "sets are not shown equally often in both orders"
