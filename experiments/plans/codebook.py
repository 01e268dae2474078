"""Write what an exported table is: a data sheet, and a codebook with each of its columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd

from analysis.reporting.methods import markdown
from experiments.plans.methods import paragraphs
from experiments.records.reading.plans import registered_plan
from experiments.records.record import Row, kind_of
from experiments.records.store import Records
from experiments.records.whole_file import whole_file
from experiments.studies.kinds import study_of
from interventions.errors import UserError

HEAD: Final = ("column", "meaning", "kind", "unit", "values", "empty")

UNITS: Final = {
    "price": "the shop's currency", "rating": "points, 0 to 100", "reviews": "reviews",
    "catalogue_price": "the shop's currency", "catalogue_rating": "points, 0 to 100",
    "catalogue_reviews": "reviews",
    "reference": "the shop's currency", "low": "the shop's currency", "high": "the shop's currency",
    "response": "as asked: money or percent; 1 and 0 for a choice", "logprob": "natural logarithm",
    "steps": "actions", "tokens": "tokens", "tokens_in": "tokens", "tokens_out": "tokens", "cost": "USD",
    "seconds": "s", "attr_list_price": "the shop's currency", "attr_list_rating": "points, 0 to 100",
    "attr_list_reviews": "reviews", "attr_price_step": "percent",
}  # fmt: skip
FURTHER: Final = {
    "tags": "what a person noted of the trial, with commas between them",
    "note": "what a person noted of the trial",
    "trial_note": "what a person noted of the trial",
    "trial_url": "the address of the trial's page",
    "attr_name": "the option's name",
}
MOST_VALUES: Final = 12
"""The most values of a text that are listed."""
_LONGEST: Final = 40

_OWN: Final = (
    "For what purpose the data were collected, by whom, and who paid for it.",
    "Whether they may be shared, under which licence, and whom to ask.",
    "For which questions they should not be used.",
)
"""What no program knows."""


def check_suffix(path: Path) -> None:
    """Raise UserError for a codebook of another suffix than `.csv` and `.md`."""
    if path.suffix not in (".csv", ".md"):
        raise UserError(f"--codebook {path}: the suffix must be .md or .csv")


def write_codebook(records: Records, found: Row, table: pd.DataFrame, path: Path) -> None:
    """Write the codebook of a run's table as `.csv`, or with a data sheet before it as `.md`.

    path: see `check_suffix`. Raises UserError for a folder that cannot be written.
    """
    rows = codebook(kind_of(found), table)
    with whole_file(path) as partial:
        if path.suffix == ".csv":
            pd.DataFrame(rows, columns=list(HEAD)).to_csv(partial, index=False)
        else:
            partial.write_text("\n".join(_lines(records, found, table, rows)) + "\n", encoding="utf-8")


def codebook(kind: str, table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return a row for each column of a table, with the cells of `HEAD`."""
    known = {each.name: each for each in study_of(kind).columns}
    rows: list[tuple[str, ...]] = []
    for name in map(str, table.columns):
        values = table[name].replace("", pd.NA).dropna()
        column = known.get(name)
        meaning = column.meaning if column else FURTHER.get(name, "")
        if not meaning:
            meaning = f"a fact of the option: {name.removeprefix('attr_').replace('_', ' ')}"
        numbers = pd.api.types.is_numeric_dtype(table[name])
        kinds = column.kind if column else "number" if numbers else "text"
        empty = f"{len(table) - len(values):,} of {len(table):,}"
        rows.append((name, meaning, kinds, UNITS.get(name, ""), _values(values, numbers=numbers), empty))
    return rows


def _values(values: "pd.Series[Any]", *, numbers: bool) -> str:
    """What stands in a column: the range of numbers, or the texts, if they are few and short."""
    if values.empty:
        return "none"
    if numbers:
        low, high = values.min(), values.max()
        return f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
    texts = sorted({str(value) for value in values})
    if len(texts) <= MOST_VALUES and max(map(len, texts)) <= _LONGEST:
        return ", ".join(texts)
    return f"{len(texts):,} different"


def _lines(records: Records, found: Row, table: pd.DataFrame, rows: list[tuple[str, ...]]) -> Iterator[str]:
    """The data sheet (after Gebru and others, Datasheets for Datasets, 2021), then the codebook."""
    run = found["run"]
    outcomes = ", ".join(f"{name} {number:,}" for name, number in records.outcomes(run).items())
    plan = registered_plan(records, run)
    told = paragraphs(records, found, None)
    registered = f"plan SHA-256 {plan.hash}, registered at {plan.registered_at}." if plan else "None."
    said: dict[str, str] = {
        "Composition": f"{len(table):,} rows of {table['trial'].nunique():,} trials; a row is "
        f"{study_of(kind_of(found)).row}. Outcomes of trials: {outcomes}. No trial is left out.",
        **{name: told[name] for name in ("Design", "Agents", "Interventions") if name in told},
        "Collection": f"Begun at {found['started_at']}. Each agent acted on pages that a proxy had rewritten "
        "by the design, or answered prompts with the same content.",
        "Registration": registered,
        "Software": told["Software"],
    }
    yield from (f"# Data sheet of {markdown(run)}", "")
    for title, text in said.items():
        yield from (f"**{title}.** {markdown(text)}", "")
    yield from ("**To be written by you.**", "")
    yield from (*(f"* {line}" for line in _OWN), "", "# Codebook", "")
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{' --- |' * len(HEAD)}"
    for row in rows:
        yield f"| {' | '.join(markdown(cell) for cell in row)} |"
