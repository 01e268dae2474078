"""The whole analysis: weights come back, locked agents stay out, few agents are enough."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from analysis.conjoint.across import brand_permutation, provider_of
from analysis.conjoint.cards import encode
from analysis.conjoint.fits import LEAST_SETS, clogit_of_sets, regressors
from analysis.conjoint.frames import rank_correlation, tidy_frame, tidy_row
from analysis.conjoint.report import report
from analysis.conjoint.study import ConjointAnalysis, analyze_conjoint
from analysis.conjoint.tables import FEW_SETS, KRINSKY_ROBB, booked
from analysis.conjoint.triage import triage
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import FRAME_COLUMNS
from tests.analysis.conftest import lose
from tests.analysis.conjoint.conftest import WEIGHTS, simulate_cards
from tests.support import size


@pytest.fixture(scope="module")
def analysis() -> ConjointAnalysis:
    table = simulate_cards(3, agents=("lab:a-7b", "lab:b-9b", "firm:c", "stuck", "dice"), sets=150,
                           locked=("stuck",), random=("dice",))  # fmt: skip
    return analyze_conjoint(table, sizes={"firm:c": 70, "dice": 1})


@pytest.mark.slow
def test_the_weights_come_back() -> None:
    """Of 100 equal agents, the intervals of the conditional logits hold each weight 90 to 99 times."""
    truth = pd.Series(WEIGHTS)
    covered = 0 * truth
    cards = encode(simulate_cards(1, agents=tuple(f"agent{k}" for k in range(100)), sets=70, sizes=(3,)))
    for _, rows in cards.rows.groupby("agent"):
        fit = clogit_of_sets(rows, regressors(rows, cards.controls, "log", np.zeros(2)))
        frame = fit.frame().set_index("term").loc[truth.index]
        covered += ((frame["conf_low"] <= truth) & (truth <= frame["conf_high"])).astype(float)
    assert covered.between(90, 99).all(), covered.to_dict()


def test_an_agent_that_takes_the_last_is_locked_too() -> None:
    table = simulate_cards(sets=30, sizes=(2,), locked=("balanced",))
    table["chosen"] = 1 - table["chosen"]
    found = triage(encode(table)).iloc[0]
    assert (found["estimate"], found["verdict"]) == (0, "locked-recency")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_the_two_orders_of_a_set_are_a_pair(seed: int) -> None:
    """Sets in which the first was taken in both orders, or in neither, are what McNemar's test counts."""
    table = simulate_cards(seed, sets=40, sizes=(2,))
    found = triage(encode(table)).iloc[0]
    first = table[table["chosen"] == 1].groupby("set")["position"].agg(lambda places: (places == 0).sum())
    both, neither = int((first == 2).sum()), int((first == 0).sum())
    exact = mcnemar([[0, both], [neither, 0]], exact=True)
    assert found["p_exact"] == pytest.approx(exact.pvalue)
    assert found["estimate"] == pytest.approx((1 + (both - neither) / 40) / 2)
    assert found["exact_low"] < found["estimate"] < found["exact_high"]


def test_an_agent_that_answers_both_orders_alike_is_surely_engaged() -> None:
    table = simulate_cards(sets=40, sizes=(2,))
    one = table.drop_duplicates(["set", "ordering"]).iloc[0]["ordering"]
    taken = table[(table["ordering"] == one) & (table["chosen"] == 1)].set_index("set")["option"]
    alike = table.assign(chosen=(table["option"] == table["set"].map(taken)).astype(int))
    found = triage(encode(alike)).iloc[0]
    assert (found["estimate"], found["p_exact"], found["verdict"]) == (0.5, 1, "engaged")
    assert found["exact_high"] - found["exact_low"] < 0.55 * (found["conf_high"] - found["conf_low"])


