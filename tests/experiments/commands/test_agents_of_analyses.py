"""`--agent` and `--exclude` of every analysis and of `souk report`, on tables of two agents."""

import json
from pathlib import Path

import pandas as pd
import pytest

from experiments.studies.kinds import STUDIES, read_tables
from tests.analysis.reporting.test_first_sentences import SIMULATED
from tests.experiments.command_line import forked_souk


def written(kind: str, folder: Path) -> tuple[Path, list[str]]:
    """A table of a study of this kind, and two of its agents; an only one has another like it."""
    table = SIMULATED[kind](24)
    if table["agent"].nunique() == 1:
        other = table.assign(agent="other", trial=table["trial"] + "-other")
        table = pd.concat([table, other], ignore_index=True)
    agents = sorted(set(table["agent"]))[:2]
    path = folder / "both.csv"
    table[table["agent"].isin(agents)].to_csv(path, index=False)
    return path, agents


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_an_analysis_of_one_agent_is_that_of_its_rows(kind: str, tmp_path: Path) -> None:
    path, (one, other) = written(kind, tmp_path)
    alone = pd.read_csv(path).query("agent == @one")
    alone.to_csv(tmp_path / "one.csv", index=False)
    expected = json.loads(STUDIES[kind].analyze(read_tables(kind, [tmp_path / "one.csv"])).to_json())
    for option, agent in (("--agent", one), ("--exclude", other)):
        ended = forked_souk("analyze", path.name, "--as", kind, option, agent, "--json", cwd=tmp_path)
        assert ended.status == 0, ended.err
        found = json.loads(ended.out)
        assert {name: found[name] for name in expected} == expected, option


@pytest.mark.slow
def test_a_report_of_tables_is_of_the_kind_and_the_agents_that_are_named(tmp_path: Path) -> None:
    path, (one, other) = written("biases", tmp_path)
    ended = forked_souk(
        "report", path.name, "--as", "biases", "--exclude", other, "--out", "made", cwd=tmp_path
    )
    assert ended.status == 0, ended.err
    assert set(pd.read_csv(tmp_path / "made" / "experiments.csv")["group"]) == {one}
