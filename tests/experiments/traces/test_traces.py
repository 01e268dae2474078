"""Traces of trials, read by OpenTelemetry's messages and by Playwright's viewer and reader of archives."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import playwright
import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import sync_playwright

from environments.browser.pool import find_browser
from experiments.records.record import TrialRecord, artifact_hash
from experiments.traces.har import har_text
from experiments.traces.otlp import otlp_lines, trial_line
from experiments.traces.playwright_trace import write_playwright_trace
from experiments.traces.secrets import Cleaner
from experiments.traces.traced_trial import read_trial
from interventions.errors import UserError
from tests.experiments.traces.otlp_messages import ERROR, TracesData
from tests.experiments.viewer.made_run import PAGE, RUN, record, sqlite, stored, trial

VIEWER = Path(playwright.__file__).parent / "driver/package/lib/vite/traceViewer"
LOGIN = '<p>Sign in</p><input bid="3" type="password" value="hunter22">'
ID = trial(1).trial


def shopper() -> TrialRecord:
    """A trial of a language model: it logs in, is told of an error, and then chooses."""
    made = record(trial(1, agent="openai:small", seconds=4.0))
    first = made.steps[0] | {
        "url": "https://me:secret@shop.example/login?session_id=abc123&page=2", "seconds": 1.5,
        "observation": artifact_hash(LOGIN), "thought": "My password is hunter22.",
        "action": "fill('3', 'hunter22')", "error": "the field is gone",
    }  # fmt: skip
    made.artifacts[artifact_hash(LOGIN)] = LOGIN
    made.steps[:] = [first, made.steps[0] | {"step": 1, "seconds": 2.0}]
    same = {"model": "small", "request_digest": "ab", "cost": 0.5, "seconds": 0.25, "retries": 0}
    made.calls.extend(
        {**same, "number": number, "step": step, "tokens_in": 100 + number, "tokens_out": 7, "error": error}
        for number, (step, error) in enumerate(((0, "429"), (0, ""), (1, "")))
    )
    return made


def parsed(line: str) -> Any:
    """The spans of a line, as the messages of the protocol hold them."""
    told = json.loads(line)
    for span in (each for res in told["resourceSpans"] for sc in res["scopeSpans"] for each in sc["spans"]):
        # OTLP writes ids in hex where Protobuf's JSON has base64; in all else it is Protobuf's JSON.
        for holder in (span, *span.get("links", ())):
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in holder:
                    holder[name] = base64.b64encode(bytes.fromhex(holder[name])).decode()
    return ParseDict(told, TracesData()).resource_spans[0].scope_spans[0].spans


def about(span: Any) -> dict[str, Any]:
    values = {each.key: each.value for each in span.attributes}
    return {name: getattr(value, value.WhichOneof("value")) for name, value in values.items()}


def test_spans_nest_as_runs_trials_steps_and_calls(tmp_path: Path) -> None:
    records = stored(
        sqlite(tmp_path), [shopper(), record(trial(2, outcome="infra_error", reason="shop: 500"))]
    )
    run = records.latest_run(RUN)
    lines = list(otlp_lines(run, [read_trial(records, RUN, each) for each in (ID, trial(2).trial)]))
    spans, failed, [whole] = map(parsed, lines)
    root, *inner = spans
    assert whole.name == "run" and not whole.parent_span_id
    assert root.links[0].trace_id == whole.trace_id and root.links[0].span_id == whole.span_id
    assert len({span.span_id for span in spans}) == len(spans) == 6
    assert {span.trace_id for span in spans} == {root.trace_id} != {failed[0].trace_id}
    assert {len(span.trace_id) for span in spans} == {16} and {len(span.span_id) for span in spans} == {8}
    steps = [span for span in inner if span.name == "step"]
    calls = [span for span in inner if span.name == "chat small"]
    assert [span.parent_span_id for span in steps] == [root.span_id] * 2
    assert [span.parent_span_id for span in calls] == [steps[0].span_id] * 2 + [steps[1].span_id]
    for span in spans:
        parent = next((each for each in spans if each.span_id == span.parent_span_id), whole)
        assert parent.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= parent.end_time_unix_nano
    assert [span.end_time_unix_nano - span.start_time_unix_nano for span in steps] == pytest.approx(
        [1.5e9, 2e9], abs=1e3
    )
    assert root.end_time_unix_nano - root.start_time_unix_nano == pytest.approx(4e9, abs=1e3)
    named = about(calls[0])
    assert named["gen_ai.operation.name"] == "chat" and named["gen_ai.provider.name"] == "openai"
    assert named["gen_ai.request.model"] == "small" and named["gen_ai.usage.input_tokens"] == 100
    assert calls[0].status.code == ERROR and calls[1].status.code == 0
    assert about(root)["gen_ai.agent.name"] == "openai:small" and about(root)["souk.choice"] == "lamp-1"
    assert failed[0].status.code == ERROR and failed[0].status.message == "shop: 500"


def test_no_secret_is_in_any_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", "lamp-secret-of-lab")
    made = shopper()
    made.steps[1]["thought"] = "It says lamp-secret-of-lab here."
    records = stored(sqlite(tmp_path), [made])
    traced = read_trial(records, RUN, ID)
    write_playwright_trace(traced, tmp_path / "t.zip")
    texts = [trial_line(traced), har_text(traced), ZipFile(tmp_path / "t.zip").read("trace.trace").decode()]
    for text in texts:
        assert "shop.example/login?session_id=[removed]&page=2" in text
        for secret in ("hunter22", "abc123", "me:secret", "lamp-secret-of-lab"):
            assert secret not in text


@given(st.text(max_size=40), st.text("abz09", min_size=1, max_size=9))
def test_values_of_secret_parameters_go_and_all_else_stays(text: str, value: str) -> None:
    clean = Cleaner().text
    assert (
        clean(f"https://a.example/?page=2&api_key={value}#top")
        == "https://a.example/?page=2&api_key=[removed]#top"
    )
    if not {*"@&;?#"} & {*text}:
        assert clean(text) == text


def test_an_archive_has_what_the_format_asks_for(tmp_path: Path) -> None:
    records = stored(sqlite(tmp_path), [shopper()])
    log = json.loads(har_text(read_trial(records, RUN, ID)))["log"]
    assert log["version"] == "1.2" and {"name", "version"} <= log["creator"].keys()
    assert [page["id"] for page in log["pages"]] == [entry["pageref"] for entry in log["entries"]]
    for entry in log["entries"]:
        assert {"startedDateTime", "time", "request", "response", "cache", "timings"} <= entry.keys()
        for part, own in (
            ("request", ("method", "queryString")),
            ("response", ("status", "content", "redirectURL")),
        ):
            assert {*own, "httpVersion", "cookies", "headers", "headersSize", "bodySize"} <= entry[
                part
            ].keys()
    assert log["entries"][0]["request"]["queryString"][1] == {"name": "page", "value": "2"}
    (light := shopper()).steps.clear()
    with pytest.raises(UserError, match="its pages were not kept"):
        har_text(read_trial(stored(sqlite(tmp_path / "light"), [light]), RUN, ID))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(driver))
        yield browser
        browser.close()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.browser
def test_the_viewer_of_playwright_shows_the_steps(tmp_path: Path, browser: Any) -> None:
    (tmp_path / "viewer").symlink_to(VIEWER)
    write_playwright_trace(read_trial(stored(sqlite(tmp_path), [shopper()]), RUN, ID), tmp_path / "t.zip")
    with serving(tmp_path) as address:
        page = browser.new_page()
        page.goto(f"{address}/viewer/index.html?trace={address}/t.zip")
        steps = page.locator(".action-title")
        steps.nth(1).wait_for()
        assert [each.inner_text().splitlines()[0] for each in steps.all()] == [
            "fill('3', '[removed]')",
            "click('7')",
        ]
        steps.nth(1).click()
        shown = page.frame_locator("iframe.snapshot-visible")
        shown.locator(".souk-edited", has_text="Best of all lamps").wait_for()
        shown.locator(".souk-acted", has_text="Add to Cart").wait_for()
        page.get_by_text("Log", exact=True).click()
        page.get_by_text("thought: I like lamp 1.").wait_for()
        page.get_by_text("Errors", exact=False).first.click()
        page.get_by_text("the field is gone").first.wait_for()
        page.close()


@pytest.mark.browser
def test_an_archive_is_served_as_pages_by_playwright(tmp_path: Path, browser: Any) -> None:
    told = json.loads(har_text(read_trial(stored(sqlite(tmp_path), [shopper()]), RUN, ID)))
    for entry in told["log"]["entries"]:
        entry["response"]["status"] = 200  # it is not stored, and Playwright serves nothing without it
    (tmp_path / "t.har").write_text(json.dumps(told))
    page = browser.new_page()
    page.route_from_har(tmp_path / "t.har", not_found="abort")
    page.goto(told["log"]["entries"][1]["request"]["url"])
    assert page.locator("h2").inner_text() == "Best of all lamps"
    page.close()


def test_a_page_that_is_very_deep_is_written(tmp_path: Path) -> None:
    deep = PAGE + "<div>" * 5_000 + "deep"
    records = stored(sqlite(tmp_path), [record(trial(1), deep)])
    write_playwright_trace(read_trial(records, RUN, ID), tmp_path / "t.zip")
