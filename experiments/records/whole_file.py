"""Write a file that a user has named, whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from interventions.errors import UserError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a file beside `path` to write to; it becomes `path` at the end, unless something went wrong.

    Raises UserError where nothing can be written there.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another place") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
