"""Fold what the proxy saw of a guest, and what its pages told, into steps: looks, and what was done then."""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from agents.replay import origin
from environments.action.acts import Act, Acts
from environments.action.pointer import Hit
from environments.protocol.actions import Action
from experiments.records.record import Row, artifact_hash
from proxy.shown_page import ShownPage

GLIDE_SECONDS: Final = 0.25
"""Scrolling that goes on after so short a rest is one step."""
MOST_TABS: Final = 100
"""Pages of further tabs count as pages of the one that is looked at."""
_SLACK_SECONDS: Final = 0.05
"""By how much two clocks of one browser may differ."""


class PageVisit(NamedTuple):
    """A page that a guest has opened, and when, in seconds from the trial's start."""

    url: str
    at: float


class PageNotice(NamedTuple):
    """What a page told: its scheme, host and port, and when it came, in seconds from the trial's start."""

    origin: str
    acts: Acts
    at: float


@dataclass(frozen=True, slots=True)
class GuestSteps:
    """The steps of a guest's trial: rows, and the pages that they name, by their hash.

    `hits`: what stood at the point of a click, with the number of its step. `began`: when each step began, in
    seconds, and `away` for how many of its seconds its page was not to be seen. `first`: for each page that
    was opened, the first step at which it could be seen.
    """

    rows: list[Row]
    artifacts: dict[str, str]
    hits: list[tuple[int, Hit]]
    began: list[float]
    away: list[float]
    first: list[int]

    @property
    def count(self) -> int:
        """How much was done: acts or, where nothing tells of acts, pages."""
        return sum(bool(row["action"]) for row in self.rows) or len(self.rows)

    def seen_seconds(self, places: Sequence[Row]) -> float | None:
        """Return how long the edit was in view that was so for the shortest time; None: none was.

        places: rows of the table `on_screen`, with numbers of these steps. What was in view at a look is so
        until the next look at the same page, as long as that is looked at.
        """
        looks, there = dict[int, set[tuple[str, ...]]](), dict[str, set[tuple[str, ...]]]()
        for row in places:
            edit = row["product"], row["intervention"], row["edit"], row["role"]
            looks.setdefault(row["step"], set()).update([] if row["why"] else [edit])
        seen = Counter[tuple[str, ...]]()
        for row, away in zip(self.rows, self.away, strict=True):
            there[row["url"]] = looks.get(row["step"], there.get(row["url"], set()))
            seen.update(dict.fromkeys(there[row["url"]], max(row["seconds"] - away, 0.0)))
        return min(seen.values(), default=None)

    def at(self, moment: float) -> int:
        """Return the step of a moment in seconds; 0 where there is none."""
        return max(bisect_right(self.began, moment) - 1, 0)


def guest_steps(
    opened: Sequence[PageVisit], told: Sequence[PageNotice], pages: Sequence[ShownPage], end: float
) -> GuestSteps:
    """Return the steps of a trial that ended after `end` seconds.

    A step is a look at a page, and what was done then. Where no page has told of acts, each page that was
    opened is a step, and what was done is not known. Of a page that was edited there is what was sent, or
    what its scripts have drawn last.
    """
    walk = _Walk(_Kept(opened, pages), len(opened))
    for event in _events(opened, told):
        walk.take(event)
    walk.returns(end)
    looks = walk.looks
    ends = [*(look.began for look in looks[1:]), max(end, looks[-1].began)] if looks else []
    texts = dict.fromkeys(("thought", "memory", "error"), "")
    rows = [
        {"step": number, "url": look.url, "observation": look.observation, "seconds": until - look.began}
        | {"action": str(look.action) if told and look.action else "", **texts}
        for number, (look, until) in enumerate(zip(looks, ends, strict=True))
    ]
    used = {look.observation for look in looks}
    artifacts = {name: text for name, text in walk.kept.artifacts.items() if name in used}
    began, away = [look.began for look in looks], [look.away for look in looks]
    return GuestSteps(rows, artifacts, walk.hits, began, away, walk.first)


def leads_to(hit: Hit, url: str) -> str:
    """Return the address to which a link leads that was hit on the page at `url`; empty: it was no link."""
    return f"{origin(url)}{hit.href}" if hit.href.startswith("/") else hit.href


class _Event(NamedTuple):
    """An act on a page or, without one, a page that has come through the proxy and tells nothing."""

    at: float
    url: str
    act: Act | None = None
    visit: float = 0.0
    start: float = 0.0
    opened: int | None = None


