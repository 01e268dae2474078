"""What was stored by the version before the rooms is read, and gives the same numbers.

`before/` holds an archive of a small run of each shipped experiment, and a database, made by commit 47c445f
(but for the archive of `anchoring`: that version made none; its estimates were compared with what
`souk analyze anchoring --json` of that version printed).
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from experiments.bundles.verify import verify_bundle
from experiments.designs.inputs.experiment_file import LIBRARY
from tests.experiments.command_line import forked_souk
from tests.support import usual

BEFORE = Path(__file__).parent / "before"
ARCHIVES = sorted(BEFORE.glob("*.zip"))
NUMBERS = r"-?[\d.e-]+ in the archive, -?[\d.e-]+ here$"
NEW = re.compile(
    r"analysis\.((coefficients|fit_statistics)\[\d+\]\.brand: only here"
    r"|(exact|tradeoffs|attrition_by_factor|heterogeneity|shrunken|money|price_forms|held_out): only here"
    r"|(mixed|classes|class_members|taste_models): only here"
    r"|(coefficients|price_(response|deciles)|quality|brands)\[\d+\]\.(p_)?by_set(_\w+)?: only here"
    r"|pooling: [\d,]+ entries in the archive, [\d,]+ here"
    r"|pooling\[\d+\]\.(part|f_statistic|df_within|p_robust): only here"
    r"|(effects|triage)\[\d+\]\.(p_exact|exact_low|exact_high): only here"
    r"|(anova|coefficients)\[\d+\]\.(statistic_|df_)?(p_)?blocked(_low|_high|_adjusted)?: only here"
    r"|(attrition|positions|curves|factors)\[\d+\]\.(clustered_(low|high)|effective_n): only here"
    r"|experiments\[\d+\]\.hedges_(g|low|high): only here|csvr\[\d+\]: only here"
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
predictions and robust pooling tests of conjoint studies, and adjusted p values of all but choices in a shop;
of linear effects the degrees of freedom of their own clusters, of slopes the error by choice set, and counts
in the notes of those without an error.

The middle of a curve has an interval even where the version before missed 0 by rounding.
"""

FEW_SETS = re.compile(
    r"analysis\.(coefficients|price_(response|deciles)|quality|brands|willingness_to_pay)\[\d+\]\."
    r"((std_error|statistic|p_value|p_adjusted|conf_(low|high)|krinsky_robb_(low|high)): .*, null here$"
    r"|note: .*(fewer than 100 choice sets|a combination of its terms))"
)
"""What the archive of `hotels` has too few choice sets for."""

LATER = {"attributes", "modality", "prices", "visual"}
"""The experiments that came later."""

CURVE = re.compile(r"analysis\.curves\[\d+\]")
"""Smooth curves: from one processor to another their last digits differ, by 2e-12 of the value."""


def test_there_is_an_archive_of_each_shipped_experiment() -> None:
    assert {path.stem for path in ARCHIVES} == {path.stem for path in LIBRARY.glob("*.yaml")} - LATER


@pytest.mark.slow
@pytest.mark.parametrize("path", usual(ARCHIVES, 5), ids=lambda path: path.stem)
def test_every_frame_is_what_it_was(path: Path) -> None:
    found = verify_bundle(path, 1e-12)
    assert found.manifest.name == path.stem
    known = [NEW, CURVE, *([FEW_SETS] if path.stem == "hotels" else [])]
    assert [line for line in found.differences if not any(each.match(line) for each in known)] == []
    curves = [line for line in verify_bundle(path, 1e-9).differences if CURVE.match(line)]
    assert [line for line in curves if not NEW.match(line)] == []


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
