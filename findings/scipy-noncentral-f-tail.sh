#!/bin/sh
# SciPy 1.17.1 and statsmodels 0.15.0, CPython 3.11.
# scipy.stats.ncf.cdf() is NaN in a band between its smallest values and 0: with 4 and 380 degrees of freedom, at the
# 5 % point of the central F, for most noncentralities from 1440 to 1643. Below the band it is right (1.7e-256 at 1399),
# above it is 0. ncf.sf() is 1 all along. FTestAnovaPower of statsmodels is 1 - cdf, so that the power of an analysis of
# variance is NaN for some large effects, and 1 for smaller and for larger ones. There is no warning.
#
# Seen (5 groups of 77, f = 1.75, 2, 3): noncentrality 1179: 1.0; 1540: nan; 3465: 1.0
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scipy==1.17.1 statsmodels==0.15.0
"$folder/venv/bin/python" - <<'PROGRAM'
import math
import sys

from scipy import stats
from statsmodels.stats.power import FTestAnovaPower

GROUPS, EACH, ALPHA = 5, 77, 0.05
between, within = GROUPS - 1, GROUPS * (EACH - 1)
critical = stats.f.isf(ALPHA, between, within)
band = [n for n in range(1, 6_000) if math.isnan(stats.ncf.cdf(critical, between, within, n))]
wrong = [n for n in range(1, 6_000) if math.isnan(stats.ncf.sf(critical, between, within, n))]
print("ncf.cdf is NaN from", band[0], "to", band[-1], "for", len(band), "noncentralities; ncf.sf for", len(wrong))
powers = [float(FTestAnovaPower().power(f, GROUPS * EACH, ALPHA, GROUPS)) for f in (1.75, 2, 3)]
print("power of f = 1.75, 2, 3:", powers)
seen = band[0], band[-1], len(band), wrong, powers[0], math.isnan(powers[1]), powers[2]
sys.exit(seen != (1440, 1643, 172, [], 1.0, True, 1.0))
PROGRAM
