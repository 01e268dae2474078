"""Models that call tools in their providers' own way: real SDKs, real shops, scripted answers."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from agents.base import AgentError, Decision
from agents.language_model.agent import ANSWER_RETRIES, LanguageModelShopper
from agents.language_model.prompt import Content, data_prompt
from agents.language_model.tool_agent import SKIPPED, ToolShopper, tools_of
from agents.providers.capabilities import takes_tools
from agents.providers.openai_responses import OpenAIResponses
from agents.registry import make_agent
from environments.interfaces.episode import DataEpisode, FeedEpisode, ToolEpisode
from environments.interfaces.mcp_client import connected
from environments.protocol.actions import Action
from environments.protocol.observation import Observation, ShopTool
from environments.shop.catalogue import generate
from environments.shop.server import shop
from interventions.errors import UserError
from tests.agents.conftest import KEY
from tests.agents.providers.test_endings import MODELS, chat, gemini, message, response

GOAL = "Add the best product to the cart."
FIRST, SECOND = [each for each in generate().products if each.in_stock and not each.options][:2]
WANTED = {each.sku: each.name for each in (FIRST, SECOND)}
of_each = pytest.mark.parametrize("provider", MODELS, indirect=True)
of_text = pytest.mark.parametrize("provider", ["openai", "openai-responses", "compatible"], indirect=True)
"""Those whose arguments are a text, and so any text."""


@pytest.fixture(scope="module")
async def base() -> AsyncIterator[str]:
    async with shop(interfaces=True) as address:
        yield f"{address}ucp"


def seen(error: str = "", *, tools: tuple[ShopTool, ...] = ()) -> Observation:
    interface = "mcp" if tools else "feed"
    return Observation(
        GOAL, "", (), error, marks=False, interface=interface, data='{"products": []}', shop_tools=tools
    )


def agent(kind: str, interface: Any = "feed") -> Any:
    return make_agent(MODELS[kind], seed=1, interface=interface)


async def step(shopper: ToolShopper, episode: DataEpisode) -> Decision:
    decision = await shopper.act((await episode.look()).observation)
    await episode.act(decision.action)
    return decision


def declared(kind: str, request: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The tools of a request: name, description, schema."""
    match kind:
        case "openai-responses" | "anthropic":
            found = request["tools"]
        case "gemini":
            (both,) = request["tools"]
            found = both.get("functionDeclarations") or both["function_declarations"]
        case _:
            assert {each["type"] for each in request["tools"]} == {"function"}
            found = [each["function"] for each in request["tools"]]
    keys = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
    return [(t["name"], t["description"], next(t[key] for key in keys if key in t)) for t in found]


def results(kind: str, request: dict[str, Any]) -> list[tuple[str, str]]:
    """The results that a request ends with: the id of the call (or the name of its tool), and the text."""
    if kind == "openai-responses":
        told = [each for each in request["input"] if each.get("type") == "function_call_output"]
        return [(each["call_id"], each["output"]) for each in told]
    if kind == "gemini":
        parts = request["contents"][-1]["parts"]
        told = [part.get("functionResponse") or part.get("function_response") for part in parts]
        return [(each["id"], *each["response"].values()) for each in told]
    if kind == "anthropic":
        return [(each["tool_use_id"], each["content"]) for each in request["messages"][-1]["content"]]
    told = [each for each in request["messages"] if each["role"] == "tool"]
    return [(each.get("tool_call_id", each.get("tool_name")), each["content"]) for each in told]


