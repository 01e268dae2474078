"""Check a database: its pages, its tables, each trial against its seal, each page against its hash."""

from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from experiments.records.chain import chain_fault, runs_with_links
from experiments.records.errors import CHECK_IT, Unreadable
from experiments.records.integrity.salvage import Progress, Salvage, SalvageFindings

NAMED = 3
"""How many damaged trials a line names."""

REPAIR = "souk db check --repair keeps what is whole; souk run then runs the lost trials again"


BROKEN = (
    "what is stored is not what was stored: get a copy of before; "
    "souk db check --repair begins a broken chain anew, and its links say so"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of a database: what was found, and what to do where it is not as it should be."""

    name: str
    ok: bool
    found: str
    fix: str = ""


def check_database(url: str, progress: Progress) -> list[Finding]:
    """Check everything in a database; nothing is changed.

    Raises:
        UserError: it cannot be reached, or this version of Souk has not written it.
    """
    try:
        opened = Salvage(url)
    except Unreadable as error:
        return [
            Finding("structure", ok=False, found=str(error).partition(CHECK_IT)[0].rstrip("; "), fix=REPAIR)
        ]
    with opened as salvage:
        structure, missing = salvage.structure(), salvage.missing
        return [
            _finding("structure", structure[:1], "nothing wrong", f"{len(structure)} faults: "),
            _finding("tables", missing, "all there", f"{len(missing)} missing: "),
            *_contents(salvage.read(progress)),
            _chains(salvage),
        ]


def _chains(salvage: Salvage) -> Finding:
    """Whether each run's chain is whole."""
    wrong, whole = [], 0
    try:
        for run in sorted(runs_with_links(salvage.connection)):
            found = chain_fault(salvage.connection, run)
            whole += not found
            wrong += [f"{run}: {found}"] if found else []
    except (DBAPIError, TypeError, LookupError):
        return Finding("chains", ok=False, found="cannot be read", fix=REPAIR)
    if not wrong:
        return Finding("chains", ok=True, found=f"{whole:,} whole")
    found = f"{whole:,} whole, {len(wrong):,} broken: {wrong[0]}"
    return Finding("chains", ok=False, found=found, fix=BROKEN)


def _contents(found: SalvageFindings) -> list[Finding]:
    ids = [f"{run}/{trial}" for run, trials in sorted(found.damaged.items()) for trial in trials]
    names = ids[:NAMED] + ["..."] * (len(ids) > NAMED)
    lost_pages = f", and {found.known_lost:,} lost at a repair" if found.known_lost else ""
    unnamed = f", and {len(found.unnamed):,} that no trial shows" if found.unnamed else ""
    pages = found.damaged_pages
    whole, shown = f"{found.trials:,} as stored", f"{found.pages:,} as stored"
    return [
        _finding("runs", found.lost_runs, f"{len(found.runs):,} as stored", "facts damaged or missing: "),
        _finding("trials", names, whole, f"{whole}, {len(ids):,} damaged: "),
        _finding(
            "pages",
            pages[:NAMED],
            f"{shown}{lost_pages}{unnamed}",
            f"{shown}, {len(pages):,} damaged or missing: ",
        ),
    ]


def _finding(name: str, wrong: list[str], fine: str, said: str) -> Finding:
    if not wrong:
        return Finding(name, ok=True, found=fine)
    return Finding(name, ok=False, found=f"{said}{', '.join(wrong)}", fix=REPAIR)
