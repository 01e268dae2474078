"""The choice analysis as a whole: its JSON, its sections, and its report in real Chromium."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.async_api import Page

from analysis.choice import ChoiceAnalysis, analyze_choice
from analysis.choice.effects.effects import choice_effects
from analysis.choice.ended.attrition import attrition, equal_attrition
from analysis.choice.ended.treatment import RECEIPT_COLUMNS
from analysis.choice.exact.exact import exact_tests
from analysis.choice.report.report import report
from analysis.reporting.html import write_files, write_report
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import FRAME_COLUMNS

Simulate = Callable[..., Any]
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>{{ 7*7 }}'\"&$x$"
)


@pytest.fixture
def table(simulate: Simulate) -> pd.DataFrame:
    table: pd.DataFrame = simulate(1, sets=12, nudges_per_set=2, matched_ratings=True, negative=(1,)).table
    lost = table["trial"].isin(table["trial"].unique()[:3])
    table["chosen"] = table["chosen"].astype("Int64").mask(lost)
    table.loc[lost, "outcome"] = "no_choice"
    table.loc[10, "price"] = None
    return table


@pytest.mark.slow
def test_the_parts_are_those_of_their_functions(table: pd.DataFrame) -> None:
    analysis = analyze_choice(table)
    beside = ["p_exact", "exact_low", "exact_high"]
    pd.testing.assert_frame_equal(analysis.effects.drop(columns=beside), choice_effects(table))
    exact = exact_tests(check_table(table))
    pd.testing.assert_frame_equal(analysis.exact, exact)
    own = exact[exact["part"] == ""].set_index(["group", "term"])
    for row in analysis.effects.to_dict("records"):
        key = row["group"], row["term"]
        told = (
            own.loc[key, ["p_value", "conf_low", "conf_high"]].tolist()
            if key in own.index
            else [math.nan] * 3
        )
        assert [row[name] for name in beside] == pytest.approx(told, nan_ok=True)
    pd.testing.assert_frame_equal(analysis.attrition, attrition(table))
    pd.testing.assert_frame_equal(analysis.equal_attrition, equal_attrition(table))
    assert analysis.treatment is None
    assert analysis.notes == (
        "3 of 144 trials have no choice; they are left out of the effects.",
        "No option is taken for cheaper in the trials that lack a price (1).",
        "A nudge meant to push away counts as a nudge of the other options of its set.",
    )


@pytest.mark.slow
def test_json_holds_null_for_what_is_undefined(table: pd.DataFrame) -> None:
    receipts = pd.DataFrame([("n1", 0, "product.title", "product", 0, 0, 0)], columns=list(RECEIPT_COLUMNS))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(analyze_choice(table, receipts).to_json(), parse_constant=refuse)
    first = [
        "attrition",
        "readings",
        "equal_attrition",
        "attrition_by_factor",
        "bounds",
        "treatment",
        "effects",
    ]
    assert list(document)[: len(first)] == first
    assert document["profiles"] == [] and document["factors"] is None
    higher_rated = document["effects"][1]
    assert list(higher_rated) == [*FRAME_COLUMNS, "p_exact", "exact_low", "exact_high"]
    assert higher_rated["estimate"] is None and higher_rated["note"]
    assert document["treatment"][0]["receipts_per_trial"] is None
    assert document["effects"][0]["estimate"] == pytest.approx(
        choice_effects(table)["estimate"][0], abs=1e-12
    )


def test_a_faulty_table_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match="column 'chosen' is missing"):
        analyze_choice(table.drop(columns="chosen"))


@pytest.fixture
def everything(simulate: Simulate) -> ChoiceAnalysis:
    """Two agents, one of them locked; pairs and trios; a profile; missing choices; receipts and factors."""
    pairs = simulate(1, agents=("locked", HOSTILE), sets=10, nudges_per_set=2, matched_ratings=True).table
    trios = simulate(2, agents=("locked", HOSTILE), sets=4, size=3, nudges_per_set=1).table.assign(run="r2")
    table = pd.concat([pairs, pairs.assign(run="r3", profile=HOSTILE), trios], ignore_index=True)
    table["chosen"] = table["chosen"].where(table["agent"] != "locked", table["viewed_first"])
    lost = (table["run"] == "r2") & table["trial"].isin(table["trial"].unique()[::5])
    table["chosen"] = table["chosen"].astype("Int64").mask(lost)
    table.loc[lost, "outcome"] = "agent_limit"
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
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.goto((tmp_path / "report.html").as_uri())
    assert await page.locator("h2").all_text_contents() == [
        "Effects on choice", "Exact tests of the design", "Attrition", "Treatment check",
        "Nudge texts and categories", "Profiles", "In common", "Larger sets",
        "Sensitivity to price and rating", "Robustness: logit",
        "Steps", "Deciding factors", "Methods", "About these data",
    ]  # fmt: skip
    assert [url for url in requests if not url.startswith("data:image/svg+xml")] == [page.url]
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
    names = {path.name for path in write_files(tmp_path / "files", sections)}
    assert {
        "effects.csv",
        "effects.png",
        "effects.svg",
        "categories.csv",
        "bounds.png",
        "factors.csv",
    } <= names


@pytest.mark.slow
def test_what_a_table_does_not_hold_gives_no_section(simulate: Simulate) -> None:
    table = simulate(1, sets=5, nudges_per_set=1).table
    sections = report(analyze_choice(table[table["nudge"] == ""].drop(columns=["price", "rating"]))).sections
    assert [section.title for section in sections] == [
        "Effects on choice", "Exact tests of the design", "Attrition", "Treatment check", "Robustness: logit",
        "Methods",
    ]  # fmt: skip
    assert "No receipts came with this table" in sections[3].text
