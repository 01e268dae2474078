"""The way in which pages are shown, as a factor: trials, identities, and what an agent was shown."""

from collections import Counter
from itertools import islice, pairwise

import pytest

from agents.base import Agent, Decision, SafetyCheck
from agents.language_model.prompt import data_prompt
from environments.observation.views import VIEWS
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from interventions.errors import UserError
from tests.experiments.designs.make import shop
from tests.experiments.designs.shop.conftest import Place, carry_out

LOOKER = "simulated:looker"


class Loser:
    async def act(self, observation: Observation) -> Decision:
        return Decision("", "", Action("give_up", ("none fits",)))


def nudged(made: ShopDesign, modality: str) -> ShopTrial:
    return next(
        each for each in made.trials([LOOKER]) if each.modality == modality and each.condition == "nudged"
    )


def test_a_model_calls_tools_where_there_is_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc")
    made = shop("interfaces", observation=["html", "feed", "mcp"])
    runner = ShopTrialRunner(made, "http://shop.test/")
    kinds = {
        (each.interface, type(runner.agent(each)).__name__)
        for each in islice(made.trials(["openai:gpt-4.1-mini"]), made.block_size())
    }
    tools = {(each, "ToolShopper") for each in ("feed", "mcp")}
    assert kinds == {("page", "LanguageModelShopper"), *tools}
    assert made.inputs["prompt_of_data"] == data_prompt().digest
    assert "native" in data_prompt().system


def test_every_trial_is_run_in_each_modality() -> None:
    made, alone = shop("modality"), shop("modality", observation={"page": "viewport"})
    block = list(islice(made.trials([LOOKER]), made.block_size()))
    assert Counter(each.modality for each in block) == dict.fromkeys(
        ("html", "tree", "screenshot", "marks"), 6
    )
    cells = Counter((each.products, each.carrier, each.ordering) for each in block)
    assert set(cells.values()) == {4}
    assert len(block) == 4 * alone.block_size()
    assert [made.view(each) for each in block] == [VIEWS[each.modality] for each in block if each.modality]
    assert {each.modality for each in alone.trials([LOOKER])} == {None}


def test_models_with_a_tool_for_computers_are_shown_pictures() -> None:
    made = shop("modality", observation={"page": "viewport"})
    trial = next(made.trials(["openai-computer:gpt-5.5"]))
    assert made.view(trial) == VIEWS["screenshot"]
    assert made.prompt_for(trial) is made.prompt


def test_an_agent_has_the_modalities_that_it_can_be_shown() -> None:
    made, program, computer = shop("modality"), "command:python a.py", "openai-computer:gpt-5.5"
    trials = list(made.trials([LOOKER, program, computer]))
    found = {name: {each.modality for each in trials if each.agent == name} for name in (program, computer)}
    assert found == {program: {None}, computer: {"screenshot", "marks"}}
    size, counts = made.block_size(), Counter(each.agent for each in trials)
    assert (made.block_size(program) * 4, made.block_size(computer) * 2) == (size, size)
    assert (counts[program] * 4, counts[computer] * 2) == (counts[LOOKER], counts[LOOKER])
    assert [
        line for line in made.notes([LOOKER, program, computer]) if line.startswith((program, computer))
    ] == [
        f"{program} has a browser of its own: its trials are run once, and in no modality",
        f"{computer} looks at pictures: it has no trials in html or tree",
    ]
    for observation in ("html", ["html", "tree"]):
        with pytest.raises(UserError, match="looks at pictures, and observation has none; add one of"):
            list(shop("modality", observation=observation).trials([computer]))


def test_the_prompt_follows_the_modality() -> None:
    made = shop("modality")
    names = {each.modality: made.prompt_for(each).name for each in islice(made.trials([LOOKER]), 24)}
    assert names == {"html": "default", "tree": "pictures", "screenshot": "pictures", "marks": "pictures"}


class Zoomer:
    """Acts in batches of two: it enlarges all of the viewport, and then does what its agent does there."""

    def __init__(self, agent: Agent, *, looked: bool) -> None:
        self.agent, self.looked = agent, looked

    async def act(self, observation: Observation) -> Decision:
        if not observation.zoomed:
            zoom = Action("zoom", (0.0, 0.0, 1280.0, 720.0))
            return Decision("", "", zoom, looked=self.looked, checks=(SafetyCheck("irrelevant", "?", True),))
        return await self.agent.act(observation)


@pytest.mark.browser
@pytest.mark.parametrize("looked", [True, False])
async def test_hits_are_recorded_and_what_is_enlarged_counts_only_where_it_was_sent(
    place: Place, looked: bool
) -> None:
    made = shop("modality")
    trial = nudged(made, "screenshot")
    agent = ShopTrialRunner(made, place[0].base_url).agent(trial)
    trajectory, record = await carry_out(place, made, trial, Zoomer(agent, looked=looked))
    assert any(each["action"].startswith("zoom") for each in record.steps)
    if looked:
        assert trajectory.outcome == "choice", trajectory.reason
        (hit,) = record.hits
        found = (record.trial.modality, hit["role"], hit["product"], hit["text"])
        assert found == ("screenshot", "product.add_to_cart", trajectory.choice, "Add to Cart")
    else:
        assert trajectory.outcome == "treatment_failed"
        assert "the agent was not sent the page of" in trajectory.reason
        assert record.on_screen == []
    assert {each["acknowledged"] for each in record.safety_checks} == {1}
    enlarged = {each["step"] for before, each in pairwise(record.steps) if before["action"][:4] == "zoom"}
    assert enlarged
    assert not enlarged & {each["step"] for each in record.on_screen}


@pytest.mark.browser
async def test_an_agent_may_give_up(place: Place) -> None:
    made = shop("modality")
    trajectory, record = await carry_out(place, made, nudged(made, "screenshot"), Loser())
    assert (trajectory.outcome, trajectory.reason) == ("no_choice", "the agent gave up: none fits")
    assert record.steps[0]["action"] == "give_up('none fits')"
