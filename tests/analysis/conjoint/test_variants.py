"""Variants of the prompt against the card as it is: known weights, and independent computations."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from analysis.conjoint import analyze_conjoint
from analysis.conjoint.cards import encode
from analysis.conjoint.report import report
from analysis.conjoint.variants import variants
from analysis.tables.errors import AnalysisError
from tests.analysis.conjoint.conftest import simulate_cards
from tests.support import size

TERMS = ("log_price", "stars", "bed_rank", "cancel", "breakfast", "review_score", "review_count_100")
TRUE = {"log_price": -2.0, "stars": 0.3, "cancel": 0.6, "breakfast": 0.5, "review_score": 0.7}
CHEAPER = {"log_price": -5.0, "first": 1.0}
"""What a variant changes, in the simulations: the weights of the log price and of standing first."""


def simulated(
    seed: int, changed: dict[str, dict[str, float]], sets: int = 60, alike: float = 0.5
) -> pd.DataFrame:
    """Pairs in both orders and in each variant; half of what is not weighed belongs to the set."""
    cards = simulate_cards(seed, sets=sets, sizes=(2,)).drop(columns="chosen")
    rng = np.random.default_rng([seed, 1])
    own = dict(zip(cards["option"].unique(), rng.gumbel(size=cards["option"].nunique()), strict=True))
    frames = []
    for name, weights in {"base": {}, **changed}.items():
        weight = TRUE | {"first": 0.0} | weights
        utility = (
            weight["log_price"] * np.log(cards["price"])
            + weight["stars"] * cards["attr_stars"]
            + weight["cancel"] * cards["attr_cancellation"]
            + weight["breakfast"] * cards["attr_breakfast"]
            + weight["review_score"] * cards["rating"] / 10
            + weight["first"] * (cards["position"] == 0)
        )
        drawn = np.where(
            rng.random(len(cards)) < alike, cards["option"].map(own), rng.gumbel(size=len(cards))
        )
        utility += drawn
        chosen = (utility == utility.groupby(cards["trial"]).transform("max")).astype(int)
        frames.append(cards.assign(condition=name, chosen=chosen, trial=name + cards["trial"]))
    return pd.concat(frames, ignore_index=True)


def fitted(rows: pd.DataFrame) -> "pd.Series[float]":
    """The measures of one variant, by statsmodels' logit of pairs; rows as encoded."""
    x = rows[list(TERMS)].assign(first=(rows["position"] == 0).astype(float)).to_numpy(float)
    apart = pd.DataFrame(x[::2] - x[1::2], columns=[*TERMS, "first"])
    found = sm.Logit(rows["chosen"].to_numpy(float)[::2], apart).fit(disp=False)
    value = found.params[list(TERMS)]
    value["pseudo_r2"] = 1 - found.llf / (len(apart) * np.log(0.5))
    value["first_shown"] = rows.loc[rows["position"] == 0, "chosen"].mean()
    return value


def test_differences_and_errors_are_those_of_leaving_out_each_set() -> None:
    table = simulated(5, {"short": CHEAPER}, sets=250)
    cards = encode(table)
    rows = cards.rows
    of = {name: rows[rows["condition"] == name] for name in ("base", "short")}

    def apart(without: str = "") -> "pd.Series[float]":
        kept = {name: own[own["set"] != without] for name, own in of.items()}
        return fitted(kept["short"]) - fitted(kept["base"])

    whole = apart()
    sets = rows["set"].unique()
    moved = pd.DataFrame([apart(each) - whole for each in sets])
    error = np.sqrt((len(sets) - 1) / len(sets) * (moved**2).sum())
    found = variants(cards, ["balanced"])[0].set_index("term")
    assert list(found.index) == list(whole.index)
    np.testing.assert_allclose(found["estimate"], whole, atol=1e-4)
    np.testing.assert_allclose(found["value"] - found["value_base"], found["estimate"], atol=1e-12)
    np.testing.assert_allclose(found["std_error"]["first_shown"], error["first_shown"], rtol=1e-10)
    np.testing.assert_allclose(found["std_error"], error, rtol=0.1)  # to the first order
    np.testing.assert_allclose(found["statistic"], found["estimate"] / found["std_error"])
    p = 2 * stats.t.sf(abs(found["statistic"]), len(sets) - 1)
    np.testing.assert_allclose(found["p_value"], p)
    assert (found["n"] == 500).all()


@pytest.mark.slow
def test_a_changed_weight_is_found_and_no_other() -> None:
    studies = size(60, 300)
    told, held = [], []
    for seed in range(studies):
        table = simulated(seed, {"same": {}, "short": CHEAPER}, sets=120)
        found = variants(encode(table), ["balanced"])[0]
        same = found[found["variant"] == "same"].set_index("term")
        short = found[found["variant"] == "short"].set_index("term")
        told.append(same["p_value"] < 0.05)
        held.append(short["p_value"][["log_price", "first_shown", "pseudo_r2"]] < 0.05)
    rejected, power = pd.DataFrame(told).mean(), pd.DataFrame(held).mean()
    most = stats.binom.ppf(0.999, studies, 0.06) / studies
    assert (rejected <= most).all(), rejected
    assert (power > 0.8).all(), power


