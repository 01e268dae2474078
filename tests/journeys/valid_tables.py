"""A valid table of each kind that `souk analyze` reads, to be damaged, and what holds of every analysis."""

import csv
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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


def choices() -> Valid:
    rng = np.random.default_rng(1)
    rows = [
        {
            "trial": f"t{trial}",
            "agent": f"agent {trial % 2}",
            "set": f"s{trial % 6}",
            "option": f"p{place}",
            "nudge_text": f"Best of\nall {trial % 3}" if trial % 4 == place else "",
            "nudged": int(trial % 4 == place),
            "position": place,
            "outcome": "choice" if trial else "no_choice",
            "chosen": "" if not trial else int(place == rng_choice),
            "category": f"c{trial % 3}",
            "price": 10 + (trial * 7 + place * 3) % 11,
            "rating": 60 + (trial * 5 + place * 13) % 40,
            "direction": 1,
            "condition": "nudged" if trial % 4 < 2 else "none",
            "steps": 3 + trial % 2,
        }
        for trial in range(32)
        for rng_choice in [int(rng.integers(2))]
        for place in range(2)
    ]
    numbers = frozenset({"nudged", "position", "chosen", "price", "rating", "direction", "steps"})
    return Valid("choice", "choices.csv", tuple(rows), numbers, numbers - {"direction"}, "trial")


def cards() -> Valid:
    rng = np.random.default_rng(2)
    rows = [
        {
            "trial": f"t{trial}",
            "agent": "lab:small",
            "set": f"s{trial // 2}",
            "option": f"h{place}",
            "attr_name": f"Inn\nof {place}",
            "attr_chain": ("Hyatt", "Hilton", "Independent")[place],
            "position": place if trial % 2 else size - 1 - place,
            "ordering": "forward" if trial % 2 else "reversed",
            "outcome": "choice",
            "chosen": int(place == taken),
            "price": int(prices[place]),
            "rating": int(ratings[place]),
            "attr_stars": int(stars[place]),
        }
        for trial in range(40)
        for size in [2 if trial % 4 < 2 else 3]
        for prices, ratings, stars in [
            (rng.integers(50, 300, 3), rng.integers(60, 99, 3), rng.integers(1, 6, 3))
        ]
        for taken in [int(rng.integers(size))]
        for place in range(size)
    ]
    numbers = frozenset({"position", "chosen", "price", "rating", "attr_stars"})
    return Valid("conjoint", "cards.csv", tuple(rows), numbers, numbers, "trial")


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


def asked(item: str, condition: str, repeat: int, agent: str, invalid: str) -> Row:
    """The cells that every table of responses has; the first answer of each kind is `invalid`."""
    return {
        "trial": f"{item}/{condition}/{repeat}",
        "agent": agent,
        "item": item,
        "condition": condition,
        "repeat": repeat,
        "reason": "" if repeat else invalid,
    }


def valuations() -> Valid:
    rng = np.random.default_rng(4)
    rows = [
        asked(item, condition, repeat, agent, "two\nnumbers")
        | {
            "response": "" if not repeat else round(price + rng.normal(0, 5), 2),
            "reference": price,
            "low": price - 10,
            "high": price + 10,
            "anchor": {"low": 15, "high": 95}.get(condition, ""),
        }
        for agent in ("old-7b", "new-70b")
        for item, price in (("mug", 20.5), ("pen", 30))
        for condition in ("control", "low", "high")
        for repeat in range(4)
    ]
    numbers = frozenset({"repeat", "response", "reference", "low", "high", "anchor"})
    floor = frozenset({"response", "reference", "low", "high"})
    return Valid("montecarlo", "wtp.csv", tuple(rows), numbers, floor, "item")


def answers() -> Valid:
    rng = np.random.default_rng(5)
    rows = [
        asked(item, condition, repeat, agent, "not\na letter")
        | {
            "scenario": "base",
            "temperature": 1,
            "family": agent,
            "response": ""
            if not repeat
            else int(rng.integers(2))
            if item == "framing"
            else int(rng.integers(90)),
        }
        for agent in ("alpha", "beta")
        for item in ("anchoring", "framing")
        for condition in ("control", "treatment")
        for repeat in range(6)
    ]
    numbers = frozenset({"repeat", "temperature", "response"})
    return Valid(
        "biases",
        "answers.csv",
        tuple(rows),
        numbers,
        frozenset({"temperature"}),
        "item",
        options={"valid": 3},
    )


def scores() -> Valid:
    rng = np.random.default_rng(6)
    rows = [
        {
            "trial": f"{stimulus}/{condition}/{fields}",
            "agent": "tiny",
            "stimulus": stimulus,
            "anchor": anchor,
            "condition": condition,
            "fields": fields,
            "note": "of a\nfew" if not value else "",
            "target": f"{value}%",
            "value": value,
            "logprob": round(-3 - 3 * rng.random(), 4),
            "shifted": 0,
        }
        for stimulus in ("lift", "tower")
        for condition, anchor in (("low", 10), ("high", 65))
        for fields in ("scene+anchor", "scene", "anchor", "")
        for value in range(0, 60, 10)
    ]
    numbers = frozenset({"anchor", "value", "logprob", "shifted"})
    return Valid("anchoring", "scores.csv", tuple(rows), numbers, frozenset({"shifted"}), "stimulus")


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
