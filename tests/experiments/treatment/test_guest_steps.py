"""The steps of a guest: pages that it opened, and what was done on them, in every condition, with times."""

from dataclasses import replace

from environments.action.acts import Act, Acts
from environments.action.pointer import Hit
from experiments.records.record import artifact_hash
from experiments.treatment.guest_steps import GuestSteps, PageNotice, PageVisit, guest_steps
from proxy.shown_page import ShownPage

AHEAD = 1_700_000_000.0
"""By how much a guest's clock is ahead, in seconds: it counts from another moment."""


def page(url: str, text: str, *, drawn: bool = False) -> ShownPage:
    return ShownPage(url, "text/html", text.encode(), None, drawn=drawn)


def test_each_page_that_was_opened_is_a_step_with_the_time_until_the_next() -> None:
    opened = [
        PageVisit("http://shop/a", 0.5),
        PageVisit("http://shop/b", 2.0),
        PageVisit("http://shop/a", 2.25),
    ]
    pages = [
        *(page("http://shop/a", "<p>first</p>"), page("http://shop/data.json", "{}")),
        *(page("http://shop/a", "<p>again</p>"), page("http://shop/frame", "<p>frame</p>")),
    ]
    steps = guest_steps(opened, [], pages, 7.25)
    assert [(row["step"], row["url"], row["action"], row["seconds"]) for row in steps.rows] == [
        (0, "http://shop/a", "", 1.5),
        (1, "http://shop/b", "", 0.25),
        (2, "http://shop/a", "", 5.0),
    ]
    assert [row["observation"] and steps.artifacts[row["observation"]] for row in steps.rows] == [
        "<p>first</p>",
        None,
        "<p>again</p>",
    ]
    assert steps.artifacts.keys() == {artifact_hash("<p>first</p>"), artifact_hash("<p>again</p>")}
    assert (steps.count, steps.first) == (3, [0, 1, 2])


def test_a_page_that_scripts_draw_is_kept_as_it_was_drawn() -> None:
    pages = [page("http://shop/a", "<p></p>"), page("http://shop/a", "<p>drawn</p>", drawn=True)]
    steps = guest_steps([PageVisit("http://shop/a", 0.0)], [], pages, 1.0)
    assert steps.artifacts[steps.rows[0]["observation"]] == "<p>drawn</p>"


def test_where_nothing_is_planned_the_pages_are_known_all_the_same() -> None:
    steps = guest_steps([PageVisit("http://shop/a", 0.0)], [], [], 1.0)
    (step,) = steps.rows
    assert (step["url"], step["observation"], step["action"], steps.artifacts) == (
        "http://shop/a",
        None,
        "",
        {},
    )


def test_who_opens_nothing_has_no_steps() -> None:
    steps = guest_steps([], [], [page("http://shop/frame", "<p></p>")], 1.0)
    assert (steps.rows, steps.artifacts, steps.count, steps.at(3.0)) == ([], {}, 0, 0)


class Guest:
    """Tells of acts as pages do, each in a report of its own; times are in seconds of the trial."""

    def __init__(self) -> None:
        self.told: list[PageNotice] = []
        self.opened: list[PageVisit] = []

    def tell(self, at: float, visit: float, act: Act) -> None:
        when = (at + AHEAD) * 1000
        acts = Acts(visit, when, (replace(act, when=when, start=(act.start + AHEAD) * 1000),))
        self.told.append(PageNotice("http://shop", acts, at))

    def comes(self, at: float, visit: float, path: str, *, came: bool = True, **more: object) -> None:
        if came:
            self.opened.append(PageVisit(f"http://shop{path}", at - 0.1))
        told = {"how": "navigate", "linked": False, "shown": True, "start": at - 0.2, **more}
        self.tell(at, visit, Act(kind="page", when=0, path=path, **told))  # type: ignore[arg-type]

    def does(self, at: float, visit: float, path: str, kind: str, **more: object) -> None:
        self.tell(at, visit, Act(kind=kind, when=0, path=path, **more))  # type: ignore[arg-type]

    def clicks(self, at: float, visit: float, path: str, href: str = "", button: str = "left") -> None:
        hit = Hit(10.0, 900.0, "a", "Next", href=href)
        self.does(at, visit, path, "click", hit=hit, button=button)

    def steps(self, end: float = 60.0) -> GuestSteps:
        return guest_steps(self.opened, self.told, [], end)

    def did(self) -> list[tuple[str, str]]:
        return [(row["url"].removeprefix("http://shop"), row["action"]) for row in self.steps().rows]


