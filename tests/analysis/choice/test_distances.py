"""Distances between the market shares of two agents: against SciPy, all exchanges, and known agents."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from analysis.choice.distances import (
    NOTHING_SHARED,
    RESAMPLES,
    distance_section,
    distance_sentences,
    market_distances,
)
from tests.analysis.choice.lists import lists
from tests.analysis.conftest import simulate_study
from tests.support import size

EVEN, STEEP, TURNED = [0.25] * 4, [0.7, 0.2, 0.1, 0], [0, 0.1, 0.2, 0.7]


def answers(table: pd.DataFrame, agent: str, name: str) -> list[list[str]]:
    """What an agent chose on each page of a set; trials of a page follow each other, two a page."""
    own = table[(table["agent"] == agent) & (table["set"] == name) & (table["chosen"] == 1)]
    return own.groupby("price", sort=False)["option"].agg(list).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(size(2, 10)))
def test_distances_and_p_values_are_those_of_all_exchanges_of_pages(seed: int) -> None:
    table = lists({"a": [STEEP, EVEN], "b": [EVEN, TURNED]}, pages=5, repeats=2, seed=seed)
    # By set and page; of a page the two agents' answers are exchanged together.
    price = table["price"] - table["option"].str.removeprefix("product").astype(int)
    table["price"] = price  # one price a page, by which the oracle finds pages
    frame = market_distances(table).set_index(["term", "level"])
    options, every = sorted(set(table["option"])), {}
    for name in ("set0", "set1"):
        one, other = answers(table, "a", name), answers(table, "b", name)
        found = []
        for turned in product((False, True), repeat=len(one)):
            sides = [(y, x) if turn else (x, y) for x, y, turn in zip(one, other, turned, strict=True)]
            p, q = (
                np.array([sum(side[which].count(each) for side in sides) for each in options]) / 10
                for which in (0, 1)
            )
            found.append((abs(p - q).sum() / 2, jensenshannon(p, q, base=2)))
        every[name] = 100 * np.array(found)
    pairs = list(product(every["set0"], every["set1"]))
    every[""] = np.array([(one + other) / 2 for one, other in pairs])
    for (name, values), (place, term) in product(
        every.items(), enumerate(("total_variation", "jensen_shannon"))
    ):
        row, own = frame.loc[term, name], values[:, place]
        assert row["distance"] == pytest.approx(own[0])
        exact = np.mean(own >= own[0] - 1e-9)
        error = (exact * (1 - exact) / RESAMPLES) ** 0.5
        assert abs(row["p_value"] - exact) < 4 * error + 2 / RESAMPLES
        assert abs(row["by_chance"] - own.mean()) < 4 * own.std() / RESAMPLES**0.5 + 1e-9
        assert row["estimate"] == pytest.approx(row["distance"] - row["by_chance"])
        assert row["n"] == (40 if name == "" else 20)


@pytest.mark.slow
@pytest.mark.parametrize("alike", [False, True])
def test_agents_with_the_same_shares_are_told_apart_in_one_of_twenty_studies(alike: bool) -> None:
    """Also where each page is asked three times, and always answered alike. Each set is a study."""
    studies = size(200, 2_000)
    agents = dict.fromkeys("ab", [EVEN] * studies)
    table = lists(agents, pages=12, repeats=3, alike=alike)
    frame = market_distances(table)
    for _, own in frame[frame["part"] == "set"].groupby("term"):
        assert len(own) == studies
        assert (own["p_value"] <= 0.05).sum() <= binom.ppf(0.9999, studies, 0.05)
        assert (own["p_value"] <= 0.5).mean() > 0.25  # and the test is not idle
    assert abs(frame.loc[frame["part"] == "set", "estimate"].mean()) < 1.5
    if alike:  # trials as if they were independent would be told apart too often
        apart = frame[(frame["part"] == "set") & (frame["term"] == "total_variation")]
        assert (apart["distance"] > 100 * 1.96 * (2 * 0.25 * 0.75 / 36) ** 0.5).mean() > 0.1


@pytest.mark.slow
def test_agents_with_other_shares_are_found_and_adjusted_by_family() -> None:
    table = lists({"a": [STEEP, EVEN, EVEN], "b": [TURNED, EVEN, EVEN], "c": [STEEP, EVEN, EVEN]}, pages=60)
    frame = market_distances(table)
    rows = frame[frame["term"] == "total_variation"].set_index(["group", "less", "level"])
    assert rows.loc[("a", "b", ""), "p_adjusted"] < 0.01 and rows.loc[("b", "c", ""), "p_adjusted"] < 0.01
    assert rows.loc[("a", "b", "set0"), "p_adjusted"] < 0.05 < rows.loc[("a", "c", "set0"), "p_adjusted"]
    assert 45 < rows.loc[("a", "b", "set0"), "estimate"] < 75  # the truth is 70 less what chance gives
    for _, own in frame.groupby(["term", "part"]):
        adjusted = multipletests(own["p_value"], method="fdr_bh")[1]
        assert own["p_adjusted"].tolist() == pytest.approx(adjusted)
    first, second, _ = distance_sentences(frame)
    assert first.startswith("a against b: market shares differ (total variation ")
    assert second.startswith("a against c: market shares are not told apart (")
    assert "1 of 3 choice sets differ by themselves" in first
    section = distance_section(frame)
    assert [len(each.frame) for each in section.tables] == [6, 18] and section.figures[0].figure


def test_agents_that_always_answer_alike_are_alike() -> None:
    """The shares of a page that one agent saw more often do not count as a difference."""
    table = lists({"a": [EVEN, STEEP]}, pages=15, repeats=3, alike=True)
    other = table.assign(agent="b")
    more = other[other.groupby("trial")["price"].transform("min") < 13].assign(
        trial=lambda rows: rows["trial"] + "/again"
    )
    frame = market_distances(pd.concat([table, other, more], ignore_index=True))
    assert (frame["distance"] == 0).all() and (frame["p_value"] == 1).all()
    assert frame["n"].tolist()[:2] == [180, 180]


def test_what_is_not_shared_and_pairs_have_no_distance() -> None:
    table = lists({"a": [EVEN], "b": [EVEN]}, pages=5)
    apart = market_distances(table.assign(set=table["set"] + table["agent"]))
    assert apart["note"].tolist() == [NOTHING_SHARED] * 2 and apart["p_value"].isna().all()
    assert list(distance_sentences(apart)) == [f"a against b: market shares: {NOTHING_SHARED}."]
    assert market_distances(simulate_study(sets=3, agents=("a", "b")).table).empty
    ways = table.assign(modality=table["agent"].map({"a": "html", "b": "screenshot"}))
    pd.testing.assert_frame_equal(market_distances(ways), market_distances(table))
