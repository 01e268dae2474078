"""Several studies side by side: nothing is pooled, each row names its study, and nothing is lost."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from analysis.choice import analyze_choice
from experiments.studies.combined import STARS, combined_table
from experiments.studies.kinds import STUDIES
from experiments.studies.side_by_side import NamedStudy, SideBySide, side_by_side
from experiments.studies.stored_studies import StoredTable, shared_kind
from interventions.errors import UserError
from tests.analysis.conftest import simulate_orders, simulate_study
from tests.analysis.reporting.test_first_sentences import SIMULATED
from tests.experiments.command_line import forked_souk
from tests.support import usual


def sides(kind: str, *tables: pd.DataFrame) -> SideBySide:
    return side_by_side(kind, [NamedStudy(f"s{at}", (table,)) for at, table in enumerate(tables)])


def halves(kind: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two studies of the same agents."""
    table = SIMULATED[kind](24)
    return table, SIMULATED[kind](36)


@pytest.mark.slow
@pytest.mark.parametrize("kind", usual(list(STUDIES), 2))
def test_each_study_is_analysed_as_if_it_were_alone(kind: str) -> None:
    tables = halves(kind)
    told = json.loads(sides(kind, *tables).to_json())
    for at, table in enumerate(tables):
        alone = json.loads(STUDIES[kind].analyze(table).to_json())
        for name, value in alone.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                own = [row for row in told[name] if row["study"] == f"s{at}"]
                assert [{**row} for row in own] == [{"study": f"s{at}", **row} for row in value], name
            elif value not in (None, []):
                assert told[name][f"s{at}"] == value, name


@pytest.mark.slow
@pytest.mark.parametrize("kind", usual(list(STUDIES), 2))
def test_every_table_of_the_report_has_the_study_and_all_rows(kind: str) -> None:
    tables = halves(kind)
    made = sides(kind, *tables).report
    alone = [STUDIES[kind].report(STUDIES[kind].analyze(table)) for table in tables]
    for section in made.sections:
        for table in section.tables:
            own = [t for report in alone for s in report.sections for t in s.tables if t.name == table.name]
            assert next(iter(table.frame)) == "study"
            assert len(table.frame) == sum(len(each.frame) for each in own), table.name
    drawn = [figure.name for section in made.sections for figure in section.figures]
    assert len(drawn) == len(set(drawn))
    together = {"estimate", "conf_low", "conf_high"} <= {*made.sections[0].tables[0].frame}
    assert (drawn[0] == "studies") == together and "<svg" in made.sections[0].figures[0].svg
    assert len(drawn) == together + sum(len(s.figures) for report in alone for s in report.sections)
    assert len(made.answer) == sum(len(report.answer) for report in alone)
    assert all(re.match(r"s[01], ", line) for line in made.answer)


def test_studies_without_a_common_agent_are_one_analysis_whose_agents_can_be_ranked() -> None:
    table = SIMULATED["biases"](24)
    one, *others = sorted(set(table["agent"]))
    parts = table[table["agent"] == one], table[table["agent"].isin(others)]
    found = sides("biases", *(part.reset_index(drop=True) for part in parts))
    whole = json.loads(STUDIES["biases"].analyze(table).to_json())
    told = json.loads(found.to_json())
    assert len(found.parts) == 1
    for row, expected in zip(told["experiments"], whole["experiments"], strict=True):
        assert row.pop("study") == ("s0" if expected["group"] == one else "s1")
        assert row == expected


def test_different_scales_are_told_and_keep_studies_apart() -> None:
    table = SIMULATED["montecarlo"](24)
    euros = table.assign(currency="EUR", agent=table["agent"] + " b")
    found = sides("montecarlo", table.assign(currency="USD"), euros)
    assert len(found.parts) == 2
    assert found.report.problems[0].startswith("The studies have different currencies (s0 USD, s1 EUR)")


