"""Compare how agents weigh the price and the attributes of cards."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.conjoint.across import moved_weights
from analysis.conjoint.cards import encode
from analysis.conjoint.fits import fit_models
from analysis.conjoint.triage import triage
from analysis.conjoint.variants import BASE, of_variant, variants_of
from analysis.estimators.lpm import LEAST_CLUSTERS
from analysis.estimators.ranking import Moved, apart
from analysis.reporting.comparing import compare_sides, difference

TEXT: Final = (
    "Part-worths of the log-price model of each agent, and its price sensitivity. Each choice set is left out"
    " of both at once, so what both were shown is shared; the differences are about sets like these."
)
_FEW: Final = f"no interval: fewer than {LEAST_CLUSTERS[1]} choice sets, or one of them decides it"

_SAME: Final = "no interval: both answered alike"


def compare_cards(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two agents, or runs of an agent, by their part-worths; see `compare_sides`.

    table: as `encode` takes it; of variants of the prompt, `base` alone. Position-locked agents have no
    part-worths, which a note says. n counts choice sets.
    """
    return compare_sides(table, _prepared, _differences)


def _prepared(rows: pd.DataFrame) -> tuple[str, Mapping[str, Moved]]:
    """Why there is no model, and the part-worths by term."""
    cards = encode(rows)
    cards = of_variant(cards, BASE) if variants_of(cards) else cards
    found = triage(cards).iloc[0]
    if found["verdict"] not in ("engaged", "undecided"):
        return f"no model: {found['verdict'] or found['note']}", {}
    fits = fit_models(cards, [str(found["group"])])
    return "", {each.term: each for each in moved_weights(fits, cards)}


def _differences(
    one: tuple[str, Mapping[str, Moved]], other: tuple[str, Mapping[str, Moved]]
) -> Iterator[dict[str, Any]]:
    for term in dict.fromkeys([*one[1], *other[1]]):
        if term not in one[1] or term not in other[1]:
            why = one[0] or other[0] or "this attribute is not in both"
            yield difference(term, (np.nan, np.nan), np.nan, np.nan, 0, why)
            continue
        left, right = one[1][term], other[1][term]
        _, error, df = apart(left, right)
        sets = len(left.moves.index.union(right.moves.index))
        values = left.estimate, right.estimate
        why = _SAME if values[0] == values[1] else _FEW
        yield difference(term, values, error, df, sets, why if np.isnan(error) else "")
    if not one[1] and not other[1]:
        yield difference("price_sensitivity", (np.nan, np.nan), np.nan, np.nan, 0, one[0])
