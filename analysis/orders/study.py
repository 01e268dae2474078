"""Run the whole analysis of orders: the four cells, paired differences, and the extra money."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.moved import FEW_SETS, LEAST
from analysis.estimators.randomisation import exact_p, flipped, score_interval
from analysis.estimators.t_tests import one_sample_t, summarize, wilson_interval
from analysis.orders.survival import survival
from analysis.orders.table import CONTROL, FAILED, check_orders
from analysis.reporting.to_json import to_json
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import counted, join_notes, result_frame

DECEIVED: Final = "deceived"
TASK: Final = "task_ok"
CELLS: Final = {
    "deceived_completed": (1, 1),
    "deceived_failed": (1, 0),
    "evaded_completed": (0, 1),
    "evaded_failed": (0, 0),
}
"""The four cells of TrickyArena (arXiv 2510.18113): deceived or not, and the task done or not."""
QUESTION: Final = ["run", "agent", "nudge", "set", "profile", "modality", "ordering"]
PAIR: Final = [*QUESTION, "repeat"]
"""What a trial and its control have in common."""
REPEATED: Final = "repeats of a question count once, by their mean"
UNSEEN: Final = "nobody was shown it"
CANNOT: Final = "the control cannot show it: this is the share of treated trials, with Wilson's interval"
ONE_WAY: Final = "no pair differs the other way: the odds ratio is at least the lower limit"
NO_PAIR: Final = "no pair differs"
ALIKE: Final = "each choice set has the same difference: no interval"
NOT_ALL: Final = "no choice set was shown all three"
ONE_SET: Final = "one choice set: no interval about others"


@dataclass(frozen=True)
class OrdersAnalysis:
    """The frames of an analysis, each documented by the function that makes it."""

    cells: pd.DataFrame
    effects: pd.DataFrame
    pairs: pd.DataFrame
    money: pd.DataFrame
    doses: pd.DataFrame
    combinations: pd.DataFrame
    modality_differences: pd.DataFrame
    survival: pd.DataFrame
    outcomes: pd.DataFrame
    notes: tuple[str, ...]
    currency: str = ""
    """Of the sums, for their labels; empty where it is not known."""

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        return to_json({name: each for name, each in vars(self).items() if name != "currency"})


def analyze_orders(table: pd.DataFrame) -> OrdersAnalysis:
    """Analyse a table of orders. Raises AnalysisError for one that `check_orders` refuses."""
    checked = check_orders(table)
    known = checked[~checked["outcome"].isin(FAILED)]
    lost, unpaired = len(checked) - len(known), _unpaired(known)
    every = counted(len(checked), "trial")
    notes = [f"{lost:,} of {every} failed, and are left out." if lost else f"None of {every} failed."]
    if unpaired:
        notes.append(f"{counted(unpaired, 'trial')} without the other of its pair: left out of differences.")
    ended = checked.groupby(["agent", "nudge", "condition", "outcome"])["ordered"]
    counts = ended.agg(count="size", ordered="sum").reset_index()
    return OrdersAnalysis(
        cells=four_cells(known),
        effects=effects(known),
        pairs=mcnemar(known),
        money=extra_money(known),
        doses=dose_trends(known),
        combinations=combinations(known),
        modality_differences=modality_differences(known),
        survival=survival(known),
        outcomes=counts.rename(columns={"agent": "group"}),
        notes=tuple(notes),
        currency=" and ".join(sorted(set(checked["currency"]) - {""})),
    )


def four_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of trials in each of the four cells, in percent, by agent, intervention and condition.

    Columns: group, nudge, condition, trials, exposed (how many were shown it), the four `CELLS`, and
    `deceived_if_exposed`, the share of exposed trials that were deceived. An agent that seldom comes to an
    order is deceived seldom: what counts is evaded_completed.
    """
    rows = []
    for key, own in table.groupby(["agent", "nudge", "condition"], sort=True):
        shares = {
            name: 100 * float((own[DECEIVED].eq(deceived) & own[TASK].eq(done)).mean())
            for name, (deceived, done) in CELLS.items()
        }
        exposed = own[own["exposed"].eq(1)]
        among = 100 * float(exposed[DECEIVED].mean()) if len(exposed) else np.nan
        named = dict(zip(("group", "nudge", "condition"), key, strict=True))
        counts = {"trials": len(own), "exposed": len(exposed)}
        rows.append({**named, **counts, **shares, "deceived_if_exposed": among})
    columns = ["group", "nudge", "condition", "trials", "exposed", *CELLS, "deceived_if_exposed"]
    return pd.DataFrame(rows, columns=columns)


