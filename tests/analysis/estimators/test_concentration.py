"""Concentration of choices: against brute force over pairs of answers, SciPy's entropy, and known truth."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.estimators.concentration import concentration
from tests.support import size


def drawn(seed: int, repeats: int, units: int = 9, options: int = 4) -> pd.DataFrame:
    """The choices of a market; each unit has one to `repeats` answers."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), rng.integers(1, repeats + 1, units))
    return pd.DataFrame({"market": "m", "unit": unit, "option": rng.integers(options, size=len(unit))})


def plain_entropy(choices: pd.DataFrame) -> float:
    return float(stats.entropy(choices["option"].value_counts()))


def agreement(choices: pd.DataFrame) -> float:
    """How often answers of two different units are the same option, over all pairs."""
    rows = choices[["unit", "option"]].to_numpy()
    return float(np.mean([a[1] == b[1] for a, b in combinations(rows, 2) if a[0] != b[0]]))


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("seed", range(size(3, 30)))
def test_each_measure_is_that_of_its_definition(seed: int, repeats: int) -> None:
    choices = drawn(seed, repeats)
    others = drawn(seed + 100, repeats).assign(market="another")  # markets do not touch each other
    found = concentration(pd.concat([choices, others], ignore_index=True)).loc["m"]
    counts, n = choices["option"].value_counts(), len(choices)
    assert (found["answers"], found["units"], found["chosen"]) == (n, 9, len(counts))
    assert found["leader"] == pytest.approx(counts.max() / n)
    assert found["hhi"] == pytest.approx(agreement(choices))
    squares, effective = float(((counts / n) ** 2).sum()), found["effective_n"]
    correction = (len(counts) - 1) / (2 * effective)
    assert found["entropy"] == pytest.approx(plain_entropy(choices) + correction)
    if repeats == 1:
        assert found["hhi"] == pytest.approx((n * squares - 1) / (n - 1)) and effective == pytest.approx(n)
    else:
        bias = (1 - found["hhi"]) / effective
        assert squares - found["hhi"] == pytest.approx(bias) or effective == n
    for name, measure in (("hhi", agreement), ("entropy", plain_entropy)):
        without = [measure(choices[choices["unit"] != unit]) for unit in range(9)]
        assert found[f"{name}_variance"] == pytest.approx(8 * np.var(without))


def test_answers_that_are_alike_within_units_tell_as_much_as_one_of_each() -> None:
    once = drawn(1, 1)
    found = [concentration(table).loc["m"] for table in (once, pd.concat([once] * 3, ignore_index=True))]
    columns = [
        "units",
        "chosen",
        "leader",
        "effective_n",
        "hhi",
        "hhi_variance",
        "entropy",
        "entropy_variance",
    ]
    assert found[1][columns].tolist() == pytest.approx(found[0][columns].tolist())
    same = concentration(once.assign(option=0)).loc["m"]
    assert (same["hhi"], same["entropy"], same["hhi_variance"], same["effective_n"]) == (1, 0, 0, 9)


def test_what_few_units_cannot_tell_is_undefined() -> None:
    one = concentration(drawn(0, 1, units=1)).loc["m"]
    assert one[["hhi", "entropy", "hhi_variance", "entropy_variance"]].isna().all()
    two = concentration(drawn(0, 1, units=2)).loc["m"]
    assert two[["hhi", "entropy"]].notna().all() and two[["hhi_variance", "entropy_variance"]].isna().all()


@pytest.mark.parametrize("answers", [5, 40])
def test_the_mean_concentration_is_the_true_one_for_any_number_of_answers(answers: int) -> None:
    """Also of units with three answers alike. The squared shares alone are too high by far."""
    rng, studies, shares = np.random.default_rng(answers), size(2_000, 20_000), np.array([0.5, 0.25, 0.25])
    for chances in (np.full(8, 1 / 8), shares):
        options = rng.choice(len(chances), p=chances, size=studies * answers)
        market = np.repeat(np.arange(studies), answers)
        choices = pd.DataFrame({"market": market, "unit": np.arange(len(market)), "option": options})
        found = concentration(choices.loc[choices.index.repeat(3)])["hhi"]
        truth, error = float((chances**2).sum()), float(found.std() / studies**0.5)
        assert abs(found.mean() - truth) < 4 * error
        assert (1 - truth) / answers > 8 * error  # the bias of squared shares would be seen
