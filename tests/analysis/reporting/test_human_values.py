"""Values of people are printed and drawn with author, year and link, which are those of CITATION.cff."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from matplotlib.text import Text

from analysis.choice import analyze_choice
from analysis.choice.report.report import report as choice_report
from analysis.montecarlo import analyze_montecarlo
from analysis.montecarlo.report import report as montecarlo_report
from analysis.reporting.human_values import ARIELY, CHEREP, HUMAN_CORRELATION, HUMAN_EFFECTS, Publication
from analysis.reporting.sections import Report
from experiments.studies.kinds import STUDIES
from tests.analysis.conftest import simulate_study, simulate_valuations

ROOT = Path(__file__).parents[3]


def places(report: Report) -> Iterator[str]:
    """Each text of a report that is read by itself: a figure is also a file of its own."""
    yield from report.answer
    for section in report.sections:
        yield section.text
        yield from (table.caption for table in section.tables)
        for figure in section.figures:
            yield figure.caption
            figure.figure.draw_without_rendering()
            yield " ".join(text.get_text() for text in figure.figure.findobj(Text) if text.get_visible())  # type: ignore[attr-defined]


def check(report: Report, source: Publication, values: set[str]) -> None:
    """Where people are spoken of, author, year and link stand beside; in a caption the values, too."""
    named = [place for place in places(report) if "human" in place.lower()]
    assert len(named) == 2, "the figure, and its caption"
    for place in named:
        assert f"{source.authors} ({source.year}), {source.link}" in place
    assert all(value in named[0] for value in values)


@pytest.mark.thorough
@pytest.mark.slow
def test_effects_on_shoppers() -> None:
    table = simulate_study(1, sets=12, nudges_per_set=1).table
    report = choice_report(analyze_choice(table, people=True))
    check(report, CHEREP, {str(value) for value in HUMAN_EFFECTS.values()})
    of_others = choice_report(analyze_choice(table))
    assert not [place for place in places(of_others) if "human" in place.lower()], "people saw other products"


@pytest.mark.parametrize(
    ("experiment", "people"),
    [
        ({"site": "onestopmarket", "options": {"catalogue": None}}, True),
        ({"site": "onestopmarket", "options": {"catalogue": "tea.csv"}}, False),
        ({"site": "tea.yaml", "options": {"catalogue": None}}, False),
        ({"site": "tea.yaml", "options": {"catalogue": "tea.csv"}}, False),
    ],
)
def test_people_are_drawn_beside_the_market_that_they_saw(experiment: dict[str, Any], people: bool) -> None:
    assert STUDIES["choice"].of_design(experiment) == {"people": people}


@pytest.mark.slow
def test_the_correlation_with_an_anchor() -> None:
    report = montecarlo_report(analyze_montecarlo(simulate_valuations(repeats=3)))
    check(report, ARIELY, {str(HUMAN_CORRELATION)})


@pytest.mark.parametrize("source", [CHEREP, ARIELY])
def test_the_references_have_it(source: Publication) -> None:
    references = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    by_link = {each.get("url") or f"https://doi.org/{each['doi']}": each for each in references}
    found = by_link[source.link]
    assert found["year"] == source.year
    assert source.authors.startswith(found["authors"][0]["family-names"])
