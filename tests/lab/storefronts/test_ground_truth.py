"""Simulated shoppers in foreign shops: each choice follows from their weights and the products' true facts.

`make storefronts` runs five shops with 240 trials each, `make test` a few trials in one.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from analysis.choice.effects.effects import choice_effects
from experiments.designs.catalogue.importer import Importer
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import load_yaml
from tests.experiments.designs.shop.test_whole_lists import assert_read_as_recorded, foreign
from tests.ground_truth import assert_chosen_as_known, carry_out, held, probabilities
from tests.lab.storefronts.cases import HERE, cases
from tests.lab.storefronts.hard_cases import CUPS
from tests.lab.storefronts.install import CannotInstall, install
from tests.lab.storefronts.shops import running, storefront
from tests.support import THOROUGH, size
from tests.true_effects import true_effects

SHOPS = ("german", "split-prices", "query-addresses", "drawn-by-scripts", "oscar")
STARS = ("oscar",)
"""Shops that show whole stars."""
REPETITIONS = 1000
"""Of the estimation, which is to hold the truth in 93 of 100: fewer would be a matter of luck."""
TEXTS = {
    "few-left": ("scarcity", 1, "Nur noch 2 Stück, ${product.reviews} Kunden waren schneller"),
    "experts": ("authority", 1, "Töpfer empfehlen dieses Stück"),
    "loved": ("social proof", 1, "多くのお客様に選ばれています"),
    "no-returns": ("negative framing", -1, "Rückgabe ausgeschlossen"),
}
EDITS = {
    name: (family, direction, {"insert_text": {"after": "product.title", "text": text}})
    for name, (family, direction, text) in TEXTS.items()
}
EXPERIMENT = {
    "options": {"catalogue": "catalogue.csv", "sets": 40, "max_price_gap": 0.2, "max_rating_gap": 0.2},
    "factors": {"nudge": {"interventions": "edits.yaml", "on": ["none", "each"]}},
    "limits": {"steps": 10, "seconds": 120},
    "seed": 11,
}

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]


@asynccontextmanager
async def with_cups(name: str, folder: Path) -> AsyncIterator[str]:
    """Start a shop that sells the cups; yields its base URL."""
    if cases()[name].is_hand_written:
        async with running(name) as base:
            yield base
        return
    try:
        install(name)
    except CannotInstall as error:
        pytest.skip(str(error))
    catalogue = folder / "cups.json"
    catalogue.write_text(json.dumps(CUPS), encoding="utf-8")
    async with storefront(name, catalogue) as base:
        yield base


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHOPS)
async def test_every_choice_is_the_one_that_the_weights_give(name: str, tmp_path: Path) -> None:
    if not THOROUGH and name != "german":
        pytest.skip("make storefronts runs it")
    count, case = size(12, 240), cases()[name]
    async with with_cups(name, tmp_path) as base:
        case.write_files(tmp_path, base, EDITS, CUPS, int(name not in STARS), **EXPERIMENT)
        source = load_yaml(tmp_path / "experiment.yaml")
        done = await carry_out(tmp_path, source, "simulated:balanced", count, 4, base, step=size(5, 1))
    assert done.records.outcomes(done.design.run_id) == {"choice": count}
    chances = probabilities(done.table, "balanced")
    assert_chosen_as_known(done, chances)
    if THOROUGH:
        truth = true_effects(done.table, chances).set_index("term")["estimate"]
        effects = choice_effects(done.table).set_index("term")
        found = held(done.table, chances, REPETITIONS)
        print(effects[["estimate", "std_error", "conf_low", "conf_high"]].assign(truth=truth, held=found))
        print(Counter(done.table["nudge"]))
        told = effects["conf_low"].notna()  # in some shops hardly a set has products with different stars
        assert {*effects.index[~told]} <= {"higher_rated"}
        assert (found[told] >= 0.93 * REPETITIONS).all(), found


OSCARS_LISTS = """
name: oscar-lists
extends: {extends}
roles:
  item.id: {{css: 'form[action*="/basket/add/"]', attribute: action, pattern: '/basket/add/(\\d+)/'}}
  product.id: {{css: 'form[action*="/basket/add/"]', attribute: action, pattern: '/basket/add/(\\d+)/'}}
choice:
  request: {{path: '/basket/add/(\\d+)/'}}
"""


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["oscar"])
async def test_trials_begin_with_whole_lists(name: str, tmp_path: Path) -> None:
    """On the home page and the page of a category, each with twenty of ninety cups, read card by card."""
    site = tmp_path / "site.yaml"
    site.write_text(OSCARS_LISTS.format(extends=HERE / "oscar.yaml"), encoding="utf-8")
    first, second = (f"Cups=/catalogue/category/cups_1/?page={page}" for page in (1, 2))
    lists = {"home": ["All=/"], "listing": [first, second]}
    async with with_cups(name, tmp_path) as base:
        for task, addresses in lists.items():
            folder = tmp_path / task
            folder.mkdir()
            importer = Importer(base, folder / f"{task}.csv", load_site_map(str(site)))
            assert [each async for each in importer.run(addresses)][-1].complete
            made = foreign(base, folder, task, task=task, site=str(site), repeats=size(1, 20))
            done = await carry_out(folder, made.source, "simulated:balanced", made.size, 2, base)
            assert done.records.outcomes(done.design.run_id) == {"choice": made.size}
            assert done.table.groupby("trial").size().eq(20).all()
            assert done.table["reviews"].isna().all(), "also of the chosen one, whose own page says more"
            # The shopper reads what follows a name, and here the stars come first.
            chances = probabilities(done.table.assign(rating=np.nan), "balanced")
            assert_chosen_as_known(done, chances)
            await assert_read_as_recorded(done, folder, "article.product_pod")
