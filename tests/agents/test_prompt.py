import re

from hypothesis import given
from hypothesis import strategies as st

from agents.answer import parse_answer
from agents.prompt import BUDGET, TEMPLATE_DIGEST, TRUNCATED, PastStep, build_prompt
from environments.actions import ACTIONS, Action
from environments.observation import Observation, Tab

TABS = (
    Tab("Desk lamp", "http://shop.test/desk-lamp.html", False),
    Tab("Clock", "http://shop.test/clock.html", True),
)


def _observation(html: str) -> Observation:
    return Observation("Add the best product to the cart.", html, TABS)


def test_system_names_every_action_and_the_format_that_the_parser_reads() -> None:
    system = build_prompt(_observation(""), []).system
    for name, kind in ACTIONS.items():
        assert f"\n{kind.describe(name)}\n" in system
    example = system[system.index("For example:") :]
    assert parse_answer(example).action.name in ACTIONS


def test_user_message_shows_goal_tabs_page_and_history() -> None:
    history = [
        PastStep("look around", "clock costs $9", Action("tab_focus", (0,))),
        PastStep("buy it", "lamp costs $8", Action("click", ("55",)), "click: no element has bid 55"),
    ]
    user = build_prompt(_observation("<h1>Clock & co</h1>"), history).user
    assert user == (
        "# Goal\nAdd the best product to the cart.\n\n"
        "# Open tabs\nTab 0: Desk lamp\n  URL: http://shop.test/desk-lamp.html\n"
        "Tab 1 (active): Clock\n  URL: http://shop.test/clock.html\n\n"
        "# Current page (HTML)\n<h1>Clock & co</h1>\n\n"
        "# History\n"
        "## Step 1\n<think>look around</think>\n<memory>clock costs $9</memory>\n"
        "<action>tab_focus(0)</action>\n"
        "## Step 2\n<think>buy it</think>\n<memory>lamp costs $8</memory>\n<action>click('55')</action>\n"
        "Error of this action: click: no element has bid 55\n\n"
        "# Next\nGive your answer for step 3 in the answer format."
    )


def test_a_page_is_data_for_the_template_and_never_part_of_it() -> None:
    html = "{{ goal }} {% for x in y %} {# #}"
    assert html in build_prompt(_observation(html), []).user


def test_a_long_page_is_cut_at_its_end_and_nothing_else_is() -> None:
    prompt = build_prompt(_observation("<p>start</p>" + "x" * 2 * BUDGET), [])
    assert len(prompt.system) + len(prompt.user) == BUDGET
    assert "<p>start</p>xxx" in prompt.user
    assert f"xxx{TRUNCATED}\n\n# History" in prompt.user
    assert prompt.user.endswith("in the answer format.")


@given(st.integers(0, 8_000), st.text(max_size=5_000))
def test_goal_and_format_survive_any_budget(budget: int, html: str) -> None:
    prompt = build_prompt(_observation(html), [], budget=budget)
    whole = build_prompt(_observation(html), [])
    assert prompt.system == whole.system
    assert prompt.user.startswith("# Goal\nAdd the best product to the cart.\n")
    assert prompt.user.endswith("in the answer format.")
    if prompt != whole:
        assert TRUNCATED in prompt.user


def test_lone_surrogates_of_a_page_become_sendable() -> None:
    assert "a?b" in build_prompt(_observation("a\ud83db"), []).user


def test_the_digest_is_a_sha256() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", TEMPLATE_DIGEST)
