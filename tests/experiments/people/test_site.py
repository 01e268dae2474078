"""The pages of a study, asked by programs: who is let in, what is stored, and what nobody gains."""

import gc
import io
import re
import sqlite3
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from experiments.bundles.bundle import make_bundle
from experiments.cli import app
from experiments.commands.traces import write_trace
from experiments.designs.loading import load_shop_design
from experiments.episodes.guest_trial import GuestTrial
from experiments.episodes.page_record import to_record
from experiments.episodes.shop_episode import session
from experiments.people.administration import StudyBooks
from experiments.people.identity import StudyKey
from experiments.people.register import Register, answers, blocks, events, participants
from experiments.people.serving import ServedStudy, key_path, prepared, served
from experiments.people.study_file import ENDINGS, PeopleStudy
from experiments.records.integrity.check import check_database
from experiments.records.reading.people import trials_of_people
from experiments.records.reading.tidy_tables import tidy_table, write_table
from experiments.records.record import Start
from experiments.records.store import Records
from experiments.treatment.trajectory import Trajectory
from experiments.viewer.site import site_files
from interventions.errors import UserError
from tests.experiments.people.study_files import study_file
from tests.experiments.postgres_server import postgres_server

pytestmark = pytest.mark.slow
CANARY = "canary4711"
GONE = "deleted4711"
DEVICE = "1280,900,0"
BACK = "https://platform.example.org/complete?cc={code}"


@dataclass
class Place:
    """A study that is served, and its books."""

    there: ServedStudy
    books: StudyBooks
    key: StudyKey
    folder: Path

    def person(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.there.address, follow_redirects=True, timeout=60)

    def link(self, label: str) -> dict[str, str]:
        return {"label": label, "sig": self.key.sign(label)}

    @property
    def people(self) -> list[dict[str, Any]]:
        return self.books.register.rows(participants)


@asynccontextmanager
async def serving(
    folder: Path, db: str = "", port: int = 0, public: str | None = None, **changes: Any
) -> AsyncIterator[Place]:
    study = PeopleStudy.load(study_file(folder, **changes))
    records = Records(db or f"sqlite:///{folder}/t.db")
    try:
        async with served(study, records, port, public) as there:
            books = StudyBooks(study, records)
            yield Place(there, books, StudyKey(key_path(records, books.run, study)), folder)
    finally:
        records.close()


async def consented(person: httpx.AsyncClient, ids: dict[str, str]) -> httpx.Response:
    return await person.post(
        "/.souk/consent", data={**ids, "device": DEVICE, "button": "agree", "agree": "yes"}
    )


def stage(page: httpx.Response) -> str:
    found = re.search(r'name="stage" value="(\w+)"', page.text)
    return found[1] if found else ""


async def send(person: httpx.AsyncClient, at: str, **more: str) -> httpx.Response:
    return await person.post("/.souk/next", data={"stage": at, **more})


async def chosen(person: httpx.AsyncClient, page: httpx.Response) -> httpx.Response:
    """Open the pages of a trial and put the first product into the cart, as a browser without scripts."""
    urls = re.findall(r'src="(/[^"]+)"', page.text)
    html, *_ = [(await person.get(url)).text for url in urls]
    key = re.search(r'name="form_key" type="hidden" value="([^"]*)"', html)
    action = re.search(r'action="([^"]*checkout/cart/add[^"]*)"', html)
    product = re.search(r'name="product" value="([^"]*)"', html)
    assert key and action and product
    headers = {"referer": str(person.base_url), "sec-fetch-dest": "iframe"}
    await person.post(
        action[1], data={"form_key": key[1], "product": product[1], "qty": "1"}, headers=headers
    )
    return await person.get("/.souk/go")


async def to_trial(person: httpx.AsyncClient, ids: dict[str, str]) -> httpx.Response:
    """Begin the first trial."""
    await consented(person, ids)
    await send(person, "instructions")
    await send(person, "check", q0="1")
    return await person.post("/.souk/start")


async def to_end(person: httpx.AsyncClient, page: httpx.Response) -> httpx.Response:
    """Go on to the code."""
    answered = {
        "reason": {"q0": CANARY},
        "attention": {"q0": "2"},
        "questions": {"unusual": f"=1+1 <b>{CANARY}</b>", "age": "1"},
        "debriefing": {"button": "use"},
    }
    for _ in range(20):
        if "<iframe" in page.text:
            page = await chosen(person, page)
        elif at := stage(page):
            page = await (person.post("/.souk/start") if at == "trial" else send(person, at, **answered[at]))
        else:
            break
    return page


