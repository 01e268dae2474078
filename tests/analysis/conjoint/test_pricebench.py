"""The public study: its files are read as they are meant, and all of its published numbers come out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.conjoint.across import moved_weights, personality, rankings
from analysis.conjoint.cards import POOLED, ShownOptions, chain_family, decile, decile_edges, encode
from analysis.conjoint.fits import (
    Fits,
    Spec,
    clogit_of_sets,
    fit_models,
    headline,
    logit_of_pairs,
    regressors,
)
from analysis.conjoint.pricebench import read_conjoint, read_pricebench
from analysis.conjoint.tables import booked, coefficients, functional_form, pooling, price_deciles
from analysis.conjoint.triage import positions_by_order, triage
from analysis.estimators.clogit import CLogit
from analysis.estimators.wtp import wtp
from analysis.tables.errors import AnalysisError
from tests.analysis.conftest import public, public_json

AGENTS = ("gpt-5.4", "gemma2_9b")
BLOCKS = {"binary": "binary", "ternary": "ternary", "all": POOLED}


@pytest.fixture(scope="module")
def expected() -> Any:
    return public_json("pricebench")


@pytest.fixture(scope="module")
def cards() -> ShownOptions:
    return encode(read_conjoint(public("pricebench")))


@pytest.fixture(scope="module")
def fits(cards: ShownOptions) -> Fits:
    return fit_models(cards, list(AGENTS))


def test_places_by_order_are_the_published_counts(cards: ShownOptions, expected: Any) -> None:
    found = positions_by_order(cards).set_index(["group", "options", "ordering", "term"])
    for agent in AGENTS:
        for name, counts in expected["models"][agent]["reference"]["counts"].items():
            order, _, block = name.partition("_")
            letters = list(counts) if order == "orig" else list(counts)[::-1]
            ordering, size = {"orig": "forward", "swap": "reversed"}[order], str(len(letters))
            for place, letter in enumerate(letters, 1):
                row = found.loc[agent, size, ordering, f"position_{place}"]
                assert row["estimate"] * row["n"] == pytest.approx(counts[letter]), block


def own(name: str) -> str:
    """Our name of a coefficient in the study's files."""
    return name.split("_", maxsplit=1)[0] if name.startswith("D") else name.replace("br_", "chain_")


