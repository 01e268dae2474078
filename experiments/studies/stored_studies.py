"""Studies as commands name them: a run with its records, or a table in a file."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from experiments.records.record import Row, kind_of
from experiments.records.store import Records
from experiments.studies.kinds import STUDIES, of_design, read_tables, study_of
from experiments.studies.side_by_side import NamedStudy
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean


class StoredRun(NamedTuple):
    """A run, the records that hold it, and its folder; a run of an archive has no folder."""

    records: Records
    found: Row
    folder: Path | None
    name: str

    def as_kind(self, kind: str | None) -> "StoredRun":
        """Return a run as one of another kind as which it can be analysed, such as one of orders as choices.

        It has no folder, which holds the report of the run's own kind.
        """
        if kind not in study_of(kind_of(self.found)).also:
            return self
        facts = {**self.found["facts"], "analysis": kind}
        return self._replace(found={**self.found, "facts": facts}, folder=None)

    def of_kind(self, kind: str) -> NamedStudy:
        """Return all tables of the run."""
        with self.records.reading():  # one state of a run that goes on
            tables = study_of(kind).stored(self.records, self.found["run"], ())
        return NamedStudy(self.name, tables, of_design(self.found))

    def main_table(self, kind: str) -> pd.DataFrame:
        """Return the main table of the run, with the study's name as `run`."""
        with self.records.reading():
            return study_of(kind).table(self.records, self.found["run"]).assign(run=self.name)


class StoredTable(NamedTuple):
    """A table of any origin."""

    path: Path
    name: str

    def as_kind(self, kind: str | None) -> "StoredTable":
        """Return the table: `kind` says of what kind it is."""
        return self

    def of_kind(self, kind: str) -> NamedStudy:
        """Read the table."""
        return NamedStudy(self.name, (read_tables(kind, [self.path]),))

    def main_table(self, kind: str) -> pd.DataFrame:
        """Read the table as it is."""
        return study_of(kind).read(self.path)


StoredStudy = StoredRun | StoredTable


def shared_kind(studies: Sequence[StoredStudy], kind: str | None, usual: str | None = None) -> str:
    """Return the kind of all studies. kind, usual: of tables, as `--as` says, and where it says nothing.

    Raises UserError for two kinds, for tables without one, and for a study that is named twice.
    """
    if twice := [name for name, number in Counter(each.name for each in studies).items() if number > 1]:
        raise UserError(f"{twice[0]}: named twice; name each study once")
    runs = {each.name: kind_of(each.found) for each in studies if isinstance(each, StoredRun)}
    if kind and runs and {*runs.values()} != {kind}:
        raise UserError(f"--as {kind}: a run has its own kind of study; leave it out")
    if len(set(runs.values())) > 1:
        said = ", ".join(f"{name} is of the kind {each}" for name, each in runs.items())
        raise UserError(f"{said}: studies of one kind stand side by side; name those only")
    found = next(iter(runs.values()), kind or usual)
    if not found:
        tables = ", ".join(str(each.path) for each in studies if isinstance(each, StoredTable))
        raise UserError(
            f"{tables}: a table does not say its kind of study; add --as with one of {', '.join(STUDIES)}"
        )
    if not runs and found not in STUDIES:
        raise UserError(f"--as {found}: {did_you_mean(found, STUDIES, noun='kinds')}")
    return found
