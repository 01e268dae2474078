"""The balance report, against figures computed another way."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.designs.cards.balance import COLUMNS, balance
from tests.experiments.designs.make import AGENT, made


def test_pairs_in_both_orders_are_exactly_balanced() -> None:
    report = balance(made("hotels", blocks=[{"set_size": 2, "sets": 40, "repeats": 2}]).trials([AGENT]))
    assert list(report.columns) == COLUMNS
    position = report[report.check == "position"].pivot_table(
        index=["attribute", "level"], columns="group", values="value", aggfunc="sum"
    )
    assert len(position) > 20
    assert np.allclose(position["0"], position["1"])
    assert report[report.check == "shows"].value.sum() == 2 * 2 * 80
    orders = report[(report.check == "trials") & (report.attribute == "ordering")]
    assert dict(zip(orders.level, orders.value, strict=True)) == {"forward": 80, "reversed": 80}


def test_correlations_are_within_sets() -> None:
    design = made("hotels", blocks=[{"set_size": 3, "sets": 50}])
    asked = list(design.trials([AGENT]))
    report = balance(asked)
    found = report[
        (report.check == "correlation") & (report.attribute == "price") & (report.level == "stars")
    ]
    prices = np.array([[option.price for option in trial.options] for trial in asked], float)
    stars = np.array([[option.attributes["stars"] for option in trial.options] for trial in asked], float)
    deviations = [(values - values.mean(axis=1, keepdims=True)).ravel() for values in (prices, stars)]
    assert found.value.item() == pytest.approx(np.corrcoef(*deviations)[0, 1])
    assert found.n.item() == prices.size
    flat = [
        replace(trial, options=tuple(replace(option, price=100.0) for option in trial.options))
        for trial in asked
    ]
    report = balance(flat)
    found = report[(report.check == "correlation") & (report.attribute == "price")]
    assert len(found) > 3 and found.value.isna().all(), "a constant attribute has none"


def test_questions_without_options_are_counted_by_condition() -> None:
    report = balance(made("wtp", repeats=5).trials([AGENT]))
    items = report[report.attribute == "item"]
    assert len(items) == 18
    assert set(items.value) == {5}
    assert set(report.check) == {"trials"}
