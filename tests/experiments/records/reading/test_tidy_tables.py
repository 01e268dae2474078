"""The exported table holds what was shown and chosen, and gives the effects that the run itself gives."""

import json
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from analysis.choice import analyze_choice
from analysis.tables.choice_table import COLUMNS, read_table
from experiments.designs.choice_sets.shop_products import shop_products
from experiments.records.reading import tidy_tables as tidy
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from tests.experiments.command_line import forked_souk
from tests.experiments.records.test_store import a_record, some_facts
from tests.experiments.running import run_here
from tests.support import size

LIMIT = size(6, 12)
EXPERIMENT = """\
name: matched
goal: Buy the best product.
options: {sets: SETS}
factors:
  nudge: {interventions: nudges, only: [wirecutter]}
match: [price]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in `t.db`, of which one trial has ended without a choice, exported both ways."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "matched.yaml").write_text(EXPERIMENT.replace("SETS", str(LIMIT // 6)))
    run_here("matched.yaml", folder)
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute(
            "UPDATE trials SET outcome = 'agent_limit', choice = NULL "
            "WHERE trial = (SELECT min(trial) FROM trials)"
        )
    connection.close()
    for suffix in ("csv", "parquet"):
        ended = forked_souk("export", "--db", "sqlite:///t.db", "--out", f"t.{suffix}", cwd=folder)
        assert ended.status == 0, ended.err
        assert ended.out.startswith(f"t.{suffix}: {2 * LIMIT} rows, {LIMIT} trials of run matched-")
    return folder


@pytest.fixture(scope="module", params=["csv", "parquet"])
def table(folder: Path, request: pytest.FixtureRequest) -> pd.DataFrame:
    return read_table(folder / f"t.{request.param}")


@pytest.mark.thorough
@pytest.mark.browser
def test_every_documented_column_is_there(table: pd.DataFrame) -> None:
    there = [column.name for column in COLUMNS if column.name in table]
    assert there == list(table.columns)[: len(there)]
    assert {column.name for column in COLUMNS if column.required} < {*there}
    assert len(table) == 2 * LIMIT
    assert set(table["condition"]) == {"control", "nudged"}
    assert table.groupby("trial")["position"].apply(sorted).tolist() == [[0, 1]] * LIMIT


@pytest.mark.browser
def test_chosen_is_empty_exactly_where_there_is_no_choice(table: pd.DataFrame) -> None:
    made = table["outcome"] == "choice"
    assert made.sum() == 2 * (LIMIT - 1)
    assert (table["chosen"].isna() == ~made).all()
    assert (table[made].groupby("trial")["chosen"].sum() == 1).all()


@pytest.mark.browser
def test_facts_are_those_displayed(table: pd.DataFrame) -> None:
    catalogue = {product.key: product for product in shop_products()}
    for _, options in table.groupby("set"):
        listed = [catalogue[key] for key in options["option"].unique()]
        mean = round(sum(product.price or 0 for product in listed) / 2, 2)
        assert set(options["price"]) == {mean}
        for row in options.itertuples():
            assert (row.rating, row.reviews) == (catalogue[row.option].rating, catalogue[row.option].reviews)
            assert row.attr_name == catalogue[row.option].name
    nudged = table[table["condition"] == "nudged"]
    assert (nudged.groupby("trial")["nudged"].sum() == 1).all()
    assert (table[table["condition"] == "control"]["nudged"] == 0).all()


@pytest.mark.browser
def test_the_displayed_price_is_what_the_agent_saw(folder: Path) -> None:
    query = """
        SELECT receipts.after, options.price FROM receipts JOIN options
        ON options.trial = receipts.trial AND options.option = receipts.product
        WHERE receipts.edit = 'set_price' AND receipts.page_type = 'product'
    """
    with sqlite3.connect(folder / "t.db") as connection:
        shown = connection.execute(query).fetchall()
    connection.close()
    assert len(shown) >= 2 * LIMIT
    assert {text for text, _ in shown} == {f"${price:,.2f}" for _, price in shown}
    assert all(text == f"${price:,.2f}" for text, price in shown)


@pytest.mark.browser
def test_the_file_gives_the_effects_of_the_database(folder: Path) -> None:
    of_database, *of_files = (
        json.loads(forked_souk("analyze", *source, "--json", cwd=folder).out)
        for source in (
            ("--db", "sqlite:///t.db"),
            ("t.csv", "--as", "choice"),
            ("t.parquet", "--as", "choice"),
        )
    )
    assert of_database["effects"]
    for of_file in of_files:
        assert of_file["effects"] == of_database["effects"]
        assert of_file["attrition"] == of_database["attrition"]


@pytest.mark.browser
def test_a_suffix_that_no_table_has(folder: Path) -> None:
    ended = forked_souk("export", "--db", "sqlite:///t.db", "--out", "t.xlsx", cwd=folder)
    assert (ended.status, ended.err) == (2, "error: --out t.xlsx: the suffix must be .parquet or .csv\n")
    assert not (folder / "t.xlsx").exists()


@pytest.mark.browser
def test_rows_that_are_read_in_pieces_are_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = Records(f"sqlite:///{folder / 't.db'}")
    run = records.latest_run()["run"]
    whole = tidy.tidy_table(records, run)
    monkeypatch.setattr(tidy, "_PACKED", 5)
    pd.testing.assert_frame_equal(tidy.tidy_table(records, run), whole)


@pytest.mark.browser
def test_a_column_without_a_value_has_the_type_of_its_question(folder: Path) -> None:
    nothing = tidy.response_table(Records(f"sqlite:///{folder / 't.db'}"), "no-such-run")
    assert nothing.empty
    assert nothing.dtypes[["response", "repeat", "item"]].tolist() == ["float64", "int64", "str"]


def a_trial_with(number: int, nudge: str, condition: str) -> TrialRecord:
    """A trial in which the second option carries the nudge and is chosen in two cases of three."""
    record = a_record(
        f"t-{number}",
        set=f"set-{number % 8}",
        condition=condition,
        nudge=nudge,
        nudge_text=nudge,
        choice="b" if number % 3 else "a",
    )
    record.options[1]["nudged"] = int(nudge != "")
    return record


@pytest.mark.slow
def test_a_placebo_that_was_stored_as_nudged_is_analysed_as_placebo(tmp_path: Path) -> None:
    """The old rows give the table and the effects of the same trials as they are stored today."""
    interventions = [[{"id": "best", "kind": "nudge"}, {}], [{"id": "plain", "kind": "placebo"}, {}]]
    found = {}
    for stored_as in ("nudged", "placebo"):
        records = Records(f"sqlite:///{tmp_path / stored_as}.db")
        records.begin_run("r-1", "r", some_facts(inputs={"interventions": interventions}))
        conditions = {"": "control", "best": "nudged", "plain": stored_as}
        trials = enumerate(nudge for _ in range(24) for nudge in conditions)
        records.save(*(a_trial_with(number, nudge, conditions[nudge]) for number, nudge in trials))
        found[stored_as] = tidy.tidy_table(records, "r-1")
        records.close()
    old, new = found["nudged"], found["placebo"]
    pd.testing.assert_frame_equal(old, new)
    carrying = old[old["nudge"] == "plain"]
    assert set(carrying["condition"]) == {"placebo"} and (carrying["nudged"] == 0).all()
    assert carrying.groupby("trial")["placebo"].sum().eq(1).all()
    assert {"placebo", "nudged_less_placebo"} <= set(analyze_choice(old).effects["term"])


@pytest.mark.thorough
@pytest.mark.slow
def test_the_rows_of_a_table_come_in_the_order_of_their_key(records: Records) -> None:
    records.save(*(a_record(f"t{number}") for number in (2, 1)), a_record("t1", run="r-2"))
    found = tidy.stored_rows(records, "r-1", "options", ("trial", "option"))
    assert list(found.columns) == ["trial", "option"]
    assert found.to_numpy().tolist() == [["t1", "a"], ["t1", "b"], ["t2", "a"], ["t2", "b"]]
    assert tidy.stored_rows(records, "r-1", "trials")["run"].tolist() == ["r-1", "r-1"]
