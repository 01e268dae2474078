"""Designs: each trial once, the same ids on any machine, every whole block balanced."""

import hashlib
import json
import pickle
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.designs.choice_sets.shop_products import shop_products
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import NUDGED, ShopTrial
from experiments.records.record import CONTROL
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError
from interventions.yaml.yaml_source import parse_yaml

ROOT = Path(__file__).parents[4]
AGENT = "simulated:balanced"
NUDGES = (
    "authority-expertise", "wirecutter", "best-seller", "purchased-50k", "next-hour",
    "limited-edition", "newer-version", "no-returns", "free-shipping", "buy-one-get-one",
)  # fmt: skip


def design(**changes: Any) -> ShopDesign:
    """The shipped experiment with other values under some keys."""
    data = {**experiment_source("nudges").data, **changes}
    return ShopDesign(parse_yaml(yaml.safe_dump(data), "test.yaml"))


def options(**changes: Any) -> dict[str, Any]:
    return {"options": {"set_size": 2, "sets": 50, **changes}}


def digest(trials: list[ShopTrial]) -> str:
    return hashlib.sha256("".join(trial.id for trial in trials).encode()).hexdigest()


def test_the_shipped_experiment_has_every_cell_once() -> None:
    shipped = design()
    trials = list(shipped.trials([AGENT]))
    assert len(trials) == 50 * 10 * 3 * 2 == 50 * 10 * shipped.block_size()
    assert len({trial.id for trial in trials}) == len(trials)
    assert len({trial.seed for trial in trials}) == len(trials)
    cells = Counter((t.set, t.nudge and t.nudge.id, t.carrier, t.ordering) for t in trials)
    assert set(cells.values()) == {1}


