import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import AgentError
from agents.language_model.prompt import PastStep, default_prompt
from agents.language_model.step_prompt import BUDGET, PAGE_CUT, SCREENSHOT_TOKENS, TREE_CUT, build_prompt
from agents.providers.tokens import estimate_tokens
from environments.protocol.actions import ACTIONS
from environments.protocol.observation import Observation, Tab

GOAL = "Add the best product to the cart.\n\nThe user is on a tight budget."
TABS = (
    Tab("Desk lamp", "http://shop.test/lamp.html", False),
    Tab("Clock", "http://shop.test/clock.html", True),
)


def _observation(html: str = "", tree: str = "", tabs: tuple[Tab, ...] = TABS) -> Observation:
    return Observation(GOAL, html, tabs, tree=tree)


def _steps(count: int) -> list[PastStep]:
    return [PastStep(i, f"thought {i} " * 50, f"memory {i}", "go_back()") for i in range(1, count + 1)]


def _tokens(prompt: tuple[str, str]) -> int:
    return sum(map(estimate_tokens, prompt))


WHOLE = _tokens(build_prompt(_observation(), [], default_prompt()))


def test_a_long_page_is_cut_at_its_end_and_nothing_else_is() -> None:
    html = "<p>start</p>\n" + "<p>filler</p>\n" * BUDGET
    prompt = build_prompt(_observation(html, "a tree"), _steps(5), default_prompt())
    assert BUDGET * 0.99 < _tokens(prompt) <= BUDGET
    assert "<p>start</p>\n<p>filler</p>" in prompt.user
    rest = "\n\n# Current page (accessibility tree)\na tree\n\n# History\n## Step 1\n"
    assert f"{PAGE_CUT}{rest}" in prompt.user


def test_what_must_stay_and_does_not_fit_is_an_agent_error() -> None:
    with pytest.raises(AgentError, match=r"alone take [\d,]+ tokens; 100 are left for them"):
        build_prompt(_observation("<p>x</p>"), _steps(2), default_prompt(), budget=100)
    long_goal = Observation("words " * BUDGET * 2, "", TABS)
    with pytest.raises(AgentError, match="goal"):
        build_prompt(long_goal, [], default_prompt())


def test_a_screenshot_takes_room_of_the_page() -> None:
    html = "<p>filler</p>\n" * BUDGET
    seen = Observation(GOAL, html, TABS, screenshot=b"png")
    assert _tokens(build_prompt(seen, [], default_prompt())) <= BUDGET - SCREENSHOT_TOKENS


def test_half_a_tag_is_never_shown() -> None:
    html = "".join(f'<a bid="{number}">x</a>' for number in range(100_000, 101_000))
    for budget in range(WHOLE + 1_000, WHOLE + 1_012):
        shown = build_prompt(_observation(html), [], default_prompt(), budget=budget).user
        page = shown.partition("(HTML)\n")[2].partition(PAGE_CUT)[0]
        assert page.rfind("<") < page.rfind(">")


def test_absurd_titles_and_urls_are_shortened() -> None:
    tabs = (Tab("t" * 10_000, "http://shop.test/" + "u" * 100_000, True),)
    user = build_prompt(_observation(tabs=tabs), [], default_prompt()).user
    assert f"{'t' * 199}…\n  URL: http://shop.test/{'u' * 482}…\n" in user


def sendable(text: str) -> str:
    return text.encode(errors="replace").decode()


texts = st.text(max_size=300) | st.text("ab <>\n", max_size=300)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.integers(WHOLE + 200, WHOLE + 2_000),
    st.tuples(texts, st.integers(1, 40)).map(lambda drawn: drawn[0] * drawn[1]),
    st.tuples(texts, st.integers(0, 40)).map(lambda drawn: drawn[0] * drawn[1]),
    st.integers(0, 30),
)
def test_goal_tabs_and_format_survive_any_budget_and_every_cut_is_marked(
    budget: int, html: str, tree: str, steps: int
) -> None:
    observation, history = _observation(html, tree), _steps(steps)
    prompt = build_prompt(observation, history, default_prompt(), budget=budget)
    whole = build_prompt(observation, history, default_prompt(), budget=10**9)
    assert _tokens(prompt) <= budget
    assert prompt.system == whole.system
    assert all(kind.describe(name) in prompt.system for name, kind in ACTIONS.items())
    assert prompt.user.startswith(whole.user[: whole.user.index("# Current page (HTML)")])
    assert prompt.user.endswith(f"Give your answer for step {steps + 1} in the answer format.")
    page_is_cut, tree_is_cut = PAGE_CUT in prompt.user, TREE_CUT in prompt.user
    kept = prompt.user.count("## Step")
    assert page_is_cut or not html or sendable(html) in prompt.user
    assert tree_is_cut or not tree or sendable(tree) in prompt.user
    assert page_is_cut or not html or not (tree_is_cut or kept < steps)
    assert tree_is_cut or not tree or kept == steps
    assert (f"[steps left out: the first {steps - kept}]" in prompt.user) == (kept < steps)
    if kept:
        assert f"memory {steps}" in prompt.user
