"""Tell how many requests and tokens trials of a language model take, and their cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agents.language_model.step_prompt import SCREENSHOT_TOKENS
from agents.providers import longest_answer
from agents.providers.batches import SHARE
from agents.providers.pricing import Tokens, cost_of
from agents.providers.settings import COMPUTERS
from agents.providers.tokens import estimate_tokens
from environments.observation.views import View
from experiments.designs.cards.trial import CardTrial
from experiments.designs.design import Trial
from experiments.designs.loading import AnyDesign

SAID_TOKENS: Final = 900
"""The tokens of a request beside what shows the page: the goal, the tabs, the actions, the steps so far."""
HTML_TOKENS: Final = 1_600
"""The tokens of a page of the embedded shop as pruned HTML.

With it, a request has 1,900 (a product) to 4,000 tokens (search results).
"""
TREE_TOKENS: Final = 600
"""The tokens of such a page as accessibility tree: as measured on products, 0.37 of those of its HTML."""
DATA_TOKENS: Final = {"feed": 1_200, "mcp": 17_000}
"""The tokens of two products of the embedded shop as data, and of its tools with an answer."""
PAGE_ANSWER_TOKENS: Final = 250
"""The tokens of an answer: thought, memory and action."""
PICTURE_TOKENS: Final = 1_600
"""The tokens of a picture. A model that acts by them is sent all of its trial with each request."""
TEXT_ANSWER_TOKENS: Final = 50
MESSAGE_TOKENS: Final = 20
"""The most tokens that a provider adds to a message."""


@dataclass(frozen=True, slots=True)
class _ExpectedUse:
    """The requests and tokens of some trials; `cost` is in USD, None where no price is known."""

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None


def expected_use(agent: str, trials: Iterable[Trial], design: AnyDesign) -> _ExpectedUse:
    """Add up what these trials take."""
    count = _with_pictures if _is_computer(agent) else _requests
    parts = [count(trial, design) for trial in trials]
    requests, tokens_in, tokens_out, pictures = (sum(part[index] for part in parts) for index in range(4))
    cost = cost_of(agent, Tokens(tokens_in, tokens_out), pictures)
    return _ExpectedUse(requests, tokens_in, tokens_out, cost)


def most_cost_in_a_batch(trial: CardTrial) -> float | None:
    """Return the most that a trial costs whose cards go in batches, in USD; None where no price is known.

    It is that of its prompts' tokens, as `estimate_tokens` counts them, and of answers, also those that are
    asked again, as long as they may be.
    """
    read = written = so_far = 0
    for card in trial.cards:
        longest = longest_answer(trial.agent, card.max_tokens)
        texts = [f"{card.system}{card.prompt}", *[card.reminder] * card.retries]
        for text in texts:
            so_far += estimate_tokens(text) + MESSAGE_TOKENS
            read += so_far
            written += longest
            so_far += longest
    cost = cost_of(trial.agent, Tokens(read, written, stored=read))  # the provider's cache may ask for more
    return None if cost is None else SHARE * cost


def _page_tokens(view: View) -> int:
    """Return the tokens of a request that shows a page so."""
    if view.interface != "page":
        return SAID_TOKENS + DATA_TOKENS[view.interface]
    shown = (HTML_TOKENS * view.html, TREE_TOKENS * view.tree, SCREENSHOT_TOKENS * view.screenshot)
    return SAID_TOKENS + sum(shown)


def assumed(design: AnyDesign, agent: str, trials: Iterable[Trial]) -> str:
    """Say what a request and an answer are assumed to take."""
    if _is_computer(agent):
        return f"{PICTURE_TOKENS:,} tokens for each picture so far, an answer {PAGE_ANSWER_TOKENS} tokens"
    if design.mode == "text":
        return f"its prompt's tokens, an answer {TEXT_ANSWER_TOKENS} tokens"
    views = sorted({design.view(trial) for trial in trials}, key=_page_tokens)
    sizes = dict.fromkeys(f"{_page_tokens(view):,}" for view in views)
    picture = " and the price of a picture" if any(view.screenshot for view in views) else ""
    return f"{' or '.join(sizes)} tokens{picture}, an answer {PAGE_ANSWER_TOKENS} tokens"


def _is_computer(agent: str) -> bool:
    return agent.partition(":")[0] in COMPUTERS


def _with_pictures(trial: Trial, design: AnyDesign) -> tuple[int, int, int, int]:
    """Count as `_requests` does, for a model that acts by pictures."""
    requests = design.requests(trial)
    pictures = requests * (requests + 1) // 2
    return requests, pictures * PICTURE_TOKENS, requests * PAGE_ANSWER_TOKENS, pictures


def _requests(trial: Trial, design: AnyDesign) -> tuple[int, int, int, int]:
    """Count the requests of a trial, their tokens in and out, and their pictures."""
    requests = design.requests(trial)
    if design.mode != "text":
        view = design.view(trial)
        pictures = requests * view.screenshot
        return requests, requests * _page_tokens(view), requests * PAGE_ANSWER_TOKENS, pictures
    prompts = [estimate_tokens(prompt) for prompt in design.prompts(trial)]
    asked = sum(sum(prompts[: number + 1]) for number in range(len(prompts)))
    return requests, asked, requests * TEXT_ANSWER_TOKENS, 0
