"""Plain JSONPaths are looked up as by the library: the same values, in the same places and order."""

import random
from typing import Any

import pytest

from interventions.yaml.limited import json_path
from interventions.yaml.plain_paths import children, holding, plain_path
from tests.support import size

NAMES = ("a", "b", "item", "_x9")


def made(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth > 5 or kind < 0.25:
        return chance.choice([None, True, 3, "a", ""])
    if kind < 0.6:
        return {name: made(chance, depth + 1) for name in NAMES if chance.random() < 0.6}
    return [made(chance, depth + 1) for _ in range(chance.randint(0, 3))]


def path(chance: random.Random) -> str:
    if chance.random() < 0.4:
        names = chance.sample(NAMES, chance.randint(1, 3))
        return "$..[?" + " && ".join(f"@.{name}" for name in names) + "]"
    steps = [chance.choice([*(f".{name}" for name in NAMES), "[*]", "[0]", "[2]"]) for _ in range(4)]
    return "$" + "".join(steps[: chance.randint(0, 4)])


def test_what_is_found_is_what_the_library_finds() -> None:
    chance, found = random.Random(5), 0
    for _ in range(size(2_000, 100_000)):
        data, asked = made(chance), path(chance)
        plain = plain_path(asked)
        assert plain is not None
        ours = holding(plain.held, data, lambda: None) if plain.held else children(plain.steps, data)
        theirs = list(json_path(asked).finditer(data))
        found += len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert one.obj is other.obj
            if other.parent is not None:
                assert one.holder is other.parent.obj
                assert one.key == other.parts[-1]
            else:
                assert one.holder is None
    assert found > 1_000


@pytest.mark.parametrize(
    "asked",
    [
        "$..price",
        "$.a[-1]",
        "$.a[1:2]",
        '$["a b"]',
        "$..[?@.a == 1]",
        "$..[?@.a || @.b]",
        "$.*",
        "$.ü",
        "$[01]",
        "$..[?@.a\u00a0&& @.b]",
    ],
)
def test_other_paths_are_left_to_the_library(asked: str) -> None:
    assert plain_path(asked) is None
