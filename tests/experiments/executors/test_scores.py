"""Runs that score: every prompt once, batches stored as they end, and the way from the store to the table."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from agents.base import ProviderError
from agents.scoring import TargetScore
from analysis.anchoring.study import analyze_anchoring
from analysis.anchoring.table import read_anchoring
from experiments.designs.scoring.design import ScoreDesign
from experiments.executors.scores import BATCH, BatchingScorer
from experiments.records.reading.tidy_tables import score_table, write_table
from experiments.runs.experiment_run import ExperimentRun
from tests.experiments.command_line import forked_souk

STUDY = """\
name: few-scores
task: score
targets: {from: 0, to: 20, format: "{}%"}
attribution: exact
"""
AGENT = "hf:tiny"


class NearAnchor:
    """A model that holds numbers near the last one in the prompt for likelier; it counts what it is asked."""

    name = AGENT

    def __init__(self, undefined: str = "", failures: int = 0) -> None:
        self.prompts: list[str] = []
        self.batches: list[int] = []
        self._undefined = undefined
        self._failures = failures

    async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> list[list[TargetScore]]:
        await asyncio.sleep(0)
        self._failures -= 1
        if self._failures >= 0:
            raise ProviderError("gone")
        self.prompts += prompts
        self.batches.append(len(prompts))
        return [[self._score(prompt, target) for target in targets] for prompt in prompts]

    def _score(self, prompt: str, target: str) -> TargetScore:
        if target == self._undefined:
            return TargetScore(None, 2, shifted=False, note="not a number")
        words = [word.strip(".?") for word in prompt.split()]
        numbers = [int(word) for word in words if word.isdigit()] or [50]
        # The first term keeps the probabilities of all answers below 1 together.
        return TargetScore(-1 - abs(int(target[:-1]) - numbers[-1] / 4) - len(words) / 100, 2, False, "")


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> NearAnchor:
    return used(NearAnchor(), monkeypatch)


def used(scorer: NearAnchor, monkeypatch: pytest.MonkeyPatch) -> NearAnchor:
    monkeypatch.setattr("experiments.executors.scores.make_scorer", lambda *_, **__: scorer)
    return scorer


def prepared(folder: Path, text: str = STUDY, limit: int | None = None) -> ExperimentRun:
    (folder / "x.yaml").write_text(text)
    return ExperimentRun(
        str(folder / "x.yaml"), agents=[AGENT], limit=limit, db=f"sqlite:///{folder}/t.db", out=folder
    )


def ended(folder: Path, text: str = STUDY, limit: int | None = None) -> ExperimentRun:
    run = prepared(folder, text, limit)
    asyncio.run(run.run(Console(quiet=True)))
    return run


@pytest.mark.slow
def test_every_trial_has_the_scores_of_its_prompt(tmp_path: Path, scorer: NearAnchor) -> None:
    run = ended(tmp_path)
    assert (run.total, run.done) == (352, 352)
    assert len(scorer.prompts) == len(set(scorer.prompts)) == 209
    assert max(scorer.batches) == BATCH
    table = score_table(run.records, run.design.run_id)
    assert len(table) == 352 * 21
    assert isinstance(run.design, ScoreDesign)
    direct = NearAnchor()
    rows = {
        (trial, target): logprob for trial, target, logprob in table[["trial", "target", "logprob"]].values
    }
    for trial in run.design.trials([AGENT]):
        assert rows[trial.id, "7%"] == direct._score(trial.prompt, "7%").logprob
    first = table[(table["stimulus"] == "V1-D") & (table["fields"] == "scene+comparative+absolute+anchor")]
    assert set(first["anchor"]) == {15.0, 70.0}
    assert set(zip(table["target"], table["value"], strict=True)) == {(f"{n}%", float(n)) for n in range(21)}


@pytest.mark.slow
def test_from_the_store_over_a_file_to_the_analysis(tmp_path: Path, scorer: NearAnchor) -> None:
    run = ended(tmp_path)
    stored = score_table(run.records, run.design.run_id)
    write_table(stored, tmp_path / "s.csv")
    frames = [analyze_anchoring(table).results for table in (stored, read_anchoring(tmp_path / "s.csv"))]
    pd.testing.assert_frame_equal(*frames)
    v0 = frames[0].set_index("variation").loc["V0"]
    assert v0["delta_ev"] > 5
    assert v0["call_b"].startswith("B+")


@pytest.mark.slow
def test_a_run_that_ends_within_a_variation_is_analysed(tmp_path: Path, scorer: NearAnchor) -> None:
    """120 prompts are three variations of 32, and a part of the fourth."""
    run = ended(tmp_path, limit=120)
    found = analyze_anchoring(score_table(run.records, run.design.run_id))
    names = list(dict.fromkeys(trial.set for trial in run.design.trials([AGENT])))
    assert set(found.calls["stimulus"]) == set(names[:3]) and found.calls["abss"].notna().all()
    (note,) = [note for note in found.notes if "left out" in note]
    assert note.startswith(f"{AGENT}: 1 of 4 variations left out: {names[3]} (")


def test_undefined_scores_keep_their_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used(NearAnchor(undefined="3%"), monkeypatch)
    run = ended(tmp_path, STUDY, limit=32)
    table = score_table(run.records, run.design.run_id)
    empty = table[table["logprob"].isna()]
    assert set(empty["target"]) == {"3%"}
    assert set(empty["note"]) == {"not a number"}
    assert len(empty) == 32


def test_a_batch_that_fails_is_scored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.runs.outages.PAUSES", (0.0, 0.0))
    used(NearAnchor(failures=1), monkeypatch)
    run = ended(tmp_path, STUDY, limit=32)
    assert run.records.outcomes(run.design.run_id) == {"choice": 32}


@pytest.mark.slow
def test_a_command_again_scores_what_is_missing(tmp_path: Path, scorer: NearAnchor) -> None:
    ended(tmp_path, STUDY, limit=32)
    before = len(scorer.prompts)
    again = ended(tmp_path)
    assert again.done == 352
    assert before < len(scorer.prompts) < 209 + before
    asked = len(scorer.prompts)
    ended(tmp_path)
    assert len(scorer.prompts) == asked


def test_scores_are_made_in_one_process(tmp_path: Path, scorer: NearAnchor) -> None:
    from experiments.executors.workers import Workers
    from interventions.errors import UserError

    with pytest.raises(UserError, match="scores are made in one process"):
        asyncio.run(prepared(tmp_path).run(Console(quiet=True), Workers(2)))


async def test_who_stops_waiting_does_not_stop_the_others() -> None:
    slow = asyncio.Event()

    class Slow(NearAnchor):
        async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> list[list[TargetScore]]:
            await slow.wait()
            return await super().score(prompts, targets)

    together = BatchingScorer(Slow())
    one, other = (asyncio.create_task(together.score(["a 8"], ["1%", "2%"])) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    slow.set()
    assert [score.logprob for score in (await other)[0]] == [pytest.approx(-2.02), pytest.approx(-1.02)]
    await together.close()


def test_mistakes_of_the_command_are_one_line(tmp_path: Path) -> None:
    for options, message in (
        (("--agent", "simulated:balanced"), "error: agents: simulated:balanced gives no log-probabilities"),
        (("--mode", "text"), "error: --mode text: anchoring scores targets; leave --mode out"),
    ):
        found = forked_souk("run", "anchoring", *options, cwd=tmp_path)
        assert (found.status, found.err.startswith(message), found.err.count("\n")) == (2, True, 1), found.err
