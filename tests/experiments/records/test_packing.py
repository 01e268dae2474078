"""Pages that a shop sent are packed by what they share, and come back whole, in SQLite and PostgreSQL."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql
from hypothesis import given
from hypothesis import strategies as st

from experiments.records import tables
from experiments.records.integrity.check import check_database
from experiments.records.integrity.deletion import delete_run
from experiments.records.integrity.upkeep import repair
from experiments.records.packing import DEEPEST, Packer, StoredBases, Unpacker, depth_of
from experiments.records.record import TrialRecord, artifact_hash
from experiments.records.store import Records
from experiments.records.writer import kept
from tests.experiments.records.test_store import a_record, some_facts

LONG = "".join(f"<p>{number**3} things in the shop</p>" for number in range(600))


def sent(trial: str, pages: dict[str, str], run: str = "r-1") -> TrialRecord:
    """A trial to which a shop has sent these pages, by address."""
    texts = {artifact_hash(text): text for text in [*pages.values(), "given", "site"]}
    rows = [
        {
            "number": number, "step": 0, "url": url, "body": artifact_hash(text),
            "given": artifact_hash("given"), "site": artifact_hash("site"), "page_hash_after": "0",
        }
        for number, (url, text) in enumerate(pages.items())
    ]  # fmt: skip
    record = a_record(trial, run=run)
    return replace(record, sent_pages=rows, artifacts=record.artifacts | texts)


def page(product: str, visitor: str) -> str:
    """A page of a shop: most of it is the same for all products, and nearly all for all visitors."""
    own = artifact_hash(product) * 20
    return f"<h1>{product}</h1>{own}{LONG}<input value='{artifact_hash(visitor)}'>"


def packed(records: Records) -> dict[str, bytes]:
    with records.engine.connect() as connection:
        return {name: data for name, data in connection.execute(sql.select(tables.artifacts))}


def names(*pages: str) -> list[str]:
    return [artifact_hash(each) for each in pages]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text()), max_size=8), st.integers(0, 8))
def test_whatever_is_packed_comes_back(pages: list[tuple[str, str]], restart: int) -> None:
    stored: dict[str, tuple[str, bytes]] = {}
    unpacker, before = Unpacker(lambda name: stored[name][1]), StoredBases([])
    for number, (url, text) in enumerate(pages):
        if number == restart:  # a process that begins with what is stored
            unpacker = Unpacker(lambda name: stored[name][1])
            before = StoredBases((where, name, data[:17]) for name, (where, data) in stored.items())
        name = artifact_hash(text)
        if name not in stored:
            stored[name] = url, before.pack(Packer(), unpacker, url, name, text)
    reader = Unpacker(lambda name: stored[name][1])
    for _, text in pages:
        name = artifact_hash(text)
        assert depth_of(stored[name][1]) <= DEEPEST
        assert reader.text(name, stored[name][1]) == text


def test_bases_that_lead_to_each_other_lead_nowhere() -> None:
    one, other = names("one", "other")
    data = {
        name: bytes([1]) + bytes.fromhex(base) + Packer().pack("text")
        for name, base in ((one, other), (other, one))
    }
    unpacker = Unpacker(data.get)
    assert [unpacker.text(name, data[name]) for name in (one, other)] == [None, None]
    assert unpacker.text(one, bytes([2]) + data[one][1:]) is None
    assert unpacker.text(one, bytes([2, 0])) is None


@pytest.mark.thorough
def test_pages_are_packed_with_the_first_one_at_their_address(records: Records) -> None:
    records.begin_run("r-1", "r", some_facts())
    first, other, again, later = (
        *(page("oats", "anna"), page("rye", "anna")),
        *(page("oats", "ben"), page("oats", "carl")),
    )
    records.save(sent("t1", {"/oats": first, "/rye": other}))
    records.save(sent("t2", {"/oats": again}))
    fresh = Records(records.engine.url.render_as_string(hide_password=False))
    fresh.save(sent("t3", {"/oats": later}))
    data = packed(fresh)
    sizes = [len(data[name]) for name in names(first, other, again, later)]
    assert [depth_of(data[name]) for name in names(first, other, again, later)] == [0, 1, 1, 1]
    assert sizes[0] > 10 * sizes[1] > 10 * sizes[2]
    records.save(sent("t4", {"/rye": page("rye", "ben")}))
    assert depth_of(packed(fresh)[artifact_hash(page("rye", "ben"))]) == 2
    for text in (first, other, again, later, page("rye", "ben")):
        assert fresh.artifact(artifact_hash(text)) == text
    fresh.close()


def test_a_transaction_that_fails_leaves_no_base(records: Records) -> None:
    records.begin_run("r-1", "r", some_facts())
    broken = sent("t1", {"/oats": page("oats", "anna")})
    broken.options[0]["name"] = object()
    with pytest.raises(Exception, match="object"):
        records.save(broken)
    records.save(sent("t2", {"/oats": page("oats", "ben")}))
    assert records.artifact(artifact_hash(page("oats", "ben"))) == page("oats", "ben")


def test_a_base_goes_with_the_last_run_that_needs_it(records: Records) -> None:
    for run in ("r-1", "r-2"):
        records.begin_run(run, "r", some_facts())
    first, other, shared = page("oats", "anna"), page("rye", "anna"), page("rye", "ben")
    records.save(sent("t1", {"/oats": first, "/rye": other}))
    records.save(sent("t2", {"/rye": shared}))
    records.save(sent("t3", {"/rye": shared}, run="r-2"))
    deleted = delete_run(records, "r-1")
    assert deleted == 0, "the page of the other run needs both"
    assert records.artifact(artifact_hash(shared)) == shared
    assert delete_run(records, "r-2") == len(names(first, other, shared, "given", "site", "page"))
    assert packed(records) == {}


@pytest.mark.parametrize("trace", ["light", "none"])
def test_only_the_full_trace_keeps_what_was_sent(trace: str) -> None:
    record = kept(sent("t1", {"/oats": page("oats", "anna")}), trace)  # type: ignore[arg-type]
    assert (record.sent_pages, record.artifacts) == ([], {})


def test_what_is_damaged_is_found_and_repaired(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    records = Records(url)
    records.begin_run("r-1", "r", some_facts())
    first, other = page("oats", "anna"), page("rye", "anna")
    records.save(sent("t1", {"/oats": first, "/rye": other}))
    records.close()
    assert all(each.ok for each in check_database(url, lambda *_: None))
    records = Records(url)
    with records.writing() as connection:
        damaged = tables.artifacts.update().where(tables.artifacts.c.hash == artifact_hash(first))
        connection.execute(damaged.values(data=b"no page"))
    records.close()
    (pages,) = [each for each in check_database(url, lambda *_: None) if each.name == "pages"]
    assert not pages.ok
    assert all(name in pages.found for name in names(first, other)), "and what was packed with it"
    assert repair(url, lambda *_: None).found.lost == 0
    records = Records(url)
    for name in names(first, other):
        with pytest.raises(KeyError):
            records.artifact(name)
    records.save(sent("t2", {"/oats": first, "/rye": page("rye", "ben")}))
    assert records.artifact(artifact_hash(first)) == first, "it was sent again"
    assert records.artifact(artifact_hash(page("rye", "ben"))) == page("rye", "ben")
    records.close()
