from pathlib import Path

import pytest

from agents.base import ChatMessage
from agents.language_model.agent import LanguageModelShopper
from agents.language_model.prompt import PromptTemplates, default_prompt
from agents.providers.settings import SERVICES
from agents.registry import agent_names, answers_alike, check_agent, known_agents, make_agent, make_respondent
from agents.simulated.agent import SimulatedAgent
from interventions.errors import UserError

PLUGIN = """
from agents.base import Decision, Reply
from environments.protocol.actions import Action

class Waiter:
    def __init__(self, argument, seed):
        self.argument, self.seed = argument, seed
    async def act(self, observation):
        return Decision(self.argument, str(self.seed), Action("scroll", (0.0, 1.0)))

class Parrot:
    async def answer(self, messages, *, temperature, max_tokens, schema=None):
        return Reply(messages[-1]["content"])

def make(argument, *, seed):
    return Waiter(argument, seed)

def make_parrot(argument, *, seed):
    return Parrot()
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with three entry points, one of them broken."""
    (tmp_path / "souk_test_plugin.py").write_text(PLUGIN, encoding="utf-8")
    info = tmp_path / "souk_test_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: souk-test-plugin\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[souk.agents]\nwaiter = souk_test_plugin:make\nbroken = souk_test_plugin:nothing\n"
        "parrot = souk_test_plugin:make_parrot\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_shipped_agents_act_and_answer(provider) -> None:
    models = [f"{name}:m" for name in SERVICES]
    shoppers = [
        name for name in agent_names() if name.startswith("simulated:") and not name.endswith(".yaml")
    ]
    for name in (*models, *shoppers):
        kind = SimulatedAgent if name in shoppers else LanguageModelShopper
        agents = (make_agent(name, seed=1), make_agent(name, seed=1), make_respondent(name, seed=1))
        assert [type(each) for each in agents] == [kind] * 3
        assert agents[0] is not agents[1]


async def test_an_agent_is_given_its_prompt(provider, observe) -> None:
    prompt = default_prompt()
    shouting = PromptTemplates("mine", prompt.system + "ACT NOW", prompt.step)
    provider.say("<think>t</think><memory>m</memory><action>go_back()</action>")
    provider.say("<think>t</think><memory>m</memory><action>go_back()</action>")
    await make_agent("openai:gpt-4.1-mini", seed=1, prompt=shouting).act(observe())
    await make_agent("openai:gpt-4.1-mini", seed=1).act(observe())
    mine, shipped = (request["messages"][0]["content"] for request in provider.requests)
    assert mine.endswith("ACT NOW")
    assert "ACT NOW" not in shipped


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
async def test_a_respondent_takes_temperatures_on_a_scale_of_0_to_2(provider, observe) -> None:
    provider.say("B")
    await make_respondent("anthropic:claude-haiku-4-5", seed=1).answer(
        [{"role": "user", "content": "A or B?"}], temperature=1.3, max_tokens=8
    )
    provider.say("<think>t</think><memory>m</memory><action>go_back()</action>")
    await make_agent("anthropic:claude-haiku-4-5", seed=1).act(observe())
    assert [request["temperature"] for request in provider.requests] == [0.65, 0.1]


@pytest.mark.parametrize(
    ("name", "temperature", "alike"),
    [
        ("openai:gpt-4.1", 0, True),
        ("openai:gpt-4.1", 0.7, False),
        ("openai:gpt-4.1", None, False),
        ("openai:o3", 0, False),  # takes no temperature
        ("openai-responses:gpt-5", 0, False),
        ("anthropic:claude-haiku-4-5", 0, True),
        ("ollama:llama3", 0, True),
        ("hf:any", 0, True),
        ("simulated:balanced", 0, False),
    ],
)
def test_who_answers_alike_is_known_without_a_key(
    name: str, temperature: float | None, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for service in SERVICES.values():
        monkeypatch.delenv(service.key_variable, raising=False)
    assert answers_alike(name, [temperature], chooses=True) == alike


def test_what_is_missing_is_known_before_anyone_is_asked(provider, plugin: None, monkeypatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("OLLAMA_API_KEY")
    known = {agent.name: agent for agent in known_agents()}
    assert {f"{name}:MODEL" for name in SERVICES} < set(known)
    assert {"simulated:balanced", "waiter", "hf:NAME_OR_FOLDER"} < set(known)
    assert known["openai:MODEL"].problem == known["ollama:MODEL"].problem == ""
    assert known["anthropic:MODEL"].problem.startswith("ANTHROPIC_API_KEY is not set; set it")
    assert "ANTHROPIC_API_KEY" in known["anthropic:MODEL"].needs
    assert provider.requests == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("simulatd:balanced", 'unknown agent "simulatd:balanced"; did you mean "simulated:balanced"?'),
        (
            "gpt-4.1-mini",
            'unknown agent "gpt-4.1-mini"; write the provider before the model, as in openai:gpt-6-luna',
        ),
        ("os.path:join", 'unknown agent "os.path:join"; known agents: simulated:balanced, '),
        ("", 'unknown agent ""; known agents: '),
        ("simulated", 'unknown simulated agent ""; simulated agents: anchored, balanced, '),
        ("simulated:prize", 'unknown simulated agent "prize"; did you mean "price"?'),
        ("openai", "openai: the model is missing; write for example openai:gpt-6-luna"),
        ("hf", "hf: the model is missing; write for example hf:FOLDER"),
    ],
)
def test_wrong_names_are_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        check_agent(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ("known agents" in str(caught.value)) == ("known agents" in message)


async def test_an_installed_package_brings_its_agent_and_its_respondent(plugin: None, observe) -> None:
    assert "waiter" in agent_names()
    decision = await make_agent("waiter:table 4", seed=7).act(observe())
    assert (decision.thought, decision.memory) == ("table 4", "7")
    question: list[ChatMessage] = [{"role": "user", "content": "A or B?"}]
    reply = await make_respondent("parrot", seed=7).answer(question, temperature=None, max_tokens=8)
    assert reply.text == "A or B?"


def test_acting_and_answering_are_different_skills(plugin: None) -> None:
    check_agent("waiter", mode="page")
    check_agent("parrot", mode="text")
    with pytest.raises(UserError, match=r'^agents: "waiter" cannot answer in text; .* name another agent$'):
        check_agent("waiter", mode="text")
    with pytest.raises(UserError, match=r'^agents: "parrot" cannot act in a browser; .* name another agent$'):
        check_agent("parrot", mode="page")


def test_a_package_that_cannot_be_loaded_is_named(plugin: None) -> None:
    with pytest.raises(
        UserError, match=r"agents: broken: its package cannot be loaded: .*nothing.*; reinstall"
    ):
        check_agent("broken")
