"""Give the chain of a run with what is shown of its trials as plain data, and make a database of it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from experiments.records.chain import chain_fault, chain_of
from experiments.records.reading.plans import plan_text
from experiments.records.record import Row
from experiments.records.seals import batches, rows_of, seal_run
from experiments.records.shown import content_digest, rows_for, shown
from experiments.records.store import Records
from experiments.records.tables import OF_TRIAL, links, plans, runs, strange_cell, trials

AT_ONCE = 1_000
"""The trials whose rows are inserted together."""


class LedgerAltered(Exception):
    """What a stranger says of a run does not fit together; the message says what."""


def ledger(records: Records, run: str) -> Iterator[Row]:
    """Yield the links of a run in order, the last link of each stored trial with `rows`, as shown.

    Raises Unreadable where a cell holds what its column cannot hold.
    """
    with records.reading() as connection:
        chain = chain_of(connection, run)
        last = {row["trial"]: row["number"] for row in chain}
        places = [(run, row["trial"]) for row in chain if last[row["trial"]] == row["number"]]
        content = {}
        for _, names in batches(places):
            for name, rows in rows_of(connection, run, names).items():
                if rows.get(trials):
                    content[name] = shown(
                        {table: [records.checked(table, row) for row in its] for table, its in rows.items()}
                    )
        for row in chain:
            told = {name: value for name, value in row.items() if name != "run"}
            if last[row["trial"]] == row["number"] and row["trial"] in content:
                told["rows"] = content[row["trial"]]
            yield told


def database_of(
    file: Path, of_run: Mapping[str, Any], plan: Mapping[str, Any] | None, entries: Sequence[Row]
) -> Records:
    """Make a database of a run, its plan (its row) and the entries of `ledger`.

    Raises:
        LedgerAltered: an entry has another form, or rows that are not those that were linked.
    """
    run = str(of_run["run"])
    for place, each in enumerate(entries):
        if not isinstance(each, dict) or each.get("number") != place:
            raise LedgerAltered(f"link {place} is missing, or stands elsewhere")
    records = Records(f"sqlite:///{file}")
    try:
        with records.writing() as connection:
            connection.execute(runs.insert().values(**of_run, seal=None))
            seal_run(connection, run)
            if plan:
                connection.execute(plans.insert().values(**plan))
            for start in range(0, len(entries), AT_ONCE):
                _insert(connection, run, entries[start : start + AT_ONCE])
    except (SQLAlchemyError, LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        records.close()
        raise LedgerAltered(f"it has a form that Souk does not write ({type(error).__name__})") from None
    except LedgerAltered:
        records.close()
        raise
    return records


def _insert(connection: sql.Connection, run: str, entries: Sequence[Row]) -> None:
    together: dict[sql.Table, list[Row]] = {}
    tables = {table.name: table for table in OF_TRIAL}
    for number, each in enumerate(entries):
        its = each.get("rows")
        row = {"run": run, **{name: value for name, value in each.items() if name != "rows"}}
        if strange := strange_cell(links, row):
            raise LedgerAltered(f"link {each.get('number', number)}: {strange}")
        together.setdefault(links, []).append(row)
        if its is None:
            continue
        if content_digest(its) != row["content"]:
            raise LedgerAltered(
                f"link {row['number']} (trial {row['trial'][:40]}): its rows are not what was linked"
            )
        key = {"run": run, "trial": row["trial"]}
        for name, some in its.items():
            made = rows_for(tables[name], key, some)
            for one in made:
                if name == trials.name:
                    one["seal"] = row["seal"]
                if strange := strange_cell(tables[name], one):
                    raise LedgerAltered(f"link {row['number']}: {strange}")
            together.setdefault(tables[name], []).extend(made)
    for table, rows in together.items():
        connection.execute(table.insert(), rows)


def ledger_fault(records: Records, run: str) -> str:
    """Describe the first broken link of a run; empty: its chain is whole."""
    with records.reading() as connection:
        return chain_fault(connection, run)


def plan_row(run: str, name: str, digest: str, registered_at: str, content: dict[str, Any]) -> Row:
    """Return the row of a plan."""
    return {
        "run": run,
        "name": name,
        "registered_at": registered_at,
        "hash": digest,
        "plan": plan_text(content),
        "discarded": 0,
    }


def links_of(records: Records, run: str) -> tuple[int, str]:
    """Return the number of links of a run, and the last one."""
    query = sql.select(links.c.number, links.c.link).where(links.c.run == run)
    with records.reading() as connection:
        found = connection.execute(query.order_by(links.c.number.desc()).limit(1)).one_or_none()
    return (found.number + 1, found.link) if found else (0, "")
