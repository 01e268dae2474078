"""Scored letters: the chance of each option is the outcome."""

import numpy as np
import pandas as pd
import pytest

from analysis.biases.study import analyze_biases
from analysis.conjoint.report import report
from analysis.conjoint.study import ConjointAnalysis, analyze_conjoint
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.effect_size import cohens_d
from analysis.estimators.leave_out import moves, with_errors
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats
from tests.analysis.conftest import simulate_answers
from tests.analysis.conjoint.conftest import simulate_cards
from tests.support import size

SETS = 60
DRAWN = 8
"""Answers to a question, in shares that are its chances."""


def chances(table: pd.DataFrame) -> "pd.Series[float]":
    """Eighths that follow the first of three answers to each question, but for a spread of their own."""
    rng, trials = np.random.default_rng(5), table["trial"]
    likely = np.exp(2 * table["chosen"] + rng.gumbel(size=len(table)))
    eighths = (DRAWN * likely / likely.groupby(trials).transform("sum")).round()
    rest = DRAWN - eighths.groupby(trials).transform("sum")
    return (eighths + rest * ~trials.duplicated()) / DRAWN


@pytest.fixture(scope="module")
def both() -> tuple[ConjointAnalysis, ConjointAnalysis]:
    table = simulate_cards(3, agents=("a", "b"), sets=40)
    table["chance"] = chances(table)
    assert table["chance"].between(0, 1).all()
    rows = table.loc[table.index.repeat(DRAWN)].assign(repeat=lambda rows: rows.groupby(level=0).cumcount())
    drawn = rows.assign(trial=rows["trial"] + "/" + rows["repeat"].astype(str)).drop(columns="chance")
    before = table.groupby("trial")["chance"].cumsum().loc[rows.index] * DRAWN
    own = table["chance"].loc[rows.index] * DRAWN
    drawn["chosen"] = ((rows["repeat"] < before) & (rows["repeat"] >= before - own)).astype(int)
    table["chosen"] = 0
    table.loc[table.groupby("trial")["chance"].idxmax(), "chosen"] = 1
    return analyze_conjoint(table, mixed=True), analyze_conjoint(drawn.reset_index(drop=True))


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("coefficients", ("estimate", "by_set_low", "by_set_high", "p_by_set")),
        ("positions", ("estimate", "conf_low", "conf_high", "chance")),
        ("booked", ("estimate", "std_error", "offered")),
        ("money", ("estimate", "conf_low", "conf_high")),
        ("price_forms", ("p_value", "pseudo_r2")),
        ("held_out", ("estimate", "conf_low", "conf_high", "loglik_per_choice", "held_out_r2")),
        ("willingness_to_pay", ("estimate",)),
        ("pooling", ("f_statistic", "p_robust")),
        ("triage", ("estimate",)),
    ],
)
def test_chances_count_as_answers_in_these_shares(
    both: tuple[ConjointAnalysis, ConjointAnalysis], name: str, columns: tuple[str, ...]
) -> None:
    scored, drawn = (each.frames[name] for each in both)
    assert len(scored) == len(drawn) > 0
    for column in columns:
        values = drawn[column].to_numpy(float)
        assert np.isfinite(values).any(), column
        np.testing.assert_allclose(scored[column].to_numpy(float), values, rtol=1e-6, atol=1e-9)


def test_a_trial_counts_once_and_the_report_says_what_counted(
    both: tuple[ConjointAnalysis, ConjointAnalysis],
) -> None:
    scored, drawn = both
    assert (abs(scored.triage["n"] * DRAWN - drawn.triage["n"]) < DRAWN).all()
    assert (scored.fit_statistics["n"] * DRAWN == drawn.fit_statistics["n"]).all()
    assert (scored.fit_statistics["n_options"] * DRAWN == drawn.fit_statistics["n_options"]).all()
    np.testing.assert_allclose(scored.fit_statistics["loglik"] * DRAWN, drawn.fit_statistics["loglik"])
    ends = ["exact_low", "exact_high"]  # sets where the third option is likelier than these two differ
    np.testing.assert_allclose(scored.triage[ends], drawn.triage[ends], atol=0.03)
    assert scored.triage["p_exact"].between(0, 1).all() and scored.triage["n_missing"].eq(0).all()
    assert scored.mixed.empty and scored.attrition_by_factor["p_value"].isna().all()
    said = " ".join(report(scored).problems)
    assert "a: letters were scored, so the chance of each option counts" in said
    assert "it needs answers that were drawn" in said


