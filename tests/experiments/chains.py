"""What the check of a database says of its chains."""

from experiments.records.integrity.check import check_database


def has_whole_chains(url: str) -> bool:
    """Whether the chain of each run is whole."""
    (found,) = [each for each in check_database(url, lambda *_: None) if each.name == "chains"]
    return found.ok
