"""Simulated studies with known truths, and the checks of published studies where they are at hand.

A study of choices: pairs or trios of products, nudged in turn, chosen by softmax with known weights.
"""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from matplotlib.figure import Figure
from playwright.async_api import Page, async_playwright

from environments.browser.pool import find_browser

WEIGHTS = {"price": 3.0, "rating": 0.1, "nudge": 0.5, "first": 0.4}


@dataclass(frozen=True)
class Study:
    """A tidy table with the choice probability of each row (the truth behind `chosen`)."""

    table: pd.DataFrame
    probabilities: npt.NDArray[np.float64]

    def chosen_again(self, rng: np.random.Generator) -> pd.DataFrame:
        """The same trials with fresh choices."""
        return self.table.assign(chosen=draw(self.table["trial"], self.probabilities, rng))


def draw(
    trial: "pd.Series[str]", probabilities: npt.NDArray[np.float64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    code = pd.factorize(trial)[0]
    upper = pd.Series(probabilities).groupby(code).cumsum().to_numpy()
    point = rng.random(code.max() + 1)[code]
    return ((point < upper) & (point >= upper - probabilities)).astype(int)


def simulate_study(
    seed: int = 0,
    *,
    agents: tuple[str, ...] = ("balanced",),
    sets: int = 50,
    size: int = 2,
    nudges: int = 10,
    nudges_per_set: int = 10,
    categories: int = 26,
    negative: tuple[int, ...] = (),
    matched_ratings: bool = False,
) -> Study:
    """Each set with each of its nudges: on none, then on each option in turn; each option is seen first."""
    rng = np.random.default_rng(seed)
    category = rng.integers(categories, size=sets)
    price = np.exp(rng.normal(3.5, 1, size=(sets, 1))) * (1 + rng.uniform(0, 0.5, size=(sets, size)))
    rating = rng.integers(70, 90, size=(sets, 1)) + (not matched_ratings) * rng.integers(0, 10, (sets, size))
    rows = []
    for agent, choice_set in product(agents, range(sets)):
        held = [(choice_set * nudges_per_set + k) % nudges for k in range(nudges_per_set)]
        for nudge, target, first in product(held, (None, *range(size)), range(size)):
            for option in range(size):
                rows.append(
                    {
                        "run": "r1",
                        "trial": f"{agent}/{choice_set}/{nudge}/{target}/{first}",
                        "agent": agent,
                        "set": f"set{choice_set}",
                        "option": f"product{option}",
                        "position": (option - first) % size,
                        "viewed_first": int(option == first),
                        "outcome": "choice",
                        "category": f"category{category[choice_set]}",
                        "price": round(float(price[choice_set, option]), 2),
                        "rating": float(rating[choice_set, option]),
                        "nudged": int(option == target),
                        "nudge": "" if target is None else f"nudge{nudge}",
                        "nudge_text": "" if target is None else f"text {nudge}",
                        "direction": -1 if nudge in negative else 1,
                        "condition": "none" if target is None else "nudged",
                    }
                )
    table = pd.DataFrame(rows)
    utility = (
        -WEIGHTS["price"] * np.log(table["price"])
        + WEIGHTS["rating"] * table["rating"]
        + WEIGHTS["nudge"] * table["nudged"] * table["direction"]
        + WEIGHTS["first"] * table["viewed_first"]
    )
    weight = np.exp(utility - utility.groupby(table["trial"]).transform("max"))
    probabilities = (weight / weight.groupby(table["trial"]).transform("sum")).to_numpy()
    table["chosen"] = draw(table["trial"], probabilities, rng)
    return Study(table, probabilities)


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Study]:
    return simulate_study


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A page as narrow as a telephone's."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright))
        yield await browser.new_page(viewport={"width": 390, "height": 800})
        await browser.close()


DATA = Path(__file__).parents[3] / "shared" / "data"

PRICES = {"docking station": 49.99, "coffee pods": 57.31, "weighted vest": 59.99}
ANCHORS = {"control": None, "low": 15.0, "high": 95.0}


def _checks(study: str) -> dict[str, Any]:
    path = DATA / study / "expected-public.json"
    if not path.exists():
        pytest.skip(f"the checks are not beside the repository (../shared/data/{study})")
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def simulate_valuations(
    seed: int = 0,
    *,
    agents: tuple[str, ...] = ("alpha", "beta"),
    repeats: int = 20,
    sd: float = 10.0,
    pull: float = 0.1,
    shift: float = -5.0,
) -> pd.DataFrame:
    """Normal responses around list price + shift (+ 3 for each further agent), pulled by the anchor."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, agent in enumerate(agents):
        for item, price in PRICES.items():
            for condition, anchor in ANCHORS.items():
                mean = price + shift + 3 * i + (0 if anchor is None else pull * (anchor - 55))
                for repeat, value in enumerate(rng.normal(mean, sd, repeats)):
                    rows.append(
                        {
                            "run": "r",
                            "trial": f"{item}/{condition}/{repeat}",
                            "agent": agent,
                            "item": item,
                            "condition": condition,
                            "repeat": repeat,
                            "response": max(0.0, float(value)),
                            "reason": "",
                            "reference": price,
                            "low": price - 15,
                            "high": price + 15,
                            "anchor": anchor,
                        }
                    )
    return pd.DataFrame(rows)


def simulate_answers(
    biases: dict[str, tuple[list[float], list[float]]],
    *,
    agents: tuple[str, ...] = ("alpha",),
    scenarios: tuple[str, ...] = ("base",),
    temperatures: tuple[float, ...] = (1.0,),
) -> pd.DataFrame:
    """Experiments with the given control and treatment responses (NaN: missing, "letter")."""
    rows = [
        {
            "trial": f"{bias}/{scenario}/{temperature}/{condition}/{repeat}",
            "agent": agent,
            "item": bias,
            "condition": condition,
            "scenario": scenario,
            "temperature": temperature,
            "repeat": repeat,
            "response": value,
            "reason": "letter" if np.isnan(value) else "",
            "family": agent.partition("-")[0],
        }
        for agent in agents
        for bias, groups in biases.items()
        for scenario in scenarios
        for temperature in temperatures
        for condition, values in zip(("control", "treatment"), groups, strict=True)
        for repeat, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def checks() -> Callable[[str], dict[str, Any]]:
    return _checks


@pytest.fixture(scope="session")
def valuations() -> Callable[..., pd.DataFrame]:
    return simulate_valuations


@pytest.fixture(scope="session")
def answers() -> Callable[..., pd.DataFrame]:
    return simulate_answers


def _check_uncut(figure: Figure) -> None:
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert box.x0 >= -0.02 and box.y0 >= -0.02 and box.x1 <= width + 0.02 and box.y1 <= height + 0.02


@pytest.fixture(scope="session")
def check_uncut() -> Callable[[Figure], None]:
    """Fails where something drawn lies beyond the edge of the figure."""
    return _check_uncut
