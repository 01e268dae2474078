"""Figures: what is drawn is what was estimated, nothing is cut off, and labels are only text."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from analysis.choice.effects.effects import choice_effects
from analysis.choice.effects.sensitivity import sensitivity
from analysis.choice.ended.attrition import attrition
from analysis.choice.report.figures import attrition_figure, effects_figure, known, price_figure
from analysis.choice.report.sections import named_by
from analysis.reporting.human_values import HUMAN_EFFECTS
from analysis.reporting.paper import sized
from analysis.reporting.plots import SCORE_INTERVAL, forest, heatmap, save_figure, to_svg
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import check_uncut, lose, simulate_study

AGENTS = ("simple", r"$\frac{$ <script>& a name that is much too long for the margin", "_hidden", "100%")


@pytest.fixture
def table() -> pd.DataFrame:
    """Four agents; `simple` always takes the first, and the ratings are matched."""
    table: pd.DataFrame = simulate_study(
        1, agents=AGENTS, sets=12, nudges_per_set=1, matched_ratings=True
    ).table
    table["chosen"] = table["chosen"].where(table["agent"] != "simple", table["viewed_first"])
    lost = table["trial"].isin(table["trial"].unique()[::9])
    return lose(table, lost, "an_outcome_of_another_study")


def points_of(figure: Figure, marker: str) -> set[float]:
    marks = [line for line in figure.axes[0].lines if line.get_marker() == marker]
    return {float(x) for line in marks for x in np.asarray(line.get_xdata())}


def segments_of(figure: Figure) -> set[tuple[float, float]]:
    axes = figure.axes[0]
    drawn = [lines for lines in axes.collections if isinstance(lines, LineCollection)]
    lines = [line.get_xdata() for line in axes.lines if line.get_marker() == "None"]
    ends = [*(segment[:, 0] for each in drawn for segment in each.get_segments()), *lines]
    return {(float(low), float(high)) for low, high in ends}


def texts_of(figure: Figure) -> list[str]:
    axes = figure.axes[0]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    return [text.get_text() for text in [*axes.get_yticklabels(), *axes.texts]] + legend


def test_effects_and_baseline_are_drawn_where_they_are(table: pd.DataFrame) -> None:
    effects = choice_effects(table)
    figure = effects_figure(effects, people=True)
    assert points_of(figure, "o") == set(effects["estimate"].dropna())
    segments = segments_of(figure)
    defined = effects.dropna(subset="conf_low")
    assert set(zip(defined["conf_low"], defined["conf_high"], strict=True)) <= segments
    assert {(value, value) for value in HUMAN_EFFECTS.values()} <= segments
    texts = texts_of(figure)
    assert texts.count("not estimated") == len(AGENTS)
    assert {"Viewed first", "Higher rated", "Cheaper", "Nudged", "human shoppers"} <= set(texts)
    assert "estimate without interval" in texts
    check_uncut(figure)


@pytest.mark.slow
def test_a_hollow_mark_has_the_interval_that_the_sentence_says(table: pd.DataFrame) -> None:
    effects = choice_effects(table)
    without = effects.assign(conf_low=np.nan, conf_high=np.nan)
    scored = without.assign(exact_low=effects["estimate"] - 7, exact_high=effects["estimate"] + 9)
    known = scored[scored["estimate"].notna()]
    figure = effects_figure(scored)
    ends = set(zip(known["exact_low"], known["exact_high"], strict=True))
    assert len(ends) > 3 and ends <= segments_of(figure)
    assert SCORE_INTERVAL in texts_of(figure) and SCORE_INTERVAL not in texts_of(effects_figure(without))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("width", [None, 85.0])
def test_names_of_agents_have_room_in_their_panels(count: int, width: float | None, tmp_path: Path) -> None:
    """Each differs from the others at one end, and stays told apart."""
    agents = [f"command:python docs/agents/playwright_script.py --model {n}" for n in range(count)]
    rows = pd.DataFrame({"group": agents, "estimate": 1.0, "conf_low": 0.0, "conf_high": 2.0, "level": "x"})
    if width is None:
        figure = forest(rows, named_by("level"), "Effect")
        save_figure(figure, tmp_path / "f.svg")
    else:
        figure, _ = sized(lambda: forest(rows, named_by("level"), "Effect"), width / 25.4, 7.0)
    panels = figure.axes
    titles = [
        next(t for t in axes.findobj(Text) if t.get_text() == axes.get_title("left")) for axes in panels
    ]
    for axes, title in zip(panels, titles, strict=True):
        assert title.get_window_extent().width <= 1.02 * axes.bbox.width
    assert len({title.get_text() for title in titles}) == count
    assert all(title.get_text().startswith("com") for title in titles)


def test_a_panel_of_two_agents_names_both_with_their_dates(tmp_path: Path) -> None:
    dates = ("nudges", "nudges-2026-12")
    pairs = [" less ".join(f"simulated:{name} ({date})" for date in dates) for name in ("balanced", "price")]
    rows = pd.DataFrame({"group": pairs, "estimate": 1.0, "conf_low": 0.0, "conf_high": 2.0, "level": "x"})
    figure = forest(rows, named_by("level"), "Difference")
    save_figure(figure, tmp_path / "f.svg")
    for axes, name in zip(figure.axes, ("balanced", "price"), strict=True):
        one, other = axes.get_title("left").split("\n")
        assert one == f"simulated:{name} (nudges)"
        assert other.startswith("less simul") and other.endswith("2026-12)")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("sets", "drawn"), [(5, False), (40, True)])
def test_a_curve_of_fourth_order_is_drawn_where_it_has_a_band(sets: int, drawn: bool) -> None:
    found = simulate_study(3, sets=sets, nudges=8, nudges_per_set=3, categories=min(sets, 12)).table
    _, curves = sensitivity(check_table(found))
    texts = texts_of(price_figure(curves))
    assert known(curves) == drawn
    assert ("fourth-order polynomial" in texts, "95 % interval" in texts) == (drawn, drawn)
    assert "observed, by tenths" in texts
    (agent,) = set(curves["group"])
    other = curves.assign(group="few", conf_low=np.nan, conf_high=np.nan)
    assert len(price_figure(pd.concat([curves, other])).axes[1].lines) == 1, f"dots only, beside {agent}"


@pytest.mark.slow
def test_the_legend_names_intervals_only_where_there_are_some(table: pd.DataFrame) -> None:
    effects = choice_effects(table)
    named = "estimate with 95 % interval"
    assert named in texts_of(effects_figure(effects))
    assert named not in texts_of(effects_figure(effects.assign(conf_low=np.nan, conf_high=np.nan)))


@pytest.mark.parametrize("largest", [0.0, 3.0, 9.0, 45.0])
def test_the_effects_are_read_from_the_axis_as_they_are(table: pd.DataFrame, largest: float) -> None:
    effects = choice_effects(table)
    effects["estimate"] = np.linspace(-largest, largest, len(effects))
    axes = effects_figure(effects.assign(conf_low=np.nan, conf_high=np.nan)).axes[0]
    labels = [label.get_text().replace("−", "-") for label in axes.get_xticklabels()]
    assert [float(text) for text in labels] == pytest.approx(list(axes.get_xticks()))
    assert all(text[0] in "+-" for text in labels if text != "0")


def test_a_value_that_rounds_to_zero_has_no_sign() -> None:
    values = pd.DataFrame({"d": [-0.004, -0.006, 0.0, 1.25]})
    figure = heatmap(values, "d", colormap="PuOr", limits=(-1, 1))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["0.00", "−0.01", "0.00", "1.25"]


def test_attrition_bars_add_up(table: pd.DataFrame) -> None:
    frame = attrition(table)
    figure = attrition_figure(frame)
    widths = pd.Series([bar.get_width() for bar in figure.axes[0].patches])
    heights = [round(bar.get_y(), 6) for bar in figure.axes[0].patches]
    totals = widths.groupby(heights).sum()
    assert len(totals) == frame.groupby(["agent", "condition"]).ngroups
    assert np.allclose(totals, 100)
    assert "an outcome of another study" in texts_of(figure)
    check_uncut(figure)


def test_equal_data_give_equal_bytes(table: pd.DataFrame) -> None:
    effects = choice_effects(table)
    assert to_svg(effects_figure(effects)) == to_svg(effects_figure(effects))
