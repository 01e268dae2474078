"""A simulated study: pairs or trios of products, nudged in turn, chosen by softmax with known weights."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from playwright.async_api import Page, async_playwright

from environments.browser import find_browser

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
