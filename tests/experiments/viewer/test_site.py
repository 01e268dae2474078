"""A site of trials: every link leads somewhere, each trial is reached, nothing needs a script or a server."""

import csv
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from experiments.records.reading.notes import write_note
from experiments.records.reading.trial_search import Selection
from experiments.records.store import Records
from experiments.viewer import site
from experiments.viewer.site import write_site, write_trial
from experiments.viewer.site_address import SiteAddress
from interventions.errors import UserError
from tests.experiments.viewer.made_run import RUN, record, sqlite, stored, trial

MADE = [trial(number, **({"agent": "other"} if number == 7 else {})) for number in range(10)]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return stored(sqlite(tmp_path_factory.mktemp("site")), [record(row) for row in MADE])


def quiet(what: str, done: int, total: int) -> None:
    """Tell nobody."""


def write(records: Records, folder: Path, **query: str) -> tuple[int, int, int]:
    return write_site(records, Selection.of(RUN, query), folder, quiet)


def linked(folder: Path, first: str = "index.html") -> dict[str, LexborHTMLParser]:
    """The pages that the first one leads to, by their paths; each link must lead to a place in a file."""
    found: dict[str, LexborHTMLParser] = {}
    waiting = [folder / first]
    while waiting:
        path = waiting.pop().resolve()
        name = path.relative_to(folder.resolve()).as_posix()
        if name in found:
            continue
        found[name] = page = LexborHTMLParser(path.read_text())
        assert not page.css("script, link, form, base"), name
        for link in page.css("a[href]"):
            address = urlsplit(link.attributes["href"] or "")
            assert not address.scheme and not address.netloc and not address.query
            target = (path.parent / unquote(address.path)) if address.path else path
            assert target.is_file(), (name, link.html)
            if address.fragment and address.fragment != "main":
                assert LexborHTMLParser(target.read_text()).css_first(f"#{address.fragment}"), link.html
            waiting += [target] if target.suffix == ".html" else []
    return found


@pytest.mark.thorough
def test_every_page_is_reached_and_every_link_leads_to_one(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "ROWS", 3)  # so that lists have several pages
    trials, files, size = write(records, tmp_path / "site")
    found = linked(tmp_path / "site")
    there = [path for path in (tmp_path / "site").rglob("*") if path.is_file() and path.name != site.CONTENTS]
    assert trials == len(MADE)
    assert files == len(there) == len(found) + 1, "all are linked; the table is no page"
    assert size == sum(path.stat().st_size for path in there)
    assert {f"trials/{row.trial}.html" for row in MADE} <= found.keys()
    table = list(csv.DictReader((tmp_path / "site/trials.csv").open()))
    assert [row["trial_url"] for row in table] == [f"trials/{row.trial}.html" for row in MADE]
    listed = [page for name, page in found.items() if name.startswith("lists/condition-nudged")]
    rows = [row for page in listed for row in page.css("tbody tr")]
    assert len(rows) == sum(row.condition == "nudged" for row in MADE)


def test_a_trial_shows_all_its_steps_as_the_server_does(records: Records, tmp_path: Path) -> None:
    write(records, tmp_path / "site")
    page = (tmp_path / f"site/trials/{MADE[1].trial}.html").read_text()
    for text in ("I like lamp 1.", "Best of all lamps", "click(&#39;7&#39;)", "Step 1 of 1", "Add to Cart"):
        assert text in page
    tree = LexborHTMLParser(page)
    frames = tree.css("iframe")
    assert [frame.attributes["sandbox"] for frame in frames] == [None]
    assert "default-src 'none'" in (tree.css_first("meta[http-equiv]").attributes["content"] or "")


@pytest.mark.thorough
def test_a_part_of_the_trials_says_so(records: Records, tmp_path: Path) -> None:
    assert write(records, tmp_path / "site", agent="simulated:balanced", condition="nudged")[0] == 4
    found = linked(tmp_path / "site")
    assert "4 of its 10 trials: agent=simulated:balanced, condition=nudged" in found["index.html"].text()
    taken = {row.trial for row in MADE if row.condition == "nudged" and row.agent == "simulated:balanced"}
    assert {name for name in found if name.startswith("trials/") and "twin" not in name} == {
        f"trials/{trial}.html" for trial in taken
    }
    with pytest.raises(UserError, match="no trial is agent=none"):
        write(records, tmp_path / "other", agent="none")
    assert not (tmp_path / "other").exists()


