"""Files of strangers that are enormous, deep or absurd end in a summary or in mistakes, never in a hang."""

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.providers import pricing
from agents.providers.pricing import TABLE_VARIABLE
from experiments.cli import main
from tests.mutations import DEEP, STRANGE, changed, damaged
from tests.support import size

ROOT = Path(__file__).parents[2]
LONG = 60.0
"""After so many seconds a command counts as hanging; it is meant to end within one."""
KINDS = {
    "experiment": sorted((ROOT / "experiments/library").glob("*.yaml")),
    "interventions": sorted((ROOT / "interventions/library").glob("*.yaml")),
    "site map": sorted((ROOT / "interventions/sitemaps").glob("*.yaml")),
}
KEYS = ("zzz", "repeats", "sets", "site", "prompt", "file")
MONSTERS: list[Any] = [
    *(10**12, 10**400, -1, 0, 1e308, float("inf"), float("nan"), None, True, [], {}, ""),
    *("x" * 300, "x" * 300 + ".yaml", "x/" * 3_000, "y" * 100_000),
    *("\0", "\udc80", "/dev/zero", "/", "..", "~"),
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


def monstrous(kind: str) -> st.SearchStrategy[bytes]:
    """A shipped file in which some values, or whole branches, are monsters; or some bytes are others."""
    texts = st.sampled_from(KINDS[kind]).map(Path.read_bytes)
    values = texts.map(yaml.safe_load).flatmap(lambda data: changed(data, [*MONSTERS, *STRANGE], KEYS))
    return values.map(lambda data: json.dumps(data).encode()) | texts.flatmap(damaged)


def ends_well(folder: Path, content: bytes, *command: str) -> None:
    file = folder / "monstrous.yaml"
    file.write_bytes(content)
    names = {"FILE": str(file), "DB": f"sqlite:///{folder}/t.db"}
    status, err = souk(*(names.get(word, word) for word in command))
    assert status in (0, 1, 2), err
    assert "Traceback" not in err
    assert status == 0 or err, "a mistake without a word"
    assert all(len(line) < 6_000 for line in err.splitlines())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("monstrous")


COMMANDS = {
    "experiment": ("run", "FILE", "--limit", "6", "--dry-run", "--db", "DB"),
    "interventions": ("interventions", "validate", "FILE"),
    "site map": ("interventions", "validate", "nudges", "--site", "FILE"),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=size(15, 400))
@given(data=st.data())
def test_any_file_of_a_study_ends(kind: str, folder: Path, data: st.DataObject) -> None:
    ends_well(folder, data.draw(monstrous(kind)), *COMMANDS[kind])


CARDS = "name: x\ntask: card\nmode: text\nagents: [simulated:balanced]\n"
BESIDE = {
    "stimuli.yaml": (ROOT / "experiments/designs/scoring/stimuli/anchoring.yaml").read_bytes(),
    "products.yaml": (ROOT / "experiments/designs/cards/wtp.yaml").read_bytes(),
    "titles.yaml": (ROOT / "experiments/designs/catalogue/titles.yaml").read_bytes(),
    "prices.yaml": (ROOT / "agents/providers/prices.yaml").read_bytes(),
    "battery.yaml": (ROOT / "interventions/library/biases.yaml").read_bytes(),
    "products.csv": b"key,title,description,price,low,high\na,A pen,Blue,3.5,2,5\nb,A mug,Red,7,5,9\n",
    "catalogue.csv": b"key,category,name,price,rating,reviews\n"
    + b"".join(b"p%d,Pens,Pen %d,$%d.50,%d%%,%d\n" % (i, i, 5 + i % 3, 80 + i % 4, i) for i in range(12)),
    "sets.csv": b"set,option,position\n1,p1,0\n1,p2,1\n2,p3,0\n2,p4,1\n",
    "catalogue.csv.titles.json": b'{"simulated:balanced": {"question": "?", "titles": {"Pen 1": true}}}',
}
"""What an experiment may name besides itself, as examples that are right."""
EXPERIMENTS = {
    "stimuli.yaml": "name: x\ntask: score\nagents: [hf:none]\nstimuli: stimuli.yaml\n",
    "products.yaml": CARDS
    + "cards: willingness-to-pay\ndesign: {factorial: {products: products.yaml, repeats: 1}}\n",
    "products.csv": CARDS
    + "cards: willingness-to-pay\ndesign: {factorial: {products: products.csv, repeats: 1}}\n",
    "battery.yaml": CARDS + "cards: battery.yaml\ndesign: {battery: {}}\n",
    "titles.yaml": "name: x\ngoal: Buy.\n"
    "options: {sets: 2, catalogue: catalogue.csv, titles: {patterns: titles.yaml}}\n",
    "catalogue.csv": "name: x\ngoal: Buy.\noptions: {sets: 2, catalogue: catalogue.csv}\n",
    "sets.csv": "name: x\ngoal: Buy.\noptions: {catalogue: catalogue.csv, file: sets.csv}\n",
    "prices.yaml": "name: x\ngoal: Buy.\noptions: {sets: 2}\nagents: ['openai:gpt-4.1-mini']\n",
    "catalogue.csv.titles.json": "name: x\ngoal: Buy.\n"
    "options: {sets: 2, catalogue: catalogue.csv, titles: {model: simulated:balanced}}\n",
}


def dry_run(folder: Path, name: str) -> tuple[int, str]:
    """Plan an experiment that reads a file of this name."""
    (folder / "x.yaml").write_text(EXPERIMENTS[name])
    pricing._load.cache_clear()
    return souk(
        "run", str(folder / "x.yaml"), "--limit", "6", "--dry-run", "--db", f"sqlite:///{folder}/t.db"
    )


@pytest.mark.thorough
@settings(max_examples=size(15, 2_500), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(BESIDE)), data=st.data())
def test_any_file_beside_an_experiment_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: st.DataObject
) -> None:
    for each, content in BESIDE.items():
        (folder / each).write_bytes(content)
    whole = BESIDE[name]
    if name.endswith(".yaml") and data.draw(st.booleans()):
        broken = data.draw(changed(yaml.safe_load(whole)).map(json.dumps)).encode()
    else:
        broken = data.draw(damaged(whole))
    (folder / name).write_bytes(broken)
    monkeypatch.setenv(TABLE_VARIABLE, str(folder / "prices.yaml"))
    status, err = dry_run(folder, name)
    assert status == 0 or (status == 2 and err), err
    assert "Traceback" not in err


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
