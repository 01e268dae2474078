"""Find two levels of one factor by their names, as `--contrast A:B` gives them."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple

import pandas as pd

from analysis.tables.errors import AnalysisError


class LevelPair(NamedTuple):
    """The factor, its two levels, and the level of each row ("" for rows of neither)."""

    part: str
    level: str
    less: str
    of: "pd.Series[str]"


def level_pair(factors: Mapping[str, "pd.Series[str]"], text: str) -> LevelPair:
    """Return the two levels that a text names. factors: the level of each row, "" for none.

    Raises AnalysisError for a text that does not name two levels of one factor.
    """
    cuts = [(text[:at].strip(), text[at + 1 :].strip()) for at, sign in enumerate(text) if sign == ":"]
    if not cuts:
        raise AnalysisError(f"--contrast {text}: write two names with a colon between: --contrast 'A:B'")
    for part, of in factors.items():
        known = set(of)
        for one, other in cuts:
            if one != other and {one, other} <= known and "" not in (one, other):
                return LevelPair(part, one, other, of.where(of.isin([one, other]), ""))
    every = sorted({str(level) for of in factors.values() for level in set(of)} - {""})
    one, other = cuts[0]
    strange = next((name for name in (one, other) if name not in every), "")
    if not strange:
        raise AnalysisError(f"--contrast {text}: not two levels of one factor; name two texts or conditions")
    near = get_close_matches(strange, every, 1, 0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"the table has {', '.join(every[:8])}"
    raise AnalysisError(f"--contrast {text}: no trial has a text or condition {strange!r}; {hint}")
