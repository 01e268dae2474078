"""Every provider that is reached by network behaves alike, through its own SDK."""

import asyncio
import base64
import gzip
import hashlib
import json
import logging
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import Response

from agents.base import ActError, AgentError, Call, ChatMessage, ProviderError, Reply
from agents.providers import make_model, network, rates
from agents.providers.anthropic_messages import AnthropicMessages
from agents.providers.bounded import LONGEST
from agents.providers.gemini import Gemini
from agents.providers.network import Failure, NetworkModel, backoff, retry_after
from agents.providers.ollama_chat import OllamaChat
from agents.providers.openai_chat import CompatibleChat, OpenAIChat
from agents.providers.openai_responses import OpenAIResponses
from agents.providers.settings import SERVICES
from interventions.errors import UserError
from tests.mutations import as_json, changed, damaged
from tests.support import listening, size, usual

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
MODELS: dict[str, type[NetworkModel]] = {
    kind.provider: kind
    for kind in (OpenAIChat, OpenAIResponses, AnthropicMessages, OllamaChat, CompatibleChat, Gemini)
}
NAMES = {"anthropic": "claude-haiku-4-5", "gemini": "gemini-2.5-flash"}
alike = pytest.mark.parametrize("provider", MODELS, indirect=True)


def model_at(provider, **settings) -> NetworkModel:
    return MODELS[provider.kind](NAMES.get(provider.kind, "gpt-4.1-mini"), **settings)


def test_all_providers_are_tested() -> None:
    assert set(MODELS) == set(SERVICES)


@alike
async def test_text_tokens_and_cost_come_back(provider, key: str) -> None:
    provider.say("Good day", usage=(1_000_000, 500_000))
    reply = await model_at(provider).ask(HELLO)
    assert (reply.text, reply.ending.how) == ("Good day", "")
    assert (reply.call.tokens_in, reply.call.tokens_out, reply.call.retries) == (1_000_000, 500_000, 0)
    assert reply.call.cost == pytest.approx(
        {"anthropic": 3.5, "ollama": 0.0, "gemini": 1.55}.get(provider.kind, 1.2)
    )
    assert (reply.call.error, reply.call.model) == ("", model_at(provider).name)
    assert provider.keys == [key]


@alike
async def test_refusals_limits_and_missing_usage(provider) -> None:
    provider.say(None)
    provider.say("half of it", finish_reason="length", usage=None)
    model = model_at(provider)
    assert (await model.ask(HELLO)).text == ""
    reply = await model.ask(HELLO)
    assert (reply.text, reply.ending.how) == ("half of it", "cut_off")
    assert (reply.call.tokens_in, reply.call.cost) == (0, None)


@pytest.mark.thorough
@alike
@pytest.mark.parametrize(
    "settings", [{}, {"temperature": None}, {"max_tokens": 20}, {"schema": {"type": "object"}}]
)
async def test_the_digest_is_that_of_what_was_sent(provider, settings: dict) -> None:
    digests = set()
    for _ in range(2):
        provider.say("Good day")
        reply = await model_at(provider).ask(HELLO, **settings)
        digests.add(reply.call.request_digest)
        sent = json.dumps(provider.requests[-1], sort_keys=True).encode()
        if provider.kind not in ("ollama", "gemini"):  # whose SDKs send it in another form
            assert reply.call.request_digest == hashlib.sha256(sent).hexdigest()
    assert len(digests) == 1
    provider.say("Good day")
    assert (await model_at(provider).ask([*HELLO, *HELLO], **settings)).call.request_digest not in digests


@alike
@pytest.mark.parametrize("status", usual([408, 409, 429, 500, 503, 529], 3))
async def test_passing_failures_are_retried_and_counted(provider, status: int) -> None:
    provider.fail(status)
    provider.cut()
    provider.fail(status, headers={"retry-after": "0"})
    provider.say("Good day")
    model = model_at(provider)
    wait, network._FIRST_WAIT = network._FIRST_WAIT, 0.001
    try:
        reply = await model.ask(HELLO)
    finally:
        network._FIRST_WAIT = wait
    assert (reply.text, reply.call.retries, len(provider.requests)) == ("Good day", 3, 4)