def prompted(rng: np.random.Generator, sets: int) -> tuple[pd.DataFrame, Floats, Floats]:
    """Chances of a logit whose utilities have a part of each set's own: attributes, chances, sets."""
    x = rng.normal(size=(sets, 3, 2))
    utility = x @ [1.0, -0.5] + rng.normal(0, 0.8, (sets, 3))
    share = np.exp(utility) / np.exp(utility).sum(axis=1, keepdims=True)
    frame = pd.DataFrame(x.reshape(-1, 2), columns=["a", "b"])
    return frame, share.ravel(), np.repeat(np.arange(sets, dtype=float), 3)


def intervals(x: pd.DataFrame, outcome: Floats, label: Floats) -> Floats:
    """The lower and the upper ends, by leaving out each set."""
    fit = fit_clogit(x, outcome, label)
    frame = with_errors(fit, moves(fit, x, outcome, label, label)).frame()
    return frame[["conf_low", "conf_high"]].to_numpy().T


@pytest.mark.slow
@pytest.mark.parametrize("sets", [20, SETS])
def test_intervals_of_chances_hold(sets: int) -> None:
    """They are about sets like these: the true value is what very many sets give."""
    rng, studies = np.random.default_rng(sets), size(100, 1000)
    truth = fit_clogit(*prompted(rng, 100_000)).estimate
    held, widths = np.zeros(2), np.zeros(2)
    for _ in range(studies):
        x, share, label = prompted(rng, sets)
        likely = (np.log(share) + rng.gumbel(size=len(share))).reshape(-1, 3)
        drawn = (likely == likely.max(axis=1, keepdims=True)).ravel().astype(float)
        low, high = intervals(x, share, label)
        held += (low <= truth) & (truth <= high)
        widths += (high - low)[0], np.diff(intervals(x, drawn, label), axis=0)[0, 0]
    assert (held / studies >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / studies)).all(), held / studies
    if sets == SETS:
        assert widths[0] / widths[1] == pytest.approx(0.36, abs=0.03)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chance": 0.4}, "the chances of its options do not add up to 1"),
        ({"chance": [0.5, None]}, "row 2.*chance is empty for some options only"),
        ({"chance": [0.5, 1.5]}, "'1.5' is above 1"),
        ({"chosen": None, "outcome": "agent_error"}, "a chance, but outcome is 'agent_error'"),
    ],
)
def test_a_wrong_chance_is_one_line(change: dict[str, object], message: str) -> None:
    table = simulate_cards(sets=1, sizes=(2,))[:2].assign(chance=0.5)
    with pytest.raises(AnalysisError, match=message) as caught:
        check_table(table.assign(**change))
    assert "\n" not in str(caught.value)


def test_the_bias_of_chances_is_that_of_ever_more_answers() -> None:
    """One scored question each is enough; d is the limit of answers that are drawn with these chances."""
    control, treatment = 0.2, 0.7
    table = simulate_answers({"framing": ([0.0], [1.0]), "sunk-cost": ([0.0], [0.0])})
    table["chance"] = [control, treatment, 0.0, 0.0]
    found = analyze_biases(table)
    d = found.experiments.set_index("term")["estimate"]
    many = ([0.0] * 80_000 + [1.0] * 20_000, [0.0] * 30_000 + [1.0] * 70_000)
    assert d["framing"] == pytest.approx(cohens_d(*many).d, abs=1e-4)
    assert d["sunk-cost"] == 0
    index = found.index.set_index("term")
    assert (
        index.loc["framing", "mean"] == d["framing"]
        and "chances have no error" in index.loc["framing", "note"]
    )
    assert found.experiments["std_error"].isna().all()
