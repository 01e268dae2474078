"""Choice effects: truth recovered, intervals that cover it, and every way in which an effect is undefined."""

import numpy as np
import pandas as pd
import pyfixest
import pytest

from analysis.choice import analyze_choice
from analysis.choice.effects.effects import TERMS, THESE_TEXTS, choice_effects, contrast_frame, regressors
from analysis.estimators.clusters import trial_codes
from analysis.estimators.lpm import Contrast
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import lose, simulate_study
from tests.support import size
from tests.true_effects import true_effects

STATISTICS = ["std_error", "statistic", "p_value", "p_adjusted", "conf_low", "conf_high"]
HOSTILE = ('a:b ~ c|d "x" + C(y) `z`', "{__import__('os')}", "nan", "agent\nwith\ttwo lines")


def by_term(effects: pd.DataFrame, agent: str = "balanced") -> pd.DataFrame:
    return effects[effects["group"] == agent].set_index("term")


@pytest.mark.parametrize(("size", "within"), [(2, 1e-9), (3, 1.0)])
def test_the_true_effect_of_a_nudge_is_the_counterfactual_difference(size: int, within: float) -> None:
    """Chosen when nudged, less chosen when another one is, over sets, orders and options."""
    study = simulate_study(4, sets=30, size=size, nudges=4, nudges_per_set=4)
    table, p = study.table, study.probabilities
    other = table.groupby("trial")["nudged"].transform("sum") - table["nudged"]
    by_hand = p[table["nudged"] == 1].mean() - p[other == 1].mean()
    assert by_hand > 0.1
    found = by_term(true_effects(table, p))
    assert found.loc["nudged", "estimate"] == pytest.approx(100 * by_hand, abs=within)


@pytest.mark.slow
def test_intervals_cover_the_truth() -> None:
    study = simulate_study(1, nudges_per_set=2)
    truth = by_term(true_effects(study.table, study.probabilities))["estimate"]
    rng = np.random.default_rng(2)
    covered, errors = pd.Series(0, index=truth.index), pd.Series(0.0, index=truth.index)
    repetitions = size(25, 100)
    for _ in range(repetitions):
        effects = by_term(choice_effects(study.chosen_again(rng)))
        covered += (effects["conf_low"] <= truth) & (truth <= effects["conf_high"])
        errors += effects["estimate"] - truth
    assert (covered >= 0.9 * repetitions).all(), covered.to_dict()
    # Standard errors are about 4 points, so that of a mean of them is about 4 / sqrt(repetitions).
    assert (errors.abs() / repetitions < 13 / repetitions**0.5).all(), errors.to_dict()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_agents_are_independent_and_agree_with_the_joint_model() -> None:
    table = simulate_study(7, agents=("a", "b"), sets=15, nudges_per_set=2).table
    effects = choice_effects(table)
    for agent, rows in table.groupby("agent"):
        alone = choice_effects(rows)
        together = effects[effects["group"] == agent].reset_index(drop=True)
        own = [name for name in alone if name != "p_adjusted"]  # which is over all agents
        pd.testing.assert_frame_equal(alone[own], together[own])
    data = check_table(table)
    x = data[list(TERMS)].astype(float).assign(is_b=(data["agent"] == "b").astype(float))
    x["y"], x["t"] = data["chosen"].astype(float), data.groupby("trial").ngroup()
    with pytest.warns(UserWarning, match="multicollinearity"):
        joint = pyfixest.feols(f"y ~ ({' * '.join(TERMS)}) + is_b:({' * '.join(TERMS)}) | t", x).coef()
    of_b = x[x["is_b"] == 1]
    contrast = 0.0
    for name, value in joint.items():
        factors = [factor for factor in str(name).split(":") if factor != "is_b"]
        if "nudged" in factors:
            contrast += value * of_b[[factor for factor in factors if factor != "nudged"]].prod(axis=1).mean()
    assert by_term(effects, "b").loc["nudged", "estimate"] == pytest.approx(100 * contrast, abs=1e-8)


def test_p_values_are_adjusted_over_all_agents() -> None:
    """So that many agents bring no more false findings than one."""
    effects = choice_effects(simulate_study(8, agents=("a", "b"), sets=12, nudges_per_set=2).table)
    p = np.sort(effects["p_value"])
    stepped = np.minimum.accumulate((p * 8 / np.arange(1, 9))[::-1])[::-1]
    assert len(p) == 8
    assert np.allclose(np.sort(effects["p_adjusted"]), np.minimum(stepped, 1), atol=1e-12)


