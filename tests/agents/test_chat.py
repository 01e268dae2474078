import hashlib
import json
import logging
import os
import traceback

import pytest

from agents import chat
from agents.base import ActError, AgentError, Call, Message, ProviderError, Reply
from agents.chat import ChatModel, close_clients
from interventions.errors import UserError

HELLO: list[Message] = [{"role": "user", "content": "Hello"}]


async def test_text_tokens_and_cost_come_back(provider, key: str) -> None:
    provider.say("Good day", usage=(1_000_000, 500_000))
    reply = await ChatModel("gpt-4.1-mini").ask(HELLO)
    assert (reply.text, reply.cut_off) == ("Good day", False)
    assert (reply.call.tokens_in, reply.call.tokens_out, reply.call.retries) == (1_000_000, 500_000, 0)
    assert reply.call.cost == pytest.approx(1.20)
    assert reply.call.error == ""
    assert provider.authorization == [f"Bearer {key}"]
    assert provider.requests == [
        {"model": "gpt-4.1-mini", "messages": HELLO, "temperature": 0.1, "max_tokens": 2_000}
    ]


@pytest.mark.parametrize("model", ["o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5-mini", "openai/o3"])
async def test_reasoning_models_are_sent_no_temperature(provider, model: str) -> None:
    provider.say("Good day")
    await ChatModel(model).ask(HELLO)
    assert provider.requests == [{"model": model, "messages": HELLO, "max_completion_tokens": 16_000}]


async def test_temperature_and_length_are_sent_as_asked_for(provider) -> None:
    for _ in range(3):
        provider.say("A")
    for model, temperature in [("gpt-4.1-mini", 0.0), ("gpt-4.1-mini", None), ("o4-mini", 1.3)]:
        await ChatModel(model).ask(HELLO, temperature=temperature, max_tokens=2)
    assert provider.requests == [
        {"model": "gpt-4.1-mini", "messages": HELLO, "temperature": 0.0, "max_tokens": 2},
        {"model": "gpt-4.1-mini", "messages": HELLO, "max_tokens": 2},
        {"model": "o4-mini", "messages": HELLO, "max_completion_tokens": 14_002},
    ]


async def test_equal_requests_have_equal_digests(provider) -> None:
    for _ in range(3):
        provider.say("Good day")
    model = ChatModel("gpt-4.1-mini")
    first = (await model.ask(HELLO)).call.request_digest
    assert (await model.ask(HELLO)).call.request_digest == first
    assert (await model.ask([*HELLO, *HELLO])).call.request_digest != first


async def test_the_digest_is_that_of_what_was_sent(provider) -> None:
    for temperature, max_tokens in [(0.1, 2_000), (None, 2_000), (0.1, 16)]:
        provider.say("Good day")
        reply = await ChatModel("gpt-4.1-mini").ask(HELLO, temperature=temperature, max_tokens=max_tokens)
        assert reply.call is not None
        sent = json.dumps(provider.requests[-1], sort_keys=True).encode()
        assert reply.call.request_digest == hashlib.sha256(sent).hexdigest()


async def test_refusals_limits_and_missing_usage(provider) -> None:
    provider.say(None)
    provider.say("half of it", finish_reason="length", usage=None)
    model = ChatModel("gpt-4.1-mini")
    assert (await model.ask(HELLO)).text == ""
    reply = await model.ask(HELLO)
    assert reply.cut_off
    assert (reply.call.tokens_in, reply.call.cost) == (0, None)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_passing_failures_are_retried_by_the_sdk_and_counted(provider, status: int) -> None:
    provider.fail(status)
    provider.fail(status)
    provider.say("Good day")
    reply = await ChatModel("gpt-4.1-mini").ask(HELLO)
    assert reply.text == "Good day"
    assert reply.call.retries == 2
    assert len(provider.requests) == 3


@pytest.mark.parametrize("status", [429, 500])
async def test_lasting_failures_are_the_providers(provider, status: int) -> None:
    for _ in range(3):
        provider.fail(status, "over\ncapacity")
    with pytest.raises(ProviderError, match=rf"^HTTP {status} from the provider: .*over") as caught:
        await ChatModel("gpt-4.1-mini", max_retries=2).ask(HELLO)
    (call,) = caught.value.calls
    assert call.retries == 2
    assert call.error == str(caught.value)
    assert call.cost is None


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>gateway</html>", "text/html"),
        (b"<html>gateway</html>", "application/json"),
        (b'{"choices": [{"message": {"content": "Go', "application/json"),
        (b'{"choices": []}', "application/json"),
        (b'{"choices": [{"message": null}]}', "application/json"),
        (b'{"choices": [{"message": {"content": 5}}]}', "application/json"),
        (b'{"choices": [{"message": {"content": "\\ud83d"}}]}', "application/json"),
        (b'{"choices": [{"message": {"content": ""}}], "usage": {"prompt_tokens": -1}}', "application/json"),
        (b'{"error": "no"}', "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"", "application/json"),
    ],
)
async def test_garbage_is_a_failure_of_the_provider(provider, body: bytes, content_type: str) -> None:
    provider.send(body, content_type)
    with pytest.raises(ProviderError, match=r"^the provider's answer is no chat completion$") as caught:
        await ChatModel("gpt-4.1-mini").ask(HELLO)
    assert len(caught.value.calls) == 1


