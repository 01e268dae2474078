"""The steps of a guest are the pages that it opened, in every condition, with the time spent on each."""

from experiments.episodes.guest_trial import Opened, trace_of
from experiments.records.record import artifact_hash
from proxy.session import ShownPage


def page(url: str, text: str, *, drawn: bool = False) -> ShownPage:
    return ShownPage(url, "text/html", text.encode(), None, drawn=drawn)


def test_each_page_that_was_opened_is_a_step_with_the_time_until_the_next() -> None:
    opened = [Opened("http://shop/a", 0.5), Opened("http://shop/b", 2.0), Opened("http://shop/a", 2.25)]
    pages = [
        *(page("http://shop/a", "<p>first</p>"), page("http://shop/data.json", "{}")),
        *(page("http://shop/a", "<p>again</p>"), page("http://shop/frame", "<p>frame</p>")),
    ]
    steps, artifacts = trace_of(opened, pages, 7.25)
    assert [(row["step"], row["url"], row["seconds"]) for row in steps] == [
        (0, "http://shop/a", 1.5),
        (1, "http://shop/b", 0.25),
        (2, "http://shop/a", 5.0),
    ]
    assert [row["observation"] and artifacts[row["observation"]] for row in steps] == [
        "<p>first</p>",
        None,
        "<p>again</p>",
    ]
    assert artifacts.keys() == {artifact_hash("<p>first</p>"), artifact_hash("<p>again</p>")}


def test_a_page_that_scripts_draw_is_kept_as_it_was_drawn() -> None:
    pages = [page("http://shop/a", "<p></p>"), page("http://shop/a", "<p>drawn</p>", drawn=True)]
    (step,), artifacts = trace_of([Opened("http://shop/a", 0.0)], pages, 1.0)
    assert artifacts[step["observation"]] == "<p>drawn</p>"


def test_where_nothing_is_planned_the_pages_are_known_all_the_same() -> None:
    (step,), artifacts = trace_of([Opened("http://shop/a", 0.0)], [], 1.0)
    assert (step["url"], step["observation"], step["action"], artifacts) == ("http://shop/a", None, "", {})


def test_who_opens_nothing_has_no_steps() -> None:
    assert trace_of([], [page("http://shop/frame", "<p></p>")], 1.0) == ([], {})