def test_hostile_labels_change_nothing() -> None:
    plain = simulate_study(9, agents=("a", "b", "c", "d"), sets=12, nudges_per_set=2).table
    names = dict(zip("abcd", HOSTILE, strict=True))
    hostile = plain.assign(
        agent=plain["agent"].map(names),
        category=plain["category"] + ' | t "~" 1+1',
        nudge_text=plain["nudge_text"].where(plain["nudge_text"] == "", plain["nudge_text"] + " ^ a*b:c `x`"),
    )
    expected = choice_effects(plain).assign(group=lambda frame: frame["group"].map(names))
    expected = expected.sort_values("group", kind="stable", ignore_index=True)
    pd.testing.assert_frame_equal(choice_effects(hostile), expected)


def test_matched_ratings_drop_out_with_a_reason() -> None:
    effects = by_term(
        choice_effects(simulate_study(2, sets=20, nudges_per_set=2, matched_ratings=True).table)
    )
    row = effects.loc["higher_rated"]
    assert row[["estimate", *STATISTICS]].isna().all()
    assert row["note"] == "higher_rated never differs between the options of a trial"
    rest = effects.drop("higher_rated")
    assert rest[STATISTICS].notna().all().all()
    assert np.allclose(np.sort(rest["p_adjusted"])[-1], rest["p_value"].max())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_nudge_and_no_category_leave_clustering_by_set() -> None:
    table = simulate_study(3, sets=25, nudges_per_set=1).table
    table = table[table["nudge"] == ""].drop(columns=["category", "nudge_text", "nudge"])
    effects = by_term(choice_effects(table))
    assert "never differs" in effects.loc["nudged", "note"]
    assert effects.loc["cheaper", "note"] == "clustered by set: fewer than 8 nudge texts and 8 categories"
    data = check_table(table).assign(y=lambda frame: frame["chosen"].astype(float))
    data["x"], data["t"] = data["viewed_first"].astype(float), data.groupby("trial").ngroup()
    data["g"] = pd.factorize(data["set"])[0]
    # Balanced orders make the first view orthogonal to the other features: they change its error only through
    # the residuals, its estimate not at all.
    fit = pyfixest.feols("y ~ x | t", data, vcov={"CRV1": "g"})
    assert effects.loc["viewed_first", "estimate"] == pytest.approx(100 * fit.coef()["x"], abs=1e-8)


@pytest.mark.parametrize(
    ("nudges", "categories", "said"),
    [
        (7, 1, "clustered by set: fewer than 8 categories"),
        (2, 1, "clustered by set: fewer than 8 nudge texts and 8 categories"),
        (6, 7, "clustered by set: fewer than 8 nudge texts and 8 categories"),
        (7, 8, ""),
        (2, 11, "clustered by set: fewer than 8 nudge texts and 12 categories"),
        (2, 12, "clustered by category: fewer than 8 nudge texts"),
    ],
)
def test_eight_clusters_of_two_ways_or_twelve_of_one_are_enough(
    nudges: int, categories: int, said: str
) -> None:
    """Trials without a nudge are one more text; without a text a nudge goes by its name."""
    table = simulate_study(3, sets=60, nudges=nudges, nudges_per_set=2).table
    number = table["set"].str[3:].astype(int) % categories
    effects = choice_effects(table.assign(nudge_text="", category="category" + number.astype(str)))
    assert effects["std_error"].gt(0).all()
    notes = effects.set_index("term")["note"]
    assert notes.pop("nudged").endswith("; about these nudge texts")
    assert notes.str.startswith(said).all()
    assert notes.str.startswith("clustered by").any() == bool(said)


def test_fewer_than_twelve_choice_sets_carry_no_interval() -> None:
    table = simulate_study(3, sets=11, nudges=2, nudges_per_set=2).table
    effects = choice_effects(table.assign(category="one"))
    assert effects["estimate"].notna().all() and effects[STATISTICS].isna().all(axis=None)
    assert (effects["note"] == "no interval: fewer than 12 choice sets").all()


@pytest.mark.parametrize("count", [11, 12])
def test_categories_alone_need_to_be_twelve(count: int) -> None:
    table = simulate_study(3, sets=60, nudges=2, nudges_per_set=1).table
    table["category"] = "category" + (table["set"].str[3:].astype(int) % count).astype(str)
    notes = choice_effects(table).set_index("term")["note"]
    expected = {
        11: "clustered by set: fewer than 8 nudge texts and 12 categories",
        12: "clustered by category: fewer than 8 nudge texts",
    }
    assert (notes.drop("nudged") == expected[count]).all()
    assert notes["nudged"] == f"{expected[count]}; {THESE_TEXTS}"