async def test_a_person_goes_through_it_and_comes_back_to_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = {each: {"env": f"TEST_CODE_{each.upper()}"} for each in ENDINGS}
    for each in ENDINGS:
        monkeypatch.setenv(f"TEST_CODE_{each.upper()}", f"CODE{each.replace('_', '').upper()}")
    async with serving(tmp_path, source={"kind": "labels", "return": BACK, "codes": codes}) as place:
        async with place.person() as anna:
            ids = place.link("anna")
            welcome = await anna.get("/.souk/", params=ids)
            assert welcome.status_code == 200
            asked = await anna.post("/.souk/begin", data={**ids, "device": DEVICE})
            assert "<strong>pages</strong>" in asked.text
            assert "<script>no()" not in asked.text
            refused = await anna.post("/.souk/consent", data={**ids, "device": DEVICE, "button": "agree"})
            assert "agree" in refused.text
            assert place.people == []
            page = await to_trial(anna, ids)
            assert "<iframe" in page.text
            # As for agents, the last product's tab is open at first: that one is recorded as viewed first.
            panels = re.findall(r'id="panel(\d)"[^>]*?( hidden)?><iframe', page.text)
            assert panels == [("1", " hidden"), ("2", "")]
            reloaded = await anna.get("/.souk/go")
            assert re.findall(r'src="(/[^"]+)"', reloaded.text) == re.findall(r'src="(/[^"]+)"', page.text)
            done = await to_end(anna, page)
            assert "Your code is CODECOMPLETE." in done.text
            assert BACK.replace("{code}", "CODECOMPLETE") in done.text
            assert "CODECOMPLETE" in (await anna.get("/.souk/go")).text
        trials = trials_of_people(place.books.records, place.books.run)
        assert [(each["place"], each["outcome"]) for each in trials] == [(0, "choice"), (1, "choice")]
        # No script has told what was in view, nor has any where a product was not opened.
        assert set(tidy_table(place.books.records, place.books.run)["in_view"]) == {0}
        table = tidy_table(place.books.records, place.books.run)
        assert set(table.loc[table["position"] == 1, "viewed_first"]) == {1}
        row = place.people[0]
        assert (row["stage"], row["ending"], row["data"], row["width"]) == ("done", "complete", "use", 1300)
        kinds = [row["kind"] for row in place.books.register.rows(answers)]
        assert kinds == ["check", "reason", "attention", "reason", "questions", "questions"]
        await _what_leaves_the_house(place)


async def _what_leaves_the_house(place: Place) -> None:
    """Payments have the ids, exports and the database none; a person who is forgotten is nowhere."""
    out, name = place.folder / "out", place.people[0]["participant"]
    assert place.books.payments(out / "pay.csv", place.key, {"bert"}) == (1, 1)
    assert "\nanna,,0," in (out / "pay.csv").read_text()
    assert place.books.payments(out / "pay.csv", place.key, {"anna"}) == (1, 0)
    assert place.books.payments(out / "pay.csv", place.key) == (1, 0)
    assert "\nanna,,,p" in (out / "pay.csv").read_text()
    assert (out / "pay.csv").stat().st_mode & 0o777 == 0o600
    place.books.export(out, with_text=False)
    assert CANARY not in (out / "answers.csv").read_text()
    place.books.export(out, with_text=True)
    assert f"'=1+1 <b>{CANARY}</b>" in (out / "answers.csv").read_text()
    assert "anna" not in "".join(path.read_text() for path in out.glob("*.csv") if path.name != "pay.csv")
    _no_days(place, out)
    files = [path for path in place.folder.rglob("t.db*") if path.is_file()]
    assert not any(b"anna" in path.read_bytes() for path in files)
    files = _with_leftovers(place.folder / "t.db", name)
    assert place.books.forget(place.books.person("anna", place.key)) == {name: 2}
    assert place.people == []
    for path in files:
        left = path.read_bytes() if path.exists() else b""
        assert not any(each.encode() in left for each in (CANARY, GONE, name))
    assert place.books.records.outcomes(place.books.run) == {"withdrawn": 2}
    found = check_database(f"sqlite:///{place.folder}/t.db", lambda *_: None)
    assert [each for each in found if not each.ok] == []


