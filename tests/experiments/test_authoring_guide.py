"""docs/authoring.md, followed word for word: its files are saved, its commands run in order."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.command_line import ROOT, environment

GUIDE = (ROOT / "docs/authoring.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:Save this as `(?P<file>[^`]+)`:\n\n)?```(?P<kind>\w*)\n(?P<text>.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder in which the guide was followed, and what each command printed on stdout."""
    folder = tmp_path_factory.mktemp("guide")
    souk = folder / "bin" / "souk"
    souk.parent.mkdir()
    souk.write_text(f'#!/bin/sh\nexec {sys.executable} -m experiments.cli "$@"\n')
    souk.chmod(0o755)
    env = environment({"PATH": f"{souk.parent}:/usr/bin:/bin"})
    printed = {}
    for block in BLOCK.finditer(GUIDE):
        if block["file"]:
            (folder / block["file"]).write_text(block["text"])
        if block["kind"] == "console":
            for command in re.findall(r"^\$ (.+)$", block["text"], re.MULTILINE):
                ended = subprocess.run(
                    ["/bin/sh", "-c", command],
                    cwd=folder,
                    env=env,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert ended.returncode == 0, f"{command}: {ended.stderr}"
                assert "error" not in ended.stderr
                printed[command] = ended.stdout + ended.stderr
    return folder, printed


def output(followed: tuple[Path, dict[str, str]], part: str) -> str:
    """What the one command that contains `part` printed."""
    (text,) = [text for command, text in followed[1].items() if part in command]
    return text


def test_the_file_is_the_one_that_the_guide_shows(followed: tuple[Path, dict[str, str]]) -> None:
    shown = next(
        block["text"]
        for block in BLOCK.finditer(GUIDE)
        if "two-left shop:/\n" in block["text"] and block["kind"] == "yaml"
    )
    written = (followed[0] / "scarce.yaml").read_text()
    assert written.startswith(shown)
    assert "- id: placebo" in written.removeprefix(shown)


def test_it_is_right_and_shown_everywhere_under_the_price(followed: tuple[Path, dict[str, str]]) -> None:
    assert (
        output(followed, "validate")
        == "scarce.yaml: ok: 1 nudge, 1 placebo; every variable is known for 26 categories\n"
    )
    shown = output(followed, "interventions show")
    assert all(role in shown for role in ("product.price_box", "item.price_box", "row.price_box"))
    assert "item.price_box" in output(followed, "two-left shop:/")
    assert "row.price_box" in output(followed, "shop:cart")
    assert (followed[0] / "two-left.png").read_bytes().startswith(b"\x89PNG")


def test_the_study_runs_and_every_trial_is_treated(followed: tuple[Path, dict[str, str]]) -> None:
    ran = output(followed, "--limit 12")
    assert "treatment_failed" not in ran
    assert re.search(r"two-left +insert_text +product\.price_box", ran)
    assert re.search(r"placebo +insert_text +product\.price_box", ran)


def test_the_schemas_lie_beside(followed: tuple[Path, dict[str, str]]) -> None:
    assert {path.name for path in followed[0].glob("*.schema.json")} == {
        "interventions.schema.json", "site-map.schema.json",
    }  # fmt: skip
