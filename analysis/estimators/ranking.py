"""Rank agents, and tell pairs of them apart, from how estimates move without each cluster of choices.

Agents that were shown the same choice sets share their luck: a set is left out, or drawn, for all at once.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.moved import LEAST, ROUNDING, Moved
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import Floats

DRAWS: Final = 500
ALPHA: Final = 0.05
RANKING: Final = (
    *("term", "group", "estimate", "rank", "rank_low", "rank_high", "probability_first"),
    *("n", "note"),
)
_FEW: Final = f"no rank: fewer than {LEAST} choice sets"
_NO_RATIO: Final = "no ratio: the lowest estimate is not told to be above 0"


def rank_agents(
    every: Sequence[Moved], *, draws: int = DRAWS, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ranks of agents by term, and how well each term tells agents apart.

    Ranks: `RANKING`, from the largest estimate down, equal ones alike. An interval of a rank leaves out the
    agents that `apart` tells above or below at 5 %, after Bonferroni over the others (Mogstad, Romano, Shaikh
    and Wilhelm 2024, Review of Economic Studies 91). The probability of rank 1 is by `draws` bootstrap
    samples of the clusters, of which an estimate moves by the sum of its moves (the bootstrap of the
    jackknife's pseudo-values). Told apart: term, pairs with an error, how many of them differ at 5 %
    after Benjamini and Hochberg (1995) and after Bonferroni (`apart`, `apart_bonferroni`, with their shares
    in percent), the agents with the highest and the lowest estimate, their ratio and its interval by the same
    draws, and a note. n: clusters. Both are empty for terms of one agent.
    """
    ranks: list[dict[str, Any]] = []
    told: list[dict[str, Any]] = []
    for term in dict.fromkeys(each.term for each in every):
        found = (each for each in every if each.term == term and not np.isnan(each.estimate))
        own = sorted(found, key=lambda each: -each.estimate)
        if len(own) < 2:
            continue
        known = [each for each in own if len(each.moves) >= LEAST and each.moves.notna().all()]
        values = _drawn(known, draws, seed)
        best = values == values.max(axis=1, keepdims=True) if known else values
        first = best / best.sum(axis=1, keepdims=True)
        tests = _tests(known)
        for each in own:
            row = {"term": term, "group": each.group, "estimate": each.estimate, "n": len(each.moves)}
            if (at := next((n for n, other in enumerate(known) if other is each), None)) is not None:
                above = sum(other.estimate > each.estimate for other in known)
                sure = {p for p, value in tests.items() if at in p and value * (len(known) - 1) < ALPHA}
                # the pairs are in the order of the estimates: the first of two is the higher one
                row |= {"rank": above + 1, "probability_first": first[:, at].mean()}
                row |= {"rank_low": 1 + sum(lower == at for _, lower in sure)}
                row |= {"rank_high": len(known) - sum(higher == at for higher, _ in sure)}
            ranks.append(row | {"note": "" if "rank" in row else _FEW})
        if len(known) > 1:
            p_values = np.array(list(tests.values()))
            told.append({"term": term, **_pairs(p_values), **_ratio(known, values)})
    return pd.DataFrame(ranks, columns=list(RANKING)), pd.DataFrame(told)


def _drawn(known: Sequence[Moved], draws: int, seed: int) -> Floats:
    """Estimates in bootstrap samples of the clusters: draws x agents."""
    if not known:
        return np.zeros((draws, 0))
    moves = _moves(known).fillna(0.0).to_numpy()
    return np.asarray([each.estimate for each in known] - _more(len(moves), draws, seed) @ moves)


@lru_cache(maxsize=1)
def _more(count: int, draws: int, seed: int) -> Floats:
    """How many times more than once each cluster is in each bootstrap sample: draws x clusters."""
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    return np.asarray(drawn - 1.0)


def _moves(known: Sequence[Moved]) -> pd.DataFrame:
    """Clusters x agents; NaN where an agent was not shown a cluster."""
    return pd.DataFrame({at: each.moves for at, each in enumerate(known)}).sort_index()


def _tests(known: Sequence[Moved]) -> dict[tuple[int, int], float]:
    """The p value that two estimates differ, for each pair of them as `Moved.less` has it: all at once."""
    if len(known) < 2:
        return {}
    moves, (one, other) = _moves(known), np.triu_indices(len(known), 1)
    there, values = moves.notna().to_numpy(float), moves.fillna(0.0).to_numpy()
    shared, products = there.T @ there, values.T @ values
    count = shared[one, one] + shared[other, other] - shared[one, other]
    size = products[one, one] + products[other, other]
    squares = size - 2 * products[one, other]
    squares[squares <= ROUNDING * size] = np.nan
    estimates, degrees = (np.array([getattr(each, name) for each in known]) for name in ("estimate", "df"))
    apart, df = estimates[one] - estimates[other], np.minimum(degrees[one], degrees[other])
    p_values = 2 * stats.t.sf(np.abs(apart) / np.sqrt((count - 1) / count * squares), df)
    return dict(zip(zip(one.tolist(), other.tolist(), strict=True), p_values.tolist(), strict=True))


def _pairs(p_values: Floats) -> dict[str, Any]:
    p_values = p_values[~np.isnan(p_values)]
    pairs = len(p_values)
    adjusted, bonferroni = (int((p < ALPHA).sum()) for p in (benjamini_hochberg(p_values), pairs * p_values))
    share = 100 / pairs if pairs else np.nan
    return {
        "pairs": pairs,
        "apart": adjusted,
        "apart_share": share * adjusted,
        "apart_bonferroni": bonferroni,
        "apart_bonferroni_share": share * bonferroni,
    }


def _ratio(known: Sequence[Moved], values: Floats) -> dict[str, Any]:
    """The highest estimate over the lowest."""
    most, least = known[0], known[-1]
    found: dict[str, Any] = {"most": most.group, "least": least.group, "ratio": np.nan}
    found |= {"ratio_low": np.nan, "ratio_high": np.nan, "note": _NO_RATIO}
    if not least.estimate > 0 or (values[:, -1] <= 0).mean() > ALPHA / 2:
        return found
    low, high = np.quantile(values[:, 0] / np.maximum(values[:, -1], 1e-300), [0.025, 0.975])
    ratio = most.estimate / least.estimate
    return found | {"ratio": ratio, "ratio_low": low, "ratio_high": high, "note": ""}
