"""Sentences read again by a reader who knows only their words: they say what the frame says, and no more."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from analysis.anchoring.report import report as anchoring_report
from analysis.anchoring.study import analyze_anchoring
from analysis.biases.report import report as biases_report
from analysis.biases.study import analyze_biases
from analysis.choice import analyze_choice
from analysis.choice.ended.treatment import RECEIPT_COLUMNS
from analysis.choice.report.report import WORDING
from analysis.choice.report.report import report as choice_report
from analysis.conjoint.report import WORDING as WORTH
from analysis.conjoint.report import report as conjoint_report
from analysis.conjoint.study import analyze_conjoint
from analysis.montecarlo.report import report as montecarlo_report
from analysis.montecarlo.study import analyze_montecarlo
from analysis.reporting.answer import Wording, clauses
from analysis.reporting.sections import Report
from analysis.tables.families import adjusted_within
from analysis.tables.frame import FRAME_COLUMNS
from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conftest import simulate_answers, simulate_study, simulate_valuations
from tests.analysis.conjoint.conftest import simulate_cards
from tests.support import size

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
CLAIM = re.compile(
    rf"(?P<name>[\w -]+?) (?:(?:moves \w+(?: \w+)?|is worth|moves this) )?(?:by )?(?P<estimate>{NUMBER})"
    rf"(?: points| USD)? \((?:95 %: )?(?P<low>{NUMBER}) to (?P<high>{NUMBER})\)"
)

ADJUSTED = re.compile(r"([^,(]+?)(?: \(adjusted p (\S+)\))?(?:, |$)")


def number(text: str) -> float:
    return float(text.replace(",", ""))


def read(sentence: str) -> dict[str, tuple[Any, ...]]:
    """What a sentence says of each name: (claimed, estimate, low, high), or the words after its colon."""
    said: dict[str, tuple[Any, ...]] = {}
    for part in sentence.rstrip(".").split("; "):
        names, colon, words = part.partition(": ")
        if colon and re.match("not told apart|no interval|not estimated", words):
            kind = re.match(r"not told apart|no interval|not estimated", words)
            assert kind
            for name, adjusted_p in ADJUSTED.findall(names):
                assert name not in said
                said[name] = (kind[0], words, adjusted_p)
            continue
        for found in CLAIM.finditer(part):
            name = found["name"].strip()
            assert name not in said
            said[name] = ("claimed", *(number(found[each]) for each in ("estimate", "low", "high")))
    return said


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjusted p values, written anew: the least of n p(k) / k over all k from an own rank on."""
    order = sorted(range(len(p)), key=lambda at: p[at])
    found = [math.nan] * len(p)
    least = 1.0
    for rank in range(len(p), 0, -1):
        least = min(least, p[order[rank - 1]] * len(p) / rank)
        found[order[rank - 1]] = least
    return found


def adjusted(p_values: "pd.Series[float]") -> "pd.Series[float]":
    tested = p_values.dropna()
    return pd.Series(benjamini_hochberg(tested.tolist()), tested.index, dtype=float).reindex(p_values.index)


def check(
    said: Mapping[str, tuple[Any, ...]],
    rows: pd.DataFrame,
    names: Mapping[str, str],
    digits: float,
    family: pd.DataFrame | None = None,
) -> None:
    """The sentence and the frame agree: every term once, under the words that its numbers allow."""
    family = rows if family is None else family
    expected = adjusted(family["p_value"]).tolist()
    assert family["p_adjusted"].tolist() == pytest.approx(expected, nan_ok=True), "the table has them"
    assert len(said) == len(rows)
    for row in rows.to_dict("records"):
        kind, *rest = said[names[row["term"]]]
        reason = row["note"].partition("; ")[0]
        if math.isnan(row["estimate"]):
            assert kind == "not estimated" and f"({reason})" in rest[0]
        elif math.isnan(row["conf_low"]):
            assert kind == "no interval" and f"({reason})" in rest[0]
        elif row["p_adjusted"] < 0.05 and not row["conf_low"] <= 0 <= row["conf_high"]:
            assert kind == "claimed"
            for value, column in zip(rest, ("estimate", "conf_low", "conf_high"), strict=True):
                assert value == pytest.approx(row[column], abs=digits, rel=6e-3)
            assert rest[1] * rest[2] > 0, "an interval that leaves out 0 reads as one"
        else:
            assert kind == "not told apart"
            untold = row["p_adjusted"] if not row["conf_low"] <= 0 <= row["conf_high"] else math.nan
            assert float(rest[1] or "nan") == pytest.approx(untold, abs=5e-4, nan_ok=True), (
                "why, where the interval alone would tell it apart"
            )


