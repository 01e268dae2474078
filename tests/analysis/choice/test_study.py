"""The choice analysis as a whole: its JSON, its sections, and its report in real Chromium."""

import re
from pathlib import Path

import pandas as pd
import pytest
from playwright.async_api import Page

from analysis.choice import ChoiceAnalysis, analyze_choice
from analysis.choice.effects.effects import choice_effects
from analysis.choice.ended.attrition import attrition, equal_attrition
from analysis.choice.ended.treatment import RECEIPT_COLUMNS
from analysis.choice.exact.exact import exact_tests
from analysis.choice.report.report import report
from analysis.reporting.html import write_report
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError
from tests.analysis.conftest import lose, simulate_study

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>{{ 7*7 }}'\"&$x$"
)


@pytest.fixture
def table() -> pd.DataFrame:
    table = simulate_study(1, sets=12, nudges_per_set=2, matched_ratings=True, negative=(1,)).table
    table.loc[10, "price"] = None
    return lose(table, table["trial"].isin(table["trial"].unique()[:3]))


@pytest.mark.slow
def test_the_parts_are_those_of_their_functions(table: pd.DataFrame) -> None:
    analysis = analyze_choice(table)
    beside = ["p_exact", "exact_low", "exact_high"]
    pd.testing.assert_frame_equal(analysis.effects.drop(columns=beside), choice_effects(table))
    exact = exact_tests(check_table(table))
    pd.testing.assert_frame_equal(analysis.exact, exact)
    own = exact[exact["part"] == ""].set_index(["group", "term"])[["p_value", "conf_low", "conf_high"]]
    told = own.reindex(pd.MultiIndex.from_frame(analysis.effects[["group", "term"]])).to_numpy(float)
    assert analysis.effects[beside].to_numpy(float) == pytest.approx(told, nan_ok=True)
    pd.testing.assert_frame_equal(analysis.attrition, attrition(table))
    pd.testing.assert_frame_equal(analysis.equal_attrition, equal_attrition(table))
    assert analysis.treatment is None
    assert analysis.notes == (
        "3 of 144 trials have no choice; they are left out of the effects.",
        "No option is taken for cheaper in the trials that lack a price (1).",
        "A nudge meant to push away counts as a nudge of the other options of its set.",
    )


def test_a_faulty_table_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match="column 'chosen' is missing"):
        analyze_choice(table.drop(columns="chosen"))


@pytest.fixture
def everything() -> ChoiceAnalysis:
    """Two agents, one of them locked; pairs and trios; a profile; missing choices; receipts and factors."""
    pairs = simulate_study(
        1, agents=("locked", HOSTILE), sets=10, nudges_per_set=2, matched_ratings=True
    ).table
    trios = simulate_study(2, agents=("locked", HOSTILE), sets=4, size=3, nudges_per_set=1).table.assign(
        run="r2"
    )
    table = pd.concat([pairs, pairs.assign(run="r3", profile=HOSTILE), trios], ignore_index=True)
    table["chosen"] = table["chosen"].where(table["agent"] != "locked", table["viewed_first"])
    lost = (table["run"] == "r2") & table["trial"].isin(table["trial"].unique()[::5])
    table = lose(table, lost, "agent_limit")
    table["steps"] = 4 + (table["position"] == 0).groupby(table["trial"]).cumsum() % 3
    for name in ("condition", "category", "nudge_text"):
        table[name] = table[name].where(table[name] == "", table[name] + HOSTILE)
    receipts = pd.DataFrame(
        [(HOSTILE, 0, HOSTILE, HOSTILE, 8, 8, 8), ("never", 0, "product.title", "product", 0, 0, 0)],
        columns=list(RECEIPT_COLUMNS),
    )
    factors = pd.DataFrame(
        {"trial": "t", "agent": [HOSTILE], "factor": "price", "judge": HOSTILE, "reason": ""}
    )
    return analyze_choice(table, receipts, factors)


@pytest.mark.slow
async def test_the_whole_report(everything: ChoiceAnalysis, page: Page, tmp_path: Path) -> None:
    made = report(everything)
    sections = made.sections
    write_report(tmp_path / "report.html", f"Nudges {HOSTILE}", {HOSTILE: HOSTILE}, made)
    await page.goto((tmp_path / "report.html").as_uri())
    assert await page.locator("h2").all_text_contents() == [
        "Effects on choice", "Exact tests of the design", "Attrition", "Treatment check",
        "Nudge texts and categories", "Profiles", "In common", "Ranking of agents", "Larger sets",
        "Market shares", "Sensitivity to price and rating", "Robustness: logit",
        "Steps", "Deciding factors", "Methods", "About these data",
    ]  # fmt: skip
    assert await page.title() == f"Nudges {HOSTILE}"
    assert await page.locator("script").count() == 0
    assert await page.locator("img").count() == sum(len(section.figures) for section in sections)
    assert await page.locator("img").evaluate_all("all => all.every(image => image.naturalWidth > 300)")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    text = await page.locator("body").inner_text()
    assert not re.search(r"\b(nan|None|NaN|inf|null)\b", text)
    assert "never differs between the options of a trial" in text
    effects = page.locator("table", has=page.locator("th", has_text="std. error")).first
    first = await effects.locator("tbody tr").first.locator("td").all_text_contents()
    assert first[0] == HOSTILE and first[2] == f"{everything.effects['estimate'][0]:.1f}"


@pytest.mark.slow
def test_what_a_table_does_not_hold_gives_no_section() -> None:
    table = simulate_study(1, sets=5, nudges_per_set=1).table
    sections = report(analyze_choice(table[table["nudge"] == ""].drop(columns=["price", "rating"]))).sections
    assert [section.title for section in sections] == [
        "Effects on choice", "Exact tests of the design", "Attrition", "Treatment check", "Robustness: logit",
        "Methods",
    ]  # fmt: skip
    assert "No receipts came with this table" in sections[3].text
