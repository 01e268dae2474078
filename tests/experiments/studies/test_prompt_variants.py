"""Variants of the prompt, from the experiment file to the tables, answered by a simulated agent."""

from pathlib import Path

import pytest

from analysis.conjoint.study import ConjointAnalysis
from analysis.conjoint.variants import BASE
from experiments.designs.cards import experiment_file
from experiments.fitting.shown_choices import shown_choices
from experiments.records.reading.tidy_tables import stored_rows, tidy_table
from experiments.records.reading.trial_search import FACETS, Selection, facet_cells
from experiments.records.store import Records
from experiments.studies.kinds import analyze_run
from tests.experiments.running import HOTELS, run_here

VARIANTS = """\
      variants:
        json: {form: json}
        budget: {persona: You travel on a small budget., fields: [Price per night]}
        warm: {temperature: [0.3, 1]}
"""
NAMES = {"base", "json", "budget", "warm-0.3", "warm-1"}


@pytest.mark.slow
def test_a_run_with_variants(tmp_path: Path) -> None:
    assert experiment_file.BASE == BASE
    design = "design:\n  conjoint:\n      pool: hotels\n      blocks: [{set_size: 2, sets: 30, repeats: 2}]\n"
    before, _, after = HOTELS.partition("design: ")
    path = tmp_path / "varied.yaml"
    path.write_text(before + design + VARIANTS + after.partition("\n")[2], encoding="utf-8")
    run_here(str(path), tmp_path)
    records = Records(f"sqlite:///{tmp_path}/t.db")
    found = records.latest_run()
    run = found["run"]
    table = tidy_table(records, run)
    counts = table.drop_duplicates("trial")["condition"].value_counts()
    assert dict(counts) == dict.fromkeys(NAMES, 120)
    asked = stored_rows(records, run, "questions", ("trial", "temperature")).set_index("trial")["temperature"]
    trials = table.drop_duplicates("trial")
    at = asked[trials["trial"]].groupby(trials["condition"].to_numpy()).first()
    assert at.dropna().to_dict() == {"warm-0.3": 0.3, "warm-1": 1.0}
    place = list(FACETS).index("condition")
    assert {values[place] for values, _ in facet_cells(records, Selection(run))} == NAMES, "the viewer's"
    analysed = analyze_run(records, found)
    assert isinstance(analysed, ConjointAnalysis)
    assert set(analysed.variants["variant"]) == NAMES - {"base"}
    assert (analysed.variants["n"] == 120).all()
    assert set(analysed.variants["p_adjusted"].dropna() < 0.05) == {False}, "it reads the facts alone"
    alone = shown_choices(table[table["condition"] == "base"], {}, hotels=True)
    assert len(shown_choices(table, {}, hotels=True).x) == len(alone.x) == 240
    records.close()