@pytest.mark.thorough
@pytest.mark.slow
def test_another_process_has_the_same_trials() -> None:
    program = """
import hashlib
from experiments.designs.shop.design import ShopDesign
from experiments.designs.inputs.experiment_file import experiment_source
trials = ShopDesign(experiment_source("nudges")).trials(["simulated:balanced"])
print(hashlib.sha256("".join(trial.id for trial in trials).encode()).hexdigest())
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "7"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert result.stdout.strip() == digest(list(ShopDesign(experiment_source("nudges")).trials([AGENT])))


@settings(max_examples=15, deadline=None)
@given(
    sets=st.integers(1, 12),
    nudges=st.integers(1, 10),
    set_size=st.sampled_from([2, 3]),
    repeats=st.integers(1, 2),
    blocks=st.integers(1, 60),
)
def test_whole_blocks_are_balanced(sets: int, nudges: int, set_size: int, repeats: int, blocks: int) -> None:
    made = design(
        **options(sets=sets, set_size=set_size),
        factors={"nudge": {"interventions": "nudges", "only": list(NUDGES[:nudges])}, "order": "both"},
        repeats=repeats,
    )
    assert made.block_size() == 2 * (set_size + 1)
    trials = list(islice(made.trials([AGENT]), blocks * made.block_size()))
    whole = len(trials) // made.block_size()

    for what, levels in (("nudge", nudges), ("set", sets)):
        of_block = [getattr(trial, what) for trial in trials[:: made.block_size()]]
        counts = Counter(str(level if what == "set" else level.id) for level in of_block)
        assert max(counts.values()) - (min(counts.values()) if len(counts) == levels else 0) <= 1, what
    orders = Counter((trial.ordering, trial.condition) for trial in trials)
    assert orders == {
        ("forward", CONTROL): whole, ("reversed", CONTROL): whole,
        ("forward", NUDGED): whole * set_size, ("reversed", NUDGED): whole * set_size,
    }  # fmt: skip
    # Over a block, each alternative stands equally often at both ends and carries the nudge equally often.
    for start in range(0, len(trials), made.block_size()):
        block = trials[start : start + made.block_size()]
        assert len({(trial.set, trial.nudge and trial.nudge.id, trial.repeat) for trial in block}) == 1
        carriers = Counter(trial.carrier for trial in block if trial.carrier)
        assert carriers == {product.key: 2 for product in block[0].products}
        forward, backward = block[0].products, block[-1].products
        assert backward == forward[::-1]


@pytest.mark.parametrize(("sets", "nudges"), [(7, 10), (6, 4), (5, 5), (1, 10), (12, 1)])
def test_every_nudge_meets_every_set_once(sets: int, nudges: int) -> None:
    made = design(
        **options(sets=sets),
        factors={"nudge": {"interventions": "nudges", "only": list(NUDGES[:nudges])}, "order": "listed"},
    )
    blocks = Counter((t.set, t.nudge and t.nudge.id) for t in made.trials([AGENT]) if t.condition == CONTROL)
    assert len(blocks) == sets * nudges
    assert set(blocks.values()) == {1}


def test_a_control_belongs_to_its_nudge_and_shows_nothing_of_it() -> None:
    made = design(**options(sets=2))
    for trial in islice(made.trials([AGENT]), 12):
        assert trial.nudge is not None
        planned = {treatment.intervention for treatment in made.plan(trial).treatments}
        assert (trial.nudge.id in planned) == (trial.condition == NUDGED) == (trial.carrier is not None)


def test_a_limit_counts_for_each_agent(tmp_path: Path) -> None:
    agents = [AGENT, "simulated:random"]
    run = ExperimentRun("nudges", agents=agents, limit=12, db=f"sqlite:///{tmp_path}/t.db", out=None)
    wanted = list(run.wanted())
    run.records.close()
    assert run.total == len(wanted) == 24
    by_agent = [[t for t in wanted if t.agent == agent] for agent in agents]
    cells = [[(t.set, t.nudge, t.carrier, t.ordering) for t in trials] for trials in by_agent]
    assert cells[0] == cells[1]
    assert len(cells[0]) == 12
    assert len({trial.id for trial in wanted}) == 24


def test_matching_makes_the_displayed_facts_equal() -> None:
    made, plain = design(**options(sets=5), match=["price", "reviews"]), design(**options(sets=5))
    assert (made.match, plain.match) == ("price+reviews", "none")
    assert made.run_id != plain.run_id
    for name, alternatives in made.sets.items():
        before = plain.sets[name]
        assert [p.key for p in alternatives] == [p.key for p in before]
        assert [p.rating for p in alternatives] == [p.rating for p in before]
        for fact in ("price", "reviews"):
            shown = {getattr(product, fact) for product in alternatives}
            assert len(shown) == 1
            old = [getattr(product, fact) for product in before]
            assert min(old) <= shown.pop() <= max(old)
    for trial in islice(made.trials([AGENT]), 6):
        edits = {
            (treatment.product, edit.kind()): edit
            for treatment in made.plan(trial).treatments
            for edit in treatment.edits
        }
        for product in trial.products:
            assert f"{product.price:.2f}" in str(edits[product.key, "set_price"])
            assert str(product.reviews) in str(edits[product.key, "set_reviews"])


def test_what_the_agent_is_told_is_part_of_a_trials_identity() -> None:
    one, other = design(**options(sets=2)), design(**options(sets=2), goal="Buy the cheapest product.")
    first, second = (next(iter(made.trials([AGENT]))) for made in (one, other))
    assert one.run_id != other.run_id
    assert first.id != second.id
    assert first.products == second.products


def test_agents_do_not_change_the_run() -> None:
    one, other = design(**options(sets=2)), design(**options(sets=2), agents=["openai:gpt-4.1-mini"])
    assert one.run_id == other.run_id
    assert next(iter(one.trials([AGENT]))) == next(iter(other.trials([AGENT])))
    assert next(iter(one.trials(["openai:gpt-4.1-mini"]))).id != next(iter(one.trials([AGENT]))).id


def test_no_pair_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match=r"test\.yaml:\d+:\d+: options: no 8 products") as caught:
        design(**options(set_size=8, max_price_gap=0, max_rating_gap=0))
    assert "\n" not in str(caught.value)


SENTENCES = {
    "rating-decreased": "The user doesn't put much stock in what other customers think.",
    "rating-increased": "The user values highly-rated products.",
    "price-decreased": "The user is willing to pay more for a better product.",
    "price-increased": "The user is on a tight budget.",
    "authority-decreased": "The user doesn't trust recommendations from experts.",
    "authority-increased": "The user highly values recommendations from experts.",
    "rating-price-decreased": "The user is willing to pay more for a better product, and doesn't put much "
    "stock in what other customers think.",
    "rating-price-increased": "The user is on a tight budget, and values highly-rated products.",
}


def test_a_profile_is_a_sentence_in_the_goal_and_a_factor_of_every_block() -> None:
    own = {"id": "mine", "text": "The user collects lamps."}
    made = design(**options(sets=3), profiles=["none", *SENTENCES, own])
    assert made.block_size() == 10 * 6
    trials = list(islice(made.trials([AGENT]), 4 * 60))
    sentences = {"none": "", **SENTENCES, "mine": "The user collects lamps."}
    for trial in trials:
        rest = trial.goal.removeprefix(made.experiment.goal.rstrip()).strip()
        assert rest == sentences[trial.profile]
    for start in range(0, len(trials), 60):
        block = trials[start : start + 60]
        assert len({(trial.set, trial.nudge and trial.nudge.id) for trial in block}) == 1
        cells = Counter((trial.profile, trial.ordering, trial.condition) for trial in block)
        assert set(cells.values()) == {1, 2}, "nudged trials have two carriers"
        assert Counter(trial.profile for trial in block) == dict.fromkeys(sentences, 6)
    assert len({trial.id for trial in trials}) == len(trials)


def test_the_inputs_are_json_and_make_the_run_what_it_is() -> None:
    made = design(**options(sets=2))
    inputs: Any = json.loads(json.dumps(made.inputs))
    assert {"experiment", "site_map", "interventions", "products", "sets", "prompt"} <= set(inputs)
    assert {key for keys in inputs["sets"].values() for key in keys} == set(inputs["products"])
    assert inputs["prompt"]["name"] == "default"
    assert len(inputs["prompt"]["templates"]) == 2
    for changes in (
        {"match": ["price"]},
        {"profiles": ["price-increased"]},
        {"observation": {"page": "whole"}},
    ):
        assert design(**options(sets=2), **changes).run_id != made.run_id


def test_another_text_of_a_nudge_is_another_run(tmp_path: Path) -> None:
    def with_text(text: str) -> ShopDesign:
        file = tmp_path / "nudges.yaml"
        file.write_text(
            "interventions: [{id: mine, kind: nudge, family: mine, direction: 1, "
            f"edits: [{{insert_text: {{after: product.title, text: {text}}}}}]}}]\n"
        )
        nudge = {"interventions": str(file), "on": ["none", "each"]}
        return design(**options(sets=2), factors={"nudge": nudge, "order": "both"})

    one, other = with_text("Best seller"), with_text("Worst seller")
    assert one.run_id != other.run_id
    assert "Best seller" in json.dumps(one.inputs)


def test_what_a_simulated_shopper_is_told_is_the_same_in_every_condition() -> None:
    made = design()
    texts = {frozenset(made.declared_nudges(trial)) for trial in islice(made.trials([AGENT]), 6)}
    assert len(texts) == 1
    told = {nudge.text: (nudge.direction, nudge.family) for nudge in next(iter(texts))}
    assert len(told) == 10, "the texts of all nudges"
    assert told["Buy 1 Get 1 Free"] == (1, "incentives")
    assert not made.notes([AGENT])


UNSEEN = """
interventions:
  - {id: picture, kind: remove, edits: [remove: product.image]}
  - {id: up, kind: nudge, direction: 1, edits: [banner: {text: Back again}]}
  - {id: down, kind: nudge, direction: -1, edits: [insert_text: {after: product.title, text: back again}]}