def effects(table: pd.DataFrame) -> pd.DataFrame:
    """Return how much more often customers are deceived, and do their task, than in the control trials.

    In percentage points, by agent and intervention (column nudge). The difference is of pairs: a trial and
    its control with the same choice set, order, profile and repeat. An agent may answer a question that is
    asked again alike, so that a question counts once, by the mean of its pairs. p_value: the randomisation
    test of pairs, which is McNemar's exact test where nothing is asked again; the interval is Tango's (1998)
    for paired proportions, corrected for steps. Where nobody was shown the intervention nothing is estimated.
    Where a control shows nothing that could deceive, and nobody
    is deceived in one, there is no difference to test: the estimate of `deceived` is the share, with Wilson's
    interval over questions. n counts pairs. p_adjusted: over all rows that have a p value.
    """
    rows = []
    for (agent, nudge), pairs in _pairs(table):
        own = _by_question(pairs)
        note = REPEATED if len(own) < len(pairs) else ""
        for term in (DECEIVED, TASK):
            values = own[f"{term}_treated"].to_numpy(float) - own[f"{term}_control"].to_numpy(float)
            named = {"term": term, "group": agent, "nudge": nudge}
            row: dict[str, Any] = {**named, "n": len(pairs), "note": note}
            low, high = np.nan, np.nan
            if term == DECEIVED and not own["exposed_treated"].any() and not own[f"{term}_treated"].any():
                row["note"] = join_notes(UNSEEN, note)
            elif term == DECEIVED and not own["exposed_control"].any() and not own[f"{term}_control"].any():
                share = float(own[f"{term}_treated"].mean())
                low, high = wilson_interval(share * len(own), len(own))
                row |= {"estimate": 100 * share, "note": join_notes(CANNOT, note)}
            else:
                low, high = score_interval(values, -1, 1)
                p_value = exact_p(values, [flipped(abs(float(each))) for each in values])
                row |= {"estimate": 100 * float(values.mean()), "p_value": p_value}
            rows.append(row | {"conf_low": 100 * low, "conf_high": 100 * high})
    frame = result_frame(rows, "nudge")
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def mcnemar(table: pd.DataFrame) -> pd.DataFrame:
    """Return the questions by agent and intervention: who was deceived in which of the two trials.

    A question that was asked again counts once: by the side on which the agent was deceived more often.
    Columns: group, nudge, questions, both, only_treated (b), only_control (c), neither, p_exact (McNemar
    1947, a two-sided binomial test of b in b + c), p_mid (mid-p), and the conditional odds ratio b / c with
    the limits that follow from Clopper and Pearson's (1934) of b / (b + c). Where c is 0 there is no ratio,
    and the lower limit says how large it is at least.
    """
    rows = []
    for (agent, nudge), pairs in _pairs(table):
        own = _by_question(pairs)
        treated, control = own[f"{DECEIVED}_treated"], own[f"{DECEIVED}_control"]
        b, c = int((treated > control).sum()), int((control > treated).sum())
        low, high = _odds_limits(b, c)
        rows.append(
            {
                "group": agent,
                "nudge": nudge,
                "questions": len(own),
                "both": int((treated.eq(control) & treated.gt(0)).sum()),
                "only_treated": b,
                "only_control": c,
                "neither": int((treated.eq(0) & control.eq(0)).sum()),
                "p_exact": stats.binomtest(b, b + c).pvalue if b + c else np.nan,
                "p_mid": mid_p(b, c),
                "odds_ratio": b / c if c else np.nan,
                "conf_low": low,
                "conf_high": high,
                "note": "" if c else ONE_WAY if b else NO_PAIR,
            }
        )
    columns = ["group", "nudge", "questions", "both", "only_treated", "only_control", "neither"]
    return pd.DataFrame(
        rows, columns=[*columns, "p_exact", "p_mid", "odds_ratio", "conf_low", "conf_high", "note"]
    )