@pytest.mark.thorough
@pytest.mark.slow
def test_both_orders_of_a_card_are_one_cluster() -> None:
    """An agent that answers both orders alike: by default its errors are those of half as many answers."""
    forward = simulate_cards(2, sets=200, sizes=(2,)).query("ordering == 'forward'")
    back = forward.assign(trial=forward["trial"] + "b", ordering="reversed", position=1 - forward["position"])
    twice = pd.concat([forward, back], ignore_index=True)
    errors = {
        name: analyze_conjoint(table, cov=cov).quality.set_index("term")["std_error"]
        for name, table, cov in (
            ("once", forward, None), ("twice", twice, None), ("independent", twice, "classical"),
        )
    }  # fmt: skip
    assert (errors["twice"] / errors["once"]).between(0.8, 1.25).all()
    assert (errors["independent"] / errors["once"]).between(0.6, 0.8).all()
    notes = analyze_conjoint(twice).notes, analyze_conjoint(forward).notes
    assert notes[0][-1] == "Standard errors are clustered by choice set: answers to one set may be alike."
    assert notes[1][-1].startswith("Standard errors are classical")
    once, both = (analyze_conjoint(table).booked.set_index("term")["std_error"] for table in (forward, twice))
    assert both.dropna().to_numpy() == pytest.approx(once.dropna().to_numpy())


def test_sizes_come_from_labels_or_are_given(analysis: ConjointAnalysis) -> None:
    size = analysis.model_size.set_index("group")["size"]
    assert size.drop("all agents").to_dict() == {"dice": 1, "firm:c": 70, "lab:a-7b": 7, "lab:b-9b": 9}
    assert not np.isnan(analysis.model_size.set_index("group").loc["all agents", "estimate"])


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2,), (3,), (4,), (2, 5)])
def test_one_agent_and_any_sizes(sizes: tuple[int, ...]) -> None:
    analysis = analyze_conjoint(simulate_cards(sets=60, sizes=sizes), cov="clustered")
    model = set(analysis.quality["model"])
    assert model == ({"logit"} if 2 in sizes else {"clogit"})
    assert analysis.quality["estimate"].notna().all()
    pooling = analysis.pooling.iloc[0]
    assert (pooling["note"] == "sets of one size only: nothing to pool") == (len(sizes) == 1)
    assert "needs 4 or more" in analysis.model_size.iloc[-1]["note"]
    assert "two providers" in analysis.brand_permutation["note"][0]
    assert len(report(analysis).sections) > 8


def test_only_locked_agents() -> None:
    analysis = analyze_conjoint(simulate_cards(sets=30, locked=("balanced",)))
    assert analysis.coefficients.empty and analysis.quality.empty
    assert [section.title for section in report(analysis).sections] == ["Position triage", "Notes"]
    assert json.loads(analysis.to_json())["coefficients"] == []


@pytest.mark.thorough
@pytest.mark.slow
def test_trials_without_a_choice_are_counted() -> None:
    table = simulate_cards(sets=60)
    lost = table["trial"].isin(table["trial"].unique()[::10])
    analysis = analyze_conjoint(lose(table, lost, "agent_error"))
    count = table.loc[lost, "trial"].nunique()
    assert analysis.triage["n_missing"].tolist() == [count]
    pooled = analysis.fit_statistics.query("block == 'pooled'")
    assert (pooled["n_missing"] == count).all() and (pooled["n"] == 240 - count).all()
    assert f"{count} trials have no choice" in " ".join(analysis.notes)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_decile_that_is_never_taken_is_left_empty() -> None:
    table = simulate_cards(5, sets=300, sizes=(2,))
    dear = table["price"] > table["price"].quantile(0.85)
    other = dear.groupby(table["trial"]).transform("sum") == 1
    table["chosen"] = table["chosen"].where(~other, (~dear).astype(int))
    analysis = analyze_conjoint(table)
    deciles = analysis.price_deciles.set_index("term")
    assert np.isnan(deciles.loc["D10", "estimate"]) and "separates" in deciles.loc["D10", "note"]
    assert deciles.loc[["D2", "D5"], "estimate"].notna().all()
    assert any("the choices are separated in" in note for note in analysis.notes)


