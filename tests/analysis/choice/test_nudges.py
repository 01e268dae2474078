"""The model of the nudged trials: by nudge text, and by category."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyfixest
import pytest

from analysis.choice.nudges import nudge_effects
from analysis.table import check_table

Simulate = Callable[..., Any]


@pytest.mark.filterwarnings("ignore")
def test_effects_agree_with_pyfixest(simulate: Simulate) -> None:
    """Without features other than nudge and order: nudged and first by text, nudged by category, no more."""
    table = check_table(
        simulate(3, sets=30, nudges=4, nudges_per_set=4, categories=5).table.assign(cheaper=0, higher_rated=0)
    )
    by_text, by_category = nudge_effects(table)
    nudged = table[table.groupby("trial")["nudged"].transform("max") == 1]
    data = pd.DataFrame(
        {
            "y": nudged["chosen"].astype(float),
            "t": nudged.groupby("trial").ngroup(),
            "text": pd.factorize(nudged.groupby("trial")["nudge_text"].transform("max"), sort=True)[0],
            "cat": pd.factorize(nudged["category"], sort=True)[0],
            "nudged": nudged["nudged"].astype(float),
            "first": nudged["viewed_first"].astype(float),
        }
    )
    names = []
    for text in range(4):
        for name in ("nudged", "first"):
            data[f"{name}_{text}"] = data[name] * (data["text"] == text)
            names.append(f"{name}_{text}")
        data[f"both_{text}"] = data["nudged"] * data["first"] * (data["text"] == text)
        names.append(f"both_{text}")
    for cat in range(1, 5):
        data[f"cat_{cat}"] = data["nudged"] * (data["cat"] == cat)
        names.append(f"cat_{cat}")
    fit = pyfixest.feols(f"y ~ {' + '.join(names)} | t", data, vcov={"CRV1": "cat"})
    index = [str(name) for name in fit.coef().index]
    coefficients = fit.coef().to_numpy()

    def weights(rows: pd.DataFrame) -> np.ndarray:
        """Of the average contrast of the nudge over these rows."""
        means = {f"both_{text}": (rows["first"] * (rows["text"] == text)).mean() for text in range(4)}
        means |= {f"nudged_{text}": (rows["text"] == text).mean() for text in range(4)}
        means |= {f"cat_{cat}": (rows["cat"] == cat).mean() for cat in range(1, 5)}
        return np.array([means.get(name, 0.0) for name in index])

    for frame, part, other in ((by_text, "text", "cat"), (by_category, "cat", "text")):
        fit.vcov({"CRV1": other})
        for code, row in enumerate(frame.to_dict("records")):
            own = weights(data[data[part] == code])
            assert row["note"] == ""
            assert row["estimate"] == pytest.approx(100 * own @ coefficients, abs=1e-8)
            assert row["std_error"] == pytest.approx(100 * np.sqrt(own @ fit._vcov @ own), abs=1e-8)
            assert row["n"] == data.loc[data[part] == code, "t"].nunique()
    assert by_text["nudge_text"].tolist() == [f"text {i}" for i in range(4)]
    assert by_category["category"].tolist() == [f"category{i}" for i in range(5)]


def test_a_text_that_works_better_shows(simulate: Simulate) -> None:
    """All nudges are negative, and one of them always drives away."""
    table = simulate(5, sets=40, nudges=4, nudges_per_set=4, negative=(0, 1, 2, 3), categories=8).table
    strong = table.groupby("trial")["nudge_text"].transform("max") == "text 2"
    table["chosen"] = table["chosen"].where(~strong, 1 - table["nudged"])
    by_text, _ = nudge_effects(check_table(table))
    effects = by_text.set_index("nudge_text")
    assert effects.loc["text 2", "estimate"] == pytest.approx(100)
    assert (effects.drop("text 2")["conf_high"] < 80).all()


def test_little_data_leave_interactions_out_and_say_so(simulate: Simulate) -> None:
    table = check_table(simulate(6, sets=12, nudges=6, nudges_per_set=2, categories=4).table)
    by_text, by_category = nudge_effects(table)
    assert by_text["note"].str.contains("too little data").all()
    undefined = by_text["estimate"].isna()
    assert by_text.loc[~undefined, "std_error"].gt(0).all() and not undefined.all()
    assert by_category["n"].sum() == by_text["n"].sum()


def test_a_category_of_few_sets_is_named(simulate: Simulate) -> None:
    table = simulate(7, sets=12, nudges=4, nudges_per_set=4, categories=2).table
    table.loc[table["set"] == "set0", "category"] = "rare"
    _, by_category = nudge_effects(check_table(table))
    notes = by_category.set_index("category")["note"]
    assert notes["rare"].startswith("choice sets: 1, so only these are spoken of")
    assert not notes.drop("rare").str.contains("choice sets").any()


def test_without_nudges_there_are_no_rows(simulate: Simulate) -> None:
    table = simulate(3, sets=4, nudges_per_set=1).table
    assert all(frame.empty for frame in nudge_effects(check_table(table[table["nudge"] == ""])))


def test_missing_choices_are_counted_by_text(simulate: Simulate) -> None:
    table = simulate(8, sets=20, nudges=4, nudges_per_set=2).table
    lost = (table["nudge_text"] != "").groupby(table["trial"]).transform("any") & (table["set"] == "set0")
    table = table.assign(
        chosen=table["chosen"].astype("Int64").mask(lost), outcome=table["outcome"].mask(lost, "x")
    )
    by_text, by_category = nudge_effects(check_table(table))
    assert by_text["n_missing"].sum() == by_category["n_missing"].sum() == 8
    gone = by_category[by_category["n"] == 0]
    assert gone["note"].tolist() == ["no trial has a choice"] * len(gone)
    never = table.assign(chosen=pd.NA, outcome="x")
    for frame in nudge_effects(check_table(never)):
        assert frame["estimate"].isna().all() and set(frame["note"]) == {"no trial has a choice"}