@of_each
async def test_two_products_are_read_at_once_and_one_is_bought(provider, base: str) -> None:
    kind, shopper = provider.kind, agent(provider.kind, "mcp")
    read = [("get_product", {"catalog": {"id": sku}}) for sku in WANTED]
    line = {"item": {"id": SECOND.sku}, "quantity": 1}
    provider.call(*read, text="I read both.")
    provider.call(("create_cart", {"cart": {"line_items": [line]}}))
    async with httpx.AsyncClient() as client, connected(f"{base}/mcp", client) as (tools, call):
        episode = ToolEpisode(GOAL, base, WANTED, tools, call)
        first, second, last = [await step(shopper, episode) for _ in range(3)]
    assert SECOND.sku in episode.cart
    assert [each.action.args[0] for each in (first, second, last)] == [
        "get_product",
        "get_product",
        "create_cart",
    ]
    assert [json.loads(each.action.args[1]) for each in (first, second)] == [given for _, given in read]
    assert [each.looked for each in (first, second, last)] == [True, False, True]
    assert [each.thought for each in (first, second, last)] == ["I read both.", "", ""]
    assert [len(each.calls) for each in (first, second, last)] == [1, 0, 1]
    assert (last.usage.tokens_in, last.usage.tokens_out) == (1_000, 100)
    begun, then = provider.requests
    of_shop = [(each.name, each.description, json.loads(each.schema)) for each in tools]
    assert declared(kind, begun)[: len(tools)] == of_shop, "the shop's tools are as it has them"
    assert [name for name, _, _ in declared(kind, begun)[len(tools) :]] == ["give_up"]
    assert GOAL in json.dumps(begun) and FIRST.sku in json.dumps(begun)
    assert "<action>" not in json.dumps(begun) and "call_tool" not in json.dumps(begun)
    told = results(kind, then)
    assert [text for _, text in told] == episode.answers[1:3]
    numbers = ["get_product"] * 2 if kind == "ollama" else ["call_0", "call_1"]
    assert [number for number, _ in told] == numbers
    signed = {"openai-responses": "signed", "gemini": "c2lnbmVk"}.get(kind, "get_product")
    assert signed in json.dumps(then), "what the provider has signed goes back"
    assert kind != "anthropic" or ("cache_control" not in begun and "cache_control" in then)


@of_each
async def test_what_cannot_be_bought_is_told_as_the_result_of_its_call(provider, base: str) -> None:
    shopper = agent(provider.kind)
    provider.call(("add_to_cart", {"id": "none"}))
    provider.call(("add_to_cart", {"id": FIRST.sku}))
    async with httpx.AsyncClient() as client:
        episode = FeedEpisode(GOAL, base, WANTED, client)
        await episode.open()
        await step(shopper, episode)
        await step(shopper, episode)
    assert FIRST.sku in episode.cart
    begun, then = provider.requests
    assert [name for name, _, _ in declared(provider.kind, begun)] == ["add_to_cart", "give_up"]
    assert json.dumps(episode.answers[0])[1:-1] in json.dumps(begun), "the products are there as they came"
    ((_, told),) = results(provider.kind, then)
    assert told.startswith("add_to_cart: there is no product 'none'")


@of_each
async def test_an_answer_without_a_call_is_asked_for_again(provider) -> None:
    shopper = agent(provider.kind)
    provider.say("The lamp is best.")
    provider.call(("add_to_cart", {"id": "L20"}))
    decision = await shopper.act(seen())
    assert decision.action == Action("add_to_cart", ("L20",))
    assert [call.error for call in decision.calls] == ["unusable answer: unclear: it calls no tool", ""]
    assert decision.calls[0].answer == "The lamp is best."
    assert "call one of add_to_cart, give_up" in json.dumps(provider.requests[1])
    for _ in range(1 + ANSWER_RETRIES):
        provider.say("The lamp is best.")
    with pytest.raises(AgentError, match=r"unclear: it calls no tool \(the last of 4\)") as raised:
        await agent(provider.kind).act(seen())
    assert len(raised.value.calls) == 1 + ANSWER_RETRIES


@of_each
async def test_unknown_tools_and_arguments_are_told_and_nothing_of_their_answer_is_taken(provider) -> None:
    shopper = agent(provider.kind)
    provider.call(("add_to_cart", {"id": "L20"}), ("buy", {"id": "L20"}))
    provider.call(("add_to_cart", {"id": {"is": 1}}))
    provider.call(("add_to_cart", {"id": "L20", "quantity": 2}))
    provider.call(("give_up", {"reason": "none is good"}))
    decision = await shopper.act(seen())
    assert decision.action == Action("give_up", ("none is good",))
    wrong, typed, further = (
        [text for _, text in results(provider.kind, request)] for request in provider.requests[1:]
    )
    assert wrong == [SKIPPED, "there is no tool 'buy'; the tools are add_to_cart, give_up"]
    assert typed[-1] == "add_to_cart: id must be of type str, got dict"
    assert further[-1] == "add_to_cart: there is no argument 'quantity'; there is id"
    assert all(call.error.startswith("unusable answer: unclear: ") for call in decision.calls[:3])


@of_text
@pytest.mark.parametrize("given", ['{"id": "L20', "[1]", "[" * 100_000])
async def test_arguments_that_are_no_object_are_asked_for_again(provider, given: str) -> None:
    provider.call(("add_to_cart", given))
    provider.call(("add_to_cart", {"id": "L20"}))
    decision = await agent(provider.kind).act(seen())
    assert decision.action == Action("add_to_cart", ("L20",))
    assert "the arguments have to be a JSON object" in decision.calls[0].error
    assert "the arguments have to be a JSON object" in json.dumps(provider.requests[1])
    assert not results(provider.kind, provider.requests[1]), "no server is sent what it may trip over"
    assert len(json.dumps(provider.requests[1])) < 20_000


