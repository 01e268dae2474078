"""Ranks of agents, pairs told apart and ratios, against known truth and computations by hand."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.choice.effects.effects import choice_effects
from analysis.choice.effects.rankings import moved_effects, rankings
from analysis.estimators.moved import HANGS, Moved
from analysis.estimators.ranking import rank_agents
from analysis.tables.choice_table import check_table
from analysis.tables.frame import Floats
from tests.analysis.conftest import simulate_study

SETS = 200


def means(values: Floats) -> list[Moved]:
    """Means over the sets (agents x sets), and how they move without each: the exact jackknife."""
    count = values.shape[1]
    moves = [pd.Series((row.mean() - row) / (count - 1)) for row in values]
    return [Moved("term", f"agent {at}", row.mean(), moves[at], count - 1.0) for at, row in enumerate(values)]


def test_pairs_are_told_apart_as_by_paired_t_tests() -> None:
    """Of means the error that leaves out sets of both at once is that of the paired t test."""
    rng = np.random.default_rng(3)
    values = rng.normal([[2.0], [1.9], [1.5], [1.4]], 1, (4, SETS)) + rng.normal(0, 2, SETS)
    _, told = rank_agents(means(values))
    p_values = np.array([stats.ttest_rel(one, other).pvalue for one, other in combinations(values, 2)])
    ordered = np.sort(p_values)
    steps = np.flatnonzero(ordered <= 0.05 * np.arange(1, 7) / 6)
    row = told.iloc[0]
    assert row["pairs"] == 6
    assert row["apart"] == (steps[-1] + 1 if len(steps) else 0)
    assert row["apart_bonferroni"] == (6 * p_values < 0.05).sum()
    assert 0 < row["apart_bonferroni"] <= row["apart"] < 6
    assert row["apart_share"] == pytest.approx(100 * row["apart"] / 6)
    one, other = means(values)[:2]
    found, expected = one.less(other).row(), stats.ttest_rel(values[0], values[1])
    ends = expected.confidence_interval()
    assert found["statistic"] == pytest.approx(expected.statistic)
    assert found["p_value"] == pytest.approx(expected.pvalue)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx((ends.low, ends.high))


def test_an_estimate_whose_moves_are_not_known_has_no_difference_with_an_error() -> None:
    one, other = means(np.random.default_rng(1).normal(size=(2, 20)))
    lost = replace(other, moves=other.moves * np.nan)
    for apart in (one.less(lost), lost.less(one)):
        assert np.isnan(apart.error) and apart.row()["note"] == HANGS
    halves = replace(one, moves=one.moves[:10]).less(replace(other, moves=other.moves[10:]))
    assert halves.moves.tolist() == [*one.moves[:10], *-other.moves[10:]], "sets of one alone count"


def test_chances_and_ratio_are_those_of_the_bootstrap_of_sets() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal([[3.0], [2.8], [1.0]], 2, (3, SETS))
    ranks, told = rank_agents(means(values), draws=4_000)
    drawn = values[:, rng.integers(SETS, size=(4_000, SETS))].mean(axis=2)
    places = stats.rankdata(-drawn, axis=0)
    for at, row in (
        ranks.set_index("group").reindex([f"agent {n}" for n in range(3)]).reset_index().iterrows()
    ):
        assert row["probability_first"] == pytest.approx((places[at] == 1).mean(), abs=0.03)
    most, least = ranks["group"].iloc[0], ranks["group"].iloc[-1]
    ratio = drawn[int(most[-1])] / drawn[int(least[-1])]
    assert told[["most", "least"]].iloc[0].tolist() == [most, least]
    assert told["ratio_low"].iloc[0] == pytest.approx(np.quantile(ratio, 0.025), rel=0.03)
    assert told["ratio_high"].iloc[0] == pytest.approx(np.quantile(ratio, 0.975), rel=0.06)


def test_the_interval_of_a_rank_holds_the_true_rank() -> None:
    """Also of many agents that hardly differ: quantiles of bootstrapped ranks hold .82 of these."""
    rng = np.random.default_rng(11)
    for step, agents in ((0.2, 4), (1e-6, 10), (0.05, 10)):
        held = []
        for _ in range(40):
            truth = -step * np.arange(agents)
            ranks, _ = rank_agents(means(rng.normal(truth[:, None], 1.5, (agents, 60))), draws=2)
            for row in ranks.to_dict("records"):
                held.append(row["rank_low"] <= int(row["group"][-1]) + 1 <= row["rank_high"])
        assert np.mean(held) > 0.95


def test_ranks_are_whole_and_equal_agents_share_one() -> None:
    values = np.random.default_rng(2).normal([[5.0], [1.0], [0.0]], 1, (3, 40))
    ranks, _ = rank_agents(means(values[[0, 1, 1, 2]]))
    assert ranks[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        [1, 1, 1], [2, 2, 3], [2, 2, 3], [4, 4, 4],
    ]  # fmt: skip


def test_what_cannot_be_told_has_its_reason() -> None:
    values = np.random.default_rng(1).normal([[1.0], [0.1]], 2, (2, 11))
    ranks, told = rank_agents(means(values))
    assert ranks["rank"].isna().all() and (ranks["note"] == "no rank: fewer than 12 choice sets").all()
    assert told.empty
    values = np.random.default_rng(1).normal([[1.0], [0.1]], 1, (2, 50))
    below, near = rank_agents(means(values - 0.5))[1], rank_agents(means(values + 0.1))[1]
    assert below["note"].iloc[0].startswith("no ratio") and np.isnan(below["ratio"].iloc[0])
    assert near["note"].iloc[0].startswith("no ratio") and np.isnan(near["ratio"].iloc[0])
    assert rank_agents(means(values[:1]))[0].empty


def test_agents_are_ranked_by_the_effects_of_the_main_table_and_by_seed_alone() -> None:
    table = simulate_study(agents=("balanced", "random"), sets=30, nudges_per_set=4).table
    ranks, told = rankings(check_table(table))
    effects = choice_effects(table).set_index(["term", "group"])["estimate"]
    for row in ranks.to_dict("records"):
        assert row["estimate"] == pytest.approx(effects[row["term"], row["group"]], abs=1e-9)
    assert set(ranks["term"]) == {"viewed_first", "higher_rated", "cheaper", "nudged"}
    pd.testing.assert_frame_equal(ranks, rankings(check_table(table))[0])
    assert (told["pairs"] == 1).all()


def test_an_effect_moves_as_without_the_set() -> None:
    """Apart from the weights of the average, which are taken as given, it is the effect without the set."""
    table = simulate_study(sets=20, nudges_per_set=4).table
    moved = {each.term: each for each in moved_effects(check_table(table))}
    without = {
        left: choice_effects(table[table["set"].astype(str) != left]).set_index("term")["estimate"]
        for left in moved["nudged"].moves.index
    }
    for term in ("nudged", "viewed_first", "cheaper"):
        own = moved[term]
        refitted = [without[left][term] - own.estimate for left in own.moves.index]
        assert np.corrcoef(own.moves, refitted)[0, 1] > 0.8, term
