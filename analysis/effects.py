"""Choice effects of each agent: how much a feature of an option moves its probability of being chosen."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.multitest import multipletests

from analysis.errors import AnalysisError
from analysis.lpm import Contrast, Floats, Ints, average_contrast, design_matrix, is_identified, within_trials
from analysis.table import check_table, trial_ids

TERMS = ("viewed_first", "higher_rated", "cheaper", "nudged")

COMPARISONS_PER_COEFFICIENT = 5
"""Options less trials, per coefficient: with fewer, 95 % intervals of the full model cover less than 90 %."""

LEAST_CLUSTERS = 3
"""Two clusters leave one degree of freedom, and so an interval 12.7 standard errors to each side."""

FRAME_COLUMNS = (
    "term",
    "group",
    "estimate",
    "std_error",
    "statistic",
    "p_value",
    "p_adjusted",
    "conf_low",
    "conf_high",
    "n",
    "n_missing",
    "note",
)
"""The columns of every estimator's frame. Undefined statistics are NaN, with the reason in `note`."""


def choice_effects(table: pd.DataFrame) -> pd.DataFrame:
    """Effects of the four features on choice, one row per agent and term, in percentage points.

    An effect compares an option that has the feature with an option of the same set that has it not, all else
    equal. Agents are fitted one by one: with trial fixed effects the joint model, fully interacted with the
    agent, gives the same estimates, and so no agent's numbers depend on who else was run. `p_adjusted` is
    Benjamini and Hochberg's (1995) over the terms of one agent: the family is "what moves this agent".
    n: trials with a choice; n_missing: trials without.

    Raises AnalysisError for a table that `check_table` refuses.
    """
    table = check_table(table)
    frames = []
    for agent, rows in table.groupby("agent", sort=True):
        used = rows[rows["chosen"].notna()]
        contrasts = _contrasts(used, used["chosen"].to_numpy(float))
        frames.append(
            _frame(contrasts, str(agent), _count_trials(used), _count_trials(rows) - _count_trials(used))
        )
    return pd.concat(frames, ignore_index=True)


def true_effects(table: pd.DataFrame, probabilities: npt.ArrayLike) -> pd.DataFrame:
    """What `choice_effects` estimates without bias on this design, for a chooser with known probabilities.

    probabilities: the chance of each row's option to be chosen, in the order of the table's rows. The
    estimator is linear in the outcome, so its expectation is the estimator applied to the probabilities.

    Returns the columns term, group, estimate (percentage points) and note.
    """
    table = check_table(table)
    truth = np.asarray(probabilities, float)
    if truth.shape != (len(table),):
        raise AnalysisError(f"probabilities: {truth.shape} values for {len(table)} rows; give one per row")
    frames = []
    for agent, rows in table.groupby("agent", sort=True):
        used = rows[rows["chosen"].notna()]
        contrasts = _contrasts(used, truth[used.index.to_numpy()])
        frames.append(_frame(contrasts, str(agent), 0, 0)[["term", "group", "estimate", "note"]])
    effects = pd.concat(frames, ignore_index=True)
    effects["note"] = effects["note"].where(effects["estimate"].isna(), "")
    return effects


def _count_trials(rows: pd.DataFrame) -> int:
    return int(trial_ids(rows).nunique())


def _contrasts(rows: pd.DataFrame, outcome: Floats) -> dict[str, Contrast]:
    """The contrast of each term for the rows of one agent; all trials have a choice."""
    if rows.empty:
        return {term: Contrast(note="no trial has a choice") for term in TERMS}
    x, trial = regressors(rows), trial_ids(rows).to_numpy()
    by_trial = x.groupby(trial)
    differs = (by_trial.max() > by_trial.min()).any()
    varying = x.loc[:, differs]
    designs, order = _identified_designs(varying, trial)
    clusters, note = _clusters(rows, trial)
    if order < varying.shape[1]:
        note = _join(note, f"interactions of {order + 1} or more features left out: too little data")
    contrasts = {}
    for term in TERMS:
        if not differs[term]:
            contrasts[term] = Contrast(note=f"{term} never differs between the options of a trial")
        elif term not in designs:
            contrasts[term] = Contrast(note=f"{term} cannot be told from the other features in these trials")
        else:
            found = average_contrast(outcome, designs[term], trial, clusters)
            contrasts[term] = replace(found, note=_join(found.note, note))
    return contrasts


