"""What people, links, shops and accidents do to a study that nobody has planned for."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mitmproxy.test import tflow

from experiments.people.register import blocks
from experiments.people.serving import PeopleGuests, key_path, prepared
from experiments.people.site import MOST
from experiments.people.study_file import ENDINGS, PeopleStudy
from experiments.records.reading.people import trials_of_people
from experiments.records.store import Records
from interventions.errors import UserError
from proxy.guests import COOKIE
from tests.experiments.people.study_files import study_file
from tests.experiments.people.test_site import (
    BACK,
    DEVICE,
    Place,
    chosen,
    consented,
    send,
    serving,
    stage,
    to_end,
    to_trial,
)

pytestmark = pytest.mark.slow


async def test_a_server_that_was_killed_before_the_next_page_goes_on_there(tmp_path: Path) -> None:
    async with serving(tmp_path, block={"trials": 1}) as place, place.person() as sue:
        await chosen(sue, await to_trial(sue, place.link("sue")))
        place.books.register.change(place.people[0]["participant"], stage="trial", place=0)
        with place.books.records.writing() as connection:
            connection.execute(blocks.update().values(done=0))
        cookies = dict(sue.cookies)
    async with serving(tmp_path, block={"trials": 1}) as place, place.person() as sue:
        sue.cookies.update(cookies)
        again = await sue.post("/.souk/start")
        assert stage(again) == "reason"
        assert "Your code is" in (await to_end(sue, again)).text
        assert place.books.status()["blocks"]["done"] == 1
        key_path(place.books.records, place.books.run, place.books.study).unlink()
    with pytest.raises(UserError, match="the study's key is gone"):
        async with serving(tmp_path, block={"trials": 1}):
            pass


async def test_who_leaves_in_a_trial_ends_it_and_has_no_further_one(tmp_path: Path) -> None:
    async with serving(tmp_path) as place, place.person() as ida:
        page = await to_trial(ida, place.link("ida"))
        assert 'action="leave"' in page.text
        assert stage(await ida.post("/.souk/leave")) == "debriefing"
        assert stage(await ida.post("/.souk/start")) == "debriefing"
        assert "You do not take part" in (await send(ida, "debriefing", button="use")).text
        trials = trials_of_people(place.books.records, place.books.run)
        assert [(each["place"], each["outcome"]) for each in trials] == [(0, "agent_limit")]
        assert place.people[0]["code"] == ""


async def test_of_who_is_forgotten_in_a_trial_nothing_is_stored(tmp_path: Path) -> None:
    async with serving(tmp_path) as place, place.person() as kim:
        page = await to_trial(kim, place.link("kim"))
        place.books.forget(place.people[0]["participant"])
        await chosen(kim, page)
        assert (await kim.get("/.souk/go")).status_code == 403
    assert trials_of_people(place.books.records, place.books.run) == []


async def test_an_address_agrees_to_nothing_and_consent_is_given_once(tmp_path: Path) -> None:
    async with serving(tmp_path, source={"kind": "open"}) as place, place.person() as pat:
        crafted = {"agree": "yes", "device": DEVICE, "lang": "en"}
        for page in (
            await pat.get("/.souk/", params=crafted),
            await pat.post("/.souk/begin", data=crafted),
        ):
            assert set(re.findall(r'type="hidden" name="(\w+)"', page.text)) == {"lang", "device"}
        for _ in range(2):  # the second: the page before, by the back button
            assert stage(await consented(pat, {})) == "instructions"
        assert len(place.people) == 1
        place.books.register.close()
        async with place.person() as late:
            assert "The study is closed" in (await late.post("/.souk/begin", data={"device": DEVICE})).text


async def test_made_up_cookies_pass_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MOST, False, 20)
    async with serving(tmp_path) as place, place.person() as one:
        asked = [
            (await one.get("/.souk/state", headers={"cookie": f"{COOKIE}={number}"})).status_code
            for number in range(21)
        ]
        assert (asked[0], asked[-1]) == (200, 429)


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        (["frame-ancestors 'none'"], [""]),
        (["default-src 'self'; Frame-Ancestors 'self'; img-src *"], ["default-src 'self'; img-src *"]),
        (["frame-ancestors 'none', default-src 'self'"], [", default-src 'self'"]),
        (["script-src x", "frame-ancestors y"], ["script-src x", ""]),
    ],
)
def test_a_shop_that_wants_no_frame_is_shown_in_one(sent: list[str], left: list[str]) -> None:
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.response.headers["X-Frame-Options"] = "SAMEORIGIN"
    flow.response.headers.set_all("Content-Security-Policy", sent)
    PeopleGuests("/.souk/seen").responseheaders(flow)
    assert "x-frame-options" not in flow.response.headers
    assert flow.response.headers.get_all("content-security-policy") == left


async def test_a_study_takes_no_more_people_than_it_wants(tmp_path: Path) -> None:
    """Spare blocks are for those who drop out."""
    few = {"target": 1, "spare": 1.0}
    async with (
        serving(tmp_path, participants=few, block={"trials": 1}) as place,
        place.person() as uma,
        place.person() as vic,
    ):
        page = await to_trial(uma, place.link("uma"))
        asked = {**place.link("vic"), "device": DEVICE}
        assert "Will you?" in (await vic.post("/.souk/begin", data=asked)).text
        await to_end(uma, page)
        assert "The study is full" in (await vic.post("/.souk/begin", data=asked)).text
        assert place.books.status()["blocks"]["free"] == 1


SOON = {"lease_minutes": 0.00001}
"""The lease is over with the next request."""


def given_away(place: Place) -> None:
    """Let other people have all blocks that nobody has."""
    with place.books.records.writing() as connection:
        free = blocks.update().where(blocks.c.participant.is_(None))
        connection.execute(free.values(participant="somebody", until=1e12))


async def test_who_comes_back_late_goes_on_or_is_told_and_never_has_another_block(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, time=SOON, block={"trials": 2}, reasons=False) as place,
        place.person() as ann,
        place.person() as bob,
    ):
        assert stage(await chosen(ann, await to_trial(ann, place.link("ann")))) == "trial"
        place.books.register.change(place.people[0]["participant"], language="de")
        given_away(place)
        # Ann's block is the only one that is free, and Bob comes.
        await to_trial(bob, place.link("bob"))
        with place.books.records.writing() as connection:
            connection.execute(blocks.update().where(blocks.c.attempt == 2).values(until=1e12))
        late = await ann.post("/.souk/start")
        assert stage(late) == "debriefing"
        ended = await send(ann, "debriefing", button="use")
        assert "Ihr Platz wurde weitergegeben" in ended.text
        assert "nichts gespeichert" not in ended.text
        ann_, bob_ = sorted(place.people, key=lambda row: row["ending"] != "full")
        assert (ann_["ending"], ann_["block"]) == ("full", bob_["block"])
        # Nor has she another one, where one is free.
        with place.books.records.writing() as connection:
            connection.execute(blocks.update().where(blocks.c.participant == "somebody").values(until=0.0))
        assert "Ihr Platz" in (await ann.post("/.souk/start")).text
        assert place.books.register.lease(ann_["participant"], ann_["block"], 60) is None


async def test_a_block_that_nobody_has_any_more_is_its_first_ones_again(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, time=SOON, block={"trials": 2}, reasons=False, questions=None) as place,
        place.person() as eli,
        place.person() as flo,
    ):
        await chosen(eli, await to_trial(eli, place.link("eli")))
        given_away(place)
        await to_trial(flo, place.link("flo"))
        await flo.post("/.souk/leave")
        page = await eli.post("/.souk/start")
        assert "<iframe" in page.text
        assert "Your code is" in (await to_end(eli, page)).text
        (name,) = (row["participant"] for row in place.people if row["ending"] == "complete")
        stored = trials_of_people(place.books.records, place.books.run)
        own = [row for row in stored if row["participant"] == name]
        assert [(row["place"], row["attempt"]) for row in own] == [(0, 1), (1, 3)]
        assert len({row["block"] for row in own}) == 1
        assert place.books.status()["blocks"]["done"] == 1


@pytest.mark.parametrize("lost", ["DROP TABLE sent_pages", "all"])
async def test_whose_trial_cannot_be_stored_gets_the_technical_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """It is saved before it is shown where anything can be saved; else the page says that it is not."""
    codes = {each: {"env": f"TEST_CODE_{each.upper()}"} for each in ENDINGS}
    for each in ENDINGS:
        monkeypatch.setenv(f"TEST_CODE_{each.upper()}", f"CODE{each.replace('_', '').upper()}")
    source = {"kind": "labels", "return": BACK, "codes": codes}
    async with (
        serving(tmp_path, source=source, experiment="attributes") as place,
        place.person() as gus,
        place.person() as ivy,
        place.person() as new,
    ):
        page = await to_trial(gus, place.link("gus"))
        await to_trial(ivy, place.link("ivy"))
        if lost == "all":
            place.books.records.engine.dispose()
            (tmp_path / "t.db").write_bytes(b"no database" * 1000)
        else:
            with place.books.records.writing() as connection:
                connection.exec_driver_sql(lost)
        ended = await chosen(gus, page)
        if lost == "all":
            assert ended.status_code == 500
            assert "could not be saved" in ended.text
            assert "Nothing was bought" in ended.text  # the debriefing
            assert "Your code is CODETECHNICAL." in ended.text
            assert "CODETECHNICAL" not in (await new.post("/.souk/begin", data=place.link("new"))).text
            made_up = {"cookie": f"{COOKIE}=made-up"}
            assert "CODETECHNICAL" not in (await new.get("/.souk/go", headers=made_up)).text
            assert (await ivy.get("/.souk/state")).status_code == 500
            assert "CODETECHNICAL" in (await ivy.get("/.souk/go")).text
            return
        assert stage(ended) == "debriefing"
        assert "; before: “" in ended.text
        row = place.books.register.by("external", place.key.hash("gus"))
        assert row and (row["ending"], row["code"]) == ("technical", "CODETECHNICAL")
        assert "Your code is CODETECHNICAL." in (await send(gus, "debriefing", button="use")).text
        # Nobody is given a trial that could not be stored.
        await ivy.post("/.souk/end")
        assert "Your code is CODETECHNICAL." in (await send(ivy, "debriefing", button="use")).text
        asked = await new.post("/.souk/begin", data={**place.link("new"), "device": DEVICE})
        assert "The study is full" in asked.text


async def test_a_database_that_is_busy_ends_no_visit(tmp_path: Path) -> None:
    """Somebody else writes for longer than is waited; the page says so, and the next one is as ever."""
    file = tmp_path / "t.db"
    async with serving(tmp_path, db=f"sqlite:///{file}?timeout=0.05") as place, place.person() as lee:
        await consented(lee, place.link("lee"))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            busy = await send(lee, "instructions")
            assert busy.status_code == 503
            assert "Please wait a moment" in busy.text
            assert 'class="code"' not in busy.text
            other.execute("ROLLBACK")
        assert stage(await send(lee, "instructions")) == "check"
        assert place.people[0]["ending"] == ""


@pytest.mark.parametrize(
    "changes", [{"experiment": "attributes"}, {"participants": {"target": 1_500, "spare": 0}}]
)
def test_who_has_nothing_to_practise_on_is_told_before_people_come(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    """Each trial has a treatment; or each choice set is in a block, and would come twice."""
    study = PeopleStudy.load(study_file(tmp_path, practice=True, **changes))
    with pytest.raises(UserError, match="practice: no trial without a treatment is left"):
        prepared(study, Records(f"sqlite:///{tmp_path}/t.db"))
