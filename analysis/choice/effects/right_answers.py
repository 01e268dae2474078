"""Count wrong answers to questions with one right answer: does an agent see which product is better?"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import pandas as pd

from analysis.choice.effects.frames import QUESTION, carries, with_questions
from analysis.estimators.t_tests import wilson_interval
from analysis.tables.choice_table import TRIAL_ID

FAMILY: Final = "one right answer"
"""The family of interventions that make the product that carries them the better one."""
GATE: Final = "cheaper-10pct"
"""The question of which an agent may answer few wrongly: of equal products one is 10 % cheaper."""
MOST: Final = 10.0
"""The largest share of wrong answers to it, in percent, with which effects are read as they are."""
NONE_FITS: Final = ": none fits"
"""What follows the name of a question in trials in which no option is right."""
_FAILED: Final = ("infra_error", "treatment_failed")
_HALF: Final = 0.5
_PAIR: Final = 2
_Part = tuple[str, str, str, "pd.Series[int]"]
"""The part of the table, the agent, the level, and of each question whether it was answered wrongly."""


def right_answers(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of wrong answers in percent, by agent and question, and by agent and place.

    table: checked. Columns: group, part, level, trials, wrong, share, conf_low, conf_high (Wilson 1927).
    Parts: `question` (level: the intervention that makes a product right, or the profile of the user),
    `position` (the place of the right option, from 0, where there is one), `repeat` (wrong: questions asked
    again that were not always answered alike), `circle` (wrong: three products of which each was preferred
    to the next). Who chose nothing has not found the right answer, unless there is none. Wrong answers by
    place are no taste: the right option is the same there.
    """
    asked = _asked(table)
    parts = [*_parts(asked), *_repeats(table, asked), *_circles(table)]
    rows = [
        {"group": agent, "part": part, "level": level, **_shares(wrong)}
        for part, agent, level, wrong in parts
    ]
    return pd.DataFrame(
        rows, columns=["group", "part", "level", "trials", "wrong", "share", "conf_low", "conf_high"]
    )


def failing(found: pd.DataFrame) -> dict[str, str]:
    """Return what is to be said beside the effects of agents that fail the gate, by agent.

    found: as `right_answers` gives it.
    """
    gate = found[(found["part"] == "question") & (found["level"] == GATE) & (found["share"] > MOST)]
    return {
        row[
            "group"
        ]: f"it takes the dearer of equal products in {row['share']:.0f} % of {row['trials']} trials"
        for row in gate.to_dict("records")
    }


def _asked(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each trial: agent, question, the place of the right option, and whether it was missed."""
    ended = table[~table["outcome"].isin(_FAILED)]
    of_family = ended[ended["family"] == FAMILY]
    asked = of_family.assign(is_right=of_family["nudged"].eq(1), level=of_family["nudge"])
    asked = asked[asked["is_right"].groupby(asked[TRIAL_ID]).transform("any")]
    if "right" in ended:
        told = ended[ended["right"].notna()]
        own = told.assign(is_right=told["right"].eq(1), level=told["profile"])
        asked = pd.concat([asked[~asked[TRIAL_ID].isin(own[TRIAL_ID])], own])
    trial = asked[TRIAL_ID]
    right = asked["is_right"].groupby(trial).transform("sum")
    found = (asked["is_right"] & asked["chosen"].eq(1)).groupby(trial).transform("any")
    chose = asked["chosen"].eq(1).fillna(False).groupby(trial).transform("any")
    missed = (~found).where(right > 0, chose).astype(int)
    level = asked["level"].where(right > 0, asked["level"] + NONE_FITS)
    place = asked["position"].where(asked["is_right"]).groupby(trial).transform("min").where(right == 1)
    return asked.assign(missed=missed, place=place, level=level).drop_duplicates(TRIAL_ID)


def _parts(trials: pd.DataFrame) -> Iterator[_Part]:
    for part, column in (("question", "level"), ("position", "place")):
        for (agent, level), own in trials.groupby(["agent", column], sort=True):
            yield part, str(agent), f"{level:.0f}" if column == "place" else str(level), own["missed"]


def _repeats(table: pd.DataFrame, asked: pd.DataFrame) -> Iterator[_Part]:
    """Of the questions that were asked again, whether any answer differs."""
    if asked.empty:
        return
    options = table[table[TRIAL_ID].isin(asked[TRIAL_ID])]
    taken = options[options["chosen"].eq(1)].set_index(TRIAL_ID)["option"]
    trials = with_questions(options)
    answers = trials[TRIAL_ID].map(taken).fillna("")
    by = answers.groupby([trials["agent"], trials[QUESTION]])
    again = by.nunique()[by.size() > 1]
    for agent, own in again.groupby(level=0, sort=True):
        yield "repeat", str(agent), "", own.gt(1).astype(int)


def _circles(table: pd.DataFrame) -> Iterator[_Part]:
    """Of three products that were shown in pairs, whether each was preferred to the next.

    A product is preferred that was chosen in more than half of a pair's trials without a nudge.
    """
    if table.groupby(TRIAL_ID)["option"].size().gt(_PAIR).any():
        return
    plain = table[(table["outcome"] == "choice") & ~carries(table).groupby(table[TRIAL_ID]).transform("any")]
    # Two users may well prefer differently, and one pair may be that of two sets.
    user = plain["profile"].fillna("") if "profile" in plain else ""
    by_trial = plain.assign(user=user).sort_values([TRIAL_ID, "option"]).groupby(TRIAL_ID, sort=False)
    trials = by_trial.agg(
        agent=("agent", "first"), user=("user", "first"), one=("option", "first"), other=("option", "last"),
        first=("chosen", "first"),
    )  # fmt: skip
    for agent, own in trials.groupby("agent", sort=True):
        wrong = [each for _, of_user in own.groupby("user") for each in _of_one_user(of_user)]
        if wrong:
            yield "circle", str(agent), "", pd.Series(wrong).astype(int)


def _of_one_user(trials: pd.DataFrame) -> list[bool]:
    """Whether each three products of which all pairs are told go round in a circle."""
    beats = {
        (str(one), str(other)): bool(share > _HALF)
        for (one, other), share in (
            (pair, own["first"].mean()) for pair, own in trials.groupby(["one", "other"])
        )
        if share != _HALF
    }
    products = sorted({each for pair in beats for each in pair})
    trios = [(a, b, c) for a, b, c in combinations(products, 3) if {(a, b), (b, c), (a, c)} <= beats.keys()]
    return [beats[a, b] == beats[b, c] != beats[a, c] for a, b, c in trios]


def _shares(answers: "pd.Series[int]") -> Mapping[str, Any]:
    wrong, trials = int(answers.sum()), len(answers)
    low, high = wilson_interval(wrong, trials)
    share = 100 * wrong / trials
    return {"trials": trials, "wrong": wrong, "share": share, "conf_low": 100 * low, "conf_high": 100 * high}
