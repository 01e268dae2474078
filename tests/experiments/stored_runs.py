"""A database with two small finished runs, `nudges` and `wtp`, in the tables of today."""

from pathlib import Path
from typing import Final

import sqlalchemy as sql

from experiments.records.seals import seal_trial
from experiments.records.store import Records
from experiments.records.tables import metadata, schema, trials

_ROWS: Final = Path(__file__).with_suffix(".sqlite")


def stored_runs(path: Path) -> str:
    """Make the database at a path and return its URL; columns that came later are empty."""
    url = f"sqlite:///{path}"
    records, kept = Records(url), sql.create_engine(f"sqlite:///{_ROWS}")
    with kept.connect() as rows, records.writing() as connection:
        inspected = sql.inspect(rows)
        for table in metadata.sorted_tables:
            if table is schema or not inspected.has_table(table.name):
                continue
            there = {column["name"] for column in inspected.get_columns(table.name)}
            columns = [column for column in table.columns if column.name in there]
            later = {each.name: "" for each in table.columns if each.name not in there and not each.nullable}
            if found := rows.execute(sql.select(*columns)).mappings().all():
                connection.execute(table.insert(), [{**row, **later} for row in found])
        for run, trial in connection.execute(sql.select(trials.c.run, trials.c.trial)).all():
            seal_trial(connection, run, trial)
    records.close()
    kept.dispose()
    return url
