"""Regress the effects of experiments on what they and their agents are, and find those that fit badly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pandas as pd

from analysis.estimators.linear_models import DesignMatrix, LinearFit, fit_cells, full_factorial
from analysis.tables.frame import Floats, result_frame

REFERENCES: Final = {"item": "anchoring", "agent": "claude-3-haiku", "scenario": "base"}
FACTORS: Final = ("item", "agent", "scenario", "temperature")
OUTCOMES: Final = {"d": "estimate", "bias_detected": "bias_detected", "capped": "capped"}
NAMES: Final = {"item": "bias"}
"""What factors are called in tables."""
FAR: Final = 3.0
"""From so many standard errors on, an effect is told as far from what the regression expects."""
EXTRA: Final = ("specification", "outcome", "reference", "df", "vif", "unit", "side")
ALL: Final = "all experiments"

_DESCRIBED: Final = {
    **dict.fromkeys(("std_error", "statistic", "p_value", "conf_low", "conf_high"), np.nan),
    "note": "no test: above 0 without a bias too",
}
_OF_AGENTS: Final = "no test: experiments of an agent share its features; see `by_model`"


def regressions(effects: pd.DataFrame, models: pd.DataFrame | None = None) -> pd.DataFrame:
    """Regress effects on bias, agent, scenario and temperature, on the scenario alone, and on features.

    The regression is by least squares. Factors are dummies, with the references anchoring, claude-3-haiku and
    base, or the alphabetically first where these are absent; temperature and features are numbers. Standard
    errors are classical. A regressor that does not vary is left out with the reason. Undefined experiments
    count as missing. effects: the frame of `experiments`. models: features by agent (models x features).

    Extra columns: specification (`all`, `scenario`, `features`), outcome (d, bias_detected, capped),
    reference, df, vif (the variance inflation of a regressor by the others), side, unit. Published are the
    last two outcomes. A size |d| and a capped value are above 0 also where there is no bias, so their rows
    are described and have no test; those of d have one. Neither have features, which are the same for all
    experiments of an agent.
    """
    data = _data(effects)
    rows: list[dict[str, object]] = []
    for outcome in OUTCOMES:
        rows += _regressed(data, "all", outcome, FACTORS, {} if outcome == "d" else _DESCRIBED)
    rows += _regressed(data, "scenario", "capped", ("scenario",), _DESCRIBED)
    if models is not None:
        joined = data.join(models, on="agent")
        told = (*map(str, models), "scenario")
        rows += _regressed(joined, "features", "capped", told, {**_DESCRIBED, "note": _OF_AGENTS})
    return result_frame(rows, *EXTRA)


def margins(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the capped bias that the regression on all factors expects of each bias, agent and scenario.

    All other factors are as they were observed: the mean of the predictions for all experiments, had they
    this level. Extra column: `factor`. It has no error, for the reason of `regressions`.
    """
    made = _Regression.of(_data(effects), "capped", FACTORS)
    rows = []
    for name in made.dummies if made.fit else ():
        own = made.cells[name]
        for level in own.cat.categories:
            like = pd.Categorical([level] * len(own), categories=own.cat.categories)
            design = full_factorial(made.cells.assign(**{name: like}), made.varying, order=1)
            rows.append(
                {
                    "term": level,
                    "group": ALL,
                    "factor": NAMES.get(name, name),
                    "estimate": float(np.mean(made.fit.predict(design.matrix))) if made.fit else np.nan,
                    "n": int((own == level).sum()),
                    "n_missing": 0,
                    "note": "described; no error",
                }
            )
    return result_frame(rows, "factor")


def residuals(effects: pd.DataFrame) -> pd.DataFrame:
    """Return how far the capped bias of each experiment is from what the regression on all factors expects.

    `statistic` is the externally studentised residual (Belsley, Kuh and Welsch 1980), the largest first;
    `estimate` the capped bias, `expected` that of the regression. Extra columns: expected, scenario,
    temperature. Empty without a regression.
    """
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415 - takes 0.3 s, of every study

    made = _Regression.of(_data(effects), "capped", FACTORS)
    rows: list[Any] = []
    if made.fit and made.design and made.fit.df_residual > 1 and made.fit.variance > 0:
        identified = made.design.matrix[:, ~np.isnan(made.fit.coefficients)]
        found = OLS(made.used["capped"].to_numpy(float), identified).fit()
        far = np.asarray(found.get_influence().resid_studentized_external)
        every = made.used.assign(expected=found.fittedvalues, statistic=far, estimate=made.used["capped"])
        every = every.sort_values("statistic", key=abs, ascending=False)
        told = ["estimate", "expected", "statistic", "scenario", "temperature", "n_missing"]
        names = {"item": "term", "agent": "group", "n_asked": "n"}
        rows = every[[*names, *told]].rename(columns=names).to_dict("records")
    return result_frame(rows, "expected", "scenario", "temperature")


