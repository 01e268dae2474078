"""The agent that does again what was stored."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base import AgentError
from agents.replay import OVER, ReplayAgent, StoredStep, origin
from environments.protocol.actions import ACTIONS, Action
from environments.protocol.observation import Observation, Tab

HERE = "http://127.0.0.1:9000/oats.html"
SEEN = Observation("Buy.", "<p>", (Tab("Other", "http://127.0.0.1:9000/", False), Tab("Oats", HERE, True)))


def a_step(action: str) -> StoredStep:
    return StoredStep("http://127.0.0.1:8000/oats.html", f"because {action}", f"after {action}", action)


async def test_the_stored_decisions_come_one_after_the_other() -> None:
    agent = ReplayAgent([a_step("tab_focus(0)"), a_step("click('27')"), a_step("")])
    first, second = await agent.act(SEEN), await agent.act(SEEN)
    assert first.action == Action("tab_focus", (0,))
    assert (second.thought, second.memory) == ("because click('27')", "after click('27')")
    assert (second.action, second.calls) == (Action("click", ("27",)), ())
    with pytest.raises(AgentError, match=OVER):
        await agent.act(SEEN)


@pytest.mark.parametrize(
    ("stored", "taken"),
    [
        ("goto('http://127.0.0.1:8000/cart?a=1')", "goto('http://127.0.0.1:9000/cart?a=1')"),
        ("goto('http://127.0.0.1:80001/cart')", "goto('http://127.0.0.1:80001/cart')"),
        ("goto('https://elsewhere.example/')", "goto('https://elsewhere.example/')"),
        ("fill('8', 'http://127.0.0.1:8000/oats')", "fill('8', 'http://127.0.0.1:8000/oats')"),
    ],
)
async def test_an_address_to_go_to_is_that_of_the_shop_as_it_is_now(stored: str, taken: str) -> None:
    assert str((await ReplayAgent([a_step(stored)]).act(SEEN)).action) == taken


@pytest.mark.parametrize("text", ["send_msg_to_user('done')", "click('1'); click('2')", "__import__('os')"])
async def test_what_is_no_action_is_not_taken(text: str) -> None:
    with pytest.raises(AgentError, match="cannot be taken again"):
        await ReplayAgent([a_step(text)]).act(SEEN)


@given(st.data())
async def test_every_action_is_read_as_it_was_written(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in ACTIONS if name != "goto"]))
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    kinds: dict[type, st.SearchStrategy[Any]] = {str: texts, int: st.integers(0, 20)}
    kinds |= {float: st.floats(-1e6, 1e6)}
    action = Action(name, tuple(data.draw(kinds[kind]) for _, kind in ACTIONS[name].parameters))
    assert (await ReplayAgent([a_step(str(action))]).act(SEEN)).action == action


def test_an_origin_is_scheme_host_and_port() -> None:
    assert origin("http://127.0.0.1:8000/a/b?c#d") == "http://127.0.0.1:8000"
    assert origin("about:blank") == origin("") == origin("http://[::1/") == ""