def test_a_step_is_a_look_and_what_was_done_then() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    guest.does(2, 0.1, "/a", "scroll", top=300.0)
    guest.clicks(4, 0.1, "/a", href="/b")
    guest.does(4.5, 0.1, "/a", "leave")
    guest.comes(5, 0.2, "/b", start=4.1, linked=True)
    guest.does(5.5, 0.2, "/b", "leave")
    guest.comes(6, 0.3, "/c", start=5.2)
    steps = guest.steps(end=9)
    assert guest.did() == [
        ("/a", "scroll(0.0, 300.0)"),
        ("/a", "mouse_click(10.0, 900.0)"),
        ("/b", "goto('http://shop/c')"),
        ("/c", ""),
    ]
    assert [round(row["seconds"], 6) for row in steps.rows] == [1, 3, 1, 3]
    assert [(step, hit.text) for step, hit in steps.hits] == [(1, "Next")]
    assert (steps.count, steps.first) == (3, [0, 2, 3])
    assert [steps.at(moment) for moment in (0, 1.5, 3.9, 100)] == [0, 0, 1, 3]


def test_an_edit_is_in_view_until_the_next_look_and_while_its_page_is_looked_at() -> None:
    guest = Guest()
    guest.comes(0, 0.1, "/a")
    guest.comes(10, 0.2, "/b")
    guest.does(10, 0.1, "/a", "hidden")  # a tab that is not looked at any more
    guest.does(13, 0.2, "/b", "hidden")
    guest.does(15, 0.2, "/b", "visible")
    guest.does(16, 0.1, "/a", "visible")
    guest.does(16, 0.2, "/b", "hidden")
    guest.does(18, 0.1, "/a", "scroll", top=900.0)
    guest.does(19, 0.1, "/a", "hidden")  # until the end
    steps = guest.steps(end=30)
    assert [(row["url"][-2:], row["seconds"]) for row in steps.rows] == [
        ("/a", 10), ("/b", 6), ("/a", 2), ("/a", 12),
    ]  # fmt: skip
    assert steps.away == [0, 2, 0, 11]

    def seen(*places: tuple[int, str, str]) -> float | None:
        rows = [
            {"step": step, "product": edit, "intervention": "one", "edit": "badge", "role": "", "why": why}
            for step, edit, why in places
        ]
        return steps.seen_seconds(rows)

    assert seen() is None
    assert seen((0, "a", "out of view")) is None
    assert seen((0, "a", "")) == 13  # all of /a, but for the time away
    assert seen((0, "a", ""), (3, "a", "out of view")) == 12
    assert seen((3, "a", "")) == 1
    assert seen((0, "a", ""), (1, "b", "")) == 4
    # The edit that was in view for the shortest time counts; one that never was, is told elsewhere.
    assert seen((0, "a", ""), (0, "other", "out of view"), (3, "other", ""), (3, "a", "")) == 1
    assert seen((0, "a", ""), (0, "never", "out of view")) == 13


def test_scrolling_that_goes_on_is_one_step() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    for number in range(1, 4):
        guest.does(2 + number / 10, 0.1, "/a", "scroll", top=100.0 * number)
    guest.does(9, 0.1, "/a", "scroll", top=250.0)
    assert [action for _, action in guest.did()] == ["scroll(0.0, 300.0)", "scroll(0.0, -50.0)", ""]