TERMS = {"a": "a nudge", "b": "being cheaper", "c": "being seen first", "d": "a placebo"}
SAID = Wording(
    TERMS,
    "{name} moves the choice by {estimate} points (95 %: {interval})",
    "{name} by {estimate} ({interval})",
    1,
)


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = []
    for term in draw(st.lists(st.sampled_from([*TERMS]), min_size=1, unique=True)):
        row: dict[str, Any] = dict.fromkeys(FRAME_COLUMNS, math.nan)
        row |= {"term": term, "group": "x", "n": 240, "n_missing": 0, "note": ""}
        kind = draw(st.sampled_from(["full", "full", "full", "point", "none"]))
        reasons = st.sampled_from(["fewer than 12 choice sets", "never differs"])
        if kind == "none":
            row["note"] = draw(reasons)
        else:
            row["estimate"] = draw(st.floats(-100, 100))
            row["note"] = draw(reasons) if kind == "point" else ""
        if kind == "full":
            half = draw(st.floats(1e-6, 150))
            row |= {
                "conf_low": row["estimate"] - half,
                "conf_high": row["estimate"] + half,
                "std_error": half / 2,
            }
            row["p_value"] = draw(st.floats(0, 1))
        rows.append(row)
    return adjusted_within(pd.DataFrame(rows), "group")


@given(frames())
def test_any_frame_is_said_as_it_is(rows: pd.DataFrame) -> None:
    said = clauses(rows, SAID, "240 trials")
    check(read("; ".join(said)), rows, TERMS, 0.051)
    assert all("240 trials" in part for part in said if "not told apart" in part)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_simulated_shopper(seed: int) -> None:
    """Of each agent every effect, with the numbers of the table; few trials and many."""
    sets = (3, 8, 20, 40, 60, 80)[seed]
    pair = ("one", "two")
    study = simulate_study(seed, agents=pair, sets=sets, nudges_per_set=2, matched_ratings=seed == 2)
    found = analyze_choice(study.table)
    made = choice_report(found)
    assert len(made.answer) == 2
    every = found.effects
    main = found.exact[found.exact["part"] == ""]
    whole = main.set_index(["group", "term"])["p_adjusted"]
    one_family = pd.Series(whole.reindex(pd.MultiIndex.from_frame(every[["group", "term"]])).to_numpy())
    for sentence in made.answer:
        agent, _, words = sentence.partition(": ")
        rows = every[every["group"] == agent]
        exact = rows["conf_low"].isna() & rows["exact_low"].notna() & rows["estimate"].notna()
        named = {WORDING.names[term] for term in rows.loc[exact, "term"]}
        by_exact = re.search(
            r"; ([^;]+): by the exact test \(table exact\), about these choice sets and texts only\.$", words
        )
        assert (set(by_exact[1].strip().split(", ")) if by_exact else set()) == named
        for column, values in {
            "conf_low": rows["exact_low"],
            "conf_high": rows["exact_high"],
            "p_value": rows["p_exact"],
            "p_adjusted": one_family.loc[rows.index],
        }.items():
            rows = rows.assign(**{column: rows[column].mask(exact, values)})
        untold = re.search(r"not told apart from 0 with ([\d,]+)(?: to ([\d,]+))? trial", words)
        if untold and named:
            used = found.exact[found.exact["part"].eq("") & found.exact["group"].eq(agent)]
            rested = [*used.set_index("term")["n"][rows.loc[exact, "term"]], *rows.loc[~exact, "n"]]
            assert number(untold[1]) == min(rested) and number(untold[2] or untold[1]) == max(rested)
        for those in (exact, ~exact):
            its = {name: told for name, told in read(words).items() if (name in named) == (those is exact)}
            check(its, rows[those], WORDING.names, 0.051, main if those is exact else every)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_shopper_that_nothing_moves_is_told_as_moved_in_few_studies() -> None:
    """The truth is 0 in all four effects: false claims are as rare as the level says."""
    study = simulate_study(1, sets=24, nudges=2, nudges_per_set=2, categories=1)
    rng = np.random.default_rng(3)
    false = 0
    studies, most = size(10, 60), size(3, 8)
    for _ in range(studies):
        table = study.chosen_again(rng)
        first = table.groupby("trial").ngroup().to_numpy()
        table["chosen"] = (table["position"] == rng.integers(2, size=first.max() + 1)[first]).astype(int)
        (sentence,) = choice_report(analyze_choice(table)).answer
        false += "moves the choice" in sentence
    assert false <= most, "studies at .05: more have a chance of less than 1 in 200"