@alike
@pytest.mark.parametrize("status", [429, 500])
async def test_lasting_failures_are_the_providers(provider, status: int) -> None:
    for _ in range(3):
        provider.fail(status, "over\ncapacity")
    with pytest.raises(ProviderError, match=rf"^HTTP {status} from the provider: .*over") as caught:
        await model_at(provider, max_retries=2).ask(HELLO)
    (call,) = caught.value.calls
    assert (call.retries, call.error, call.cost) == (2, str(caught.value), 0.0)
    assert call.failed == f"{status} {status} {status}"
    assert "\n" not in call.error


@alike
async def test_who_asks_for_a_long_wait_is_not_waited_for(provider) -> None:
    provider.fail(429, headers={"retry-after": "3600"})
    with pytest.raises(ProviderError, match="HTTP 429"):
        await model_at(provider).ask(HELLO)
    assert len(provider.requests) == 1


@alike
async def test_the_wait_that_is_asked_for_is_kept(provider, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep, this, began = asyncio.sleep, asyncio.current_task(), time.monotonic()

    async def note(seconds: float) -> None:
        if asyncio.current_task() is not this:  # the server's
            return await sleep(seconds)
        waits.extend([seconds] if seconds else [])

    monkeypatch.setattr(network.asyncio, "sleep", note)
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: began + sum(waits)))
    provider.fail(429, headers={"retry-after": "7"})
    provider.fail(503, headers={"retry-after-ms": "1500"})
    provider.say("Good day")
    await model_at(provider).ask(HELLO)
    assert waits == pytest.approx([7.0, 1.5])


@pytest.mark.slow
@alike
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
        (b'{"status": "completed", "output": [{"type": "message", "content": [5]}]}', "application/json"),
        (b'{"content": [{"type": "text", "text": "\\ud83d"}]}', "application/json"),
        (b'{"message": {"role": "assistant", "content": "\\ud83d"}}', "application/json"),
        (b'{"message": {"role": "assistant"}, "prompt_eval_count": -1}', "application/json"),
        (b'{"error": "no"}', "application/json"),
        (b"[]", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"", "application/json"),
    ],
)
async def test_garbage_is_a_failure_of_the_provider(provider, body: bytes, content_type: str) -> None:
    provider.send(body, content_type)
    with pytest.raises(ProviderError, match=r"^the provider's answer cannot be read$") as caught:
        await model_at(provider).ask(HELLO)
    assert len(caught.value.calls) == len(provider.requests) == 1


@pytest.mark.thorough
@pytest.mark.slow
@alike
@pytest.mark.parametrize("how", ["long", "packed"])
async def test_an_answer_without_end_is_a_failure_of_the_provider(provider, how: str) -> None:
    if how == "long":
        provider.send(b" " * (LONGEST + 1))
    else:
        provider.send(gzip.compress(b" " * 10**8))
        provider.script[0].headers["content-encoding"] = "gzip"
    with pytest.raises(ProviderError, match=r"^the provider's answer is packed, or longer than 16 MB$"):
        await model_at(provider).ask(HELLO)
    assert len(provider.requests) == 1


@settings(max_examples=size(12, 1_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), status=st.sampled_from([200, 200, 200, 400, 404, 500]))
@alike
async def test_any_answer_is_a_reply_or_a_failure(provider, data: st.DataObject, status: int) -> None:
    provider.say("Good day") if status == 200 else provider.fail(status)
    answer = provider.script.pop()
    if data.draw(st.booleans()):
        body = data.draw(damaged(bytes(answer.body)))
    else:
        body = as_json(data.draw(changed(json.loads(answer.body))))
    provider.script.append(Response(body, status, media_type="application/json"))
    try:
        reply = await model_at(provider, max_retries=0).ask(HELLO)
    except (ActError, UserError):
        return
    finally:
        provider.script.clear()
    assert reply.text.encode().decode() == reply.text  # without halves of characters
    assert 0 <= reply.call.tokens_in <= 10**9


@alike
async def test_an_error_that_is_garbage(provider) -> None:
    provider.fail(400)
    provider.script[0].body = b"[1]"
    provider.script[0].headers["content-length"] = "3"
    with pytest.raises(ActError):
        await model_at(provider).ask(HELLO)


@alike
async def test_a_slow_provider_times_out(provider) -> None:
    provider.hang()
    with pytest.raises(ProviderError, match="did not answer in time"):
        await model_at(provider, timeout=0.05, max_retries=0).ask(HELLO)


