"""Whatever comes as a report of a guest's page, with the session's key: taken, or it fails the trial."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from environments.action.acts import BEGIN
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.guest_trial import GuestTrial
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.subjects.guests import TrialDispenser
from tests.environments.action.test_acts import REPORT as TOLD
from tests.environments.observation.test_reports import REPORT
from tests.experiments.foreign_shop import ForeignShop, design, experiment
from tests.mutations import as_json, changed, damaged
from tests.support import size

URL = "http://shop.test/harbour-desk-lamp.html"
WHOLE = {**REPORT, "at": "/harbour-desk-lamp.html"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield experiment(tmp_path_factory.mktemp("shop"), ForeignShop(), "http://shop.test/")


def welcomed(made: ShopDesign, ended: list[TrialRecord]) -> GuestTrial:
    """A guest of the first trial."""
    trials = made.trials(["tester"])
    dispenser = TrialDispenser(made, trials, "http://shop.test/", ended.append, lambda _: True, reverse=True)
    guest = dispenser.welcome()
    assert guest is not None
    return guest


def store(made: ShopDesign, record: TrialRecord) -> None:
    records = Records("sqlite://")
    records.begin_run(made.run_id, made.name, made.facts(["tester"]))
    records.save(record)
    records.close()


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(15, 2_000))
@given(changed(WHOLE).map(as_json) | damaged(as_json(WHOLE)), st.booleans())
@example(as_json({**WHOLE, "at": "//["}), True)
async def test_any_report_is_taken_or_fails_the_trial(file: Path, body: bytes, fits: bool) -> None:
    made, ended = design(file), list[TrialRecord]()
    guest = welcomed(made, ended)
    number = len(guest.wanted.spots)
    if fits:
        body = body.replace(as_json(WHOLE["found"]), as_json((WHOLE["found"] * number)[:number]))
    guest.reported(URL, guest.session.key.encode() + body)
    guest.gave_up()
    (record,) = ended
    store(made, record)


ACTS = as_json(TOLD).replace(b'{"acts": ', BEGIN, 1)


@pytest.mark.slow
@settings(max_examples=size(15, 2_000))
@given(
    st.lists(
        changed(TOLD).map(as_json).map(lambda body: body.replace(b'{"acts": ', BEGIN, 1)) | damaged(ACTS)
    )
)
@example([ACTS.replace(b'"href": ""', b'"href": "http://["'), ACTS.replace(b'"at": "/', b'"at": "//[')])
async def test_whatever_pages_tell_of_acts_the_steps_can_be_stored(file: Path, bodies: list[bytes]) -> None:
    made, ended = design(file), list[TrialRecord]()
    guest = welcomed(made, ended)
    guest.opened(URL, shown=True)
    for body in (ACTS, *bodies):
        guest.reported(URL, guest.session.key.encode() + body)
    guest.gave_up()
    (record,) = ended
    assert [row["step"] for row in record.steps] == [*range(len(record.steps))]
    assert all(row["seconds"] >= 0 for row in record.steps)
    assert {hit["step"] for hit in record.hits} <= {row["step"] for row in record.steps if row["action"]}
    assert len(record.hits) >= 1, "that of the report that is right"
    store(made, record)