@pytest.mark.thorough
@pytest.mark.slow
def test_what_went_wrong_is_said() -> None:
    table = simulate_study(1, sets=30, nudges_per_set=2).table
    nudged = table.groupby("trial")["nudged"].transform("max") == 1
    lost = nudged & table["trial"].isin(table["trial"].unique()[::3])
    table["chosen"] = table["chosen"].astype("Int64").mask(lost)
    table.loc[lost, "outcome"] = "treatment_failed"
    receipts = pd.DataFrame(
        [
            ("best", "insert_text", "product.title", "product", 8, 8, 8),
            ("never", "badge", "x", "listing", 5, 0, 0),
        ],
        columns=list(RECEIPT_COLUMNS),
    )
    made = choice_report(analyze_choice(table, receipts))
    count, trials = table.loc[lost, "trial"].nunique(), table["trial"].nunique()
    ended = f"{trials - count} of {trials} trials ended in a choice"
    unproven = f"in {count} trials the treatment is not proven (treatment_failed)"
    assert made.checked == f"{ended}; {unproven}; 8 receipts of edits."
    beside = choice_report(analyze_choice(table, receipts[:1]))
    assert beside.checked == made.checked, "receipts alone prove nothing of trials that failed"
    limited = table.assign(outcome=table["outcome"].replace("treatment_failed", "agent_limit"))
    some = choice_report(analyze_choice(limited, receipts[:1])).checked
    assert some == f"{ended}; every planned edit reached the pages of these (8 receipts)."
    left_out, uneven, unseen = made.problems
    assert left_out == f"{count} trials without a choice, left out of the effects: {count} treatment_failed."
    assert uneven.startswith("balanced: choices go missing unevenly, by up to ") and "(p <.001)" in uneven
    assert unseen == "never, badge on listing pages: never applied (0 receipts in 5 trials)."
    whole = choice_report(analyze_choice(table[~lost], receipts[:1]))
    assert whole.problems == () and "every planned edit reached its pages (8 receipts)" in whole.checked


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("sets", [12, 40, 200])
def test_what_attributes_are_worth(sets: int) -> None:
    found = analyze_conjoint(simulate_cards(sets=sets, agents=("balanced", "dice"), random=("dice",)))
    for sentence in conjoint_report(found).answer:
        agent, _, words = sentence.partition(": ")
        every = found.money[found.money["group"] == agent]
        rows = every[every["term"].isin(list(WORTH.names))]
        said = {name: told for name, told in read(words).items() if name in WORTH.names.values()}
        check(said, rows, WORTH.names, 0.0051, every)
        times = re.search(rf"multiplies the odds of being chosen by ({NUMBER})", words)
        price = found.personality.set_index(["group", "term"]).loc[(agent, "price_sensitivity")]
        assert bool(times) == (price["by_set_low"] > 0 and price["p_by_set_adjusted"] < 0.05)
        if times:
            assert number(times[1]) == pytest.approx(1.1 ** -price["estimate"], abs=0.0051)


@pytest.mark.slow
def test_a_locked_agent_is_called_locked_and_nothing_else() -> None:
    table = simulate_cards(sets=40, locked=("balanced",))
    found = analyze_conjoint(table)
    (sentence,) = conjoint_report(found).answer
    assert "locked-primacy, takes the option shown first in 100.0 % of its choices" in sentence
    assert "it has no models" in sentence and "USD" not in sentence
    asked = analyze_conjoint(table, locked=True)
    assert set(asked.coefficients["group"]) == {"balanced"} and found.coefficients.empty
    assert any("has models because they were asked for" in note for note in asked.notes)


def by_block(rows: pd.DataFrame) -> pd.DataFrame:
    """The numbers within products in the places of the pooled ones."""
    names = {"blocked": "estimate", "blocked_low": "conf_low", "blocked_high": "conf_high"}
    names |= {"p_blocked": "p_value", "p_blocked_adjusted": "p_adjusted"}
    return rows.drop(columns=list(names.values())).rename(columns=names)


