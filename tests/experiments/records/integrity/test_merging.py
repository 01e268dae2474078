"""Parts of a run in two databases become one: all trials once, sealed, with their pages."""

from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.cli import app
from experiments.records.integrity.check import check_database
from experiments.records.integrity.merging import merge_run
from experiments.records.reading.notes import noted, write_note
from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import RunFacts
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.running import HOTELS
from tests.experiments.viewer.made_run import RUN, record, stored, trial, with_sent_page

OTHER = "simulated:other"


def part(path: Path, numbers: list[int], **changed: str) -> Records:
    return stored(f"sqlite:///{path}", [record(trial(n, **changed), f"<p>{n}</p>") for n in numbers])


def test_two_parts_become_one_run(tmp_path: Path) -> None:
    here, there = part(tmp_path / "a.db", [0, 1]), part(tmp_path / "b.db", [1, 2, 3], agent=OTHER)
    there.save(record(trial(4, outcome="infra_error", choice=None, reason="shop: 500")))
    write_note(there, RUN, trial(1).trial, "theirs", "")
    write_note(here, RUN, trial(1).trial, "ours", "")
    write_note(there, RUN, trial(2).trial, "odd", "Look.")
    before = whole_trial(here, RUN, trial(1).trial)
    urls = [str(each.engine.url) for each in (here, there)]
    here.close()
    there.close()
    said = CliRunner().invoke(app, ["runs", "merge", RUN, urls[1], "--db", urls[0]])
    assert said.exit_code == 0, said.output
    assert "2 trials" in said.output
    here, there = (Records(url) for url in urls)
    assert here.finished(RUN) == {trial(n).trial for n in range(4)}
    assert here.outcomes(RUN) == {"choice": 4}
    assert whole_trial(here, RUN, trial(1).trial) == before, "what was there stays"
    for number in (2, 3):
        copied, own = (whole_trial(each, RUN, trial(number).trial) for each in (here, there))
        assert copied == own and copied is not None
        assert here.artifact(copied.steps[0]["observation"]) == f"<p>{number}</p>"
    tags = {name: said.tags for name, said in noted(here, RUN, [trial(n).trial for n in range(4)]).items()}
    assert tags == {trial(1).trial: "ours", trial(2).trial: "odd"}
    assert [each for each in check_database(urls[0], lambda *_: None) if not each.ok] == []
    again = CliRunner().invoke(app, ["runs", "merge", RUN, urls[1], "--db", urls[0]])
    assert "0 trials" in again.output
    here.close()
    there.close()


def test_what_the_shop_sent_comes_along(tmp_path: Path) -> None:
    here = part(tmp_path / "a.db", [0])
    there = stored(f"sqlite:///{tmp_path}/b.db", [with_sent_page(record(trial(1)))])
    assert merge_run(there, here, RUN, lambda *_: None) == 1
    copied, own = (whole_trial(each, RUN, trial(1).trial) for each in (here, there))
    assert copied == own and copied is not None and copied.sent_pages
    for name in ("body", "given", "site"):
        text = copied.sent_pages[0][name]
        assert here.artifact(text) == there.artifact(text)
    assert [each for each in check_database(str(here.engine.url), lambda *_: None) if not each.ok] == []


def test_what_is_not_one_run_is_not_merged(tmp_path: Path) -> None:
    here, there = part(tmp_path / "a.db", [0]), part(tmp_path / "b.db", [1])
    facts = there.latest_run(RUN)["facts"]
    there.begin_run(RUN, "made", RunFacts(**{**facts, "inputs": {"interventions": []}}))
    with pytest.raises(UserError, match="not made of the same files"):
        merge_run(there, here, RUN, lambda *_: None)
    assert here.finished(RUN) == {trial(0).trial}
    empty = Records(f"sqlite:///{tmp_path}/c.db")
    with pytest.raises(UserError, match="in this database"):
        merge_run(there, empty, RUN, lambda *_: None)


@pytest.mark.thorough
@pytest.mark.slow
def test_parts_and_commands_that_keep_other_traces_are_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(HOTELS)

    def souk(*words: str) -> str:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        return done.output

    for name, trace, limit in (("a", "full", "4"), ("b", "none", "8"), ("b", "light", "12")):
        souk("run", "x.yaml", "--db", f"sqlite:///{name}.db", "--trace", trace, "--limit", limit)
    records = Records("sqlite:///b.db")
    facts = records.latest_run()["facts"]
    records.close()
    assert "8 trials" in souk("runs", "merge", "few-hotels", "sqlite:///b.db", "--db", "sqlite:///a.db")
    records = Records("sqlite:///a.db")
    run = records.latest_run()
    assert run["facts"] == facts, "what is said of all trials is true of each"
    stored = [whole_trial(records, run["run"], name) for name in sorted(records.finished(run["run"]))]
    kept = Counter(bool(one.steps) + bool(one.steps and one.steps[0]["observation"]) for one in stored if one)
    records.close()
    assert kept == {0: 4, 1: 4, 2: 4}
    assert "left out, because they were stored without pages: 8 trials" in souk(
        "replay", "few-hotels", "--db", "sqlite:///a.db"
    )