def regressors(rows: pd.DataFrame) -> pd.DataFrame:
    """The terms as 0/1 columns. A negative nudge is turned: it counts as one on the other options."""
    x = rows[list(TERMS)].astype(float)
    pushed = rows["nudged"].eq(1) & rows["direction"].eq(-1)
    turned = pushed.groupby(trial_ids(rows)).transform("any") & ~pushed
    x["nudged"] = ((x["nudged"].eq(1) & ~pushed) | turned).astype(float)
    return x


def _identified_designs(x: pd.DataFrame, trial: Ints) -> tuple[dict[str, pd.DataFrame], int]:
    """Design matrices of the identified terms, at the highest order of interactions that identifies most.

    An order with too many coefficients for the data is passed over, the main effects never.
    """
    best: dict[str, pd.DataFrame] = {}
    best_order = x.shape[1]
    comparisons = len(x) - len(np.unique(trial))
    for order in range(x.shape[1], 0, -1):
        designs = {str(term): design_matrix(x, str(term), order) for term in x}
        # Every focus spans the same space, so any one of the designs tells the number of coefficients.
        rank = np.linalg.matrix_rank(within_trials(next(iter(designs.values())), trial))
        if order > 1 and comparisons < COMPARISONS_PER_COEFFICIENT * rank:
            continue
        identified = {term: design for term, design in designs.items() if is_identified(design, trial)}
        if len(identified) > len(best):
            best, best_order = identified, order
        if len(best) == x.shape[1]:
            break
    return best, best_order


def _clusters(rows: pd.DataFrame, trial: Ints) -> tuple[dict[str, Ints], str]:
    """Nudge text and category, or the one of them with enough clusters; else the set, at last the trial.

    Trials without a nudge are one more cluster of the nudge texts.
    """
    texts = rows["nudge_text"].where(rows["nudge_text"] != "", rows["nudge"])
    codes = {"nudge text": _codes(texts, trial), "category": _codes(rows["category"], trial)}
    found = {name: code for name, code in codes.items() if code.max() + 1 >= LEAST_CLUSTERS}
    if len(found) == 2:
        return found, ""
    if len(found) == 1:
        (lost,) = codes.keys() - found.keys()
        return found, f"clustered by {next(iter(found))} only: fewer than {LEAST_CLUSTERS} clusters by {lost}"
    sets = _codes(rows["set"], trial)
    if sets.max() + 1 >= LEAST_CLUSTERS:
        return {"set": sets}, f"clustered by set: fewer than {LEAST_CLUSTERS} nudge texts and categories"
    return {
        "trial": trial
    }, f"clustered by trial: fewer than {LEAST_CLUSTERS} sets, so only these are spoken of"


def _codes(labels: "pd.Series[str]", trial: Ints) -> Ints:
    """One code per trial from the labels of its rows, so that no cluster cuts through a trial."""
    codes = pd.Series(pd.factorize(labels)[0]).groupby(trial)
    return pd.factorize(codes.transform("min") * len(labels) + codes.transform("max"))[0]


def _frame(contrasts: dict[str, Contrast], agent: str, n: int, n_missing: int) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "term": list(contrasts),
            "group": agent,
            "estimate": [100 * c.estimate for c in contrasts.values()],
            "std_error": [100 * c.std_error for c in contrasts.values()],
            "statistic": [c.statistic for c in contrasts.values()],
            "p_value": [c.p_value for c in contrasts.values()],
            "p_adjusted": np.full(len(contrasts), np.nan),
            "conf_low": [100 * (c.estimate - c.half_width) for c in contrasts.values()],
            "conf_high": [100 * (c.estimate + c.half_width) for c in contrasts.values()],
            "n": n,
            "n_missing": n_missing,
            "note": [c.note for c in contrasts.values()],
        },
        columns=list(FRAME_COLUMNS),
    )
    tested = frame["p_value"].notna()
    if tested.any():
        frame.loc[tested, "p_adjusted"] = multipletests(frame.loc[tested, "p_value"], method="fdr_bh")[1]
    return frame


def _join(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