def amounts(report: Report) -> Iterator[str]:
    """What stands over, or beside, amounts of money: captions of two tables, the axes of two figures."""
    for section in report.sections:
        yield from (each.caption for each in section.tables if each.name in ("coefficients", "prompts"))
        for each in section.figures:
            if each.name in ("wtp", "mapd"):
                texts = each.draw().findobj(Text)
                yield from (text.get_text() for text in texts if "deviation" in text.get_text())
                yield from (text.get_text() for text in texts if "Mean willing" in text.get_text())


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("currency", ["USD", "EUR", ""])
def test_what_is_paid(currency: str) -> None:
    found = analyze_montecarlo(simulate_valuations().assign(currency=currency))
    for title in amounts(montecarlo_report(found)):
        assert re.findall(r"[A-Z]{3}", title) == [currency] * bool(currency), title
    for sentence in montecarlo_report(found).answer:
        agent, _, words = sentence.partition(": ")
        rows = by_block(found.coefficients[found.coefficients["group"] == agent]).set_index("term")
        amount = rf"({NUMBER}){f' {currency}' * bool(currency)}"
        pays = rf"pays {amount} on average without an anchor \(95 %, by block: ({NUMBER}) to"
        mean = re.match(pays, words)
        assert mean and number(mean[1]) == pytest.approx(rows.loc["Intercept", "estimate"], abs=0.0051)
        assert number(mean[2]) == pytest.approx(rows.loc["Intercept", "conf_low"], abs=0.0051)
        said = {name: told for name, told in read(words).items() if name.endswith("anchor")}
        moved = rows.drop(index="Intercept").reset_index()
        names = {"condition[high]": "the high anchor", "condition[low]": "the low anchor"}
        every = by_block(found.coefficients)
        family = every[every["term"] != "Intercept"]
        told = {name: own for name, own in said.items() if name in names.values()}
        check(told, moved, names, 0.0051, family)


def test_how_many_experiments_are_biased() -> None:
    rng = np.random.default_rng(0)
    strong = ([*rng.normal(0, 1, 40)], [*rng.normal(2, 1, 40)])
    none = ([*rng.normal(0, 1, 40)], [*rng.normal(0, 1, 40)])
    back = ([*rng.normal(2, 1, 40)], [*rng.normal(0, 1, 40)])
    table = simulate_answers(
        {"anchoring": strong, "endowment": none, "category-size": back, "sunk-cost": ([0.0] * 40, [1.0] * 40)}
    )
    found = analyze_biases(table, valid=30)
    for sentence in biases_report(found).answer:
        every = found.experiments[found.experiments["p_value"].notna()]
        p = benjamini_hochberg(every["p_value"].tolist())
        assert every["p_adjusted"].tolist() == pytest.approx(p), "the table has them"
        rows = found.experiments[found.experiments["group"] == sentence.partition(": ")[0]]
        tested = rows[rows["p_value"].notna()]
        told = tested[(tested["p_adjusted"] < 0.05) & ((tested["conf_low"] > 0) | (tested["conf_high"] < 0))]
        toward = int((told["bias_detected"] > 0).sum())
        assert f"biased in {toward} of {len(tested)} experiments with a test" in sentence
        against = int((told["bias_detected"] < 0).sum())
        assert (f"moved against the bias in {against}: category-size" in sentence) == (against > 0)
        assert "not told apart from 0 in" in sentence and "not estimated in" in sentence
        assert "sunk-cost" in sentence.split("not estimated in")[1]


def test_where_the_expected_answer_went() -> None:
    found = analyze_anchoring(simulate_scores(agents=("alpha", "beta")))
    for sentence in anchoring_report(found).answer:
        agent = sentence.partition(": ")[0]
        moved = found.calls.loc[found.calls["agent"] == agent, "delta_ev"]
        assert f"higher with the high anchor in {(moved > 0).sum()} of {len(moved)} variations" in sentence
        ends = re.search(rf"changes of ({NUMBER}) to ({NUMBER}); described, not tested", sentence)
        assert ends and [number(end) for end in ends.groups()] == pytest.approx(
            [moved.min(), moved.max()], rel=6e-3
        )
        every = found.tests[found.tests["stimulus"] == "all variations"]
        assert every["p_adjusted"].tolist() == pytest.approx(benjamini_hochberg(every["p_value"].tolist()))
        own = every[every["group"] == agent]
        move = re.search(
            rf"moves the expected answer by ({NUMBER}) % .*? \(95 %: ({NUMBER}) to ({NUMBER}); t test",
            sentence,
        )
        claimed = (own["p_adjusted"] < 0.05) & ((own["conf_low"] > 0) | (own["conf_high"] < 0))
        assert bool(move) == claimed.all()
        if move:
            told = own[["estimate", "conf_low", "conf_high"]].to_numpy()[0]
            assert [number(each) for each in move.groups()] == pytest.approx(told, abs=0.051)
        abss = re.search(rf"ABSS ({NUMBER}) over", sentence)
        total = found.models.set_index("group").loc[agent, "estimate"]
        assert abss and number(abss[1]) == pytest.approx(total, rel=6e-3)
