"""Which prompts are scored: all, those that sampled orders need, or the full one."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.anchoring.coalitions import Attributing, coalitions, orders
from analysis.tables.errors import AnalysisError

FIELDS = ["scene", "comparative", "absolute", "anchor"]


def test_exact_lists_every_subset_by_its_bits() -> None:
    found = coalitions(FIELDS)
    assert len(found) == len(set(found)) == 16
    assert found[0] == frozenset() and found[-1] == frozenset(FIELDS)
    assert found[0b1010] == {"comparative", "anchor"}


def test_none_is_the_full_prompt() -> None:
    assert coalitions(FIELDS, "none") == [frozenset(FIELDS)]


@given(count=st.integers(1, 16), permutations=st.integers(2, 30), seed=st.integers(0, 2**32))
def test_permutations_list_every_beginning_once(count: int, permutations: int, seed: int) -> None:
    fields = [f"field{i}" for i in range(count)]
    found = coalitions(fields, "permutations", permutations, seed)
    assert found[0] == frozenset() and frozenset(fields) in found
    assert len(found) == len(set(found)) <= permutations * (count - 1) + 2
    drawn = orders(fields, permutations, seed)
    assert set(found) == {frozenset(order[:size]) for order in drawn for size in range(count + 1)}
    assert all(sorted(order) == sorted(fields) for order in drawn)
    assert drawn == orders(fields[::-1], permutations, seed), "the order of the fields does not matter"


def test_orders_are_uniform() -> None:
    drawn = orders(["a", "b", "c"], 6_000, 1)
    counts = [drawn.count(order) for order in sorted(set(drawn))]
    assert len(counts) == 6 and all(850 < count < 1_150 for count in counts)


@pytest.mark.parametrize(
    ("fields", "method", "permutations", "message"),
    [
        ([f"f{i}" for i in range(13)], "exact", 200, "exact needs 2\\^13 prompts, and stops at 12 fields"),
        (FIELDS, "permutations", 1, "permutations: 1 is too few"),
        (["a", "a"], "exact", 200, "a name stands twice"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    fields: list[str], method: Attributing, permutations: int, message: str
) -> None:
    with pytest.raises(AnalysisError, match=message):
        coalitions(fields, method, permutations)


def test_a_design_does_not_pay_for_the_analysis() -> None:
    code = (
        "import sys; from analysis.anchoring.coalitions import coalitions;"
        "assert len(coalitions(['a', 'b'])) == 4;"
        "print([name for name in ('pandas', 'scipy', 'matplotlib', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