def test_tags_have_lists(tmp_path: Path) -> None:
    made = stored(sqlite(tmp_path), [record(row) for row in MADE])
    for number, tags in ((1, "odd, price read"), (2, "odd"), (3, "")):
        write_note(made, RUN, MADE[number].trial, tags, "seen")
    write(made, tmp_path / "site")
    lists = {name: page for name, page in linked(tmp_path / "site").items() if name.startswith("lists/tag-")}
    assert sorted(len(page.css("tbody tr")) for page in lists.values()) == [1, 2, 8], "the last are of no tag"


@pytest.mark.thorough
@pytest.mark.slow
def test_a_later_site_takes_the_place_of_the_earlier_and_of_nothing_else(
    records: Records, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    write(records, folder)
    (folder / "CNAME").write_text("lamps.example")
    with (folder / site.CONTENTS).open("a") as contents:
        contents.write("CNAME\n../outside.html\n")
    (tmp_path / "outside.html").write_text("mine")
    write(records, folder, set="lamps-0")
    linked(folder)
    assert len(list((folder / "trials").glob("*[0-9].html"))) == 4
    assert (folder / "CNAME").exists() and (tmp_path / "outside.html").exists()
    (other := tmp_path / "other").mkdir()
    (other / "thesis.html").write_text("mine")
    with pytest.raises(UserError, match="not empty"):
        write(records, other)
    assert [path.name for path in other.iterdir()] == ["thesis.html"]


def test_a_trial_is_one_file(records: Records, tmp_path: Path) -> None:
    size = write_trial(records, RUN, MADE[3].trial, tmp_path / "trial.html")
    assert size == (tmp_path / "trial.html").stat().st_size
    assert list(linked(tmp_path, "trial.html")) == ["trial.html"]
    with pytest.raises(UserError, match="no such trial"):
        write_trial(records, RUN, "none", tmp_path / "none.html")


def test_ids_and_names_of_strangers_stay_in_the_folder(tmp_path: Path) -> None:
    evil = "../../x<script>'\"&?#%2e"
    row = trial(1, trial=evil, set=evil, agent=evil, nudge=evil, condition="..", family="/")
    records = stored(sqlite(tmp_path), [record(row), record(trial(2, trial="CON"))])
    write(records, tmp_path / "a" / "site")
    assert len([name for name in linked(tmp_path / "a" / "site") if name.startswith("trials/")]) == 2
    assert {path.name for path in tmp_path.iterdir()} - {"t.db-wal", "t.db-shm"} == {"a", "t.db"}


@pytest.mark.thorough
@pytest.mark.slow
def test_a_site_is_named_from_where_the_link_stands(records: Records, tmp_path: Path) -> None:
    write(records, tmp_path / "the site", set="lamps-0")
    here = SiteAddress(str(tmp_path / "the site"), tmp_path / "reports")
    assert here.first_page() == "../the%20site/index.html"
    inside, outside = MADE[0].trial, MADE[9].trial
    assert here.of_trials([inside, outside]) == [f"../the%20site/trials/{inside}.html", ""]
    write(records, tmp_path / "the site")
    nudged = here.of_list(Selection(RUN, {"condition": "nudged"}))
    page = LexborHTMLParser((tmp_path / "reports" / unquote(nudged)).resolve().read_text())
    assert len(page.css("tbody tr")) == 5
    assert here.of_list(Selection(RUN, {"condition": "placebo"})) == ""
    web = SiteAddress("https://lab.example/site/", tmp_path)
    assert web.of_trials([outside]) == [f"https://lab.example/site/trials/{outside}.html"]
    assert web.of_list(Selection(RUN, {"condition": "nudged"})) == "", "nobody knows whether it is there"
    with pytest.raises(UserError, match="no site is there"):
        SiteAddress("javascript:alert(1)", tmp_path)
