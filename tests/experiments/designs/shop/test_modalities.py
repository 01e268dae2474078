"""The way in which pages are shown, as a factor: trials, identities, and what an agent was shown."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import pytest
import yaml

from agents.base import Agent, Decision, SafetyCheck
from environments.observation.views import VIEWS
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.records.record import Start, TrialRecord
from experiments.treatment.trajectory import Trajectory
from interventions.errors import UserError
from interventions.yaml.yaml_source import parse_yaml
from proxy.server import Slot

LOOKER = "simulated:looker"


def design(**changes: Any) -> ShopDesign:
    data = {**experiment_source("modality").data, **changes}
    return ShopDesign(parse_yaml(yaml.safe_dump(data), "test.yaml"))


@pytest.fixture(scope="module")
async def testbed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Testbed, Slot]]:
    async with open_testbed(tmp_path_factory.mktemp("testbed")) as opened:
        yield opened, await opened.proxy.open_slot()


class Wrapped:
    """An agent whose decisions are changed before they are taken."""

    def __init__(self, agent: Agent, **changes: Any) -> None:
        self._agent, self._changes = agent, changes
        self.seen: list[Observation] = []

    async def act(self, observation: Observation) -> Decision:
        self.seen.append(observation)
        return replace(await self._agent.act(observation), **self._changes)


class Loser:
    async def act(self, observation: Observation) -> Decision:
        return Decision("", "", Action("give_up", ("none fits",)))


async def carry_out(
    testbed: tuple[Testbed, Slot], made: ShopDesign, trial: ShopTrial, agent: Agent | None = None
) -> tuple[Trajectory, TrialRecord]:
    opened, slot = testbed
    episodes = ShopTrialRunner(made, opened.base_url)
    session = slot.session = episodes.session(trial)
    try:
        async with opened.browsers.context(slot.url) as context:
            trajectory = await episodes.episode(trial, agent or episodes.agent(trial), context, session)
        return trajectory, episodes.record(trial, trajectory, session, start=Start.now(), attempts=1)
    finally:
        slot.session = None


def nudged(made: ShopDesign, modality: str) -> ShopTrial:
    return next(
        each for each in made.trials([LOOKER]) if each.modality == modality and each.condition == "nudged"
    )


def test_every_trial_is_run_in_each_modality() -> None:
    made, alone = design(), design(observation={"page": "viewport"})
    block = list(islice(made.trials([LOOKER]), made.block_size()))
    assert Counter(each.modality for each in block) == dict.fromkeys(
        ("html", "tree", "screenshot", "marks"), 6
    )
    cells = Counter((each.products, each.carrier, each.ordering) for each in block)
    assert set(cells.values()) == {4}
    assert len({each.id for each in block}) == len(block) == 4 * alone.block_size()
    assert [made.view(each) for each in block] == [VIEWS[each.modality] for each in block if each.modality]
    assert {each.modality for each in alone.trials([LOOKER])} == {None}
    assert made.run_id != design(observation=["html", "tree"]).run_id


def test_experiments_of_before_are_the_same_runs() -> None:
    assert "modality" not in str(design(observation={"tree": True}).inputs["experiment"]["observation"])
    assert "safety_checks" not in design().inputs["experiment"]
    assert design(safety_checks="acknowledge").run_id != design().run_id


def test_models_with_a_tool_for_computers_are_shown_pictures() -> None:
    made = design(observation={"page": "viewport"})
    trial = next(made.trials(["openai-computer:gpt-5.5"]))
    assert made.view(trial) == VIEWS["screenshot"]
    assert made.prompt_for(trial) is made.prompt


def test_an_agent_has_the_modalities_that_it_can_be_shown() -> None:
    made, program, computer = design(), "command:python a.py", "openai-computer:gpt-5.5"
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
            list(design(observation=observation).trials([computer]))


def test_options_of_models_that_look_are_by_the_agents_name() -> None:
    agent, other = "qwen-computer:mine", "gemini-computer:gemini-3.5-flash"
    computers = {agent: {"coordinates": "pixels"}, other: {"disabled_safety_policies": ["ACCOUNT_CREATION"]}}
    made = design(observation="screenshot", computers=computers)
    assert made.experiment.computers[agent].coordinates == "pixels"
    assert made.run_id != design(observation="screenshot").run_id
    assert "computers" not in design().inputs["experiment"]
    for wrong, message in {
        "openai-computer:gpt-5.5": "takes no options; agents that do: gemini-computer:MODEL",
        "qwen-computer": "takes no options",
        other: "takes no coordinates; it takes disabled_safety_policies and prompt_injection",
    }.items():
        with pytest.raises(UserError, match=message) as found:
            design(observation="screenshot", computers={wrong: {"coordinates": "pixels"}})
        assert str(found.value).startswith("test.yaml:")
    with pytest.raises(UserError, match="inches"):
        design(computers={agent: {"coordinates": "inches"}})


def test_the_prompt_follows_the_modality() -> None:
    made = design()
    names = {each.modality: made.prompt_for(each).name for each in islice(made.trials([LOOKER]), 24)}
    assert names == {"html": "default", "tree": "pictures", "screenshot": "pictures", "marks": "pictures"}


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ("screenshoot", 'no modality; did you mean "screenshot"'),
        (["html", "picture"], '"picture" is no modality; the modalities are: both, html, marks'),
        (["html", "html"], "a modality stands twice"),
        ({"modality": ["tree"], "screenshot": True}, "a modality says all of what is shown"),
    ],
)
def test_a_mistake_is_one_line(observation: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        design(observation=observation)


def test_a_stopping_rule_knows_no_modalities() -> None:
    with pytest.raises(UserError, match="write an experiment for each modality"):
        design(stopping={"rule": "anytime-valid"})
    design(stopping={"rule": "anytime-valid"}, observation="screenshot")


@pytest.mark.thorough
@pytest.mark.browser
async def test_what_was_hit_is_recorded(testbed: tuple[Testbed, Slot]) -> None:
    made = design()
    trial = nudged(made, "screenshot")
    trajectory, record = await carry_out(testbed, made, trial)
    assert trajectory.outcome == "choice", trajectory.reason
    assert record.trial.modality == "screenshot"
    (hit,) = record.hits
    assert (hit["role"], hit["product"], hit["text"]) == (
        "product.add_to_cart",
        trajectory.choice,
        "Add to Cart",
    )
    place = next(each for each in record.on_screen if each["intervention"] == trial.nudge.id)  # type: ignore[union-attr]

    class Pointer:
        async def act(self, observation: Observation) -> Decision:
            x, y = float(place["x"] + 5), float(place["y"] + 5)
            return Decision("", "", Action("mouse_move", (x, y)))

    made = design(limits={"steps": 1})
    if place["step"] == 0:
        _, record = await carry_out(testbed, made, trial, Pointer())
        assert [each["intervention"] for each in record.hits] == [trial.nudge.id]  # type: ignore[union-attr]


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("modality", ["screenshot", "marks"])
async def test_pictures_that_were_not_sent_prove_nothing(
    testbed: tuple[Testbed, Slot], modality: str
) -> None:
    made = design()
    trial = nudged(made, modality)
    agent = ShopTrialRunner(made, testbed[0].base_url).agent(trial)
    wrapped = Wrapped(agent, looked=False, checks=(SafetyCheck("irrelevant_domain", "Sure?", True),))
    trajectory, record = await carry_out(testbed, made, trial, wrapped)
    assert trajectory.outcome == "treatment_failed"
    assert "the agent was not sent the page of" in trajectory.reason
    assert {each["looked"] for each in record.steps if each["action"]} == {0}
    assert record.on_screen == []
    assert [each["acknowledged"] for each in record.safety_checks] == [1] * len(trajectory.decisions)
    assert all(each.html == each.tree == "" and each.screenshot for each in wrapped.seen)


class Zoomer:
    """Acts in batches of two: it enlarges all of the viewport, and then does what its agent does there."""

    def __init__(self, agent: Agent, *, looked: bool) -> None:
        self.agent, self.looked = agent, looked

    async def act(self, observation: Observation) -> Decision:
        if not observation.zoomed:
            return Decision("", "", Action("zoom", (0.0, 0.0, 1280.0, 720.0)), looked=self.looked)
        return await self.agent.act(observation)


@pytest.mark.browser
@pytest.mark.parametrize("looked", [True, False])
async def test_what_is_enlarged_counts_only_where_it_was_sent_before(
    testbed: tuple[Testbed, Slot], looked: bool
) -> None:
    made = design()
    trial = nudged(made, "screenshot")
    agent = ShopTrialRunner(made, testbed[0].base_url).agent(trial)
    trajectory, record = await carry_out(testbed, made, trial, Zoomer(agent, looked=looked))
    assert any(each["action"].startswith("zoom") for each in record.steps)
    if looked:
        assert trajectory.outcome == "choice", trajectory.reason
    else:
        assert trajectory.outcome == "treatment_failed"
        assert "the agent was not sent the page of" in trajectory.reason
    enlarged = {each["step"] for before, each in pairwise(record.steps) if before["action"][:4] == "zoom"}
    assert enlarged
    assert not enlarged & {each["step"] for each in record.on_screen}


@pytest.mark.browser
async def test_an_agent_may_give_up(testbed: tuple[Testbed, Slot]) -> None:
    made = design()
    trajectory, record = await carry_out(testbed, made, nudged(made, "screenshot"), Loser())
    assert (trajectory.outcome, trajectory.reason) == ("no_choice", "the agent gave up: none fits")
    assert record.steps[0]["action"] == "give_up('none fits')"