def test_of_two_ways_too_a_row_counts_its_own_clusters() -> None:
    """Ratings that differ in seven categories only, of pairs that are otherwise compared in twenty."""
    table = simulate_study(3, sets=60, nudges_per_set=4).table
    own = table["set"].str[3:].astype(int) % 20
    table["category"] = "category" + own.astype(str)
    table["rating"] = table["rating"].where(own < 7, 80.0)
    rows = by_term(choice_effects(table))
    assert rows.loc["higher_rated", "note"] == "no interval: fewer than 8 categories"
    assert rows.loc["higher_rated", STATISTICS].isna().all() and np.isfinite(
        rows.loc["higher_rated", "estimate"]
    )
    assert rows.drop("higher_rated")["p_value"].notna().all()


def test_a_trial_of_two_labels_is_a_cluster_of_its_own() -> None:
    """A foreign table may give the options of a trial different categories."""
    trial = np.repeat(np.arange(4), 2)
    labels = pd.Series(["a", "b", "a", "a", "b", "b", "b", "a"])
    codes = trial_codes(labels, trial)
    assert len(np.unique(codes)) == 3
    assert codes[0] == codes[1] == codes[6] == codes[7]
    assert len({codes[0], codes[2], codes[4]}) == 3


def test_intervals_end_where_probabilities_end() -> None:
    table = simulate_study(4, sets=12, nudges=6, nudges_per_set=1, categories=6).table
    strong = table["viewed_first"].where(table["set"] != "set3", 1 - table["viewed_first"])
    effects = by_term(choice_effects(table.assign(chosen=strong)))
    first = effects.loc["viewed_first"]
    assert first["estimate"] + 2 * first["std_error"] > 100 == first["conf_high"]


def test_errors_of_a_placebo_do_not_go_by_text() -> None:
    """Its trials have one text, those of the nudges others: only categories and sets have both."""
    table = simulate_study(5, sets=72, nudges=9, nudges_per_set=3, categories=8).table
    placebo = (table["nudge"] == "nudge0") & (table["condition"] == "nudged")
    table["condition"] = table["condition"].mask(placebo, "placebo")
    others = table["nudge_text"].mask(table["condition"] == "nudged", "one text")
    one, other = (by_term(choice_effects(each)) for each in (table, table.assign(nudge_text=others)))
    own = ["placebo", "nudged_less_placebo"]
    assert one.loc[own, "std_error"].notna().all()
    pd.testing.assert_frame_equal(one.loc[own, STATISTICS[:3]], other.loc[own, STATISTICS[:3]])
    assert one.loc["nudged", "std_error"] != pytest.approx(other.loc["nudged", "std_error"])


def test_the_difference_of_two_effects_may_be_twice_as_large() -> None:
    large = Contrast(1.08, 0.24, np.inf)
    frame = contrast_frame({"nudged": large, "nudged_less_placebo": large}, "agent", 72, 72)
    assert frame["conf_high"].tolist() == pytest.approx([100.0, 155.04], abs=0.01)


def test_trials_without_a_choice_are_counted_and_left_out() -> None:
    table = simulate_study(10, sets=20, nudges_per_set=2).table
    lost = table["trial"].isin(table["trial"].unique()[::7])
    partial = lose(table, lost)
    effects = choice_effects(partial)
    assert (effects["n_missing"] == 35).all() and (effects["n"] == 205).all()
    complete = choice_effects(table[~lost])
    pd.testing.assert_frame_equal(effects.drop(columns="n_missing"), complete.drop(columns="n_missing"))


@pytest.mark.slow
def test_an_agent_that_never_chose_has_no_estimates() -> None:
    table = simulate_study(10, agents=("quick", "stuck"), sets=8, nudges_per_set=2).table
    found = analyze_choice(lose(table, table["agent"] == "stuck"))
    for name in ("effects", "slopes", "nudge_texts", "categories"):
        rows = vars(found)[name].query("group == 'stuck'")
        assert len(rows) and rows[["estimate", *STATISTICS]].isna().all(axis=None)
        assert set(rows["note"]) == {"no trial has a choice"} and (rows["n"] == 0).all()
    assert (found.effects.query("group == 'stuck'")["n_missing"] == 96).all()
    logit = found.logit.query("group == 'stuck'")
    assert logit["logit"].isna().all() and set(logit["note"]) == {"no trial has a choice"}


@pytest.mark.filterwarnings("error")
def test_a_position_locked_agent_has_an_effect_but_no_interval() -> None:
    table = simulate_study(11, sets=20, nudges_per_set=2).table
    effects = by_term(choice_effects(table.assign(chosen=table["viewed_first"])))
    assert effects["estimate"].to_dict() == pytest.approx(
        {"viewed_first": 100, "higher_rated": 0, "cheaper": 0, "nudged": 0}
    )
    assert effects[STATISTICS].isna().all().all()
    assert (effects["note"].str.startswith("no standard error: the model fits every choice exactly")).all()