def brands(values: dict[str, list[float]]) -> pd.DataFrame:
    terms = [f"chain_{k}" for k in range(5)]
    return tidy_frame(
        [
            tidy_row(term, agent, 100, estimate=value)
            for agent, row in values.items()
            for term, value in zip(terms, row, strict=True)
        ]
    )


def test_providers_that_differ_are_found() -> None:
    rng = np.random.default_rng(0)
    tastes = rng.normal(size=(3, 5))
    alike = {f"p{p}:m{k}": list(tastes[p] + 0.1 * rng.normal(size=5)) for p in range(3) for k in range(4)}
    found = brand_permutation(brands(alike), None).iloc[0]
    assert found["p_value"] == pytest.approx(1 / 2001) and found["estimate"] > 0.5 and found["n"] == 12
    mapped = brand_permutation(
        brands({a.split(":")[1] + a[:2]: v for a, v in alike.items()}),
        {a.split(":")[1] + a[:2]: a[:2] for a in alike},
    ).iloc[0]
    assert mapped["estimate"] == pytest.approx(found["estimate"])


def test_labels_name_providers() -> None:
    assert provider_of("openai:gpt-5.4") == "openai" and provider_of("gemma2_9b") == ""


def test_rank_correlation_needs_agents() -> None:
    first = pd.Series({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": np.nan})
    assert rank_correlation("r", first, first**3)["estimate"] == pytest.approx(1)
    assert rank_correlation("r", first, first**3)["n_missing"] == 1
    assert "needs 4 or more" in rank_correlation("r", first[:3], first[:3])["note"]
    assert rank_correlation("r", first, 0 * first)["note"] == "all agents have the same value"


@pytest.mark.thorough
@pytest.mark.slow
def test_few_choices_do_not_lock_an_agent() -> None:
    """Of a rate of 85 % Wilson's interval of 21 first choices of 21 does not tell it, that of 22 does."""
    table = simulate_cards(sets=22, sizes=(2,), locked=("balanced",))
    for sets, verdict in ((1, "undecided"), (5, "undecided"), (21, "undecided"), (22, "locked-primacy")):
        own = table[
            table["set"].isin([f"2-{number}" for number in range(sets)]) & (table["ordering"] == "forward")
        ]
        analysis = analyze_conjoint(own)
        assert analysis.triage["verdict"].tolist() == [verdict]
        said = [
            "balanced is undecided: it takes the option shown first in 100.0 %" in note
            for note in analysis.notes
        ]
        assert any(said) == (verdict == "undecided")
        assert analysis.coefficients.empty == (verdict == "locked-primacy")


def test_options_that_cost_nothing() -> None:
    analysis = analyze_conjoint(simulate_cards(sets=8).assign(price=0.0))
    assert any("80 options cost nothing: their trials are left out" in note for note in analysis.notes)
    assert report(analysis).sections and json.loads(analysis.to_json())
    with pytest.raises(AnalysisError, match=r"table: row 4: price: '-50\.0' is below 0; correct it"):
        analyze_conjoint(
            simulate_cards(sets=8).assign(price=lambda rows: rows["price"].where(rows.index != 3, -50))
        )


def test_json_has_every_digit(analysis: ConjointAnalysis) -> None:
    written = [row["p_value"] for row in json.loads(analysis.to_json())["coefficients"]]
    p = analysis.coefficients["p_value"]
    assert 0 < p.min() < 1e-16
    assert [np.nan if each is None else each for each in written] == pytest.approx(
        p.tolist(), rel=0, abs=0, nan_ok=True
    )


@pytest.mark.thorough
@pytest.mark.slow
def test_model_block_form_and_brand_name_one_model() -> None:
    table = simulate_cards(sets=200, sizes=(2, 3))
    table["attr_chain"] = np.where(table["option"].str[-1].isin(list("02468")), "Hilton", "Independent")
    found = analyze_conjoint(table)
    key = ["group", "model", "block", "price_form", "brand"]
    assert not found.fit_statistics.duplicated(key).any()
    assert not found.coefficients.duplicated([*key, "term"]).any()
    own = found.coefficients[found.coefficients["brand"].astype(bool)]
    chains = own[own["term"].str.startswith("chain_")].reset_index(drop=True)
    pd.testing.assert_frame_equal(chains[[*FRAME_COLUMNS]], found.brands[[*FRAME_COLUMNS]])
    assert len(chains) and {row["brand"] for row in json.loads(found.to_json())["coefficients"]} == {
        True,
        False,
    }


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("sets", [10, 20, 60])
def test_intervals_of_what_was_booked_are_about_new_cards(sets: int) -> None:
    """So many cards are drawn for each study; the truth is that of very many."""
    count = size(150, 2000)
    truth = booked(encode(simulate_cards(0, sets=20_000, sizes=(2,)))).set_index("term")["estimate"]
    tables = [booked(encode(simulate_cards(seed, sets=sets, sizes=(2,)))) for seed in range(1, count + 1)]
    found = pd.concat(tables).set_index("term")
    for term in ("mean_price", "mean_stars"):
        low, high, estimate = found.loc[term, ["conf_low", "conf_high", "estimate"]].to_numpy(float).T
        held = ((low <= truth[term]) & (truth[term] <= high)).sum()
        assert stats.binom.ppf(0.0005, count, 0.94) <= held <= stats.binom.ppf(0.9995, count, 0.95)
        needed = 2 * stats.norm.ppf(0.975) * np.sqrt(((estimate - truth[term]) ** 2).mean())
        assert 0.85 < (high - low).mean() / needed < 1.3


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("orders", [1, 2])
def test_few_choice_sets_have_errors_by_set_only(orders: int) -> None:
    """The usual errors are too small there; the estimates stay, and the row says why."""
    tables = {sets: simulate_cards(6, sets=sets, sizes=(2,)) for sets in (LEAST_SETS - 1, LEAST_SETS)}
    if orders == 1:
        tables = {sets: table.query("ordering == 'forward'") for sets, table in tables.items()}
    few, enough = (analyze_conjoint(table) for table in tables.values())
    ends = ["std_error", "p_value", "conf_low", "conf_high"]
    for name in ("quality", "price_response", "coefficients", "willingness_to_pay"):
        lacking, having = vars(few)[name], vars(enough)[name]
        known = lacking["estimate"].notna()
        assert known.any() and lacking[ends].isna().all(axis=None)
        assert lacking.loc[known, "note"].str.contains(FEW_SETS).all()
        assert having[ends].notna().any(axis=None) and not having["note"].str.contains(FEW_SETS).any()
    assert few.willingness_to_pay[list(KRINSKY_ROBB)].isna().all(axis=None)
    assert few.quality[["p_by_set", "by_set_low", "by_set_high"]].notna().all(axis=None)
    assert enough.quality["p_by_set"].isna().all() == (orders == 1)


@pytest.mark.thorough
@pytest.mark.slow
def test_pooling_of_repeated_sets_goes_by_clusters() -> None:
    """Answers that are stored twice make the likelihood ratio twice as large, and the Wald test no larger."""
    one = simulate_cards(4, sets=150).query("ordering == 'forward'")
    back = one.groupby("trial")["position"].transform("max") - one["position"]
    two = pd.concat([one, one.assign(trial=one["trial"] + "b", ordering="reversed", position=back)])
    ratio = {
        cov: [analyze_conjoint(table, cov=cov).pooling.iloc[0] for table in (one, two)]
        for cov in ("classical", "clustered")
    }
    statistic = {cov: [row["statistic"] for row in rows] for cov, rows in ratio.items()}
    assert statistic["classical"][1] == pytest.approx(2 * statistic["classical"][0], rel=1e-6)
    assert statistic["clustered"][1] == pytest.approx(statistic["clustered"][0], rel=1e-2)
    assert ratio["clustered"][1]["df"] == ratio["classical"][1]["df"]
    assert ratio["clustered"][1]["note"].startswith("Wald test with the clustered errors")
