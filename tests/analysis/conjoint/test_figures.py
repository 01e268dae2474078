"""The conjoint figures: what is drawn is what was estimated, and nothing is cut off."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from analysis.conjoint import figures
from analysis.conjoint.report import report
from analysis.conjoint.study import ConjointAnalysis, analyze_conjoint
from tests.analysis.conftest import check_figures
from tests.analysis.conjoint.conftest import simulate_cards

AGENTS = tuple(
    f"{name}-{k}b" for k, name in enumerate(["$x$_long name that does not fit a margin", "m"] * 7, 1)
)


@pytest.fixture(scope="module", params=[1, 14])
def analysis(request: pytest.FixtureRequest) -> ConjointAnalysis:
    return analyze_conjoint(simulate_cards(agents=AGENTS[: request.param], sets=40, random=AGENTS[1:2]))


@pytest.mark.thorough
@pytest.mark.slow
def test_nothing_is_cut_off(analysis: ConjointAnalysis) -> None:
    made = report(analysis)
    check_figures(made)
    drawn = [figure for section in made.sections for figure in section.figures]
    assert len(drawn) == 10 and all(each.caption for each in drawn)


def dots(figure: Figure) -> set[tuple[float, float]]:
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    return {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines}  # type: ignore[index]


@pytest.mark.slow
def test_the_map_shows_the_estimates(analysis: ConjointAnalysis) -> None:
    values = analysis.personality.pivot_table(index="group", columns="term", values="estimate")
    expected = set(zip(values["price_sensitivity"], values["review_score"], strict=True))
    assert dots(figures.personality_figure(analysis.personality)) == expected


@pytest.mark.slow
def test_a_heatmap_says_every_value(analysis: ConjointAnalysis) -> None:
    texts = [text.get_text() for text in figures.quality_figure(analysis.quality).axes[0].texts]
    assert len(texts) == len(analysis.quality)
    shown = [np.nan if text == "–" else float(text.replace("−", "-")) for text in texts]
    assert shown == pytest.approx(analysis.quality["estimate"].tolist(), abs=0.006, nan_ok=True)


@pytest.mark.slow
def test_what_is_undefined_is_said() -> None:
    flat = analyze_conjoint(simulate_cards(agents=("one", "two"), sets=30, sizes=(2,)).assign(price=80.0))
    assert {text.get_text() for text in figures.form_figure(flat.functional_form).axes[0].texts} <= {
        "not estimated"
    }
    assert "none" in [text.get_text() for text in figures.money_figure(flat.money).axes[0].texts]
    for figure in (figures.block_figure(flat.set_size), figures.size_figure(flat.model_size)):
        assert len(figure.axes[0].texts) == 1
    assert figures.brand_figure(flat.brands[:0]).axes[0].texts[0].get_text() == "Nothing is estimated"


@pytest.mark.slow
def test_the_curves_meet_the_table(analysis: ConjointAnalysis) -> None:
    rows = analysis.price_deciles[analysis.price_deciles["group"] == AGENTS[0]]
    drawn = figures.price_figure(rows).axes[0].lines
    solid, dashed = (next(line for line in drawn if line.get_linestyle() == style) for style in ("-", "--"))
    for line, name in ((solid, "log_curve"), (dashed, "linear_curve")):
        assert np.asarray(line.get_ydata())[-1] == pytest.approx(rows[name].iloc[-1])
