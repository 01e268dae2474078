"""Find where a repeated trial differs from the stored one: in a page, a prompt, or the end."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any
from urllib.parse import urlsplit

from agents.replay import OVER, origin
from analysis.tables.outcomes import outcome_facts
from environments.protocol.shown_data import passing
from experiments.designs.cards.trial import CardTrial
from experiments.pages.html_diff import Hunk, html_diff
from experiments.records.record import Row, TrialRecord, artifact_hash, without_screenshot
from interventions.html.tree import parse

Kept = Callable[[str], str | None]
"""Returns the text that is stored under a hash; None: there is none."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where a trial differs from the stored one.

    `step` counts from 0; None: the end of the trial, or all of it.
    """

    trial: str
    agent: str
    set: str
    what: str
    step: int | None = None
    url: str = ""
    diff: tuple[Hunk, ...] = ()
    """The changed places in the page, or the prompt, of that step."""

    def __str__(self) -> str:
        place = "" if self.step is None else f"step {self.step}: "
        where = f" ({self.url})" if self.url else ""
        return f"{self.trial} {self.agent} {self.set}: {place}{self.what}{where}"

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain JSON data."""
        return {
            "trial": self.trial,
            "agent": self.agent,
            "set": self.set,
            "step": self.step,
            "url": self.url,
            "what": self.what,
            "diff": [hunk.to_dict() for hunk in self.diff],
        }


def in_episode(stored: TrialRecord, again: TrialRecord, kept: Kept) -> Difference | None:
    """Return the first place where an episode differs from the stored one."""
    row, now = stored.trial, again.trial
    about = (row.trial, row.agent, row.set)
    if now.outcome == "infra_error":
        return Difference(*about, f"infra_error: {now.reason}")
    for before, after in zip(stored.steps, again.steps, strict=False):
        if before["observation"] == after["observation"]:
            continue
        step, url = before["step"], after["url"]
        page, shown = kept(before["observation"]), again.artifacts[after["observation"]]
        if page is None:
            return Difference(*about, "the stored page is gone", step, url)
        if artifact_hash(page) != before["observation"]:
            return Difference(*about, "the stored page was altered", step, url)
        page, shown = without_screenshot(elsewhere(page, before["url"], url)), without_screenshot(shown)
        page, shown = without_passing(page), without_passing(shown)
        if page != shown:
            return Difference(*about, "another page", step, url, tuple(html_diff(page, shown)))
    if now.reason == OVER and outcome_facts(row.outcome).cut_off and len(again.steps) >= len(stored.steps):
        return None
    return _other_end(stored, again)


def in_visit(stored: TrialRecord, again: TrialRecord, kept: Kept) -> Difference | None:
    """Return the first place where a guest's trial differs: in a page, what a click has hit, or the end.

    Pages are compared by their addresses, whatever the host, and by the texts in them: a shop writes other
    keys into its forms each time.
    """
    row, now = stored.trial, again.trial
    about = (row.trial, row.agent, row.set)
    if now.outcome == "infra_error":
        return Difference(*about, f"infra_error: {now.reason}")
    for before, after in zip_longest(_opened(stored.steps), _opened(again.steps)):
        if before is None or after is None:
            each = before or after or {}
            return Difference(*about, "a page more" if after else "a page less", each["step"], each["url"])
        if urlsplit(before["url"])[2:4] != urlsplit(after["url"])[2:4]:
            return Difference(*about, f"another page than {before['url']}", before["step"], after["url"])
        if before["observation"] and after["observation"] and before["observation"] != after["observation"]:
            page = kept(before["observation"])
            if page is None:
                return Difference(*about, "the stored page is gone", before["step"], after["url"])
            was, shown = _texts(page), _texts(again.artifacts[after["observation"]])
            if was != shown:
                diff = tuple(html_diff(was, shown))
                return Difference(*about, "another page", before["step"], after["url"], diff)
    for hit, instead in zip_longest(stored.hits, again.hits):
        what, other = (_hit(each) for each in (hit, instead))
        if what != other:
            step = (hit or instead or {}).get("step")
            return Difference(*about, f"a click has hit {other}, and not {what}", step)
    if now.reason == OVER and outcome_facts(row.outcome).cut_off:
        return None
    return _other_end(stored, again)


def _other_end(stored: TrialRecord, again: TrialRecord) -> Difference | None:
    row, now = stored.trial, again.trial
    was, instead = _end(stored), _end(again)
    if was == instead:
        return None
    reason = f": {now.reason}" if now.reason and now.outcome != "choice" else ""
    what = f"it ended with {instead}, and not with {was}{reason}"
    return Difference(row.trial, row.agent, row.set, what)


def _opened(steps: Iterable[Row]) -> Iterator[Row]:
    """The steps at which another page is looked at than before."""
    before: tuple[str, str | None] | None = None
    for step in steps:
        if (step["url"], step["observation"]) != before:
            yield step
        before = (step["url"], step["observation"])


def _texts(page: str) -> str:
    """The texts of a page, each on a line."""
    tree = parse(page)
    tree.strip_tags(["script", "style", "noscript", "template"])
    text = tree.body.text(separator="\n") if tree.body else ""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def _hit(row: Row | None) -> str:
    """What a click has hit, in words."""
    return " ".join(filter(None, (row[name] for name in ("element", "text", "role")))) if row else "nothing"


def in_prompts(stored: TrialRecord, trial: CardTrial, kept: Kept) -> Difference | None:
    """Return the first place where the prompts of a trial differ from the stored ones."""
    for before, prompt in zip(stored.steps, prompts(trial, stored.steps), strict=False):
        if before["observation"] != artifact_hash(prompt):
            asked = kept(before["observation"])
            diff = () if asked is None else tuple(html_diff(asked, prompt))
            return Difference(trial.id, trial.agent, trial.set, "another prompt", before["step"], diff=diff)
    return None


def prompts(trial: CardTrial, asked: list[Row]) -> Iterator[str]:
    """Yield what a trial asks as text, given the answers (`action`) that it got."""
    replies = iter(asked)
    for number, card in enumerate(trial.cards):
        system = f"{card.system}\n\n" if card.system and number == 0 else ""
        question = f"{system}{card.prompt}"
        for _ in range(card.retries + 1):
            yield question
            reply = next(replies, None)
            if reply is None:
                return
            if not reply["error"]:
                break
            question = card.reminder


def elsewhere(page: str, then: str, now: str) -> str:
    """Return a page as it is at another address of the shop.

    Links hold the address, whose port may differ.
    """
    old, new = origin(then), origin(now)
    return re.sub(re.escape(old) + r"(?![\w.:-])", lambda _: new, page) if old and old != new else page


def without_passing(answer: str) -> str:
    """Return a shop's answer without what it says of a cart that is another each time."""
    for each in passing(answer):
        answer = answer.replace(each, "...")
    return answer


def _end(record: TrialRecord) -> str:
    values = [answer["value"] for answer in record.answers]
    said = ", ".join("no valid answer" if value is None else value for value in values)
    return " ".join(filter(None, (record.trial.outcome, record.trial.choice, f"({said})" if said else "")))
