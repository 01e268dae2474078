"""Archives of strangers, who give what they have changed its right hash: verified, or refused in one line."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.bundles.bundle import archive, make_bundle
from experiments.bundles.verify import differing, verify_bundle
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.bundles.test_bundle import forge, members_of
from tests.experiments.running import HOTELS, run_here
from tests.mutations import as_json, changed, damaged
from tests.support import size


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("study")
    (folder / "x.yaml").write_text(HOTELS)
    run_here("x.yaml", folder)
    records = Records(f"sqlite:///{folder}/t.db")
    try:
        return make_bundle(records, records.latest_run())
    finally:
        records.close()


def verified_or_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        found = verify_bundle(path, 1e-9)
    except UserError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)
    else:
        assert all(isinstance(line, str) for line in found.differences)


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(15, 2_000))
@given(data=st.data())
def test_damaged_bytes(content: bytes, data: st.DataObject) -> None:
    """Everywhere: also in the directory at the end, by which a zip file is read."""
    start = data.draw(st.sampled_from([0, content.index(b"PK\x01\x02"), len(content) - 22]))
    with TemporaryDirectory() as folder:
        verified_or_refused(Path(folder, "a.zip"), content[:start] + data.draw(damaged(content[start:])))


@pytest.mark.slow
@settings(max_examples=size(3, 300))
@given(data=st.data())
def test_members_with_their_right_hashes(content: bytes, data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.zip").write_bytes(content)
        members = members_of(folder / "a.zip")
        several = data.draw(st.sets(st.sampled_from(sorted(members)), min_size=1, max_size=2))
        for member in sorted(several, key=lambda name: name == "manifest.json"):
            whole = members[member]
            json_or_bytes = (
                changed(json.loads(whole)).map(as_json) if member.endswith(".json") else damaged(whole)
            )
            if member == "manifest.json":
                members[member] = data.draw(json_or_bytes)
            else:
                forge(members, member, data.draw(json_or_bytes))
        verified_or_refused(folder / "b.zip", archive(members))


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e400", "NaN"])
def test_numbers_that_are_none_differ(number: str) -> None:
    then = json.loads(f'{{"a": {number}}}')
    (line,) = differing(then, {"a": 1.0}, 1e-9)
    assert line.startswith("a: ")


def test_what_may_have_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe", tmp_path):
        with pytest.raises(UserError, match="not a file of a disk"):
            verify_bundle(path, 1e-9)
