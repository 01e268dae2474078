"""The sources of methods that a methods section names, as BibTeX."""

from collections.abc import Sequence
from pathlib import Path


def entries() -> dict[str, str]:
    """Return the entries of `literature.bib` by their keys."""
    file = Path(__file__).with_name("literature.bib")
    found = file.read_text(encoding="utf-8").strip().split("\n\n")
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in found}


def bibtex(keys: Sequence[str], software: str) -> str:
    """Return a BibTeX file with these entries, and one for Souk; software: its version."""
    known = entries()
    note = f"{{Computer software, version {software}}}"
    own = f"@misc{{souk,\n  key = {{Souk}}, title = {{Souk}}, note = {note}\n}}"
    return "\n\n".join([*(known[key] for key in keys), own]) + "\n"
