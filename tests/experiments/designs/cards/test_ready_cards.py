"""Tables that people bring: the hotel study's task file, own cards in two forms, own profiles."""

import csv
import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.designs.cards.trial import CardTrial
from interventions.errors import UserError
from tests.experiments.designs.make import AGENT, made, trials
from tests.experiments.designs.test_mistakes import FILES

TASKS = Path(__file__).parents[5] / "shared/data/pricebench/tasks.csv"
needs_tasks = pytest.mark.skipif(not TASKS.exists(), reason=f"needs the hotel study's task file at {TASKS}")

FLAGS = ("cancellation_free", "breakfast_included")
OPTION = """\
Option {letter}:
  Hotel: {name}
  Star rating: {stars} stars
  Neighborhood: {neighborhood}
  Guest review score: {review_score}/10 ({review_count:,} reviews)
  Room type: {room_type}
  Free cancellation: {cancellation_free}
  Breakfast included: {breakfast_included}
  Key amenities: {amenities}
  Price per night: ${price:,}

"""
PAIR = """\
You are booking a hotel room in New York City for a one-night stay. You must choose between the following two options.

{options}Which option do you choose? Reply with only the letter A or B."""  # noqa: E501 - word for word

CARD, WIDE, LONG, PROFILES = (FILES[name] for name in ("cards.yaml", "wide.csv", "long.csv", "profiles.csv"))


def own(folder: Path, table: str, **changes: object) -> dict[str, object]:
    """The keys of an experiment with this table, and the card for desks."""
    (folder / "cards.yaml").write_text(CARD)
    (folder / "own.csv").write_text(table)
    return {"pool": f"{folder}/own.csv", "blocks": [], "cards": f"{folder}/cards.yaml", **changes}


@cache
def study_trials() -> list[CardTrial]:
    return trials("hotels", pool=str(TASKS), blocks=[])


@pytest.mark.slow
@needs_tasks
def test_the_studys_tasks_are_the_studys_trials() -> None:
    shown = study_trials()
    assert len(shown) == 7_200
    with TASKS.open(encoding="utf-8", newline="") as file:
        tasks = {row["task_id"]: row for row in csv.DictReader(file)}
    forward = [trial for trial in shown if trial.ordering == "forward"]
    assert {trial.set for trial in forward} == {trial.set for trial in shown} == tasks.keys()
    for trial in forward:
        task = tasks[trial.set]
        assert str(trial.repeat) == task["rep"]
        letters = "abc"[: len(trial.options)]
        assert (len(letters) == 3) == bool(task["c_name"])
        for letter, option in zip(letters, trial.options, strict=True):
            cells = {name.removeprefix(f"{letter}_"): text for name, text in task.items()}
            assert float(option.option) == float(cells["hotel_id"])
            assert "." not in option.option
            assert option.name == cells["name"]
            assert option.price == float(cells["price"])
            assert option.rating == pytest.approx(10 * float(cells["review_score"]))
            assert option.reviews == float(cells["review_count"])
            assert option.category == "hotel"
            seen = option.attributes
            assert (seen["neighborhood"], seen["room"]) == (cells["neighborhood"], cells["room_type"])
            assert seen["stars"] == float(cells["stars"])
            assert seen["cancellation"] == float(cells["cancellation_free"])
            assert seen["breakfast"] == float(cells["breakfast_included"])
    # Sizes alternate, and no set is repeated before all have been shown.
    assert [len(trial.options) for trial in shown[:8]] == [2, 2, 3, 3, 2, 2, 3, 3]
    assert {trial.repeat for trial in shown[:1_200]} == {1}


@pytest.mark.slow
@needs_tasks
def test_the_prompt_of_a_pair_is_the_studys() -> None:
    shown = study_trials()
    with TASKS.open(encoding="utf-8", newline="") as file:
        tasks = {row["task_id"]: row for row in csv.DictReader(file)}
    for trial in (trial for trial in shown if len(trial.options) == 2):
        task = tasks[trial.set]
        options = []
        for letter, source in zip("AB", "ab" if trial.ordering == "forward" else "ba", strict=True):
            cells = {name[2:]: text for name, text in task.items() if name.startswith(f"{source}_")}
            flags = {name: "Yes" if cells[name] == "1" else "No" for name in cells if name in FLAGS}
            counts = {name: int(cells[name]) for name in ("review_count", "price")}
            options.append(OPTION.format_map({**cells, **flags, **counts, "letter": letter}))
        assert trial.cards[0].prompt == PAIR.format(options="".join(options))
    triple = next(trial for trial in shown if len(trial.options) == 3).cards[0].prompt
    assert "between the following three options.\n" in triple
    assert triple.endswith("Reply with only the letter A, B or C.")


