"""Figures for print have the width that is asked for, letters of one size, and nothing that is cut."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from analysis.choice.report.figures import effects_figure
from analysis.reporting.paper import DOTS, PAPER_POINTS, save_sized, sized
from analysis.reporting.plots import forest

AGENTS = ("simulated:balanced", "openai:a-model-with-a-long-name-2026-01-02", "anthropic:another-one")
EFFECTS = pd.DataFrame(
    [
        {"term": term, "group": agent, "estimate": 5.0 + at, "conf_low": 1.0, "conf_high": 11.0 + at}
        for term in ("viewed_first", "nudged")
        for at, agent in enumerate(AGENTS)
    ]
)


def effects() -> Figure:
    return effects_figure(EFFECTS)


def panels() -> Figure:
    return forest(EFFECTS, lambda row: str(row["term"]), "Effect (percentage points)")


@pytest.mark.thorough
@pytest.mark.parametrize("millimetres", [85, 180])
@pytest.mark.parametrize("draw", [effects, panels])
def test_a_figure_is_as_wide_as_asked_in_each_format(
    draw: Callable[[], Figure], millimetres: int, tmp_path: Path
) -> None:
    figure, fault = sized(draw, millimetres / 25.4, PAPER_POINTS)
    assert fault == ""
    for suffix in ("pdf", "svg", "png"):
        save_sized(figure, tmp_path / f"figure.{suffix}")
    wanted = millimetres / 25.4 * 72
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", (tmp_path / "figure.pdf").read_bytes())
    width = re.search(r'<svg [^>]*width="([\d.]+)pt"', (tmp_path / "figure.svg").read_text())
    assert box and float(box[1]) == pytest.approx(wanted, abs=0.01)
    assert width and float(width[1]) == pytest.approx(wanted, abs=0.01)
    with Image.open(tmp_path / "figure.png") as picture:
        assert picture.width == pytest.approx(millimetres / 25.4 * DOTS, abs=1)
    said = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert max(text.get_fontsize() for text in said) <= PAPER_POINTS
    assert b"/Subtype /CIDFontType2" in (tmp_path / "figure.pdf").read_bytes(), "letters stay letters"


@pytest.mark.thorough
def test_what_has_no_room_is_said() -> None:
    assert sized(effects, 20 / 25.4, PAPER_POINTS)[1]


@pytest.mark.slow
def test_equal_data_give_equal_files(tmp_path: Path) -> None:
    for name in "ab":
        figure, _ = sized(effects, 3.35, PAPER_POINTS)
        for suffix in ("pdf", "svg", "png"):
            save_sized(figure, tmp_path / f"{name}.{suffix}")
    for suffix in ("pdf", "svg", "png"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
