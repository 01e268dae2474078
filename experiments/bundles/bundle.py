"""Make one archive of a run: its design, its data, proof of the pages, and the estimates.

It is a zip file whose members are named below; the manifest has the hash of every other member. The same run
gives the same bytes. The estimates are made from the archive's own tables, as `verify.py` makes them again.
"""

import hashlib
import io
import json
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Annotated, Any, Final, Literal

import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from analysis.tables.errors import AnalysisError
from experiments.plans.registered import registered_data, registered_results
from experiments.records.integrity.ledger import LedgerAltered, database_of, ledger, ledger_fault, plan_row
from experiments.records.reading.plans import registered_plan
from experiments.records.reading.tidy_tables import stored_rows
from experiments.records.record import Row, kind_of
from experiments.records.shown import OWN_WORDS, without_folders
from experiments.records.store import Records
from experiments.records.whole_file import whole_file
from experiments.studies.kinds import STUDIES, study_of
from interventions.errors import UserError

MANIFEST: Final = "manifest.json"
DESIGN: Final = "design.json"
ESTIMATES: Final = "estimates.json"
PLAN: Final = "plan.json"
CHAIN: Final = "records/chain.jsonl"

STORED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    **{name: (name, ()) for name in ("trials", "receipts", "calls", "questions", "answers")},
    "pages": ("steps", ("run", "trial", "step", "url", "observation")),
    "sent_pages": ("sent_pages", ()),
}
"""The tables of the records that an archive has, with their columns (none named: all).

Pages: which page was seen at which step, its address, and its hash (BLAKE2b, 128 bits); sent pages: the same
of what the shop sent, and of what the engine made it by.
"""

VERSIONED: Final = ("souk", "numpy", "pandas", "pyarrow", "scipy", "statsmodels", "scikit-learn")

SITE: Final = re.compile(r"site/((trials|lists)/)?[a-z0-9-]+\.(html|csv)")
"""The name of a page, or a table, of a site."""
LARGEST_SITE: Final = 1 << 30
"""The most bytes of all pages of a site together."""


def member_names() -> frozenset[str]:
    """Return the names of all members that an archive can hold, besides those of a site."""
    tables = {name for study in STUDIES.values() for name in study.tables}
    return frozenset(
        [
            *(MANIFEST, DESIGN, ESTIMATES, PLAN, CHAIN),
            *(f"data/{name}.{suffix}" for name in tables for suffix in ("csv", "parquet")),
            *(f"records/{name}.csv" for name in STORED),
        ]
    )


def _known(kind: str) -> str:
    if kind not in STUDIES:
        raise ValueError(f"{kind!r} is none of {', '.join(STUDIES)}")
    return kind


class _Member(BaseModel):
    """The manifest's entry of a member; `size` is in bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]


class Manifest(BaseModel):
    """The contents of an archive, and the versions that it was made with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    run: str
    name: str
    kind: Annotated[str, AfterValidator(_known)]
    """The kind of study: the word that follows `souk analyze`."""
    started_at: str
    made_with: dict[str, str]
    """The versions of Python and of packages."""
    members: dict[str, _Member]


