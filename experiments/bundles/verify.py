"""Check that an archive of a run is whole, and that its estimates can be reproduced.

The archive may come from anybody: nothing of it is unpacked under a name of its own, imported or executed.
"""

import hashlib
import json
import math
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from experiments.bundles.bundle import (
    CHAIN,
    DESIGN,
    ESTIMATES,
    LARGEST_SITE,
    MANIFEST,
    PLAN,
    SITE,
    Manifest,
    again,
    estimates,
    member_names,
    tables_of,
    versions,
)
from experiments.plans.registered import of_other_code
from experiments.records.errors import Unreadable
from experiments.records.integrity.ledger import LedgerAltered, ledger_fault, links_of
from experiments.records.reading.plans import RegisteredPlan, plan_digest
from experiments.records.store import Records
from experiments.studies.kinds import study_of
from interventions.errors import UserError

MAX_BYTES: Final = 1 << 30
"""The largest table, in bytes when unpacked."""
MAX_JSON_BYTES: Final = 1 << 26
_PIECE: Final = 1 << 20
_HEAD: Final = 1 << 10
_PAGE: Final = re.compile(
    rb'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    rb'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    rb'<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; '
    rb"base-uri &#39;none&#39;; form-action &#39;none&#39;; img-src data:; "
    rb'style-src(?: &#39;sha256-[A-Za-z0-9+/=]{44}&#39;)+">\n'
)
"""The beginning of a page of a site: whatever follows runs no script and loads nothing."""
PACKING: Final = ("pandas", "pyarrow", "numpy")
"""Packages on whose versions the bytes of a Parquet file depend."""


@dataclass(frozen=True, slots=True)
class _Verified:
    """A whole archive: its manifest, and a line for each estimate that was not reproduced."""

    manifest: Manifest
    differences: list[str]
    notes: list[str]
    proof: list[str] = field(default_factory=list)
    """What was checked of the plan and the chain, a line each; empty where the archive has none."""
    kept: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The members that the run is made of again."""

    @property
    def of_run(self) -> dict[str, str]:
        """The run's id, name and start."""
        return {name: getattr(self.manifest, name) for name in ("run", "name", "started_at")}


def verify_bundle(path: Path, tolerance: float) -> _Verified:
    """Check every member's hash, estimate anew, and compare all numbers.

    `tolerance` is relative, and for numbers below 1 absolute.

    Raises:
        UserError: the file is no archive of a run, unsafe, incomplete or damaged.
    """
    if path.exists() and not path.is_file():  # a device or a pipe may have no end
        raise _broken(path, "not a file of a disk")
    try:
        with zipfile.ZipFile(path) as file:
            return _verified(path, file, tolerance)
    except Unreadable:
        raise _broken(path, "what it says of its run cannot be stored and read again") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError) as error:
        raise _broken(path, f"not a whole zip file ({error})") from None
    except (ValueError, LookupError, TypeError, RecursionError, zlib.error) as error:
        raise _broken(path, " ".join(str(error).split())[:200]) from None


