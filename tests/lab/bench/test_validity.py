"""A small part of `python -m tests.lab.bench.validity`, with fixed seeds; and what `make demo` prints."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, t

from agents.simulated.tab_shopper import shipped_taste
from analysis.choice import ChoiceAnalysis, analyze_choice
from analysis.choice.exact.exact import exact_tests
from analysis.conjoint import analyze_conjoint
from analysis.conjoint.tables import ALIKE
from experiments.designs.cards.design import CardDesign
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.loading import load_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import simulated_trials
from tests.lab.bench.validity.cards import respondents
from tests.lab.bench.validity.cells import one_by_one, studies_of
from tests.lab.bench.validity.choice import Recorder, answers, as_run, shoppers, simulate, tables
from tests.lab.bench.validity.conjoint import CardStudies
from tests.lab.bench.validity.conjoint import tables as tables_of_cards
from tests.lab.bench.validity.document import DOCUMENT, ROWS, page
from tests.lab.bench.validity.exact import exact_rows
from tests.support import size

STUDIES = 500
PUBLISHED = (
    "positions, Wilson", "curves, observed, Wilson", "outcomes, Wilson", "factors, Wilson", "anova",
    "coefficients", "csvr", "price_response, clustered", "price_deciles, clustered", "quality, clustered",
    "brands, clustered", "coefficients, clustered", "willingness_to_pay", "pooling",
    "willingness_to_pay, Krinsky and Robb",
)  # fmt: skip
"""Columns whose formulas are published ones, and which stand beside honest ones."""


@pytest.fixture(scope="module")
def demo() -> pd.DataFrame:
    """The table of `souk run nudges --agent simulated:balanced --limit 240`, without the browser."""
    design = ShopDesign(experiment_source("nudges"))
    return as_run(simulated_trials(design, shipped_taste("balanced"), 240, "simulated:balanced"))


@pytest.fixture(scope="module")
def analysis(demo: pd.DataFrame) -> ChoiceAnalysis:
    return analyze_choice(demo)


def discordant(rows: pd.DataFrame) -> tuple[int, int]:
    """Strata for and against the nudge: the same set, text and order, the nudge on either product."""
    carriers = rows[rows["nudged"] == 1]
    won = carriers.groupby(["set", "nudge", "ordering"])["chosen"].sum()
    turned = carriers.groupby(["set", "nudge", "ordering"])["direction"].first() == -1
    chosen = won.where(~turned, 2 - won)
    return int((chosen == 2).sum()), int((chosen == 0).sum())


@pytest.mark.slow
def test_the_demo_claims_nothing_that_the_exact_test_does_not_show(
    demo: pd.DataFrame, analysis: ChoiceAnalysis
) -> None:
    """McNemar's exact test on the discordant strata of each of the 28 rows, and of all trials."""
    claimed = 0
    for frame, name in ((analysis.nudge_texts, "nudge_text"), (analysis.categories, "category")):
        for row in frame.to_dict("records"):
            up, down = discordant(demo[demo[name] == row[name]])
            exact = binomtest(up, up + down).pvalue if up + down else 1.0
            assert (row["strata_for"], row["strata_against"]) == (up, down)
            assert row["note"] == "no interval: fewer than 12 choice sets"
            assert exact >= 0.05 and not row["p_value"] < 0.05 and not row["p_adjusted"] < 0.05
            claimed += 1
    assert claimed == 28
    pooled = analysis.effects.set_index("term").loc["nudged"]
    up, down = discordant(demo)
    assert binomtest(up, up + down).pvalue < 0.001
    assert pooled["p_adjusted"] < 0.01 and pooled["conf_low"] > 0
    assert pooled["estimate"] == pytest.approx(100 * (up - down) / 80)