def _no_days(place: Place, out: Path) -> None:
    """Every time of a person that leaves the house is an offset, as if the visit had begun on a Monday."""
    records, run = place.books.records, place.books.records.latest_run()
    write_table(tidy_table(records, run["run"]), out / "tidy.csv")
    write_trace(records, run, "otlp", None, out / "trace.jsonl")
    members = zipfile.ZipFile(io.BytesIO(make_bundle(records, run, site_files(records, run["run"], print))))
    told = {name: members.read(name).decode("utf-8", "replace") for name in members.namelist()}
    told |= {path.name: path.read_text() for path in out.glob("*.[cj]s*")}
    began = datetime.fromtimestamp(place.people[0]["consented_at"], UTC)
    monday = datetime(began.year, began.month, began.day, tzinfo=UTC) - timedelta(days=began.weekday())
    times = {
        (name, datetime.fromisoformat(found))
        for name, text in told.items()
        for found in re.findall(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+\+00:00", text)
        if found != run["started_at"]
    }
    times |= {
        ("trace.jsonl", datetime.fromtimestamp(int(found) / 1e9, UTC))
        for line in told["trace.jsonl"].splitlines()[:-1]  # the last line is that of the run
        for found in re.findall(r'UnixNano":"(\d+)"', line)
    }
    assert {name for name, _ in times} >= {"records/trials.csv", "records/chain.jsonl", "trace.jsonl"}
    assert all(monday <= at < monday + timedelta(hours=1) for _, at in times)


def _with_leftovers(path: Path, name: str) -> list[Path]:
    """Leave in the file what some connection has deleted that overwrites nothing; return the files."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA secure_delete=OFF")
        rows = [("small", name, number, "note", GONE * 20, number) for number in range(100, 200)]
        connection.executemany("INSERT INTO people_events VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
        connection.execute("DELETE FROM people_events WHERE number >= 100")
        connection.commit()
    files = [path, path.with_name(f"{path.name}-wal")]
    assert any(GONE.encode() in each.read_bytes() for each in files)
    return files


async def test_who_does_not_take_part_leaves_only_a_number(tmp_path: Path) -> None:
    async with serving(tmp_path) as place, place.person() as ben:
        ids = place.link("ben")
        forged = await ben.get("/.souk/", params={"label": "ben", "sig": place.key.sign("anna")})
        assert forged.status_code == 403
        assert (await ben.post("/.souk/consent", data={"label": "ben", "agree": "yes"})).status_code == 403
        assert (await ben.get("/.souk/go")).status_code == 403
        for _ in range(3):
            assert (await ben.get("/.souk/", params=ids)).status_code == 200
        small = await ben.post("/.souk/begin", data={**ids, "device": "500,900,1"})
        assert "1024 x 640" in small.text
        gone = await ben.post("/.souk/consent", data={**ids, "device": DEVICE, "button": "decline"})
        assert "Nothing about you was stored" in gone.text
        assert place.people == []
        row = place.books.register.study
        assert row and (row["declined"], row["screened"]) == (1, 1)
        assert ben.cookies.get("souk_guest") is None


async def test_wrong_answers_end_it_and_other_windows_gain_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as place, place.person() as cleo, place.person() as dan:
        await consented(cleo, place.link("cleo"))
        await send(cleo, "instructions")
        again = await send(cleo, "check", q0="2")
        assert "You choose." in again.text
        ended = await send(cleo, "check", q0="2")
        assert "The study ends here" in ended.text
        # The same person elsewhere: the same end. Another name in the same browser: refused.
        assert (
            "took part"
            in (await dan.post("/.souk/begin", data={**place.link("cleo"), "device": DEVICE})).text
        )
        other = await cleo.get("/.souk/", params=place.link("dan"))
        assert other.status_code == 403
        assert "id_changed" in [row["kind"] for row in place.books.register.rows(events)]
        # Another site's form, and a stranger's name for this machine
        for headers in (
            {"origin": "https://evil.example"},
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
        ):
            assert (
                await dan.post("/.souk/begin", data=place.link("dan"), headers=headers)
            ).status_code == 403
        assert (await dan.get("/.souk/", headers={"host": "evil.example"})).status_code == 403
        await consented(dan, place.link("dan"))
        stolen = {"souk_guest": "x" * 22}
        async with httpx.AsyncClient(base_url=place.there.address, cookies=stolen) as thief:
            assert (await thief.get("/.souk/go")).status_code == 403
            assert (await thief.get("/some-product.html")).headers["location"] == "/.souk/"
        flood = [(await dan.get("/.souk/state")).status_code for _ in range(310)]
        assert flood[0] == 200
        assert flood[-1] == 429


async def test_a_person_goes_on_elsewhere_and_after_the_server_has_stopped(tmp_path: Path) -> None:
    async with serving(tmp_path) as place, place.person() as eve, place.person() as phone:
        page = await to_trial(eve, place.link("eve"))
        assert "<iframe" in page.text
        await phone.post("/.souk/begin", data={**place.link("eve"), "device": DEVICE})
        there = await phone.post("/.souk/resume", data={**place.link("eve"), "device": DEVICE})
        assert stage(there) == "trial"
        assert "another window" in (await eve.get("/.souk/go")).text
        cookies = dict(phone.cookies)
    async with serving(tmp_path) as place:
        assert [row["kind"] for row in place.books.register.rows(events)].count("moved") == 1
        async with httpx.AsyncClient(
            base_url=place.there.address, cookies=cookies, follow_redirects=True, timeout=60
        ) as phone:
            done = await to_end(phone, await phone.get("/.souk/go"))
            assert "Your code is" in done.text
        trials = trials_of_people(place.books.records, place.books.run)
        assert len({each["trial"] for each in trials}) == len(trials) == 2


async def test_a_block_that_was_left_is_given_again_from_its_beginning(tmp_path: Path) -> None:
    few = {"target": 1, "spare": 0.0}
    soon = {"lease_minutes": 0.00001}
    async with serving(tmp_path, participants=few, time=soon, block={"trials": 1}) as place:
        async with place.person() as fay, place.person() as gil:
            await to_trial(fay, place.link("fay"))
            page = await to_trial(gil, place.link("gil"))
            assert "Your code is" in (await to_end(gil, page)).text
        rows = place.books.status()["blocks"]
        assert rows == {"done": 1, "given": 0, "free": 0, "given twice or more": 1}
        async with place.person() as hal:
            full = await hal.post("/.souk/begin", data={**place.link("hal"), "device": DEVICE})
            assert "The study is full" in full.text


async def test_a_practice_is_a_trial_that_is_not_stored(tmp_path: Path) -> None:
    async with serving(tmp_path, practice=True, check=None) as place, place.person() as ned:
        await consented(ned, place.link("ned"))
        practice = await send(ned, "instructions")
        assert stage(practice) == "practice"
        assert "Practice" in practice.text
        shop = await ned.post("/.souk/start")
        ((_, running),) = place.there.visits._running.values()
        of_blocks = {each for row in place.books.register.rows(blocks) for each in row["trials"]}
        assert running.definition.set not in {place.there.visits.trials[each].set for each in of_blocks}
        page = await chosen(ned, shop)
        assert stage(page) == "trial"
        assert trials_of_people(place.books.records, place.books.run) == []
        assert place.books.status()["blocks"]["given"] == 0
        assert "Your code is" in (await to_end(ned, page)).text
        assert len(trials_of_people(place.books.records, place.books.run)) == 2


async def test_an_export_is_a_folder_or_a_zip_file(tmp_path: Path) -> None:
    async with serving(tmp_path) as place, place.person() as ned:
        await to_end(ned, await to_trial(ned, place.link("ned")))
        for out in ("people", "people.zip"):
            study = ("study", "export", f"{tmp_path}/study.yaml", "--db", f"sqlite:///{tmp_path}/t.db")
            made = CliRunner().invoke(app, [*study, "--out", f"{tmp_path}/{out}"])
            assert made.exit_code == 0 and f"{out}/participants.csv: 1 rows" in made.output
    with zipfile.ZipFile(tmp_path / "people.zip") as file:
        for name in ("participants.csv", "answers.csv", "events.csv"):
            assert file.read(name) == (tmp_path / "people" / name).read_bytes()


async def test_a_server_keeps_no_trial_of_who_has_ended(tmp_path: Path) -> None:
    """It runs for weeks, and a trial has all of its pages."""

    def kept() -> int:
        gc.collect()
        return sum(isinstance(each, GuestTrial) for each in gc.get_objects())

    async with serving(tmp_path) as place, place.person() as ned:
        others = kept()
        trial = await to_trial(ned, place.link("ned"))
        assert kept() == others + 1
        assert "Your code is" in (await to_end(ned, trial)).text
        assert kept() == others


async def test_who_leaves_is_told_what_was_false(tmp_path: Path) -> None:
    async with serving(tmp_path, experiment="attributes") as place, place.person() as ida:
        page = await to_trial(ida, place.link("ida"))
        await chosen(ida, page)
        left = await ida.post("/.souk/leave")
        assert stage(left) == "debriefing"
        assert "; before: “" in left.text
        assert "Rating:" not in left.text  # each page says the shop's own rating in words
        ended = await send(ida, "debriefing", button="delete")
        assert "You do not take part" in ended.text
        assert place.books.asked_to_be_forgotten() == [place.people[0]["participant"]]
        assert place.books.status()["blocks"]["done"] == 0


def test_a_study_is_prepared_once(tmp_path: Path) -> None:
    records = Records(f"sqlite:///{tmp_path}/t.db")
    study = PeopleStudy.load(study_file(tmp_path))
    assert prepared(study, records)[0].run_id == prepared(study, records)[0].run_id
    larger = PeopleStudy.load(study_file(tmp_path, participants={"target": 40, "spare": 0.2}))
    prepared(larger, records)
    shared = [each for row in Register(records, "small").rows(blocks) for each in row["trials"]]
    assert len(set(shared)) == len(shared) == 48 * 2
    with pytest.raises(UserError, match="a study only grows"):
        prepared(study, records)
    other = PeopleStudy.load(study_file(tmp_path, reasons=False))
    with pytest.raises(Exception, match="prepared with other trials, pages or rules"):
        prepared(other, records)


async def test_an_agents_choice_in_the_same_trial_is_proposed(tmp_path: Path) -> None:
    """Of two blocks one has proposals: what the agent chose in its stored run where the same was shown."""
    design = load_shop_design("nudges", "")
    records = Records(f"sqlite:///{tmp_path}/t.db")
    records.begin_run(design.run_id, "nudges", design.facts(["simulated:first"]))
    stored = []
    for trial in islice(design.trials(["simulated:first"]), 60):
        trajectory = Trajectory()
        trajectory.end("choice", "", trial.products[1].key)
        session_ = session(design, trial, "http://127.0.0.1:9/", None)
        stored.append(to_record(trial, design, trajectory, session_, start=Start.now(), attempts=1))
    records.save(*stored)
    records.close()
    team = {"run": "nudges", "agent": "simulated:first", "share": 0.5}
    async with serving(tmp_path, team=team) as place, place.person() as joe, place.person() as kay:
        alone = await to_trial(joe, place.link("joe"))
        assert "An assistant proposes" not in alone.text
        told = await to_trial(kay, place.link("kay"))
        assert "An assistant proposes product 2." in told.text
        assert "Your code is" in (await to_end(kay, told)).text
        rows = trials_of_people(place.books.records, place.books.run)
        assert len([row for row in rows if row["proposed"]]) == len(rows) == 2
    with pytest.raises(UserError, match="has no choices in nudges-"):
        async with serving(tmp_path, name="other", team={**team, "agent": "simulated:random"}):
            pass


async def test_a_study_is_kept_in_postgresql(tmp_path: Path) -> None:
    with postgres_server() as server:
        async with serving(tmp_path, db=server.new_database()) as place, place.person() as mia:
            done = await to_end(mia, await to_trial(mia, place.link("mia")))
            assert "Your code is" in done.text
            assert place.books.status()["people"] == {"complete": 1}
            assert [*place.books.forget(place.people[0]["participant"]).values()] == [2]
            assert place.people == []


async def test_who_cannot_go_on_is_told_what_was_false(tmp_path: Path) -> None:
    async with serving(tmp_path, experiment="attributes") as place, place.person() as oda:
        await chosen(oda, await to_trial(oda, place.link("oda")))
        place.there.visits.end(place.people[0], "technical")
        page = await oda.get("/.souk/go")
        assert stage(page) == "debriefing"
        assert "; before: “" in page.text
        ended = await send(oda, "debriefing", button="use")
        assert "Something went wrong" in ended.text
        assert place.people[0]["ending"] == "technical"
