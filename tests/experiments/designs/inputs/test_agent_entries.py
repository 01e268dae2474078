"""Agents of an experiment file that are mappings: one name, and trials of their own."""

import pytest

from experiments.designs.cards.design import make_card_design
from interventions.errors import UserError
from interventions.yaml.yaml_source import parse_yaml
from tests.experiments.designs.make import made, shop

NAME = "openai:gpt-6-luna@effort=low,seed=7"
ENTRY = {"model": "openai:gpt-6-luna", "seed": 7, "effort": "low"}


def test_a_mapping_is_the_same_agent_as_its_name() -> None:
    design, named = made("biases", agents=[ENTRY, "simulated:balanced"]), made("biases", agents=[NAME])
    assert design.experiment.agents == (NAME, "simulated:balanced")
    assert design.run_id == named.run_id == made("biases").run_id
    assert shop(agents=[ENTRY]).experiment.agents == (NAME,)


def test_other_settings_are_other_trials_and_none_leaves_ids_as_they_were() -> None:
    design = made("biases")
    ids = [{trial.id for trial in design.trials([agent])} for agent in (NAME, "openai:gpt-6-luna@effort=low")]
    plain = [trial.id for trial in design.trials(["openai:gpt-6-luna"])]
    assert not ids[0] & ids[1] and not ids[0] & set(plain)
    assert plain[0] == "07c36689e2200771b035b6e6c0e5c6d6"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "{model: openai:x, efort: low}",
            "t.yaml:2:28: agents[0].efort: no setting of a model; did you mean",
        ),
        ("{model: openai:x, top_p: 7}", "agents[0].top_p: input should be less than or equal to 1"),
        ("{modl: openai:x}", "t.yaml:2:10: agents[0]: the model is missing; write for example model:"),
    ],
)
def test_a_mistake_has_its_place(entry: str, said: str) -> None:
    text = f"name: t\nagents: [{entry}]\ntask: card\ncards: biases\ndesign: {{battery: {{}}}}\n"
    with pytest.raises(UserError) as raised:
        make_card_design(parse_yaml(text, "t.yaml"))
    assert said in str(raised.value)
