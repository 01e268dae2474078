"""Regressions on scenarios and features, margins, anomalies and directions: other programs give the same."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from analysis.biases.regressions import anomalies, directions, margins, regressions, residuals

FEATURES = pd.DataFrame({"release": [2024.5, 2026.0, 2025.2, 2025.9]}, index=["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def effects() -> pd.DataFrame:
    """What `experiments` returns, of four agents; one cell is planted far off."""
    cells = pd.MultiIndex.from_product(
        [("anchoring", "framing", "endowment"), FEATURES.index, ("base", "odd"), (0.2, 1.0)],
        names=["term", "group", "scenario", "temperature"],
    )
    made = cells.to_frame(index=False)
    rng = np.random.default_rng(3)
    made["estimate"] = rng.normal(0.4, 0.05, len(made)) + 0.2 * (made["group"] == "b")
    made.loc[7, "estimate"] = 0.95
    made.loc[11, "estimate"] = -0.3
    made.loc[20, "estimate"] = np.nan
    made["bias_detected"] = made["estimate"]
    made["capped"] = made["estimate"].clip(0, 1)
    return made.assign(n=200, n_missing=0)


def test_features_and_the_scenario_alone_agree_with_statsmodels(effects: pd.DataFrame) -> None:
    found = regressions(effects, FEATURES).set_index(["specification", "term"])
    joined = effects.join(FEATURES, on="group")
    for specification, formula in (
        ("scenario", "capped ~ C(scenario)"),
        ("features", "capped ~ release + C(scenario)"),
    ):
        own, fit = found.loc[specification], smf.ols(formula, joined).fit()
        for term, name in (("scenario[odd]", "C(scenario)[T.odd]"), ("release", "release")):
            if name in fit.params:
                assert own.loc[term, "estimate"] == pytest.approx(fit.params[name])
                assert np.isnan(own.loc[term, "p_value"])


def test_inflation_is_by_the_other_regressors(effects: pd.DataFrame) -> None:
    found = regressions(effects, FEATURES.assign(cutoff=FEATURES["release"] ** 2)).set_index(
        ["specification", "term"]
    )
    used = effects.dropna(subset="capped").join(FEATURES.assign(cutoff=FEATURES["release"] ** 2), on="group")
    others = smf.ols("release ~ cutoff + C(scenario)", used).fit()
    assert found.loc[("features", "release"), "vif"] == pytest.approx(1 / (1 - others.rsquared), rel=1e-4)
    assert found.loc[("features", "release"), "vif"] > 100
    assert found.loc[("all", "scenario[odd]"), "vif"].max() < 1.5


def test_margins_are_mean_predictions(effects: pd.DataFrame) -> None:
    fit = smf.ols("capped ~ C(term) + C(group) + C(scenario) + temperature", effects).fit()
    used = effects.dropna(subset="capped")
    found = margins(effects).set_index(["factor", "term"])["estimate"]
    assert found["agent", "b"] == pytest.approx(fit.predict(used.assign(group="b")).mean())
    assert found["bias", "framing"] == pytest.approx(fit.predict(used.assign(term="framing")).mean())
    assert len(found) == 3 + 4 + 2


def test_residuals_are_those_of_statsmodels(effects: pd.DataFrame) -> None:
    used = effects.dropna(subset="capped")
    fit = smf.ols("capped ~ C(term) + C(group) + C(scenario) + temperature", used).fit()
    found = residuals(effects).set_index(["term", "group", "scenario", "temperature"])
    keys = pd.MultiIndex.from_frame(used[found.index.names])
    expected = pd.Series(fit.get_influence().resid_studentized_external, index=keys)
    assert found["statistic"].to_dict() == pytest.approx(expected.to_dict())
    assert found["expected"].to_dict() == pytest.approx(dict(zip(keys, fit.fittedvalues, strict=True)))


def test_the_planted_experiments_are_anomalies(effects: pd.DataFrame) -> None:
    found = anomalies(residuals(effects))
    planted = effects.loc[[7, 11], ["term", "group", "scenario", "temperature"]]
    assert len(found) == 2
    assert len(found.merge(planted)) == 2
    assert (found["statistic"].abs() > 3).all()
    assert len(anomalies(residuals(effects.drop(index=[7, 11])))) <= 1


def test_directions_add_up(effects: pd.DataFrame) -> None:
    found = directions(effects).set_index("bias")
    assert found["experiments"].to_list() == [16, 16, 16]
    assert found.loc["anchoring", ["above", "below", "undefined"]].tolist() == [15 / 16, 1 / 16, 0]
    assert found[["above", "zero", "below", "undefined"]].sum(axis=1).to_numpy() == pytest.approx(1)
    assert found["undefined"].sum() == 1 / 16