def make_bundle(records: Records, found: Row, pages: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """Return the archive of a stored run, whose row in the records is `found`.

    pages: the files of a site to put in, with their names.

    Raises:
        UserError: what is stored is not what was stored, or the site is too large.
    """
    run, kind = str(found["run"]), kind_of(found)
    members: dict[str, bytes] = {DESIGN: _json(public_facts(found["facts"]))}
    with records.reading():  # one state of a run that goes on
        members |= tables_of(records, run, kind)
        if plan := registered_plan(records, run):
            members[PLAN] = _json(asdict(plan))
        if entries := list(ledger(records, run)):
            members[CHAIN] = b"".join(json.dumps(each).encode() + b"\n" for each in entries)
        members |= _site(pages)
    of_run = {name: found[name] for name in ("run", "name", "started_at")}
    try:
        if entries and (broken := ledger_fault(records, run)):
            raise LedgerAltered(broken)
        with again(of_run, members) as made:
            members[ESTIMATES] = _json(estimates(kind, members, made, run))
    except LedgerAltered as error:
        raise UserError(
            f"--db {records.url}: {error}: no archive of it would be whole; souk db check says more"
        ) from None
    manifest = Manifest(
        run=run,
        name=found["name"],
        kind=kind,
        started_at=found["started_at"],
        made_with=versions(),
        members={
            name: _Member(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
            for name, content in members.items()
        },
    )
    return archive({MANIFEST: _json(manifest.model_dump()), **members})


def _site(pages: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """The members that hold a site."""
    members: dict[str, bytes] = {}
    size = 0
    for name, page in pages:
        members[f"site/{name}"] = page
        size += len(page)
        if size > LARGEST_SITE:
            raise UserError(
                f"--with-site: the pages of all trials have more than {LARGEST_SITE >> 20:,} MiB; "
                "leave it out, and write those of some trials with souk view --static and --where"
            )
    return members


def tables_of(records: Records, run: str, kind: str) -> dict[str, bytes]:
    """Return the members that hold tables."""
    study = study_of(kind)
    members = {}
    with records.reading():
        tables = study.stored(records, run, ())
        stored = {name: stored_rows(records, run, *where) for name, where in STORED.items()}
    for name, analysed in zip(study.tables, tables, strict=True):
        if analysed is not None:
            members[f"data/{name}.csv"] = _csv(analysed)
            members[f"data/{name}.parquet"] = _parquet(analysed)
    for name, rows in stored.items():
        if not rows.empty:
            members[f"records/{name}.csv"] = _csv(rows)
    return members


@contextmanager
def again(of_run: Mapping[str, str], members: Mapping[str, bytes]) -> Iterator[Records | None]:
    """Make a database of a run again, of the chain among `members`; None where there is no chain.

    Raises:
        LedgerAltered: what the chain says does not fit together.
    """
    if CHAIN not in members:
        yield None
        return
    plan = None
    if PLAN in members:
        told = json.loads(members[PLAN])
        plan = plan_row(
            of_run["run"], of_run["name"], told["hash"], told["registered_at"], told["content"]
        ) | {"discarded": told["discarded"]}
    entries = [json.loads(line) for line in members[CHAIN].splitlines()]
    with tempfile.TemporaryDirectory(prefix="souk-bundle-") as folder:
        of_run = {**of_run, "facts": json.loads(members[DESIGN])}
        records = database_of(Path(folder, "run.db"), of_run, plan, entries)
        try:
            yield records
        finally:
            records.close()


def write_bundle(content: bytes, path: Path) -> None:
    """Write an archive, never half of one. Raises UserError."""
    if path.suffix != ".zip":
        raise UserError(f"--out {path}: the suffix must be .zip")
    with whole_file(path) as partial:
        partial.write_bytes(content)


def archive(members: Mapping[str, bytes]) -> bytes:
    """Return a zip file whose bytes depend on its members alone."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            file.writestr(entry, members[name], zipfile.ZIP_DEFLATED, compresslevel=9)
    return packed.getvalue()


def estimates(
    kind: str, members: Mapping[str, bytes], made: Records | None = None, run: str = ""
) -> dict[str, Any]:
    """Return the analysis of the CSV tables among `members`, or why there is none.

    made: the database made again of their chain: where it has a plan, the registered results are there too.

    These are CSV and not Parquet files: what a stranger's text can become in memory is bounded by its length.
    """
    study = study_of(kind)
    tables: list[pd.DataFrame | None] = []
    with tempfile.TemporaryDirectory(prefix="souk-bundle-") as folder:
        try:
            for number, name in enumerate(study.tables):
                content = members.get(f"data/{name}.csv")
                path = Path(folder, f"{name}.csv")
                if content is not None:
                    path.write_bytes(content)
                if number == 0:
                    tables.append(study.read(path))
                else:
                    tables.append(None if content is None else pd.read_csv(path, na_filter=False))
            analysed = study.analyze(*tables)
            found: dict[str, Any] = {"analysis": json.loads(analysed.to_json()), "reason": ""}
            row = {"run": run, "facts": json.loads(members.get(DESIGN, b"{}"))}
            if made and (known := registered_results(made, row, analysed, code=False)):
                found["registered"] = registered_data(known)
            return found
        except AnalysisError as error:
            return {"analysis": None, "reason": str(error).replace(f"{folder}/", "")}


def versions() -> dict[str, str]:
    """Return the versions that an analysis of this installation is made with."""
    return {"python": python_version(), **{name: version(name) for name in VERSIONED}}


def public_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a run with the last part of each path.

    Where a study lies on a disk is private. Selectors, templates and texts of interventions stay as they are.
    """
    facts = deepcopy(facts)
    for place in (facts, facts.get("inputs", {})):
        for key in ("experiment", "agents", "site"):
            if key in place:
                place[key] = without_folders(place[key])
    for part in ("site_map", "prompt"):
        for key in ("name", "extends"):
            named = facts.get("inputs", {}).get(part, {})
            if key in named:
                named[key] = without_folders(named[key])
    return facts


def _cleaned(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{key: table[key].map(without_folders) for key in OWN_WORDS if key in table})


def _csv(table: pd.DataFrame) -> bytes:
    return _cleaned(table).to_csv(index=False, lineterminator="\n").encode()


def _parquet(table: pd.DataFrame) -> bytes:
    packed = io.BytesIO()
    _cleaned(table).to_parquet(packed, index=False)
    return packed.getvalue()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode()
