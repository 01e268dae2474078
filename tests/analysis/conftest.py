"""Simulated studies with known truths, and the checks of published studies where they are at hand.

A study of choices: pairs or trios of products, nudged in turn, chosen by softmax with known weights.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
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

from analysis.reporting.sections import Report
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


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A page as narrow as a telephone's."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright))
        yield await browser.new_page(viewport={"width": 390, "height": 800})
        await browser.close()


PRICES = {"docking station": 49.99, "coffee pods": 57.31, "weighted vest": 59.99}
ANCHORS = {"control": None, "low": 15.0, "high": 95.0}


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
    rows = [
        (agent, item, condition, repeat, max(0.0, value), price, anchor)
        for i, agent in enumerate(agents)
        for item, price in PRICES.items()
        for condition, anchor in ANCHORS.items()
        for mean in [price + shift + 3 * i + (0 if anchor is None else pull * (anchor - 55))]
        for repeat, value in enumerate(rng.normal(mean, sd, repeats).tolist())
    ]
    names = ["agent", "item", "condition", "repeat", "response", "reference", "anchor"]
    table = pd.DataFrame(rows, columns=names).assign(run="r", reason="")
    trial = table[["item", "condition", "repeat"]].astype(str).agg("/".join, axis=1)
    return table.assign(trial=trial, low=table["reference"] - 15, high=table["reference"] + 15)


def simulate_answers(
    biases: dict[str, tuple[list[float], list[float]]],
    *,
    agents: tuple[str, ...] = ("alpha",),
    scenarios: tuple[str, ...] = ("base",),
    temperatures: tuple[float, ...] = (1.0,),
) -> pd.DataFrame:
    """Experiments with the given control and treatment responses (NaN: missing, "letter")."""
    rows = [
        (agent, bias, scenario, temperature, condition, repeat, value)
        for agent in agents
        for bias, groups in biases.items()
        for scenario in scenarios
        for temperature in temperatures
        for condition, values in zip(("control", "treatment"), groups, strict=True)
        for repeat, value in enumerate(values)
    ]
    names = ["agent", "item", "scenario", "temperature", "condition", "repeat", "response"]
    table = pd.DataFrame(rows, columns=names)
    trial = table[names[1:-1]].astype(str).agg("/".join, axis=1)
    reason = np.where(table["response"].isna(), "letter", "")
    return table.assign(trial=trial, reason=reason, family=table["agent"].str.partition("-")[0])


def shown(trial: str, options: Sequence[str], chosen: str, **columns: Any) -> list[dict[str, Any]]:
    """The rows of one trial, its options in this order. A column has one value, or a dictionary by option."""
    return [
        {"trial": trial, "agent": "a", "option": name, "position": place}
        | {"outcome": "choice", "chosen": int(name == chosen)}
        | {key: value[name] if isinstance(value, dict) else value for key, value in columns.items()}
        for place, name in enumerate(options)
    ]


def lose(
    table: pd.DataFrame, lost: "pd.Series[bool] | npt.NDArray[np.bool_]", outcome: str = "no_choice"
) -> pd.DataFrame:
    """The table in which these rows, of whole trials, have no choice."""
    chosen = table["chosen"].astype("Int64").mask(lost)
    return table.assign(chosen=chosen, outcome=table["outcome"].mask(lost, outcome))


def public(study: str) -> Path:
    """The folder of a public study; the test is skipped where it is not at hand."""
    path = Path(__file__).parents[3] / "shared" / "data" / study
    if not (path / "expected-public.json").exists():
        pytest.skip(f"the public data are not beside the repository (../shared/data/{study})")
    return path


def public_json(study: str, name: str = "expected-public.json") -> Any:
    return json.loads((public(study) / name).read_text(encoding="utf-8"))


def published(group: str) -> list[Any]:
    """The published numbers of one group on willingness to pay, each with what it was computed from."""
    found = [check for check in public_json("montecarlo")["checks"] if check["group"] == group]
    assert found
    return found


def check_uncut(figure: Figure) -> None:
    """Nothing that is drawn lies beyond the edge of the figure."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert box.x0 >= -0.03 and box.y0 >= -0.03 and box.x1 <= width + 0.03 and box.y1 <= height + 0.03


def check_figures(report: Report) -> None:
    """Nothing is cut off in any figure of a report."""
    for section in report.sections:
        for each in section.figures:
            assert each.svg, "which lays the figure out"
            check_uncut(each.figure)


PAIRS = {(1, 0): 4, (0, 0): 6}


def order_trial(
    number: int, condition: str, *, deceived: int, task: int = 1, agent: str = "a", **more: object
) -> dict:
    return {
        "run": "r",
        "trial": f"{number}-{condition}-{agent}",
        "agent": agent,
        "set": f"s{number}",
        "nudge": "box",
        "condition": condition,
        "ordering": "forward",
        "repeat": 0,
        "outcome": "choice",
        "ordered": task,
        "task_ok": task,
        "exposed": 1,
        "deceived": deceived,
        "advertised_total": 50.0 if task else None,
        "placed_total": 50.0 + 5 * deceived if task else None,
        **more,
    }


def simulate_orders(counts: Mapping[tuple[int, int], int] = PAIRS, **more: object) -> pd.DataFrame:
    """A table of orders with so many pairs of each kind: (deceived where treated, in the control)."""
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    rows = [
        order_trial(number, condition, deceived=won, **more)
        for number, kind in enumerate(kinds)
        for condition, won in zip(("nudged", "control"), kind, strict=True)
    ]
    return pd.DataFrame(rows)
