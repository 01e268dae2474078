"""Market shares of sets of three options and more: simulated agents with known shares."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from agents.simulated.utility import Taste
from analysis.choice import analyze_choice
from analysis.choice.effects.market import ALIKE, FEW, ONE_ANSWER, TOO_FEW, TOO_LOW, in_markets, markets
from analysis.choice.effects.right_answers import FAMILY
from analysis.choice.report.report import report
from analysis.tables.choice_table import check_table
from experiments.designs.loading import load_design
from experiments.designs.shop.simulation import simulated_trials
from tests.analysis.choice.lists import lists
from tests.analysis.conftest import simulate_study
from tests.support import size


def rows(table: pd.DataFrame, agent: str = "a") -> pd.DataFrame:
    market = markets(check_table(table))[0]
    return market[market["group"] == agent].set_index("term")


@pytest.mark.parametrize("repeats", [1, 3])
def test_measures_are_means_over_sets_of_the_shares_that_the_second_table_shows(repeats: int) -> None:
    """Repeats that are answered alike change neither estimates nor intervals."""
    table = lists({"a": [[0.6, 0.3, 0.1, 0], [0.25] * 4]}, pages=60, repeats=repeats, alike=True)
    market, shares = markets(check_table(table))
    found = market.set_index("term")
    own = shares.pivot_table(index="set", columns="option", values="estimate") / 100
    n = 60.0
    hhi = ((own**2).sum(axis=1) * n - 1) / (n - 1)
    entropy = stats.entropy(own, axis=1) + ((own > 0).sum(axis=1) - 1) / (2 * n)
    expected = {
        "hhi": hhi.mean(),
        "entropy": entropy.mean(),
        "effective_number": np.exp(entropy.mean()),
        "leader_share": 100 * own.max(axis=1).mean(),
        "never_chosen": (own == 0).sum(axis=1).mean(),
    }
    assert found["estimate"].to_dict() == pytest.approx(expected)
    assert found["chance"].to_dict() == pytest.approx(
        dict(zip(expected, (0.25, np.log(4), 4, 25, 0), strict=True))
    )
    assert (found["n"] == 120 * repeats).all() and found["effective_n"].tolist() == pytest.approx([120] * 5)
    once = rows(lists({"a": [[0.6, 0.3, 0.1, 0], [0.25] * 4]}, pages=60, alike=True))
    ends = ["std_error", "conf_low", "conf_high"]
    assert found.loc["hhi", ends].tolist() == pytest.approx(once.loc["hhi", ends].tolist())
    assert (found["conf_low"] < found["estimate"])[["hhi", "entropy", "effective_number"]].all()
    low, high = proportion_confint(own.to_numpy().ravel() * 60, 60, method="wilson")
    assert shares["conf_low"].tolist() == pytest.approx((100 * low).tolist(), abs=1e-9)
    assert shares["conf_high"].tolist() == pytest.approx((100 * high).tolist(), abs=1e-9)
    assert shares["chosen"].sum() == 120 * repeats and (shares["trials"] == 60 * repeats).all()


def test_what_few_trials_cannot_tell_is_empty_and_says_why() -> None:
    even = [[0.25] * 4]
    few, some = (rows(lists({"a": even}, pages=pages)) for pages in (10, 30))
    alike = rows(lists({"a": [[1, 0, 0]]}))
    assert few.loc["entropy", "note"] == TOO_LOW and np.isnan(few.loc["effective_number", "estimate"])
    assert np.isnan(some.loc["entropy", "conf_low"]) and some.loc["entropy", "estimate"] > 1.2
    assert some.loc["entropy", "note"] == FEW and some.loc["hhi", "note"] == ""
    assert alike.loc["hhi", "estimate"] == 1 and alike.loc["hhi", "note"] == ALIKE
    two, one = rows(lists({"a": even}, pages=2)), rows(lists({"a": even}, pages=1))
    assert two.loc["hhi", "note"] == TOO_FEW and np.isnan(two.loc["hhi", "conf_low"])
    assert one["note"].tolist() == [ONE_ANSWER] and one["estimate"].isna().all()
    mixed = pd.concat(
        [lists({"a": even}, pages=30), lists({"a": even}, pages=1).assign(set="other", trial="t")]
    )
    left = rows(mixed).loc["hhi"]
    assert (left["sets"], left["n"], left["n_missing"]) == (1, 30, 1) and "1 choice set with" in left["note"]


def test_of_a_set_that_is_always_shown_as_one_page_the_trials_are_draws() -> None:
    """Only so does an agent that varies on this page have a concentration below 1."""
    table = lists({"a": [[0.5, 0.3, 0.2]]}, pages=1, repeats=40)
    counts = table[table["chosen"] == 1]["option"].value_counts()
    squares = float(((counts / 40) ** 2).sum())
    found = rows(table).loc["hhi"]
    assert found["estimate"] == pytest.approx((40 * squares - 1) / 39) and found["effective_n"] == 40
    assert found["conf_low"] < found["estimate"] < found["conf_high"]


@pytest.mark.slow
@pytest.mark.parametrize("alike", [False, True])
def test_intervals_hold_the_truth(alike: bool) -> None:
    """Pages with three answers each, drawn or alike. About as often as they say, and not always."""
    rng, studies = np.random.default_rng(5), size(150, 1_500)
    agents = {f"a{study}": rng.dirichlet(np.full(4, 0.7), 3).tolist() for study in range(studies)}
    market = markets(check_table(lists(agents, pages=60, repeats=3, alike=alike)))[0].set_index("group")
    held = {}
    for term, truth in (
        ("hhi", lambda p: (p**2).sum(axis=1).mean()),
        ("entropy", lambda p: stats.entropy(p, axis=1).mean()),
    ):
        own = market[market["term"] == term]
        own = own[own["conf_low"].notna()]
        truths = np.array([truth(np.array(agents[agent])) for agent in own.index])
        held[term] = float(((own["conf_low"] <= truths) & (truths <= own["conf_high"])).mean())
        assert len(own) > 0.9 * studies
    print(held)
    limit = 3.5 * (0.06 * 0.94 / studies) ** 0.5
    assert held["hhi"] >= 0.94 - limit and held["entropy"] >= 0.9 - limit
    # As if all answers were draws, intervals would be narrower by the root of three.
    assert not alike or market["effective_n"].mean() < 1.3 * 180


def test_only_what_says_which_product_wins_has_tables() -> None:
    pairs = simulate_study(sets=4).table
    found = analyze_choice(pairs)
    assert found.market is None and found.shares is None
    assert not {"market", "shares"} & json.loads(found.to_json()).keys()
    table = lists({"a": [[0.5, 0.3, 0.2]]}, pages=30)
    assert in_markets(check_table(table.assign(family=FAMILY))).empty
    weighted = check_table(table.assign(assignment=0.5))
    assert in_markets(weighted).empty and all(frame.empty for frame in markets(weighted))
    listed = analyze_choice(table)
    section = next(each for each in report(listed).sections if each.title == "Market shares")
    assert [each.name for each in section.tables] == ["market", "shares"] and section.figures[0].figure
    assert {"market", "shares"} <= json.loads(listed.to_json()).keys()
    both = check_table(pd.concat([pairs.assign(agent="a"), table], ignore_index=True))
    pd.testing.assert_frame_equal(markets(both)[0], markets(check_table(table))[0])


def test_the_pages_of_a_latin_square_are_one_draw() -> None:
    """Who always takes the first place takes each product once in a square: so does a fair die in the end."""
    made = simulated_trials(load_design("badges-grid", settings=["repeats=4"]), Taste(), None)
    rng, table = np.random.default_rng(5), made.table
    keep = rng.random(table["trial_id"].nunique()) < 0.7
    place = np.where(keep, 0, rng.integers(0, 8, len(keep)))
    chosen = table["position"].eq(pd.Series(place).reindex(table["trial_id"]).to_numpy())
    row = rows(table.assign(chosen=chosen.astype("Int64")), str(table["agent"].iloc[0])).loc["hhi"]
    assert row["conf_low"] <= 1 / 8 <= row["conf_high"] < 0.14
    two = table[table["repeat"] < 16].assign(chosen=table["position"].eq(0).astype("Int64"))
    assert rows(two, str(table["agent"].iloc[0])).loc["hhi", "note"] == TOO_FEW
