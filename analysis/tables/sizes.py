"""Find the size of a model, from its label or as given."""

import re
from collections.abc import Iterable, Mapping

from analysis.tables.errors import AnalysisError

_SIZE = re.compile(r"(?<![^\W_])(?<!\.)(\d+(?:\.\d+)?)b(?![^\W_])", re.IGNORECASE)


def model_sizes(agents: Iterable[str], given: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the billions of parameters by agent; an unknown size is absent.

    A size is as given, else as in the label, such as `llama-3.1-70b` or `gemma2_9b`; a label with two sizes
    names none. Raises AnalysisError for a given size that is not above 0.
    """
    found = {}
    for agent in agents:
        named = _SIZE.findall(agent)
        if given and agent in given:
            if not 0 < given[agent] < float("inf"):
                raise AnalysisError(
                    f"sizes: {agent}: {given[agent]} is not above 0; give billions of parameters"
                )
            found[agent] = float(given[agent])
        elif len(named) == 1:
            found[agent] = float(named[0])
    return found
