"""Recordings of strangers: whatever their files hold, one line says what is wrong, or they are replayed."""

import json
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from interventions.errors import UserError
from proxy.recording import Recording
from proxy.server import run_proxy
from tests.mutations import as_json, changed, damaged
from tests.proxy.test_decoding import CODINGS
from tests.proxy.test_fuzz import raw
from tests.proxy.test_strange_requests import Errors
from tests.proxy.upstream import PAGE, session
from tests.support import pages, size


def packed(_: Request) -> Response:
    return Response(
        CODINGS["gzip"](PAGE.encode()), headers={"content-encoding": "gzip"}, media_type="text/html"
    )


@pytest.fixture(scope="module")
async def recorded(ca_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A recording of some pages, and the address of the shop that made them."""
    folder = tmp_path_factory.mktemp("recorded")
    answers = {
        "/oats.html": packed,
        "/rye.html": HTMLResponse(PAGE, headers={"set-cookie": "a=1", "x-odd": "\xe9"}),
        "/away": RedirectResponse("/rye.html"),
        "/cart": Response(status_code=204),
    }
    async with pages(answers) as url, run_proxy(ca_dir, record=folder) as proxy:
        slot = await proxy.open_slot()
        slot.session = session(url)
        async with httpx.AsyncClient(proxy=slot.url, trust_env=False) as client:
            for path in answers:
                await client.get(url + path[1:])
            await client.post(url + "cart", data={"product": "1"})
            await client.get(url + "good.html")
    return folder, url


@st.composite
def indices(draw: st.DrawFn, index: bytes) -> bytes:
    """The lines of an index, some of them damaged."""
    if draw(st.booleans()):
        return draw(damaged(index))
    lines = index.splitlines()
    number = draw(st.integers(0, len(lines) - 1))
    lines[number] = as_json(draw(changed(json.loads(lines[number]))))
    return b"\n".join(lines) + b"\n"


def told(folder: Path, error: UserError) -> None:
    assert str(error).startswith(f"{folder}")
    assert "\n" not in str(error)


@pytest.mark.slow
@settings(max_examples=size(40, 4_000))
@given(data=st.data())
def test_any_index_is_read_or_refused(recorded: tuple[Path, str], data: st.DataObject) -> None:
    index = (recorded[0] / "index.jsonl").read_bytes()
    with TemporaryDirectory() as name:
        (folder := Path(name)).joinpath("index.jsonl").write_bytes(data.draw(indices(index)))
        try:
            answers = Recording(folder).answers()
        except UserError as error:
            told(folder, error)
        else:
            for answer in answers:
                with suppress(OSError, ValueError, zstandard.ZstdError):
                    Recording(folder).read(answer)


@pytest.mark.slow
@settings(max_examples=size(15, 1_500))
@given(data=st.data())
async def test_any_recording_is_replayed_or_refused(recorded: tuple[Path, str], ca_dir, data) -> None:
    source, url = recorded
    with TemporaryDirectory() as name:
        folder = Path(name, "recording")
        shutil.copytree(source, folder)
        index = folder / "index.jsonl"
        *lines, good = index.read_bytes().splitlines(keepends=True)
        paths = [json.loads(line)["url"].removeprefix(url) for line in lines]
        if data.draw(st.booleans()):
            lines = [data.draw(indices(b"".join(lines)))]
        kept = json.loads(good)["body"]
        for body in sorted((folder / "bodies").iterdir()):
            if data.draw(st.booleans()) and body.stem != kept:
                body.write_bytes(data.draw(damaged(body.read_bytes()) | st.binary().map(zstandard.compress)))
        index.write_bytes(b"".join(lines) + b"\n" * (not lines[-1].endswith(b"\n")) + good)
        errors = Errors()
        logging.getLogger().addHandler(errors)
        try:
            async with run_proxy(ca_dir, replay=folder) as proxy:
                slot = await proxy.open_slot()
                slot.session = session(url)
                for path in paths:
                    answer = await raw(slot, url + path)
                    assert b"HTTP/1.1 500" not in answer
                assert (await raw(slot, url + "good.html")).startswith(b"HTTP/1.1 404")
        except UserError as error:
            told(folder, error)
        finally:
            logging.getLogger().removeHandler(errors)
        assert errors.lines == []
