"""Make the prompt of one step and cut it to a budget of tokens: page or data, tree, then the oldest steps."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from agents.base import AgentError
from agents.language_model.prompt import Content, PastStep, Prompt, PromptTemplates
from agents.providers.tokens import estimate_tokens
from environments.protocol.observation import Observation, Tab

BUDGET: Final = 40_000
"""The default limit of a prompt's length, in tokens."""

PAGE_CUT: Final = "\n[the rest of the page is left out]"
DATA_CUT: Final = "\n[the rest of the answer is left out]"
TREE_CUT: Final = "\n[the rest of the tree is left out]"
STEPS_CUT: Final = "[steps left out: the first {}]"

SCREENSHOT_TOKENS: Final = 1_600
"""The tokens that a screenshot of the viewport costs at the providers.

No provider asks more for 1280 x 720 pixels.
"""

_LONGEST_TITLE: Final = 200
_LONGEST_URL: Final = 500
_LONGEST_TOKEN: Final = 8
"""The most characters per token.

What a text has beyond this for each token of the budget goes before its tokens are counted.
"""


def build_prompt(
    observation: Observation,
    history: Sequence[PastStep],
    templates: PromptTemplates,
    *,
    budget: int = BUDGET,
    count_tokens: Callable[[str], int] = estimate_tokens,
    native: bool = False,
) -> Prompt:
    """Return the prompt for one step, of at most `budget` tokens.

    `native`: the model calls tools in its provider's own way.

    The page's HTML, or the data, is cut from its end, then the tree from its end, then the oldest steps go:
    each with a mark, and none more than is needed. Goal, tabs, actions and answer format stay whole, but for
    titles and URLs of absurd length.

    Raises:
        AgentError: what always stays is longer than the budget.
    """
    budget -= SCREENSHOT_TOKENS if observation.screenshot else 0
    steps = len(history)
    whole = Content(
        goal=observation.goal,
        tabs=[
            Tab(_shorten(tab.title, _LONGEST_TITLE), _shorten(tab.url, _LONGEST_URL), tab.active)
            for tab in observation.tabs
        ],
        html=observation.html,
        history=history,
        step=steps + 1,
        page=observation.page,
        tree=observation.tree,
        screenshot=bool(observation.screenshot),
        marks=observation.marks,
        pointer=observation.pointer,
        zoomed=observation.zoomed,
        actions=tuple(kind.describe(name) for name, kind in observation.actions.items()),
        data=observation.data,
        tools=observation.shop_tools,
        native=native,
    )

    def length(prompt: Prompt) -> int:
        return sum(map(count_tokens, prompt))

    def rendered(cut: Callable[[int], Content]) -> Callable[[int], Prompt]:
        return lambda size: templates.render(cut(size))

    def with_page(size: int) -> Content:
        data = observation.data if len(observation.data) <= size else observation.data[:size] + DATA_CUT
        return replace(whole, html=_cut_html(observation.html, size), data=data)

    def with_tree(size: int) -> Content:
        return replace(with_page(0), tree=_cut_tree(observation.tree, size))

    def with_steps(size: int) -> Content:
        mark = STEPS_CUT.format(steps - size) if size < steps else ""
        return replace(with_tree(0), history=history[steps - size :], left_out=mark)

    most = _LONGEST_TOKEN * max(budget, 0)
    shown = max(len(observation.html), len(observation.data))
    sizes = (min(shown, most), min(len(observation.tree), most), steps)
    for cut, size in zip((with_page, with_tree, with_steps), sizes, strict=True):
        found = _longest(rendered(cut), size, lambda prompt: length(prompt) <= budget)
        if found is not None:
            return found
    raise AgentError(
        f"goal, tabs, actions and answer format alone take {length(rendered(with_steps)(0)):,} tokens; "
        f"{budget:,} are left for them"
    )


def _longest(cut: Callable[[int], Prompt], size: int, fits: Callable[[Prompt], bool]) -> Prompt | None:
    """The prompt with the longest cut that fits, to a thousandth of `size`; None: the shortest does not."""
    if fits(prompt := cut(size)):
        return prompt
    if not fits(prompt := cut(0)):
        return None
    low, high = 0, size
    while high - low > max(1, size // 1000):
        middle = (low + high) // 2
        if fits(candidate := cut(middle)):
            low, prompt = middle, candidate
        else:
            high = middle
    return prompt


def _cut_html(html: str, size: int) -> str:
    if len(html) <= size:
        return html
    html = html[:size]
    opened = html.rfind("<")
    if opened > html.rfind(">"):  # half a tag could show half a bid
        html = html[:opened]
    return html + PAGE_CUT


def _cut_tree(tree: str, size: int) -> str:
    return tree if len(tree) <= size else tree[:size].rpartition("\n")[0] + TREE_CUT


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
