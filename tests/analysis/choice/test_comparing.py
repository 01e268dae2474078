"""Two agents on the same strata: against full enumeration, and simulated shoppers with known tastes."""

from collections import defaultdict
from itertools import product

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from agents.simulated.utility import Taste
from analysis.choice.comparing import NOTHING_SHARED, SHOWN_OTHERWISE, compare_agents, differences
from analysis.choice.exact.exact import REPEATED, exact_tests
from analysis.choice.stopping import COULD_STOP
from analysis.estimators.comparing import MOST_SIDES
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from tests.analysis.choice.exact.test_exact import design, repeated, trials
from tests.simulated_choices import with_choices
from tests.support import size


def named(table: pd.DataFrame, agent: str, run: str = "r") -> pd.DataFrame:
    return table.drop(columns="trial_id", errors="ignore").assign(agent=agent, run=run)


def together(*tables: pd.DataFrame) -> pd.DataFrame:
    return check_table(pd.concat(tables, ignore_index=True))


def row(frame: pd.DataFrame, term: str) -> pd.Series:
    return frame.set_index("term").loc[term]


def in_strata(table: pd.DataFrame, mark: str, same: tuple[str, ...]) -> dict[tuple[str, ...], float]:
    """The effect in each stratum of two trials: both for it 1, none -1."""
    found = defaultdict(list)
    for trial in trials(table):
        if trial[mark]:
            found[tuple(trial[name] for name in same)].append(trial[mark] == trial["chosen"])
    return {key: float(sum(each) - 1) for key, each in found.items()}


