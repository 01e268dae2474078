"""The wild cluster bootstrap that the jackknife is compared with, against that of pyfixest."""

import numpy as np
import pytest

from tests.lab.bench.few_clusters import KINDS, bootstrapped, rejected, signs, webb

# fmt: off
X = [1.35, 1.82, 1.33, -0.3, 1.91, 1.45, 0.46, 1.58, 1.36, 1.29, 1.03, 1.55, 0.26, 0.84, 0.52, 1.6, 1.04,
     0.71, 0.22, 0.74, 1.01, 0.72, 2.29, 2.01, -1.71, -0.89, 0.83, 0.58, 1.21, 1.22, 3.12, -0.11, 0.62, 3.04,
     1.65, 1.66]
Y = [1, 1, 1, -1, -1, -1, -1, 1, 1, 1, -1, 1, 1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1, -1, 1, 1, -1, 1, 1, 1, 1,
     -1, 1, 1, -1, -1]
# fmt: on
SIZES = [2, 3, 3, 4, 4, 5, 6, 9]
SHARES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95]

# What pyfixest 0.60 with wildboottest gave, of a frame `d` with X, Y and the cluster as x, y and g:
#   fit = pyfixest.feols("y ~ x - 1", d, vcov={"CRV1": "g"})
#   found, t = fit.wildboottest(param="x", cluster="g", reps=9999, weights_type="rademacher",
#                               impose_null=True, seed=1, return_bootstrapped_t_stats=True)
#   found["t value"], found["Pr(>|t|)"], numpy.quantile(abs(t), SHARES)
# and the same with reps=999, weights_type="webb".
T = 0.8448124585481039
P = {"signs": 0.46875, "webb": 0.4694694694694695}
QUANTILES = {
    "signs": [
        0.23360078436554055,
        0.2929928434538335,
        0.8051769149678292,
        1.51560217508841,
        2.410172518310583,
        3.882826438442397,
    ],
    "webb": [
        0.1403868371290315,
        0.30935102758447564,
        0.7740968497456262,
        1.6915766667896437,
        2.618988704229358,
        3.5569850594039156,
    ],
}


def test_the_bootstrap_is_that_of_pyfixest() -> None:
    x, y, code = np.array(X), np.array(Y, float)[:, None], np.repeat(np.arange(8), SIZES)
    for name, weights in (("signs", signs(8)), ("webb", webb(np.random.default_rng(1), 8, 999))):
        plain, drawn = bootstrapped(x, y, code, weights)
        assert plain == pytest.approx([T])
        assert np.quantile(drawn[0], SHARES) == pytest.approx(QUANTILES[name])
        assert (drawn[0] > plain + 1e-9).mean() == pytest.approx(P[name])


def test_the_jackknife_misses_no_more_than_the_bootstrap_where_clusters_are_alike() -> None:
    """But for two standard errors; of 12 clusters, and of 8 of an agent that answers each alike."""
    studies = 500
    for kind, share, count in (("equal", 0.8, 12), ("equal, answers alike", 0.8, 12), ("equal", 0.5, 8)):
        assert kind in KINDS
        found = rejected(kind, share, count, studies)
        assert found["Satterthwaite"] <= max(found["Webb"], 0.05) + 2 * np.sqrt(0.05 * 0.95 / studies)
