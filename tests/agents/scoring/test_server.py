"""Scores by a server on loopback that speaks OpenAI's wire format, through the real SDK."""

import json
import math
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.base import AgentError, ProviderError
from agents.providers.network import close_connections
from agents.scoring import make_scorer, score_choices
from interventions.errors import UserError
from tests.mutations import as_json, changed, damaged
from tests.support import serve, size


def tokens_of(text: str) -> list[str]:
    """Words with their blank, digits two by two, any other character alone: `?1` is one token."""
    return re.findall(r"\?\d| ?[0-9]{1,2}| ?[A-Za-z]+|.", text, re.DOTALL)


def logprob(token: str) -> float:
    return -0.25 * len(token)


class Server:
    """What the tests script: `echo` none | zero | one, and the `likeliest` first tokens."""

    def __init__(self) -> None:
        self.echo = "zero"
        self.likeliest: dict[str, float] | None = {}
        self.damage: Callable[[bytes, bytes], bytes] = lambda body, _: body
        self.requests: list[dict[str, Any]] = []

    async def handle(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append(body)
        answer = self._complete(body) if "prompt" in body else self._chat()
        body = bytes(answer.body)
        return Response(self.damage(body, body), answer.status_code, media_type="application/json")

    def _complete(self, body: dict[str, Any]) -> Response:
        if self.echo == "none":
            return JSONResponse({"error": {"message": "not for this model"}}, status_code=404)
        if self.echo == "one" and body["max_tokens"] < 1:
            return JSONResponse({"error": {"message": "max_tokens must be positive"}}, status_code=400)
        if any("refuse" in text for text in body["prompt"]):
            return JSONResponse({"error": {"message": "too long"}}, status_code=400)
        choices = []
        for index, text in enumerate(body["prompt"]):
            tokens = [*tokens_of(text), *[" more"] * body["max_tokens"]]
            logprobs = {
                "tokens": tokens,
                "token_logprobs": [None, *(logprob(token) for token in tokens[1:])],
                "text_offset": [0] * len(tokens),
            }
            choices.append({"index": index, "text": "".join(tokens), "logprobs": logprobs})
        return JSONResponse({"id": "c", "object": "text_completion", "choices": choices[::-1]})

    def _chat(self) -> Response:
        choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": "A"}}
        if self.likeliest is not None:
            top = [{"token": token, "logprob": math.log(p)} for token, p in self.likeliest.items()]
            choice["logprobs"] = {"content": [{"token": "A", "logprob": -1.0, "top_logprobs": top}]}
        return JSONResponse({"id": "c", "object": "chat.completion", "choices": [choice]})


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    """A server, which the environment variables point to."""
    scripted = Server()
    paths = ("/v1/completions", "/v1/chat/completions")
    app = Starlette(routes=[Route(path, scripted.handle, methods=["POST"]) for path in paths])
    async with serve(app) as url:
        for provider in ("OPENAI", "COMPATIBLE"):
            monkeypatch.setenv(f"{provider}_BASE_URL", f"{url}v1")
            monkeypatch.setenv(f"{provider}_API_KEY", "sk-0123456789abcdef0123")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield scripted
        await close_connections()


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["compatible", "openai"])
@pytest.mark.parametrize("echo", ["zero", "one"])
async def test_a_server_that_echoes_scores_any_target(server, echo: str, provider: str) -> None:
    server.echo = echo
    scorer = make_scorer(f"{provider}:m")
    rows = await scorer.score(["Guess", "Your guess?"], ["10%", "100%"])
    for row in rows:
        assert [(s.tokens, s.shifted, s.note) for s in row] == [(2, False, ""), (3, False, "")]
        assert [s.logprob for s in row] == pytest.approx([-0.25 * 4, -0.25 * 5])
    assert scorer.name == f"{provider}:m"
    assert [len(request["prompt"]) for request in server.requests[-2:]] == [3, 3]  # the prompt and two texts


@pytest.mark.slow
async def test_a_prompt_whose_tokens_change_is_flagged(server) -> None:
    ((score,),) = await make_scorer("compatible:m").score(["Guess 1"], ["0"])
    assert (score.shifted, score.tokens) == (False, 1)
    server.requests.clear()
    ((moved,),) = await make_scorer("compatible:m").score(["Guess "], ["7"])
    assert tokens_of("Guess  7") == ["Guess", " ", " 7"]
    assert (moved.shifted, moved.logprob) == (False, -0.5)
    ((empty,),) = await make_scorer("compatible:m").score([""], ["10"])
    assert (empty.logprob, empty.note[:42]) == (None, "the server gives a token no log-probabilit")