async def test_a_slow_provider_times_out(provider) -> None:
    provider.hang()
    with pytest.raises(ProviderError, match="did not answer in time"):
        await ChatModel("gpt-4.1-mini", timeout=0.05, max_retries=0).ask(HELLO)


async def test_a_base_url_that_is_given_wins(provider, monkeypatch: pytest.MonkeyPatch) -> None:
    base_url = os.environ["OPENAI_BASE_URL"]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    provider.say("Good day")
    assert (await ChatModel("gpt-4.1-mini", base_url=base_url).ask(HELLO)).text == "Good day"


async def test_no_provider_at_all(provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError, match="no connection to the provider"):
        await ChatModel("gpt-4.1-mini", max_retries=0).ask(HELLO)


async def test_a_request_that_is_refused_is_no_failure_of_the_provider(provider) -> None:
    provider.fail(400, "maximum context length exceeded")
    with pytest.raises(AgentError, match=r"refused the request: .*maximum context length") as caught:
        await ChatModel("gpt-4.1-mini").ask(HELLO)
    assert len(caught.value.calls) == len(provider.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "refused OPENAI_API_KEY"), (403, "refused OPENAI_API_KEY"), (404, "has no model gpt-4.1-mini")],
)
async def test_what_only_the_user_can_mend_is_a_user_error(provider, status: int, message: str) -> None:
    provider.fail(status)
    with pytest.raises(UserError, match=message):
        await ChatModel("gpt-4.1-mini").ask(HELLO)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("OPENAI_API_KEY", "", "OPENAI_API_KEY is not set"),
        ("OPENAI_API_KEY", "sk-abc\n", "OPENAI_API_KEY holds a blank"),
        ("OPENAI_API_KEY", "schlüssel", "OPENAI_API_KEY holds a blank"),
        ("OPENAI_BASE_URL", "127.0.0.1:8000/v1", r"OPENAI_BASE_URL is no http\(s\) URL"),
        ("OPENAI_BASE_URL", "http://host:port/", r"OPENAI_BASE_URL is no http\(s\) URL"),
        ("OPENAI_BASE_URL", "file:///etc/passwd", r"OPENAI_BASE_URL is no http\(s\) URL"),
    ],
)
def test_wrong_settings_are_found_without_a_request(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc")
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=message) as caught:
        ChatModel("gpt-4.1-mini")
    assert "sk-abc" not in str(caught.value)


def test_a_model_is_needed() -> None:
    with pytest.raises(UserError, match="the model is missing"):
        ChatModel("")


async def test_one_client_serves_all_and_is_closed(provider) -> None:
    provider.say("one")
    provider.say("two")
    await ChatModel("gpt-4.1-mini").ask(HELLO)
    await ChatModel("gpt-4.1-nano").ask(HELLO)
    (client,) = chat._clients.values()
    await close_clients()
    assert client.is_closed()
    assert not chat._clients


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500])
async def test_a_key_that_is_echoed_by_the_server_goes_nowhere(
    provider, key: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in key)
    if status == 200:
        provider.send(f'{{"choices": [{{"message": {{"content": "your key is {escaped}"}}}}]}}'.encode())
    else:
        provider.fail(status, f"wrong: Bearer {key}")
    outcome: Reply | Exception
    try:
        outcome = await ChatModel("gpt-4.1-mini", max_retries=0).ask(HELLO)
    except (ActError, UserError) as error:
        outcome = error
        assert error.__cause__ is None
        assert error.__context__ is None
        assert key not in "".join(traceback.format_exception(error))
    calls: tuple[Call, ...] = getattr(outcome, "calls", ())
    assert key not in f"{outcome!r} {outcome} {calls} {ChatModel('gpt-4.1-mini').__dict__}"
    if status == 200:
        assert isinstance(outcome, Reply)
        assert outcome.text == "your key is [key]"
    assert caplog.records
    assert key not in caplog.text


async def test_a_placeholder_key_leaves_the_text_alone(provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    provider.say("any lamp will do")
    assert (await ChatModel("gpt-4.1-mini").ask(HELLO)).text == "any lamp will do"