def _events(opened: Sequence[PageVisit], told: Sequence[PageNotice]) -> list[_Event]:
    """What happened, in order. By the reports it is known how much the guest's clock is behind."""
    lag = min((report.at - report.acts.now / 1000 for report in told), default=0.0)
    acts = [
        _Event(
            min(max(act.when / 1000 + lag, 0.0), report.at),
            report.origin + act.path,
            act,
            report.acts.visit,
            act.start / 1000 + lag,
        )
        for report in told
        for act in report.acts.acts
    ]
    acts.sort(key=lambda event: event.at)
    waiting: dict[str, deque[int]] = {}
    for number, page in enumerate(opened):
        waiting.setdefault(page.url.partition("#")[0], deque()).append(number)
    found = []
    for event in acts:
        came = waiting.get(event.url) if event.act and event.act.kind == "page" else None
        found.append(event._replace(opened=came.popleft()) if came else event)
    found += [
        _Event(opened[number].at, opened[number].url, opened=number)
        for numbers in waiting.values()
        for number in numbers
    ]
    return sorted(found, key=lambda event: event.at)


class _Kept:
    """The pages that were edited, as they were sent, or as their scripts have drawn them."""

    def __init__(self, opened: Sequence[PageVisit], pages: Sequence[ShownPage]) -> None:
        self.artifacts: dict[str, str] = {}
        self._names: dict[int, str] = {}
        self._drawn = {page.url: page for page in pages if page.drawn}
        sent: dict[str, deque[ShownPage]] = {}
        for page in pages:
            if not page.drawn:
                sent.setdefault(page.url, deque()).append(page)
        self._sent = [queue.popleft() if (queue := sent.get(page.url)) else None for page in opened]

    def name(self, url: str, opened: int | None) -> str | None:
        """The hash of the page at an address, where it is known, and came as this of the pages opened."""
        page = self._drawn.get(url, None if opened is None else self._sent[opened])
        if page is None:
            return None
        if id(page) not in self._names:
            self._names[id(page)] = artifact_hash(page.text)
            self.artifacts[self._names[id(page)]] = page.text
        return self._names[id(page)]


@dataclass(slots=True)
class _GuestObservation:
    url: str
    observation: str | None
    began: float
    action: Action | None = None
    away: float = 0.0


@dataclass(slots=True)
class _Tab:
    """A tab: the page in it, its history, and the place in it."""

    page: "_Page"
    past: list[str]
    at: int = 0
    left: float | None = None
    """When its page was left, until the next one has come."""


@dataclass(slots=True)
class _Page:
    """A page in a tab, and how far it is scrolled."""

    tab: int
    url: str
    observation: str | None
    left: float = 0.0
    top: float = 0.0


