"""Linear models on cells: statsmodels on raw data, published sums of squares, what is not estimable."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

from analysis.estimators.linear_models import (
    INESTIMABLE,
    empty_cells,
    f_test,
    fit_cells,
    full_factorial,
    group_cells,
)
from analysis.tables.errors import AnalysisError
from tests.analysis.conftest import published

TERMS = {"treatment": "C({0})", "sum": "C({0}, Sum)"}


def data(seed: int, *, unbalanced: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = 240
    table = pd.DataFrame(
        {
            "condition": rng.choice(["control", "high", "low"], n, p=[0.5, 0.3, 0.2] if unbalanced else None),
            "agent": rng.choice(["a", "b", "c", "d"], n),
            "size": rng.choice([7.0, 13.0, 70.0], n),
        }
    )
    table["y"] = rng.normal(30, 8, n) + 5 * (table["condition"] == "high") + 3 * (table["agent"] == "b")
    return table


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("coding", ["treatment", "sum"])
@pytest.mark.parametrize("factors", [["condition"], ["condition", "agent"]])
def test_type_three_agrees_with_statsmodels(seed: int, coding: Any, factors: list[str]) -> None:
    table = data(seed)
    formula = "y ~ " + " * ".join(TERMS[coding].format(name) for name in factors)
    expected = anova_lm(smf.ols(formula, table).fit(), typ=3)
    cells = group_cells(table, factors, "y")
    rows = fit_cells(full_factorial(cells, factors, coding), cells).anova_rows()
    assert [row["sum_sq"] for row in rows] == pytest.approx(expected["sum_sq"].tolist(), rel=1e-8)
    assert [row["df"] for row in rows] == expected["df"].tolist()
    tested = rows[:-1]
    assert [row["statistic"] for row in tested] == pytest.approx(expected["F"].dropna().tolist(), rel=1e-8)
    assert [row["p_value"] for row in tested] == pytest.approx(expected["PR(>F)"].dropna().tolist(), rel=1e-7)


@pytest.mark.parametrize("formula", ["C(condition)", "C(condition) * C(agent) * size"])
def test_coefficients_agree_with_statsmodels(formula: str) -> None:
    table = data(2)
    factors = ["condition"] if formula == "C(condition)" else ["condition", "agent", "size"]
    fit = smf.ols(f"y ~ {formula}", table).fit()
    cells = group_cells(table, factors, "y")
    rows = pd.DataFrame(fit_cells(full_factorial(cells, factors), cells).coefficient_rows())
    names = rows["term"].str.replace("[", ")[T.", regex=False)
    names = names.str.replace("condition)", "C(condition)").str.replace("agent)", "C(agent)")
    expected = pd.DataFrame(
        {"estimate": fit.params, "std_error": fit.bse, "statistic": fit.tvalues, "p_value": fit.pvalues}
    )
    expected[["conf_low", "conf_high"]] = fit.conf_int()
    found = rows.set_index(names)[expected.columns]
    pd.testing.assert_frame_equal(
        found.loc[expected.index], expected, rtol=1e-6, atol=1e-9, check_names=False
    )


def test_published_one_way_table() -> None:
    (check,) = published("anova_from_summary")
    groups = check["inputs"]["groups"]
    cells = pd.DataFrame(
        [
            {"agent": agent, "n": n, "mean": mean, "ss": (n - 1) * sd**2}
            for agent, (n, mean, sd) in groups.items()
        ]
    )
    assert cells["agent"].min() == check["inputs"]["reference"]
    fit = fit_cells(full_factorial(cells, ["agent"]), cells)
    intercept, between, within = fit.anova_rows()
    found = {
        "N": fit.n,
        "grand_mean": float(np.average(cells["mean"], weights=cells["n"])),
        "ss_between": between["sum_sq"],
        "ss_within": within["sum_sq"],
        "df_between": between["df"],
        "df_within": within["df"],
        "F": between["statistic"],
        "p": between["p_value"],
        "ss_intercept_typeIII_treatment": intercept["sum_sq"],
    }
    assert found == pytest.approx(check["expected"], rel=check["tol"]["rel"])


def test_published_f_values() -> None:
    for check in published("f_from_ss"):
        i, tol = check["inputs"], check["tol"]
        test = f_test(i["ss"], i["df"], i["ss_resid"], i["df_resid"])
        assert test["statistic"] == pytest.approx(check["expected"]["F"], rel=tol["F_rel"])
        assert test["p_value"] == pytest.approx(check["expected"]["p"], rel=tol["p_rel"], abs=tol["p_abs"])


def test_published_cells_of_the_generation_model() -> None:
    """With one size per generation the coefficients are not identified, but the cells' means are."""
    found = published("ols_prediction")
    rows = [
        {
            "generation": check["inputs"]["generation"],
            "condition": condition,
            "size": float(check["inputs"]["parameters_b"]),
            "y": check["expected"][condition] + error,
        }
        for check in found
        for condition in ("control", "high", "low")
        for error in (-1.5, 0.5, 1.0)
    ]
    factors = ["generation", "condition", "size"]
    cells = group_cells(pd.DataFrame(rows), factors, "y")
    design = full_factorial(cells, factors)
    fit = fit_cells(design, cells)
    assert fit.rank == len(cells) == 3 * len(found) < len(design.columns)
    assert fit.df_residual == len(rows) - fit.rank
    predicted = cells.assign(predicted=fit.predict(design.matrix)).set_index(["generation", "condition"])
    for check in found:
        own = predicted.loc[check["inputs"]["generation"], "predicted"]
        expected = check["expected"]
        assert own.to_dict() == pytest.approx({name: expected[name] for name in own.index}, abs=1e-9)
        assert own.mean() == pytest.approx(expected["mean_of_three"], abs=check["tol"]["abs"])
    assert np.isnan(fit.coefficients).any()
    refused = [row for row in fit.coefficient_rows() if np.isnan(row["estimate"])]
    assert {row["note"] for row in refused} == {INESTIMABLE}
    assert not any("p_value" in row for row in refused)


