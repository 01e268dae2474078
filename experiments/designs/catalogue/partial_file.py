"""Write a catalogue step by step: note its products, and how far each listing has been read."""

import csv
import io
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from interventions.errors import UserError

COLUMNS: Final = ("category", "name", "key", "price", "rating", "reviews", "has_options", "url", "list")

_HEADER: Final = (",".join(COLUMNS) + "\n").encode()
"""The first line of an import."""
_NextPages: Final = TypeAdapter(dict[str, int | None])


class PartialFile:
    """The CSV file `out` of an import that may go on later.

    Until the end a second file beside it says which page of a listing comes next. Raises UserError when the
    file was not written by an import; a line that was cut off is removed.
    """

    def __init__(self, out: Path) -> None:
        self.keys: set[str] = set()
        """The keys of the products in the file."""
        self._out = out
        self._marks = out.with_name(f"{out.name}.pages.json")
        self._next: dict[str, int | None] = {}
        try:
            if out.exists():
                self._read()
            if out.exists() and self._marks.exists():
                self._next = _NextPages.validate_json(self._marks.read_bytes())
        except OSError as error:
            raise UserError(
                f"--out {out}: {(error.strerror or 'cannot be read').lower()}; check it"
            ) from None
        except ValidationError:
            raise UserError(f"{self._marks}: not written by an import; remove it or mend it") from None
        except (ValueError, csv.Error):
            raise UserError(f"--out {out}: not written by an import; choose another file") from None

    def knows(self, listing: str) -> bool:
        """Return whether a page of the listing has been read."""
        return listing in self._next

    def next_page(self, listing: str) -> int | None:
        """Return the page to read next, from 1; None when all have been read."""
        return self._next.get(listing, 1)

    def add(self, listing: str, rows: list[dict[str, object]], following: int | None) -> None:
        """Append the products of a page, after which page `following` comes."""
        text = io.StringIO()
        csv.DictWriter(text, COLUMNS, lineterminator="\n").writerows(rows)
        self._next[listing] = following
        try:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            with self._out.open("ab") as file:
                file.write((b"" if file.tell() else _HEADER) + text.getvalue().encode())
            # After the products: a page that is marked as read is in the file.
            partial = self._marks.with_name(f"{self._marks.name}.part")
            partial.write_bytes(_NextPages.dump_json(self._next))
            partial.replace(self._marks)
        except OSError as error:
            cause = (error.strerror or "an error").lower()
            raise UserError(f"--out {self._out}: cannot be written ({cause}); choose another file") from None
        self.keys.update(str(row["key"]) for row in rows)

    def finish(self) -> None:
        """End the import: everything wanted is in the file."""
        self._marks.unlink(missing_ok=True)

    def _read(self) -> None:
        data = self._out.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if not (whole.startswith(_HEADER) or _HEADER.startswith(data)):
            raise ValueError
        rows = csv.DictReader(io.StringIO(whole.decode(), newline=""))
        self.keys = {row["key"] for row in rows}
        if len(whole) < len(data):
            self._out.write_bytes(whole)
