"""The exact tests of many sets of answers are those of each, over generated designs, whole and with gaps."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.choice.exact.exact import exact_tests
from analysis.choice.exact.exact_many import MainTests
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import shown
from tests.support import size

TEXTS = {"best": 1, "late": -1, "plain": 1}
"""The direction of each text; `plain` is a placebo."""
STUDIES = 3


@st.composite
def designs(draw: st.DrawFn) -> pd.DataFrame:
    """A crossing of sets, texts, orders, profiles and repeats, of which some trials may be missing."""
    texts = draw(st.lists(st.sampled_from(list(TEXTS)), min_size=1, max_size=2, unique=True))
    profiles = draw(st.sampled_from([("none",), ("none", "thrifty")]))
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    missing, rng = draw(st.sampled_from([0.0, 0.3])), np.random.default_rng(draw(st.integers(0, 999)))
    cells = product(enumerate(sizes), profiles, range(draw(st.integers(1, 3))), (False, True), texts)
    rows: list[dict[str, object]] = []
    for (at, options), profile, repeat, reverse, text in cells:
        names = [f"o{number}" for number in range(options)]
        for carriers in ([], *([name] for name in names), *([names[:2]] if options > 2 else [])):
            if rng.random() < missing or (text == "plain" and not carriers):
                continue
            rows += shown(
                f"{at}/{profile}/{repeat}/{reverse}/{text}/{carriers}",
                names[::-1] if reverse else names,
                names[-1 if reverse else 0],
                set=f"s{at}",
                category=f"c{at}",
                price={name: 10 + int(name[1:]) for name in names},
                rating=60,
                nudged={name: int(name in carriers and text != "plain") for name in names},
                placebo={name: int(name in carriers and text == "plain") for name in names},
                nudge=text if carriers else "",
                nudge_text=text if carriers else "",
                direction=TEXTS[text] if carriers else None,
                condition="nudged" if carriers else "control",
                profile=profile,
                repeat=repeat,
            )
    return pd.DataFrame(rows)


def answers(table: pd.DataFrame, rng: np.random.Generator, *, alike: bool) -> np.ndarray:
    """One choice in each trial; alike: the same in all repeats of a question."""
    question = (
        table["trial"].str.replace(r"^(\d+/[^/]*)/\d+/", r"\1/", regex=True) if alike else table["trial"]
    )
    options = table["set"] + "/" + table["option"] + "/" + question
    codes = pd.factorize(options)[0]
    noise = rng.random(codes.max() + 1)[codes]
    best = pd.Series(noise).groupby(table["trial"].to_numpy()).transform("max").to_numpy()
    return np.asarray((noise == best).astype(float))


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(16, 500), deadline=None)
@given(table=designs(), seed=st.integers(0, 999), alike=st.booleans())
def test_tests_of_many_answers_are_those_of_each(table: pd.DataFrame, seed: int, alike: bool) -> None:
    if table.empty:
        return
    rng, checked = np.random.default_rng(seed), check_table(table)
    # One study of each kind beside the others: repeats that are answered alike are told study by study.
    each = [answers(table, rng, alike=alike and study != 1) for study in range(STUDIES)]
    many = MainTests(checked).of_many(np.array(each).T)
    for study, chosen in enumerate(each):
        frame = exact_tests(checked.assign(chosen=pd.Series(chosen, checked.index).astype("Int64")))
        own = frame[(frame["part"] == "") & frame["term"].isin(["nudged", "viewed_first"])]
        for row in own.to_dict("records"):
            if np.isnan(row["p_value"]):
                assert row["term"] not in many
                continue
            found = many[row["term"]]
            told = found.p_value[study], found.low[study], found.high[study]
            expected = row["p_value"], row["conf_low"], row["conf_high"]
            assert told == pytest.approx(expected, abs=1e-6), row["term"]


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [0.0, 0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize(("sets", "texts", "repeats"), [(4, 2, 10), (8, 1, 5), (40, 1, 3)])
def test_an_agent_that_nearly_always_answers_alike(sets: int, texts: int, repeats: int, fresh: float) -> None:
    """No share of equal answers to a repeated question makes effects that are not there.

    The answer to each prompt is fixed by a coin, and a share of the answers is given afresh.
    """
    studies, rng = size(300, 3_000), np.random.default_rng([sets, repeats, int(100 * fresh)])
    cells = pd.DataFrame(
        list(product(range(sets), range(texts), (0, 1), (0, 1), range(repeats))),
        columns=["set", "text", "reverse", "carrier", "repeat"],
    )
    answers = np.repeat(rng.random((len(cells) // repeats, studies)) < 0.5, repeats, axis=0)
    afresh = rng.random(answers.shape) < fresh
    answers[afresh] = rng.random(int(afresh.sum())) < 0.5
    rows = cells.loc[np.repeat(cells.index, 2)].assign(option=np.tile([0, 1], len(cells)))
    first = rows["option"] == rows["reverse"]
    table = check_table(
        pd.DataFrame(
            {
                "trial": rows.index.astype(str),
                "agent": "a",
                "set": "s" + rows["set"].astype(str),
                "option": "o" + rows["option"].astype(str),
                "position": 1 - first.astype(int),
                "viewed_first": first.astype(int),
                "chosen": 1 - rows["option"],
                "outcome": "choice",
                "nudged": (rows["option"] == rows["carrier"]).astype(int),
                "nudge_text": "t" + rows["text"].astype(str),
                "repeat": rows["repeat"],
            }
        ).reset_index(drop=True)
    )
    chosen = np.where(
        table[["option"]] == "o1", *(np.repeat(each, 2, axis=0) for each in (answers, ~answers))
    )
    for term, found in MainTests(table).of_many(chosen.astype(float)).items():
        rejected, held = (found.p_value < 0.05).mean(), ((found.low <= 0) & (found.high >= 0)).mean()
        error = 3 * (0.05 * 0.95 / studies) ** 0.5
        assert rejected <= 0.05 + error, term
        assert held >= 0.93 - error, term