def test_tabs_are_numbered_as_they_were_opened() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    guest.clicks(2, 0.1, "/a", href="/b", button="middle")
    guest.comes(3, 0.2, "/b", linked=True, shown=False)  # in the background
    guest.does(4, 0.1, "/a", "scroll", top=10.0)
    guest.does(5, 0.2, "/b", "visible")
    guest.does(6, 0.1, "/a", "visible")
    guest.clicks(7, 0.1, "/a", href="/c")
    guest.comes(8, 0.3, "/c", linked=True)  # in a tab of its own
    guest.does(
        9, 0.2, "/b", "scroll", top=10.0
    )  # a browser without a window says of no tab that it is looked at
    assert guest.did() == [
        ("/a", "mouse_click(10.0, 900.0, 'middle')"),
        ("/a", "scroll(0.0, 10.0)"),
        ("/a", "tab_focus(1)"),
        ("/b", "tab_focus(0)"),
        ("/a", "mouse_click(10.0, 900.0)"),
        ("/a", "tab_focus(2)"),
        ("/c", "tab_focus(1)"),
        ("/b", "scroll(0.0, 10.0)"),
        ("/b", ""),
    ]


def test_a_link_leads_on_also_where_its_shop_does_not_say_so() -> None:
    """Some links tell the next page nothing of theirs (noreferrer)."""
    for href, action in (("/b", "mouse_click(10.0, 900.0)"), ("/other", "goto('http://shop/b')")):
        guest = Guest()
        guest.comes(1, 0.1, "/a")
        guest.clicks(2, 0.1, "/a", href=href)
        guest.does(3, 0.1, "/a", "leave")
        guest.comes(4, 0.2, "/b", start=2.5)
        assert guest.did()[-2] == ("/a", action)
        assert guest.did()[-1] == ("/b", "")


def test_a_page_that_comes_in_another_tab_is_two_steps() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    guest.comes(2, 0.2, "/b")
    guest.does(3, 0.1, "/a", "leave")
    guest.comes(4, 0.3, "/c", start=2.5)
    assert guest.did() == [
        ("/a", "tab_focus(1)"),
        ("/b", "tab_focus(0)"),
        ("/a", "goto('http://shop/c')"),
        ("/c", ""),
    ]


def test_the_way_back_and_forward_is_known() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    guest.does(2, 0.1, "/a", "leave")
    guest.comes(3, 0.2, "/b", start=1.5)
    guest.does(4, 0.2, "/b", "leave")
    guest.comes(5, 0.1, "/a", came=False, start=5, how="back_forward")  # from the browser's memory
    guest.does(6, 0.1, "/a", "leave")
    guest.comes(7, 0.3, "/b", start=5.5, how="back_forward")
    guest.does(8, 0.3, "/b", "leave")
    guest.comes(9, 0.4, "/b", start=7.5, how="reload")
    urls = ("http://shop/b",) * 2
    assert [action for _, action in guest.did()] == [
        f"goto({urls[0]!r})",
        "go_back()",
        "go_forward()",
        f"goto({urls[1]!r})",
        "",
    ]


def test_a_page_that_scripts_change_for_another_is_a_look_at_that_one() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    guest.clicks(2, 0.1, "/a")
    guest.does(3, 0.1, "/b", "moved")
    guest.does(4, 0.1, "/b", "scroll", top=10.0)
    assert guest.did() == [
        ("/a", "mouse_click(10.0, 900.0)"),
        ("/b", "scroll(0.0, 10.0)"),
        ("/b", ""),
    ]


def test_a_page_that_tells_nothing_has_its_place_among_those_that_do() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    guest.opened.append(PageVisit("http://shop/data", 2))
    guest.clicks(3, 0.1, "/a", href="/silent")
    guest.opened.append(PageVisit("http://shop/silent", 4))
    assert guest.did() == [
        ("/a", "goto('http://shop/data')"),
        ("/a", "mouse_click(10.0, 900.0)"),
        ("/silent", ""),
    ]


def test_times_that_cannot_be_are_brought_into_the_trial() -> None:
    guest = Guest()
    guest.comes(1, 0.1, "/a")
    report = guest.told[0]
    late = replace(report.acts.acts[0], kind="scroll", when=9e12, top=5.0)
    guest.told.append(PageNotice("http://shop", replace(report.acts, acts=(late,)), 2.0))
    rows = guest.steps(end=1.5).rows
    assert [row["action"] for row in rows] == ["scroll(0.0, 5.0)", ""]
    assert all(row["seconds"] >= 0 for row in rows)