def assert_same(fit: CLogit, reference: Any) -> None:
    assert reference["coef"].keys() == reference["se"].keys() and len(reference["coef"]) == fit.n_parameters
    frame = fit.frame().set_index("term")
    for name, value in reference["coef"].items():
        assert fit.of(own(name)) == pytest.approx((value, reference["se"][name]), rel=1e-6)
        assert frame.loc[own(name), "p_value"] == pytest.approx(reference["p"][name], rel=1e-5, abs=1e-300)
    assert fit.loglik == pytest.approx(reference["llf"], abs=1e-6)
    assert fit.n_sets == reference.get("n", reference.get("n_groups"))
    if "aic" in reference:
        assert fit.aic == pytest.approx(reference["aic"], abs=1e-6)
        assert fit.pseudo_r2 == pytest.approx(reference["pseudo_r2"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_every_reference_fit(expected: Any, fits: Fits, cards: ShownOptions, agent: str) -> None:
    reference = expected["models"][agent]["reference"]
    checked = 0
    for spec, fit in fits.items():
        name = f"{spec.block}_{spec.model}_{spec.price}"
        if spec.agent == agent and not spec.brand and name in reference:
            assert_same(fit, reference[name])
            checked += 1
    assert_same(fits[Spec(agent, "logit", "binary", "deciles", True)], reference["brand_logit"])
    rows = cards.rows[(cards.rows["agent"] == agent) & (cards.rows["block"] == "binary")]
    for name, edges in (("pooled", cards.prices(POOLED)), ("binary", cards.prices("binary"))):
        terms = regressors(rows, cards.controls, "deciles", decile_edges(edges))
        assert_same(logit_of_pairs(rows, terms), reference[f"binary_logit_deciles_{name}_edges"])
        assert_same(clogit_of_sets(rows, terms), reference[f"binary_clogit_deciles_{name}_edges"])
    fitted = [key for key, value in reference.items() if isinstance(value, dict) and "llf" in value]
    assert checked + 1 + 4 == len(fitted)


def test_decile_edges_and_medians(expected: Any, cards: ShownOptions) -> None:
    for name, block in BLOCKS.items():
        prices = cards.prices(block)
        edges = decile_edges(prices)
        assert edges == pytest.approx(expected["decile_edges"][name], abs=1e-9)
        medians = pd.Series(prices).groupby(decile(prices, edges)).median()
        assert medians.tolist() == expected["decile_median_price"][name]


@pytest.mark.parametrize("agent", AGENTS)
def test_every_other_reference_number(expected: Any, fits: Fits, cards: ShownOptions, agent: str) -> None:
    reference = expected["models"][agent]["reference"]
    verdict = triage(cards).set_index("group").loc[agent]
    assert verdict["estimate"] == pytest.approx(reference["triage"]["first_rate"], abs=1e-12)
    assert (verdict["n"], verdict["verdict"]) == (reference["triage"]["n"], reference["triage"]["verdict"])

    form = functional_form(fits)
    form = form[form["group"] == agent].set_index(["model", "block"])["estimate"]
    assert form["logit", "binary"] == pytest.approx(reference["binary_delta_aic_linear_minus_log"], abs=1e-6)
    assert form["clogit", "binary"] == pytest.approx(
        reference["binary_clogit_delta_aic_linear_minus_log"], abs=1e-6
    )

    linear = headline(fits, agent, "linear")
    assert linear is not None
    worth = wtp(fits[linear], "price").set_index("term")["estimate"]
    names = {"star": "stars", "review": "review_score", "cancel": "cancel", "breakfast": "breakfast"}
    for name, term in names.items():
        assert worth[term] == pytest.approx(reference["wtp_dollars_linear_spec"][name], rel=1e-6)

    test = pooling(fits).set_index("group").loc[agent]
    assert test["statistic"] == pytest.approx(reference["pooling_lr"]["chi2"], abs=1e-6)
    assert test["p_value"] == pytest.approx(reference["pooling_lr"]["p"], rel=1e-5)
    assert test["df"] == reference["pooling_lr"]["df"]

    outcomes = booked(cards)
    outcomes = outcomes[outcomes["group"] == agent].set_index("term")
    for name in ("mean_price", "median_price", "mean_stars"):
        assert outcomes.loc[name, "estimate"] == pytest.approx(reference["booking_outcomes"][name])
    for chain, share in reference["booking_outcomes"]["pct"].items():
        assert outcomes.loc[f"share_{chain}", "estimate"] == pytest.approx(share)

    sensitivity = personality(coefficients(fits), fits)
    sensitivity = sensitivity[sensitivity["group"] == agent].set_index("term")["estimate"]
    coefficient = reference["binary_logit_log"]["coef"]
    assert sensitivity["price_sensitivity"] == pytest.approx(-coefficient["log_price"])
    assert sensitivity["review_score"] == pytest.approx(coefficient["review_score"])


def refitted(cards: ShownOptions, draws: int) -> pd.DataFrame:
    """The price sensitivity in bootstrap samples of the sets, each fitted anew; the same sets for both."""
    pairs = cards.rows[cards.rows["block"] == "binary"]
    names, rng = pairs["set"].unique(), np.random.default_rng(7)
    sides = {}
    for agent, rows in pairs.groupby("agent"):
        terms = regressors(rows, cards.controls, "log", np.zeros(2))
        x = terms.to_numpy()[::2] - terms.to_numpy()[1::2]
        y = rows["chosen"].to_numpy(float, na_value=np.nan)[::2]
        sides[agent] = (np.column_stack([np.ones(len(x)), x]), y, rows["set"].to_numpy()[::2], list(terms))
    found = []
    for _ in range(draws):
        weight = pd.Series(rng.multinomial(len(names), np.full(len(names), 1 / len(names))), names)
        row = {}
        for agent, (x, y, sets, terms) in sides.items():
            used = weight[sets].to_numpy(float) * ~np.isnan(y)
            beta = np.zeros(x.shape[1])
            for _ in range(12):  # Newton's method
                share = 1 / (1 + np.exp(-x @ beta))
                bent = (x * (used * share * (1 - share))[:, None]).T @ x
                beta += np.linalg.solve(bent, x.T @ (used * (np.nan_to_num(y) - share)))
            row[agent] = -beta[1 + terms.index("log_price")]
        found.append(row)
    return pd.DataFrame(found)


@pytest.mark.slow
def test_ranks_and_the_ratio_are_those_of_refitting_bootstrap_samples(
    fits: Fits, cards: ShownOptions, expected: Any
) -> None:
    ranks, told = (each[each["term"] == "price_sensitivity"] for each in rankings(fits, cards, []))
    published = {
        agent: -expected["models"][agent]["reference"]["binary_logit_log"]["coef"]["log_price"]
        for agent in AGENTS
    }
    assert ranks.set_index("group")["estimate"].to_dict() == pytest.approx(published)
    assert told["ratio"].iloc[0] == pytest.approx(published["gpt-5.4"] / published["gemma2_9b"])
    drawn = refitted(cards, 200)
    first = (drawn["gpt-5.4"] > drawn["gemma2_9b"]).mean()
    assert ranks["probability_first"].iloc[0] == pytest.approx(first, abs=0.03)
    ratio = drawn["gpt-5.4"] / drawn["gemma2_9b"]
    low, high = ratio.quantile([0.025, 0.975])
    assert told["ratio_low"].iloc[0] == pytest.approx(low, abs=0.05)
    assert told["ratio_high"].iloc[0] == pytest.approx(high, abs=0.05)
    one, other = [each for each in moved_weights(fits, cards) if each.term == "price_sensitivity"]
    apart = one.less(other)
    difference, error = apart.estimate, apart.error
    between = drawn["gpt-5.4"] - drawn["gemma2_9b"]
    assert abs(difference) == pytest.approx(abs(published["gpt-5.4"] - published["gemma2_9b"]))
    assert error == pytest.approx(between.std(), rel=0.2)
    assert told["apart"].iloc[0] == (abs(difference / error) > 1.966)


def test_the_curves_pass_through_the_decile_points(fits: Fits, cards: ShownOptions) -> None:
    rows = price_deciles(coefficients(fits), fits, cards)
    rows = rows[rows["group"] == "gpt-5.4"].set_index("term")
    assert rows.loc["D1", ["estimate", "log_curve", "linear_curve"]].tolist() == [0, 0, 0]
    fit = fits[Spec("gpt-5.4", "logit", "binary", "linear")]
    gap = rows.loc["D10", "median_price"] - rows.loc["D1", "median_price"]
    assert rows.loc["D10", "linear_curve"] == pytest.approx(fit.of("price")[0] * gap)


def test_chain_families_by_name() -> None:
    hotels = pd.read_csv(public("pricebench") / "hotel_brands.csv")
    assert hotels["name"].map(chain_family).tolist() == hotels["brand"].tolist()


def test_the_reversed_order_is_read_as_it_was_shown() -> None:
    table = read_pricebench(public("pricebench"))
    first = table[(table["agent"] == "gpt-5.4") & (table["trial"].str.startswith("1801-"))]
    forward, backward = (first[first["ordering"] == order] for order in ("forward", "reversed"))
    shown = [rows.sort_values("position")["option"].tolist() for rows in (forward, backward)]
    assert len(shown[0]) == 3 and shown[0] == shown[1][::-1]
    assert (table.groupby(["agent", "trial"])["chosen"].sum() == 1).all() and len(table) == 2 * 18_000


def write_study(folder: Path) -> None:
    row = {"task_id": 1, "group_id": 1, "rep": 1}
    for letter, price in (("a", 100), ("b", 150)):
        fields = {
            "hotel_id": ord(letter),
            "name": letter,
            "stars": 3,
            "neighborhood": "x",
            "review_score": 8.1,
        }
        fields |= {"review_count": 10, "room_type": "King", "cancellation_free": 1, "breakfast_included": 0}
        row |= {
            f"{letter}_{name}": value for name, value in (fields | {"amenities": "", "price": price}).items()
        }
    pd.DataFrame([row]).to_csv(folder / "tasks.csv", index=False)


def test_an_answer_that_is_no_letter_is_a_trial_without_a_choice(tmp_path: Path) -> None:
    write_study(tmp_path)
    (tmp_path / "choices_some_agent_orig.csv").write_text("task_id,choice\n1,C\n")
    (tmp_path / "choices_some_agent_swap.csv").write_text("task_id,choice\n10001,B\n")
    table = read_pricebench(tmp_path).sort_values(["ordering", "position"])
    assert table["agent"].unique().tolist() == ["some_agent"]
    assert table["outcome"].tolist() == ["agent_error"] * 2 + ["choice"] * 2
    assert table["chosen"].tolist() == [pd.NA, pd.NA, 1, 0]
    assert np.isclose(table["rating"], 81).all()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("b_stars", None, "column 'b_stars' is missing; use the study's own file"),
        ("a_review_score", "good", ":2: a_review_score: 'good' is not a number; correct it"),
        ("b_review_score", "11", ":2: b_review_score: '11' is above 10; correct it"),
        ("b_hotel_id", "x", ":2: b_hotel_id: 'x' is not a whole number; correct it"),
        ("b_hotel_id", "97", ":2: b_hotel_id: task 1: the same hotel as a_hotel_id"),
        ("a_hotel_id", "", ":2: a_hotel_id: is empty; every row needs one"),
        ("task_id", "one", ":2: task_id: 'one' is not a whole number; correct it"),
        ("a_price", "-50", ":2: a_price: '-50' is below 0; correct it"),
        ("a_cancellation_free", "maybe", ":2: a_cancellation_free: 'maybe' is not 1 or 0; correct it"),
    ],
)
def test_a_wrong_cell_of_the_tasks_is_one_line(
    tmp_path: Path, column: str, value: str | None, message: str
) -> None:
    write_study(tmp_path)
    (tmp_path / "choices_a_orig.csv").write_text("task_id,choice\n1,A\n")
    tasks = pd.read_csv(tmp_path / "tasks.csv", dtype=str)
    tasks = tasks.drop(columns=column) if value is None else tasks.assign(**{column: value})
    tasks.to_csv(tmp_path / "tasks.csv", index=False)
    with pytest.raises(AnalysisError) as caught:
        read_pricebench(tmp_path)
    told = message if message.startswith(":") else f": {message}"
    assert str(caught.value).startswith(f"{tmp_path / 'tasks.csv'}{told}")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "choices_a_orig.csv",
            "task_id,choice\n2,A\n",
            "choices_a_orig.csv:2: task_id: task 2: is not in tasks.csv",
        ),
        ("choices_a_orig.csv", "task_id,choice\n1,A\n1,B\n", "choices_a_orig.csv:3: .* stands twice"),
        ("choices_a_orig.csv", "task_id,choice\nx,A\n", "csv:2: task_id: 'x' is not a whole number"),
        ("choices_a_orig.csv", "task,choice\n1,A\n", "column 'task_id' is missing"),
        ("choices_a.csv", "task_id,choice\n1,A\n", "unknown name; call it choices_AGENT_orig.csv"),
        ("other.csv", "", "no choices_AGENT_orig.csv"),
        ("tasks.csv", "task_id,rep\n1,1\n", "tasks.csv: column 'group_id' is missing"),
    ],
)
def test_a_broken_folder_is_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    write_study(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(AnalysisError, match=message):
        read_pricebench(tmp_path)
    assert len(pd.read_csv(tmp_path / "tasks.csv")) == 1
