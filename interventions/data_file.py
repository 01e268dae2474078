"""Read what Souk brings along in files beside the modules that use it: tables of words, scripts, prompts."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def read_data(module: str, name: str) -> Any:
    """Return what a YAML file of Souk holds; `module` is the `__file__` of a module beside it.

    It is read once; nobody changes what is returned.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the parser in C is many times as fast
    return loader(Path(module).with_name(name).read_text("utf-8")).get_single_data()


def read_source(module: str, name: str) -> str:
    """Return a text, such as a script, from a file beside a module, without the end of its last line."""
    return Path(module).with_name(name).read_text("utf-8").removesuffix("\n")


def items(text: str) -> tuple[str, ...]:
    """Return the items of a list that is written as one text, separated by semicolons."""
    return tuple(text.split("; "))
