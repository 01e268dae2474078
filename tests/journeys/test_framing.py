"""A framing study in log-probabilities: two texts in a field of its own name, from file to sentence."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from agents.scoring import make_scorer
from tests.agents.tiny_models import save_model
from tests.experiments.command_line import Ended, forked_souk

FRAMES = """\
template: "{scene} {frame}\\n\\n{question}"
varied: frame
stimuli:
  disease:
    scene: Of 600 patients
    question: How many percent support it?
    frame: {low: 400 will die., high: 200 will be saved.}
  beef:
    scene: The beef is
    question: How many percent like it?
    frame: {low: 25 % fat., high: 75 % lean.}
"""
STUDY = """\
name: framing
task: score
stimuli: frames.yaml
targets: {from: 0, to: 40, format: "{}%"}
agents: ["hf:model"]
"""
PROMPTS = {
    ("disease", "low"): "Of 600 patients 400 will die.\n\nHow many percent support it?",
    ("disease", "high"): "Of 600 patients 200 will be saved.\n\nHow many percent support it?",
    ("beef", "low"): "The beef is 25 % fat.\n\nHow many percent like it?",
    ("beef", "high"): "The beef is 75 % lean.\n\nHow many percent like it?",
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    pytest.importorskip("torch", reason="local models need torch")
    pytest.importorskip("transformers", reason="local models need transformers", exc_type=ImportError)
    save_model(tmp_path / "model", "llama")
    (tmp_path / "frames.yaml").write_text(FRAMES)
    (tmp_path / "framing.yaml").write_text(STUDY)
    return tmp_path


def expected(folder: Path, prompt: str) -> float:
    """The mean of the answers, weighted by their probabilities, from the scores of the prompt alone."""
    (scores,) = asyncio.run(
        make_scorer(f"hf:{folder / 'model'}").score([prompt], [f"{each}%" for each in range(41)])
    )
    logs = np.array([each.logprob for each in scores])
    weights = np.exp(logs - logs.max())
    return float(weights @ np.arange(41) / weights.sum())


@pytest.mark.slow
def test_two_texts_move_the_expected_answer(here: Path) -> None:
    def souk(*arguments: str) -> Ended:
        ended = forked_souk(*arguments, cwd=here)
        assert ended.status == 0, ended.err
        return ended

    said = " ".join(souk("run", "framing.yaml").out.split())
    assert "2 stimuli x 2 frames x 8 sets of fields = 32 prompts" in " ".join(
        (here / "err.txt").read_text().split()
    )
    moves = {
        name: expected(here, PROMPTS[name, "high"]) - expected(here, PROMPTS[name, "low"])
        for name in ("disease", "beef")
    }
    up = sum(move > 0 for move in moves.values())
    assert f"the expected answer is higher with the high frame in {up} of 2 variations" in said
    assert "anchors' distance" not in said
    found = json.loads(souk("analyze", "framing", "--json").out)
    for call in found["calls"]:
        assert call["delta_ev"] == pytest.approx(moves[call["stimulus"]], abs=1e-3)
        assert call["anchors"] == "low / high"
    assert {row["term"] for row in found["shifts"]} == {"frame"}
    (over,) = (row for row in found["tests"] if row["stimulus"] == "all variations")
    assert over["estimate"] == pytest.approx(np.mean(list(moves.values())), abs=1e-3), "in percent of answers"
    souk("export", "framing", "--out", "scores.csv")
    table = pd.read_csv(here / "scores.csv")
    assert set(table["varied"]) == {"frame"}
    again = json.loads(souk("analyze", "scores.csv", "--as", "anchoring", "--json").out)
    for before, after in zip(found["calls"], again["calls"], strict=True):
        assert after["stimulus"] == before["stimulus"]
        assert after["delta_ev"] == pytest.approx(before["delta_ev"], abs=1e-12)
    shown = next(here.glob("runs/framing-*/report.html")).read_text()
    assert "Expected answer under both frames" in shown
    assert "both anchors" not in shown