async def test_a_prompt_that_is_refused_is_undefined_and_others_are_not(server) -> None:
    good, bad = await make_scorer("compatible:m").score(["Guess?", "refuse"], ["10%"])
    assert good[0].logprob == pytest.approx(-1.0)
    assert bad[0].logprob is None
    assert bad[0].note.startswith("the provider refused the request: ")


async def test_without_echo_the_first_token_of_a_chat_answer_is_scored(server) -> None:
    server.echo, server.likeliest = "none", {"A": 0.5, " A": 0.1, "B": 0.2, "10": 0.1}
    ((a, b, c, percent),) = await make_scorer("compatible:m").score(["A or B?"], ["A", "B", "C", "10%"])
    assert (a.logprob, b.logprob) == pytest.approx((math.log(0.6), math.log(0.2)))
    assert a.note == "as the first token of a chat answer"
    for score in (c, percent):
        assert score.logprob is None
        assert score.note.startswith("not among the 4 likeliest first tokens")
    last = server.requests[-1]
    assert (last["max_tokens"], last["logprobs"], last["top_logprobs"]) == (1, True, 20)


async def test_choices_of_a_chat_model(server) -> None:
    server.likeliest = {"A": 0.6, "B": 0.2}
    scorer = make_scorer("openai:gpt-4.1-mini", chat=True)
    assert await score_choices(scorer, "A or B?\n", ["A", "B"]) == pytest.approx({"A": 0.75, "B": 0.25})
    assert len(server.requests) == 1
    assert server.requests[0]["messages"] == [{"role": "user", "content": "A or B?"}]
    with pytest.raises(AgentError, match=r"^C has no score: not among the 2 likeliest"):
        await score_choices(scorer, "A or C?", ["A", "C"])


async def test_a_server_without_log_probabilities(server) -> None:
    server.echo, server.likeliest = "none", None
    with pytest.raises(UserError, match="the server returns no log-probabilities; name hf:FOLDER"):
        await make_scorer("compatible:m").score(["?"], ["A"])
    with pytest.raises(UserError, match="thinks before it answers"):
        await make_scorer("openai:gpt-5-mini").score(["?"], ["A"])
    with pytest.raises(UserError, match="the legacy convention needs a local model"):
        make_scorer("compatible:m", legacy=True)


@pytest.mark.parametrize("logprob", ["-9999.0", "-Infinity", "NaN", "1e308", "Infinity", "1e999"])
@pytest.mark.parametrize("echo", ["zero", "none"])
async def test_a_log_probability_that_is_none_leaves_its_target_without_score(
    server, echo: str, logprob: str
) -> None:
    """-9999 is what OpenAI says of a token that cannot come."""
    server.echo, server.likeliest = echo, {"A": 0.5, "B": 0.2}
    first = b"-0.6931471805599453" if echo == "none" else b"-0.5]"
    server.damage = lambda body, _: body.replace(first, logprob.encode() + first[-1:] * first.endswith(b"]"))
    ((a, b),) = await make_scorer("compatible:m").score(["A or B?"], ["A", "B"])
    for score in (a, b):
        assert score.logprob is None or (math.isfinite(score.logprob) and score.logprob <= 0)
        assert score.note or score.logprob is not None


@pytest.mark.slow
@settings(max_examples=size(30, 1_500), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), echo=st.sampled_from(["zero", "one", "none"]))
async def test_any_answer_is_a_score_or_a_failure(server, data: st.DataObject, echo: str) -> None:
    server.echo, server.likeliest = echo, {"A": 0.5, " A": 0.1, "B": 0.2}
    answers = [server._chat()]
    for prompts in (["A or B? A"], ["A or B?", "A or B? A", "A or B? B"]):
        answers.append(server._complete({"prompt": prompts, "max_tokens": int(echo == "one")}))
    whole = bytes(data.draw(st.sampled_from(answers)).body)
    broken = data.draw(damaged(whole) | changed(json.loads(whole)).map(as_json))
    server.damage = {whole: broken}.get
    scorer = make_scorer("compatible:m", chat=data.draw(st.booleans()))
    try:
        (row,) = await scorer.score(["A or B?"], ["A", "B"])
    except (AgentError, ProviderError, UserError):
        return
    for score in row:
        assert score.note if score.logprob is None else math.isfinite(score.logprob)