def flips(values: list[float]) -> float:
    """The chance of a sum as far from 0, over all signs."""
    sums = [np.dot(signs, values) for signs in product((-1, 1), repeat=len(values))]
    return float(np.mean([abs(each) >= abs(sum(values)) - 1e-9 for each in sums]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_difference_is_that_of_all_exchanges_of_the_two_agents(seed: int) -> None:
    one, other = design(seed, sets=3), design(seed + 50, sets=3)
    frame = compare_agents(together(named(one, "a"), named(other, "b")))
    for term, mark, same in (
        ("nudged", "carrier", ("set", "order")),
        ("viewed_first", "first", ("set", "carrier")),
    ):
        first, second = (in_strata(table, mark, same) for table in (one, other))
        values = [first[key] - second[key] for key in first]
        found = row(frame, term)
        assert found["estimate"] == pytest.approx(100 * np.mean(values))
        assert found["p_value"] == pytest.approx(flips(values))
        assert (found["of_group"], found["of_less"]) == pytest.approx(
            (100 * np.mean(list(first.values())), 100 * np.mean(list(second.values())))
        )
        assert found["conf_low"] <= found["estimate"] <= found["conf_high"]
    # o0 is the cheaper one; answers to the same products are taken together.
    by_set = defaultdict(list)
    for trial, same_trial in zip(trials(one), trials(other), strict=True):
        by_set[trial["set"]].append(2 * ((trial["chosen"] == "o0") - (same_trial["chosen"] == "o0")))
    values = [float(np.mean(each)) for each in by_set.values()]
    found = row(frame, "cheaper")
    assert (found["estimate"], found["p_value"]) == pytest.approx((100 * np.mean(values), flips(values)))
    assert found["strata"] == 3
    tested = frame["p_value"].notna()
    assert frame.loc[tested, "p_adjusted"].tolist() == pytest.approx(
        multipletests(frame.loc[tested, "p_value"], method="fdr_bh")[1]
    )


@pytest.mark.slow
def test_two_agents_at_two_dates_are_compared_as_one_asks() -> None:
    """Each with itself first, then both at each date; one that is in a single run with all others."""
    table = design(1, sets=3)
    both = [named(table, agent, run) for agent in "ab" for run in ("may", "june")]
    found = compare_agents(together(*both, named(table, "c", "people")))
    pairs = list(dict.fromkeys(zip(found["group"], found["less"], strict=True)))
    asked = [("a (june)", "a (may)"), ("b (june)", "b (may)"), ("a (june)", "b (june)")]
    every = [(f"{agent} ({run})", "c") for agent in "ab" for run in ("june", "may")]
    assert pairs[:2] == asked[:2]
    assert {*pairs} == {*asked, ("a (may)", "b (may)"), *every}


@pytest.mark.slow
def test_an_agent_is_like_itself_and_two_runs_have_their_names() -> None:
    table = design(1, sets=30)
    frame = compare_agents(together(named(table, "a", "may"), named(table, "a", "june")), margin=20)
    assert set(frame["group"]) | set(frame["less"]) == {"a (may)", "a (june)"}
    assert (frame["estimate"] == 0).all() and (frame["p_value"] == 1).all()
    told = row(frame, "nudged")
    assert told["p_equivalent"] < 0.05 and told["margin"] == 20
    (line,) = differences(frame)
    assert "a nudge: no difference of 20 points (p <.001)" in line or "a nudge: no difference of 20" in line
    ruled = compare_agents(
        together(named(table, "a", "may"), named(table, "a", "june")), ruled={"may": "nudged"}
    )
    assert row(ruled, "nudged")["note"] == COULD_STOP and np.isnan(row(ruled, "nudged")["p_value"])
    assert row(ruled, "viewed_first")["p_value"] == 1
    assert COULD_STOP in next(iter(differences(ruled)))


@pytest.mark.thorough
@pytest.mark.slow
def test_what_is_not_shared_and_what_cannot_be_compared() -> None:
    table = design(2, sets=2)
    apart = compare_agents(together(named(table, "a"), named(table.assign(set=table["set"] + "-b"), "b")))
    assert (apart["note"] == NOTHING_SHARED).all() and apart["estimate"].isna().all()
    assert NOTHING_SHARED in next(iter(differences(apart)))
    with pytest.raises(AnalysisError, match="there are answers of 1"):
        compare_agents(together(named(table, "a")))
    many = together(*(named(table, f"a{number}") for number in range(MOST_SIDES + 1)))
    with pytest.raises(AnalysisError, match=f"2 to {MOST_SIDES} agents"):
        compare_agents(many)
    lost = table.assign(chosen=pd.NA, outcome="no_choice")
    with pytest.raises(AnalysisError, match="there are answers of 1"):
        compare_agents(together(named(table, "a"), named(lost, "b")))


@pytest.mark.slow
def test_repeats_that_are_answered_alike_count_once() -> None:
    one, other = design(3, sets=3), design(4, sets=3)
    once = compare_agents(together(named(one, "a"), named(other, "b")))
    frame = compare_agents(together(named(repeated(one, 5), "a"), named(repeated(other, 5), "b")))
    assert (frame["note"] == REPEATED).all()
    for column in ("estimate", "p_value", "conf_low", "conf_high", "strata"):
        pd.testing.assert_series_equal(frame[column], once[column])


@pytest.mark.slow
def test_equivalence_stands_beside_the_exact_tests_only_where_a_margin_is_named() -> None:
    table = design(1, sets=80)
    still = table.assign(chosen=(table["option"] == "o0").astype("Int64"))
    assert "p_equivalent" not in exact_tests(still)
    found = exact_tests(still, 5.0).set_index(["term", "part"]).loc[("nudged", "")]
    assert found["p_equivalent"] < 0.05 and found["margin"] == 5
    few = exact_tests(design(1, sets=2), 5.0).set_index(["term", "part"]).loc[("nudged", "")]
    assert few["p_equivalent"] > 0.05


TASTE = Taste(log_price=-5, rating=1, log_reviews=0.2, position=0.4, nudge=0.6)


def known(limit: int, taste: Taste, agent: str) -> SimulatedTrials:
    return simulated_trials(ShopDesign(experiment_source("nudges")), taste, limit, agent)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("limit", [60, 240])
def test_alike_shoppers_are_seldom_told_apart_and_intervals_hold_a_difference(limit: int) -> None:
    """Size and coverage; the truth is the difference of the chances, in the same strata."""
    studies, rng = size(6, 500), np.random.default_rng(limit)
    base, like = known(limit, TASTE, "a"), known(limit, TASTE, "b")
    prone = known(limit, Taste(log_price=-5, rating=1, log_reviews=0.2, position=0.4, nudge=2.5), "c")
    sides = (base, like, prone)
    draws = [side.drawn(rng, studies) for side in sides]
    carried = base.table["nudged"].to_numpy() * np.where(base.table["direction"].eq(-1), -1.0, 1.0)
    nudged = base.table.groupby("trial")["nudged"].transform("sum").to_numpy() == 1
    effects = [2 * np.sum(side.chances * carried) / (nudged.sum() / 2) for side in sides]
    effects = [each - np.sum(carried) / (nudged.sum() / 2) for each in effects]
    rejected, held = [], []
    for study in range(studies):
        chosen = [with_choices(side, draw[:, study]) for side, draw in zip(sides, draws, strict=True)]
        frame = compare_agents(together(*(each.drop(columns="trial_id") for each in chosen)))
        alike = frame[(frame["group"] == "a") & (frame["less"] == "b")]
        rejected += (alike["p_value"] < 0.05).tolist()
        other = row(frame[(frame["group"] == "a") & (frame["less"] == "c")], "nudged")
        held.append(other["conf_low"] <= 100 * (effects[0] - effects[2]) <= other["conf_high"])
    print(f"{limit}: {np.mean(rejected):.3f} rejected, {np.mean(held):.3f} held")
    assert np.mean(rejected) <= 0.06 + 3 * (0.06 * 0.94 / len(rejected)) ** 0.5
    assert np.mean(held) >= 0.93 - 3 * (0.07 * 0.93 / studies) ** 0.5


@pytest.mark.slow
def test_agents_that_were_shown_pages_in_two_ways_are_compared_and_told_so() -> None:
    """Where one was shown them in both ways, what was shown in the same way is compared."""
    one, other = design(1, sets=3), design(51, sets=3)
    plain = compare_agents(together(named(one, "a"), named(other, "b")))
    pictured = named(other, "b").assign(modality="screenshot")
    frame = compare_agents(together(named(one, "a").assign(modality=""), pictured))
    pd.testing.assert_frame_equal(frame.drop(columns="note"), plain.drop(columns="note"))
    assert frame["note"].str.contains(SHOWN_OTHERWISE).all()
    assert not plain["note"].str.contains(SHOWN_OTHERWISE).any()
    both = [named(one, "a").assign(modality=way, trial=way + one["trial"]) for way in ("html", "screenshot")]
    frame = compare_agents(together(*both, pictured))
    pd.testing.assert_series_equal(frame["estimate"], plain["estimate"])
    assert not frame["note"].str.contains(SHOWN_OTHERWISE).any()
