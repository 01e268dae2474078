"""What a page's script tells of acts: read, or refused as the work of the page's own scripts."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import example, given, settings

from environments.action.acts import BEGIN, MAX_BYTES, MOST, Act, read_acts
from environments.action.pointer import Hit
from tests.mutations import as_json, changed, damaged
from tests.support import size

COMMON = {"when": 1_700_000_000_500, "at": "/oats.html?a=1"}
PAGE = {**COMMON, "kind": "page", "start": 1_700_000_000_000, "how": "navigate"} | dict.fromkeys(
    ("linked", "shown"), True
)
WORDS = {"tag": "button", "text": "Add to Cart", "href": "", "bid": "", "role": "product.add_to_cart"}
CLICK = {
    **COMMON,
    "kind": "click",
    **WORDS,
    "x": 300.5,
    "y": 1_200,
    "button": 1,
    "keys": ["Shift", "Control"],
}
SCROLL = {**COMMON, "kind": "scroll", "x": 0, "y": 640}
ACTS = [PAGE, CLICK, SCROLL, {**COMMON, "kind": "leave"}]
REPORT = {"acts": ACTS, "visit": 0.25, "now": 1_700_000_000_900}


def test_the_report_itself_is_right() -> None:
    body = json.dumps(REPORT, separators=(",", ":")).encode()
    assert body.startswith(BEGIN)
    read = read_acts(body)
    assert read
    assert (read.visit, read.now) == (0.25, 1_700_000_000_900.0)
    when, path = float(COMMON["when"]), str(COMMON["at"])
    page, click, scroll, leave = read.acts
    assert page == Act(
        kind="page", when=when, path=path, start=1.7e12, how="navigate", linked=True, shown=True
    )
    hit = Hit(300.5, 1_200.0, "button", "Add to Cart", role="product.add_to_cart")
    assert click == Act(
        kind="click", when=when, path=path, hit=hit, button="middle", modifiers="Shift+Control"
    )
    assert (scroll.left, scroll.top, leave.kind) == (0.0, 640.0, "leave")


@pytest.mark.parametrize(
    ("act", "changes"),
    [
        (CLICK, {"x": float("nan")}),
        (CLICK, {"y": 10**400}),
        (CLICK, {"button": 7}),
        (CLICK, {"keys": ["a"]}),
        (CLICK, {"keys": "Shift"}),
        (CLICK, {"text": None}),
        (SCROLL, {"y": "640"}),
        (SCROLL, {"y": 1e300}),
        (PAGE, {"start": float("inf")}),
        (PAGE, {"shown": 1}),
        (PAGE, {"at": "//[".removeprefix("/")[1:]}),
        (PAGE, {"kind": "goto"}),
        (PAGE, {"when": None}),
    ],
)
def test_acts_that_are_none_are_refused(act: dict[str, Any], changes: dict[str, Any]) -> None:
    assert read_acts(as_json({**REPORT, "acts": [act]}))
    assert read_acts(as_json({**REPORT, "acts": [{**act, **changes}]})) is None


def test_a_report_that_is_too_large_is_refused() -> None:
    scroll = {**SCROLL, "at": "/"}
    assert read_acts(as_json({**REPORT, "acts": [scroll] * 100}))
    assert read_acts(as_json({**REPORT, "acts": [scroll] * (MOST + 1)})) is None
    assert read_acts(as_json({**REPORT, "acts": [{**SCROLL, "at": "/" + "x" * MAX_BYTES}]})) is None


def test_words_are_cut_and_can_be_stored() -> None:
    act = CLICK | {"text": "\ud83d" + "x" * 500, "at": "/" + "x" * 5_000}
    read = read_acts(as_json({**REPORT, "acts": [act]}))
    assert read and read.acts[0].hit
    assert read.acts[0].hit.text == "?" + "x" * 99
    assert len(read.acts[0].path) == 2_000


@pytest.mark.slow
@settings(max_examples=size(100, 20_000))
@example(as_json(REPORT).replace(b"navigate", b"\xed\xb2\x80"))
@given(changed(REPORT).map(as_json) | damaged(as_json(REPORT)))
def test_any_report_is_read_or_refused(body: bytes) -> None:
    read = read_acts(body)
    if read:
        json.dumps(asdict(read), ensure_ascii=False, allow_nan=False).encode()
