"""What the viewer changes: tags and notes, archived and deleted runs; and who may ask for it."""

import csv
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pandas as pd
import pytest
from playwright.sync_api import Page
from typer.testing import CliRunner

from experiments.cli import app
from experiments.records.control import Runner, requested_state
from experiments.records.integrity.check import check_database
from experiments.records.integrity.upkeep import move, repair
from experiments.records.reading.notes import MOST_TAGS, noted, with_notes, write_note
from experiments.records.reading.queries import run_names
from experiments.records.reading.trial_search import Selection, matching
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.viewer.made_run import RUN, record, sqlite, stored, trial, viewing

FORM = "application/x-www-form-urlencoded"
FIRST = trial(0).trial


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return stored(sqlite(tmp_path), [record(trial(number)) for number in range(4)])


def post(address: str, path: str, said: dict[str, str], **changed: str | None) -> int:
    """The status of a form that is sent; headers of a value None are left out."""
    host = urlsplit(address).netloc
    body = urlencode(said)
    headers = {
        "Host": host,
        "Origin": f"http://{host}",
        "Content-Type": FORM,
        "Content-Length": str(len(body)),
    }
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}  # type: ignore[dict-item]
    connection = HTTPConnection(host)
    connection.putrequest("POST", path, skip_host=True)
    for name, value in headers.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body.encode())
    status = connection.getresponse().status
    connection.close()
    return status


def test_only_pages_of_this_very_server_change_anything(records: Records, tmp_path: Path) -> None:
    note, url = f"/runs/{RUN}/trials/{FIRST}/note", sqlite(tmp_path)
    said = {"tags": "odd", "note": "Look again."}
    with viewing(records, url) as address:
        port = urlsplit(address).port
        refused: list[tuple[int, dict[str, str | None]]] = [
            (403, {"Origin": "https://evil.example"}),
            (403, {"Origin": "null"}),
            (403, {"Origin": None}),
            (403, {"Origin": f"http://127.0.0.1:{port + 1 if port else 0}"}),
            (403, {"Origin": f"http://localhost:{port}"}),
            (403, {"Origin": f"https://127.0.0.1:{port}"}),
            (403, {"Sec_Fetch_Site": "cross-site"}),
            (403, {"Sec_Fetch_Site": "same-site"}),
            (421, {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}),
            (415, {"Content_Type": "text/plain"}),
            (415, {"Content_Type": None}),
            (413, {"Content_Length": None, "Transfer_Encoding": "chunked"}),
        ]
        for status, headers in refused:
            assert post(address, note, said, **headers) == status, headers
        assert post(address, note, {"note": "x" * 200_000}) == 413
        for path in ("delete", "archive", "pause"):
            assert post(address, f"/runs/{RUN}/{path}", {"run": RUN, "paused": "1"}, Origin=None) == 403
        assert noted(records, RUN, [FIRST]) == {} and run_names(records)
        assert post(address, note, said, Sec_Fetch_Site="same-origin") == 303
        assert noted(records, RUN, [FIRST]) == {FIRST: ("odd", "Look again.")}
        assert post(address, note.replace(FIRST, "none"), said) == 400
        assert post(address, note, {"tags": ",".join(map(str, range(MOST_TAGS + 1)))}) == 400
        assert post(address, "/", said) == 405


def test_only_a_run_that_goes_on_is_paused(records: Records, tmp_path: Path) -> None:
    path, process = f"/runs/{RUN}/pause", Runner(RUN, trials=9)
    with viewing(records, sqlite(tmp_path)) as address:
        assert post(address, path, {"paused": "1"}) == 400
        assert requested_state(records, RUN) == "running"
        process.begin(records)
        assert post(address, path, {"paused": "1"}) == 303
        assert requested_state(records, RUN) == "paused"
        process.end(records)
        assert post(address, path, {"paused": "0"}) == 303
        assert requested_state(records, RUN) == "running"


