"""Fitting a conditional logit to 3,600 choice sets, against statsmodels."""

from typing import Any

import numpy as np
import pandas as pd
from statsmodels.discrete.conditional_models import ConditionalLogit

from analysis.estimators.clogit import CLogit, fit_clogit
from tests.lab.bench.result import Result
from tests.lab.bench.timing import in_turn, rows, times_as_many

SETS = 3600
BETA = np.array([0.9, 0.3, 1.9, 1.7, 1.5, 0.6, -2.0])
REPETITIONS = 5
GOAL = 50
TOLERANCE = 1e-6
OURS = "Souk, fit with standard errors"
DEFAULT = "statsmodels, its default optimiser (BFGS)"
EXACT = "statsmodels, Newton's method"


async def run() -> Result:
    """Both in turns: triples with seven attributes, as many as an agent of the hotel study chooses from."""
    rng = np.random.default_rng(1)
    label = np.repeat(np.arange(SETS), 3)
    x = pd.DataFrame(rng.normal(size=(len(label), len(BETA)))).add_prefix("x")
    utility = x @ BETA + rng.gumbel(size=len(label))
    chosen = (utility == utility.groupby(label).transform("max")).to_numpy(float)

    def souk() -> CLogit:
        return fit_clogit(x, chosen, label)

    def peer(**options: Any) -> Any:
        return ConditionalLogit(chosen, x.to_numpy(), groups=label).fit(disp=False, **options)

    def exactly() -> Any:
        return peer(method="newton", tol=1e-10)

    times = in_turn({OURS: souk, DEFAULT: peer, EXACT: exactly}, REPETITIONS)
    ratio, ratio_exact = (times_as_many(times, theirs, OURS) for theirs in (DEFAULT, EXACT))
    stopped, difference = (float(abs(souk().estimate - run().params).max()) for run in (peer, exactly))
    return Result(
        what=f"conditional logit, {SETS:,} sets of three, seven coefficients",
        against="statsmodels `ConditionalLogit`",
        figure=f"{ratio:.0f} times faster ({ratio_exact:.0f} times with Newton's method in statsmodels);"
        f" coefficients within {difference:.0e}",
        goal=f"{GOAL} times faster, coefficients within {TOLERANCE:.0e}",
        reached=min(ratio, ratio_exact) >= GOAL and difference <= TOLERANCE,
        times=rows(times),
        how=(
            "Choices between three options with normal attributes, simulated with known coefficients. Timed"
            " is the processor's time of a whole fit, from the table to coefficients and standard errors. The"
            " coefficients are compared with those of statsmodels by Newton's method at a tolerance of 1e-10."
        ),
        notes=(
            f"With its default optimiser statsmodels stops {stopped:.0e} from the maximum.",
            "statsmodels also takes sets with several chosen options, which is why it goes through them one"
            " by one; Souk takes exactly one choice per set.",
        ),
    )
