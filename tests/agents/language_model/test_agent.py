import base64
from dataclasses import replace

import pytest

from agents.base import AgentError, ChatMessage, ProviderError, Reply
from agents.language_model.agent import ANSWER_RETRIES, LanguageModelShopper
from agents.language_model.answer import SCHEMA
from agents.language_model.prompt import PromptTemplates, default_prompt
from agents.providers import make_model
from agents.providers.openai_chat import OpenAIChat
from environments.protocol.actions import Action
from interventions.cards.reply import ENDED

GOOD = "<think>cheap enough</think><memory>lamp: $8</memory><action>click('55')</action>"


JSON_PROMPT = PromptTemplates(
    "json",
    '{% for line in actions %}{{ line }}{% endfor %} {"thought": "", "memory": "", "action": "go_back()"}',
    default_prompt().step,
)


def _shopper(prompt: PromptTemplates | None = None) -> LanguageModelShopper:
    return LanguageModelShopper(make_model("openai:gpt-4.1-mini"), prompt)


@pytest.mark.slow
async def test_a_step_is_one_request_with_the_earlier_steps_and_their_errors(provider, observe) -> None:
    for _ in range(3):
        provider.say(GOOD, usage=(1_000, 100))
    shopper = _shopper()
    decision = await shopper.act(observe("<h1>Desk lamp</h1>"))
    assert (decision.thought, decision.memory) == ("cheap enough", "lamp: $8")
    assert (decision.action, len(decision.calls)) == (Action("click", ("55",)), 1)
    assert (decision.usage.tokens_in, decision.usage.tokens_out) == (1_000, 100)
    assert decision.usage.cost == pytest.approx((1_000 * 0.40 + 100 * 1.60) / 1e6)
    system, user = provider.requests[0]["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "<h1>Desk lamp</h1>" in user["content"]
    await shopper.act(observe(error="click: no element has bid 55"))
    await shopper.act(observe())
    second, third = (request["messages"][1]["content"] for request in provider.requests[1:])
    assert second.count("<memory>lamp: $8</memory>") == 1
    assert third.count("<memory>lamp: $8</memory>") == 2
    assert third.count("Error of this action: click: no element has bid 55") == 1


async def test_an_unusable_answer_is_asked_for_again_with_the_reason(provider, observe) -> None:
    provider.say("I would buy it.")
    provider.say(None)
    provider.say(GOOD.replace("click('55')", "buy('55')"), finish_reason="length")
    provider.say(GOOD)
    provider.say(GOOD)
    shopper = _shopper()
    decision = await shopper.act(observe())
    assert decision.action == Action("click", ("55",))
    assert decision.usage.tokens_in == 4_000
    errors = [call.error for call in decision.calls]
    assert errors[0].startswith("unusable answer: unclear: missing <think>")
    assert errors[1:] == ["unusable answer: empty", "unusable answer: cut_off", ""]
    answers = ["I would buy it.", "", GOOD.replace("click('55')", "buy('55')"), ""]
    assert [call.answer for call in decision.calls] == answers
    conversation = provider.requests[3]["messages"]
    assert [message["role"] for message in conversation[2:]] == ["assistant", "user"] * 3
    assert conversation[2]["content"] == "I would buy it."
    assert conversation[4]["content"] == "(empty)"
    assert "unknown action 'buy'" in conversation[7]["content"]
    await shopper.act(observe())
    assert len(provider.requests[4]["messages"]) == 2, "failed tries are no part of the history"
    assert "I would buy it." not in provider.requests[4]["messages"][1]["content"]


async def test_a_model_that_never_answers_properly_is_an_agent_error(provider, observe) -> None:
    for _ in range(1 + ANSWER_RETRIES):
        provider.say("x" * 100_000)
    with pytest.raises(AgentError, match=r"invalid answer: unclear: the answer has 100,000") as caught:
        await _shopper().act(observe())
    assert len(caught.value.calls) == 4
    assert all(call.error for call in caught.value.calls)
    assert len(str(provider.requests[-1])) < 60_000


async def test_a_failing_provider_keeps_the_calls_made_before(provider, observe) -> None:
    provider.say("nonsense")
    provider.fail(500)
    with pytest.raises(ProviderError) as caught:
        await LanguageModelShopper(OpenAIChat("gpt-4.1-mini", max_retries=0)).act(observe())
    first, second = caught.value.calls
    assert first.error.startswith("unusable answer")
    assert second.error.startswith("HTTP 500")


QUESTION: list[ChatMessage] = [
    {"role": "system", "content": "Answer with one letter."},
    {"role": "user", "content": "A or B?"},
]


async def test_a_question_is_sent_as_it_is(provider) -> None:
    provider.say("B", usage=(20, 1))
    reply = await _shopper().answer(QUESTION, temperature=0.7, max_tokens=2)
    assert (reply.text, reply.ending.how) == ("B", "")
    assert reply.call is not None
    assert (reply.call.tokens_in, reply.call.tokens_out, reply.call.error) == (20, 1, "")
    assert provider.requests == [
        {"model": "gpt-4.1-mini", "messages": QUESTION, "temperature": 0.7, "max_tokens": 2}
    ]


async def test_the_screenshot_goes_with_the_page(provider, observe) -> None:
    provider.say(GOOD)
    provider.say(GOOD)
    shopper = _shopper()
    await shopper.act(observe())
    await shopper.act(replace(observe(), screenshot=b"\x89PNG picture"))
    without, picture = (str(request) for request in provider.requests)
    encoded = base64.b64encode(b"\x89PNG picture").decode()
    assert encoded in picture
    assert "screenshot" in picture
    assert "image" not in without
    assert "screenshot" not in without


async def test_tags_ask_for_no_schema_and_a_prompt_for_json_does(provider, observe) -> None:
    answer = '{"thought": "cheap", "memory": "$8", "action": "click(\'55\')"}'
    for text in (GOOD, answer):
        provider.say(text)
    assert (await _shopper().act(observe())).action == Action("click", ("55",))
    decision = await _shopper(JSON_PROMPT).act(observe())
    assert (decision.thought, decision.memory, decision.action) == ("cheap", "$8", Action("click", ("55",)))
    tags, structured = (str(request) for request in provider.requests)
    assert "additionalProperties" not in tags
    assert str(SCHEMA["properties"]) in structured


class Letters:
    """A model of which a letter is a token, and which always buys."""

    name = "letters"

    def __init__(self) -> None:
        self.asked: list[list[ChatMessage]] = []

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def ask(self, messages: list[ChatMessage], **settings: object) -> Reply:
        self.asked.append(messages)
        return Reply(GOOD, ENDED, call=None)


async def test_a_long_page_is_cut_to_the_tokens_that_the_model_itself_counts(observe) -> None:
    model = Letters()
    await LanguageModelShopper(model).act(observe("<p>filler</p>\n" * 40_000))
    assert 39_900 < sum(len(message["content"]) for message in model.asked[0]) <= 40_000
