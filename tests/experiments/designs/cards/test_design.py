"""All kinds of designs: identities, agents, blocks, mistakes in the file."""

import hashlib
import subprocess
import sys
import tracemalloc
from collections import Counter, deque
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from interventions.errors import UserError
from tests.experiments.designs.cards.make import AGENT, made, shipped, trials

ROOT = Path(__file__).parents[4]
GOLDEN = [
    "ca476cfd6e9ecb58ffd4cbeceeb0e0ee",
    "59bd8e0d065f7fd3738ab96910c3c3fb",
    "a77a503b29142eb78bec95034c0af5ba",
]
SMALL: dict[str, dict[str, Any]] = {
    "hotels": {
        "blocks": [{"set_size": 2, "sets": 6, "repeats": 2}, {"set_size": 4, "sets": 3, "repeats": 4}]
    },
    "wtp": {"repeats": 4},
    "biases": {"valid": 4},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "block"), [("hotels", 3_600 + 3_600, 2), ("wtp", 1_800, 3), ("biases", 3_200, 2)]
)
def test_the_shipped_experiments(name: str, count: int, block: int) -> None:
    design, asked = made(name), shipped(name)
    assert len(asked) == count
    assert len({trial.id for trial in asked}) == len({trial.seed for trial in asked}) == count
    assert design.block_size() == block
    assert f"{count:,}" in design.summary() or name == "biases"
    assert not design.notes([])


@pytest.mark.slow
def test_known_trials_have_the_ids_they_always_had() -> None:
    """Stored runs can be resumed only as long as this holds."""
    asked = shipped("hotels")
    assert [asked[number].id for number in (0, 1, 5_000)] == GOLDEN


@pytest.mark.slow
def test_another_process_has_the_same_trials() -> None:
    program = """
import hashlib
from tests.experiments.designs.cards.make import trials
ids = "".join(trial.id for trial in trials("hotels", blocks=[{"set_size": 3, "sets": 40, "repeats": 2}]))
print(hashlib.sha256(ids.encode()).hexdigest())
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "7"},
        check=True,
        capture_output=True,
        text=True,
    )
    ids = "".join(t.id for t in trials("hotels", blocks=[{"set_size": 3, "sets": 40, "repeats": 2}]))
    assert run.stdout.strip() == hashlib.sha256(ids.encode()).hexdigest()


@pytest.mark.parametrize("name", SMALL)
def test_pages_and_prompts_have_the_same_trials_in_different_runs(name: str) -> None:
    page, text = made(name, mode="page", **SMALL[name]), made(name, mode="text", **SMALL[name])
    assert page.run_id != text.run_id
    assert list(page.trials([AGENT])) == list(text.trials([AGENT]))


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_what_is_asked_makes_a_trial_and_agents_make_no_run(name: str) -> None:
    plain, agents = made(name, **SMALL[name]), made(name, agents=["openai:gpt-4.1-mini"], **SMALL[name])
    assert plain.run_id == agents.run_id
    ids = {trial.id for trial in plain.trials([AGENT])}
    for other in (made(name, seed=43, **SMALL[name]), made(name, limits={"seconds": 9}, **SMALL[name])):
        assert other.run_id != plain.run_id
        same = {trial.id for trial in other.trials([AGENT])} == ids
        assert same == (other.experiment.seed == 42)
    assert ids.isdisjoint(trial.id for trial in plain.trials(["simulated:random"]))


@pytest.mark.parametrize("name", SMALL)
def test_agents_get_the_same_blocks(name: str) -> None:
    design = made(name, **SMALL[name])
    both = list(design.trials([AGENT, "simulated:random"]))
    cells = [[(t.cell[1:], t.repeat, t.ordering) for t in both if t.agent == agent] for agent in
             (AGENT, "simulated:random")]  # fmt: skip
    assert cells[0] == cells[1]
    assert [t.agent for t in both[: 2 * design.block_size()]] == sorted(
        [AGENT, "simulated:random"] * design.block_size()
    )


@pytest.mark.parametrize("name", SMALL)
def test_any_number_of_whole_blocks_is_balanced(name: str) -> None:
    design = made(name, **SMALL[name])
    size = design.block_size()
    all_trials = list(design.trials([AGENT]))
    cells = Counter((t.set, t.scenario, t.temperature) for t in all_trials)
    for blocks in range(1, len(all_trials) // size + 1):
        part = all_trials[: blocks * size]
        arms = Counter((trial.condition, trial.ordering) for trial in part)
        assert len(set(arms.values())) == 1
        assert len(arms) == size
        # Every cell has had its share, up to one block.
        shares = [
            Counter((t.set, t.scenario, t.temperature) for t in part)[cell] / cells[cell] for cell in cells
        ]
        assert max(shares) - min(shares) <= max(size / cells[cell] for cell in cells) + 1e-9


def test_another_repeat_is_the_same_question_with_a_new_identity() -> None:
    design = made("biases", valid=3)
    asked = list(design.trials([AGENT]))
    again = design.again(asked[0], 3)
    assert again.cell == asked[0].cell
    assert again.cards == asked[0].cards
    assert again.id not in {trial.id for trial in asked}
    assert again.seed != asked[0].seed
    assert design.again(again, 0) == asked[0]
    # What is asked again would have been there, had more been wanted from the start.
    assert again in list(made("biases", valid=4).trials([AGENT]))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_trials() -> None:
    design = made("biases", valid=2_500, attempts=2_500)
    stream = design.trials([AGENT])

    def peak(count: int) -> int:
        tracemalloc.reset_peak()
        assert len(deque(islice(stream, count), maxlen=1)) == 1
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        first = peak(500)
        assert peak(5_000) < first + 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("hotels", {"mode": "book"}, r'test\.yaml:\d+:\d+: mode: unknown value "book"; '),
        ("hotels", {"pool": "hotel"}, r'conjoint\.pool: unknown pool "hotel"; did you mean "hotels"\?'),
        ("hotels", {"pool": "no-such.csv"}, r"no-such\.csv: no such file in .+; "),
        ("hotels", {"blocks": []}, r"design\.conjoint\.blocks: missing; say which sets"),
        ("hotels", {"blocks": [{"set_size": 9, "sets": 1}]}, r"blocks\[0\]\.set_size: must be less than or"),
        ("hotels", {"blocks": [{"set_size": 2, "sets": 99_999}]}, r"\.sets: 180 hotels make only 16110"),
        ("hotels", {"blocks": [{"set_size": 2, "sets": n} for n in (1, 2)]}, r": 2 stands twice"),
        ("hotels", {"cards": "biases"}, r"cards: biases has no cards with alternatives; name"),
        ("hotels", {"design": {}}, r"design: no designs; give one of"),
        ("hotels", {"repeats": 3}, r'design\.conjoint\.repeats: unknown key; '),
        ("wtp", {"products": "wpt"}, r'factorial\.products: unknown products "wpt"; did you mean "wtp"\?'),
        ("wtp", {"conditions": ["low", "low"]}, r"factorial\.conditions: low stands twice; remove one"),
        ("wtp", {"cards": "hotels"}, r'cards: hotels has no card "wtp-control"; it has: hotel-choice'),
        ("biases", {"biases": ["framin"]}, r'biases\[0\]: biases has no bias "framin"; did you mean'),
        ("biases", {"valid": 300}, r"battery\.attempts: 200 attempts cannot give 300 valid answers; raise"),
        ("biases", {"temperature": 1}, r"temperature: a battery has a list of its own; remove"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        made(name, **changes)
    assert "\n" not in str(caught.value)