@pytest.mark.slow
async def test_a_time_out_amid_connecting_is_not_lost(provider) -> None:
    """On Python 3.12 about 3 of 100 cancellations were, and the request then waited for ever."""
    for number in range(size(45, 150)):
        provider.hang()
        model = model_at(provider, timeout=number % 15 / 1000, max_retries=0)
        asked = asyncio.create_task(model.ask(HELLO))
        ended, _ = await asyncio.wait({asked}, timeout=30)
        assert ended
        with pytest.raises(ProviderError, match="did not answer in time"):
            asked.result()
        await network.close_connections()


@alike
async def test_an_answer_that_drips_times_out_as_a_whole(provider) -> None:
    from starlette.responses import StreamingResponse

    async def drip():
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    provider.script.append(StreamingResponse(drip(), media_type="application/json"))
    with pytest.raises(ProviderError, match="did not answer in time"):
        await model_at(provider, timeout=0.1, max_retries=0).ask(HELLO)


@alike
async def test_no_provider_at_all(provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVICES[provider.kind].url_variable, "http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError, match="no connection to the provider"):
        await model_at(provider, max_retries=0).ask(HELLO)


@alike
async def test_a_request_that_is_refused_is_no_failure_of_the_provider(provider) -> None:
    provider.fail(400, "maximum context length exceeded")
    with pytest.raises(AgentError, match=r"refused the request: .*maximum context length") as caught:
        await model_at(provider).ask(HELLO)
    assert len(caught.value.calls) == len(provider.requests) == 1


@alike
@pytest.mark.parametrize(
    ("status", "said", "message"),
    [
        (401, "", r"refused \w+_API_KEY for .*; check the key"),
        (403, "", r"refused \w+_API_KEY for .*; check the key"),
        (404, "", r"has no model [\w.-]+ \(HTTP 404\); (check its name|fetch it: ollama pull)"),
        (402, "pay first", r"has no credit left \(HTTP 402\); top it up"),
        (429, "insufficient_quota", r"has no credit left \(HTTP 429\); top it up"),
        (400, "Your credit balance is too low", r"has no credit left \(HTTP 400\); top it up"),
    ],
)
async def test_what_only_the_user_can_mend_is_a_user_error(
    provider, status: int, said: str, message: str
) -> None:
    provider.fail(status, said)
    with pytest.raises(UserError, match=message):
        await model_at(provider).ask(HELLO)
    assert len(provider.requests) == 1


@alike
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(provider, status: int) -> None:
    visitors: list[bytes] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitors.append(await reader.read(10_000))
        writer.close()

    async with listening(converse, "127.0.0.1", 0) as server:
        elsewhere = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        provider.fail(status, "over there", {"location": elsewhere})
        with pytest.raises(UserError, match=rf"redirects .*\(HTTP {status}\).*; set \w+ to the address"):
            await model_at(provider).ask(HELLO)
    assert (len(provider.requests), visitors) == (1, [])


@alike
async def test_one_client_serves_all_and_is_closed(provider) -> None:
    provider.say("one")
    provider.say("two")
    await model_at(provider).ask(HELLO)
    await MODELS[provider.kind]("another").ask(HELLO)
    (connection,) = network._connections.values()
    await network.close_connections()
    assert not network._connections
    http = connection._clients[0]._client
    assert http.is_closed


@alike
@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500])
async def test_a_key_that_is_echoed_by_the_server_goes_nowhere(
    provider, key: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    if status == 200:
        provider.say(f"your key is {key}")
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in key)
        answer = provider.script.pop()
        provider.send(answer.body.replace(key.encode(), escaped.encode()))
    else:
        provider.fail(status, f"wrong: Bearer {key}")
    outcome: Reply | Exception
    model = model_at(provider, max_retries=0)
    try:
        outcome = await model.ask(HELLO)
    except (ActError, UserError) as error:
        outcome = error
        assert error.__cause__ is None
        assert error.__context__ is None
        assert key not in "".join(traceback.format_exception(error))
    calls: tuple[Call, ...] = getattr(outcome, "calls", ())
    assert key not in f"{outcome!r} {outcome} {calls} {model.__dict__} {network._connections.values()}"
    if status == 200:
        assert isinstance(outcome, Reply)
        assert outcome.text == "your key is [key]"
    assert caplog.records
    assert key not in caplog.text