def test_the_combined_table_has_each_effect_with_its_stars() -> None:
    names = {"nudges": False, "nudges-mr": True}
    tables = {
        name: simulate_study(seed, sets=30, nudges_per_set=4, matched_ratings=matched).table
        for seed, (name, matched) in enumerate(names.items())
    }
    found = side_by_side("choice", [NamedStudy(name, (table,)) for name, table in tables.items()])
    lines = combined_table(found.report).splitlines()
    rows = [line.removesuffix(r" \tabularnewline").split(" & ") for line in lines if " & " in line]
    assert [row[:2] for row in rows[1:]] == [["balanced", "Original"], ["", "MR"]]
    whole = [cell for row in rows[1:] for cell in row[2:]]
    colours, cells = zip(
        *(re.fullmatch(r"(?:\\cellcolor{(.*?)})?(.*)", each).groups() for each in whole), strict=True
    )
    effects = {name: analyze_choice(table).effects.set_index("term") for name, table in tables.items()}
    expected = []
    for name in names:
        for term in effects["nudges"].index:
            own = effects[name].loc[term]
            stars = next((sign for sign, most in STARS.items() if own["p_adjusted"] < most), "")
            expected.append("–" if pd.isna(own["estimate"]) else f"{own['estimate']:.1f}{stars}")
    assert list(cells) == expected
    sizes = [abs(float(text.strip("*()"))) if text != "–" else 0.0 for text in expected]
    for colour, text, size in zip(colours, expected, sizes, strict=True):
        assert (colour is not None) == ("*" in text)
        if colour:
            name, share = colour.split("!")
            assert name == ("orange" if text.startswith("-") else "cyan")
            assert int(share) == pytest.approx(60 * size / max(sizes), abs=1)
    assert lines[0] == r"% colours: \usepackage[table]{xcolor}"
    assert "–" in cells and any("*" in cell for cell in cells)


@pytest.mark.slow
def test_the_command_takes_several_tables_and_refuses_what_it_cannot_compare(tmp_path: Path) -> None:
    for name, table in zip(("may", "june"), halves("biases"), strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = ("may.csv", "june.csv", "--as", "biases")
    ended = forked_souk("analyze", *files, "--out", "made", "--json", cwd=tmp_path)
    assert ended.status == 0, ended.err
    assert set(pd.read_csv(tmp_path / "made" / "experiments.csv")["study"]) == {"may", "june"}
    assert "may, " in (tmp_path / "made" / "report.html").read_text()
    ended = forked_souk("report", *files, "--out", "again", cwd=tmp_path)
    assert ended.status == 0 and (tmp_path / "again" / "report.html").is_file()
    ended = forked_souk("analyze", *files, "--tex", "--agent", "nobody", cwd=tmp_path)
    assert (ended.status, ended.err.count("\n")) == (2, 1) and "no trials of this agent" in ended.err


def test_a_study_that_lacks_the_agents_or_is_named_twice_is_refused() -> None:
    table = SIMULATED["biases"](24)
    one = sorted(set(table["agent"]))[0]
    others = table[table["agent"] != one].reset_index(drop=True)
    studies = [NamedStudy("a", (table,)), NamedStudy("b", (others,))]
    with pytest.raises(UserError, match=f"b: there are no trials of {one}; leave this study out"):
        side_by_side("biases", studies, [one])
    table = StoredTable(Path("a.csv"), "a")
    with pytest.raises(UserError, match="a: named twice"):
        shared_kind([table, table], "biases")


def test_the_table_for_an_article_has_each_intervention() -> None:
    fee = simulate_orders({(1, 0): 20, (0, 0): 5}).assign(nudge="fee")
    box = simulate_orders({(1, 0): 5, (0, 0): 20}).assign(set=lambda own: own["set"] + "-2")
    both = pd.concat([fee, box]).assign(trial=lambda own: [f"t{n}" for n in range(len(own))])
    lines = combined_table(side_by_side("orders", [NamedStudy("one", (both,))]).report).splitlines()
    head, cells = (next(line for line in lines if sign in line) for sign in ("Agent", "a & one"))
    assert head.count("Deceived") == head.count("fee") == head.count("box") == 2
    assert "80.0" in cells and "20.0" in cells
