"""The report in real Chromium: self-contained, inert, readable on a phone."""

import re
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.async_api import Page, async_playwright

from analysis.choice import ChoiceAnalysis, analyze_choice
from analysis.report import number, p_value, percent, points, stars, write_report
from analysis.treatment import RECEIPT_COLUMNS

Simulate = Callable[..., Any]
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>{{ 7*7 }}'\"&"


@pytest.fixture
def analysis(simulate: Simulate) -> ChoiceAnalysis:
    table = simulate(1, agents=("locked", HOSTILE), sets=10, nudges_per_set=2, matched_ratings=True).table
    table["chosen"] = table["chosen"].where(table["agent"] != "locked", table["viewed_first"])
    table["condition"] += HOSTILE
    receipts = pd.DataFrame(
        [(HOSTILE, 0, HOSTILE, HOSTILE, 8, 8, 8), ("never", 0, "product.title", "product", 0, 0, 0)],
        columns=list(RECEIPT_COLUMNS),
    )
    return analyze_choice(table, receipts)


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield await browser.new_page(viewport={"width": 390, "height": 800})
        await browser.close()


async def test_the_page_is_inert_and_self_contained(
    analysis: ChoiceAnalysis, page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    write_report(path, f"Nudges {HOSTILE}", {"Run": "r1", HOSTILE: HOSTILE, "Seed": 42}, analysis)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.goto(path.as_uri())
    assert [url for url in requests if not url.startswith("data:image/svg+xml")] == [path.as_uri()]
    assert await page.title() == f"Nudges {HOSTILE}"
    assert await page.locator("script").count() == 0
    assert await page.locator("dt").all_text_contents() == ["Run", HOSTILE, "Seed"]
    assert HOSTILE in (await page.locator("th.group").all_text_contents())[0]
    images = page.locator("img")
    assert await images.count() == 2
    assert await images.evaluate_all("all => all.every(image => image.naturalWidth > 400)")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


async def test_the_numbers_are_on_the_page(analysis: ChoiceAnalysis, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, "Nudges", {}, analysis)
    await page.goto(path.as_uri())
    headings = await page.locator("h2").all_text_contents()
    assert headings == ["Attrition", "Treatment check", "Effects on choice", "Methods"]
    body = page.locator("tbody", has=page.locator("th.group", has_text="<script>"))
    rows = [await row.locator("th, td").all_text_contents() for row in await body.locator("tr").all()]
    estimates = analysis.effects[analysis.effects["group"] == HOSTILE]["estimate"].tolist()
    assert [row[0] for row in rows[1:]] == ["Viewed first", "Higher rated", "Cheaper", "Nudged"]
    assert [row[1] for row in rows[1:]] == [
        points(estimates[0]),
        "",
        points(estimates[2]),
        points(estimates[3]),
    ]
    assert rows[2][1:7] == [""] * 6 and "never differs" in rows[2][7]
    locked = page.locator("tr", has=page.locator("text=the model fits every choice exactly")).first
    assert (await locked.locator("th, td").all_text_contents())[:7] == ["Viewed first", "+100.0", *[""] * 5]
    text = await page.locator("body").inner_text()
    assert not re.search(r"\b(nan|None|NaN|inf|null)\b", text)


def test_without_receipts_the_report_says_so(simulate: Simulate, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, "Nudges", {}, analyze_choice(simulate(1, sets=5, nudges_per_set=1).table))
    assert "No receipts came with this table" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("formatted", "expected"),
    [
        (points(18.26), "+18.3"),
        (points(-3.0), "\N{MINUS SIGN}3.0"),
        (points(-0.04), "0.0"),
        (points(None), ""),
        (p_value(0.0004), "< 0.001"),
        (p_value(0.04), "0.040"),
        (p_value(None), ""),
        (number(1200), "1,200"),
        (number(0.99), "0.99"),
        (number(None), ""),
        (percent(0.125), "12.5"),
        (percent(None), ""),
        (stars(0.0009), "***"),
        (stars(0.009), "**"),
        (stars(0.049), "*"),
        (stars(0.05), ""),
        (stars(None), ""),
    ],
)
def test_formats(formatted: str, expected: str) -> None:
    assert formatted == expected
