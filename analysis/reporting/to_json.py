"""Write frames as JSON, with every digit of their numbers."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd


def to_json(document: Mapping[str, object]) -> str:
    """Return a JSON object; a frame becomes a list of records.

    An undefined or infinite value is null.
    """
    return json.dumps(
        {name: _records(each) if isinstance(each, pd.DataFrame) else each for name, each in document.items()},
        indent=2,
        ensure_ascii=False,
        allow_nan=False,
    )


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {str(name): [_plain(value) for value in frame[name].tolist()] for name in frame}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value: object) -> object:
    """The value in a type that JSON has."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or (isinstance(value, float) and not np.isfinite(value)):
        return None
    return value