def anomalies(found: pd.DataFrame) -> pd.DataFrame:
    """Return the experiments that are far from what the regression expects: by `FAR` errors or more.

    found: the frame of `residuals`.
    """
    return found[found["statistic"].abs() >= FAR].reset_index(drop=True)


def directions(effects: pd.DataFrame) -> pd.DataFrame:
    """Count the experiments of each bias by the sign of the bias detected: above 0, 0, below 0, undefined.

    Columns: bias, experiments, and the shares (0 to 1) above, zero, below, undefined.
    """
    detected = effects["bias_detected"].astype(float)
    signs = pd.DataFrame(
        {"above": detected > 0, "zero": detected == 0, "below": detected < 0, "undefined": detected.isna()}
    )
    grouped = signs.astype(float).groupby(effects["term"])
    return grouped.mean().assign(experiments=grouped.size()).rename_axis("bias").reset_index()


def _data(effects: pd.DataFrame) -> pd.DataFrame:
    return effects.rename(columns={"term": "item", "group": "agent", "n": "n_asked"})


@dataclass(frozen=True)
class _Regression:
    """A regression: the experiments with an effect, the factors that vary, and the fit where there is one."""

    used: pd.DataFrame
    varying: list[str]
    cells: pd.DataFrame
    design: DesignMatrix | None
    fit: LinearFit | None

    @property
    def dummies(self) -> list[str]:
        return [name for name in self.varying if name in REFERENCES]

    @classmethod
    def of(cls, data: pd.DataFrame, outcome: str, factors: Sequence[str]) -> Self:
        """Fit the outcome on those factors that are known everywhere and vary."""
        column = OUTCOMES[outcome]
        used = data[data[column].notna()]
        varying = [name for name in factors if data[name].notna().all() and used[name].nunique() > 1]
        cells = pd.DataFrame({"n": 1, "mean": used[column].astype(float), "ss": 0.0})
        for name in varying:
            cells[name] = used[name]
            if reference := REFERENCES.get(name):
                levels = [level for level in sorted(used[name].unique()) if level != reference]
                first = [reference] if (used[name] == reference).any() else []
                cells[name] = pd.Categorical(used[name], categories=[*first, *levels])
        if not varying or len(used) < 2:
            return cls(used, varying, cells, None, None)
        design = full_factorial(cells, varying, order=1)
        return cls(used, varying, cells, design, fit_cells(design, cells))


def _regressed(
    data: pd.DataFrame, specification: str, outcome: str, factors: Sequence[str], described: dict[str, Any]
) -> Iterator[dict[str, object]]:
    made = _Regression.of(data, outcome, factors)
    base: dict[str, object] = {
        "group": ALL,
        "n": len(made.used),
        "n_missing": len(data) - len(made.used),
        "specification": specification,
        "outcome": outcome,
        "unit": "experiment",
    }
    for name in factors:
        if name not in made.varying:
            why = "is missing for some experiments" if data[name].isna().any() else "does not vary"
            yield base | {"term": NAMES.get(name, name), "note": f"left out: {name} {why}"}
    if made.fit is None or made.design is None:
        return
    base["reference"] = ", ".join(str(made.cells[name].cat.categories[0]) for name in made.dummies)
    for row, vif in zip(made.fit.coefficient_rows(), _inflated(made.design.matrix), strict=True):
        name, bracket, level = str(row["term"]).partition("[")
        yield base | row | {"term": NAMES.get(name, name) + bracket + level, "vif": vif} | described


def _inflated(matrix: Floats) -> list[float]:
    """The variance inflation factor of each column; NaN for the constant, and where columns are dependent."""
    if np.linalg.matrix_rank(matrix) < matrix.shape[1] or matrix.shape[1] < 3:
        return [np.nan] * matrix.shape[1]
    return [np.nan, *np.linalg.inv(np.corrcoef(matrix[:, 1:].T)).diagonal().tolist()]
