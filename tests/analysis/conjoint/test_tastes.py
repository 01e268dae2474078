"""Tastes that differ between agents, or between the answers of one: recovered from choices between cards."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.conjoint import analyze_conjoint
from analysis.conjoint import report as conjoint_report
from analysis.reporting.html import write_report
from tests.analysis.conjoint.conftest import simulate_cards

TABLES = ("mixed", "classes", "class_members", "taste_models")


def choosing(table: pd.DataFrame, star: np.ndarray, price: np.ndarray, seed: int = 0) -> pd.DataFrame:
    """The table with choices by these weights of a star and of the log price, one for each row."""
    table = table.copy()
    utility = star * table["attr_stars"] + price * np.log(table["price"])
    utility += np.random.default_rng(seed).gumbel(size=len(table))
    top = utility.groupby(table["trial"]).transform("max")
    return table.assign(chosen=(utility == top).astype(int))


def cards(agents: int, sets: int) -> pd.DataFrame:
    names = tuple(f"person-{number:02d}" for number in range(agents))
    every = simulate_cards(agents=names, sets=sets, sizes=(2,))
    return every.drop(columns=["attr_room", "attr_cancellation", "attr_breakfast", "reviews", "attr_chain"])


@pytest.mark.slow
def test_they_are_fitted_on_request_only() -> None:
    found = analyze_conjoint(simulate_cards(sets=30))
    assert all(found.frames[name].empty for name in TABLES)
    assert "Tastes that differ" not in {section.title for section in conjoint_report.report(found).sections}


@pytest.mark.thorough
@pytest.mark.slow
def test_agents_of_two_kinds_are_told_apart(tmp_path: Path) -> None:
    table = cards(agents=12, sets=24)
    thrifty = table["agent"] < "person-08"
    table = choosing(table, np.where(thrifty, 0.2, 1.5), np.where(thrifty, -6.0, -1.0), seed=1)
    found = analyze_conjoint(table, classes=2)
    members = found.class_members.set_index("agent")["class"]
    assert all((members == 1) == (members.index < "person-08"))
    prices = found.classes[found.classes["term"] == "price"].set_index("class")
    assert (prices["unit"] == "agent").all() and (prices["group"] == "all agents").all()
    assert prices["share"].tolist() == pytest.approx([8 / 12, 4 / 12], abs=0.01)
    assert prices["estimate"].tolist() == pytest.approx([-6.0, -1.0], abs=1)
    assert prices["conf_low"].isna().all()
    assert set(prices["note"]) == {"no interval: fewer than 12 agents in this class"}
    models = found.taste_models.set_index("model")
    assert models["units"].tolist() == [12, 12]
    assert models["bic"]["2 classes"] < models["bic"]["alike"]
    said = (
        "all agents: tastes differ between agents: the model with 2 classes has the lowest bic, with shares"
    )
    report = conjoint_report.report(found)
    assert report.answer[-1].startswith(said)
    write_report(tmp_path / "report.html", "Tastes", {}, report)
    page = (tmp_path / "report.html").read_text()
    assert "interval of the share" in page and "Tastes that differ" in page


@pytest.mark.thorough
@pytest.mark.slow
def test_answers_with_tastes_of_their_own_have_a_spread() -> None:
    table = cards(agents=1, sets=600)
    rng = np.random.default_rng(1)
    trial = pd.factorize(table["trial"])[0]
    price = rng.normal(-4.0, 4.0, trial.max() + 1)[trial]
    found = analyze_conjoint(choosing(table, np.full(len(table), 0.8), price), mixed=True)
    mixed = found.mixed.set_index("term")
    assert (mixed["unit"] == "answer").all()
    assert mixed.loc["price", "sd_low"] < 4.0 < mixed.loc["price", "sd_high"]
    assert mixed.loc["price", "conf_low"] < -4.0 < mixed.loc["price", "conf_high"]
    assert mixed.loc["price", "sd_low"] > 0.5
    assert mixed.loc["stars", "conf_low"] < 0.8 < mixed.loc["stars", "conf_high"]
    (answer,) = [text for text in conjoint_report.report(found).answer if "tastes" in text]
    assert "tastes differ between answers: of the models that were fitted, the mixed logit has" in answer


@pytest.mark.thorough
@pytest.mark.slow
def test_equal_tastes_are_not_said_to_differ() -> None:
    table = cards(agents=1, sets=120)
    found = analyze_conjoint(
        choosing(table, np.full(len(table), 0.8), np.full(len(table), -4.0)), mixed=True, classes=2
    )
    assert found.class_members.empty and found.classes["class"].nunique() == 2
    (answer,) = [text for text in conjoint_report.report(found).answer if "tastes" in text]
    assert "that tastes differ between answers is not shown" in answer
