"""The settings of a model by its agent's name: what is sent, what is refused, and what names they make."""

import re

import pytest
from pydantic.alias_generators import to_camel

from agents.base import ChatMessage
from agents.providers import longest_answer, make_model
from agents.providers.capabilities import check_settings, takes_temperature, temperature_notes, temperature_of
from agents.providers.local import LocalModel
from agents.providers.model_settings import ModelSettings, split_agent, with_settings
from agents.providers.pricing import price_of
from agents.registry import answers_alike, check_name
from agents.scoring import make_scorer
from interventions.errors import UserError
from tests.agents.tiny_models import save_model

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
MESSAGES = {"messages": HELLO}
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("provider", "agent", "sent"),
    [
        (
            "openai",
            "gpt-6-luna@effort=low,seed=7",
            {**MESSAGES, "max_completion_tokens": 14_020, "reasoning_effort": "low", "seed": 7},
        ),
        (
            "openai",
            "my-tune@top_p=0.9,max_tokens=5",
            {**MESSAGES, "max_tokens": 5, "temperature": 0.4, "top_p": 0.9},
        ),
        (
            "openai-responses",
            "gpt-6-sol@effort=high,max_tokens=300",
            {"input": HELLO, "store": False, "max_output_tokens": 14_300, "reasoning": {"effort": "high"}},
        ),
        (
            "compatible",
            "qwen3@effort=medium,top_p=0.8,top_k=20,seed=1",
            {
                **MESSAGES,
                "max_tokens": 14_020,
                "temperature": 0.4,
                "reasoning_effort": "medium",
                "top_p": 0.8,
                "top_k": 20,
                "seed": 1,
            },
        ),
        (
            "anthropic",
            "claude-opus-5@effort=low",
            {**MESSAGES, "max_tokens": 14_020, "output_config": {"effort": "low"}},
        ),
        (
            "anthropic",
            "claude-opus-4-6@effort=max",
            {
                **MESSAGES,
                "max_tokens": 14_020,
                "temperature": 0.4,
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "max"},
            },
        ),
        (
            "anthropic",
            "claude-opus-4-6@thinking=2000",
            {**MESSAGES, "max_tokens": 2_020, "thinking": {"type": "enabled", "budget_tokens": 2_000}},
        ),
        (
            "anthropic",
            "claude-haiku-4-5@top_p=0.9,top_k=5",
            {**MESSAGES, "max_tokens": 20, "top_p": 0.9, "top_k": 5},
        ),
        (
            "ollama",
            "gpt-oss:20b@effort=high,top_p=0.5,top_k=3,seed=9",
            {
                **MESSAGES,
                "stream": False,
                "tools": [],
                "think": "high",
                "options": {
                    "num_predict": 14_020,
                    "num_ctx": 16_384,
                    "temperature": 0.4,
                    "top_p": 0.5,
                    "top_k": 3,
                    "seed": 9,
                },
            },
        ),
    ],
    indirect=["provider"],
)
async def test_each_setting_is_sent_by_the_providers_own_name(provider, agent: str, sent: dict) -> None:
    provider.say("B")
    name = f"{provider.kind}:{agent}"
    await make_model(name).ask(HELLO, temperature=0.4, max_tokens=20)
    model = split_agent(name)[0].partition(":")[2]
    assert provider.requests == [{"model": model, **sent}]
    assert ("temperature" in sent or "temperature" in sent.get("options", {})) == takes_temperature(name)