REFUSALS = [
    ("openai", chat("content_filter")),
    ("openai", chat("stop", content=None, refusal="No.")),
    ("compatible", chat("content_filter")),
    ("openai-responses", response("incomplete", "content_filter")),
    ("anthropic", message("refusal")),
    ("gemini", gemini("SAFETY")),
]


@pytest.mark.parametrize(("provider", "body"), REFUSALS, indirect=["provider"])
async def test_refusals_are_asked_about_again(provider, body: dict[str, Any]) -> None:
    for _ in range(1 + ANSWER_RETRIES):
        provider.script.append(JSONResponse(body))
    with pytest.raises(AgentError, match="invalid answer: refused"):
        await agent(provider.kind).act(seen())
    assert "it declines to answer" in json.dumps(provider.requests[1])


@of_each
async def test_a_call_that_is_cut_off_is_not_taken(provider) -> None:
    provider.call(("add_to_cart", {"id": "L2"}), text="So", finish_reason="length")
    provider.call(("add_to_cart", {"id": "L20"}))
    decision = await agent(provider.kind).act(seen())
    assert decision.action == Action("add_to_cart", ("L20",))
    assert [call.error for call in decision.calls] == ["unusable answer: cut_off", ""]


@of_text
async def test_arguments_of_the_shops_tools_are_any_json_that_can_be_sent(provider) -> None:
    tools = (ShopTool("find", "Finds.", '{"type": "object"}'),)
    for given in ('{"a": NaN}', '{"a": "\\ud800"}', json.dumps({"a": "x" * 5_000}), ""):
        provider.call(("find", given))
    decision = await agent(provider.kind, "mcp").act(seen(tools=tools))
    assert decision.action == Action("call_tool", ("find", "{}"))
    assert len(decision.calls) == 4


@of_each
async def test_a_key_that_a_server_echoes_is_in_no_action(provider) -> None:
    provider.call(("buy", {"id": KEY}))
    provider.call(("add_to_cart", {"id": KEY}), text=KEY)
    decision = await agent(provider.kind).act(seen())
    assert decision.action == Action("add_to_cart", ("[key]",))
    assert KEY not in f"{decision}"


@pytest.mark.parametrize(
    ("name", "native"),
    [
        *((name, True) for name in MODELS.values()),
        ("openai:gpt-5-mini", True),
        ("openai:gpt-6-luna", False),
        ("openai:gpt-6-luna@effort=none", True),
        ("openai-responses:gpt-6-luna", True),
        ("compatible:local@tools=text", False),
        ("hf:model", False),
        ("simulated:price", False),
    ],
)
def test_who_calls_tools_is_told_by_the_agents_name(name: str, native: bool, monkeypatch) -> None:
    assert takes_tools(name) == native
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    if name.startswith("openai"):
        assert isinstance(make_agent(name, seed=1), LanguageModelShopper)
        kind = ToolShopper if native else LanguageModelShopper
        assert isinstance(make_agent(name, seed=1, interface="mcp"), kind)


@pytest.mark.parametrize(
    ("name", "told"), [("gpt-6-sol", ["reasoning.encrypted_content"]), ("gpt-4.1", None)]
)
async def test_a_model_that_thinks_is_asked_for_thoughts_that_can_go_back(name: str, told: Any) -> None:
    model = OpenAIResponses(name)
    sent = model.with_tools(model.request([], None, 20, None), tools_of(seen()))
    assert (sent.get("include"), {each["strict"] for each in sent["tools"]}) == (told, {False})


def test_a_model_in_this_process_has_no_such_setting() -> None:
    with pytest.raises(UserError, match="hf has no tools"):
        make_agent("hf:model@tools=text", seed=1)


@pytest.mark.parametrize("tools", [(), (ShopTool("find", "Finds.", "{}"),)])
def test_the_prompt_of_a_model_that_calls_tools_has_no_form_of_answers(tools: tuple[ShopTool, ...]) -> None:
    native, text = (
        data_prompt().render(Content(GOAL, (), "", data="{}", tools=tools, actions=("find()",), native=each))
        for each in (True, False)
    )
    assert native.user == f"# Goal\n{GOAL}\n\n# The shop's products (JSON)\n{{}}"
    for part in ("# Actions", "# Answer format", "<action>", "thoughts and memories", "Finds.", "find()"):
        assert part not in native.system
    assert "# Actions\nfind()\n" in text.system and "step 1 in the answer format" in text.user
