"""A valid table of each kind that `souk analyze` reads, to be damaged, and what holds of every analysis."""

import csv
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conftest import simulate_answers, simulate_study, simulate_valuations
from tests.analysis.conjoint.conftest import simulate_cards

Row = dict[str, object]


@dataclass(frozen=True)
class Valid:
    """A table that can be analysed, and the file beside it that a folder needs.

    numbers: its columns of numbers; floor: those that are never below 0. group: the column whose equal rows
    are checked against each other.
    """

    kind: str
    file: str
    rows: tuple[Row, ...]
    numbers: frozenset[str]
    floor: frozenset[str]
    group: str
    beside: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def header(self) -> list[str]:
        return list(self.rows[0])

    @property
    def records(self) -> list[list[str]]:
        """The header and the rows, as texts."""
        return [self.header, *([str(value) for value in row.values()] for row in self.rows)]


def made(kind: str, frame: pd.DataFrame, numbers: str, group: str, signed: str = "", **options: Any) -> Valid:
    """A table of simulated answers; numbers, signed: names of columns, the latter may be below 0."""
    rows = frame.astype(object).where(frame.notna(), "").to_dict("records")
    of_numbers = frozenset(numbers.split())
    floor = of_numbers - {*signed.split()}
    return Valid(kind, f"{kind}.csv", tuple(rows), of_numbers, floor, group, options=options)


def choices() -> Valid:
    agents = ("agent 0", "agent 1")
    frame = simulate_study(agents=agents, sets=6, nudges=3, nudges_per_set=1, categories=3).table
    none = frame["trial"] == frame["trial"].iloc[-1]
    frame = frame.drop(columns=["run", "viewed_first", "nudge"]).assign(
        nudge_text=frame["nudge_text"].replace("text", "Best of\nall", regex=True),
        outcome=frame["outcome"].mask(none, "no_choice"),
        chosen=frame["chosen"].astype("Int64").mask(none),
        steps=3,
    )
    return made(
        "choice", frame, "nudged position chosen price rating direction steps", "trial", signed="direction"
    )


def cards() -> Valid:
    frame = simulate_cards(sets=10, agents=("lab:small",))
    frame["attr_name"] = "Inn\nof " + frame["option"]
    names = (
        "trial agent set option attr_name attr_chain position ordering outcome chosen price rating attr_stars"
    )
    return made("conjoint", frame[names.split()], "position chosen price rating attr_stars", "trial")


def tasks() -> Valid:
    rng = np.random.default_rng(3)
    rows: list[Row] = []
    for task in range(1, 21):
        row: Row = {"task_id": task, "group_id": (task + 1) // 2, "rep": 1 + task % 2}
        for place, letter in enumerate("abc"):
            shown = letter != "c" or task > 10
            row |= {
                f"{letter}_{name}": value if shown else ""
                for name, value in {
                    "hotel_id": 3 * task + place,
                    "name": f"Hyatt\n{task}" if place else "Inn",
                    "stars": 2 + place,
                    "neighborhood": "Midtown",
                    "review_score": 7 + place / 2,
                    "review_count": int(rng.integers(10, 900)),
                    "room_type": "King Room",
                    "cancellation_free": int(rng.integers(2)),
                    "breakfast_included": int(rng.integers(2)),
                    "amenities": "WiFi; Bar",
                    "price": int(rng.integers(80, 300)),
                }.items()
            }
        rows.append(row)
    letters = rng.choice(["A", "B"], 20)
    orders = {
        name: "task_id,choice\n" + "".join(f"{task + offset},{letters[task - 1]}\n" for task in range(1, 21))
        for name, offset in (("choices_small_orig.csv", 0), ("choices_small_swap.csv", 10_000))
    }
    each = (
        "hotel_id",
        "stars",
        "review_score",
        "review_count",
        "cancellation_free",
        "breakfast_included",
        "price",
    )
    numbers = frozenset({"task_id", "rep", *(f"{letter}_{name}" for letter in "abc" for name in each)})
    floor = numbers - {"task_id", "rep"} - {f"{letter}_hotel_id" for letter in "abc"}
    return Valid("conjoint", "study/tasks.csv", tuple(rows), numbers, floor, "task_id", orders)


def orders() -> Valid:
    """The same study; the file of the choices is damaged."""
    study = tasks()
    text = study.beside["choices_small_swap.csv"]
    rows = tuple(csv.DictReader(io.StringIO(text)))
    written = io.StringIO()
    csv.writer(written).writerows(study.records)
    beside = {
        "tasks.csv": written.getvalue(),
        "choices_small_orig.csv": study.beside["choices_small_orig.csv"],
    }
    numbers = frozenset({"task_id"})
    return Valid("conjoint", "study/choices_small_swap.csv", rows, numbers, frozenset(), "task_id", beside)


def valuations() -> Valid:
    frame = simulate_valuations(agents=("old-7b", "new-70b"), repeats=4).drop(columns="run")
    none = frame["repeat"] == 0
    frame = frame.assign(
        response=frame["response"].round(2).mask(none), reason=frame["reason"].mask(none, "two\nnumbers")
    )
    return made(
        "montecarlo", frame, "repeat response reference low high anchor", "item", signed="repeat anchor"
    )


def answers() -> Valid:
    numbers = [np.nan, 10, 25, 40, 65, 80]
    letters = [np.nan, 0, 1, 1, 0, 1]
    given = {"anchoring": (numbers, numbers[::-1]), "framing": (letters, letters[::-1])}
    frame = simulate_answers(given, agents=("alpha", "beta"))
    frame["reason"] = frame["reason"].replace("letter", "not\na letter")
    return made("biases", frame, "repeat temperature response", "item", signed="repeat response", valid=3)


def scores() -> Valid:
    stimuli = dict.fromkeys(("lift", "tower"), (10, 65))
    frame = simulate_scores(agents=("tiny",), stimuli=stimuli, fields=("scene", "anchor"), step=20)
    frame = frame.drop(columns=["run", "tokens"]).assign(logprob=frame["logprob"].round(4))
    frame["note"] = frame["note"].mask(frame["value"] == 0, "of a\nfew")
    return made("anchoring", frame, "anchor value logprob shifted", "stimulus", signed="anchor value logprob")


def simulation() -> Valid:
    rng = np.random.default_rng(7)
    rows = [
        {
            "VariationID": question,
            "Anchor": anchor,
            "TargetToken": f"{value}%",
            "LogProbFullPrompt": round(-3 - 3 * rng.random(), 4),
            **{
                f"Shapley_{name}": round(rng.normal(), 3)
                for name in ("scene", "comparative", "absolute", "anchor")
            },
            "TargetInt": value,
        }
        for question in range(2)
        for anchor in (10, 65)
        for value in range(0, 60, 10)
    ]
    numbers = frozenset(rows[0]) - {"TargetToken"}
    name = "anchoring_lab_tiny_results_standard.csv"
    return Valid("anchoring", name, tuple(rows), numbers, frozenset({"VariationID"}), "VariationID")


TABLES = {
    each.__name__: each() for each in (choices, cards, tasks, orders, valuations, answers, scores, simulation)
}


def check_document(document: dict[str, Any]) -> None:
    """Every number is finite, for JSON has no others; a row without any result has a note."""
    for name, rows in document.items():
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and "estimate" in row:
                results = [row.get(each) for each in ("estimate", "statistic", "p_value")]
                empty = results == [None] * 3 and row.get("term") != "Residual"
                assert row.get("note") or not empty, (name, row)
