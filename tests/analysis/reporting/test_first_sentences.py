"""Every interval in the first sentences stands in a table of the report, in the column that is named."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agents.simulated.tab_shopper import shipped_taste
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.simulation import simulated_trials
from experiments.studies.kinds import STUDIES
from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conftest import simulate_answers, simulate_orders, simulate_valuations
from tests.analysis.conjoint.conftest import simulate_cards
from tests.simulated_choices import with_choices

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
CLAIM = re.compile(
    rf"(?P<name>[^()]*?)(?P<estimate>{NUMBER})(?! trial)[^()\d]*"
    rf"\((?:(?P<how>[^():]*): )?(?P<low>{NUMBER}) to (?P<high>{NUMBER})(?:; p [^()]*)?\)"
)
COLUMNS = {
    "95 %": ("estimate", "conf_low", "conf_high"),
    "95 %, score interval": ("estimate", "exact_low", "exact_high"),
    "95 %, by leaving out each choice set": ("estimate", "by_set_low", "by_set_high"),
    "by the exact test": ("estimate", "exact_low", "exact_high"),
    "95 %, by block": ("blocked", "blocked_low", "blocked_high"),
    "by block": ("blocked", "blocked_low", "blocked_high"),
}
"""The columns of an estimate and its interval, by the words in which a sentence names them."""
READINGS: dict[str, Callable[[float, float, float], tuple[float, float, float]]] = {
    "as it is": lambda estimate, low, high: (estimate, low, high),
    "in percent": lambda estimate, low, high: (100 * estimate, 100 * low, 100 * high),
    "odds at a price 10 % higher": lambda estimate, low, high: (1.1**-estimate, 1.1**-high, 1.1**-low),
}


def claims(sentence: str) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Each estimate with an interval: the words that name its columns, and the three numbers."""
    later = re.compile(r"(?:^|; )(?P<names>[^;:()]+): (?P<how>by the exact test|by block)")
    named = {
        name: found["how"]
        for found in later.finditer(sentence)
        for name in found["names"].strip().split(", ")
    }
    for clause in sentence.partition(": ")[2].split("; "):
        for found in CLAIM.finditer(clause):
            own = [how for name, how in named.items() if found["name"].lstrip(" ,").startswith(name)]
            numbers = found["estimate"], found["low"], found["high"]
            yield (own[0] if own else found["how"] or "95 %"), numbers


def stands(text: str, value: float) -> bool:
    """Whether a number is written as this text: rounded to its decimals, or to four digits that count."""
    plain = text.replace(",", "")
    unit = 10.0 ** -len(plain.partition(".")[2]) if "e" not in plain else 1e-3 * abs(value)
    return abs(float(plain) - value) <= 0.501 * unit


def printed(tables: list[pd.DataFrame], agent: str, how: str, said: tuple[str, str, str]) -> bool:
    """Whether a row of the agent has these three numbers in the columns that the sentence names."""
    for frame in tables:
        names = COLUMNS[how]
        if not {"group", *names} <= set(frame):
            continue
        for row in frame.loc[frame["group"] == agent, list(names)].astype(float).dropna().to_numpy():
            for reading in READINGS.values():
                if all(stands(text, value) for text, value in zip(said, reading(*row), strict=True)):
                    return True
    return False


def choices(trials: int) -> pd.DataFrame:
    design, rng = load_shop_design("nudges", ""), np.random.default_rng(trials)
    tables = []
    for name in ("balanced", "random"):
        made = simulated_trials(design, shipped_taste(name), trials, name)
        tables.append(with_choices(made, made.drawn(rng, 1)[:, 0]))
    return pd.concat(tables, ignore_index=True)


def cards(trials: int) -> pd.DataFrame:
    return simulate_cards(
        sets=trials // 2,
        sizes=(2,),
        agents=("balanced", "dice", "first"),
        random=("dice",),
        locked=("first",),
    )


def valuations(trials: int) -> pd.DataFrame:
    return simulate_valuations(repeats=max(2, trials // 9), pull=0.3)


def answers(trials: int) -> pd.DataFrame:
    rng = np.random.default_rng(trials)
    groups = {name: ([*rng.normal(0, 1, trials // 4)], [*rng.normal(mean, 1, trials // 4)])
              for name, mean in (("anchoring", 2), ("endowment", 0))}  # fmt: skip
    return simulate_answers(groups, agents=("alpha", "beta"))


def scores(trials: int) -> pd.DataFrame:
    return simulate_scores(trials, agents=("alpha", "beta"), present=[frozenset(), frozenset({"anchor"})])


def orders(trials: int) -> pd.DataFrame:
    deceived, both = trials // 6, trials // 12
    return simulate_orders(
        {(1, 0): deceived, (1, 1): both, (0, 0): trials // 2 - deceived - both}, currency="USD"
    )


SIMULATED: dict[str, Callable[[int], pd.DataFrame]] = {
    "choice": choices, "conjoint": cards, "montecarlo": valuations, "biases": answers, "anchoring": scores,
    "orders": orders,
}  # fmt: skip


def test_all_kinds_of_study_are_simulated() -> None:
    assert SIMULATED.keys() == STUDIES.keys()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "trials"),
    [(kind, trials) for kind in SIMULATED for trials in (24, 60, 96, 240) if kind != "anchoring"]
    + [("anchoring", 24)],  # its scores have no number of trials
)
def test_every_claim_is_printed(kind: str, trials: int) -> None:
    study = STUDIES[kind]
    table: Any = SIMULATED[kind](trials)
    made = study.report(study.analyze(table))
    tables = [each.frame for section in made.sections for each in section.tables]
    agents, found = set(table["agent"]), 0
    for sentence in made.answer:
        agent = sentence.partition(": ")[0]
        assert agent in agents
        for how, said in claims(sentence):
            found += 1
            assert printed(tables, agent, how, said), (how, said, sentence)
            assert said[1] != said[2], ("an interval is no point", sentence)
        intervals = len(re.findall(rf"{NUMBER} to {NUMBER}\)", sentence))
        assert intervals == len([*claims(sentence)]), sentence
    assert found or trials < 240 or kind in ("biases", "anchoring"), "of few trials nothing may be claimed"
