"""Places by order, larger sets, orders of values, and what part-worths hang on: independent computations."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from analysis.conjoint import analyze_conjoint
from analysis.conjoint.cards import encode
from analysis.conjoint.full_models import full_models
from analysis.conjoint.larger_sets import larger_sets
from analysis.conjoint.money import money
from analysis.conjoint.report import report
from analysis.conjoint.robustness import robustness, without_one
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.leave_out import moves
from analysis.tables.choice_table import TRIAL_ID
from tests.analysis.conjoint.conftest import WEIGHTS, simulate_cards
from tests.support import size


def repeated(
    seed: int, *, hotels: int = 24, sets: int = 150, taste: float = 0.0, dearer: float = 0.3
) -> pd.DataFrame:
    """Pairs of a pool of hotels in both orders; price, cancellation and breakfast are drawn for each showing.

    taste: the standard deviation of what an agent thinks of each hotel besides. dearer: the logarithm of the
    price for one unit of it.
    """
    rng = np.random.default_rng(seed)
    liked, stars = rng.normal(0, taste, hotels), rng.integers(1, 6, hotels)
    level = 5 + 0.15 * stars + dearer * liked
    frames = []
    for number in range(sets):
        pair = rng.choice(hotels, 2, replace=False)
        card = pd.DataFrame(
            {
                "set": f"set-{number}",
                "option": [f"hotel-{hotel}" for hotel in pair],
                "price": np.exp(level[pair] + rng.normal(0, 0.3, 2)).round(),
                "attr_stars": stars[pair],
                "attr_cancellation": rng.integers(0, 2, 2),
                "attr_breakfast": rng.integers(0, 2, 2),
                "attr_neighborhood": [f"area {hotel % 4}" for hotel in pair],
                "attr_chain": [("Independent", "Hilton", "Hyatt")[hotel % 3] for hotel in pair],
            }
        )
        for ordering in ("forward", "reversed"):
            utility = (
                -3 * np.log(card["price"])
                + 0.4 * card["attr_stars"]
                + 0.8 * card["attr_cancellation"]
                + 0.6 * card["attr_breakfast"]
                + liked[pair]
                + rng.gumbel(size=2)
            )
            frames.append(
                card.assign(
                    ordering=ordering,
                    position=[0, 1] if ordering == "forward" else [1, 0],
                    chosen=(utility == utility.max()).astype(int),
                    trial=f"{number}-{ordering}",
                )
            )
    table = pd.concat(frames, ignore_index=True)
    return table.assign(agent="balanced", outcome="choice", repeat=0, category="hotel")


@pytest.mark.thorough
def test_values_hold_where_an_agent_likes_single_options() -> None:
    """What stars are worth hangs on 30 hotels, not on 300 pairs of them; free cancellation is drawn anew."""
    studies, held, by_set, drawn = size(15, 200), [], [], []
    for seed in range(studies):
        table = repeated(seed, hotels=30, sets=300, taste=0.8, dearer=0.0)
        (models,) = full_models(encode(table.assign(attr_chain="Independent")), ["balanced"], "clustered")
        values = money([models]).set_index("term")
        held.append(abs(values.loc["stars", "percent"] - 40 / 3) < _half(values.loc["stars"]))
        drawn.append(abs(values.loc["cancel", "percent"] - 80 / 3) < _half(values.loc["cancel"]))
        rows, x = models.rows, models.columns[models.form]
        of_sets = moves(models.fit, x, rows["chosen"].astype(float), rows[TRIAL_ID], rows["set"])
        narrow = np.sqrt((of_sets["stars"] ** 2).sum()) / models.fit.of("stars")[1]
        by_set.append(abs(values.loc["stars", "percent"] - 40 / 3) < narrow * _half(values.loc["stars"]))
    assert np.mean(held) >= 0.85 and np.mean(drawn) >= 0.85
    assert np.mean(by_set) < np.mean(held)


def _half(value: "pd.Series[float]") -> float:
    return float(value["percent_high"] - value["percent_low"]) / 2


def test_places_by_order_tell_a_place_from_an_option() -> None:
    table = simulate_cards(1, agents=("balanced", "first"), locked=("first",), sizes=(2, 5), sets=40)
    always = table.assign(
        agent="a hotel", chosen=(table["option"] == table["set"].map(first_of(table))).astype(int)
    )
    found = analyze_conjoint(
        pd.concat([table, always.assign(trial="x" + always["trial"])])
    ).positions_by_order
    rates = found.set_index(["group", "options", "ordering", "term"])["estimate"]
    for count in ("2", "5"):
        for order in ("forward", "reversed"):
            assert rates["first", count, order, "position_1"] == 1
        assert rates["a hotel", count, "forward", "position_1"] == 1
        assert rates["a hotel", count, "reversed", f"position_{count}"] == 1
    own = table[(table["agent"] == "balanced") & table["set"].str.startswith("5")]
    for (order, position), rows in own.groupby(["ordering", "position"]):
        expected = rows["chosen"].sum() / 40
        shares = rates["balanced", "5", order]
        assert shares.get(f"position_{position + 1}", 0.0) == pytest.approx(expected)
    sums = found.groupby(["group", "options", "ordering"])["estimate"].sum()
    np.testing.assert_allclose(sums, 1)
    np.testing.assert_allclose(found["chance"], 1 / found["options"].astype(int))


def first_of(table: pd.DataFrame) -> "pd.Series[str]":
    """The option of each set that stands first in the forward order."""
    forward = table[(table["ordering"] == "forward") & (table["position"] == 0)]
    return forward.drop_duplicates("set").set_index("set")["option"]


def test_slot_shares_with_five_options() -> None:
    table = simulate_cards(3, sizes=(5,), sets=60)
    found = analyze_conjoint(table).positions.set_index("term")["estimate"]
    expected = table[table["chosen"] == 1]["position"].value_counts(normalize=True)
    for position in range(5):
        assert found[f"position_{position + 1}"] == pytest.approx(expected[position])


def test_choices_from_five_are_told_by_weights_from_two() -> None:
    table = simulate_cards(4, sizes=(2, 5), sets=200)
    cards = encode(table)
    full = full_models(cards, ["balanced"], "clustered")
    found = larger_sets(full, cards).set_index("term")
    rows = cards.rows[cards.rows["size"] == 5]
    fit = full[0].fit
    weights = dict(zip(fit.terms, fit.estimate, strict=True))
    utility = sum(weights[name] * rows[name] for name in cards.controls)
    utility += sum(
        weights[name] * (rows["chain"] == name.removeprefix("chain_")) for name in weights if "chain_" in name
    )
    utility += weights["price"] * rows["log_price"] + weights["shown_first"] * (rows["position"] == 0)
    assert full[0].form == "log"
    rank = utility.groupby(rows["trial_id"]).rank(ascending=False)[rows["chosen"] == 1]
    assert found["estimate"]["hit_rate"] == pytest.approx((rank == 1).mean())
    assert found["estimate"]["top_2"] == pytest.approx((rank <= 2).mean())
    assert found["estimate"]["mean_rank"] == pytest.approx(rank.mean())
    by_set = (rank == 1).groupby(rows.loc[rank.index, "set"]).mean()  # two trials each
    assert found["std_error"]["hit_rate"] == pytest.approx(by_set.std(ddof=1) / np.sqrt(200))
    assert list(found["chance"]) == [0.2, 0.4, 3.0]
    truth = cards.rows.assign(utility=sum(weight * cards.rows[name] for name, weight in WEIGHTS.items())).loc[
        rows.index
    ]
    ideal = truth["utility"].groupby(truth["trial_id"]).rank(ascending=False)[truth["chosen"] == 1]
    assert found["estimate"]["hit_rate"] > (ideal == 1).mean() - 0.05, "the true weights do no better"
    random = simulate_cards(6, sizes=(2, 5), sets=200, random=("balanced",))
    cards = encode(random)
    found = larger_sets(full_models(cards, ["balanced"], "clustered"), cards)
    assert ((found["conf_low"] < found["chance"]) & (found["chance"] < found["conf_high"])).all()


def test_values_keep_their_order_in_another_form() -> None:
    agents = tuple(f"agent-{number}" for number in range(5))
    table = simulate_cards(2, agents=agents, sizes=(2,), sets=150)
    found = analyze_conjoint(table).money_orders.set_index(["term", "group", "forms"])["estimate"]
    worth: dict[str, list[float]] = {"log": [], "linear": []}
    for models in full_models(encode(table), list(agents), "clustered"):
        for form, values in worth.items():
            fit = models.fits[form]  # type: ignore[index]
            values.append(-fit.of("cancel")[0] / fit.of("price")[0])
    expected = stats.spearmanr(worth["log"], worth["linear"]).statistic
    assert found["cancel", "all agents", "log and linear"] == pytest.approx(expected)
    assert found["attributes", "agent-1", "log and curved"] > 0.8


def test_another_price_is_where_values_hold() -> None:
    table = simulate_cards(2, sizes=(2,), sets=150)
    usual, at = analyze_conjoint(table), analyze_conjoint(table, at_price=250)
    assert set(usual.money["price_form"]) == {"log"}
    ratio = 250 / usual.money["at_price"].iloc[0]
    np.testing.assert_allclose(at.money["estimate"], usual.money["estimate"] * ratio, atol=1e-9)
    np.testing.assert_allclose(at.money["percent"], usual.money["percent"], atol=1e-9)
    assert set(at.money["at_price"]) == {250}
    assert any("all at the chosen price, 250.00" in said for said in report(at).answer)
    assert any("all at the median price, " in said for said in report(usual).answer)
    curved = full_models(encode(table), ["balanced"], "clustered", 250)[0].fits["curved"]
    price, bend = curved.of("price")[0], curved.of("price_curve")[0]
    median = full_models(encode(table), ["balanced"], "clustered")[0]
    slope, at_median = median.fits["curved"].of("price")[0], median.fits["curved"].of("price_curve")[0]
    assert price == pytest.approx(slope + at_median * (250 / median.at_price - 1), rel=1e-5)
    assert bend == pytest.approx(at_median * 250 / median.at_price, rel=1e-5)


def test_a_table_with_a_price_alone() -> None:
    """Where the linear price fits better, there is no attribute to value."""
    rng = np.random.default_rng(1)
    table = repeated(1)[["set", "trial", "option", "position", "ordering", "agent", "outcome", "repeat"]]
    table = table.assign(price=rng.uniform(10, 500, len(table)), category="tea")
    utility = -0.01 * table["price"] + rng.gumbel(size=len(table))
    table["chosen"] = (utility == utility.groupby(table["trial"]).transform("max")).astype(int)
    found = analyze_conjoint(table, robust=True)
    assert found.functional_form["estimate"].iloc[0] < 0
    assert found.willingness_to_pay.empty
    assert found.money_orders["estimate"].isna().all()


def test_without_each_option_as_refitted() -> None:
    cards = encode(repeated(1))
    (models,) = full_models(cards, ["balanced"], "clustered")
    found = without_one([models]).set_index("term")
    x, rows = models.columns["log"], models.rows
    refits = {}
    for option in rows["option"].unique():
        kept = ~rows["trial_id"].isin(rows.loc[rows["option"] == option, "trial_id"])
        fit = fit_clogit(x[kept], rows.loc[kept, "chosen"].to_numpy(float), rows.loc[kept, "trial_id"])
        refits[option] = pd.Series(fit.estimate, fit.terms)
    exact = pd.DataFrame(refits).T
    whole = pd.Series(models.fits["log"].estimate, x.columns)
    np.testing.assert_allclose(found["estimate"], whole)
    width = exact.max() - exact.min()
    assert (abs(found["lowest"] - exact.min()) < 0.2 * width).all()
    assert (abs(found["highest"] - exact.max()) < 0.2 * width).all()
    assert found["option"]["price"] in abs(exact - whole)["price"].nlargest(2).index


def test_more_that_is_held_as_in_statsmodels() -> None:
    cards = encode(repeated(2, taste=0.7, sets=250))
    full = full_models(cards, ["balanced"], "clustered")
    found = robustness(full).set_index(["check", "term"])
    assert list(found.index.unique("check")) == ["base", "tier", "area", "options"]
    rows, x = full[0].rows, full[0].columns["log"]

    def refit(x: pd.DataFrame) -> "pd.Series[float]":
        apart = x.to_numpy(float)[::2] - x.to_numpy(float)[1::2]
        y = rows.loc[x.index, "chosen"].to_numpy(float)[::2]
        fit = sm.Logit(y, pd.DataFrame(apart, columns=x.columns)).fit(disp=False, maxiter=100)
        return pd.Series(fit.params)

    def dummies(name: str) -> pd.DataFrame:
        values = rows[name] if name in rows else x[name]
        return pd.get_dummies(values, drop_first=True, dtype=float).add_prefix("is ")

    checks = {
        "base": x,
        "tier": x.drop(columns="stars").join(dummies("stars")),
        "area": x.join(dummies("area")),
        "options": x[["cancel", "breakfast", "shown_first", "price"]].join(dummies("option")),
    }
    for check, regressors in checks.items():
        expected = refit(regressors)
        own = found.loc[check]
        np.testing.assert_allclose(own["estimate"], expected[own.index], atol=1e-5)
    assert {"chain_Hilton", "stars"} & set(found.loc["options"].index) == set(), (
        "they never change in a hotel"
    )
    price = found.xs("price", level="term")
    assert price["estimate"]["base"] > -2.6, "what is liked is dearer: the price takes that over"
    assert price["conf_low"].isna()["options"]
    assert price["note"]["options"].startswith("no interval: with a constant for each option")
    assert abs(price["estimate"]["options"] + 3) < abs(price["estimate"]["base"] + 3)


def test_an_option_that_always_wins_is_left_out_with_its_trials() -> None:
    table = repeated(3)
    never = table["trial"].isin(table.loc[table["option"] == "hotel-5", "trial"])
    table.loc[never, "chosen"] = (table.loc[never, "option"] != "hotel-5").astype(int)
    cards = encode(table)
    found = robustness(full_models(cards, ["balanced"], "clustered")).set_index(["check", "term"])
    trials = table["trial"].nunique() - table.loc[never, "trial"].nunique()
    assert found["n"]["options", "price"] == trials
    assert found["estimate"]["options", "price"] < 0
    assert analyze_conjoint(table).robustness.empty, "only where it is asked for"
    assert not analyze_conjoint(table, robust=True).robustness.empty
