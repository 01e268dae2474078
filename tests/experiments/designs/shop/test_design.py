"""Designs of shops: balanced blocks, what makes another run or trial, what agents are told."""

import pickle
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.designs.choice_sets.shop_products import shop_products
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import NUDGED
from experiments.records.record import CONTROL
from experiments.runs.experiment_run import ExperimentRun
from interventions.yaml.yaml_source import parse_yaml
from tests.experiments.designs.make import AGENT, shop
from tests.experiments.designs.test_trials import assert_balanced

NUDGES = (
    "authority-expertise", "wirecutter", "best-seller", "purchased-50k", "next-hour",
    "limited-edition", "newer-version", "no-returns", "free-shipping", "buy-one-get-one",
)  # fmt: skip


def options(**changes: Any) -> dict[str, Any]:
    return {"options": {"set_size": 2, "sets": 2, **changes}}


@settings(max_examples=15, deadline=None)
@given(
    sets=st.integers(1, 12),
    nudges=st.integers(1, 10),
    set_size=st.sampled_from([2, 3]),
    repeats=st.integers(1, 2),
)
def test_whole_blocks_are_balanced(sets: int, nudges: int, set_size: int, repeats: int) -> None:
    made = shop(
        **options(sets=sets, set_size=set_size),
        factors={"nudge": {"interventions": "nudges", "only": list(NUDGES[:nudges])}, "order": "both"},
        repeats=repeats,
    )
    assert made.block_size() == 2 * (set_size + 1)
    assert_balanced(made)
    trials = list(made.trials([AGENT]))
    blocks = [trials[start : start + made.block_size()] for start in range(0, len(trials), made.block_size())]
    met = Counter((block[0].set, made.intervention(block[0])) for block in blocks)
    assert len(met) == sets * nudges and set(met.values()) == {repeats}, "every nudge meets every set"
    for block in blocks:
        assert len({(trial.set, made.intervention(trial), trial.repeat) for trial in block}) == 1
        assert Counter((trial.ordering, trial.condition) for trial in block) == {
            ("forward", CONTROL): 1, ("reversed", CONTROL): 1,
            ("forward", NUDGED): set_size, ("reversed", NUDGED): set_size,
        }  # fmt: skip
        # Each alternative stands equally often at both ends and carries the nudge equally often.
        carriers = Counter(trial.carrier for trial in block if trial.carrier)
        assert carriers == {product.key: 2 for product in block[0].products}
        assert block[-1].products == block[0].products[::-1]


def test_a_control_belongs_to_its_nudge_and_shows_nothing_of_it() -> None:
    made = shop(**options())
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
    assert Counter(trial.agent for trial in wanted) == dict.fromkeys(agents, 12)


def test_matching_makes_the_displayed_facts_equal() -> None:
    made, plain = shop(**options(sets=5), match=["price", "reviews"]), shop(**options(sets=5))
    assert (made.match, plain.match) == ("price+reviews", "none")
    for name, alternatives in made.sets.items():
        before = plain.sets[name]
        assert [(p.key, p.rating) for p in alternatives] == [(p.key, p.rating) for p in before]
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
    made = shop(**options(sets=3), profiles=["none", *SENTENCES, own])
    assert made.block_size() == 10 * 6
    sentences = {"none": "", **SENTENCES, "mine": "The user collects lamps."}
    block = list(islice(made.trials([AGENT]), 60))
    for trial in block:
        rest = trial.goal.removeprefix(made.experiment.goal.rstrip()).strip()
        assert rest == sentences[trial.profile]
    assert Counter(trial.profile for trial in block) == dict.fromkeys(sentences, 6)


@pytest.mark.parametrize(
    "changes",
    [
        {"goal": "Buy the cheapest product."},
        {"match": ["price"]},
        {"profiles": ["price-increased"]},
        {"observation": {"page": "whole"}},
        {"observation": "screenshot"},
        {"observation": ["html", "tree"]},
        {"safety_checks": "acknowledge"},
        {"computers": {"qwen-computer:mine": {"coordinates": "pixels"}}},
    ],
)
def test_what_agents_are_told_and_shown_makes_another_run(changes: dict[str, Any]) -> None:
    one, other = shop(**options()), shop(**options(), **changes)
    assert one.run_id != other.run_id
    assert next(one.trials([AGENT])).id != next(other.trials([AGENT])).id


