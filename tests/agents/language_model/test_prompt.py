import pickle
import re
from pathlib import Path

import pytest

from agents.language_model.answer import parse_answer
from agents.language_model.prompt import (
    FILES,
    Content,
    PastStep,
    PromptTemplates,
    default_prompt,
    load_prompt,
)
from environments.protocol.actions import ACTIONS
from environments.protocol.observation import Tab
from interventions.errors import UserError

GOAL = "Add the best product to the cart.\n- Visit every tab.\n\nThe user is on a tight budget."
TABS = (
    Tab("Desk lamp", "http://shop.test/desk-lamp.html", False),
    Tab("Clock", "http://shop.test/clock.html", True),
)
HISTORY = (
    PastStep(1, "look around", "clock costs $9", "tab_focus(0)"),
    PastStep(2, "buy it", "lamp costs $8", "click('55')", "click: no element has bid 55"),
)


def _content(**changes) -> Content:
    return Content(goal=GOAL, tabs=TABS, html="<h1>Clock & co</h1>", **changes)


def _folder(folder: Path, **texts: str) -> Path:
    """A copy of the shipped templates with other texts for `system` or `step`."""
    for file, text in default_prompt().sources.items():
        (folder / file).write_text(texts.get(file.removesuffix(".j2"), text))
    return folder


def test_system_names_every_action_and_the_format_that_the_parser_reads() -> None:
    system = default_prompt().render(_content()).system
    for name, kind in ACTIONS.items():
        assert f"\n{kind.describe(name)}\n" in system
    example = system[system.index("For example:") :]
    assert parse_answer(example).action.name in ACTIONS


def test_user_message_shows_goal_tabs_page_and_history() -> None:
    assert default_prompt().render(_content(history=HISTORY, step=3)).user == (
        f"# Goal\n{GOAL}\n\n"
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


def test_the_model_is_told_of_tree_screenshot_and_whole_page_only_where_it_is_given_them() -> None:
    plain = "\n".join(default_prompt().render(_content()))
    assert not re.search("tree|screenshot|image|whole", plain)
    assert "only what is in view" in plain
    system, user = default_prompt().render(_content(tree='button "Buy"', screenshot=True, page="whole"))
    for word in ("accessibility tree", "screenshot", "whole"):
        assert word in system
    assert "in view" not in system
    assert '# Current page (accessibility tree)\nbutton "Buy"\n' in user
    assert "The image" in user


def test_a_page_is_data_for_the_template_and_never_part_of_it() -> None:
    html = "{{ goal }} {% for x in y %} {# #}"
    user = default_prompt().render(Content(goal=html, tabs=TABS, html=f"{html} a\ud83db")).user
    assert f"{html} a?b" in user, "half a character can be sent"


def test_the_digest_follows_from_the_wording_alone(tmp_path: Path) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", default_prompt().digest)
    copy = load_prompt(str(_folder(tmp_path)))
    assert (copy.name, copy.digest) == (str(tmp_path), default_prompt().digest)
    (tmp_path / "step.j2").write_text(default_prompt().step + "!")
    assert load_prompt(str(tmp_path)).digest != default_prompt().digest
    assert PromptTemplates("", "ab", "c").digest != PromptTemplates("", "a", "bc").digest


def test_a_folder_is_relative_to_the_experiment_and_named_as_there(tmp_path: Path) -> None:
    (tmp_path / "terse").mkdir()
    _folder(tmp_path / "terse")
    templates = load_prompt("terse", tmp_path)
    assert templates.name == "terse"
    assert pickle.loads(pickle.dumps(templates)) == templates


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"step": "{{ html }}"}, "does not show the goal; write {{ goal }}"),
        ({"step": "{{ goal }}{{ tree }}{{ left_out }}"}, "does not show the page; write {{ html }}"),
        ({"step": "{{ goal }}{{ html }}"}, "does not show the accessibility tree"),
        ({"system": "<think> <memory> <action>"}, "does not show the actions"),
        ({"system": "{{ actions[0] }} <think> <memory> <action>"}, "does not show the actions"),
        ({"system": "{{ actions }}"}, "does not show the answer format"),
        ({"step": default_prompt().step.replace("{{ left_out }}", "")}, "how many steps are left out"),
        ({"step": "\n{{ gaol }}"}, "step.j2:2: 'gaol' is undefined; there are goal, tabs, html"),
        ({"step": "{{ history[0].memories }}"}, "step.j2:1: "),
        ({"system": "\n\n{% for x %}"}, "system.j2:3: "),
        ({"system": "{% include 'hints.j2' %}"}, "system.j2:1: hints.j2 is no part of a prompt"),
        ({"system": "{% include '/etc/passwd' %}"}, "is no part of a prompt"),
        ({"system": "{{ ''.__class__.__mro__ }}"}, "system.j2:1: access to attribute '__class__'"),
        ({"system": "{{ '{0.__class__}'.format(goal) }}"}, "system.j2:1: access to attribute '__class__'"),
        (
            {"system": "{{ (goal|attr('format')).__globals__ }}"},
            "system.j2:1: access to attribute '__globals__'",
        ),
        ({"system": "{% for i in range(3000) %}{{ 'a' * 9999 }}{% endfor %}"}, "longer than 20,000,000"),
        ({"system": "{{ history.append(1) }}"}, "system.j2:1: "),
        ({"system": "\n{{ 1 / 0 }}"}, "system.j2:2: division by zero"),
        ({"system": "{% include 'system.j2' %}"}, "system.j2:1: maximum recursion depth"),
    ],
)
def test_mistakes_in_templates_are_one_line_with_their_place(
    tmp_path: Path, texts: dict[str, str], reason: str
) -> None:
    with pytest.raises(UserError) as caught:
        load_prompt(str(_folder(tmp_path, **texts)))
    message = str(caught.value)
    assert reason in message
    assert message.startswith(str(tmp_path))
    assert "\n" not in message


def test_a_mistake_that_shows_only_later_is_told_too() -> None:
    step = default_prompt().step + "{% if step > 9 %}{{ nothing }}{% endif %}"
    templates = PromptTemplates("terse", default_prompt().system, step)
    assert templates.render(_content(step=9))
    with pytest.raises(UserError, match=r"terse/step\.j2:\d+: 'nothing' is undefined"):
        templates.render(_content(step=10))


@pytest.mark.parametrize("missing", FILES)
def test_both_files_are_needed(tmp_path: Path, missing: str) -> None:
    (_folder(tmp_path) / missing).unlink()
    with pytest.raises(UserError, match=f"{missing}: no such file"):
        load_prompt(str(tmp_path))


def test_no_folder_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no such folder of prompts; make one: souk prompts .* --new"):
        load_prompt("nowhere", tmp_path)
    (_folder(tmp_path) / "step.j2").write_bytes(b"{{ goal }} \xff")
    with pytest.raises(UserError, match=r"step\.j2: not UTF-8"):
        load_prompt(str(tmp_path))


def test_a_prompt_may_ask_for_json_and_do_without_memory_or_html_beside_a_tree(tmp_path: Path) -> None:
    system = (
        '{% for line in actions %}{{ line }}{% endfor %} {"thought": "", "memory": "", "action": "go_back()"}'
    )
    step = "{{ goal }} {% if tree %}{{ tree }}{% else %}{{ html }}{% endif %}"
    templates = load_prompt(str(_folder(tmp_path, system=system, step=step)))
    assert templates.structured
    assert not default_prompt().structured
