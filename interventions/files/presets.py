"""The patterns of other studies, and which ids of the shipped files each of them is."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from interventions.data_file import read_data


class Preset(NamedTuple):
    """The patterns of a study: its name for each, with the ids by file, or with why no file has it."""

    study: str
    source: str
    patterns: Mapping[str, Mapping[str, list[str]] | str]

    @property
    def shipped(self) -> dict[str, Mapping[str, list[str]]]:
        """The patterns that files have, with their ids by file."""
        return {name: each for name, each in self.patterns.items() if not isinstance(each, str)}

    @property
    def files(self) -> list[str]:
        """The files that have its patterns, each once."""
        return list(dict.fromkeys(file for each in self.shipped.values() for file in each))

    def ids(self, file: str) -> list[str]:
        """Return the ids of a file that are patterns of the study, each once."""
        return list(dict.fromkeys(id for each in self.shipped.values() for id in each.get(file, ())))

    def note(self, file: str) -> str:
        """Return in words how many patterns a file has, where others are, and which no file has."""
        here = sum(file in each for each in self.shipped.values())
        away = {name: each for name, each in self.shipped.items() if file not in each}
        names = {other: [name for name, each in away.items() if other in each] for other in self.files}
        lacking = [name for name in self.patterns if name not in self.shipped]
        parts = [f"{file} has {here} of the {len(self.patterns)} patterns of {self.study}"]
        parts += [f"in {other}: {', '.join(each)}" for other, each in names.items() if each]
        parts += [f"not there: {', '.join(lacking)}"] * bool(lacking)
        return "; ".join(parts)


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets by name."""
    return {name: Preset(**told) for name, told in read_data(__file__, "presets.yaml").items()}