def extra_money(table: pd.DataFrame) -> pd.DataFrame:
    """Return the extra money paid: the difference of pairs of orders, by agent and intervention.

    Extra is what an order cost above what was advertised, in currency units. The mean is over choice sets,
    each of which counts once, with Student's t interval over them. Further columns: treated, control (the
    mean extra of the orders of pairs), share (extra in percent of what was advertised, treated), median (of
    the differences), more (the percentage of pairs that paid more). n counts pairs with two orders.
    """
    rows = []
    for (agent, nudge), own in _pairs(table):
        paid = own[own["extra_paid_treated"].notna() & own["extra_paid_control"].notna()]
        apart = paid["extra_paid_treated"] - paid["extra_paid_control"]
        by_set = apart.groupby(paid["set"]).mean()
        more = {
            "treated": paid["extra_paid_treated"].mean(),
            "control": paid["extra_paid_control"].mean(),
            "share": paid["extra_share_treated"].mean(),
            "median": apart.median(),
            "more": 100 * (apart > 0).mean() if len(apart) else np.nan,
        }
        named = {"term": "extra_paid", "group": agent, "nudge": nudge, "n": len(paid)}
        rows.append({**named, **_over_sets(by_set), **more})
    frame = result_frame(rows, "nudge", "treated", "control", "share", "median", "more")
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def dose_trends(table: pd.DataFrame) -> pd.DataFrame:
    """Return how a step of the dose moves outcomes, by agent and family of interventions (percentage points).

    Of the families with several doses; see `_contrasts`. A choice set has the slope of a least-squares line
    over its doses. doses: how many there are.
    """

    def slope(means: "pd.Series[float]") -> float:
        means = means.dropna()
        apart = means.index.to_numpy(float) - means.index.to_numpy(float).mean()
        return float(apart @ means / (apart @ apart)) if len(means) > 1 else np.nan

    rows: list[dict[str, Any]] = []
    dosed = table[table["dose"].gt(0)] if "dose" in table else table[:0]
    for (agent, family), own in dosed.groupby(["agent", "family"], sort=True):
        of = own.groupby("nudge")["dose"].first()
        found = {key[1]: pairs.assign(level=of[key[1]]) for key, pairs in _pairs(own)}
        if (doses := len({of[nudge] for nudge in found})) > 1:
            rows += _contrasts(pd.concat(found.values()), slope, group=agent, family=family, doses=doses)
    frame = result_frame(rows, "family", "doses")
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def combinations(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how much two interventions at once move more than both of them do alone (percentage points).

    By agent and combination (nudge; parts: what it combines); see `_contrasts`. A choice set has the contrast
    both - first - second of the differences from their controls, which is the interaction of a 2 x 2 design:
    with one control, both - first - second + control. Where neither works alone and both do together it is
    the effect of both. Further columns: both, first, second (the mean differences over all choice sets).
    """
    rows: list[dict[str, Any]] = []
    for (agent, nudge), own in table[table["combines"].ne("")].groupby(["agent", "nudge"], sort=True):
        names = [str(nudge), *own["combines"].iloc[0].split()]
        mine = table[(table["agent"] == agent) & table["nudge"].isin(names)]
        found = [pairs.assign(level=key[1]) for key, pairs in _pairs(mine)]
        if not found:
            continue
        pairs = pd.concat(found)

        def interaction(means: "pd.Series[float]", names: list[str] = names) -> float:
            both, first, second = means.reindex(names)
            return float(both - first - second)

        for row in _contrasts(pairs, interaction, group=agent, nudge=nudge, parts=" + ".join(names[1:])):
            alone = _apart(pairs, row["term"]).groupby(pairs["level"]).mean().reindex(names)
            row.update(zip(("both", "first", "second"), alone, strict=True))
            if np.isnan(row["estimate"]):
                absent = ", ".join(alone.index[alone.isna()])
                row["note"] = f"no pairs of {absent}" if absent else NOT_ALL
            rows.append(row)
    frame = result_frame(rows, "nudge", "parts", "both", "first", "second")
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def modality_differences(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how much more an intervention moves in a modality than in HTML (percentage points).

    By agent, intervention (nudge) and modality; without HTML, than in the first by name (beside). See
    `_contrasts`: a choice set has the difference of its two differences from the control. Further columns:
    effect and effect_beside, the mean differences in both over all pairs.
    """
    rows: list[dict[str, Any]] = []
    for (agent, nudge), pairs in _pairs(table) if "modality" in table else ():
        names = sorted({*pairs["modality"].dropna()} - {""}, key=lambda each: (each != "html", each))
        for name in names[1:]:
            ways = [name, names[0]]
            own = pairs[pairs["modality"].isin(ways)].assign(level=lambda both: both["modality"])

            def further(means: "pd.Series[float]", ways: list[str] = ways) -> float:
                there, beside = means.reindex(ways)
                return float(there - beside)

            for row in _contrasts(own, further, group=agent, nudge=nudge, modality=name, beside=names[0]):
                effects = _apart(own, row["term"]).groupby(own["level"]).mean().reindex(ways)
                row.update(zip(("effect", "effect_beside"), effects, strict=True))
                rows.append(row)
    frame = result_frame(rows, "nudge", "modality", "beside", "effect", "effect_beside")
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def _contrasts(
    pairs: pd.DataFrame, contrast: Callable[["pd.Series[float]"], float], **named: Any
) -> Iterator[dict[str, Any]]:
    """A row for each outcome, with a contrast of interventions within choice sets.

    pairs: with a `level` of the intervention of each. contrast: from the mean differences of a choice set by
    level (NaN: it was not shown) to a number, NaN where it has none. The estimate is the mean over the choice
    sets that have one, each of which counts once, with Student's t interval over them; with fewer than twelve
    there is none. n counts pairs.
    """
    for term in (DECEIVED, TASK):
        means = _apart(pairs, term).groupby([pairs["set"], pairs["level"]]).mean().unstack()
        values = means.apply(contrast, axis="columns").dropna()
        row = _over_sets(values)
        if len(values) < LEAST:
            row = {"estimate": row["estimate"], "note": FEW_SETS}
        yield {"term": term, "n": len(pairs), **named, **row}


def _apart(pairs: pd.DataFrame, term: str) -> "pd.Series[float]":
    """The differences of pairs in an outcome, in percentage points."""
    return 100 * (pairs[f"{term}_treated"].astype(float) - pairs[f"{term}_control"].astype(float))


def _over_sets(values: "pd.Series[float]") -> dict[str, Any]:
    """The mean over choice sets with Student's t interval, as a part of a row."""
    test = one_sample_t(summarize(values)).row()
    test = {name: each for name, each in test.items() if name not in ("effect_size", "df", "side")}
    if len(values) == 1:
        test["note"] = ONE_SET
    elif test["std_error"] == 0:
        test |= {"statistic": np.nan, "p_value": np.nan, "note": ALIKE}
    return test


def _pairs(table: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """The pairs of trials of each agent and intervention; columns end in `_treated` and `_control`."""
    control = table["condition"] == CONTROL
    values = [*PAIR, "exposed", DECEIVED, TASK, "extra_paid", "extra_share"]
    sides = (table.loc[~control, values], table.loc[control, values])
    both = sides[0].merge(sides[1], on=PAIR, suffixes=("_treated", "_control"))
    for key, own in both.groupby(["agent", "nudge"], sort=True):
        yield (str(key[0]), str(key[1])), own.reset_index(drop=True)


def _by_question(pairs: pd.DataFrame) -> pd.DataFrame:
    """The means over the repeats of each question."""
    values = [f"{name}_{side}" for name in ("exposed", DECEIVED, TASK) for side in ("treated", "control")]
    return pairs.groupby(QUESTION, sort=False, dropna=False)[values].mean().reset_index()


def _unpaired(table: pd.DataFrame) -> int:
    sizes = table.groupby(PAIR, dropna=False)["condition"].nunique()
    return int((sizes < 2).sum())


def mid_p(b: int, c: int) -> float:
    """Return the mid-p of McNemar's test (Fagerland, Lydersen and Laake 2013, BMC Med. Res. Methodol. 13)."""
    if not b + c:
        return np.nan
    exact, own = stats.binomtest(b, b + c).pvalue, stats.binom.pmf(min(b, c), b + c, 0.5)
    return float(exact - own) if b != c else float(1 - own / 2)


def _odds_limits(b: int, c: int) -> tuple[float, float]:
    if not b + c:
        return np.nan, np.nan
    interval = stats.binomtest(b, b + c).proportion_ci(0.95, "exact")
    low, high = (float(each / (1 - each)) if each < 1 else np.nan for each in (interval.low, interval.high))
    return low, high
