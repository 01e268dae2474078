"""Compare how agents weigh the price and the attributes of cards."""

from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.conjoint.across import PRICE_SENSITIVITY, moved_weights
from analysis.conjoint.cards import encode
from analysis.conjoint.fits import fit_models
from analysis.conjoint.triage import triage
from analysis.conjoint.variants import BASE, of_variant, variants_of
from analysis.estimators.comparing import compare_sides
from analysis.estimators.moved import Moved

TEXT: Final = (
    "Part-worths of the log-price model of each agent, and its price sensitivity. Each choice set is left out"
    " of both at once, so what both were shown is shared; the differences are about sets like these."
)
_ONE_ONLY: Final = "this attribute is not in both"


def compare_cards(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two agents, or runs of an agent, by their part-worths; see `compare_sides`.

    table: as `encode` takes it; of variants of the prompt, `base` alone. Position-locked agents have no
    part-worths, which a note says. n counts choice sets.
    """
    return compare_sides(table, _weights, _apart)


def _weights(rows: pd.DataFrame) -> dict[str, Moved]:
    """The part-worths by term; of an agent without a model the reason in the place of each."""
    cards = encode(rows)
    cards = of_variant(cards, BASE) if variants_of(cards) else cards
    found = triage(cards).iloc[0]
    if found["verdict"] in ("engaged", "undecided"):
        return {each.term: each for each in moved_weights(fit_models(cards, [str(found["group"])]), cards)}
    why = f"no model: {found['verdict'] or found['note']}"
    terms = (*cards.controls, *([PRICE_SENSITIVITY] if cards.priced else []))
    return {term: Moved(term, "", np.nan, pd.Series(dtype=float), np.nan, why) for term in terms}


def _apart(one: Moved | None, other: Moved | None) -> dict[str, Any]:
    if one is None or other is None:
        return {"n": 0, "note": _ONE_ONLY}
    apart = one.less(other)
    if np.isnan(apart.estimate):
        return {"n": 0, "note": apart.row()["note"]}
    return {**apart.row(), "n": len(apart.moves), "of_group": one.estimate, "of_less": other.estimate}
