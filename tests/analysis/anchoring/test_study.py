"""The analysis as a whole: the published numbers, what is undefined, and the report."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.anchoring.coalitions import coalitions
from analysis.anchoring.report import report
from analysis.anchoring.study import AnchoringAnalysis, analyze_anchoring
from analysis.anchoring.table import read_anchoring
from analysis.tables.errors import AnalysisError
from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conftest import check_figures, public, public_json
from tests.support import size

MODELS = ("gpt2", "phi-2")
FIELDS = ("scene", "comparative", "absolute", "anchor")


@pytest.fixture(scope="module")
def published() -> AnchoringAnalysis:
    return analyze_anchoring(read_anchoring(public("anchoring") / "simulation"))


def by_variation(published: AnchoringAnalysis, model: str) -> pd.DataFrame:
    return published.results[published.results["model"] == model].set_index("variation")


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_reference_number(published: AnchoringAnalysis, model: str) -> None:
    expected = public_json("anchoring")["models"][model]
    found = by_variation(published, model)
    parts = published.scores[published.scores["group"] == model].set_index("stimulus")
    assert found.index.tolist() == [row["variation"] for row in expected["rows"]] + ["MODEL"]
    for row in expected["rows"]:
        own = found.loc[row["variation"]]
        assert (own["anchor_low"], own["anchor_high"]) == (row["anchor_low"], row["anchor_high"])
        reference = dict(row["ref"])
        assert np.exp(own["delta_shap"]) == pytest.approx(reference.pop("mult"), rel=1e-9)
        score = parts.loc[row["variation"]]
        for ours, theirs in {"w_log": "w_log", "w_shap": "w_shap", "rho": "rho", "concordance": "c"}.items():
            assert score[ours] == pytest.approx(reference.pop(theirs), abs=1e-9)
        for name, value in reference.items():
            # The random quantities too come from the same streams.
            assert own[name] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-9)), name
        assert own["call_p"] in row["call_p_allowed"]
        assert own["abss"] == pytest.approx(row["published_abss"], abs=1e-9)
    assert found.loc["MODEL", "abss_sum"] == pytest.approx(expected["published_abss_sum"], rel=1e-9)
    assert found.loc["MODEL", "abss_mean"] == pytest.approx(expected["published_abss_mean"], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("regime", "letter"), [("standard", "S"), ("different_anchors", "D")])
def test_the_published_summaries(published: AnchoringAnalysis, model: str, regime: str, letter: str) -> None:
    (path,) = (public("anchoring") / "stats").glob(f"anchoring_*{model}_statistical_summary_{regime}.csv")
    summary = pd.read_csv(path, keep_default_na=False)
    evs = published.soft_ev.query("group == @model").set_index(["stimulus", "term"])
    phis = published.attributions.query("group == @model and term == 'anchor' and payoff == 'logprob'")
    phis = phis.set_index(["stimulus", "condition"])
    for row in summary.to_dict("records"):
        name = f"V{row['VariationID']}-{letter}" if row["VariationID"] else "V0"
        for side, condition in (("1", "low"), ("2", "high")):
            ev = evs.loc[(name, condition), ["estimate", "spread", "band_low", "band_high"]]
            phi = phis.loc[(name, condition), ["estimate", "std_dev", "conf_low", "conf_high"]]
            for found, names in (
                (ev, ("EV{}", "EV{}_std", "CI{}_lower", "CI{}_upper")),
                (phi, ("ShapleyMean{}", "ShapleyStd{}", "ShapleyCI{}_lower", "ShapleyCI{}_upper")),
            ):
                assert found.tolist() == pytest.approx([row[each.format(side)] for each in names])


def test_the_published_ranking(published: AnchoringAnalysis) -> None:
    assert published.models["group"].tolist() == ["phi-2", "gpt2"]
    assert "404 scores of a second regime left out; the standard one is used." in published.notes
    assert any("no Shapley values" in note for note in published.notes)


@pytest.mark.slow
def test_shapley_in_units_of_the_answer_sums_to_the_full_less_the_empty_prompt() -> None:
    table = simulate_scores()
    found = analyze_anchoring(table)
    expected = found.soft_ev.set_index(["stimulus", "term"])["estimate"]
    units = found.attributions.query("payoff == 'soft_ev' and method == 'shapley'")
    for (stimulus, condition), value in units.groupby(["stimulus", "condition"])["estimate"].sum().items():
        rows = table.query("stimulus == @stimulus and condition == @condition and fields == ''")
        weights = np.exp(rows["logprob"] - rows["logprob"].max())
        empty = (weights * rows["value"]).sum() / weights.sum()
        assert value == pytest.approx(expected[stimulus, condition] - empty, abs=1e-9)


def test_both_methods_are_there_and_the_asked_one_counts() -> None:
    table = simulate_scores(stimuli={"V1-S": (10, 65)})
    shapley, banzhaf = (analyze_anchoring(table, method=method) for method in ("shapley", "banzhaf"))
    assert set(shapley.shifts["method"]) == {"shapley", "banzhaf"}
    pd.testing.assert_frame_equal(shapley.shifts, banzhaf.shifts)
    for found, method in ((shapley, "shapley"), (banzhaf, "banzhaf")):
        shift = found.shifts.set_index("method").loc[method]
        assert found.results["delta_shap"].iloc[0] == shift["estimate"] == shift["high"] - shift["low"]
        assert found.calls["call_a"].iloc[0] == shift["call"] and set(found.calls["method"]) == {method}
    assert shapley.results["abss"].iloc[0] != banzhaf.results["abss"].iloc[0]
    with pytest.raises(AnalysisError, match="method: 'owen' is unknown"):
        analyze_anchoring(table, method="owen")  # type: ignore[arg-type]


def test_sampled_orders() -> None:
    fields = [f"part{i}" for i in range(13)] + ["anchor"]
    present = coalitions(fields, "permutations", 12, seed=7)
    table = simulate_scores(stimuli={"mine": (10, 65)}, fields=fields, present=present, step=25)
    found = analyze_anchoring(table, seed=7, permutations=12)
    own = found.attributions.query("payoff == 'logprob'")
    assert set(own["method"]) == {"shapley"} and (own["sampling_error"] > 0).all()
    scores = table.groupby(["condition", "fields"])["logprob"].mean()
    for condition, value in own.groupby("condition")["estimate"].sum().items():
        assert value == pytest.approx(scores[condition, "+".join(fields)] - scores[condition, ""], rel=1e-9)
    assert found.calls["abss"].notna().all()
    wrong = analyze_anchoring(table, seed=8, permutations=12)
    assert wrong.attributions.empty and np.isnan(wrong.calls["delta_phi"].iloc[0])
    reason = "some prompts of the 12 permutations with seed 8 were not scored; give the design's numbers"
    assert wrong.calls["note"].tolist() == [reason]


@pytest.mark.slow
def test_only_the_full_prompt() -> None:
    found = analyze_anchoring(simulate_scores(present=[frozenset(FIELDS)]))
    assert found.calls["delta_ev"].notna().all() and found.calls["call_b"].str.startswith("B").all()
    assert found.calls["call_a"].eq("").all() and found.scores["estimate"].isna().all()
    assert found.scores["note"].eq("no attribution to the anchor: only the full prompt was scored").all()
    assert found.models["n"].tolist() == [0] and found.models["estimate"].isna().all()
    check_figures(report(found))


def test_a_prompt_without_an_anchor_field() -> None:
    found = analyze_anchoring(simulate_scores(fields=("scene", "question")))
    assert found.shifts.empty and not found.attributions.empty
    assert any(
        note == "alpha: no attribution to the anchor: no field is called 'anchor'." for note in found.notes
    )


def cut(table: pd.DataFrame, agent: str, stimulus: str, prompts: int) -> pd.DataFrame:
    """The table of a run that ended after so many prompts of a stimulus: low and high in turn, full last."""
    own = (table["agent"] == agent) & (table["stimulus"] == stimulus)
    number = table[own].groupby("condition")["trial"].transform(lambda trials: pd.factorize(trials)[0])
    turn = 2 * number + (table.loc[own, "condition"] == "high")
    return table.drop(turn.index[turn >= prompts]).reset_index(drop=True)


@pytest.mark.slow
def test_incomplete_variations_of_several_agents() -> None:
    stimuli = {"mine": (10, 65), "yours": (20, 75)}
    table = simulate_scores(agents=("alpha", "beta"), stimuli=stimuli)
    table = cut(cut(table, "beta", "mine", 8), "beta", "yours", 24)
    found = analyze_anchoring(table)
    assert found.notes[1] == (
        "beta: 2 of 2 variations left out: mine, yours (without the full prompt of both anchors)."
    )
    models = found.models.set_index("group")
    assert models["n"].to_dict() == {"alpha": 2, "beta": 0}
    assert models.loc["beta", "note"] == "no variation has a score"
    made = report(found)
    assert made.answer[1].startswith("beta: ABSS: not estimated (")
    check_figures(made)
    one = cut(simulate_scores(stimuli={"mine": (10, 65)}), "alpha", "mine", 24)
    with pytest.raises(AnalysisError, match="row 1: mine of alpha: fields: no prompt has all of them; score"):
        analyze_anchoring(one)


def test_a_missing_score_leaves_what_needs_it() -> None:
    table = simulate_scores(stimuli={"V1-S": (10, 65)}, step=5)
    whole = analyze_anchoring(table)
    full, low = table["fields"] == "+".join(FIELDS), table["condition"] == "low"
    table.loc[full & low & (table["value"] == 100), "logprob"] = -np.inf
    table.loc[(table["fields"] == "scene") & ~low & (table["value"] == 5), "logprob"] = np.nan
    found = analyze_anchoring(table)
    evs = found.soft_ev.set_index("term")
    assert evs["n_missing"].to_dict() == {"low": 1, "high": 0}
    assert evs.loc["high", "estimate"] == whole.soft_ev.set_index("term").loc["high", "estimate"]
    own = found.tests[found.tests["stimulus"] == "V1-S"]
    assert (own["n"] == 20).all() and (own["n_missing"] == 1).all()
    assert (found.shifts["n"] == 19).all() and (found.shifts["n_missing"] == 2).all()
    assert found.missing["reason"].tolist() == ["no reason given", "infinite"]
    assert found.notes[0] == "2 of 672 scores are missing."


@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=pytest.mark.thorough), 0.9])
def test_an_anchor_without_pull_is_seldom_claimed(correlation: float) -> None:
    """The scores of neighbouring answers go together; the variations do not."""
    rng, told, studies = np.random.default_rng(7), 0, size(60, 500)
    stimuli = {f"V{number}-S": (10, 65) for number in range(1, 6)}
    table = simulate_scores(stimuli=stimuli, fields=("anchor",), present=[frozenset({"anchor"})], pull=0.0)
    prompts = len(table) // 11
    for _ in range(studies):
        steps = rng.normal(0, (1 - correlation**2) ** 0.5, (prompts, 11))
        steps[:, 0] = rng.normal(0, 1, prompts)
        for at in range(1, 11):
            steps[:, at] += correlation * steps[:, at - 1]
        found = analyze_anchoring(table.assign(logprob=steps.ravel() - 12)).tests
        (row,) = found[found["stimulus"] == "all variations"].to_dict("records")
        assert row["n"] == 5
        told += row["p_value"] < 0.05
    assert told <= studies * 0.05 + 3 * (studies * 0.05 * 0.95) ** 0.5


def test_the_move_over_the_variations_is_in_percent_of_the_anchors_distance() -> None:
    found = analyze_anchoring(simulate_scores(3, agents=("alpha", "beta")))
    own = found.tests[found.tests["stimulus"] == "all variations"].set_index("group")
    for agent, calls in found.calls[found.calls["stimulus"] != "V0"].groupby("agent"):
        test = stats.ttest_1samp(moves := 100 * calls["delta_ev"] / 55, 0)
        interval = test.confidence_interval()
        told = own.loc[agent, ["estimate", "p_value", "conf_low", "conf_high"]].tolist()
        assert told == pytest.approx([moves.mean(), test.pvalue, interval.low, interval.high])


def test_a_model_that_lacks_variations_is_marked() -> None:
    found = analyze_anchoring(
        simulate_scores(agents=("alpha", "beta"), stimuli={"V1-S": (10, 65), "V1-D": (15, 70)})
    )
    assert found.models["note"].str.startswith("incomplete, compared by the mean: V2-S, V3-S").all()
    assert found.models["n"].tolist() == [2, 2] and found.models["n_missing"].tolist() == [8, 8]
    assert found.models["mean"].is_monotonic_decreasing


def test_equal_anchors_move_nothing() -> None:
    table = simulate_scores(stimuli={"V1-S": (10, 65)})
    low = table["condition"] == "low"
    table.loc[~low, "logprob"] = table.loc[low, "logprob"].to_numpy()
    own = analyze_anchoring(table).results.iloc[0]
    assert [own[f"call_{test}"] for test in "bwpa"] == ["B0", "", "P", "A0"]
    assert (own["p_log"], own["p_perm"], own["p_shap"], own["abss"]) == (1, 1, 1, 0)
    assert np.isnan([own["t_log"], own["w_stat"], own["p_wilcoxon"], own["t_shap"]]).all()


def test_a_common_shift_shows_in_raw_scores_only() -> None:
    table = simulate_scores(stimuli={"V1-S": (10, 65)})
    low = table["condition"] == "low"
    table.loc[~low, "logprob"] = table.loc[low, "logprob"].to_numpy() + 3
    tests = analyze_anchoring(table).tests.set_index(["scores", "term"])
    assert tests.loc[("raw", "paired t"), "p_value"] == 0
    assert tests.loc[("normalised", "paired t"), "p_value"] == 1


def test_a_target_that_one_prompt_lacks_leaves_both_normalised_scores() -> None:
    """The tests are those of a table that never had the target."""
    table = simulate_scores(
        stimuli={"V0": (10, 65)}, present=[frozenset({"scene", "anchor"})], fields=("scene", "anchor")
    )
    gap = table.copy()
    gap.loc[(gap["condition"] == "low") & (gap["target"] == "10%"), "logprob"] = np.nan
    without = table[table["target"] != "10%"]
    kept = ["term", "scores", "estimate", "statistic", "p_value", "n"]
    found, expected = (analyze_anchoring(each).tests[kept] for each in (gap, without))
    pd.testing.assert_frame_equal(found, expected)
