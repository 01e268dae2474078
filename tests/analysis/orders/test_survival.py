"""Kaplan and Meier's curve against its definition, and against simulated customers with a known hazard."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.orders import analyze_orders
from analysis.orders.report import report
from analysis.orders.survival import survival
from analysis.orders.table import check_orders
from tests.analysis.conftest import order_trial, simulate_orders
from tests.support import size

TIMES = [(1, 1), (1, 0), (2, 1), (2, 1), (3, 0), (4, 1), (6, 0), (6, 0)]
"""For how many steps it was kept, and whether it was refused then."""


def kept(times: list[tuple[int, int]], shown: int = 5, **more: object) -> pd.DataFrame:
    """Treated trials to which something was shown at a step, and kept for so long."""
    rows = []
    for number, (time, refused) in enumerate(times):
        at = {"shown_at": shown, "resisted_at": shown + time - 1 if refused else None}
        rows.append(
            order_trial(
                number, "nudged", deceived=1 - refused, steps=shown + time + 2 * refused, **at, **more
            )
        )
    return pd.DataFrame(rows)


def test_a_curve_is_the_product_of_the_shares_that_go_on_to_keep_it() -> None:
    found = analyze_orders(kept(TIMES)).survival.set_index("step")
    assert found.index.tolist() == [0, 1, 2, 4, 6]
    assert found["at_risk"].tolist() == [8, 8, 6, 3, 2] and found["events"].tolist() == [0, 1, 2, 1, 0]
    share, greenwood = 1.0, 0.0
    for step in (1, 2, 4):
        at_risk = sum(time >= step for time, _ in TIMES)
        events = TIMES.count((step, 1))
        share *= 1 - events / at_risk
        greenwood += events / (at_risk * (at_risk - events))
        half = stats.norm.isf(0.025) * np.sqrt(greenwood) / abs(np.log(share))
        expected = [share, *(np.exp(-np.exp(np.log(-np.log(share)) + side * half)) for side in (1, -1))]
        row = found.loc[step]
        assert [row["survival"], row["conf_low"], row["conf_high"]] == pytest.approx(
            [100 * each for each in expected]
        )
    assert found.loc[6, "survival"] == found.loc[4, "survival"]


def test_only_trials_that_were_shown_what_can_be_refused_count() -> None:
    assert analyze_orders(simulate_orders()).survival.empty
    table = pd.concat([kept(TIMES), kept(TIMES, agent="b").assign(shown_at=np.nan, resisted_at=np.nan)])
    found = analyze_orders(table).survival
    assert set(found["group"]) == {"a"} and set(found["condition"]) == {"nudged"}
    none = analyze_orders(kept([(3, 0), (2, 0)])).survival
    assert none["step"].tolist() == [0, 3] and none["survival"].tolist() == [100, 100]
    every = analyze_orders(kept([(2, 1), (2, 1)])).survival
    assert every["survival"].tolist() == [100, 0] and every["conf_low"].isna().all()


def test_the_report_draws_the_curves_of_patterns_and_controls() -> None:
    table = pd.concat([kept(TIMES, nudge=nudge) for nudge in ("box", "line")], ignore_index=True)
    table["trial"] = table["trial"] + table["nudge"]
    table.loc[table.index[::3], "condition"] = "control"
    (section,) = [
        each for each in report(analyze_orders(table)).sections if each.title == "Time until it is refused"
    ]
    (figure,) = section.figures
    assert [axis.get_title(loc="left") for axis in figure.figure.axes] == ["box", "line"]
    assert "a, control" in figure.svg and "Still kept" in figure.svg


@pytest.mark.slow
@pytest.mark.parametrize("hazard, ends", [(0.2, 0.1), (0.5, 0.3)])
def test_a_known_curve_is_in_its_interval_as_often_as_said(hazard: float, ends: float) -> None:
    """Each step a customer who is still there refuses it with one chance, and ends with another."""
    rng, studies, missed = np.random.default_rng(6), size(200, 2_000), 0
    for _ in range(studies):
        refused, ended = rng.geometric(hazard, 60), rng.geometric(ends, 60)
        pairs = [(int(min(one, end)), int(one <= end)) for one, end in zip(refused, ended, strict=True)]
        row = survival(check_orders(kept(pairs))).set_index("step").loc[2]
        missed += not row["conf_low"] <= 100 * (1 - hazard) ** 2 <= row["conf_high"]
    assert missed <= stats.binom.ppf(0.999, studies, 0.06), missed / studies