@pytest.mark.parametrize("provider", ["gemini"], indirect=True)
@pytest.mark.parametrize(
    ("agent", "config"),
    [
        (
            "gemini-2.5-flash@thinking=500,top_p=0.9,top_k=40,seed=3",
            {
                "maxOutputTokens": 520,
                "thinkingConfig": {"thinkingBudget": 500},
                "temperature": 0.4,
                "topP": 0.9,
                "topK": 40,
                "seed": 3,
            },
        ),
        (
            "gemini-3.6-flash@effort=minimal",
            {"maxOutputTokens": 14_020, "thinkingConfig": {"thinkingLevel": "MINIMAL"}},
        ),
        ("gemini-3.5-flash-lite@max_tokens=9", {"maxOutputTokens": 14_009}),
    ],
)
async def test_settings_of_gemini(provider, agent: str, config: dict) -> None:
    provider.say("B")
    await make_model(f"gemini:{agent}").ask(HELLO, temperature=0.4, max_tokens=20)
    sent = provider.requests[0]["generationConfig"]
    if "thinkingConfig" in sent:  # the SDK writes these with underscores, which Google reads too
        sent["thinkingConfig"] = {to_camel(key): value for key, value in sent["thinkingConfig"].items()}
    assert sent == config


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
async def test_an_effort_and_a_schema_are_sent_together(provider) -> None:
    provider.say("{}")
    await make_model("anthropic:claude-opus-5-5@effort=low").ask(HELLO, schema=SCHEMA)
    wanted = {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}
    assert provider.requests[0]["output_config"] == wanted


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("openai:gpt-6-luna@efort=low", 'efort: no setting of a model; did you mean "effort"?'),
        ("openai:gpt-6-luna@top_p=2", "top_p: input should be less than or equal to 1"),
        ("openai:gpt-6-luna@seed=1,seed=2", "seed is given twice; keep one"),
        ("openai:gpt-6-luna@thinking=500", "openai has no thinking; it takes effort, top_p, seed"),
        ("openai:gpt-6-luna@top_p=0.5", "gpt-6-luna takes no top_p; leave it out"),
        ("openai:gpt-5@effort=max", "gpt-5 takes no effort max; it takes minimal, low, medium, high"),
        ("openai:gpt-4.1@effort=low", "gpt-4.1 takes no effort low; leave it out"),
        ("openai-responses:gpt-6-luna@seed=1", "openai-responses has no seed"),
        ("anthropic:claude-haiku-4-5@effort=low", "takes no effort low; leave it out"),
        ("anthropic:claude-opus-4-5@effort=max", "it takes low, medium, high"),
        ("anthropic:claude-opus-5@thinking=2000", "takes no budget of thinking; set its effort"),
        ("anthropic:claude-opus-5@top_k=5", "claude-opus-5 takes no top_k"),
        ("anthropic:claude-opus-4-5@thinking=100", "thinks with 1024 tokens or more; raise thinking"),
        ("anthropic:claude-opus-4-5@thinking=2000,top_k=5", "a model that thinks takes no top_k"),
        ("anthropic:claude-opus-4-5@effort=low,thinking=2000", "effort and thinking are given; keep one"),
        ("anthropic:claude-opus-5@seed=1", "anthropic has no seed"),
        ("gemini:gemini-3.6-flash@top_k=5", "gemini-3.6-flash takes no top_k"),
        ("gemini:gemini-3.6-flash@thinking=5", "takes no budget of thinking; set its effort"),
        ("gemini:gemini-2.5-flash@effort=low", "takes no effort low; leave it out"),
        ("ollama:llama3.2@effort=low", "llama3.2 takes no effort low; leave it out"),
        ("hf:some/folder@effort=low", "hf has no effort; it takes top_p, top_k, seed, max_tokens, load_in"),
        ("openai:gpt-6-luna@load_in=4bit", "openai has no load_in"),
        ("hf:some/folder@load_in=3bit", "load_in: input should be '8bit' or '4bit'"),
        ("openai:gpt-6-luna@effort", "effort: input should be 'none',"),
        ("openai:gpt-6-luna@", "no setting of a model; settings: effort"),
        ("openai:gpt-6-luna@seed=1@seed=2", "seed: input should be a valid integer"),
        ("simulated:balanced@seed=1", "simulated agents take no settings; leave them out"),
        ("gemini-computer:gemini-3.6-flash@effort=low", "gemini-computer has no effort; leave it out"),
    ],
)
def test_a_setting_that_a_model_does_not_have_is_a_mistake_before_the_run(agent: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        check_name(agent)


def test_log_probabilities_depend_on_no_setting_but_the_weights() -> None:
    with pytest.raises(UserError, match="log-probabilities depend on load_in alone; leave the others out"):
        make_scorer("openai:gpt-4.1@seed=1")
    with pytest.raises(UserError, match="openai has no load_in"):
        make_scorer("openai:gpt-4.1@load_in=4bit")


def test_equal_settings_have_one_name_and_other_names_are_left_alone() -> None:
    name = "openai:gpt-6-luna@effort=low,seed=7"
    for written in ("openai:gpt-6-luna@seed=07,effort=low", "openai:gpt-6-luna@ effort = low, seed=7 "):
        assert with_settings(written) == name
    assert split_agent(name) == ("openai:gpt-6-luna", ModelSettings(effort="low", seed=7))
    for other in ("simulated:mine@1a2b3c4d", "command:shop --mail=a@b=c", "ollama:llama3.2:1b", "hf:a@b"):
        assert with_settings(other) == other
        check_settings(other)
    assert price_of(name) == price_of("openai:gpt-6-luna")
    assert longest_answer("openai:gpt-6-luna@max_tokens=500", 10) == 14_500


def test_a_temperature_that_a_model_ignores_is_told_and_not_recorded() -> None:
    agents = ["simulated:balanced", "gemini:gemini-3.6-flash", "gemini:gemini-3.5-flash", "openai:gpt-6-sol"]
    agents += [
        "anthropic:claude-opus-5",
        "anthropic:claude-haiku-4-5",
        "anthropic:claude-haiku-4-5@top_p=0.5",
    ]
    assert [temperature_of(agent, 0.7) for agent in agents] == [0.7, None, 0.7, None, None, 0.7, None]
    told = temperature_notes(agents, [0.2, 0.7])
    assert [line.partition(": takes")[0] for line in told] == [agents[at] for at in (1, 3, 4, 6)]
    assert told[0].endswith("takes no temperature, so that none is sent, and none is a factor; "
                            "all 2 ask it the same, so name one")  # fmt: skip
    assert temperature_notes(agents, [None]) == []
    assert "top_k has no effect" in temperature_notes(["hf:a@top_k=2"], [0.0])[0]


def test_a_seed_makes_a_local_model_answer_alike(tmp_path) -> None:
    pytest.importorskip("torch", reason="local models need torch")
    pytest.importorskip("transformers", reason="local models need transformers", exc_type=ImportError)
    folder = save_model(tmp_path, "gpt2")
    assert answers_alike(f"hf:{folder}@seed=1", [1.0], chooses=True)
    assert not answers_alike(f"hf:{folder}", [1.0], chooses=True)
    assert isinstance(make_model(f"hf:{folder}@seed=1"), LocalModel)


async def test_what_a_local_model_draws_follows_from_its_settings(tmp_path) -> None:
    pytest.importorskip("torch", reason="local models need torch")
    pytest.importorskip("transformers", reason="local models need transformers", exc_type=ImportError)
    folder = save_model(tmp_path, "gpt2")

    async def said(settings: str) -> str:
        model = make_model(f"hf:{folder}{settings}")
        return (await model.ask(HELLO, temperature=1.5, max_tokens=20)).text

    assert await said("@seed=1") == await said("@seed=1") != await said("@seed=2")
    greedy = await make_model(f"hf:{folder}").ask(HELLO, temperature=0.0, max_tokens=20)
    assert await said("@top_k=1,seed=5") == greedy.text
