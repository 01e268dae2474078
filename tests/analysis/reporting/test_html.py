"""The report of a study in real Chromium, and its files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from playwright.async_api import Page

from analysis.reporting.answer import number_text
from analysis.reporting.html import cell, write_files, write_report
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.errors import AnalysisError

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>{{ 7*7 }}'\"&"


def drawing() -> Figure:
    figure = Figure()
    figure.add_subplot().plot([1, 2], [3, 4])
    return figure


@pytest.fixture
def report() -> Report:
    short = pd.DataFrame(
        {
            "term": [HOSTILE, "price"],
            "note": [f"{HOSTILE}; no trial has a choice", "no trial has a choice"],
            "estimate": [-1234.5678, np.nan],
            "p_value": [1e-9, np.nan],
            "std_error": [np.nan, np.nan],
            "n": [10_000, 3],
        }
    )
    sections = (
        Section("One", HOSTILE, (NamedTable("short", f"Short {HOSTILE}", short),)),
        Section(
            "Two",
            "Text.\n\nMore text.",
            (
                NamedTable("long", "Long.", pd.DataFrame({"x": range(40)})),
                NamedTable("empty", "Empty.", short[:0]),
                NamedTable("detail", "Detail.", pd.DataFrame({"x": [-0.04]}), 1, detail=True),
            ),
            (NamedFigure("drawing", f"A drawing {HOSTILE}", drawing),),
        ),
    )
    return Report(sections, (f"{HOSTILE}: it moves.",), f"All is well {HOSTILE}", (f"Nothing {HOSTILE}",))


@pytest.mark.browser
async def test_the_page_is_inert_and_says_what_is_there(report: Report, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, f"Hotels {HOSTILE}", {"Run": HOSTILE, "Seed": 42}, report)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.goto(path.as_uri())
    assert [url for url in requests if not url.startswith("data:image/svg+xml")] == [path.as_uri()]
    assert await page.title() == f"Hotels {HOSTILE}"
    assert await page.locator("script").count() == 0
    assert await page.locator("dd").all_text_contents() == [HOSTILE, "42"]
    assert await page.locator("h2").all_text_contents() == ["One", "Two", "About these data"]
    assert await page.locator(".answer").all_text_contents() == [f"{HOSTILE}: it moves."]
    assert await page.locator(".problems li").all_text_contents() == [f"Nothing {HOSTILE}"]
    assert await page.locator("nav a").all_text_contents() == ["One", "Two", "About these data"]
    for link in await page.locator("nav a").all():
        assert await page.locator(await link.get_attribute("href") or "").text_content() == (
            await link.text_content()
        )
    assert await page.locator("img").get_attribute("alt") == f"A drawing {HOSTILE}"
    assert await page.locator("img").evaluate("image => image.naturalWidth > 300")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    table = page.locator("table").first
    assert await table.locator("thead th").all_text_contents() == ["term", "estimate", "p", "n", ""]
    assert await table.locator("tbody tr").nth(0).locator("td").all_text_contents() == [
        HOSTILE, "−1,235", "< 0.001", "10,000", "[1] [2]",
    ]  # fmt: skip
    assert await table.locator("tbody tr").nth(1).locator("td").all_text_contents() == [
        "price", "", "", "3", "[2]",
    ]  # fmt: skip
    assert await page.locator(".footnote").all_text_contents() == [
        f"[1] {HOSTILE}",
        "[2] no trial has a choice",
    ]
    assert await page.locator("h2 + p, p:has(+ p)").first.text_content() == HOSTILE
    assert await page.get_by_text("Text.", exact=True).count() == 1
    assert await page.get_by_text("More text.", exact=True).count() == 1
    assert await page.locator("summary").all_text_contents() == ["Long. (40 rows)", "Detail. (1 rows)"]
    assert await page.locator("details tbody tr").count() == 41
    assert await page.locator("details tbody tr").last.text_content() == "0.0"
    assert await page.get_by_text("No rows.").count() == 1


def test_equal_reports_give_equal_bytes(report: Report, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_report(tmp_path / name, "Hotels", {}, report)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_files(report: Report, tmp_path: Path) -> None:
    sections = report.sections
    paths = write_files(tmp_path / "new", sections)
    names = ["short.csv", "long.csv", "empty.csv", "detail.csv", "drawing.png", "drawing.svg"]
    assert [path.name for path in paths] == names and all(path.stat().st_size for path in paths)
    assert (tmp_path / "new/drawing.png").read_bytes().startswith(b"\x89PNG")
    pd.testing.assert_frame_equal(
        pd.read_csv(paths[0], keep_default_na=False, na_values=[""]).fillna({"note": ""}),
        sections[0].tables[0].frame,
    )


@pytest.mark.parametrize("name", ["long", "../outside", "a/b", ""])
def test_a_name_that_is_no_file_is_refused(report: Report, tmp_path: Path, name: str) -> None:
    more = Section("Three", "", (NamedTable(name, "", pd.DataFrame({"x": [1]})),))
    with pytest.raises(AnalysisError, match="is no file name, or used twice"):
        write_files(tmp_path / "new", [*report.sections, more])
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (np.nan, ""), (pd.NA, ""), ("a", "a"), (3, "3"), (-3.0, "−3"), (0.000123456, "0.0001235"),
        (1234567.8, "1,234,568"), (np.float64(2.5), "2.5"), (np.int64(7), "7"), (np.inf, ""),
        (-0.0, "0"),
    ],
)  # fmt: skip
def test_cells(value: object, text: str) -> None:
    assert cell(value) == text


@pytest.mark.browser
async def test_what_is_the_same_in_all_rows_is_said_once(page: Page, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "term": ["depth", "cancel", "width"],
            "group": "a",
            "estimate": [1.5, 2.0, np.nan],
            "std_error": [0.1, 0.2, np.nan],
            "conf_low": [1.3, 1.6, np.nan],
            "conf_high": [1.7, 2.4, np.nan],
            "n": 3600,
            "model": "logit",
        }
    )
    path = tmp_path / "report.html"
    write_report(path, "x", {}, Report((Section("One", "", (NamedTable("one", "Caption.", frame),)),)))
    await page.goto(path.as_uri())
    assert await page.get_by_text("In all rows: agent: a; n: 3,600; model: logit.").count() == 1
    names = ["term", "estimate", "std. error", "95 % interval"]
    assert await page.locator("thead th").all_text_contents() == names
    rows = [await row.locator("td").all_text_contents() for row in await page.locator("tbody tr").all()]
    assert rows[0] == ["depth", "1.5", "0.1", "1.3 to 1.7"] and rows[2] == ["width", "", "", ""]


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 400])
async def test_what_is_wide_is_scrolled_and_its_first_column_stays(
    page: Page, tmp_path: Path, width: int
) -> None:
    columns = {f"measure {number}": [1.5 + number, -2.5] for number in range(40)}
    frame = pd.DataFrame({"agent": ["simulated:balanced", f"hf:{'x' * 90}"], **columns})
    wide = Section("Wide", "", (NamedTable("wide", "Wide.", frame),), (NamedFigure("f", "A line.", drawing),))
    write_report(tmp_path / "report.html", "Wide", {}, Report((wide,), (), "", ()))
    await page.set_viewport_size({"width": width, "height": 800})
    await page.goto((tmp_path / "report.html").as_uri())
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    region = page.get_by_role("region", name="Wide.")
    await region.focus()
    await region.evaluate("each => { each.scrollLeft = each.scrollWidth }")
    assert await page.evaluate("document.activeElement.scrollLeft") > 0
    box, cell_box = await region.bounding_box(), await page.locator("td").first.bounding_box()
    assert box and cell_box
    assert cell_box["x"] == box["x"] and cell_box["width"] <= width / 2
    assert await page.get_by_role("region", name="A line.").locator("img").count() == 1


@pytest.mark.parametrize("value", [28.749999999999943, 28.75, 28.750000000000057])
def test_a_number_is_printed_alike_on_each_machine(value: float) -> None:
    assert (cell(value, decimals=1), number_text(value, 1)) == ("28.8", "28.8")