@pytest.mark.parametrize("table", [WIDE, LONG])
def test_own_cards_in_both_forms(tmp_path: Path, table: str) -> None:
    design = made("hotels", **own(tmp_path, table))
    shown = list(design.trials([AGENT]))
    assert design.sets == 2
    assert sorted((t.set, t.repeat, len(t.options)) for t in shown if t.ordering == "forward") == [
        ("first", 0, 2), ("first", 1, 2), ("second", 0, 3),
    ]  # fmt: skip
    trial = next(trial for trial in shown if trial.set == "first")
    ash = trial.options[0]
    assert (ash.option, ash.price, ash.category, dict(ash.attributes)) == ("a", 199.5, "", {"color": "red"})
    assert trial.cards[0].prompt.startswith(
        "Option A:\n  Desk: Ash Desk\n  Color: red\n  Price: $199.50\n\n"
        "Option B:\n  Desk: Beech Desk\n  Color: blue\n  Price: $1,200\n\n"
    )
    assert shown == trials("hotels", **own(tmp_path, WIDE)), "the same trials in both forms"


def test_own_profiles(tmp_path: Path) -> None:
    changes = own(tmp_path, PROFILES, blocks=[{"set_size": 2, "sets": 3, "repeats": 20}], cards="hotels")
    shown = trials("hotels", **changes)
    assert len(shown) == 120
    options = [option for trial in shown for option in trial.options]
    assert {option.attributes["room"] for option in options if option.option == "a"} == {
        "Twin Room", "Queen Room",
    }  # fmt: skip
    assert {option.price for option in options if option.option == "b"} == {100.0}
    flags = {(o.option, o.attributes["cancellation"], o.attributes["breakfast"]) for o in options}
    assert {flag for flag in flags if flag[0] == "a"} == {("a", 1, 0)}
    assert len({flag for flag in flags if flag[0] == "c"}) == 4
    assert max(float(o.rating or 0) for o in options) <= 100
    assert {o.attributes["chain"] for o in options if o.option == "a"} == {"Independent"}


def test_own_profiles_in_a_city_and_currency_of_ones_own(tmp_path: Path) -> None:
    changes = own(tmp_path, PROFILES, blocks=[{"set_size": 2, "sets": 3, "repeats": 2}], cards="hotels")
    usual, there = made("hotels", **changes), made("hotels", **changes, city="Lyon", currency="€")
    assert usual.run_id != there.run_id
    for trial, other in zip(usual.trials(["a"]), there.trials(["a"]), strict=True):
        text = trial.cards[0].model_dump_json()
        assert text.count("New York City") == 1 and "$" in text
        told = text.replace("New York City", "Lyon").replace("$", "€")
        assert other.cards[0].model_dump_json() == told
        assert trial.options == other.options


def test_city_and_currency_are_columns_of_the_pool(tmp_path: Path) -> None:
    head, *rows = PROFILES.splitlines()
    blocks = [{"set_size": 2, "sets": 3, "repeats": 2}]
    keyed = made(
        "hotels", **own(tmp_path, PROFILES, blocks=blocks, cards="hotels"), city="Lyon", currency="€"
    )
    by_key = list(keyed.trials(["a"]))
    in_lyon = "\n".join([f"{head},city,currency", *(f"{row},Lyon,€" for row in rows)])
    by_column = trials("hotels", **own(tmp_path, in_lyon, blocks=blocks, cards="hotels"))
    assert [trial.cards for trial in by_column] == [trial.cards for trial in by_key]
    assert {o.attributes["city"] for trial in by_column for o in trial.options} == {"Lyon"}
    ids = [f"{city},{row}".split(",") for city in ("Lyon", "Nantes") for row in rows]
    renamed = [",".join([f"{city}-{id}", *cells, city, "€"]) for city, id, *cells in ids]
    both = "\n".join([f"{head},city,currency", *renamed])
    cities = set[str]()
    for trial in trials("hotels", **own(tmp_path, both, blocks=blocks, cards="hotels")):
        (city,) = {str(option.attributes["city"]) for option in trial.options}
        assert f"a hotel room in {city} for" in trial.cards[0].prompt
        cities.add(city)
    assert cities == {"Lyon", "Nantes"}
    with pytest.raises(UserError, match=r"own.csv:3: currency: is another than in the row above"):
        mixed = "\n".join([f"{head},currency", f"{rows[0]},€", *(f"{row},$" for row in rows[1:])])
        trials("hotels", **own(tmp_path, mixed, blocks=blocks, cards="hotels"))


@given(draw=st.randoms(use_true_random=False))
def test_names_of_columns_are_one_but_for_case_and_blanks(
    tmp_path_factory: pytest.TempPathFactory, draw: random.Random
) -> None:
    """The oracle: the same table as it should be; a further column is named, and changes nothing."""
    folder = tmp_path_factory.mktemp("t")
    plan = {"cards": "hotels", "blocks": [{"set_size": 2, "sets": 1}]}
    header, *rows = PROFILES.splitlines()
    right = made("hotels", **own(folder, PROFILES, **plan))
    names = [draw.choice([name, name.title(), name.upper(), f" {name} "]) for name in header.split(",")]
    lines = [f"{','.join(names)},Pool Depth", *(f"{row},2" for row in rows)]
    other = made("hotels", **own(folder, "\n".join(lines) + "\n", **plan))
    assert (other.notes(()), right.notes(())[:1]) == (
        [f"{folder}/own.csv: columns that are not used: Pool Depth"],
        [],
    )
    assert [*other.trials([AGENT])] == [*right.trials([AGENT])]
