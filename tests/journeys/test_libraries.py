"""Every intervention that comes with Souk ends a trial in the embedded shop, treated as planned.

`make test` tries every second one, `make thorough` all of them. Patterns of the checkout: test_orders.py.
"""

from pathlib import Path
from typing import Any

import pytest

from experiments.designs.inputs.experiment_file import experiment_source
from experiments.records.tables import receipts, trials
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from tests.experiments.designs.make import source
from tests.ground_truth import carry_out
from tests.support import THOROUGH

FILLED = {"attributes", "matching", "display"}
"""Files whose interventions designs fill in; every other test of drawn or equal figures uses them."""
FILES = sorted(path.stem for path in Path("interventions/library").glob("*.yaml"))
SITE = load_site_map("embedded")
KINDS = {
    name: {item.id: item.kind for item in load_interventions(name, SITE).interventions}
    for name in FILES
    if name not in FILLED
}
DIFFERS: dict[str, dict[str, Any]] = {
    "ads": {"task": "listing"},
    "descriptions": {"observation": {"page": "whole"}},  # below what a window shows
    "hiding": {"observation": {"page": "whole"}},
    "looks": {"task": "listing", "observation": {"screenshot": True}},
}
"""What some files need besides a product's page as HTML."""
UNOPENED = {"reviews"}
"""They stand behind a tab that these shoppers do not open, so that they are never sent."""


@pytest.mark.browser
@pytest.mark.parametrize(
    "name", [name for name, kinds in KINDS.items() if not {"card", "pattern"} & {*kinds.values()}]
)
async def test_what_products_carry(tmp_path: Path, name: str) -> None:
    ids = [*KINDS[name]][:: 1 if THOROUGH else 2]
    nudge = {"interventions": name, "only": ids, "on": ["each"]}
    base = "rationality" if name == "rationality" else "nudges"  # whose products leave room for steps
    options = {**experiment_source(base).data["options"], "sets": 1}
    factors = {"nudge": nudge, "order": "listed"}
    file = source(base, site="embedded", options=options, factors=factors, **DIFFERS.get(name, {}))
    carriers = options.get("set_size", 2)
    done = await carry_out(tmp_path, file, "simulated:balanced", len(ids), 4, step=carriers)
    made = {each.nudge.id: each.id for each in done.trials.values() if each.nudge}
    assert made.keys() == {*ids}
    written, ended = done.rows(receipts), done.rows(trials)
    for intervention, trial in made.items():
        (row,) = ended[trial]
        assert row["outcome"] == "choice", (intervention, row["reason"])
        assert name in UNOPENED or any(each["intervention"] == intervention for each in written[trial]), (
            intervention
        )