def test_features_that_move_together_are_not_identified() -> None:
    table = check_table(simulate_study(12, sets=20, nudges_per_set=2).table)
    effects = by_term(choice_effects(table.assign(higher_rated=table["cheaper"])))
    for term in ("higher_rated", "cheaper"):
        assert pd.isna(effects.loc[term, "estimate"])
        assert effects.loc[term, "note"] == f"{term} cannot be told from the other features in these trials"
    assert effects.loc[["viewed_first", "nudged"], "std_error"].gt(0).all()


def test_interactions_that_the_design_lacks_are_left_out() -> None:
    """Three of the four ways to differ in three features identify no three-way interaction."""
    kinds = {
        "alike": {"viewed_first": [1, 0], "cheaper": [1, 0], "nudged": [1, 0]},
        "dear": {"viewed_first": [1, 0], "cheaper": [0, 1], "nudged": [1, 0]},
        "away": {"viewed_first": [1, 0], "cheaper": [1, 0], "nudged": [0, 1]},
    }
    rng = np.random.default_rng(0)
    rows = []
    for trial in range(126):
        kind = list(kinds)[trial % 3]
        winner = int(rng.random() < 0.3)
        for option in (0, 1):
            row = {"trial": trial, "set": f"s{trial // 9}", "option": option, "position": option}
            features = {name: values[option] for name, values in kinds[kind].items()}
            rows.append(row | features | {"chosen": int(option == winner)})
    effects = by_term(choice_effects(pd.DataFrame(rows).assign(agent="a", outcome="choice")), "a")
    assert "interactions of 3 or more features left out" in effects.loc["cheaper", "note"]
    assert effects.loc[["viewed_first", "cheaper", "nudged"], "std_error"].gt(0).all()


def test_few_trials_are_fitted_without_interactions() -> None:
    """By hand: with 24 trials and four main effects, a regression of the pairs' differences."""
    table = simulate_study(13, sets=4, nudges=5, nudges_per_set=1).table
    effects = by_term(choice_effects(table))
    assert effects["n"].iloc[0] == 24
    data = check_table(table)
    x, y = data[list(TERMS)].to_numpy(float), data["chosen"].to_numpy(float)
    by_hand = np.linalg.lstsq(x[::2] - x[1::2], y[::2] - y[1::2], rcond=None)[0]
    assert effects["estimate"].to_numpy() == pytest.approx(100 * by_hand, abs=1e-8)


def test_negative_nudges_count_for_the_other_options() -> None:
    trials = [([1, 0, 0], [-1] * 3), ([1, 0, 0], [1] * 3), ([0, 0, 0], [1] * 3), ([1, 1, 0], [-1, 1, 1])]
    rows = [
        {"agent": "a", "trial": trial, "set": "s", "option": option, "position": option, "outcome": "choice"}
        | {"chosen": int(option == 0), "nudged": nudged[option], "direction": direction[option]}
        for trial, (nudged, direction) in enumerate(trials)
        for option in range(3)
    ]
    x = regressors(check_table(pd.DataFrame(rows)))["nudged"].to_numpy().reshape(4, 3)
    assert x.tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0], [0, 1, 1]]


def test_of_long_lists_nothing_is_claimed_before_ten_choices_are_expected() -> None:
    """No trial takes the first of 20 options: the error of nothing would be 0."""
    made = simulate_study(3, sets=40, size=20, nudges_per_set=1).table
    last = made["position"] == made.groupby("trial")["position"].transform("max")
    made = made.assign(chosen=last.astype(int))
    trials = np.random.default_rng(0).permutation(made["trial"].unique())
    few, many = (
        by_term(choice_effects(made[made["trial"].isin(kept)])).loc["viewed_first"]
        for kept in (trials[:150], trials[:1500])
    )
    assert few["note"].startswith("no interval: by chance fewer than 10") and np.isnan(few["conf_low"])
    # Also where an agent has looked at three products only, once.
    short = made["trial"] == trials[0]
    once = made.assign(chosen=made["chosen"].where(~short, (made["position"] == 2).astype(int)))
    once = once[once["trial"].isin(trials[:150]) & (~short | (once["position"] < 3))]
    assert np.isnan(by_term(choice_effects(once)).loc["viewed_first", "conf_low"])
    assert few["estimate"] == pytest.approx(many["estimate"], abs=3)
    assert "by chance" not in many["note"] and many["conf_high"] < 0
