"""The same study at another date, archives of both, and everything that takes several studies."""

import html
import json
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from starlette.testclient import TestClient

from experiments.designs.loading import load_design
from experiments.records.store import Records
from experiments.viewer.app import create_app
from tests.experiments.command_line import forked_souk

AGENTS = ("simulated:balanced", "simulated:anchored")
WTP = """\
name: prices
task: card
mode: text
cards: willingness-to-pay
design: {factorial: {repeats: 6, conditions: [control, low]}}
agents: [simulated:balanced, simulated:anchored]
"""
SHOP = """\
name: shelf
goal: Buy one of the products.
options: {sets: 2}
agents: [simulated:balanced]
"""
WAVE = "prices-2026-12"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both waves are stored, with an archive of each."""
    made = tmp_path_factory.mktemp("waves")
    (made / "x.yaml").write_text(WTP)
    for wave, name in (((), "prices"), (("--wave", "2026-12"), WAVE)):
        souk(made, "run", "x.yaml", *wave)
        souk(made, "bundle", name, "--out", f"{name}.zip")
    return made


def souk(folder: Path, *arguments: str) -> str:
    ended = forked_souk(*arguments, cwd=folder)
    assert ended.status == 0, ended.err
    return ended.out


@pytest.mark.parametrize("text", [WTP, SHOP])
def test_a_wave_asks_the_same_in_trials_of_its_own(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    usual, wave = (load_design(f"{tmp_path}/x.yaml", wave=wave) for wave in (None, "2026-12"))
    assert wave.run_id.startswith(f"{usual.name}-2026-12-") and usual.facts(AGENTS).wave is None
    before, now = (list(design.trials(AGENTS)) for design in (usual, wave))
    assert [(each.set, each.condition, each.ordering) for each in before] == [
        (each.set, each.condition, each.ordering) for each in now
    ]
    assert not {each.id for each in before} & {each.id for each in now}


def test_the_record_has_the_wave_and_answers_are_drawn_anew(folder: Path) -> None:
    with closing(Records(f"sqlite:///{folder}/runs/souk.db")) as records:
        assert records.latest_run(WAVE)["facts"]["wave"] == "2026-12"
        assert "wave" not in records.latest_run("prices")["facts"]
    for name in ("prices", WAVE):
        souk(folder, "export", name, "--out", f"{name}.csv")
    one, other = (pd.read_csv(folder / f"{name}.csv") for name in ("prices", WAVE))
    assert len(one) == len(other) and list(one["response"]) != list(other["response"])


def test_two_agents_at_two_dates_are_compared(folder: Path) -> None:
    told = json.loads(souk(folder, "compare", "prices", WAVE, "--json"))
    own = [(f"{agent} (prices)", f"{agent} ({WAVE})") for agent in sorted(AGENTS)]
    between = [tuple(f"{agent} ({name})" for agent in sorted(AGENTS)) for name in ("prices", WAVE)]
    rows = pd.DataFrame(told["comparison"])
    assert list(dict.fromkeys(zip(rows["group"], rows["less"], strict=True))) == [*own, *between]
    assert (rows["conf_low"] < rows["estimate"]).any()


def test_archives_stand_beside_runs_and_give_the_same(folder: Path) -> None:
    expected = json.loads(souk(folder, "analyze", "prices", WAVE, "--json"))
    assert {row["study"] for row in expected["csvr"]} == {"prices", WAVE}
    for named in (("prices.zip", f"{WAVE}.zip"), ("prices", f"{WAVE}.zip")):
        assert json.loads(souk(folder, "analyze", *named, "--json")) == expected
    assert souk(folder, "compare", "prices.zip", WAVE) == souk(folder, "compare", "prices", WAVE)
    told = json.loads(souk(folder, "analyze", "prices", "prices.zip", "--json"))
    assert len({row["study"] for row in told["csvr"]} & {"prices.zip"}) == 1
    written = souk(folder, "report", f"{WAVE}.zip", "--out", "made").strip()
    assert f"Willingness to pay: {WAVE}" in (folder / written).read_text()


def test_the_viewer_compares_two_runs(folder: Path) -> None:
    told = json.loads(souk(folder, "compare", "prices", WAVE, "--json"))
    db = f"sqlite:///{folder}/runs/souk.db"
    with closing(Records(db)) as records, TestClient(create_app(records, db), "http://127.0.0.1") as viewer:
        run, other = (records.latest_run(name)["run"] for name in ("prices", WAVE))
        link = f"/runs/{run}/answer?with={other}"
        assert f'href="{link}"' in viewer.get(f"/runs/{run}/answer").text
        page = html.unescape(viewer.get(link).text)
        assert all(line in page for line in told["answer"])
        assert page.count("<tr>") == len(told["comparison"]) + 1
        assert viewer.get(f"/runs/{run}/answer?with=nobody").status_code == 404
        assert f"{run}: named twice" in viewer.get(f"/runs/{run}/answer?with={run}").text


def test_a_date_that_no_name_can_have_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(WTP)
    ended = forked_souk("run", "x.yaml", "--wave", "12/2026", cwd=tmp_path)
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert 'error: --wave 12/2026: name: "prices-12/2026" is no name' in ended.err
