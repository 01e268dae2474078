"""Tables of others: any attributes, sets of any size, opt-outs, positions, currencies."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.stats.multitest import multipletests

from analysis.conjoint.across import one_task
from analysis.conjoint.cards import encode
from analysis.conjoint.fits import clogit_of_sets, regressors
from analysis.conjoint.report import report
from analysis.conjoint.study import ConjointAnalysis, analyze_conjoint
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.errors import AnalysisError
from analysis.tables.families import multiplicity
from tests.analysis.conjoint.conftest import simulate_cards
from tests.support import size

LETTERS = ("ash", "birch", "cedar", "elm", "fir")
Truth = dict[str, float]


def study(seed: int, trials: int, **fixed: Any) -> tuple[pd.DataFrame, Truth]:
    """Choices of known weights over a generated set of attributes, rows shuffled, and the weights by term."""
    rng = np.random.default_rng(seed)
    draw = {
        "size": int(rng.integers(2, 7)),
        "none": bool(rng.integers(2)),
        "price": bool(rng.integers(4)),
        "levels": int(rng.integers(3)),
        "numbers": int(rng.integers(3)),
    } | fixed
    truth: Truth = {"log_price": -rng.uniform(0.5, 3)} if draw["price"] else {}
    count = trials * draw["size"]
    shown = pd.DataFrame({"trial": np.repeat(np.arange(trials), draw["size"])})
    shown["position"] = shown.groupby("trial").cumcount()
    utility = np.zeros(count)
    if draw["price"]:
        shown["price"] = np.exp(rng.normal(3, 0.6, count)).round(2) + 0.01
        utility += truth["log_price"] * np.log(shown["price"])
    for number in range(draw["levels"]):
        levels = LETTERS[: int(rng.integers(2, 6))]
        shown[f"attr_kind{number}"] = rng.choice(levels, count)
        weights = {level: rng.normal(0, 0.8) for level in levels[1:]}
        truth |= {f"kind{number}[{level}]": weight for level, weight in weights.items()}
        utility += shown[f"attr_kind{number}"].map(weights).fillna(0)
    for number in range(draw["numbers"]):
        shown[f"attr_much{number}"] = rng.integers(0, 8, count)
        truth[f"much{number}"] = rng.normal(0, 0.3)
        utility += truth[f"much{number}"] * shown[f"attr_much{number}"]
    shown["option"] = [f"o{number}" for number in range(count)]
    if draw["none"]:
        truth["none"] = float(np.median(utility)) + rng.normal(0, 0.5)
        outs = pd.DataFrame({"trial": np.arange(trials), "position": draw["size"], "option": "none"})
        shown = pd.concat([shown, outs], ignore_index=True)
        utility = np.concatenate([utility, np.full(trials, truth["none"])])
    utility = utility + rng.gumbel(size=len(shown))
    best = pd.Series(utility).groupby(shown["trial"]).transform("max")
    shown["chosen"] = (utility == best).astype(int)
    table = shown.assign(agent="a", set=shown["trial"], outcome="choice")
    return table.sample(frac=1, random_state=seed), truth


@pytest.mark.thorough
def test_the_estimates_cover_the_weights_of_generated_studies() -> None:
    """Attributes, sizes and opt-outs are drawn; over all their weights the intervals hold as they should."""
    held = asked = 0
    for seed in range(size(12, 300)):
        table, truth = study(seed, 150)
        if not {*truth} - {"none"}:
            continue  # an opt-out is known by what other options have
        cards = encode(table)
        form = "log" if cards.priced else "none"
        terms = regressors(cards.rows, cards.controls, form, np.zeros(2))
        assert set(terms) == set(truth), seed
        frame = clogit_of_sets(cards.rows, terms).frame().set_index("term")
        for term, weight in truth.items():
            asked += 1
            held += frame.loc[term, "conf_low"] <= weight <= frame.loc[term, "conf_high"]
    low, high = stats.binom.ppf([0.0005, 0.9995], asked, 0.95)
    assert low <= held <= high, (held, asked)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(size(2, 20)))
def test_another_program_gives_the_same_estimates(seed: int) -> None:
    table, truth = study(seed, 120, size=2 + seed % 5, none=True, price=True, levels=1, numbers=1)
    found = analyze_conjoint(table)
    own = found.coefficients.query("model == 'clogit' and price_form == 'log'").set_index("term")["estimate"]
    x = pd.DataFrame({name: np.zeros(len(table)) for name in truth}, index=table.index)
    x["log_price"] = np.log(table["price"]).fillna(0)
    x["none"] = (table["option"] == "none").astype(float)
    x["much0"] = table["attr_much0"].fillna(0)
    for term in [term for term in truth if "[" in term]:
        x[term] = (table["attr_kind0"] == term[6:-1]).astype(float)
    fit = ConditionalLogit(table["chosen"], x, groups=table["trial"]).fit(method="newton", disp=False)
    assert own[list(truth)].to_numpy() == pytest.approx(fit.params[list(truth)].to_numpy(), abs=1e-6)


def test_a_term_may_have_the_name_of_its_column() -> None:
    table, _ = study(3, 60, size=3, none=False, price=True, levels=0, numbers=1)
    table = table.assign(attr_chain=np.arange(len(table)) % 7 / 2)
    found = analyze_conjoint(table).coefficients
    assert "attr_chain" in set(found["term"])


@pytest.mark.thorough
def test_the_price_does_not_take_the_effect_of_another_attribute() -> None:
    """Dearer options are of better material: without it the price would attract."""
    rng = np.random.default_rng(3)
    count, trials = 3, 400
    fine = rng.integers(2, size=trials * count)
    price = np.exp(3 + fine + rng.normal(0, 0.3, fine.size))
    utility = -2 * np.log(price) + 4 * fine + rng.gumbel(size=fine.size)
    table = pd.DataFrame(
        {"trial": np.repeat(np.arange(trials), count), "agent": "a", "outcome": "choice", "price": price,
         "option": np.arange(fine.size), "attr_material": np.where(fine, "silk", "cotton"),
         "position": np.tile(range(count), trials)}
    ).assign(set=lambda rows: rows["trial"])  # fmt: skip
    table["chosen"] = (utility == pd.Series(utility).groupby(table["trial"]).transform("max")).astype(int)
    found = analyze_conjoint(table, currency="EUR")
    quality = found.quality.set_index("term")
    assert quality.loc["material[silk]", "estimate"] == pytest.approx(4, abs=0.8)
    said = " ".join([*report(found).answer, *report(found).problems])
    assert "material = silk is worth" in said and "EUR" in said and "USD" not in said
    assert "material as levels (base cotton)" in said


@pytest.mark.thorough
def test_declared_and_left_out_attributes_are_told() -> None:
    table, _ = study(1, 60, size=3, none=False, price=True, levels=1, numbers=1)
    table["attr_sku"] = [f"sku{number}" for number in range(len(table))]
    found = analyze_conjoint(table, attributes={"much0": "levels"})
    read = found.attributes.set_index("attribute")
    assert read.loc["much0", ["read", "declared", "base"]].tolist() == ["levels", True, "0"]
    assert "much0[3]" in set(found.quality["term"])
    assert any("sku is in no model: 180 different texts" in note for note in found.notes)
    left = analyze_conjoint(table, attributes={"kind0": "none"})
    assert not left.quality["term"].str.startswith("kind0").any()
    assert any("kind0 is in no model: declared so" in note for note in left.notes)
    with pytest.raises(AnalysisError, match="--attribute colour=levels: table does not have it"):
        analyze_conjoint(table, attributes={"colour": "levels"})
    broken = table.astype({"attr_much0": str})
    broken.iloc[0, list(broken).index("attr_much0")] = "heavy"
    with pytest.raises(AnalysisError, match="attr_much0: 'heavy' is not a number"):
        analyze_conjoint(broken)


@pytest.mark.thorough
@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("price", [False, True])
def test_a_price_only_and_no_price_at_all(none: bool, price: bool) -> None:
    for attributes in (0, 1):
        table, truth = study(5, 80, size=3, none=none, price=price, levels=attributes, numbers=0)
        found = analyze_conjoint(table)
        assert report(found).sections and found.to_json()
        known = set(truth) - {"log_price"} if price or attributes else set()
        assert set(found.quality["term"]) == known and not found.quality["estimate"].isna().any()
        assert found.money.empty != price
        assert not any("left out of the models" in note for note in found.notes)


def always(place: int, options: int, trials: int = 60, **columns: Any) -> pd.DataFrame:
    table, _ = study(0, trials, size=options, none=False, price=True, levels=0, numbers=1)
    return table.assign(chosen=(table["position"] == place).astype(int), **columns)


@pytest.mark.thorough
@pytest.mark.parametrize("options", range(2, 7))
def test_an_agent_locked_at_a_position_is_found_there(options: int) -> None:
    for place in range(options):
        found = analyze_conjoint(always(place, options))
        verdict = {0: "locked-primacy", options - 1: "locked-recency"}.get(
            place, f"locked-position-{place + 1}"
        )
        assert found.triage["verdict"].tolist() == [verdict]
        shares = found.positions[found.positions["options"] == ""].set_index("term")["estimate"]
        assert shares.drop("last").tolist() == [float(at == place) for at in range(options)]
        said = report(found).answer[0]
        assert f"shown first in {100.0 * (place == 0):.1f} %" in said and verdict in said


@pytest.mark.thorough
def test_the_middle_of_three_in_both_orders_is_no_half() -> None:
    table = always(1, 3).assign(ordering="forward")
    back = table.assign(ordering="reversed", position=2 - table["position"], trial=table["trial"] + 1000)
    found = analyze_conjoint(pd.concat([table, back]))
    assert (found.triage["verdict"][0], found.triage["estimate"][0]) == ("locked-position-2", 0)
    assert (
        "the option at position 2 in 100.0 % of its choices, the option shown first in 0.0 %"
        in found.notes[0]
    )


def test_who_takes_none_is_not_called_locked() -> None:
    table, _ = study(2, 60, size=2, none=True, price=True, levels=0, numbers=1)
    found = analyze_conjoint(table.assign(chosen=(table["option"] == "none").astype(int)))
    assert found.notes[0] == "a is left out of the models: it takes none of the options."


@pytest.mark.thorough
def test_opt_outs_of_other_codings() -> None:
    """Empty, a price of 0, or zeros throughout say the same."""
    table, _ = study(4, 100, size=3, none=True, price=True, levels=0, numbers=2)
    out = table["option"] == "none"
    zero = table.assign(price=table["price"].mask(out, 0))
    zeros = zero.assign(
        attr_much0=table["attr_much0"].mask(out, 0), attr_much1=table["attr_much1"].mask(out, 0)
    )
    named = table.assign(attr_name=np.where(out, "None of these", ""))
    wanted: ConjointAnalysis = analyze_conjoint(table)
    assert "none" in set(wanted.quality["term"])
    for other in (zero, zeros, named):
        pd.testing.assert_frame_equal(analyze_conjoint(other).quality, wanted.quality)


def test_prices_of_two_currencies_are_refused() -> None:
    table, _ = study(4, 30, size=3, none=False, price=True, levels=0, numbers=1)
    assert encode(table.assign(currency="GBP")).currency == "GBP"
    mixed = table.assign(currency=np.where(table["trial"] < 3, "EUR", "USD"))
    with pytest.raises(AnalysisError, match="currency: EUR and USD; prices of several"):
        encode(mixed)
    with pytest.raises(AnalysisError, match="--currency EUR: table says GBP"):
        encode(table.assign(currency="GBP"), currency="EUR")


def test_what_is_missing_is_not_an_opt_out() -> None:
    table, _ = study(6, 60, size=2, none=False, price=True, levels=0, numbers=2)
    table.loc[table.index[0], ["attr_much0"]] = np.nan
    cards = encode(table)
    assert not cards.rows["none"].any() and cards.rows[TRIAL_ID].nunique() == 60
    assert any(note.startswith("much0 is empty in 1 option: their trials") for note in cards.notes)


def test_one_task_is_the_set_about_which_agents_differ_most() -> None:
    table = simulate_cards(4, agents=("a", "b"), sets=6, sizes=(2,))
    price = table.groupby("trial")["price"]
    cheap, dear = table["price"] == price.transform("min"), table["price"] == price.transform("max")
    table["chosen"] = cheap.astype(int)
    apart = (table["agent"] == "b") & (table["set"] == "2-3")
    table.loc[apart, "chosen"] = dear[apart].astype(int)
    found = one_task(encode(table))
    assert set(found["set"]) == {"2-3"} and len(found) == 4
    shares = found.set_index(["term", "group"])["estimate"]
    cheaper = found.sort_values("price")["term"].iloc[0]
    assert (shares[cheaper, "a"], shares[cheaper, "b"]) == (1, 0)
    assert (found["n"] == 2).all()
    assert one_task(encode(table[table["agent"] == "a"])).empty


def test_multiplicity_counts_as_statsmodels_does() -> None:
    p_values = np.array([0.001, 0.008, 0.02, 0.04, 0.049, 0.2, np.nan])
    found = multiplicity({"a": pd.DataFrame({"p_value": p_values}), "b": pd.DataFrame({"p_value": [np.nan]})})
    (row,) = found.to_dict("records")
    known = p_values[:-1]
    assert (row["table"], row["tests"], row["unadjusted"]) == ("a", 6, 5)
    for way, method in (("benjamini_hochberg", "fdr_bh"), ("bonferroni", "bonferroni")):
        assert row[way] == multipletests(known, method=method)[0].sum()