@given(
    key=st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=16, max_size=80),
    before=st.text("a:=Z9 ", max_size=7),
    after=st.text("a:=Z9 ", max_size=7),
)
def test_a_key_that_is_echoed_in_another_form_is_struck_out(key: str, before: str, after: str) -> None:
    """What is left of it in base64 gives back no more of the key than the letters at its ends."""
    whole = before + key + after
    forms = {
        "as it stands": whole,
        "upper case": whole.upper(),
        "backwards": whole[::-1],
        "hexadecimal": whole.encode().hex(),
        "base64": base64.b64encode(whole.encode()).decode(),
        "base64 for addresses": base64.urlsafe_b64encode(whole.encode()).decode(),
    }
    for form, text in forms.items():
        told = network._without(key, f"<{text}>")
        assert "[key]" in told, form
        assert len(told) <= len("<[key]>") + 2 * (len(before) + len(after) + 4), form


@alike
async def test_a_placeholder_key_leaves_the_text_alone(provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVICES[provider.kind].key_variable, "any")
    provider.say("any lamp will do")
    assert (await model_at(provider).ask(HELLO)).text == "any lamp will do"


@alike
async def test_a_cancelled_request_gives_its_place_back(provider) -> None:
    provider.hang()
    asking = asyncio.create_task(model_at(provider).ask(HELLO))
    await provider.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    (connection,) = network._connections.values()
    assert connection.limiter._under_way == 0


@alike
async def test_overload_lowers_how_many_are_asked_at_once(provider) -> None:
    provider.fail(429)
    with pytest.raises(ProviderError):
        await model_at(provider, max_retries=0).ask(HELLO)
    (connection,) = network._connections.values()
    assert connection.limiter.limit == 1  # no other was under way


@pytest.mark.thorough
@pytest.mark.slow
@alike
async def test_more_are_under_way_than_a_client_of_an_sdk_has_connections(provider) -> None:
    """By default some have 100, and look through all of them for each request."""
    provider.together = 110
    for _ in range(provider.together):
        provider.say("Good day")
    model = model_at(provider)
    connection = model.connection()
    connection.limiter.limit = provider.together
    replies = await asyncio.gather(*(model.ask(HELLO) for _ in range(provider.together)))
    assert {reply.text for reply in replies} == {"Good day"}
    assert len(connection._clients) == 11


async def test_no_answer_in_time_counts_as_overload(provider) -> None:
    provider.hang()
    with pytest.raises(ProviderError, match="in time"):
        await model_at(provider, timeout=0.1, max_retries=0).ask(HELLO)
    (connection,) = network._connections.values()
    assert connection.limiter.limit == 1


@pytest.mark.parametrize("provider", ["ollama", "compatible"], indirect=True)
async def test_a_key_is_optional_for_ones_own_server(provider, key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVICES[provider.kind].key_variable)
    provider.say("Good day")
    await model_at(provider).ask(HELLO)
    assert provider.keys in ([""], ["none"])


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
async def test_half_of_a_nominal_temperature_is_sent(provider) -> None:
    for name, nominal, temperature, sent in [
        ("claude-haiku-4-5", False, 0.1, 0.1),
        ("claude-haiku-4-5", True, 1.8, 0.9),
        ("claude-haiku-4-5", True, None, None),
        ("claude-opus-5", True, 1.8, None),
    ]:
        provider.say("B")
        await make_model(f"anthropic:{name}", nominal=nominal).ask(HELLO, temperature=temperature)
        assert provider.requests[-1].get("temperature") == sent


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
async def test_a_scale_of_0_to_2_is_sent_as_it_is(provider) -> None:
    provider.say("B")
    await make_model("openai:gpt-4.1-mini", nominal=True).ask(HELLO, temperature=1.8)
    assert provider.requests[-1]["temperature"] == 1.8


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=f"agents: {name}: the model is missing; write for example {name}:"):
        make_model(f"{name}:")


def test_the_date_of_another_try_is_understood() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert retry_after({"retry-after": later}) == pytest.approx(60, abs=5)
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({}) is None


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text(max_size=30)))
def test_any_header_is_a_wait_or_none(headers: dict[str, str]) -> None:
    wait = retry_after(headers)
    assert wait is None or 0 <= wait < float("inf")


@given(st.integers(0, 10_000))
def test_waits_grow_up_to_a_bound_and_vary(retries: int) -> None:
    whole = min(0.5 * 2 ** min(retries, 50), 30)
    assert whole / 2 <= backoff(retries) <= whole


@pytest.mark.parametrize("status", [0, 408, 409, 429, 500, 529])
def test_what_passes(status: int) -> None:
    assert Failure("", status).passes
    assert not Failure("", 400).passes


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