def _verified(path: Path, file: zipfile.ZipFile, tolerance: float) -> _Verified:
    entries = file.infolist()
    for entry in entries:
        if reason := _unsafe(entry):
            raise _broken(path, f"{entry.filename[:80]!r}: {reason}")
    names = {entry.filename for entry in entries}
    if len(names) < len(entries):
        raise _broken(path, "a member stands twice")
    site = [entry for entry in entries if SITE.fullmatch(entry.filename)]
    if sum(entry.file_size for entry in site) > LARGEST_SITE:
        raise _broken(path, f"site/: larger than {LARGEST_SITE >> 20:,} MiB")
    for name in (MANIFEST, DESIGN, ESTIMATES):
        if name not in names:
            raise _broken(path, f"{name} is missing")
    try:
        manifest = Manifest.model_validate_json(file.read(MANIFEST))
    except ValidationError as error:
        first = error.errors()[0]
        raise _broken(path, f"{MANIFEST}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    _check_hashes(path, file, manifest)
    for entry in site:
        with file.open(entry) as page:
            if entry.filename.endswith(".html") and not _PAGE.match(page.read(_HEAD)):
                raise _broken(path, f"{entry.filename}: not a page of souk view")
    kept = {
        name: file.read(name)
        for table in study_of(manifest.kind).tables
        if (name := f"data/{table}.csv") in names
    }
    kept |= {name: file.read(name) for name in (DESIGN, PLAN, CHAIN) if name in names}
    found = _Verified(manifest, [], [], _check_plan(path, manifest, kept), kept)
    try:
        with again(found.of_run, kept) as made:
            if made:
                found.proof.extend(_check_chain(path, file, manifest, made))
            then = json.loads(file.read(ESTIMATES))
            now = estimates(manifest.kind, kept, made, manifest.run)
    except LedgerAltered as error:
        raise _broken(path, f"{CHAIN}: {error}") from None
    here = versions()
    others = {name: made for name, made in manifest.made_with.items() if here.get(name) != made}
    found.notes.extend(
        f"made with {name} {made}, checked with {here.get(name, 'none')}" for name, made in others.items()
    )
    if site:
        found.notes.append(
            f"site/: {len(site):,} files are as the manifest says; they cannot be made again from it"
        )
    if PLAN in kept:
        found.notes.extend(of_other_code(RegisteredPlan(**json.loads(kept[PLAN]))))
    found.differences.extend(differing(then, now, tolerance))
    if new := list(added(then, now)):
        found.notes.append(f"not in the archive, which another version of Souk made: {', '.join(new)}")
    return found


@contextmanager
def opened_bundle(path: Path, say: Callable[[str], None]) -> Iterator[Records]:
    """Check an archive as `verify_bundle` does, and make a database of its run for the time of a block.

    say: a function that tells a line, where the estimates do not come out again.

    Raises:
        UserError: see `verify_bundle`; or the archive has no chain of trials.
    """
    found = verify_bundle(path, 1e-9)
    if found.differences:
        number = len(found.differences)
        say(f"{path}: {number:,} values of its estimates differ here; souk bundle verify lists them")
    with again(found.of_run, found.kept) as made:
        if made is None:
            raise _broken(path, f"{CHAIN} is missing, without which no run can be made again")
        made.read_only()
        yield made


def _check_plan(path: Path, manifest: Manifest, members: Mapping[str, bytes]) -> list[str]:
    """Check that the plan is the one of the records; returns what to say of it."""
    design = json.loads(members[DESIGN])
    if not isinstance(design, dict):
        raise _broken(path, f"{DESIGN} is no design")
    known = design.get("plan")
    if PLAN not in members:
        if known:
            raise _broken(path, f"{PLAN} is missing, and the records name the plan {str(known)[:12]}")
        return []
    told = json.loads(members[PLAN])
    if not isinstance(told, dict) or not isinstance(told.get("content"), dict):
        raise _broken(path, f"{PLAN} is no plan")
    digest = plan_digest(told["content"])
    if not digest == told.get("hash") == known:
        raise _broken(path, f"{PLAN} is not the plan that was registered (SHA-256 {str(known)[:12]})")
    if CHAIN not in members:
        raise _broken(path, f"{CHAIN} is missing, which a registered run has")
    return [f"plan {digest}, registered at {str(told['registered_at'])[:40]}"]


def _check_chain(path: Path, file: zipfile.ZipFile, manifest: Manifest, made: Records) -> list[str]:
    """Check the chain, and that its trials give every table of the archive; returns what to say of it."""
    if fault := ledger_fault(made, manifest.run):
        raise _broken(path, f"{CHAIN}: {fault}")
    fresh = tables_of(made, manifest.run, manifest.kind)
    there = {name for name in file.namelist() if name.startswith(("data/", "records/"))} - {CHAIN}
    same_packing = all(
        manifest.made_with.get(name) == version for name, version in versions().items() if name in PACKING
    )
    said = []
    for name in sorted(there | fresh.keys()):
        if name in there and name in fresh and file.read(name) == fresh[name]:
            continue
        if name.endswith(".parquet") and name in there and name in fresh and not same_packing:
            said.append(f"{name}: not compared, it was packed by other versions")
            continue
        raise _broken(path, f"{name} is not what the trials of the chain give")
    number, head = links_of(made, manifest.run)
    return [*said, f"chain of {number:,} links is whole, the last one {head}"]


def _unsafe(entry: zipfile.ZipInfo) -> str:
    """Why a member has no place in such an archive."""
    name = entry.filename
    if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/"):
        return "leads out of the archive"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return "no plain file"
    if name not in member_names() and not SITE.fullmatch(name):
        return "not a member of such an archive"
    if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "packed in another way"
    limit = MAX_JSON_BYTES if name.endswith(".json") else MAX_BYTES
    return f"larger than {limit >> 20:,} MiB" if entry.file_size > limit else ""


def _check_hashes(path: Path, file: zipfile.ZipFile, manifest: Manifest) -> None:
    listed, there = set(manifest.members), set(file.namelist()) - {MANIFEST}
    if absent := sorted(listed - there):
        raise _broken(path, f"{absent[0][:80]} is missing")
    if stray := sorted(there - listed):
        raise _broken(path, f"{stray[0]} is not in the manifest")
    for name in sorted(listed):
        digest, size = hashlib.sha256(), 0
        with file.open(name) as member:
            while piece := member.read(_PIECE):
                digest.update(piece)
                size += len(piece)
        said = manifest.members[name]
        if (digest.hexdigest(), size) != (said.sha256, said.size):
            raise _broken(path, f"{name} is not what the manifest says (SHA-256)")


def differing(then: Any, now: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Yield a line for each value of a JSON document that is not, or not so, in a second one."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then):
            where = f"{place}.{key}" if place else key
            if key in now:
                yield from differing(then[key], now[key], tolerance, where)
            else:
                yield f"{where}: only in the archive"
    elif isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            yield f"{place}: {len(then):,} entries in the archive, {len(now):,} here"
        for number, (one, other) in enumerate(zip(then, now, strict=False)):
            yield from differing(one, other, tolerance, f"{place}[{number}]")
    elif not _equal(then, now, tolerance):
        yield f"{place}: {_short(then)} in the archive, {_short(now)} here"


def added(then: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yield the place of each table or column that a JSON document lacks and a second one has."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(now):
            where = f"{place}.{key}" if place else key
            if key not in then:
                yield where
            else:
                yield from added(then[key], now[key], where)
    elif isinstance(then, list) and isinstance(now, list) and then and now:
        yield from added(then[0], now[0], place)


def _equal(then: Any, now: Any, tolerance: float) -> bool:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (then, now)):
        return type(then) is type(now) and bool(then == now)
    try:
        return math.isclose(then, now, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # a whole number that is larger than any that is computed
        return bool(then == now)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


def _broken(path: Path, cause: str) -> UserError:
    return UserError(f"{path}: {cause}; get the archive again from where it was published")