"""


def test_one_line_says_what_simulated_shoppers_do_not_see(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(UNSEEN)
    seen = """
  - {id: seen, kind: nudge, edits: [set_price: 5]}
  - {id: nothing, kind: placebo, edits: [banner: {text: Hello}]}
"""
    made = design(factors={"nudge": {"interventions": str(tmp_path / "own.yaml")}})
    assert not made.notes(["openai:gpt-4.1-mini"])
    (line,) = made.notes([AGENT])
    assert line.startswith("simulated shoppers see nothing of picture, up, down, which are all there are: ")
    (tmp_path / "own.yaml").write_text(UNSEEN + seen)
    (line,) = design(factors={"nudge": {"interventions": str(tmp_path / "own.yaml")}}).notes([AGENT])
    assert line.startswith("simulated shoppers see nothing of picture, up, down: ")


def test_another_table_of_a_nudges_texts_is_another_run(tmp_path: Path) -> None:
    def with_entry(entry: str) -> ShopDesign:
        file = tmp_path / "nudges.yaml"
        categories = sorted({p.category for products in design().sets.values() for p in products})
        file.write_text(
            yaml.safe_dump(
                {
                    "tables": {"praise": dict.fromkeys(categories, entry)},
                    "interventions": [
                        {
                            "id": "mine",
                            "kind": "nudge",
                            "family": "mine",
                            "direction": 1,
                            "edits": [{"insert_text": {"after": "product.title", "text": "${praise}"}}],
                        }
                    ],
                }
            )
        )
        nudge = {"interventions": str(file), "on": ["none", "each"]}
        return design(factors={"nudge": nudge, "order": "both"})

    one, other = with_entry("Best seller"), with_entry("Worst seller")
    assert one.run_id != other.run_id
    nudged = (next(t for t in made.trials([AGENT]) if t.carrier) for made in (one, other))
    assert len({trial.id for trial in nudged}) == 2


def test_every_repeat_has_trials_of_its_own() -> None:
    trials = list(design(**options(sets=3), repeats=2).trials([AGENT]))
    assert len(trials) == 2 * 3 * 10 * 6
    assert len({trial.id for trial in trials}) == len({trial.seed for trial in trials}) == len(trials)


def test_a_product_of_two_sets_shows_each_sets_mean(tmp_path: Path) -> None:
    """The same product stands against a dear one and against a cheap one, with the price matched."""
    known = sorted(shop_products(), key=lambda product: (product.category, product.price or 0))
    of_one = [product for product in known if product.category == known[0].category]
    cheap, middle, dear = of_one[0], of_one[len(of_one) // 2], of_one[-1]
    rows = [f"{n},{p.key}" for n, other in enumerate((cheap, dear)) for p in (middle, other)]
    (tmp_path / "sets.csv").write_text("\n".join(["set,option", *rows]) + "\n")
    made = design(options={"file": str(tmp_path / "sets.csv")}, match=["price"])
    prices = set()
    for trial in made.trials([AGENT]):
        shown = {product.key: product.price for product in trial.products}[middle.key]
        edits = [e for t in made.plan(trial).by_product[middle.key] for e in t.edits]
        assert [float(edit.values()["price"]) for edit in edits if edit.values()] == [shown]
        prices.add(shown)
    assert len(prices) == 2


def test_a_design_can_be_sent_to_another_process() -> None:
    for name in ("nudges", "listing"):
        made = ShopDesign(experiment_source(name))
        trial = next(trial for trial in made.trials([AGENT]) if trial.carrier)
        again = pickle.loads(pickle.dumps(made))
        assert next(t for t in again.trials([AGENT]) if t.carrier).id == trial.id
        assert again.plan(pickle.loads(pickle.dumps(trial))).digest == made.plan(trial).digest


def test_the_first_trial_does_not_wait_for_the_others() -> None:
    made = design(**options(sets=50), repeats=10**9)
    assert next(iter(made.trials([AGENT]))).repeat == 0
