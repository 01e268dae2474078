"""List the prompts that an attribution needs: a coalition is a set of fields that a prompt has."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from analysis.tables.errors import AnalysisError

EXACT_FIELDS: Final = 12
"""The most fields for which all 2^n prompts are scored; with 12 these are 4,096 per anchor."""

Attributing = Literal["exact", "permutations", "none"]


def coalitions(
    fields: Sequence[str], method: Attributing = "exact", permutations: int = 200, seed: int = 42
) -> list[frozenset[str]]:
    """Return the sets of present fields to score, each once; the full prompt is always among them.

    exact: all 2^n; the k-th holds field i where bit i of k is set. permutations: every beginning of the
    sampled orders, as `orders` draws them. none: only the full prompt.

    Raises AnalysisError if `exact` has more than 12 fields, `permutations` fewer than two, or a field is
    named twice.
    """
    if len(set(fields)) < len(fields):
        raise AnalysisError(f"fields: {', '.join(fields)}: a name stands twice; name each field once")
    if method == "none":
        return [frozenset(fields)]
    if method == "exact":
        if len(fields) > EXACT_FIELDS:
            raise AnalysisError(
                f"attribution: exact needs 2^{len(fields)} prompts, and stops at {EXACT_FIELDS} fields;"
                " use permutations"
            )
        return [
            frozenset(field for i, field in enumerate(fields) if k >> i & 1) for k in range(2 ** len(fields))
        ]
    found = (
        frozenset(order[:size])
        for order in orders(fields, permutations, seed)
        for size in range(len(fields) + 1)
    )
    return list(dict.fromkeys(found))


def orders(fields: Sequence[str], permutations: int, seed: int) -> list[tuple[str, ...]]:
    """Draw random orders of the fields, which do not depend on the order in which the fields are given.

    The draws come from a random stream of their own. Raises AnalysisError for fewer than two orders, which
    have no spread.
    """
    if permutations < 2:
        raise AnalysisError(f"permutations: {permutations} is too few for an error bar; use 2 or more")
    names = sorted(fields)
    generator = np.random.default_rng([seed, len(names)])
    return [tuple(names[i] for i in generator.permutation(len(names))) for _ in range(permutations)]
