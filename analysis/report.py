"""The report: one HTML file that needs nothing else, to read on a screen, a phone or paper."""

import base64
from collections.abc import Mapping
from pathlib import Path

import jinja2
import pandas as pd

from analysis.choice import ChoiceAnalysis
from analysis.figures import HUMAN_BASELINE, LABELS, attrition_figure, effects_figure, to_svg

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def write_report(path: str | Path, title: str, facts: Mapping[str, object], analysis: ChoiceAnalysis) -> None:
    """Write the report of a choice analysis.

    facts: what was run, shown as given (run, agents, trials, seed, versions, start ...). Every text is
    escaped; the page holds no script and asks for nothing over the network.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"points": points, "p_value": p_value, "number": number, "percent": percent}
    page = environment.get_template("report.html.j2").render(
        title=title,
        facts=facts,
        effects=_records(analysis.effects),
        attrition=_records(analysis.attrition),
        equal_attrition=_records(analysis.equal_attrition),
        treatment=None if analysis.treatment is None else _records(analysis.treatment),
        notes=analysis.notes,
        labels=LABELS,
        baseline=HUMAN_BASELINE,
        stars=stars,
        effects_image=_data_uri(to_svg(effects_figure(analysis.effects))),
        attrition_image=_data_uri(to_svg(attrition_figure(analysis.attrition))),
    )
    Path(path).write_text(page, encoding="utf-8")


def points(value: float | None) -> str:
    """Percentage points with their sign; nothing for an undefined value."""
    if value is None:
        return ""
    rounded = round(value, 1)
    return f"{rounded:+.1f}".replace("-", "\N{MINUS SIGN}") if rounded else "0.0"


def p_value(value: float | None) -> str:
    """Three decimals, or that it is below them; nothing for an undefined value."""
    if value is None:
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def number(value: float | None) -> str:
    """A count or ratio with at most two decimals; nothing for an undefined value."""
    return "" if value is None else f"{value:,.2f}".removesuffix(".00")


def percent(value: float | None) -> str:
    """A share as a percentage; nothing for an undefined value."""
    return "" if value is None else f"{100 * value:.1f}"


def stars(p_adjusted: float | None) -> str:
    """Conventional marks of an adjusted p value."""
    if p_adjusted is None:
        return ""
    return next((mark for level, mark in STARS if p_adjusted < level), "")


def _records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Rows as dictionaries, None for what is undefined."""
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
