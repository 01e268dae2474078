"""What was stored by the version before the rooms is read, and gives the same numbers.

`before/` holds an archive of a small run of each shipped experiment, and a database, made by commit 47c445f
(but for the archive of `anchoring`: that version made none; its estimates were compared with what
`souk analyze anchoring --json` of that version printed). `later/` has the tables of one of each that came
since, and `today/` the figures that the code made of all of them when it was last meant to change any.
"""

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from experiments.bundles.bundle import ESTIMATES
from experiments.bundles.verify import differing, verify_bundle
from experiments.designs.inputs.experiment_file import LIBRARY
from tests.experiments.bundles.figures_of_today import ARCHIVES, BEFORE, TODAY, made_today, stored
from tests.experiments.command_line import forked_souk

NUMBERS = r"-?[\d.e-]+ in the archive, -?[\d.e-]+ here$"
NEW = re.compile(
    r"analysis\.((coefficients|fit_statistics)\[\d+\]\.brand: only here"
    r"|(exact|tradeoffs|attrition_by_factor|heterogeneity|shrunken|money|price_forms|held_out): only here"
    r"|(mixed|classes|class_members|taste_models): only here"
    r"|(coefficients|price_(response|deciles)|quality|brands|personality|set_size)\[\d+\]"
    r"\.(p_)?by_set(_\w+)?: only here"
    r"|pooling: [\d,]+ entries in the archive, [\d,]+ here"
    r"|pooling\[\d+\]\.(part|f_statistic|df_within|p_robust): only here"
    r"|(effects|triage)\[\d+\]\.(p_exact|exact_low|exact_high): only here"
    r"|(anova|coefficients)\[\d+\]\.(statistic_|df_)?(p_)?blocked(_low|_high|_adjusted)?: only here"
    r"|(attrition|positions|curves|factors)\[\d+\]\.(clustered_(low|high)|effective_n): only here"
    r"|experiments\[\d+\]\.hedges_(g|low|high): only here|csvr: 2 entries in the archive, 3 here"
    r"|mapd\[\d+\]\.blocked_(low|high): only here"
    r"|index\[\d+\]\.(mean_(low|high): only here|conf_(low|high): null in)"
    r"|(coefficients|anova|index)\[\d+\]\.note: .*(by block|no interval): "
    r"|(coefficients|list_price|experiments|tests|willingness_to_pay)\[\d+\]\.p_adjusted: null in"
    r"|curves\[\d+\]\.(conf_(low|high): null in|note: \"no interval: .*\" in the archive, \"\" here)"
    r"|(effects|nudge_texts|categories|profiles|profile_differences|set_sizes|slopes|curves)\[\d+\]"
    rf"\.(p_value|p_adjusted|conf_(low|high)): {NUMBERS}"
    rf"|slopes\[\d+\]\.(std_error|statistic): {NUMBERS}"
    r"|slopes\[\d+\]\.note: .* in the archive, \"standard error by set"
    r"|(effects|slopes)\[\d+\]\.note: \"no (interval|standard error): .*, .*choice sets for .* here$)"
)
"""What has come since: exact tests of choices, trade-offs of drawn attributes, random effects, money values,
predictions and robust pooling tests of conjoint studies, stratified shares of valid responses, intervals of
deviations by block, and adjusted p values of all but choices in a shop;
of linear effects the degrees of freedom of their own clusters, of slopes the error by choice set, and counts
in the notes of those without an error.

The middle of a curve has an interval even where the version before missed 0 by rounding.
"""

FEW_SETS = re.compile(
    r"analysis\.(coefficients|price_(response|deciles)|quality|brands|willingness_to_pay|personality|set_size"
    r"|model_size)\[\d+\]\."
    r"((std_error|statistic|p_value|p_adjusted|conf_(low|high)|krinsky_robb_(low|high)): .*, null here$"
    r"|note: .*(fewer than 100 choice sets|a combination of its terms))"
)
"""What the archive of `hotels` has too few choice sets for."""

CURVE = re.compile(r"analysis\.curves\[\d+\]")
"""Smooth curves: from one processor to another their last digits differ, by 2e-12 of the value."""


def test_there_is_an_archive_of_each_shipped_experiment() -> None:
    assert [path.stem for path in sorted(ARCHIVES, key=lambda path: path.stem)] == sorted(
        path.stem for path in LIBRARY.glob("*.yaml")
    )
    assert {path.stem for path in ARCHIVES} == {path.name.split(".")[0] for path in TODAY.glob("*.json.gz")}


@pytest.mark.slow
@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_every_figure_is_the_stored_one(path: Path) -> None:
    """Without an exception: of curves to 1e-9, of all others to 1e-12."""
    known, found = stored(path.stem), made_today(path)
    assert [line for line in differing(known, found, 1e-12) if not CURVE.match(line)] == []
    assert [*differing(known, found, 1e-9)] == []


@pytest.mark.parametrize("path", sorted(BEFORE.glob("*.zip")), ids=lambda path: path.stem)
def test_of_what_was_before_only_what_is_known_has_changed(path: Path) -> None:
    """The figures in the archives of the version before, beside the stored ones of today."""
    with zipfile.ZipFile(path) as file:
        then = json.loads(file.read(ESTIMATES))
    known, now = [NEW, *([FEW_SETS] if path.stem == "hotels" else [])], stored(path.stem)
    differences = [line for line in differing(then, now, 1e-12) if not CURVE.match(line)]
    differences += [line for line in differing(then, now, 1e-9) if CURVE.match(line)]
    assert [line for line in differences if not any(each.match(line) for each in known)] == []


@pytest.mark.slow
def test_an_archive_of_before_is_whole() -> None:
    assert verify_bundle(BEFORE / "wtp.zip", 1e-12).manifest.name == "wtp"


@pytest.mark.slow
def test_a_database_is_read(tmp_path: Path) -> None:
    shutil.copy(BEFORE / "runs.sqlite", tmp_path / "runs.db")
    db = ("--db", "sqlite:///runs.db")
    status = json.loads(forked_souk("status", "--json", *db, cwd=tmp_path).out)
    assert {run["name"]: run["state"] for run in status} == {"nudges": "finished", "wtp": "finished"}
    for command, name in (("choice", "nudges"), ("montecarlo", "wtp")):
        analysed = forked_souk("analyze", command, name, "--json", *db, cwd=tmp_path)
        assert analysed.status == 0, analysed.err
        assert forked_souk("bundle", name, "--out", f"{name}.zip", *db, cwd=tmp_path).status == 0
        assert verify_bundle(tmp_path / f"{name}.zip", 1e-12).differences == []
    again = forked_souk(
        "run", "wtp", "--agent", "simulated:anchored", "--mode", "text", "--limit", "24", *db, cwd=tmp_path
    )
    assert again.status == 0, again.err
    assert "24 done, 0 to run" in again.err