def test_an_empty_cell_is_named_and_its_terms_are_refused() -> None:
    table = data(3)
    table = table[~((table["condition"] == "low") & (table["agent"] == "c"))]
    factors = ["condition", "agent"]
    cells = group_cells(table, factors, "y")
    assert empty_cells(cells, factors) == ["low x c"]
    for coding in ("treatment", "sum"):
        fit = fit_cells(full_factorial(cells, factors, coding), cells)
        rows = {row["term"]: row for row in fit.anova_rows()}
        assert rows["condition:agent"]["note"] == INESTIMABLE
        assert "statistic" not in rows["condition:agent"]
        assert fit.rank == 11
    assert "statistic" not in rows["condition"]


def test_a_row_outside_the_design_is_not_predicted() -> None:
    table = pd.DataFrame(
        {"condition": ["a", "a", "b", "b"], "size": [1.0, 1.0, 2.0, 2.0], "y": [1.0, 2, 3, 4]}
    )
    cells = group_cells(table, ["condition", "size"], "y")
    fit = fit_cells(full_factorial(cells, ["condition", "size"], order=1), cells)
    assert np.isnan(fit.predict(np.array([[1.0, 0.0, 5.0]]))).all()
    assert fit.predict(np.array([[1.0, 1.0, 2.0]])) == pytest.approx([3.5])


def test_no_residual_variance_or_freedom() -> None:
    flat = pd.DataFrame({"g": ["a", "a", "b", "b"], "y": [0.1, 0.1, 0.3, 0.3]})
    cells = group_cells(flat, ["g"], "y")
    _, between, _ = fit_cells(full_factorial(cells, ["g"]), cells).anova_rows()
    assert between["statistic"] == np.inf and between["p_value"] == 0 and "degenerate" in between["note"]
    cells = group_cells(flat.assign(y=0.1), ["g"], "y")
    _, between, _ = fit_cells(full_factorial(cells, ["g"]), cells).anova_rows()
    assert "statistic" not in between and between["p_value"] == 1
    cells = group_cells(flat.iloc[[0, 2]], ["g"], "y")
    rows = fit_cells(full_factorial(cells, ["g"]), cells)
    assert rows.anova_rows()[1]["note"] == "no residual degrees of freedom"
    assert "std_error" not in rows.coefficient_rows()[0]


def test_labels_are_only_text() -> None:
    table = data(4)
    hostile = {"a": "x:y ~ z", "b": "b]:condition[low", "c": "C(agent)", "d": "0"}
    factors = ["condition", "agent"]
    plain, renamed = group_cells(table, factors, "y"), table.assign(agent=table["agent"].map(hostile))
    cells = group_cells(renamed, factors, "y")
    first = fit_cells(full_factorial(plain, factors, "sum"), plain).anova_rows()
    second = fit_cells(full_factorial(cells, factors, "sum"), cells).anova_rows()
    assert [r["sum_sq"] for r in first] == pytest.approx([r["sum_sq"] for r in second])


def test_impossible_fits_are_refused() -> None:
    cells = group_cells(data(5), ["condition"], "y")
    with pytest.raises(AnalysisError, match="condition: only 'low' is present"):
        full_factorial(cells[cells["condition"] == "low"], ["condition"])
    with pytest.raises(AnalysisError, match="no cell has a response"):
        fit_cells(full_factorial(cells, ["condition"]), cells.iloc[:0])
