"""Exact tests of what the design exchanges: which option carries the nudge, which comes first, the profile.

Trials that are alike in all but one factor make a stratum. If the factor does nothing, its levels could have
been exchanged between the trials of a stratum, and so the chance of every possible result is known.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.choice.effects.drawn import Draws, displays, drawn_by_agent
from analysis.choice.effects.effects import LESS_PLACEBO, PLACEBO, TERMS, agents, regressors
from analysis.choice.effects.frames import empty_frame
from analysis.choice.effects.groups import NO_PROFILE
from analysis.choice.exact.strata import ROUND, Exchange, Strata
from analysis.estimators.randomisation import (
    equivalence_p,
    exact_p,
    flipped,
    one_of,
    score_interval,
)
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.families import adjusted_within
from analysis.tables.frame import result_frame

COUNTS: Final = ("strata_for", "strata_against", "strata")
EQUIVALENCE: Final = ("margin", "p_equivalent")
LEVEL_KEYS: Final = ("part", "level")
REPEATED: Final = "repeats of a question count once, by their mean"
DRAW_REPEATED: Final = "trials of a draw count once, by their mean"
NO_STRATA = "no two trials differ in this alone"
DIFFERENCE = "profile_difference"
"""The part with how far each profile moves the choice from that without a profile."""

SAME: Final = ["run", "set", "match", "profile", "modality", "display"]
MARKS: Final = ["first", "carrier", "words", "kind"]
_NUDGED, _PLACEBO, _SEVERAL = 1, 2, 3
_CARRIED: Final = [*SAME, "first", "words", "twin"]
_ROUNDING: Final = 1e-9


def exact_tests(table: pd.DataFrame, margin: float | None = None) -> pd.DataFrame:
    """Test every factor that the design exchanges; estimates are in percentage points.

    table: checked. Rows: the nudge and the order in all trials (`part` is ""), and by nudge text, category,
    family, profile, modality and size of the set (`options`); the placebo, and the nudge less it; and in the
    part `profile_difference` how far each profile moves the choice by each feature from that without one.
    margin: in percentage points; with it each row has `margin`, and `p_equivalent` of the hypothesis that the
    effect is as large as the margin, or larger.

    An estimate is the mean over strata, its test Fisher's randomisation test, its interval the score interval
    (in pairs Tango's, 1998). Both speak for these choice sets and texts, and take the answers to different
    questions as draws of their own. Repeats of a question, and displays of it with other drawn values, are
    one stratum: an agent may answer them alike. Where it does not, the interval is wider than needed.
    Where prices, ratings or numbers of reviews were drawn there is a row for each, of the highest level
    against the others; its strata are the draws, see `draws_of`, and its test holds whatever the agent does.
    Each choice set counts alike.

    The frame has the columns of every estimator (n: trials in strata), `part`, `level`, and how many strata
    were for the effect, against it, and there: strata_for, strata_against, strata. The rows of
    whole terms, of all agents, are one family of adjusted p values, and the rows of each `part` are another.
    """
    frames = []
    for agent, _, used in agents(table):
        trials = trials_of(used) if len(used) else pd.DataFrame()
        note = repeats_note(trials) if len(trials) else ""
        rows = [
            {"term": term, "group": agent, "part": part, "level": level, **exact_row(strata, note, margin)}
            for term, part, level, strata in (_parts(trials) if len(trials) else ())
        ]
        for term, draws in drawn_by_agent(used):
            rows.append({"term": term, "group": agent, "part": "", "level": "", **_of_draws(draws, margin)})
        if rows:
            columns = (*LEVEL_KEYS, *COUNTS, *(EQUIVALENCE if margin else ()))
            frames.append(result_frame(rows, *columns))
    if not frames:
        return empty_frame(*LEVEL_KEYS, *COUNTS)
    return adjusted_within(pd.concat(frames, ignore_index=True), "part")


def exact_row(strata: Strata, note: str, margin: float | None = None) -> dict[str, Any]:
    """Return what a row says of its strata."""
    values = strata.values
    counts = ((values > _ROUNDING).sum(), (values < -_ROUNDING).sum(), len(values))
    found: dict[str, Any] = dict(zip(COUNTS, map(int, counts), strict=True))
    if not len(values):
        return {"n": 0, "note": NO_STRATA, **found}
    ends = float(strata.low.min()), float(strata.high.max())
    low, high = score_interval(values, *ends)
    if margin:
        found |= {"margin": margin, "p_equivalent": equivalence_p(values, *ends, margin / 100)}
    return {
        "estimate": 100 * values.mean(),
        "p_value": exact_p(values, strata.nulls),
        "conf_low": 100 * low,
        "conf_high": 100 * high,
        "n": int(strata.of["trials"].sum()),
        "note": note,
        **found,
    }


def flips(differences: "pd.Series[float]", trials: "int | pd.Series[int]") -> Strata:
    """Return differences of two effects as strata: their two sides could have been exchanged."""
    values = np.asarray(differences, np.float64)
    largest, of = np.full(len(values), 2.0), pd.DataFrame({"trials": np.full(len(values), trials)})
    return Strata(values, tuple(map(flipped, values.tolist())), -largest, largest, of)


def _of_draws(draws: Draws, margin: float | None) -> dict[str, Any]:
    """What a row says of the draws of an attribute, each choice set counting alike."""
    weights = draws.weights()
    nulls = tuple(null.times(weight) for weight, null in zip(weights.tolist(), draws.nulls, strict=True))
    of = pd.DataFrame({"trials": draws.trials})
    note = DRAW_REPEATED if (draws.trials > 1).any() else ""
    strata = Strata(draws.values * weights, nulls, draws.low * weights, draws.high * weights, of)
    found = exact_row(strata, note, margin)
    ends = {name: np.clip(found[name], -100, 100) for name in ("conf_low", "conf_high") if name in found}
    return found | ends


def _parts(trials: pd.DataFrame) -> Iterator[tuple[str, str, str, Strata]]:
    """Term, part, level and strata of each row of one agent."""
    both = order_and_nudge(trials)
    for term, strata in both.items():
        yield term, "", "", strata
    if (trials["kind"] == _PLACEBO).any():
        yield PLACEBO, "", "", _carried(trials, _PLACEBO)
        yield LESS_PLACEBO, "", "", _against_placebo(trials)
    for part, terms in (
        ("nudge_text", ["nudged"]),
        ("category", ["nudged"]),
        ("family", ["nudged"]),
        ("profile", list(both)),
        ("modality", list(both)),
        ("options", list(both)),
    ):
        shown = trials if len(terms) > 1 else trials[trials["kind"] == _NUDGED]
        levels = sorted(shown[part].unique())
        for level in levels if len(levels) > 1 else ():
            for term in terms:
                yield term, part, str(level), both[term].where(both[term].of[part] == level)
    profiles = sorted(trials["profile"].unique())
    for profile in profiles if NO_PROFILE in profiles else ():
        if profile != NO_PROFILE:
            for term, strata in _between(trials, profile):
                yield term, DIFFERENCE, profile, strata


def repeats_note(trials: pd.DataFrame) -> str:
    """Return what is to be said where a question was asked several times; trials: of `trials_of`."""
    return REPEATED if trials["twin"].any() else ""


def order_and_nudge(trials: pd.DataFrame) -> dict[str, Strata]:
    """Return the strata of the order and of the nudge, by term. trials: see `trials_of`."""
    return {term: _strata(own, mark, same) for term, own, mark, same in exchanged(trials)}


def _strata(trials: pd.DataFrame, mark: str, same: list[str]) -> Strata:
    options = pd.unique(pd.concat([trials["chosen"], trials[mark]]))
    codes = {option: number for number, option in enumerate(options)}
    placed = trials.assign(place=np.arange(len(trials)))
    return Exchange(placed, mark, same, codes).strata(trials["chosen"].map(codes).to_numpy(int))


def exchanged(trials: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str, list[str]]]:
    """Yield the order and the nudge: term, its trials, the mark that is exchanged, what else is the same."""
    known = trials[trials["first"].notna()]
    yield "viewed_first", known, "first", [*SAME, "carrier", "words", "kind", "twin"]
    yield "nudged", trials[trials["kind"] == _NUDGED], "carrier", _CARRIED


def _carried(trials: pd.DataFrame, kind: int) -> Strata:
    """Strata of trials that differ in the carrier alone."""
    return _strata(trials[trials["kind"] == kind], "carrier", _CARRIED)


def trials_of(used: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each trial: its cell of the design, its choice, and the raw effect of each term.

    carrier: the option with a nudge or a placebo; first: the option that was seen first; words: the nudge,
    where it was shown; kind: 0 without a nudge, 1 with one, 2 with a placebo, 3 where several options carry
    one; twin: the number of the trial among those of the same cell.
    """
    trial = used[TRIAL_ID]
    one = used[~trial.duplicated()].set_index(TRIAL_ID)
    carriers = used[used["nudged"].eq(1) | used[PLACEBO].eq(1)].sort_values([TRIAL_ID, "option"])
    first = carriers[~carriers[TRIAL_ID].duplicated()].set_index(TRIAL_ID)
    several = carriers[carriers[TRIAL_ID].duplicated(keep=False)].groupby(TRIAL_ID)["option"].agg("\n".join)
    same = [name for name in SAME if name != "display"]
    trials = one[[*same, "category"]].assign(
        display=displays(used),
        profile=one["profile"].replace("", NO_PROFILE),
        options=trial.value_counts(),
        chosen=used[used["chosen"] == 1].set_index(TRIAL_ID)["option"],
        first=used[used["viewed_first"] == 1].set_index(TRIAL_ID)["option"],
        carrier=first["option"],
        direction=first["direction"],
        nudge_text=first["nudge_text"],
        family=first["family"],
        words=first["nudge"] + "\n" + first["nudge_text"],
        kind=first[PLACEBO].eq(1).astype(int) + _NUDGED,
    )
    trials["kind"] = trials["kind"].fillna(0).astype(int)
    trials.loc[several.index, "carrier"], trials.loc[several.index, "kind"] = several, _SEVERAL
    texts = ["carrier", "nudge_text", "family", "words"]
    trials[texts] = trials[texts].astype("object").fillna("")
    twin = trials.groupby([*SAME, *MARKS], dropna=False).cumcount()
    return trials.join(_raw_effects(used)).assign(twin=twin)


def _raw_effects(used: pd.DataFrame) -> pd.DataFrame:
    """Return by trial and term the mean of `chosen` over options with it, less that over the others."""
    x, trial = regressors(used), used[TRIAL_ID]
    own, chosen = x.groupby(trial), x.mul(used["chosen"].astype(float), axis=0).groupby(trial)
    count, taken = own.sum(), chosen.sum()
    others = -count.sub(own.size(), axis=0)
    effects = (taken / count).sub((1 - taken) / others)
    return effects.mask((count == 0) | (others == 0))


def _between(trials: pd.DataFrame, profile: str) -> Iterator[tuple[str, Strata]]:
    """How far a profile moves each raw effect, in trials that differ in the profile alone."""
    same = [name for name in (*SAME, *MARKS, "twin") if name != "profile"]
    one, other = (
        trials[trials["profile"] == name].set_index(same)[list(TERMS)] for name in (profile, NO_PROFILE)
    )
    question = [name for name in same if name not in ROUND]
    difference = one.sub(other).groupby(level=question, dropna=False).mean()
    for term in TERMS:
        yield term, flips(difference[term].dropna(), 2)


def _against_placebo(trials: pd.DataFrame) -> Strata:
    """The raw effect of nudges less that of the placebo, in trials that differ in the words alone."""
    towards = trials[trials["direction"] == 1]
    question = [*(name for name in SAME if name not in ROUND), "first", "carrier"]
    nudged, placebo = (
        towards[towards["kind"] == kind]
        .groupby([*question, "words"], dropna=False)[term]
        .agg(["mean", "size"])
        .groupby(level=question, dropna=False)
        .agg({"mean": tuple, "size": "sum"})
        for kind, term in ((_NUDGED, "nudged"), (_PLACEBO, PLACEBO))
    )
    both = nudged.merge(placebo, left_index=True, right_index=True, suffixes=("", "_plain"))
    pairs = [
        (effects, float(np.mean(own))) for effects, own in zip(both["mean"], both["mean_plain"], strict=True)
    ]
    values = np.array([sum(effects) / len(effects) - own for effects, own in pairs])
    nulls = tuple(one_of((*effects, own)) for effects, own in pairs)
    largest, sizes = np.full(len(pairs), 2.0), (both["size"] + both["size_plain"]).to_numpy()
    return Strata(values, nulls, -largest, largest, pd.DataFrame({"trials": sizes}))
