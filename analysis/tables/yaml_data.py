"""Read the data that stand as YAML beside the code."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def read_data(file: Path) -> Any:
    """Return what is in a file of ours; nobody may change it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the parser in C is many times as fast
    return loader(file.read_text(encoding="utf-8")).get_single_data()
