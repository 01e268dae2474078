"""Files of strangers that are enormous, deep or absurd end in a summary or in mistakes, never in a hang."""

import copy
import io
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.cli import main
from tests.support import size

ROOT = Path(__file__).parents[2]
LONG = 60.0
"""After so many seconds a command counts as hanging; it is meant to end within one."""
KINDS = {
    "experiment": sorted((ROOT / "experiments/library").glob("*.yaml")),
    "interventions": sorted((ROOT / "interventions/library").glob("*.yaml")),
    "site map": sorted((ROOT / "interventions/sitemaps").glob("*.yaml")),
}
DEEP: Any = 1
for _ in range(40):
    DEEP = [DEEP]
MONSTERS: list[Any] = [
    *(10**12, 10**400, -1, 0, 1e308, float("inf"), float("nan"), None, True, [], {}, ""),
    *(
        "x" * 300,
        "x" * 300 + ".yaml",
        "x/" * 3_000,
        "y" * 100_000,
        "\0",
        "\udc80",
        "/dev/zero",
        "/",
        "..",
        "~",
    ),
    *("${" * 2_000, "${x}" * 2_000, "{}" * 500, "$.." + "[*,*]" * 300, "(" * 3_000, "(a+)+" * 100 + "()"),
    *("(x{999999999})", "div:has(" * 500, "p " * 5_000, "$[?" + "@.a == 1 && " * 2_000 + "@.b]", "1,5" * 999),
    *(list(range(5_000)), {f"k{i}": i for i in range(2_000)}, DEEP, ["x" * 300] * 300, [{}] * 2_000),
]


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer."""

    def over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def souk(*arguments: str) -> tuple[int, str]:
    """Run a command in this process; its status and what it said of mistakes."""
    err, before, ends = io.StringIO(), sys.argv, signal.getsignal(signal.SIGTERM)
    sys.argv = ["souk", *arguments]
    try:
        with redirect_stderr(err), redirect_stdout(io.StringIO()), alarm(LONG):
            main()
    except SystemExit as ended:
        return int(ended.code or 0), err.getvalue()
    finally:
        sys.argv = before
        signal.signal(signal.SIGTERM, ends)
    return 0, err.getvalue()


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values, of which a file is made."""
    if path:
        yield path
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


@st.composite
def monstrous(draw: st.DrawFn, kind: str) -> Any:
    """A shipped file in which some values, or whole branches, are monsters."""
    data = yaml.safe_load(draw(st.sampled_from(KINDS[kind])).read_text())
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(list(places(data))))
        holder = data
        for key in path:
            holder = holder[key]
        monster = copy.deepcopy(draw(st.sampled_from(MONSTERS)))
        if isinstance(holder, dict) and draw(st.booleans()):
            last = draw(st.sampled_from([last, "zzz", "repeats", "sets", "site", "prompt", "file"]))
        holder[last] = monster
    return data


def ends_well(folder: Path, data: Any, *command: str) -> None:
    file = folder / "monstrous.yaml"
    file.write_text(json.dumps(data), encoding="utf-8", errors="surrogatepass")
    status, err = souk(*(str(file) if word == "FILE" else word for word in command))
    assert status in (0, 1, 2), err
    assert "Traceback" not in err
    assert status == 0 or err, "a mistake without a word"
    assert all(len(line) < 6_000 for line in err.splitlines())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("monstrous")


@settings(max_examples=size(20, 400))
@given(monstrous("experiment"))
def test_any_experiment_ends(folder: Path, data: Any) -> None:
    ends_well(folder, data, "run", "FILE", "--limit", "6", "--dry-run", "--db", f"sqlite:///{folder}/t.db")


@settings(max_examples=size(20, 400))
@given(monstrous("interventions"))
def test_any_intervention_file_ends(folder: Path, data: Any) -> None:
    ends_well(folder, data, "interventions", "validate", "FILE")


@settings(max_examples=size(20, 400))
@given(monstrous("site map"))
def test_any_site_map_ends(folder: Path, data: Any) -> None:
    ends_well(folder, data, "interventions", "validate", "nudges", "--site", "FILE")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("".join(f"k{i}: 1\n" for i in range(200_000)), "more than 50,000 values"),
        ("".join(f"k{i}: 1\n" for i in range(2_000)), "more mistakes"),
        ("name: x\n" * 9_000, "duplicate key"),
        ("a: " + "[" * 100_000, "more than 50 levels"),
        ("a: &a [1, 2]\n" + "b: [*a, *a]\n" * 9_000, "aliases"),
        ("a: " + "x" * 11_000_000, "larger than 10,000,000 bytes"),
        ("name: x\nrepeats: " + "9" * 5_000, "too long"),
    ],
)
def test_enormous_files_are_told_at_once(folder: Path, text: str, told: str) -> None:
    file = folder / "enormous.yaml"
    file.write_text(text)
    status, err = souk("interventions", "validate", str(file))
    assert status == 2
    assert told in err
    assert len(err.splitlines()) <= 101


@pytest.mark.parametrize("repeats", ["1000000000000", "1e12"])
def test_more_trials_than_can_be_made_are_told_with_the_key(folder: Path, repeats: str) -> None:
    file = folder / "many.yaml"
    text = (ROOT / "experiments/library/nudges.yaml").read_text()
    file.write_text(text.replace("\nrepeats: 1\n", f"\nrepeats: {repeats}\n"))
    status, err = souk("run", str(file), "--limit", "6", "--dry-run", "--db", f"sqlite:///{folder}/t.db")
    assert status == 2
    assert ": repeats: 3,000,000,000,000,000 trials for each agent are more than 1,000,000" in err
