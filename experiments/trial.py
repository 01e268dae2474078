"""One trial from start to outcome: bind the plan, open the tabs, let the agent act, check the treatment."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from html import unescape

from playwright.async_api import BrowserContext

from agents.base import Agent
from agents.registry import make_agent
from environments.episode import Episode, Look
from environments.stops import COMPARE_TABS, NOT_PRESSED, guard
from experiments.course import Course, limited, recorded_calls, trace, trial_row
from experiments.design import Design, Trial
from experiments.listing import ShowOnly
from experiments.records import Row, TrialRecord, to_row
from interventions.consistency import disagreements
from interventions.engine import is_for_own_page
from interventions.errors import CannotEdit
from interventions.marking import Marks
from interventions.media import is_html
from interventions.page import Page
from interventions.plan import Plan
from interventions.sitemap import product_key
from interventions.view import View
from proxy.error_page import NOT_TREATED
from proxy.session import AllowList, Session, ShownPage


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


def shown_to_agent(looks: list[Look]) -> dict[str, list[str]]:
    """What the agent was shown of each product's page, as HTML."""
    shown: dict[str, list[str]] = {}
    for look in looks:
        shown.setdefault(product_key(look.url), []).append(look.observation.html)
    return shown


def untreated(plan: Plan, pages: Mapping[str, list[str]], session: Session, keys: list[str]) -> str:
    """Why the pages that the agent saw do not prove the treatment, or an empty string.

    Every planned edit of a product whose page the agent saw (`pages`: key -> HTML) needs a receipt, and the
    text that it put there must stand in what the agent was shown of that page. On other pages every card of a
    product needs the receipts of what was planned for it there; and where a list is to show the choice set
    only, one has to be seen that does.
    """
    return (
        _untreated_pages(plan, pages, session, keys)
        or _untreated_cards(plan, session, keys)
        or _unlisted(plan, session, keys)
    )


def _untreated_pages(plan: Plan, pages: Mapping[str, list[str]], session: Session, keys: list[str]) -> str:
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


def _untreated_cards(plan: Plan, session: Session, keys: list[str]) -> str:
    receipts = {(r.intervention, r.edit, r.role, r.page_type, r.product) for r in session.receipts}
    for page in session.pages:
        for page_type, key, roles in cards(page, session, keys):
            for treatment in plan.by_product.get(key, ()):
                if treatment.pages and page_type not in treatment.pages:
                    continue
                for edit in treatment.edits:
                    role = roles(edit.roles()[0])
                    proof = (treatment.intervention, edit.kind(), role, page_type, key)
                    if role and proof not in receipts:
                        return (
                            f"{treatment.intervention}: {edit.kind()} has no receipt for {key} on {page.url}"
                        )
    return ""


def _unlisted(plan: Plan, session: Session, keys: list[str]) -> str:
    for treatment in plan.everywhere:
        for edit in treatment.edits:
            if isinstance(edit, ShowOnly) and not any(
                receipt.edit == edit.kind() and receipt.product in keys for receipt in session.receipts
            ):
                return f"{treatment.intervention}: no page has listed the choice set"
    return ""


def cards(
    page: ShownPage, session: Session, keys: list[str]
) -> Iterator[tuple[str, str, Callable[[str], str]]]:
    """Where products show on a page that is nobody's own: its type, the product, and what a role is there."""
    if page.product or not is_html(page.content_type):
        return
    try:
        view = View(Page(page.body, page.content_type, Marks(frozenset()), page.url), session.site)
    except CannotEdit:
        return
    for key, showing in view.showings():
        if key in keys and showing.group in session.site.cards:
            yield view.page_type, key, showing.role


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
