"""What a page's script sends of itself: read, or refused as the work of the page's own scripts."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings

from environments.guest_pages.observer import read_report
from environments.observation.observe import ObservationQuery, PageDisturbed
from interventions.edits.in_browser import CardQuery, ElementQuery, PageElements
from tests.mutations import as_json, changed, damaged
from tests.support import size

KIND = CardQuery("item", "li", ElementQuery("a", "href"), (ElementQuery("b"),))
WANTED = ObservationQuery(
    spots=(ElementQuery("h1"), ElementQuery("p")), own=True, pictures=True, cards=(KIND,)
)
BOX = [0, 0, 90, 20]
INSERTED = {"where": "after", "text": "Only 2 left", "given": "Only 2 left", "box": BOX, "why": ""}
ELEMENT = {
    "text": "Oats",
    "given": "Oats",
    "bid": "12",
    "list": 0,
    "box": BOX,
    "why": "",
    "beside": [INSERTED],
}
CARD = {"kind": 0, "link": "/oats.html", "box": BOX, "why": "", "own": "Oats\n$3", "pictures": []}
CARD |= {"found": [[ELEMENT]]}
REPORT = {
    "replaced": "",
    "at": "/oats.html?a=1",
    "drawn": True,
    "scroll": [0, 0],
    "own": "Oats\n$3",
    "pictures": ["/oats.png"],
    "came": "/oats.html?a=1",
    "visit": 0.25,
    "found": [[ELEMENT, {**ELEMENT, "given": None}], None],
    "cards": [CARD, {**CARD, "why": "out of view", "found": []}],
}


def test_the_report_itself_is_right() -> None:
    report = read_report(as_json(REPORT), WANTED)
    assert (report.at, report.drawn) == ("/oats.html?a=1", True)
    assert report.standing.found[WANTED.spots[1]] is None
    first, second = report.standing.cards
    assert (first.link, first.standing.own, second.on_screen.why) == ("/oats.html", "Oats\n$3", "out of view")
    assert first.standing.found[ElementQuery("b")] is not None


@pytest.mark.parametrize("changes", [{"kind": 1}, {"kind": -1}, {"link": None}, {"found": []}, {"own": 3}])
def test_cards_that_are_none(changes: dict[str, Any]) -> None:
    with pytest.raises(PageDisturbed):
        read_report(as_json({**REPORT, "cards": [CARD | changes]}), WANTED)


@pytest.mark.parametrize(
    "changes", [{"beside": None}, {"beside": 3}, {"given": 3}, {"box": [0, 0, 10**400, 0]}, {"list": "0"}]
)
@pytest.mark.parametrize("gone", [False, True])
def test_elements_that_are_none(changes: dict[str, Any], gone: bool) -> None:
    kept = {name: value for name, value in ELEMENT.items() if name not in changes}
    sent = {**REPORT, "found": [[kept if gone else ELEMENT | changes], None]}
    with pytest.raises(PageDisturbed):
        read_report(as_json(sent), WANTED)


@pytest.mark.parametrize("name", ["where", "text", "given", "why", "bid"])
def test_halves_of_characters_are_storable_wherever_they_stand(name: str) -> None:
    beside = INSERTED | ({name: "\udc80"} if name in INSERTED else {})
    element = ELEMENT | {"beside": [beside]} | ({name: "\udc80"} if name in ELEMENT else {})
    report = read_report(as_json({**REPORT, "found": [[element], None]}), WANTED)
    for elements in filter(None, report.standing.found.values()):
        json.dumps([asdict(each) for each in elements], ensure_ascii=False).encode()


@pytest.mark.slow
@settings(max_examples=size(100, 20_000))
@given(changed(REPORT).map(as_json) | damaged(as_json(REPORT)))
def test_any_report_is_read_or_refused(body: bytes) -> None:
    try:
        report = read_report(body, WANTED)
    except PageDisturbed:
        return
    assert isinstance(report.standing, PageElements)
    for elements in filter(None, report.standing.found.values()):
        json.dumps([asdict(element) for element in elements], ensure_ascii=False).encode()
