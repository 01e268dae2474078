"""souk interventions, as its users meet it."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from interventions.files.schema import LIBRARY
from tests.experiments.command_line import ROOT, Ended, environment, forked_souk, program

MISTAKES = ROOT / "tests/interventions/authoring/mistakes.yaml"
NUDGE = """\
interventions:
  - id: two-left
    kind: nudge
    family: scarcity
    direction: +1
    edits:
      - insert_text: {after: product.price_box, text: Only 2 left in stock}
"""


def run(*arguments: str, cwd: Path, status: int = 0) -> Ended:
    ended = forked_souk("interventions", *arguments, cwd=cwd)
    assert ended.status == status, ended
    assert "Traceback" not in ended.err
    return ended


def test_validate_prints_every_mistake(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(MISTAKES.read_text())
    (tmp_path / "good.yaml").write_text(NUDGE)
    ended = run("validate", "mine.yaml", "good.yaml", "none.yaml", cwd=tmp_path, status=2)
    *lines, last, hint = ended.err.splitlines()
    assert len(lines) == 26
    for line in lines:
        assert re.fullmatch(r"error: mine\.yaml:\d+:\d+: [^;]+; .+", line)
    assert last == "error: none.yaml: no such file; check the path"
    assert hint == "hint: good.yaml has no placebo; run it beside the shipped file placebo"
    assert ended.out == "good.yaml: ok: 1 nudge; every variable is known for 26 categories\n"
    ended = run("validate", "mine.yaml", "--json", cwd=tmp_path, status=2)
    found = json.loads(ended.out)
    assert (len(found), ended.err) == (26, "")
    assert found[0] == {
        "severity": "error", "file": "mine.yaml", "line": 5, "column": 5, "key": "interventions[0].familly",
        "message": "unknown key", "fix": 'did you mean "family"?',
    }  # fmt: skip


def test_validate_takes_other_categories_products_and_site_maps(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("name: own\nextends: onestopmarket\nroles: {product.tag: b}\n")
    (tmp_path / "mine.yaml").write_text(NUDGE)
    validate = ("validate", "mine.yaml", "--site", "map.yaml")
    shown = run(*validate, cwd=tmp_path).out
    assert "for 26 categories of the embedded shop; name yours with --products" in shown
    text = NUDGE.replace("Only 2 left in stock", "'${sale}: 2 left'").replace(
        "product.price_box", "product.tag"
    )
    (tmp_path / "mine.yaml").write_text(text + "tables: {sale: {Shoes: Shoe week, Hats: Hat week}}\n")
    ended = run(*validate, "--products", "Shoes, Hats", cwd=tmp_path)
    assert "every variable is known for 2 categories" in ended.out
    (tmp_path / "shop.csv").write_text("key,category,price\na,Shoes,9.5\nb,Socks,\n")
    ended = run(*validate, "--products", "shop.csv", cwd=tmp_path, status=2)
    place = "mine.yaml:7:43: interventions[0].edits[0].insert_text.text"
    assert ended.err == f'error: {place}: the table "sale" has no entry for the category "Socks"; add one\n'


def test_a_warning_is_no_error_unless_it_shall_be(tmp_path: Path) -> None:
    text = NUDGE.replace("    edits:\n", "    edits:\n      - set_price: 9.5\n")
    (tmp_path / "mine.yaml").write_text(text)
    warning = "mine.yaml:6:5: interventions[0].edits: insert_text and set_price always go together, so "
    assert f"warning: {warning}" in run("validate", "mine.yaml", cwd=tmp_path).err
    assert f"error: {warning}" in run("validate", "mine.yaml", "--strict", cwd=tmp_path, status=2).err


def test_other_commands_name_every_mistake_too(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("nam: x\ngoal: x\nseed: y\n")
    ended = forked_souk("run", "mine.yaml", "--dry-run", cwd=tmp_path)
    assert ended.status == 2
    assert [line.split(": ")[:3] for line in ended.err.splitlines()] == [
        ["error", "mine.yaml:1:1", "nam"],
        ["error", "mine.yaml:3:1", "seed"],
    ]


def test_list_and_show(tmp_path: Path) -> None:
    listed = run("show", cwd=tmp_path).out
    shipped = [path.stem for path in LIBRARY.glob("*.yaml")]
    assert all(name in listed for name in [*shipped, "wirecutter", "social proof", "onestopmarket (", "-1"])
    content = json.loads(run("show", "--json", cwd=tmp_path).out)
    assert sorted(content["files"]) == sorted(shipped)
    assert content["files"]["placebo"][0]["edits"][0]["insert_text"]["after"] == "product.title"
    assert "product.title" in content["site_maps"]["onestopmarket"]["roles"]
    shown = run("show", "nudges", "wirecutter", cwd=tmp_path).out
    for part in (
        "nudge, family authority, +1: expected to pull towards",
        "div.page-title-wrapper.product",
        "item.title",
        "not on this page type (pages)",
        "top pick in the toothpaste category",
        "  - id: wirecutter",
    ):
        assert part in shown
    assert "best-seller" not in shown
    (tmp_path / "mine.yaml").write_text(NUDGE)
    assert "two-left" in run("show", "mine.yaml", cwd=tmp_path).out
    assert "row.price_box" in run("show", "mine.yaml", cwd=tmp_path).out


@pytest.mark.slow
def test_a_card_is_shown_as_its_prompt_and_is_no_change_to_a_page(tmp_path: Path) -> None:
    shown = run("show", "hotels", cwd=tmp_path).out
    assert "Option A:\n  Hotel: Larkspur Mews Hotel\n  Star rating: 3 stars" in shown
    assert "Reply with only the letter A or B." in shown
    assert "filled in for a product" not in shown


@pytest.mark.slow
def test_new_asks_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [program(), "interventions", "new", "mine.yaml"],
        cwd=tmp_path, env=environment({"TERM": "dumb"}), stdin=theirs, stdout=theirs, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        os.write(ours, b"nudge\nGoing fast\n\nscarcity\nup\n-1\n")
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # the other end has gone
            pass
        assert process.wait() == 0, said
    os.close(ours)
    for question in ("kind [nudge]:", "text [", "id [going-fast]:", "family [going-fast]:", "direction [1]:"):
        assert question.encode() in said
    (item,) = json.loads(run("show", "mine.yaml", "--json", cwd=tmp_path).out)["files"]["mine.yaml"]
    assert (item["id"], item["family"], item["direction"]) == ("going-fast", "scarcity", -1)


def test_schema(tmp_path: Path) -> None:
    printed = json.loads(run("validate", "--schema", "interventions", cwd=tmp_path).out)
    assert "interventions" in printed["properties"]
    assert "roles" in json.loads(run("validate", "--schema", "site-map", cwd=tmp_path).out)["properties"]


@pytest.mark.thorough
@pytest.mark.slow
def test_preview_for_scripts_loads_no_proxy(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(NUDGE)
    script = (
        "import sys; from experiments.cli import app; sys.argv[1:] = "
        "['interventions', 'preview', 'mine.yaml', 'two-left', 'shop:cart', '--json'];\n"
        "try: app()\n"
        "finally: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(ended.stderr.split())
    assert "selectolax" in loaded
    assert not loaded & {"mitmproxy", "playwright", "pandas", "sqlalchemy", "matplotlib"}
    content = json.loads(ended.stdout)
    assert content["page_type"] == "cart"
    assert [receipt["role"] for receipt in content["receipts"]] == ["row.price_box"]
    assert [len(hunk["added"]) for hunk in content["hunks"]] == [1]
    assert "Only 2 left in stock" in content["hunks"][0]["added"][0]
