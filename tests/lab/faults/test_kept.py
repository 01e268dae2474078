"""A laboratory that was stopped goes on."""

from pathlib import Path

from tests.lab.faults.kept import keep, kept
from tests.lab.faults.schedules import Report, Schedule


def test_what_was_kept_comes_back_without_a_line_that_was_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    assert list(kept(file, range(9))) == []
    reports = [
        Report(Schedule.of(seed), seed, 1.5, ("a fault", "another"), ["a trial is lost"] * seed)
        for seed in range(2)
    ]
    for report in reports:
        keep(report, file)
    with file.open("a") as lines:
        lines.write('[7, 1, 2.5, ["a fa')
    assert list(kept(file, range(9))) == reports
    assert list(kept(file, [1])) == reports[1:]