@pytest.mark.thorough
def test_tags_are_found_exported_and_kept(records: Records, tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    out = tmp_path / "t.csv"
    assert CliRunner().invoke(app, ["export", "--db", url, "--out", str(out)]).exit_code == 0
    assert not {"tags", "note"} & {*pd.read_csv(out)}
    write_note(records, RUN, FIRST, " odd ,price  read, odd,", "It reads\r\nthe price.")
    found = matching(records, Selection.of(RUN, {"q": "price read"}), limit=9)
    assert [row.trial for row in found] == [FIRST]
    assert CliRunner().invoke(app, ["export", "--db", url, "--out", str(out)]).exit_code == 0
    table = pd.read_csv(out, dtype=str)
    assert len(table) == 8, "the rows stay"
    assert {*table.loc[table["trial"] == FIRST, "tags"]} == {"odd, price read"}
    assert {*table.loc[table["trial"] == FIRST, "note"]} == {"It reads\nthe price."}
    assert table.loc[table["trial"] != FIRST, "tags"].isna().all()
    scores = pd.DataFrame({"trial": [FIRST, "t"], "note": ["infinite", ""]})
    with_both = with_notes(records, RUN, scores)
    assert [*with_both] == ["trial", "note", "tags", "trial_note"] and with_both["note"][0] == "infinite"
    assert [each for each in check_database(url, lambda *_: None) if not each.ok] == [], "seals hold"
    move(records, other := f"sqlite:///{tmp_path}/other.db", lambda *_: None)
    records.close()
    repair(other, lambda *_: None)
    moved = Records(other)
    assert noted(moved, RUN, [FIRST])[FIRST].tags == "odd, price read"
    write_note(moved, RUN, FIRST, "", " ")
    assert noted(moved, RUN, [FIRST]) == {}
    with pytest.raises(UserError, match="longer than 60"):
        write_note(moved, RUN, FIRST, "x" * 61, "")
    moved.close()


@pytest.mark.thorough
@pytest.mark.browser
def test_a_person_notes_archives_and_deletes(page: Page, records: Records, tmp_path: Path) -> None:
    with viewing(records, sqlite(tmp_path)) as address:
        page.goto(f"{address}/runs/{RUN}/trials/{FIRST}?condition=control")
        page.get_by_text("Tags and note").click()
        page.get_by_label("Tags, with commas between them").fill("odd, =1+1")
        page.get_by_label("Note").fill("It never looked.\njjk")
        page.get_by_role("button", name="Save").click()
        page.wait_for_url("**/0?condition=control")
        assert page.get_by_label("Note").input_value() == "It never looked.\njjk"
        page.goto(f"{address}/runs/{RUN}/trials")
        page.get_by_role("navigation", name="Filters").get_by_role("link", name="odd 1", exact=True).click()
        page.wait_for_url("**/trials?tag=odd")
        page.goto(f"{address}/runs/{RUN}/trials")
        page.locator("td .tag", has_text="=1+1").click()
        page.wait_for_url("**/trials?tag=%3D1%2B1")
        assert page.locator("h1").inner_text() == "1 trial"
        with page.expect_download() as download:
            page.get_by_text("CSV", exact=True).click()
        [row] = csv.DictReader(download.value.path().open())
        assert row["tags"] == "odd, =1+1" and row["note"] == "It never looked.\njjk"
        page.goto(f"{address}/runs/{RUN}")
        page.get_by_role("button", name="Archive this run").click()
        page.wait_for_url(f"{address}/")
        assert page.get_by_text(RUN).count() == 0
        page.get_by_text("1 archived run").click()
        page.get_by_text(RUN).click()
        page.get_by_role("button", name="Take out of the archive").click()
        page.wait_for_url(f"{address}/")
        page.get_by_text(RUN).click()
        page.get_by_text("Delete this run").click()
        page.get_by_label("To delete it").fill("another")
        page.get_by_role("button", name="Delete for ever").click()
        assert "Nothing was deleted" in page.locator("main").inner_text()
        page.goto(f"{address}/runs/{RUN}/delete")
        page.get_by_label("To delete it").fill(RUN)
        page.get_by_role("button", name="Delete for ever").click()
        page.wait_for_url(f"{address}/")
        assert run_names(records) == [] and noted(records, RUN, [FIRST]) == {}
