"""Two nudges head to head: trials, their proof, their table, and the difference that a shopper was given."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from analysis.choice import analyze_choice
from analysis.choice.contrasts import HEAD_TO_HEAD, contrasts
from analysis.choice.report.report import report
from analysis.tables.choice_table import check_table
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.records import tables
from experiments.records.reading.interventions import never_received
from experiments.records.reading.queries import carriers, trial_rows
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.record import BOTH
from experiments.records.store import Records
from experiments.treatment.treatment_check import squeeze
from interventions.yaml.sitemap import product_key
from interventions.yaml.yaml_source import Source, parse_yaml
from tests.experiments.designs.make import AGENT
from tests.experiments.designs.shop.conftest import Place, carry_out
from tests.experiments.running import run_here
from tests.ground_truth import Done, assert_chosen_as_known, probabilities

TEXTS = {"praise": "Loved by our customers", "warn": "Often sent back", "plain": "Part of our catalogue"}
TASTES = {"praise": 1, "warn": -1, "plain": 0}
WORDS = """
interventions:
  - {{id: praise, kind: nudge, edits: [insert_text: {{after: product.price_box, text: {praise}}}]}}
  - {{id: warn, kind: nudge, direction: -1, edits: [insert_text: {{after: {place}, text: {warn}}}]}}
  - {{id: plain, kind: placebo, edits: [insert_text: {{after: product.price_box, text: {plain}}}]}}
"""


def source(
    folder: Path,
    on: str = "both",
    sets: int = 4,
    place: str = "product.stock",
    order: str = "both",
    **more: str,
) -> Source:
    (folder / "words.yaml").write_text(WORDS.format(place=place, **TEXTS), encoding="utf-8")
    nudge = ", ".join(f"{key}: {value}" for key, value in {"interventions": "words.yaml", **more}.items())
    text = (
        f"name: both\ngoal: Add the best product to the cart.\noptions: {{sets: {sets}}}\n"
        f"factors: {{order: {order}, nudge: {{{nudge}, on: [{on}]}}}}\n"
    )
    (folder / "both.yaml").write_text(text, encoding="utf-8")
    return parse_yaml(text, str(folder / "both.yaml"))


def test_every_pair_meets_on_every_set_with_each_text_on_each_product_in_both_orders(tmp_path: Path) -> None:
    made = ShopDesign(source(tmp_path))
    trials = list(made.trials([AGENT]))
    assert len({trial.id for trial in trials}) == len(trials) == made.size == 4 * 3 * 4
    shown = Counter()
    for trial in trials:
        planned = {each.product: each.intervention for each in made.plan(trial).treatments if each.product}
        assert planned == {key: nudge.id for key, nudge in trial.carried.items()}
        assert set(planned) == {product.key for product in trial.products} and trial.condition == BOTH
        shown[trial.set, *sorted(planned.items()), trial.ordering] += 1
    assert set(shown.values()) == {1}
    for start in range(0, len(trials), made.block_size()):
        block = trials[start : start + made.block_size()]
        (pair,) = {frozenset(nudge.id for nudge in trial.nudges) for trial in block}
        assert tuple(sorted(pair)) in set(combinations(sorted(TEXTS), 2))
        places = Counter((p.key, at, t.carried[p.key].id) for t in block for at, p in enumerate(t.products))
        assert len(places) == 8 and set(places.values()) == {1}, "each text on each product at each place"


def test_other_conditions_keep_their_trials_beside_it(tmp_path: Path) -> None:
    alone, mixed = (ShopDesign(source(tmp_path, on)) for on in ("none, each", "none, each, both"))
    cells = [
        Counter(
            (t.set, t.cell, t.carrier, t.ordering, t.condition) for t in made.trials([AGENT]) if not t.rival
        )
        for made in (alone, mixed)
    ]
    assert cells[0] == cells[1]
    assert mixed.size == alone.size + 4 * 3 * 4 and mixed.block_size() == 3 * 6 + 3 * 4
    assert "3 interventions and 3 pairs of interventions, 30 conditions and orders a set" in mixed.summary()


@pytest.mark.browser
async def test_a_trial_with_one_of_two_edits_lost_does_not_count(place: Place, tmp_path: Path) -> None:
    made = ShopDesign(source(tmp_path, place="product.option", only="[praise, warn]"))
    trial = next(t for t in made.trials([AGENT]) if t.carried[t.products[-1].key].id == "praise")
    trajectory, record = await carry_out(place, made, trial)
    assert trajectory.outcome == "treatment_failed"
    lost = next(key for key, nudge in trial.carried.items() if nudge.id == "warn")
    assert f"{lost}.html: warn: insert_text product.option: nothing on the page matches" in trajectory.reason
    assert {row["intervention"] for row in record.receipts} >= {"praise"}


@pytest.mark.browser
def test_a_run_gives_the_difference_of_two_texts_back(tmp_path: Path) -> None:
    source(tmp_path, sets=12, order="listed", only="[praise, warn]")
    run_here("both.yaml", tmp_path)
    records, design = Records(f"sqlite:///{tmp_path}/t.db"), load_shop_design(str(tmp_path / "both.yaml"), "")
    table = tidy_table(records, design.run_id)
    done = Done(records, design, {trial.id: trial for trial in design.trials([AGENT])}, table)
    assert done.records.outcomes(done.design.run_id) == {"choice": 24}
    receipts, steps = done.rows(tables.receipts), done.rows(tables.steps)
    for name, rows in table.groupby("trial"):
        trial = done.trials[str(name)]
        own = {key: nudge.id for key, nudge in trial.carried.items()}
        assert dict(zip(rows["option"], rows["nudge"], strict=True)) == own
        assert dict(zip(rows["nudge"], rows["nudge_text"], strict=True)).items() <= TEXTS.items()
        assert rows["nudged"].eq(1).all() and set(rows["condition"]) == {BOTH}
        edited = {(row["product"], row["intervention"]) for row in receipts[str(name)]}
        assert edited >= set(own.items()) and len(edited & {(k, n) for k in own for n in TEXTS}) == 2
        for step in steps[str(name)]:
            page = squeeze(done.records.artifact(step["observation"]))
            assert [n for n, text in TEXTS.items() if text in page] == [own[product_key(step["url"])]]
    assert never_received(done.records, done.design.run_id) == {}
    stored = trial_rows(done.records, done.design.run_id)
    again = dict(done.design.matching(stored, carriers(done.records, done.design.run_id), [AGENT]))
    assert again == done.trials, "stored trials are found again by their cells"
    chances = probabilities(table.assign(direction=table["nudge"].map(TASTES)), "balanced")
    assert_chosen_as_known(done, chances)
    checked = check_table(table)
    truth = (100 * (2 * chances[table["nudge"] == "praise"] - 1)).mean()
    row = contrasts(checked, ["praise:warn"]).iloc[0]
    assert row["part"] == HEAD_TO_HEAD and truth > 20
    assert row["conf_low"] <= truth <= row["conf_high"] and row["exact_low"] <= truth <= row["exact_high"]
    told = report(analyze_choice(table)).answer[0]
    assert told.startswith(
        "simulated:balanced: praise against warn; head to head, the product with praise is "
    )
