"""People who choose by pictures: what they see and what is stored is as in the agents' trials."""

import re
import struct
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.async_api import async_playwright

from environments.browser.pool import find_browser, flags
from experiments.people.checks import tried
from experiments.people.pictures import run_of_pictures
from experiments.people.register import events
from experiments.people.serving import prepared
from experiments.people.study_file import PeopleStudy
from experiments.records.integrity.check import check_database
from experiments.records.reading.people import trials_of_people
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import TrialRecord, screenshot_of
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.people.study_files import STUDY, study_file
from tests.experiments.people.test_site import Place, consented, send, serving, stage

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NUDGE: Final = "Our customers recommend this product"
NUDGES: Final = f"""\
interventions:
  - {{id: near, kind: nudge, family: near, direction: +1, pages: [product],
     edits: [insert_text: {{after: product.title, text: {NUDGE}}}]}}
  - {{id: below, kind: nudge, family: below, direction: +1, pages: [product],
     edits: [insert_text: {{after: product.description, text: {NUDGE}}}]}}
"""
EXPERIMENT: Final = """\
name: seen
goal: Add the best product to the cart.
options: {sets: 2}
factors:
  nudge: {interventions: nudges.yaml, on: [each]}
  order: listed
"""
PICTURED: Final[dict[str, Any]] = {
    "show": "screenshots",
    "pages": {**STUDY["pages"], "task": "Which one would you buy?"},
    "check": None,
    "reasons": False,
    "questions": [],
    "block": {"trials": 2},
    "participants": {"target": 4, "spare": 0.0},
}


def pictured(folder: Path) -> dict[str, Any]:
    """A study of eight trials, in half of which the nudge is below the picture's end."""
    (folder / "nudges.yaml").write_text(NUDGES)
    (folder / "seen.yaml").write_text(EXPERIMENT)
    return {**PICTURED, "experiment": "seen.yaml"}


async def begun(place: Place, person: httpx.AsyncClient, name: str) -> httpx.Response:
    await consented(person, place.link(name))
    await send(person, "instructions")
    return await person.post("/.souk/start")


def texts(page: httpx.Response) -> list[str]:
    return re.findall(r'alt="(Product[^"]*)"', page.text)


def stored(place: Place) -> list[TrialRecord]:
    records = place.books.records
    rows = trials_of_people(records, place.books.run)
    return [found for row in rows if (found := whole_trial(records, place.books.run, row["trial"]))]


async def test_people_choose_by_pictures_and_leave_the_records_of_a_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = pictured(tmp_path)
    async with serving(tmp_path, **study) as place:
        said = " ".join(capsys.readouterr().err.split())
        assert "taking the pictures of 8 trials" in said
        assert "4 of 8 trials will end as treatment_failed" in said
        assert "the agent was not shown" in said
        async with place.person() as ann, place.person() as other:
            page = await begun(place, ann, "ann")
            names = re.findall(r'src="(picture/\w+)"', page.text)
            assert len(set(names)) == 2
            for name in names:
                png = (await ann.get(f"/.souk/{name}")).content
                assert png[:8] == b"\x89PNG\r\n\x1a\n"
                assert struct.unpack(">II", png[16:24]) == (1280, 900)
                assert (await other.get(f"/.souk/{name}")).status_code == 403
            # No page of the shop is there, nor another picture; a number of no product chooses none.
            assert str((await ann.get("/some-product.html")).url).endswith("/.souk/go")
            assert (await ann.get("/.souk/picture/0")).status_code == 404
            wrong = [await ann.post("/.souk/choose", data={"button": each}) for each in ("0", "3", "two")]
            assert [texts(each) for each in wrong] == [texts(page)] * 3
            # The block of who leaves is given to the next one, with the same pictures.
            await ann.post("/.souk/leave")
        seen: dict[str, list[str]] = {}
        for name in ("ben", "cleo", "dan"):
            seen |= await _whole(place, name, "choose", {"button": "2"})
        seen |= await _whole(place, "eve", "end", {})
        records = stored(place)
        assert [each.trial.outcome for each in records].count("agent_limit") == 1
        assert len(records) == len({each.trial.trial for each in records}) == 9
        for each in (each for each in records if each.trial.outcome != "agent_limit"):
            _is_as_an_agents(place, each, seen[each.trial.trial])
        outcomes = place.books.records.outcomes(place.books.run)
        assert outcomes["no_choice"] == 2
        assert outcomes["choice"] + outcomes["treatment_failed"] == 6
        table = tidy_table(place.books.records, place.books.run)
        assert set(table["modality"]) == {"screenshot"}
        assert set(table.loc[table["outcome"] == "choice", "in_view"]) == {1}
        run = run_of_pictures(place.there.design)
        query = "SELECT trial, started_at FROM trials WHERE run = ? ORDER BY trial"
        with place.books.records.engine.connect() as connection:
            before = connection.exec_driver_sql(query, (run,)).all()
    found = check_database(f"sqlite:///{tmp_path}/t.db", lambda *_: None)
    assert [each for each in found if not each.ok] == []
    async with serving(tmp_path, **study) as place:
        assert "taking the pictures" not in capsys.readouterr().err
        with place.books.records.engine.connect() as connection:
            assert connection.exec_driver_sql(query, (run,)).all() == before


async def _whole(place: Place, name: str, action: str, said: dict[str, str]) -> dict[str, list[str]]:
    """Let a person do the same in both trials; return, by trial, what can be read in the pictures."""
    seen: dict[str, list[str]] = {}
    async with place.person() as person:
        page = await begun(place, person, name)
        for _ in range(2):
            trial = place.there.visits.running(place.there.visits.of_platform(name) or {})
            assert trial
            seen[trial.trial] = texts(page)
            page = await person.post(f"/.souk/{action}", data=said)
            page = await person.post("/.souk/start") if stage(page) == "trial" else page
        assert stage(page) == "debriefing"
        assert f"{NUDGE}” was shown" in page.text
    return seen


def _is_as_an_agents(place: Place, record: TrialRecord, seen: list[str]) -> None:
    """The nudge has its receipt, and is where it was seen; where it was not, no choice counts."""
    trial, records = record.trial, place.books.records
    carrier = next(row["position"] for row in record.options if row["nudged"])
    near = trial.nudge == "near"
    assert [NUDGE in text for text in seen] == [near and place == carrier for place in (0, 1)]
    assert [row["product"] for row in record.receipts if row["after"] == NUDGE] == [
        record.options[carrier]["option"]
    ]
    drawn = [row["why"] for row in record.on_screen if row["intervention"] == trial.nudge]
    assert [not why for why in drawn] == [near]
    if trial.outcome != "no_choice":
        assert trial.outcome == ("choice" if near else "treatment_failed")
        assert trial.choice == (record.options[1]["option"] if near else None)
    assert trial.agent == "human:small"
    assert [row["viewed_first"] for row in record.options] == [1, 0]
    assert all(row["sent_price"] == row["price"] for row in record.options)
    assert trial.steps == len(record.steps) == 2
    for row in record.steps:
        assert (row["thought"], row["action"]) == ("", "")
        assert records.artifact(screenshot_of(records.artifact(row["observation"])))
    assert all(records.artifact(row["body"]) for row in record.sent_pages)


async def test_pictures_are_for_the_keyboard_too(tmp_path: Path) -> None:
    async with serving(tmp_path, **{**pictured(tmp_path), "source": {"kind": "open"}}) as place:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_browser(playwright), args=flags(None)
            )
            page = await browser.new_page()
            await page.goto(f"{place.there.address}/.souk/")
            await page.locator("main button").click()
            await page.locator("input[name=agree]").check()
            await page.locator("button[value=agree]").click()
            await page.locator("button[value=next]").click()
            await page.locator("button[value=start]").click()
            small = page.locator(".pictures img").first
            text = await small.get_attribute("alt")
            assert text
            assert text.startswith("Product 1: ")
            await page.locator(".pictures a").first.focus()
            async with page.expect_response("**/.souk/note"):
                await page.keyboard.press("Enter")
            large = page.get_by_role("dialog", name="Product 1")
            assert await large.get_by_role("img").get_attribute("alt") == text
            width = await large.get_by_role("img").evaluate("each => each.naturalWidth")
            assert width == 1280
            await page.keyboard.press("Escape")
            await large.wait_for(state="hidden")
            await page.keyboard.press("Tab")
            focused = page.locator(":focus")
            assert await focused.inner_text() == "I choose product 1"
            async with page.expect_navigation():
                await page.keyboard.press("Enter")
            await page.get_by_role("heading", name="Shopping task 2 of 2").wait_for()
            await browser.close()
        told = [(row["kind"], row["page"]) for row in place.books.register.rows(events)]
        assert ("enlarged", "0 1") in told
        (record,) = stored(place)
        assert record.trial.outcome in ("choice", "treatment_failed")


async def test_nobody_begins_where_a_page_has_no_picture(tmp_path: Path) -> None:
    study = pictured(tmp_path)
    (tmp_path / "nudges.yaml").write_text(
        "interventions:\n"
        "  - {id: lost, kind: nudge, family: lost, direction: +1, pages: [product],\n"
        "     edits: [replace_text: {in: product.title, from: no such words, to: words}]}\n"
    )
    with pytest.raises(UserError, match=r"4 of 4 trials have no pictures, e.g. .*no such words"):
        async with serving(tmp_path, **{**study, "participants": {"target": 2, "spare": 0.0}}):
            pass


async def test_every_story_ends_as_it_should_with_pictures(tmp_path: Path) -> None:
    few = {"target": 6, "spare": 0.0}
    study = PeopleStudy.load(study_file(tmp_path, **{**PICTURED, "participants": few, "practice": True}))
    checks = await tried(study, tmp_path, 4, 1, lambda _: None)
    assert [(what, fault) for what, fault in checks if fault] == []


def test_pictures_are_of_products_that_a_trial_begins_with(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pages: task is missing"):
        PeopleStudy.load(study_file(tmp_path, show="screenshots"))
    study = PeopleStudy.load(study_file(tmp_path, **{**PICTURED, "experiment": "listing"}))
    with pytest.raises(UserError, match=r"study.yaml:\d+:\d+: show: the task listing begins with no product"):
        prepared(study, Records(f"sqlite:///{tmp_path}/t.db"))
