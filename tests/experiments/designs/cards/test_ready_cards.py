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
from tests.experiments.designs.cards.make import AGENT, made, trials

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

CARD = """\
interventions:
  - id: desk
    kind: card
    card:
      fields: {Desk: "${name}", Color: "${color}", Price: "$${price:,}"}
      question: Which one?
      answer: {kind: letter}
      example:
        alternatives: [{name: One, color: red, price: 10}, {name: Two, color: blue, price: 20}]
"""
WIDE = """\
task,repeat,option_1_id,option_1_name,option_1_color,option_1_price,option_2_id,option_2_name,option_2_color,option_2_price,option_3_id,option_3_name,option_3_color,option_3_price
first,0,a,Ash Desk,red,199.50,b,Beech Desk,blue,1200,,,,
first,1,a,Ash Desk,red,180,b,Beech Desk,blue,1100,,,,
second,0,a,Ash Desk,red,150,b,Beech Desk,blue,900,c,Cedar Desk,green,700
"""
LONG = """\
task,repeat,id,name,color,price
first,0,a,Ash Desk,red,199.50
first,0,b,Beech Desk,blue,1200
first,1,a,Ash Desk,red,180
first,1,b,Beech Desk,blue,1100
second,0,a,Ash Desk,red,150
second,0,b,Beech Desk,blue,900
second,0,c,Cedar Desk,green,700
"""
PROFILES = """\
id,name,stars,neighborhood,chain,amenities,low,high,rooms,score,reviews,cancellation,breakfast
a,Inn A,2,Harlem,,Free WiFi,60,90,Twin Room | Queen Room,7.1,500,1,0
b,Inn B,3,Harlem,Hyatt,Free WiFi,100,100,King Room,8.0,1000,,
c,Inn C,4,Tribeca,Hilton,Free WiFi; Spa,200,400,King Room,9.9,2000,0.5,0.5
"""


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


def test_both_forms_are_the_same_trials(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "l").mkdir()
    wide, long = trials("hotels", **own(tmp_path / "w", WIDE)), trials("hotels", **own(tmp_path / "l", LONG))
    assert wide == long


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


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        (WIDE, "1200", "much", r'own\.csv:2: option_2_price: expected a number, found "much"; mend the'),
        (WIDE, "Cedar Desk", "", r"own\.csv:4: option_3_name: the cell is empty or missing; fill it in$"),
        (WIDE, "blue,900", ",900", r"own\.csv:4: option_2_color: the card shows it, but the cell is empty"),
        (WIDE, "b,Beech Desk,blue,1200", ",,,", r"own\.csv:2: task: task first has 1 options; give"),
        (WIDE, "b,Beech Desk,blue,1200", "a,Beech Desk,blue,1200", r"own\.csv:2: id: task first shows"),
        (WIDE, "first,1", "first,0", r"own\.csv:3: repeat: task first stands twice with repeat 0; num"),
        (WIDE, "first,1", "first,one", r'own\.csv:3: repeat: expected a whole number, found "one"; m'),
        (WIDE, ",,,,\nfirst", "\nfirst", r"own\.csv:2: fewer cells than the header has columns; me"),
        (LONG, "first,1,a", "second,1,a", r"own\.csv:4: task: task second has 1 options"),
        (LONG, "second,0,c", "first,0,c", r"own\.csv:8: task: the rows of task first do not follow each"),
        (LONG, "task,", "set,", r"own\.csv:1: neither profiles \(id, name, low, high, rooms"),
        (LONG, "199.50", "0", r"own\.csv:2: price: must be greater than 0"),
        (PROFILES, "60,90", "90,60", r"own\.csv:2: high: is below low, 90; swap the two$"),
        (PROFILES, ",2,Harlem", ",two,Harlem", r'own\.csv:2: stars: expected a whole number, fo'),
        (PROFILES, "b,Inn B", "a,Inn B", r"own\.csv:3: id: the id a is taken; give each"),
        (PROFILES, "Twin Room | Queen Room", "Twin Room |", r"own\.csv:2: rooms: "),
    ],
)  # fmt: skip
def test_mistakes_name_file_line_and_column(
    tmp_path: Path, table: str, old: str, new: str, message: str
) -> None:
    assert old in table
    changes = own(tmp_path, table.replace(old, new, 1))
    if table == PROFILES:
        changes |= {"cards": "hotels", "blocks": [{"set_size": 2, "sets": 1}]}
    with pytest.raises(UserError, match=message) as caught:
        made("hotels", **changes)
    assert "\n" not in str(caught.value)


def test_ready_cards_form_no_blocks(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"blocks: .*own\.csv holds ready cards, which are shown as they are;"
    ):
        made("hotels", **own(tmp_path, WIDE, blocks=[{"set_size": 2, "sets": 1}]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the table has no rows"),
        (b"task,id,name\n", "the table has no rows"),
        (b"task,id,name\nx,\xff,y\n", "not UTF-8"),
        (b'task,id,name\n"x,y\n', "not CSV"),
    ],
)
def test_what_is_no_table(tmp_path: Path, content: bytes, message: str) -> None:
    changes = own(tmp_path, "")
    (tmp_path / "own.csv").write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        made("hotels", **changes)
    assert "\n" not in str(caught.value)


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
