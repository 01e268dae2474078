"""The balance report, against figures computed another way."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.designs.cards.balance import COLUMNS, balance
from tests.experiments.designs.cards.make import AGENT, made, shipped


@pytest.mark.slow
def test_the_hotel_study_is_balanced_by_position() -> None:
    report = balance(shipped("hotels"))
    assert list(report.columns) == COLUMNS
    position = report[report.check == "position"]
    for (attribute, level), figures in position.groupby(["attribute", "level"]):
        first, second = (figures.set_index("group").value.get(group, 0.0) for group in ("0", "1"))
        # Both orders: pairs are equal at both ends; the middle of a triple is its own.
        assert first == pytest.approx(second, rel=0.35, abs=0.03), (attribute, level)
    shows = report[report.check == "shows"]
    assert len(shows) == 180
    assert shows.value.sum() == 2 * 3_600 + 3 * 3_600
    orders = report[(report.check == "trials") & (report.attribute == "ordering")]
    assert dict(zip(orders.level, orders.value, strict=True)) == {"forward": 3_600, "reversed": 3_600}


def test_pairs_in_both_orders_are_exactly_balanced() -> None:
    report = balance(made("hotels", blocks=[{"set_size": 2, "sets": 40, "repeats": 2}]).trials([AGENT]))
    position = report[report.check == "position"].pivot_table(
        index=["attribute", "level"], columns="group", values="value", aggfunc="sum"
    )
    assert len(position) > 20
    assert np.allclose(position["0"], position["1"])


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


def test_a_constant_attribute_has_no_correlation() -> None:
    asked = list(made("hotels", blocks=[{"set_size": 2, "sets": 5}]).trials([AGENT]))
    flat = [
        replace(trial, options=tuple(replace(option, price=100.0) for option in trial.options))
        for trial in asked
    ]
    report = balance(flat)
    found = report[(report.check == "correlation") & (report.attribute == "price")]
    assert len(found) > 3
    assert found.value.isna().all()


def test_questions_without_options_are_counted_by_condition() -> None:
    report = balance(made("wtp", repeats=5).trials([AGENT]))
    items = report[report.attribute == "item"]
    assert len(items) == 18
    assert set(items.value) == {5}
    assert set(report.check) == {"trials"}
