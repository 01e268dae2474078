"""Count wrong answers to questions with one right answer: does an agent see which product is better?"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from analysis.estimators.t_tests import wilson_interval
from analysis.tables.choice_table import TRIAL_ID

FAMILY: Final = "one right answer"
"""The family of interventions that make the product that carries them the better one."""
GATE: Final = "cheaper-10pct"
"""The question of which an agent may answer few wrongly: of equal products one is 10 % cheaper."""
MOST: Final = 10.0
"""The largest share of wrong answers to it, in percent, with which effects are read as they are."""
_FAILED: Final = ("infra_error", "treatment_failed")


def right_answers(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of wrong answers in percent, by agent and question, and by agent and place.

    table: checked. Columns: group, part (`question` or `position`), level (the intervention, or the place of
    the right option from 0), trials, wrong, share, conf_low, conf_high (Wilson 1927). Who chose nothing has
    not found the right answer. Wrong answers by place are no taste: the right option is the same there.
    """
    rows = [
        {"group": agent, "part": part, "level": level, **_shares(own)}
        for part, agent, level, own in _parts(_asked(table))
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
    """A row for each trial: agent, nudge, the place of the right option, and whether it was missed."""
    asked = table[(table["family"] == FAMILY) & ~table["outcome"].isin(_FAILED)]
    right = asked[asked["nudged"].eq(1)].drop_duplicates(TRIAL_ID)
    return right.assign(missed=(right["chosen"] != 1).fillna(True).astype(int))


def _parts(trials: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    for part, column in (("question", "nudge"), ("position", "position")):
        for (agent, level), own in trials.groupby(["agent", column], sort=True):
            yield part, str(agent), str(level), own


def _shares(own: pd.DataFrame) -> Mapping[str, Any]:
    wrong, trials = int(own["missed"].sum()), len(own)
    low, high = wilson_interval(wrong, trials)
    share = 100 * wrong / trials
    return {"trials": trials, "wrong": wrong, "share": share, "conf_low": 100 * low, "conf_high": 100 * high}
