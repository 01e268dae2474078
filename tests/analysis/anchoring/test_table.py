"""Tables of scores and the study's own files: what is read, and what is refused in one line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.anchoring.pairs import pairs
from analysis.anchoring.table import check_scores, missing_scores, read_anchoring
from analysis.tables.errors import AnalysisError
from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conftest import public

PHI = ["phi_scene", "phi_comparative", "phi_absolute", "phi_anchor"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_scores_survives_its_file(tmp_path: Path, suffix: str) -> None:
    table = simulate_scores()
    table.loc[3, ["logprob", "note"]] = [np.nan, "unknown token"]
    path = tmp_path / f"scores{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    checked = check_scores(read_anchoring(path))
    assert checked["logprob"].to_numpy() == pytest.approx(table["logprob"].to_numpy(), nan_ok=True, rel=1e-14)
    assert set(checked["fields"]) == set(table["fields"]) and "" in set(checked["fields"])
    missing = missing_scores(checked).to_dict("records")
    cell = {"agent": "alpha", "stimulus": "V0", "condition": "low"}
    assert missing == [cell | {"reason": "unknown token", "count": 1, "asked": 176}]
    pd.testing.assert_frame_equal(check_scores(checked), checked)


def test_an_infinite_score_is_undefined(tmp_path: Path) -> None:
    table = simulate_scores()
    table.loc[[0, 1], "logprob"] = [-np.inf, np.nan]
    table.to_csv(tmp_path / "scores.csv", index=False)
    own = write_simulation(tmp_path)
    own.write_text(own.read_text().replace("-9.5", "-inf", 1))
    for read, notes in (
        (table, ["infinite", "no reason given"]),
        (read_anchoring(tmp_path / "scores.csv"), ["infinite", "no reason given"]),
        (read_anchoring(own), ["infinite"]),
    ):
        checked = check_scores(read)
        undefined = checked["logprob"].isna()
        assert (
            checked.loc[undefined, "note"].tolist() == notes and (checked.loc[~undefined, "note"] == "").all()
        )


def test_targets_meet_by_name_and_prompts_by_their_fields() -> None:
    table = check_scores(simulate_scores().sample(frac=1, random_state=1))
    found = {pair.stimulus: pair for pair in pairs(table)[0]}
    assert list(found) == ["V0", "V1-S", "V2-D"]
    pair = found["V2-D"]
    assert pair.fields == ("scene", "comparative", "absolute", "anchor")
    assert pair.values.tolist() == list(range(0, 101, 10)) and (pair.low.anchor, pair.high.anchor) == (20, 75)
    one = table[(table["stimulus"] == "V2-D") & (table["condition"] == "high") & (table["fields"] == "scene")]
    assert pair.high.coalitions[frozenset({"scene"})].tolist() == one.sort_values("value")["logprob"].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"condition": "middle"}, "condition: 'middle' is unknown; use low or high"),
        ({"logprob": "much"}, "row 5: logprob: 'much' is not a number"),
        ({"value": None}, "row 5: value: is empty; every row needs one"),
        ({"value": 3}, "value differs between rows of the same target"),
        ({"anchor": 11}, "anchor differs between rows of the same condition"),
        ({"target": "0%", "value": 0}, "a target stands twice for one prompt"),
        ({"run": "another"}, "the stimulus stands in several runs of this agent; analyse one run"),
    ],
)
def test_a_wrong_row_is_one_line(change: dict[str, object], message: str) -> None:
    table = simulate_scores().astype(object)
    for name, value in change.items():
        table.loc[4, name] = value
    with pytest.raises(AnalysisError, match=message) as caught:
        check_scores(table)
    assert "\n" not in str(caught.value)


def test_a_wrong_table_is_one_line() -> None:
    table = simulate_scores(stimuli={"V0": (65, 10)})
    with pytest.raises(AnalysisError, match="table: row 1: trial 'V0/low/0': anchor: low is not below high"):
        check_scores(table)
    with pytest.raises(AnalysisError, match="column 'fields' is missing"):
        check_scores(table.drop(columns="fields"))
    with pytest.raises(AnalysisError, match="no rows"):
        check_scores(table[:0])
    some = [frozenset({"scene"}), frozenset({"anchor"})]
    with pytest.raises(AnalysisError, match="fields: no prompt has all of them; score the full prompt too"):
        pairs(check_scores(simulate_scores(present=some)))


def write_simulation(folder: Path, name: str = "anchoring_some_model-1_results_standard.csv") -> Path:
    rows = [
        {"VariationID": question, "Anchor": anchor, "TargetToken": f"{value}%", "LogProbFullPrompt": -9.5}
        | {f"Shapley_{field}": 0.1 for field in ("scene", "comparative", "absolute", "anchor")}
        | {"TargetInt": value}
        for question in range(6)
        for anchor in (70, 15)
        for value in range(3)
    ]
    path = folder / name
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_a_simulation_file_is_named_by_its_model_and_regime(tmp_path: Path) -> None:
    table = check_scores(read_anchoring(write_simulation(tmp_path)))
    assert set(table["agent"]) == {"model-1"} and set(table["run"]) == {"standard"}
    assert table["stimulus"].unique().tolist() == ["V0", "V1-S", "V2-S", "V3-S", "V4-S", "V5-S"]
    assert (table["condition"] == np.where(table["anchor"] == 15, "low", "high")).all()
    assert set(table["fields"]) == {"scene+comparative+absolute+anchor"} and (table[PHI] == 0.1).all(
        axis=None
    )
    write_simulation(tmp_path, "anchoring_some_model-1_results_different_anchors.csv")
    both = read_anchoring(tmp_path)
    assert len(both) == 72 and set(both["stimulus"]) >= {"V0", "V5-S", "V5-D"}
    once = check_scores(both)
    assert len(once) == 66 and set(once.loc[once["stimulus"] == "V0", "run"]) == {"standard"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Shapley_anchor", "Shapley_a", "column 'Shapley_anchor' is missing; use the study's own file"),
        ("TargetToken", "Token", "column 'TargetToken' is missing"),
        ("0,70,0%,-9.5", "0,70,0%,low", "csv:2: LogProbFullPrompt: 'low' is not a number"),
        ("5,70,0%", "6,70,0%", "csv:32: VariationID: '6' is above 5"),
        ("5,70,0%", "5,71,0%", "csv:32: Anchor: the variation has not exactly two"),
    ],
)
def test_a_broken_simulation_file_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = write_simulation(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(AnalysisError, match=message) as caught:
        read_anchoring(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("score", ["0.5", "inf"])
def test_a_logarithm_above_0_is_refused_in_both_formats(tmp_path: Path, score: str) -> None:
    path = write_simulation(tmp_path)
    path.write_text(path.read_text().replace("-9.5", score, 1))
    with pytest.raises(AnalysisError, match=rf"standard\.csv:2: LogProbFullPrompt: '{score}' is above 0"):
        read_anchoring(path)
    table = simulate_scores()
    table.loc[4, "logprob"] = float(score)
    with pytest.raises(AnalysisError, match=rf"table: row 5: logprob: '{score}' is above 0; correct it"):
        check_scores(table)
    table.loc[4, "logprob"] = 1e-7
    assert check_scores(table).loc[4, "logprob"] == 0, "rounding"


def test_probabilities_of_more_than_1_are_refused() -> None:
    table = simulate_scores()
    prompt = (table["stimulus"] == "V2-D") & (table["condition"] == "high") & (table["fields"] == "scene")
    place = int(np.flatnonzero(prompt)[0]) + 1
    table.loc[prompt, "logprob"] = np.log(1 / prompt.sum())
    check_scores(table)
    message = rf"row {place}: trial 'V2-D/high/\d+': the probabilities of this prompt's targets .* \(9\.953"
    with pytest.raises(AnalysisError, match=message):
        check_scores(table.assign(logprob=table["logprob"].mask(prompt, -0.1)))
    # An answer with which another one begins is certain where the other is.
    zeros = (table["value"] // 10).map(lambda count: "0" * count)
    check_scores(table.assign(target="1" + zeros, logprob=-0.1))


def test_files_that_are_not_there_or_are_named_otherwise(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="unknown name; call it anchoring_MODEL_results_standard"):
        read_anchoring(write_simulation(tmp_path, "mine.csv"))
    with pytest.raises(AnalysisError, match="no anchoring_MODEL_results_standard"):
        read_anchoring(tmp_path)
    with pytest.raises(AnalysisError, match="no such file"):
        read_anchoring(tmp_path / "none.csv")


def test_the_public_files() -> None:
    table = read_anchoring(public("anchoring") / "simulation")
    assert table.groupby(["agent", "run"]).size().to_dict() == {
        (agent, run): 1212 for agent in ("gpt2", "phi-2") for run in ("standard", "different_anchors")
    }
    assert table[["logprob", *PHI]].notna().all(axis=None)
