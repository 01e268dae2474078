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
from starlette.responses import JSONResponse, Response

from agents.base import ActError, AgentError, Call, ChatMessage, ProviderError, Reply
from agents.providers import make_model, network, rates
from agents.providers.anthropic_messages import AnthropicMessages
from agents.providers.bounded import LONGEST
from agents.providers.gemini import Gemini
from agents.providers.network import NetworkModel, backoff, retry_after
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
alike = pytest.mark.parametrize("provider", SERVICES, indirect=True)


def model_at(provider, **settings) -> NetworkModel:
    return MODELS[provider.kind](NAMES.get(provider.kind, "gpt-4.1-mini"), **settings)


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
    provider.say("Good day", usage=None)
    call = (await model_at(provider).ask(HELLO)).call
    assert (call.tokens_in, call.cost) == (0, None)
    sent = json.dumps(provider.requests[-1], sort_keys=True).encode()
    assert call.request_digest == reply.call.request_digest
    if provider.kind not in ("ollama", "gemini"):  # whose SDKs send it in another form
        assert call.request_digest == hashlib.sha256(sent).hexdigest()


@alike
@pytest.mark.parametrize("status", usual([408, 409, 429, 500, 503, 529], 3))
async def test_passing_failures_are_retried_and_counted(provider, status: int, monkeypatch) -> None:
    provider.fail(status)
    provider.cut()
    provider.fail(status, headers={"retry-after": "0"})
    provider.say("Good day")
    model = model_at(provider)
    monkeypatch.setattr(network, "_FIRST_WAIT", 0.001)
    reply = await model.ask(HELLO)
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
    "body",
    [
        b"<html>gateway</html>",
        b'{"choices": [{"message": {"content": "Go',
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"content": "\\ud83d"}}]}',
        b'{"choices": [{"message": {"content": ""}}], "usage": {"prompt_tokens": -1}}',
        b'{"status": "completed", "output": [{"type": "message", "content": [5]}]}',
        b'{"content": [{"type": "text", "text": "\\ud83d"}]}',
        b'{"message": {"role": "assistant", "content": "\\ud83d"}}',
        b'{"message": {"role": "assistant"}, "prompt_eval_count": -1}',
        b'{"error": "no"}',
        b"[]",
        b"\xff\xfe",
        b"",
    ],
)
async def test_garbage_is_a_failure_of_the_provider(provider, body: bytes) -> None:
    provider.send(body, "text/html" if body.startswith(b"<html>") else "application/json")
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
async def test_no_provider_at_all(provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVICES[provider.kind].url_variable, "http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError, match="no connection to the provider"):
        await model_at(provider, max_retries=0).ask(HELLO)


LONG_WAIT, SOON = {"retry-after": "3600"}, {"timeout": 0.05, "max_retries": 0}
NO_KEY, NO_MODEL = (
    r"refused \w+_API_KEY for .*; check the key",
    r"has no model [\w.-]+ \(HTTP 404\); (check its|fetch)",
)
NO_CREDIT = r"has no credit left \(HTTP {}\); top it up"


@alike
@pytest.mark.parametrize(
    ("how", "told", "settings", "error", "message"),
    [
        ("fail", (429, "busy", LONG_WAIT), {}, ProviderError, "HTTP 429"),
        ("hang", (), SOON, ProviderError, "did not answer in time"),
        ("drip", (), SOON, ProviderError, "did not answer in time"),
        (
            "fail",
            (400, "maximum context length"),
            {},
            AgentError,
            "refused the request: .*maximum context length",
        ),
        # What only the user can mend.
        ("fail", (401, ""), {}, UserError, NO_KEY),
        ("fail", (403, ""), {}, UserError, NO_KEY),
        ("fail", (404, ""), {}, UserError, NO_MODEL),
        ("fail", (402, "pay first"), {}, UserError, NO_CREDIT.format(402)),
        ("fail", (429, "insufficient_quota"), {}, UserError, NO_CREDIT.format(429)),
        ("fail", (400, "Your credit balance is too low"), {}, UserError, NO_CREDIT.format(400)),
    ],
)
async def test_what_does_not_pass_is_asked_once(
    provider, how: str, told: tuple, settings: dict, error: type[Exception], message: str
) -> None:
    getattr(provider, how)(*told)
    with pytest.raises(error, match=message) as caught:
        await model_at(provider, **settings).ask(HELLO)
    assert len(provider.requests) <= 1  # under load the time may be over before the request has come
    assert error is UserError or len(caught.value.calls) == 1
    (connection,) = network._connections.values()
    if error is ProviderError:
        assert connection.limiter.limit == 1  # overload lowers it, and no other was under way


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
async def test_a_key_that_is_echoed_by_the_server_goes_nowhere(provider, key, status: int, caplog) -> None:
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


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "500s"}
OF_GOOGLE = [
    (
        {"code": 400, "message": "no", "details": [{"reason": "API_KEY_INVALID"}]},
        UserError,
        "refused GEMINI_API_KEY",
    ),
    ({"code": 429, "message": "quota", "details": [RETRY]}, ProviderError, "HTTP 429"),
]


@pytest.mark.parametrize("provider", ["gemini"], indirect=True)
@pytest.mark.parametrize(("error", "kind", "said"), OF_GOOGLE)
async def test_failures_in_googles_own_words(provider, error: dict, kind: type[Exception], said: str) -> None:
    provider.script.append(JSONResponse({"error": error}, error["code"]))
    with pytest.raises(kind, match=said):
        await model_at(provider).ask(HELLO)
    assert len(provider.requests) == 1, "500 s are not waited for"


@pytest.mark.parametrize("provider", ["ollama", "compatible"], indirect=True)
async def test_a_key_is_optional_for_ones_own_server(provider, key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVICES[provider.kind].key_variable)
    provider.say("Good day")
    await model_at(provider).ask(HELLO)
    assert provider.keys in ([""], ["none"])


@pytest.mark.parametrize(
    ("provider", "name", "nominal", "temperature", "sent"),
    [
        ("anthropic", "claude-haiku-4-5", False, 0.1, 0.1),
        ("anthropic", "claude-haiku-4-5", True, 1.8, 0.9),
        ("anthropic", "claude-haiku-4-5", True, None, None),
        ("anthropic", "claude-opus-5", True, 1.8, None),
        ("openai", "gpt-4.1-mini", True, 1.8, 1.8),
    ],
    indirect=["provider"],
)
async def test_a_nominal_temperature_is_sent_on_the_providers_scale(
    provider, name: str, nominal: bool, temperature: float | None, sent: float | None
) -> None:
    provider.say("B")
    await make_model(f"{provider.kind}:{name}", nominal=nominal).ask(HELLO, temperature=temperature)
    assert provider.requests[-1].get("temperature") == sent


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


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