def test_all_other_tables_are_of_base() -> None:
    table = simulated(2, {"short": CHEAPER, "odd": {"first": 9.0}})
    base = table[table["condition"] == "base"].reset_index(drop=True)
    found, alone = analyze_conjoint(table), analyze_conjoint(base.drop(columns="condition"))
    assert alone.variants.empty
    for name, frame in alone.frames.items():
        if name not in ("variants", "variant_orders", "variant_money", "readings", "multiplicity"):
            pd.testing.assert_frame_equal(found.frames[name], frame)
    assert found.notes[0].startswith(
        "There are variants of the prompt (base, odd, short): tables are of base"
    )
    short = analyze_conjoint(table, condition="short")
    only = table[table["condition"] == "short"].reset_index(drop=True).drop(columns="condition")
    pd.testing.assert_frame_equal(short.coefficients, analyze_conjoint(only).coefficients)
    money = found.variant_money.set_index("variant")
    pd.testing.assert_series_equal(
        money.loc["short", "part_worth"].reset_index(drop=True), short.money["part_worth"], check_names=False
    )
    with pytest.raises(AnalysisError, match=r"--condition nope: no such variant .* base, odd, short"):
        analyze_conjoint(table, condition="nope")
    with pytest.raises(AnalysisError, match=r"there are: none"):
        analyze_conjoint(base, condition="short")


def test_conditions_without_base_are_no_variants() -> None:
    table = simulated(2, {"short": CHEAPER}).replace({"condition": {"base": "left"}})
    assert analyze_conjoint(table).variants.empty


def test_orders_of_agents_and_attributes() -> None:
    steeper = [-1.0, -2.0, -3.0, -4.0, -5.0]
    tables = []
    for number, slope in enumerate(steeper):
        both = {"one": {"log_price": slope}, "other": {"log_price": -6.0 - slope if number else slope}}
        table = simulated(number, both, sets=80)
        table = table[table["condition"] != "base"].replace({"condition": {"one": "base"}})
        tables.append(table.assign(agent=f"agent-{number}"))
    found = analyze_conjoint(pd.concat(tables, ignore_index=True), locked=True)
    price = found.variants[found.variants["term"] == "log_price"]
    expected = stats.spearmanr(price["value"], price["value_base"]).statistic
    orders = found.variant_orders.set_index(["group", "term"])["estimate"]
    assert orders["all agents", "log_price"] == pytest.approx(expected)
    own = found.variants.query("group == 'agent-2' and term in @TERMS[1:]")
    assert orders["agent-2", "attributes"] == pytest.approx(
        stats.spearmanr(own["value"], own["value_base"]).statistic
    )


def test_an_agent_that_is_locked_has_its_first_shown_rate_alone() -> None:
    table = simulated(1, {"short": {}})
    first = (table["position"] == 0).astype(int)
    table = pd.concat([table, table.assign(agent="locked", chosen=first)], ignore_index=True)
    found = analyze_conjoint(table).variants
    locked = found[found["group"] == "locked"]
    assert list(locked["term"]) == ["first_shown"]
    assert list(locked["note"]) == ["no interval: the two never differ"]


def test_only_sets_that_both_answer_are_compared() -> None:
    table = simulated(1, {"part": {}, "few": {}, "none": {}}, sets=60)
    some, few = (table["set"].isin([f"2-{number}" for number in range(count)]) for count in (40, 8))
    kept = {"base": True, "part": some, "few": few, "none": False}
    table = pd.concat([table[(table["condition"] == name) & which] for name, which in kept.items()])
    lost = (
        table[table["condition"] == "base"]
        .head(4)
        .assign(condition="none", chosen=None, outcome="agent_error")
    )
    table = pd.concat([table, lost.assign(trial="none" + lost["trial"])], ignore_index=True)
    found = analyze_conjoint(table)
    own = found.variants.set_index(["variant", "term"])
    alone = simulated(1, {"part": {}, "few": {}, "none": {}}, sets=60)
    alone = alone[alone["condition"].isin(["base", "part"]) & some].reset_index(drop=True)
    expected = analyze_conjoint(alone).variants.set_index(["variant", "term"])
    pd.testing.assert_series_equal(own["z"]["part"], expected["z"]["part"])
    assert own["conf_low"]["few"].isna().all()
    assert own["note"]["few", "first_shown"] == "no interval: fewer than 12 choice sets"
    assert own["estimate"]["none"].isna().all()
    (said,) = (each for each in report(found).answer if "variants of the prompt" in each)
    assert "part: nothing is told apart from base with 80 choices" in said
    assert "few, none: no interval with 0 to 16 choices, see the table" in said


def test_the_answer_says_what_changes() -> None:
    made = report(analyze_conjoint(simulated(3, {"same": {}, "short": {"log_price": 0.0}}, sets=150)))
    (said,) = (each for each in made.answer if "variants of the prompt" in each)
    assert "short: log price differs from base by" in said
    assert "same: nothing is told apart from base with 300 choices" in said
    (section,) = (each for each in made.sections if each.title == "Variants of the prompt")
    assert "z against base" in section.figures[0].svg
    assert [each.name for each in section.tables] == ["variants", "variant_orders", "variant_money"]