@pytest.mark.parametrize("in_table", [False, True])
def test_another_text_of_a_nudge_is_another_run(in_table: bool, tmp_path: Path) -> None:
    def with_text(text: str) -> ShopDesign:
        edit = {"insert_text": {"after": "product.title", "text": "${praise}" if in_table else text}}
        nudge = {"id": "mine", "kind": "nudge", "family": "mine", "direction": 1, "edits": [edit]}
        tables = {"praise": dict.fromkeys(sorted({item.category for item in shop_products()}), text)}
        file = {"interventions": [nudge], **({"tables": tables} if in_table else {})}
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(file))
        factor = {"interventions": str(tmp_path / "mine.yaml"), "on": ["none", "each"]}
        return shop(**options(), factors={"nudge": factor, "order": "both"})

    one, other = with_text("Best seller"), with_text("Worst seller")
    assert one.run_id != other.run_id
    assert len({next(t for t in made.trials([AGENT]) if t.carrier).id for made in (one, other)}) == 2


def test_what_a_simulated_shopper_is_told_is_the_same_in_every_condition() -> None:
    made = shop()
    texts = {frozenset(made.declared_nudges(trial)) for trial in islice(made.trials([AGENT]), 6)}
    assert len(texts) == 1
    told = {nudge.text: (nudge.direction, nudge.family) for nudge in next(iter(texts))}
    assert len(told) == 10, "the texts of all nudges"
    assert told["Buy 1 Get 1 Free"] == (1, "incentives")


UNSEEN = """
interventions:
  - {id: picture, kind: remove, edits: [remove: product.image]}
  - {id: up, kind: nudge, direction: 1, edits: [banner: {text: Back again}]}
  - {id: down, kind: nudge, direction: -1, edits: [insert_text: {after: product.title, text: back again}]}
"""
SEEN = """
  - {id: seen, kind: nudge, edits: [set_price: 5]}
  - {id: nothing, kind: placebo, edits: [banner: {text: Hello}]}
"""


def test_one_line_says_what_simulated_shoppers_do_not_see(tmp_path: Path) -> None:
    for text, told in ((UNSEEN, ", which are all there are: "), (UNSEEN + SEEN, ": ")):
        (tmp_path / "own.yaml").write_text(text)
        made = shop(factors={"nudge": {"interventions": str(tmp_path / "own.yaml")}})
        assert not made.notes(["openai:gpt-4.1-mini"])
        (line,) = made.notes([AGENT])
        assert line.startswith(f"simulated shoppers see nothing of picture, up, down{told}")


def test_a_product_of_two_sets_shows_each_sets_mean(tmp_path: Path) -> None:
    """The same product stands against a dear one and against a cheap one, with the price matched."""
    known = sorted(shop_products(), key=lambda product: (product.category, product.price or 0))
    of_one = [product for product in known if product.category == known[0].category]
    cheap, middle, dear = of_one[0], of_one[len(of_one) // 2], of_one[-1]
    rows = [f"{n},{p.key}" for n, other in enumerate((cheap, dear)) for p in (middle, other)]
    (tmp_path / "sets.csv").write_text("\n".join(["set,option", *rows]) + "\n")
    made = shop(options={"file": str(tmp_path / "sets.csv")}, match=["price"])
    prices = set()
    for trial in made.trials([AGENT]):
        shown = {product.key: product.price for product in trial.products}[middle.key]
        edits = [e for t in made.plan(trial).by_product[middle.key] for e in t.edits]
        assert [float(edit.values()["price"]) for edit in edits if edit.values()] == [shown]
        prices.add(shown)
    assert len(prices) == 2


@pytest.mark.parametrize("name", ["nudges", "listing"])
def test_a_design_can_be_sent_to_another_process(name: str) -> None:
    made = shop(name)
    trial = next(trial for trial in made.trials([AGENT]) if trial.carrier)
    again = pickle.loads(pickle.dumps(made))
    assert next(t for t in again.trials([AGENT]) if t.carrier).id == trial.id
    assert again.plan(pickle.loads(pickle.dumps(trial))).digest == made.plan(trial).digest


def test_the_first_trial_does_not_wait_for_the_others() -> None:
    assert next(shop(**options(sets=50), repeats=10**9).trials([AGENT])).repeat == 0


def test_addresses_of_environments(tmp_path: Path) -> None:
    lamps = [f"p{number},Lamps,Lamp {number},{10 + number},80" for number in range(4)]
    (tmp_path / "c.csv").write_text("\n".join(["key,category,name,price,rating", *lamps]) + "\n")
    live = (
        "environment: https://shop.example/en\npage: 'p/${key}'\nlive: {allow: [], stop_before: [Pay now]}\n"
        f"options: {{catalogue: {tmp_path}/c.csv}}\n"
    )
    for lines, address in (
        ("environment: shop", None),
        ("environment: compose:shop", "http://127.0.0.1:7770/"),
        (live, "https://shop.example/en/"),
    ):
        made = ShopDesign(parse_yaml(f"name: e\ngoal: Buy.\n{lines}", "e.yaml"))
        assert made.shop.url == address
    trial = next(made.trials(["simulated:random"]))
    assert trial.start == tuple(f"p/{product.key}" for product in trial.products)
