"""One trial from start to outcome: bind the plan, open the tabs, let the agent act, check the treatment."""

import time
from collections.abc import Mapping
from html import unescape

from playwright.async_api import BrowserContext

from agents.base import Agent
from environments.episode import Episode, Look
from environments.stops import COMPARE_TABS
from experiments.course import Course, limited, recorded_calls, trace, trial_row
from experiments.design import Design, Trial
from experiments.records import Row, TrialRecord, to_row
from interventions.consistency import disagreements
from interventions.engine import is_for_own_page
from interventions.plan import Plan
from interventions.sitemap import product_key
from proxy.error_page import NOT_TREATED
from proxy.session import AllowList, Session


def start_urls(base_url: str, trial: Trial) -> list[str]:
    """The products' pages in order of presentation."""
    return [f"{base_url}{product.key}.html" for product in trial.products]


class ShopEpisodes:
    """What the runner needs to know of trials in a shop."""

    def __init__(self, design: Design, base_url: str) -> None:
        self._design = design
        self._base_url = base_url
        self._allow = AllowList.of(base_url)

    def session(self, trial: Trial) -> Session:
        """The session that makes the trial's edits."""
        return Session(self._design.plan(trial), self._design.site, self._allow)

    async def episode(self, trial: Trial, agent: Agent, context: BrowserContext, session: Session) -> Course:
        """Run one episode in a fresh context whose traffic passes through the session's proxy port."""
        return await run_episode(trial, self._design, agent, context, session, self._base_url)

    def record(
        self, trial: Trial, course: Course, session: Session, *, began: float, attempts: int
    ) -> TrialRecord:
        """The record of a finished trial."""
        return to_record(trial, self._design, course, session, began=began, attempts=attempts)


async def run_episode(
    trial: Trial, design: Design, agent: Agent, context: BrowserContext, session: Session, base_url: str
) -> Course:
    """Run one episode in a fresh context whose traffic passes through the session's proxy port."""
    limits = design.experiment.limits
    course = Course()
    async with limited(course, limits.seconds):
        episode = Episode(context, design.experiment.goal, COMPARE_TABS)
        await episode.open(start_urls(base_url, trial))
        await _act_until_over(course, episode, agent, session, limits.steps)
    if session.failures:
        course.end("treatment_failed", session.failures[0])
    elif session.upstream_errors:
        course.end("infra_error", session.upstream_errors[0])
    elif course.outcome == "choice":
        keys = [product.key for product in trial.products]
        if course.choice not in keys:
            course.end("no_choice", f"put {course.choice!r} into the cart, which is not in the choice set")
        elif reason := untreated(design.plan(trial), shown_to_agent(course.looks), session, keys):
            course.end("treatment_failed", reason)
    return course


async def _act_until_over(
    course: Course, episode: Episode, agent: Agent, session: Session, max_steps: int
) -> None:
    for step in range(max_steps + 1):
        look = await episode.look()
        course.looks.append(look)
        if session.upstream_errors or is_error_page(look):
            return
        if look.stop is not None:
            course.end(look.stop.outcome, look.stop.text, product_key(look.url))
            return
        if step == max_steps:
            break
        began = time.perf_counter()
        decision = await agent.act(look.observation)
        course.decisions.append(decision)
        course.errors.append(await episode.act(decision.action))
        course.times.append(time.perf_counter() - began)
    course.end("agent_limit", f"{max_steps} actions without a choice")


def is_error_page(look: Look) -> bool:
    """Whether the agent is shown the page that stands for one that could not be treated."""
    observation = look.observation
    return observation.tabs[observation.active_tab].title == NOT_TREATED


def shown_to_agent(looks: list[Look]) -> dict[str, list[str]]:
    """What the agent was shown of each product's page, as HTML."""
    shown: dict[str, list[str]] = {}
    for look in looks:
        shown.setdefault(product_key(look.url), []).append(look.observation.html)
    return shown


def untreated(plan: Plan, pages: Mapping[str, list[str]], session: Session, keys: list[str]) -> str:
    """Why the pages that the agent saw do not prove the treatment, or an empty string.

    Every planned edit of a product whose page the agent saw (`pages`: key -> HTML) needs a receipt, and the
    text that it put there must stand in what the agent was shown of that page.
    """
    shown = {key: [squeeze(html) for html in views] for key, views in pages.items()}
    texts: dict[tuple[str, str, str, str], set[str]] = {}
    for receipt in session.receipts:
        if receipt.page_type == "product":
            about = (receipt.intervention, receipt.edit, receipt.role, receipt.product)
            texts.setdefault(about, set()).add(receipt.after)
    for key in keys:
        if key not in shown:
            continue
        for treatment in (*plan.by_product.get(key, ()), *plan.everywhere):
            if treatment.pages and "product" not in treatment.pages:
                continue
            for edit in treatment.edits:
                role = edit.roles()[0]
                if not is_for_own_page(role, session.site):
                    continue
                found = texts.get((treatment.intervention, edit.kind(), role, key))
                if found is None:
                    return f"{treatment.intervention}: {edit.kind()} has no receipt for {key}"
                for text in sorted(found) if edit.readable else ():
                    wanted = squeeze(text.removesuffix("…"))
                    if not any(wanted in html for html in shown[key]):
                        return f"{treatment.intervention}: the agent was not shown {wanted!r} on {key}"
    return ""


def squeeze(html: str) -> str:
    """Text with entities resolved and white space collapsed, to compare what is read."""
    return " ".join(unescape(html).split())


def to_record(
    trial: Trial, design: Design, course: Course, session: Session, *, began: float, attempts: int
) -> TrialRecord:
    """The record of a finished trial."""
    calls = recorded_calls(course)
    nudge = trial.nudge
    record = TrialRecord(
        trial=trial_row(design.run, trial, course, calls, began=began, attempts=attempts)
        | {
            "nudge": nudge.id if nudge else "",
            "nudge_text": nudge.text if nudge else "",
            "family": nudge.family if nudge else "",
            "direction": nudge.direction if nudge else None,
            "match": design.match,
        },
        options=_option_rows(trial),
        receipts=[to_row(receipt, number=number) for number, receipt in enumerate(session.receipts)],
        calls=[to_row(call, number=number, step=step) for number, (step, call) in enumerate(calls)],
    )
    seen = (sight for page in session.pages for sight in page.sightings(session.site))
    record.disagreements = [
        {"number": number, "text": text} for number, text in enumerate(disagreements(seen))
    ]
    record.steps, record.artifacts = trace(course)
    return record


def _option_rows(trial: Trial) -> list[Row]:
    # The last tab is the active one when the episode starts: the option seen first.
    last = len(trial.products) - 1
    return [
        {
            "position": position,
            "option": product.key,
            "name": product.name,
            "category": product.category,
            "price": product.price,
            "rating": product.rating,
            "reviews": product.reviews,
            "viewed_first": int(position == last),
            "nudged": int(product.key == trial.carrier),
        }
        for position, product in enumerate(trial.products)
    ]