def assert_honest(counts: pd.DataFrame, case: tuple[str, str], error: float) -> None:
    """error: so many standard errors of a share, for a standard deviation of 1."""
    for row in counts.to_dict("records"):
        assert row["rejected"] <= (0.06 + error * np.sqrt(0.06 * 0.94)) * row["null"], (*case, row)
        assert row["held"] >= (0.93 - error * np.sqrt(0.07 * 0.93)) * row["intervals"], (*case, row)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "name", "trials"),
    [
        ("nudges", "random", 60),
        ("nudges-mr", "deterministic", 60),
        ("nudges", "random", 240),
        ("nudges", "price-only", 600),
    ],
)
def test_printed_p_values_and_intervals_are_honest(experiment: str, name: str, trials: int) -> None:
    """Of each table no more than .06 rejected and no less than .93 held, but for two standard errors."""
    counts = simulate(ShopDesign(experiment_source(experiment)), shoppers()[name], trials, STUDIES, seed=1)
    assert_honest(counts[counts["printed"] > 0], (experiment, name), 2 / np.sqrt(STUDIES))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "name", "trials"),
    [
        ("nudges", "balanced", 240),
        ("nudges-mr", "repeating", 300),
        ("trios", "random", 120),
        ("profiles", "null", 216),
    ],
)
def test_the_exact_tests_are_those_that_are_simulated(experiment: str, name: str, trials: int) -> None:
    """Every row of the printed table, found here in another way."""
    shopper = shoppers()[name]
    made = simulated_trials(ShopDesign(experiment_source(experiment)), shopper.taste, trials)
    chosen = answers(made, np.random.default_rng(4), 2, shopper)
    choices = pd.Series(chosen[:, 1], made.table.index).astype("Int64")
    printed = exact_tests(made.table.assign(chosen=choices)).set_index(["term", "part", "level"])
    simulated = {row.key: row for row in exact_rows(made.table, made.chances, chosen)}
    assert set(printed.index) == simulated.keys()
    for key, row in simulated.items():
        numbers = [100 * row.estimates[1], row.p_values[1], *(100 * row.ends[:, 1])]
        told = printed.loc[key, ["estimate", "p_value", "conf_low", "conf_high"]].tolist()
        assert told == pytest.approx(numbers, abs=1e-6), key


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "name", "trials"),
    [
        ("hotels", "random", 240),
        ("hotels", "deterministic", 600),
        ("attributes", "price-only", 240),
        ("trios", "deterministic", 240),
        ("wtp", "null", 240),
        ("biases", "null", 600),
    ],
)
def test_tables_that_are_made_study_by_study_are_honest(experiment: str, name: str, trials: int) -> None:
    """As above, of fewer studies; the published columns that keep their formulas are left out."""
    studies = size(4, 200)
    counts = one_by_one(studies_of(experiment, name, trials), studies, np.random.default_rng(2))
    assert_honest(counts[~counts["table"].isin(PUBLISHED)], (experiment, name), 3 / np.sqrt(studies))


@pytest.mark.slow
def test_the_tables_of_cards_that_are_simulated_are_those_of_the_analysis() -> None:
    design = load_design("hotels")
    assert isinstance(design, CardDesign)
    made = CardStudies.of(design, respondents()["balanced"], 240)
    chosen = made.made.drawn(np.random.default_rng(3))
    printed = analyze_conjoint(made.made.table.assign(chosen=chosen)).frames
    choices = pd.Series(chosen[made.place], made.cards.rows.index).astype("Int64")
    cards = replace(made.cards, rows=made.cards.rows.assign(chosen=choices))
    numbers = ["estimate", "p_value", "conf_low", "conf_high", *ALIKE]
    for name, frame in tables_of_cards(cards, "clustered").items():
        told = printed[name].reindex(columns=numbers).to_numpy(float)
        if name == "price_deciles":
            told = told[1:]  # the first is the base
        assert frame.reindex(columns=numbers).to_numpy(float) == pytest.approx(told, nan_ok=True), name


@pytest.mark.slow
def test_all_studies_at_once_are_each_of_them() -> None:
    made = simulated_trials(ShopDesign(experiment_source("nudges")), shipped_taste("balanced"), 2400)
    chosen, recorder = made.drawn(np.random.default_rng(5), 2), Recorder()
    recorded = recorder.tables(made.table)
    checked = 0
    for name, frame in tables(made.table.assign(chosen=chosen[:, 1])).items():
        for key, row in frame[frame["p_value"].notna()].iterrows():
            estimate, error, df = recorder.estimates(round(recorded[name].loc[key, "estimate"] / 100), chosen)
            assert 100 * estimate[1] == pytest.approx(row["estimate"], abs=1e-8)
            assert 100 * error[1] == pytest.approx(row["std_error"], abs=1e-8)
            assert 2 * t.sf(abs(estimate[1] / error[1]), df[1]) == pytest.approx(row["p_value"], abs=1e-8)
            checked += 1
    assert checked > 6


def test_the_page_is_what_is_written_of_its_rows(tmp_path: Path) -> None:
    rows = pd.read_csv(ROWS, keep_default_na=False, na_values=[""], dtype={"beyond": str})
    rows = rows.fillna({"beyond": ""})
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(r"output of\s([\d-]+),\sseed\s(\d+)", text)
    assert found is not None
    assert page(rows, date=found[1], seed=int(found[2])) == text
    rows.to_csv(tmp_path / "again.csv", index=False)
    assert (tmp_path / "again.csv").read_text() == ROWS.read_text()