@dataclass(slots=True)
class _Walk:
    """The way of a guest through tabs and pages."""

    kept: _Kept
    number: int
    looks: list[_GuestObservation] = field(default_factory=list)
    hits: list[tuple[int, Hit]] = field(default_factory=list)
    first: list[int] = field(init=False)
    tabs: list[_Tab] = field(default_factory=list)
    pages: dict[float, _Page] = field(default_factory=dict)
    active: int = 0
    pressed: str | None = None
    """Where the link leads that was clicked, as long as no page has come since; empty: it was no link."""
    hidden: float | None = None
    """Since when the page that is looked at is not to be seen; None: it is."""
    glides: tuple[_Page, float] | None = None
    """The page that was scrolled last, and when, if nothing else was done since."""

    def __post_init__(self) -> None:
        self.first = [0] * self.number

    def take(self, event: _Event) -> None:
        """Take the next thing that happened."""
        if event.act is None or event.act.kind not in ("hidden", "moved", "leave"):
            self.returns(event.at)
        if event.act is None:
            self._came_untold(event)
        elif event.act.kind == "page":
            self._came(event, event.act)
        else:
            self._on_page(event, event.act)
        if event.opened is not None:
            self.first[event.opened] = max(len(self.looks) - 1, 0)

    def returns(self, at: float) -> None:
        """Count how long the page that is looked at was not to be seen."""
        if self.hidden is not None:
            self.looks[-1].away += max(at - self.hidden, 0.0)
            self.hidden = None

    def _do(self, at: float, action: Action, page: _Page) -> None:
        """Note what was done at the last look, and what is looked at since."""
        self.glides = None
        if self.looks:
            self.looks[-1].action = action
        self.looks.append(_GuestObservation(page.url, page.observation, at))

    def _go_to(self, at: float, page: _Page) -> None:
        """Look at the tab of a page, if it is another one."""
        if page.tab != self.active or not self.looks:
            self._do(at, Action("tab_focus", (page.tab,)), page)
            self.active = page.tab
        elif self.looks[-1].url != page.url:
            self.looks[-1].url, self.looks[-1].observation = page.url, page.observation

    def _came_untold(self, event: _Event) -> None:
        page = _Page(self.active, event.url, self.kept.name(event.url, event.opened))
        if not self.tabs:
            self.tabs.append(_Tab(page, [event.url]))
        self.tabs[self.active].page = page
        self._shows(event.at, Action("goto", (event.url,)), page, explained=self.pressed is not None)

    def _came(self, event: _Event, act: Act) -> None:
        known = self.pages.get(event.visit)
        tab = self._same_tab(event) if known is None else known.tab
        new = _Page(
            len(self.tabs) if tab is None else tab, event.url, self.kept.name(event.url, event.opened)
        )
        page = self.pages.setdefault(event.visit, new)
        explained = self._explained(event, act)
        if tab is None:
            self.tabs.append(_Tab(page, [event.url]))
            self.pressed = None if explained else self.pressed
            if act.shown or not self.looks:
                self._go_to(event.at, page)
            return
        action = self._way(self.tabs[tab], event.url, act.how)
        before, self.tabs[tab].page, self.tabs[tab].left = self.tabs[tab].page, page, None
        if act.shown:
            self._go_to(event.at, before)
            self._shows(event.at, action, page, explained=explained)

    def _shows(self, at: float, action: Action, page: _Page, *, explained: bool) -> None:
        """A page has come in the tab that is looked at; `explained`: a click has led to it."""
        if explained and self.looks:
            self.looks[-1] = _GuestObservation(page.url, page.observation, at)
        else:
            self._do(at, action, page)
        self.pressed = None

    def _same_tab(self, event: _Event) -> int | None:
        """The tab whose page was left for this one: it was left after this one was asked for."""
        left = [
            (tab.left, number)
            for number, tab in enumerate(self.tabs)
            if tab.left is not None and event.start - _SLACK_SECONDS <= tab.left
        ]
        return min(left)[1] if left else self.active if len(self.tabs) >= MOST_TABS else None

    def _explained(self, event: _Event, act: Act) -> bool:
        """Whether a click has led to a page."""
        if self.pressed is None or act.how == "back_forward":
            return False
        return act.linked or self.pressed.partition("#")[0] == event.url

    def _way(self, tab: _Tab, url: str, how: str) -> Action:
        """How a tab came to a page, and its history since."""
        if how == "back_forward":
            is_next = tab.past[tab.at + 1 : tab.at + 2] == [url]
            is_before = tab.at > 0 and tab.past[tab.at - 1] == url
            tab.at = max(tab.at + (1 if is_next and not is_before else -1), 0)
            return Action("go_forward" if is_next and not is_before else "go_back")
        if how != "reload":
            tab.past[tab.at + 1 :] = [url]
            tab.at += 1
        return Action("goto", (url,))

    def _on_page(self, event: _Event, act: Act) -> None:
        page = self.pages.get(event.visit)
        if page is None:  # its coming was not told
            self._came(event, Act(kind="page", when=act.when, path=act.path, linked=True, shown=True))
            page = self.pages[event.visit]
        self._moved(page, event)
        match act.kind:
            case "leave":
                self.tabs[page.tab].left = event.at
            case "hidden" if page.tab == self.active and self.hidden is None:
                self.hidden = event.at
            case "visible":
                self._go_to(event.at, page)
            case "click" if act.hit:
                self._go_to(event.at, page)
                point = (act.hit.x, act.hit.y)
                more = (
                    (act.button, 1, act.modifiers)
                    if act.modifiers
                    else (act.button,) * (act.button != "left")
                )
                self.hits.append((len(self.looks) - 1, act.hit))
                self._do(event.at, Action("mouse_click", (*point, *more)), page)
                self.pressed = leads_to(act.hit, event.url)
            case "scroll":
                self._scrolled(event.at, act, page)

    def _moved(self, page: _Page, event: _Event) -> None:
        """Scripts may give a page another address."""
        if page.url == event.url:
            return
        page.url, page.observation = event.url, self.kept.name(event.url, None)
        self.pressed = None
        if page.tab == self.active:
            self.looks[-1].url, self.looks[-1].observation = page.url, page.observation

    def _scrolled(self, at: float, act: Act, page: _Page) -> None:
        dx, dy = act.left - page.left, act.top - page.top
        page.left, page.top = act.left, act.top
        if not dx and not dy:
            return
        goes_on = self.glides is not None and self.glides[0] is page and at - self.glides[1] < GLIDE_SECONDS
        if goes_on and (before := self.looks[-2].action):
            x, y = (float(each) for each in before.args)
            self.looks[-2].action = Action("scroll", (x + dx, y + dy))
            self.looks[-1].began = at
        else:
            self._go_to(at, page)
            self._do(at, Action("scroll", (dx, dy)), page)
        self.glides = page, at
