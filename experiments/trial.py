"""One trial from start to outcome: bind the plan, open the tabs, let the agent act, check the treatment."""

import re
import time

from playwright.async_api import BrowserContext

from agents.base import Agent
from agents.registry import make_agent
from environments.episode import Episode, Look
from environments.stops import COMPARE_TABS, NOT_PRESSED, guard
from experiments.course import Course, limited, recorded_calls, trace, trial_row
from experiments.design import Design, Trial
from experiments.records import Row, TrialRecord, to_row
from experiments.treatment_check import shown_to_agent, squeeze, untreated
from interventions.consistency import disagreements
from interventions.sitemap import product_key
from proxy.error_page import NOT_TREATED
from proxy.session import AllowList, Session


def start_urls(base_url: str, trial: Trial) -> list[str]:
    """The pages that a trial begins with, each in a tab."""
    return [f"{base_url}{path}" for path in trial.start]


def allowed(design: Design, *urls: str) -> AllowList:
    """The hosts that an episode may reach: those of these addresses, and what a live site needs besides."""
    hosts = design.experiment.live.allow if design.experiment.live else ()
    return AllowList.of(*urls, *(f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")))


class ShopEpisodes:
    """What the runner needs to know of trials in a shop."""

    def __init__(self, design: Design, base_url: str) -> None:
        self._design = design
        self._base_url = base_url
        self._allow = allowed(design, base_url)

    def agent(self, trial: Trial) -> Agent:
        """A fresh agent, for one attempt."""
        return make_agent(trial.agent, seed=trial.seed, prompt=self._design.prompt)

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
    limits, live = design.experiment.limits, design.experiment.live
    course = Course()
    async with limited(course, limits.seconds):
        if live:
            await context.add_init_script(guard(live.stop_before))
        episode = Episode(context, trial.goal, (*COMPARE_TABS, NOT_PRESSED), design.view)
        await episode.open(start_urls(base_url, trial))
        await _act_until_over(course, episode, agent, session, limits.steps)
    judge(course, trial, design, session)
    return course


def judge(course: Course, trial: Trial, design: Design, session: Session) -> None:
    """What the proxy saw outweighs what the page showed: the outcome once the treatment is checked."""
    keys = [product.key for product in trial.products]
    if session.failures:
        course.end("treatment_failed", session.failures[0])
    elif session.upstream_errors:
        course.end("infra_error", session.upstream_errors[0])
    elif course.outcome == "choice":
        choice = in_cart(course.looks[-1], trial)
        if choice not in keys:
            course.end("no_choice", f"put {choice!r} into the cart, which is not in the choice set")
        elif reason := untreated(design.plan(trial), shown_to_agent(course.looks), session, keys):
            course.end("treatment_failed", reason)
        else:
            course.end("choice", course.reason, choice)


def in_cart(look: Look, trial: Trial) -> str:
    """The product that was put into the cart: on its own page, or from a list by the name in the message."""
    key = product_key(look.url)
    shown, said = f"{squeeze(look.observation.html)} ", look.stop.text if look.stop else ""
    if key in {product.key for product in trial.products}:
        return key
    for product in trial.products:
        if said and f"{squeeze(said + product.name)} " in shown:
            return product.key
    other = re.search(rf"{re.escape(said)}(.{{1,200}}?) to your", shown) if said else None
    return other[1] if other else key


async def _act_until_over(
    course: Course, episode: Episode, agent: Agent, session: Session, max_steps: int
) -> None:
    for step in range(max_steps + 1):
        look = await episode.look()
        course.looks.append(look)
        if session.upstream_errors or is_error_page(look):
            return
        if look.stop is not None:
            course.end(
                look.stop.outcome,
                look.stop.text or "about to press what stop_before names",
                product_key(look.url),
            )
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
            "profile": trial.profile,
        },
        options=_option_rows(trial, design),
        receipts=[to_row(receipt, number=number) for number, receipt in enumerate(session.receipts)],
        calls=[to_row(call, number=number, step=step) for number, (step, call) in enumerate(calls)],
    )
    seen = (sight for page in session.pages for sight in page.sightings(session.site))
    record.disagreements = [
        {"number": number, "text": text} for number, text in enumerate(disagreements(seen))
    ]
    record.steps, record.artifacts = trace(course)
    return record


def _option_rows(trial: Trial, design: Design) -> list[Row]:
    # The last tab is the active one when the episode starts; a list is read from its top.
    first = len(trial.products) - 1 if design.experiment.task == "compare-tabs" else 0
    return [
        {
            "position": position,
            "option": product.key,
            "name": product.name,
            "category": product.category,
            "price": product.price,
            "rating": product.rating,
            "reviews": product.reviews,
            "viewed_first": int(position == first),
            "nudged": int(product.key == trial.carrier),
        }
        for position, product in enumerate(trial.products)
    ]
