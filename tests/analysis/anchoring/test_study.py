"""The analysis as a whole: the published numbers, what is undefined, and the report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from analysis.anchoring.coalitions import coalitions
from analysis.anchoring.report import report
from analysis.anchoring.results import RESULTS
from analysis.anchoring.study import AnchoringAnalysis, analyze_anchoring
from analysis.anchoring.table import read_anchoring
from analysis.reporting.html import write_files, write_report
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import FRAME_COLUMNS
from tests.support import usual

Scores = Callable[..., pd.DataFrame]
Check = Callable[[Figure], None]
MODELS = ("gpt2", "phi-2")
FIELDS = ("scene", "comparative", "absolute", "anchor")


@pytest.fixture(scope="module")
def published(public: Path) -> AnchoringAnalysis:
    return analyze_anchoring(read_anchoring(public / "simulation"))


@pytest.fixture(scope="module")
def analysis(simulate: Scores) -> AnchoringAnalysis:
    return analyze_anchoring(simulate(agents=("alpha", r"$\frac{$ <b>& a name too long for any margin")))


def by_variation(published: AnchoringAnalysis, model: str) -> pd.DataFrame:
    return published.results[published.results["model"] == model].set_index("variation")


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_reference_number(
    published: AnchoringAnalysis, public_json: Callable[[str], Any], model: str
) -> None:
    expected = public_json("expected-public.json")["models"][model]
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
        table = row["published_table"]
        rounded = {
            "ev_low": own["soft_ev_low"],
            "ev_low_lo": own["soft_ev_low_lo"],
            "ev_low_hi": own["soft_ev_low_hi"],
            "ev_high": own["soft_ev_high"],
            "ev_high_lo": own["soft_ev_high_lo"],
            "ev_high_hi": own["soft_ev_high_hi"],
            "delta_ev": own["delta_ev"],
            "delta_shap": own["delta_shap"],
            "mult": np.exp(own["delta_shap"]),
        }
        for name, value in rounded.items():
            assert value == pytest.approx(table[name], abs=0.00501), (row["variation"], name)
        assert [own[f"call_{test}"] for test in "bwpa"] == [table[test] for test in "bwpa"]
    assert found.loc["MODEL", "abss_sum"] == pytest.approx(expected["published_abss_sum"], rel=1e-9)
    assert found.loc["MODEL", "abss_mean"] == pytest.approx(expected["published_abss_mean"], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("regime", "letter"), [("standard", "S"), ("different_anchors", "D")])
def test_the_published_summaries(
    published: AnchoringAnalysis, public: Path, model: str, regime: str, letter: str
) -> None:
    (path,) = (public / "stats").glob(f"anchoring_*{model}_statistical_summary_{regime}.csv")
    summary = pd.read_csv(path, keep_default_na=False)
    found = by_variation(published, model)
    evs = published.soft_ev.query("group == @model").set_index(["stimulus", "term"])
    phis = published.attributions.query("group == @model and term == 'anchor' and payoff == 'logprob'")
    phis = phis.set_index(["stimulus", "condition"])
    normal = published.tests.query("group == @model and scores == 'raw'").set_index(["stimulus", "term"])
    for row in summary.to_dict("records"):
        name = f"V{row['VariationID']}-{letter}" if row["VariationID"] else "V0"
        own = found.loc[name]
        for side, condition in (("1", "low"), ("2", "high")):
            ev = evs.loc[(name, condition)]
            published_ev = [
                row[f"{key.format(side)}"] for key in ("EV{}", "EV{}_std", "CI{}_lower", "CI{}_upper")
            ]
            assert ev[["estimate", "spread", "band_low", "band_high"]].tolist() == pytest.approx(published_ev)
            phi = phis.loc[(name, condition)]
            keys = ("ShapleyMean{}", "ShapleyStd{}", "ShapleyCI{}_lower", "ShapleyCI{}_upper")
            assert phi[["estimate", "std_dev", "conf_low", "conf_high"]].tolist() == pytest.approx(
                [row[key.format(side)] for key in keys]
            )
        assert normal.loc[(name, "paired t"), "estimate"] == pytest.approx(
            row["LogProbMean2"] - row["LogProbMean1"], abs=1e-9
        )
        assert (own["t_log"], own["t_shap"]) == pytest.approx((-row["t_LogProb"], -row["t_ShapleyAnchor"]))
        for ours, theirs in {
            "p_log": "p_LogProb",
            "p_wilcoxon": "p_Wilcoxon",
            "p_perm": "p_Permutation",
            "p_shap": "p_ShapleyAnchor",
        }.items():
            assert own[ours] == pytest.approx(row[theirs], rel=1e-9)
        assert own["w_stat"] == row["W_LogProb"]
        assert own["call_b"].lstrip("B+-0") == row["sig_LogProb"]
        assert own["call_w"] == f"W{row['sig_Wilcoxon']}" and own["call_p"] == f"P{row['sig_Permutation']}"
        assert own["call_a"].lstrip("A+-0") == row["sig_ShapleyAnchor"]
        assert (own["delta_ev"] > 0, own["delta_shap"] > 0) == (
            row["Anchoring_EV"],
            row["Anchoring_ShapleyMean"],
        )


def test_the_published_scores_and_ranking(published: AnchoringAnalysis, public: Path) -> None:
    every = pd.read_csv(public / "abss" / "bss_per_variation_gpt2_phi-2.csv").set_index(["Model", "Var"])
    own = published.scores.set_index(["group", "stimulus"])["estimate"]
    assert own.to_dict() == pytest.approx(every["BSS_var"].to_dict(), abs=1e-9)
    models = pd.read_csv(public / "abss" / "bss_by_model_gpt2_phi-2.csv").set_index("Model")
    assert published.models["group"].tolist() == ["phi-2", "gpt2"]
    for row in published.models.to_dict("records"):
        sums = models.loc[row["group"]]
        assert (row["estimate"], row["mean"], row["n"]) == pytest.approx(
            (sums["BSS_model_sum"], sums["BSS_model_avg"], sums["Variations"])
        )
    assert "404 scores of a second regime left out; the standard one is used." in published.notes
    assert any("no Shapley values" in note for note in published.notes)


@pytest.mark.slow
def test_shapley_sums_to_the_full_less_the_empty_prompt(
    simulate: Scores, analysis: AnchoringAnalysis
) -> None:
    table = simulate(agents=("alpha",))
    scores = table.groupby(["stimulus", "condition", "fields"])["logprob"].mean()
    own = analysis.attributions.query("group == 'alpha' and payoff == 'logprob' and method == 'shapley'")
    for (stimulus, condition), value in own.groupby(["stimulus", "condition"])["estimate"].sum().items():
        gained = scores[stimulus, condition, "+".join(FIELDS)] - scores[stimulus, condition, ""]
        assert value == pytest.approx(gained, rel=1e-12)
    expected = analysis.soft_ev.query("group == 'alpha'").set_index(["stimulus", "term"])["estimate"]
    units = analysis.attributions.query("group == 'alpha' and payoff == 'soft_ev' and method == 'shapley'")
    for (stimulus, condition), value in units.groupby(["stimulus", "condition"])["estimate"].sum().items():
        rows = table.query("stimulus == @stimulus and condition == @condition and fields == ''")
        weights = np.exp(rows["logprob"] - rows["logprob"].max())
        empty = (weights * rows["value"]).sum() / weights.sum()
        assert value == pytest.approx(expected[stimulus, condition] - empty, abs=1e-9)


def test_both_methods_are_there_and_the_asked_one_counts(simulate: Scores) -> None:
    table = simulate(stimuli={"V1-S": (10, 65)})
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


def test_sampled_orders(simulate: Scores) -> None:
    fields = [f"part{i}" for i in range(13)] + ["anchor"]
    present = coalitions(fields, "permutations", 12, seed=7)
    table = simulate(stimuli={"mine": (10, 65)}, fields=fields, present=present, step=25)
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
def test_only_the_full_prompt(simulate: Scores, check_uncut: Check) -> None:
    found = analyze_anchoring(simulate(present=[frozenset(FIELDS)]))
    assert found.calls["delta_ev"].notna().all() and found.calls["call_b"].str.startswith("B").all()
    assert found.calls["call_a"].eq("").all() and found.scores["estimate"].isna().all()
    assert found.scores["note"].eq("no attribution to the anchor: only the full prompt was scored").all()
    assert found.models["n"].tolist() == [0] and found.models["estimate"].isna().all()
    for section in report(found).sections:
        for figure in section.figures:
            check_uncut(figure.figure)


def test_a_prompt_without_an_anchor_field(simulate: Scores) -> None:
    found = analyze_anchoring(simulate(fields=("scene", "question")))
    assert found.shifts.empty and not found.attributions.empty
    assert any(
        note == "alpha: no attribution to the anchor: no field is called 'anchor'." for note in found.notes
    )


WHOLE = {"V0": (10, 65), "V1-S": (10, 65), "V2-D": (20, 75), "V3-D": (30, 85)}


def cut(table: pd.DataFrame, agent: str, stimulus: str, prompts: int) -> pd.DataFrame:
    """The table of a run that ended after so many prompts of a stimulus: low and high in turn, full last."""
    own = (table["agent"] == agent) & (table["stimulus"] == stimulus)
    number = table[own].groupby("condition")["trial"].transform(lambda trials: pd.factorize(trials)[0])
    turn = 2 * number + (table.loc[own, "condition"] == "high")
    return table.drop(turn.index[turn >= prompts]).reset_index(drop=True)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("prompts", usual([1, 2, 15, 16, 17, 24, 30, 31], 3))
def test_an_incomplete_variation_is_left_out_and_named(simulate: Scores, prompts: int) -> None:
    """The others are as in a table that never had it, but that it is missing in the ranking."""
    table = simulate(stimuli=WHOLE)
    found = analyze_anchoring(cut(table, "alpha", "V3-D", prompts))
    without = analyze_anchoring(table[table["stimulus"] != "V3-D"])
    for name, value in vars(without).items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(getattr(found, name), value)
    (note,) = set(found.notes[1:]) - set(without.notes)
    assert note == "alpha: 1 of 4 variations left out: V3-D (without the full prompt of both anchors)."
    assert note in report(found).problems
    assert "V3-D" in found.models["note"][0]


@pytest.mark.slow
def test_incomplete_variations_of_several_agents(simulate: Scores, check_uncut: Check) -> None:
    stimuli = {"mine": (10, 65), "yours": (20, 75)}
    table = simulate(agents=("alpha", "beta"), stimuli=stimuli)
    table = cut(cut(table, "beta", "mine", 8), "beta", "yours", 24)
    found = analyze_anchoring(table)
    assert found.notes[1] == (
        "beta: 2 of 2 variations left out: mine, yours (without the full prompt of both anchors)."
    )
    models = found.models.set_index("group")
    assert models["n"].to_dict() == {"alpha": 2, "beta": 0}
    assert models.loc["beta", "note"] == "no variation has a score"
    made = report(found)
    assert made.answer[1].startswith("beta: the scores of the answers: no test; ABSS: not estimated (")
    for section in made.sections:
        for figure in section.figures:
            check_uncut(figure.figure)
    one = cut(simulate(stimuli={"mine": (10, 65)}), "alpha", "mine", 24)
    with pytest.raises(AnalysisError, match="row 1: mine of alpha: fields: no prompt has all of them; score"):
        analyze_anchoring(one)


def test_a_missing_score_leaves_what_needs_it(simulate: Scores) -> None:
    table = simulate(stimuli={"V1-S": (10, 65)}, step=5)
    whole = analyze_anchoring(table)
    full, low = table["fields"] == "+".join(FIELDS), table["condition"] == "low"
    table.loc[full & low & (table["value"] == 100), "logprob"] = -np.inf
    table.loc[(table["fields"] == "scene") & ~low & (table["value"] == 5), "logprob"] = np.nan
    found = analyze_anchoring(table)
    evs = found.soft_ev.set_index("term")
    assert evs["n_missing"].to_dict() == {"low": 1, "high": 0}
    assert evs.loc["high", "estimate"] == whole.soft_ev.set_index("term").loc["high", "estimate"]
    assert (found.tests["n"] == 20).all() and (found.tests["n_missing"] == 1).all()
    assert (found.shifts["n"] == 19).all() and (found.shifts["n_missing"] == 2).all()
    assert found.missing["reason"].tolist() == ["no reason given", "infinite"]
    assert found.notes[0] == "2 of 672 scores are missing."


@pytest.mark.thorough
@pytest.mark.slow
def test_nothing_scored_and_one_condition_only(simulate: Scores, check_uncut: Check) -> None:
    table = simulate(stimuli={"V1-S": (10, 65), "V2-D": (20, 75)})
    empty = table["stimulus"] == "V1-S"
    table.loc[empty, ["logprob", "note"]] = [np.nan, "away"]
    table = table[empty | (table["condition"] == "low")]
    found = analyze_anchoring(table)
    own = found.results.set_index("variation")
    numbers = ["delta_ev", "t_log", "p_log", "w_stat", "p_wilcoxon", "p_perm", "delta_shap", "abss"]
    assert own.loc[["V1-S", "V2-D"], numbers].isna().all(axis=None)
    assert own.loc["V2-D", "soft_ev_low"] > 0 and np.isnan(own.loc["V2-D", "anchor_high"])
    assert (own.loc[["V1-S", "V2-D"], ["call_b", "call_w", "call_p", "call_a"]] == "").all(axis=None)
    undefined = found.tests[found.tests["p_value"].isna()]
    assert len(undefined) == len(found.tests) and (undefined["note"] != "").all()
    assert found.models["note"].tolist() == ["no variation has a score"]
    for section in report(found).sections:
        for figure in section.figures:
            check_uncut(figure.figure)


def test_a_model_that_lacks_variations_is_marked(simulate: Scores) -> None:
    found = analyze_anchoring(
        simulate(agents=("alpha", "beta"), stimuli={"V1-S": (10, 65), "V1-D": (15, 70)})
    )
    assert found.models["note"].str.startswith("incomplete, compared by the mean: V2-S, V3-S").all()
    assert found.models["n"].tolist() == [2, 2] and found.models["n_missing"].tolist() == [8, 8]
    assert found.models["mean"].is_monotonic_decreasing


def test_equal_anchors_move_nothing(simulate: Scores) -> None:
    table = simulate(stimuli={"V1-S": (10, 65)})
    low = table["condition"] == "low"
    table.loc[~low, "logprob"] = table.loc[low, "logprob"].to_numpy()
    own = analyze_anchoring(table).results.iloc[0]
    assert [own[f"call_{test}"] for test in "bwpa"] == ["B0", "", "P", "A0"]
    assert (own["p_log"], own["p_perm"], own["p_shap"], own["abss"]) == (1, 1, 1, 0)
    assert np.isnan([own["t_log"], own["w_stat"], own["p_wilcoxon"], own["t_shap"]]).all()


def test_a_common_shift_shows_in_raw_scores_only(simulate: Scores) -> None:
    table = simulate(stimuli={"V1-S": (10, 65)})
    low = table["condition"] == "low"
    table.loc[~low, "logprob"] = table.loc[low, "logprob"].to_numpy() + 3
    tests = analyze_anchoring(table).tests.set_index(["scores", "term"])
    assert tests.loc[("raw", "paired t"), "p_value"] == 0
    assert tests.loc[("normalised", "paired t"), "p_value"] == 1


def test_a_target_that_one_prompt_lacks_leaves_both_normalised_scores(simulate: Scores) -> None:
    """The tests are those of a table that never had the target."""
    table = simulate(
        stimuli={"V0": (10, 65)}, present=[frozenset({"scene", "anchor"})], fields=("scene", "anchor")
    )
    gap = table.copy()
    gap.loc[(gap["condition"] == "low") & (gap["target"] == "10%"), "logprob"] = np.nan
    without = table[table["target"] != "10%"]
    kept = ["term", "scores", "estimate", "statistic", "p_value", "n"]
    found, expected = (analyze_anchoring(each).tests[kept] for each in (gap, without))
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.slow
def test_the_seed_gives_the_numbers(simulate: Scores) -> None:
    table = simulate()
    first, again, other = (analyze_anchoring(table, seed=seed) for seed in (1, 1, 2))
    assert first.to_json() == again.to_json()
    assert (first.soft_ev["band_low"] != other.soft_ev["band_low"]).any()
    assert set(first.soft_ev["seed"]) == {1} and first.soft_ev["stream"].str.contains("default_rng").all()


def test_frames_have_the_columns_of_every_estimator(analysis: AnchoringAnalysis) -> None:
    plain = {"missing", "distributions", "calls", "results"}
    for name, value in vars(analysis).items():
        if isinstance(value, pd.DataFrame) and name not in plain:
            assert tuple(value.columns[: len(FRAME_COLUMNS)]) == FRAME_COLUMNS, name
    assert tuple(analysis.results.columns) == RESULTS
    assert (
        analysis.distributions.groupby(["agent", "stimulus", "condition"])["probability"].sum()
    ).to_numpy() == (pytest.approx(1))
    text = analysis.to_json()
    assert "NaN" not in text and "Infinity" not in text
    assert json.loads(text)["models"][0]["rank"] == 1


@pytest.mark.thorough
@pytest.mark.slow
def test_the_report(analysis: AnchoringAnalysis, check_uncut: Check, tmp_path: Path) -> None:
    made = report(analysis)
    sections = made.sections
    tables = {table.name for section in sections for table in section.tables}
    frames = {name for name, value in vars(analysis).items() if isinstance(value, pd.DataFrame)}
    assert tables == frames - {"missing"}, "no score is missing"
    figures = {figure.name: figure.figure for section in sections for figure in section.figures}
    many = {
        f"{kind}_{agent}"
        for kind in ("distributions", "attribution_shapley", "attribution_banzhaf")
        for agent in (1, 2)
    }
    assert set(figures) == {"soft_ev", "abss", "abss_ranking"} | many
    for figure in figures.values():
        check_uncut(figure)
    write_report(tmp_path / "report.html", "Anchoring", {}, made)
    assert "uniform mean" in (tmp_path / "report.html").read_text()
    tables_only = [type(each)(each.title, each.text, each.tables) for each in sections]
    paths = write_files(tmp_path, tables_only)
    again = pd.read_csv(tmp_path / "results.csv")
    assert tmp_path / "results.csv" in paths and tuple(again.columns) == RESULTS
    assert again.loc[again["variation"] == "MODEL", "abss_sum"].notna().all()
