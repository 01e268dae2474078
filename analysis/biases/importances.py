"""Find what makes a model biased: permutation importances of gradient-boosted trees on held-out agents."""

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.tables.errors import AnalysisError
from analysis.tables.frame import counted, join_notes, result_frame

LEAST_AGENTS = 5
"""The fewest agents for importances.

With fewer, a feature of the model says little more than the model's name.
"""

STREAM = "importances"
REPEATS = 10
FEATURES = ("bias", "scenario", "temperature", "family", "size")
EXTRA = ("outcome", "std_dev", "r_squared", "folds", "unit")


def feature_importances(
    effects: pd.DataFrame, families: Mapping[str, str], sizes: Mapping[str, float], *, seed: int = 0
) -> pd.DataFrame:
    """Return how much shuffling a feature raises the error of predicting the bias detected.

    The bias is capped to [0, 1]. effects: the frame of `experiments`. families, sizes: by agent; a feature
    that some agent lacks, or that does not vary, is left out with the reason. Gradient boosting (Friedman
    2001) is trained on all but one fold of agents, and each feature is shuffled 10 times in the fold held out
    (permutation importance, Breiman 2001). The estimate is the mean increase of the root mean squared error
    over the folds, in the outcome's units; std_dev is its spread over folds, which are no independent
    samples, so that there is no standard error. r_squared is that of all held-out predictions: at 0 or below
    the importances mean nothing.

    Raises AnalysisError if scikit-learn is not installed.
    """
    data = effects.rename(columns={"term": "bias"}).dropna(subset="capped").reset_index(drop=True)
    data = data.assign(family=data["group"].map(families), size=data["group"].map(sizes).astype(float))
    agents = data["group"].nunique()
    base: dict[str, Any] = {
        "group": "all experiments",
        "n": len(data),
        "n_missing": len(effects) - len(data),
        "outcome": "capped",
        "unit": "experiment",
    }
    if agents < LEAST_AGENTS:
        note = f"undefined: effect sizes of {counted(agents, 'agent')}, needs {LEAST_AGENTS}"
        return result_frame([base | {"term": name, "note": note} for name in FEATURES], *EXTRA)
    reasons = {name: _unusable(data[name]) for name in FEATURES}
    used = [name for name in FEATURES if not reasons[name]]
    rows = [base | {"term": name, "note": reason} for name, reason in reasons.items() if reason]
    if used and data["capped"].nunique() > 1:
        increases, r_squared, folds = _held_out(data, used, _state(seed))
        seeded = f"seed {seed}, stream {STREAM}"
        doubt = "" if r_squared > 0 else "held-out agents are not predicted: the importances mean nothing"
        rows += [
            base
            | {
                "term": name,
                "estimate": increase.mean(),
                "std_dev": increase.std(ddof=1),
                "r_squared": r_squared,
                "folds": folds,
                "note": join_notes(doubt, seeded),
            }
            for name, increase in zip(used, increases.T, strict=True)
        ]
    elif used:
        rows += [
            base | {"term": name, "note": "undefined: the bias detected is the same everywhere"}
            for name in used
        ]
    return result_frame(rows, *EXTRA)


def _unusable(values: pd.Series) -> str:
    if values.isna().any() or values.eq("").any():
        return "left out: not known for every agent"
    return "left out: does not vary" if values.nunique() < 2 else ""


def _state(seed: int) -> int:
    """A seed of this stream's own."""
    return int(np.random.SeedSequence([seed, zlib.crc32(STREAM.encode())]).generate_state(1)[0])


def _held_out(data: pd.DataFrame, features: list[str], state: int) -> tuple[Any, float, int]:
    """Increase of error by fold and feature, R squared over all held-out predictions, number of folds."""
    try:
        from sklearn.compose import make_column_transformer  # noqa: PLC0415
        from sklearn.ensemble import GradientBoostingRegressor  # noqa: PLC0415
        from sklearn.inspection import permutation_importance  # noqa: PLC0415
        from sklearn.metrics import r2_score  # noqa: PLC0415
        from sklearn.model_selection import GroupKFold  # noqa: PLC0415
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import OneHotEncoder  # noqa: PLC0415
    except ImportError:
        raise AnalysisError("feature importances need scikit-learn; pip install scikit-learn") from None
    y = data["capped"].to_numpy(float)
    texts = [not pd.api.types.is_numeric_dtype(data[name]) for name in features]
    # Texts by their rank, and no frame: each of the hundreds of predictions would convert it again.
    columns = [
        pd.factorize(data[name], sort=True)[0] if text else data[name]
        for name, text in zip(features, texts, strict=True)
    ]
    x = np.column_stack([np.asarray(column, float) for column in columns])
    predicted, increases = np.full(len(y), np.nan), []
    folds = GroupKFold(n_splits=LEAST_AGENTS)
    for train, test in folds.split(x, y, groups=data["group"]):
        model = make_pipeline(
            make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore"), np.flatnonzero(texts)), remainder="passthrough"
            ),
            GradientBoostingRegressor(random_state=state),
        )
        model.fit(x[train], y[train])
        predicted[test] = model.predict(x[test])
        found = permutation_importance(
            model,
            x[test],
            y[test],
            scoring="neg_root_mean_squared_error",
            n_repeats=REPEATS,
            random_state=state,
        )
        increases.append(found.importances_mean)
    return np.array(increases), float(r2_score(y, predicted)), len(increases)
