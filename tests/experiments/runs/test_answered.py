"""Who answered in the place of the model that was asked."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.base import Call
from experiments.records.reading.queries import answering
from experiments.records.record import to_row
from experiments.records.store import Records
from experiments.runs.experiment_run import is_version
from tests.experiments.records.test_store import a_record, some_facts


@pytest.mark.parametrize(
    ("asked", "answered", "is_one"),
    [
        ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", True),
        ("gpt-4.1", "gpt-4.1-mini-2025-04-14", False),
        ("claude-sonnet-latest", "claude-sonnet-20260301", True),
        ("claude-sonnet-4", "claude-sonnet-4-5", False),
        ("gemini-3.5-flash", "gemini-3.5-flash-002", True),
        ("Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl-8b-instruct", True),
        ("qwen3:8b", "qwen3:8b", True),
        ("gpt-5.5", "gpt-5.5x", False),
    ],
)
def test_a_version_is_no_replacement(asked: str, answered: str, is_one: bool) -> None:
    assert is_version(answered, asked) == is_one


def test_who_answered_is_read_once_for_each_pair(tmp_path: Path) -> None:
    records = Records(f"sqlite:///{tmp_path}/t.db")
    records.begin_run("r-1", "nudges", some_facts())
    told = ("gpt-4.1-mini-2025-04-14", "", "gpt-4.1-nano", "gpt-4.1-nano")
    calls = [Call("digest", "gpt-4.1-mini", 1, 1, None, 0.1, answered_by=each) for each in told]
    rows = [to_row(each, number=number, step=0) for number, each in enumerate(calls)]
    records.save(replace(a_record("t1"), calls=rows))
    assert answering(records, "r-1") == [
        ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14"),
        ("gpt-4.1-mini", "gpt-4.1-nano"),
    ]
