"""Read the data that stand as YAML beside the code."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Several times as fast where YAML's own library is there."""


@cache
def read_data(file: Path) -> Any:
    """Return what is in a file of ours; nobody may change it."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader
