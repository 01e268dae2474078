"""A trial shows what the shop sent beside what the proxy made of it, as harmlessly as what was seen."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from experiments.records.reading.trial_search import Selection
from experiments.records.record import TrialRecord
from experiments.viewer.site import write_site
from tests.experiments.viewer.made_run import RUN, record, screen, sqlite, stored, trial, with_sent_page
from tests.interventions.shop_pages import HOST

HOSTILE = "<img src=x onerror=top.ran=1><script>top.ran=1</script>"
TITLES = ["What the shop sent", "What the proxy made of it"]


def made() -> TrialRecord:
    """A trial with two looks at a page in which the proxy has changed the price."""
    return with_sent_page(record(trial(1)), HOSTILE)


def sides(page: LexborHTMLParser) -> dict[str, str]:
    return {str(each.attributes["aria-label"]): each.html or "" for each in page.css(".beside section")}


@pytest.mark.parametrize("path", ["", "/0"])
def test_both_pages_stand_beside_each_other_with_the_edits_marked(tmp_path: Path, path: str) -> None:
    page = screen(tmp_path, made(), path)
    assert [*sides(page)] == TITLES
    frames = [each.css_first("iframe") for each in page.css(".beside section")]
    assert all(frame.attributes["sandbox"] is None for frame in frames)
    before, after = (LexborHTMLParser(frame.attributes["srcdoc"] or "") for frame in frames)
    for each, price, other in ((before, "$19.99", "$5.00"), (after, "$5.00", "$19.99")):
        marked = {mark.text() for mark in each.css("mark.souk-edited")}
        assert price in marked
        assert other not in marked
        assert not each.css("script, [onerror], [src]")
    starts = [[each.text() for each in page.css(".souk-start")] for page in (before, after)]
    assert starts[0] == starts[1] != [], "both are first seen at the same text"
    assert "it has the hash of the receipts" in page.text()


def test_the_source_is_shown_as_text(tmp_path: Path) -> None:
    found = sides(screen(tmp_path, made(), "?view=source"))
    for title, price in zip(TITLES, ("$19.99", "$5.00"), strict=True):
        assert f'<mark class="edited">{price}</mark>' in found[title]
        assert HOSTILE not in found[title]
        assert HOSTILE in unescape(found[title])


def test_a_page_that_cannot_be_made_again_is_said_to_be_none(tmp_path: Path) -> None:
    shown = made()
    other = replace(shown, sent_pages=[{**row, "page_hash_after": "0" * 32} for row in shown.sent_pages])
    found = sides(screen(tmp_path, other))
    assert "iframe" in found[TITLES[0]]
    assert "It cannot be shown: this version of Souk makes another page of it." in found[TITLES[1]]


@pytest.mark.parametrize("is_edited", [True, False])
def test_runs_of_before_say_that_pages_of_edits_were_not_kept(is_edited: bool, tmp_path: Path) -> None:
    shown = replace(made(), sent_pages=[])
    page = screen(tmp_path, shown if is_edited else replace(shown, receipts=[]))
    assert sides(page) == {}
    assert ("Pages were not kept as the shop sent them." in page.text()) == is_edited
    assert ("as the shop sent" in page.text()) == is_edited


def test_a_page_without_an_edit_is_said_to_have_none(tmp_path: Path) -> None:
    shown = made()
    elsewhere = replace(shown, steps=[*shown.steps, {**shown.steps[0], "step": 2, "url": f"{HOST}cart/"}])
    page = screen(tmp_path, elsewhere, "/2")
    assert "The proxy made no edit in this page." in page.text()


def test_a_site_shows_each_page_once(tmp_path: Path) -> None:
    shown = made()
    records = stored(sqlite(tmp_path), [shown])
    write_site(records, Selection(RUN), tmp_path / "site", lambda *_: None)
    page = LexborHTMLParser((tmp_path / "site" / "trials" / f"{shown.trial.trial}.html").read_bytes())
    assert [*sides(page)] == TITLES
    assert len(page.css(".beside")) == 1


def test_the_steps_of_a_guest_are_the_pages_that_it_opened(tmp_path: Path) -> None:
    base = made()
    opened = {**base.steps[0], "action": "", "thought": "", "observation": None, "url": f"{HOST}about"}
    guest = replace(base, steps=[opened], options=[{**row, "opened": 1} for row in base.options])
    text = screen(tmp_path, guest).text()
    assert "What the subject was sent" in text
    assert "The page was not kept: the proxy had nothing to edit there." in text
    assert f"{HOST}about" in text
    assert "nothing was done on it" not in text
