"""A small part of `python -m tests.lab.bench.validity`, with fixed seeds; and what `make demo` prints."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import binomtest, t

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste
from analysis.choice import ChoiceAnalysis, analyze_choice
from analysis.choice.exact.exact import exact_tests
from analysis.conjoint import analyze_conjoint
from analysis.conjoint.tables import ALIKE
from experiments.designs.cards.design import CardDesign
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.loading import load_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from interventions.yaml.yaml_source import parse_yaml
from tests.lab.bench.validity.cards import respondents
from tests.lab.bench.validity.cells import one_by_one, studies_of
from tests.lab.bench.validity.choice import Recorder, answers, as_run, shoppers, simulate, tables
from tests.lab.bench.validity.conjoint import CardStudies
from tests.lab.bench.validity.conjoint import tables as tables_of_cards
from tests.lab.bench.validity.counting import COUNTS, rates
from tests.lab.bench.validity.document import DOCUMENT, ROWS, page, rows_of
from tests.lab.bench.validity.exact import exact_rows
from tests.simulated_choices import with_choices
from tests.support import size

STUDIES = 500
PUBLISHED = (
    "positions, Wilson",
    "curves, observed, Wilson",
    "outcomes, Wilson",
    "factors, Wilson",
    "anova",
    "coefficients",
    "csvr",
    "price_response, clustered",
    "price_deciles, clustered",
    "quality, clustered",
    "brands, clustered",
    "coefficients, clustered",
    "willingness_to_pay",
    "willingness_to_pay, Krinsky and Robb",
    "pooling",
)
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
    for row in counts[counts["printed"] > 0].to_dict("records"):
        case = (experiment, name, row)
        if row["null"]:
            assert row["rejected"] <= (0.06 + 2 * np.sqrt(0.06 * 0.94 / STUDIES)) * row["null"], case
        error = np.sqrt(0.07 * 0.93 / STUDIES)
        assert not row["held"] < (0.93 - 2 * error) * row["printed"], case


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
    chosen = answers(made, np.random.default_rng(4), 2, shopper.alike)
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
    for row in counts[~counts["table"].isin(PUBLISHED)].to_dict("records"):
        case, error = (experiment, name, row), 3 / np.sqrt(studies)
        if row["null"]:
            assert row["rejected"] <= (0.06 + error * np.sqrt(0.06 * 0.94)) * row["null"], case
        assert not row["held"] < (0.93 - error * np.sqrt(0.07 * 0.93)) * row["intervals"], case


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


def redrawn(made: SimulatedTrials, rng: np.random.Generator) -> pd.DataFrame:
    return with_choices(made, made.drawn(rng, 1)[:, 0])


@pytest.mark.thorough
@pytest.mark.slow
def test_a_placebo_is_a_condition_of_its_own() -> None:
    source = experiment_source("nudges")
    text = source.data | {"factors": {"nudge": {"interventions": "placebo"}, "order": "both"}}
    design = ShopDesign(parse_yaml(yaml.safe_dump(text), "placebo.yaml"))
    rng = np.random.default_rng(3)
    placebo = redrawn(simulated_trials(design, Taste(), None, "a"), rng)
    assert set(placebo["condition"]) == {"control", "placebo"}
    assert placebo["nudged"].sum() == 0 and placebo["placebo"].sum() == 200
    nudges = redrawn(simulated_trials(ShopDesign(source), shipped_taste("nudge-prone"), 1200, "a"), rng)
    both = pd.concat([nudges, placebo.assign(trial="p" + placebo["trial"])], ignore_index=True)
    found = analyze_choice(both)
    effects = found.effects.set_index("term")
    assert effects.index.tolist()[3:] == ["nudged", "placebo", "nudged_less_placebo"]
    assert effects.loc["nudged", "conf_low"] > 50
    assert effects.loc["placebo", "conf_low"] < 0 < effects.loc["placebo", "conf_high"]
    less = effects.loc["nudged_less_placebo"]
    assert less["estimate"] == pytest.approx(
        effects.loc["nudged", "estimate"] - effects.loc["placebo", "estimate"]
    )
    assert less["std_error"] > effects.loc["placebo", "std_error"] * 0.5 and less["conf_low"] > 30
    assert set(found.attrition["condition"]) == {"control", "nudged", "placebo"}
    assert not found.nudge_texts["nudge_text"].str.contains("shown on this page").any()
    # An older table, in which the condition alone tells a placebo.
    older = both.assign(nudged=both["nudged"] | both["placebo"]).drop(columns="placebo")
    pd.testing.assert_frame_equal(analyze_choice(older).effects, found.effects)


@pytest.mark.parametrize(
    ("alike", "same"),
    [("set", ["set"]), ("question", ["set", "profile", "ordering", "nudge", "carrier"])],
)
def test_shoppers_that_repeat_themselves_do(alike: str, same: list[str]) -> None:
    made = simulated_trials(ShopDesign(experiment_source("nudges-mr")), Taste(), 300)
    chosen = answers(made, np.random.default_rng(0), 1, alike)[:, 0]
    carriers = [trial.carrier or "" for trial in made.trials for _ in trial.products]
    table = made.table.assign(chosen=chosen, carrier=carriers)
    table["nudge"] = table["nudge"].where(table["carrier"] != "", "")
    own = table[table["chosen"] == 1].groupby(same)["option"]
    assert (own.nunique() == 1).all() and (own.size() > 1).any()
    assert table[table["chosen"] == 1].groupby("set")["option"].nunique().max() == (
        1 if alike == "set" else 2
    )


def test_the_page_is_what_is_written_of_its_rows(tmp_path: Path) -> None:
    rows = pd.read_csv(ROWS, keep_default_na=False, na_values=[""], dtype={"beyond": str})
    rows = rows.fillna({"beyond": ""})
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(r"output of\s([\d-]+),\sseed\s(\d+)", text)
    assert found is not None
    assert page(rows, date=found[1], seed=int(found[2])) == text
    rows.to_csv(tmp_path / "again.csv", index=False)
    assert (tmp_path / "again.csv").read_text() == ROWS.read_text()


def test_the_rows_say_which_limits_a_cell_is_beyond() -> None:
    """Of 100 studies: a share may miss its limit by two Monte-Carlo errors, .044."""
    cell = {"experiment": "nudges", "trials": 600, "studies": 100, "shopper": "random", "table": "exact"}
    cell |= dict.fromkeys(COUNTS, 100) | {"rows": 1, "rejected": 5, "any_rejected": 5}
    cell |= {"worst": 1 / 3, "width": 1.234}
    cells = [
        cell,
        cell | {"rejected": 11, "held": 88, "any_rejected": 11, "width": 1.31},
        cell | {"rejected": 10, "held": 89, "any_rejected": 10, "trials": 240, "width": 1.31},
        cell | {"shopper": "null", "any_rejected": 11},
        cell | {"table": "effects", "width": 2.0},
        cell | {"table": "effects", "width": 2.0, "shopper": "deterministic"},
        cell | {"table": "outcomes, Wilson", "held": 50, "width": 2.0},
        cell | {"printed": 0, "rejected": 100},
    ]
    rows = rows_of(rates(pd.DataFrame(cells)))
    assert rows["beyond"].tolist() == ["", "rejected held any width", "", "", "", "width", "held"]
    assert rows.loc[0, ["rejected", "worst", "width", "printed"]].tolist() == [0.05, 0.333, 1.23, 1.0]
    text = page(rows, date="2026-01-01", seed=3)
    assert "but for published formulas: 1.**" in text
    assert (
        "| shops | `exact` | 400 | 4 | .075, .110 | .945, .880 | .110 | 1.27 "
        "| rejected .110 in 1; held .880 in 1; any .110 in 1; width 1.31 in 1 |"
    ) in text
    assert "| shops | `outcomes, Wilson` (published) | 100 | 1 |" in text
