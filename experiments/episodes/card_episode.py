"""Run one trial with cards in the browser: the proxy shows the cards, and takes the answers."""

from dataclasses import replace
from functools import partial
from typing import Final

from playwright.async_api import BrowserContext

from agents.base import Agent
from agents.registry import make_agent
from environments.episode import Episode, TabObservation
from environments.protocol.time_limit import NOBODY, Silent
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial
from experiments.episodes.answers import GivenAnswer, card_record, conclude
from experiments.episodes.shop_episode import is_error_page
from experiments.records.record import Start, TrialRecord, to_row
from experiments.treatment.sent_pages import sent_pages
from experiments.treatment.trajectory import (
    Trajectory,
    act_until,
    failed_on_the_way,
    limited,
    recorded_calls,
    trace,
)
from interventions.apply.plan import Plan, Treatment
from interventions.cards.card import Card
from interventions.edits.ask import Ask
from interventions.edits.remove import Remove
from interventions.files.schema import DEFAULT_SITE
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.card_run import CardRun
from proxy.session import Session

CARD_ADDRESS: Final = "http://cards.souk.test/"
"""The address of cards that stand in no shop's page.

No server has the name, which is reserved for tests.
"""

GOAL: Final = "Answer the question on the open page."


class CardTrialRunner:
    """Runs trials with cards; it is the `TrialRunner` of their kind."""

    def __init__(self, design: CardDesign, base_url: str) -> None:
        self._design = design
        self._site = load_site_map(DEFAULT_SITE)
        self._base_url = base_url
        self._allow = AllowList.of(base_url, CARD_ADDRESS)

    def agent(self, trial: CardTrial) -> Agent:
        """Make a fresh agent for one attempt."""
        return make_agent(trial.agent, seed=trial.seed)

    def session(self, trial: CardTrial) -> Session:
        """Make the session that shows the trial's cards."""
        plans = [in_page(trial.page, card) for card in trial.cards] if trial.page else []
        session = Session(plans[0] if plans else Plan(), self._site, self._allow)
        session.cards = CardRun(trial.cards, plans)
        return session

    def keeps_context(self, trial: CardTrial) -> bool:
        """Whether a trial's browser context can be cleared after it, for other trials."""
        return True

    def without_browser(
        self, trial: CardTrial, agent: Agent, session: Session, proxy: str, silent: Silent
    ) -> None:
        """Return None: cards are shown on pages."""

    async def episode(
        self,
        trial: CardTrial,
        agent: Agent,
        context: BrowserContext,
        session: Session,
        silent: Silent = NOBODY,
    ) -> Trajectory:
        """Run one episode in a fresh context whose traffic passes through the session's proxy port."""
        limits = self._design.experiment.limits
        trajectory = Trajectory()
        system = trial.cards[0].system
        url = f"{self._base_url}{trial.page}.html" if trial.page else CARD_ADDRESS
        episode = Episode(context, f"{system}\n\n{GOAL}" if system else GOAL, silent=silent)
        async with limited(trajectory, limits.seconds, episode.silent):
            await episode.open([url])
            over = partial(_is_over, session=session)
            await act_until(over, trajectory, episode, agent, most_steps=limits.steps, wanted="an answer")
        episode.listeners.end()
        cards = run_of(session)
        if not failed_on_the_way(trajectory, session) and (cards.done or _gave_up(cards)):
            conclude(trajectory, trial, given(session))
        return trajectory

    def record(
        self, trial: CardTrial, trajectory: Trajectory, session: Session, *, start: Start, attempts: int
    ) -> TrialRecord:
        """Make the record of a finished trial."""
        record = card_record(
            self._design.run_id,
            trial,
            trajectory,
            given(session),
            recorded_calls(trajectory),
            mode="page",
            steps=len(trajectory.decisions),
            start=start,
            attempts=attempts,
        )
        receipts = [to_row(receipt) for receipt in session.receipts]
        steps, artifacts = trace(trajectory)
        sent, bodies = sent_pages(session)
        return replace(record, receipts=receipts, steps=steps, sent_pages=sent, artifacts=artifacts | bodies)


def in_page(product: str, card: Card) -> Plan:
    """Plan a product's own page with the card in it, and without its price."""
    edits = (Remove("product.price_box"), Ask(after="product.title", card=card))
    return Plan((Treatment(card.id, product, edits, ("product",)),))


def run_of(session: Session) -> CardRun:
    """Return the cards of a session that has some."""
    if session.cards is None:
        raise TypeError("a session without cards")
    return session.cards


def given(session: Session) -> list[GivenAnswer]:
    """Return the answers that the proxy has taken."""
    cards = run_of(session)
    return [
        GivenAnswer(cards.cards[answer.card].id, answer.text, answer.value, answer.reason, answer.rule)
        for answer in cards.answers
    ]


def _gave_up(cards: CardRun) -> bool:
    """Whether the current card has had more invalid answers than it allows."""
    invalid = sum(1 for answer in cards.answers if answer.card == cards.current and answer.value is None)
    return not cards.done and invalid > cards.cards[cards.current].retries


def _is_over(look: TabObservation, session: Session) -> bool:
    session.step += 1
    cards = run_of(session)
    return bool(session.upstream_errors or is_error_page(look) or cards.done or _gave_up(cards))
