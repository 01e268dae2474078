"""Cards whose letters are scored: the likeliest is the choice, and every probability is stored."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sql
from rich.console import Console

from agents.scoring import TargetScore
from analysis.biases.study import analyze_biases
from experiments.records import tables
from experiments.records.reading.tidy_tables import response_table, tidy_table
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError

AGENT = "hf:tiny"
CARDS = """\
name: scored
task: card
mode: logprobs
"""
HOTELS = "cards: hotels\ndesign: {conjoint: {blocks: [{set_size: 3, sets: 4, repeats: 2}]}}\n"
BIASES = "cards: biases\ndesign: {battery: {scenarios: [base, odd], temperatures: [0.2, 0.7], valid: 5}}\n"
WTP = "cards: willingness-to-pay\ndesign: {factorial: {repeats: 2}}\n"


class Alphabet:
    """A model to which B is three times as likely as A, and every other letter impossible."""

    name = AGENT

    async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> list[list[TargetScore]]:
        likely = {"A": 0.02, "B": 0.06}
        row = [
            TargetScore(math.log(likely.get(target, 1e-9)), 1, shifted=False, note="") for target in targets
        ]
        return [row for _ in prompts]


@pytest.fixture(autouse=True)
def scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.executors.scores.make_scorer", lambda *_, **__: Alphabet())


def ended(folder: Path, text: str) -> ExperimentRun:
    (folder / "x.yaml").write_text(CARDS + text)
    run = ExperimentRun(
        str(folder / "x.yaml"), agents=[AGENT], limit=None, db=f"sqlite:///{folder}/t.db", out=folder
    )
    asyncio.run(run.run(Console(quiet=True)))
    return run


def test_the_likeliest_letter_is_the_choice(tmp_path: Path) -> None:
    run = ended(tmp_path, HOTELS)
    assert (run.total, run.done) == (16, 16)
    table = tidy_table(run.records, run.design.run_id)
    assert set(table.loc[table["chosen"] == 1, "position"]) == {1}
    with run.records.engine.connect() as connection:
        rows = connection.execute(sql.select(tables.scores).order_by(tables.scores.c.number)).all()
    shares = {row.target: math.exp(row.logprob) for row in rows}
    assert len(rows) == 3 * 16
    assert shares["B"] == pytest.approx(0.75, abs=1e-6)
    assert sum(shares.values()) == pytest.approx(1)
    chance = table.groupby("position")["chance"].agg(["min", "max"])
    assert chance.to_numpy() == pytest.approx(np.array([[0.25] * 2, [0.75] * 2, [0] * 2]), abs=1e-6)


def test_a_question_is_scored_once_and_numbers_are_left_out(tmp_path: Path) -> None:
    run = ended(tmp_path, BIASES)
    table = response_table(run.records, run.design.run_id)
    items = {"framing", "loss-aversion", "sunk-cost", "transaction-utility"}
    assert set(table["item"]) == items
    assert len(table) == len(items) * 2 * 2
    assert table["temperature"].isna().all()
    assert set(table.loc[table["item"] == "framing", "response"]) == {1.0}
    assert set(table.loc[table["item"] == "sunk-cost", "response"]) == {0.0}
    chance = table["chance"].where(table["response"] == 1, 1 - table["chance"])
    assert chance.to_numpy() == pytest.approx(0.75, abs=1e-6)
    d = analyze_biases(table).experiments["estimate"]
    assert len(d) == len(items) * 2 and d.notna().all()
    assert "left out, because they ask for a number" in run.summary()


def test_only_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="scored: its cards ask for numbers without a list of answers"
    ) as caught:
        ended(tmp_path, WTP)
    assert "\n" not in str(caught.value)


def test_the_same_cards_as_text_are_another_run_with_the_same_trials(tmp_path: Path) -> None:
    scored = ended(tmp_path, HOTELS)
    (tmp_path / "y.yaml").write_text((CARDS + HOTELS).replace("logprobs", "text"))
    text = ExperimentRun(
        str(tmp_path / "y.yaml"),
        agents=["simulated:balanced"],
        limit=None,
        db=f"sqlite:///{tmp_path}/t.db",
        out=tmp_path,
    )
    assert text.design.run_id != scored.design.run_id
    ids = [[trial.id for trial in run.design.trials([AGENT])] for run in (text, scored)]
    assert ids[0] == ids[1]
