"""Stimuli: prompts as the published study renders them, families of one's own, and mistakes."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.designs.scoring.stimuli import SHIPPED, Stimuli, load_stimuli
from interventions.errors import UserError
from interventions.yaml.yaml_source import load_model, parse_yaml

DATA = Path(__file__).parents[5] / "shared" / "data" / "anchoring"
EXPERIMENT = parse_yaml("stimuli: x\n", "x.yaml")
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"no check data at {DATA}")

OWN = """\
template: "{story}: {anchor}. {question}"
stimuli:
  lift: {story: The lift stopped at floor, question: How tall is the tower?, anchor: {low: 2.5, high: 40}}
  bare: {question: How tall?, anchor: {low: 1, high: 2}}
"""


def own(folder: Path, text: str) -> Stimuli:
    (folder / "own.yaml").write_text(text)
    return load_stimuli(str(folder / "own.yaml"), EXPERIMENT)


@needs_data
def test_the_shipped_stimuli_are_the_published_ones() -> None:
    shipped = load_stimuli("anchoring", EXPERIMENT)
    published = json.loads((DATA / "stimuli.json").read_text())["stimuli"]
    assert list(shipped.stimuli) == [item["variation"] for item in published]
    for item in published:
        found = shipped.stimuli[item["variation"]]
        assert [found[name] for name in ("scene", "comparative", "absolute")] == [
            item[name] for name in ("scene", "comparative", "absolute")
        ]
        assert list(shipped.anchors(item["variation"]).numbers) == item["anchors"]


@needs_data
def test_prompts_are_rendered_as_published() -> None:
    shipped = load_stimuli("anchoring", EXPERIMENT)
    for case in json.loads((DATA / "render-cases.json").read_text()):
        prompt = shipped.render(case["variation"], case["anchor"], case["present"])
        assert prompt == case["text"]
        assert hashlib.sha256(prompt.encode()).hexdigest() == case["sha256"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(scene=TEXTS, comparative=TEXTS, absolute=TEXTS, present=st.sets(st.sampled_from(range(4))))
def test_the_template_rule(scene: str, comparative: str, absolute: str, present: set[int]) -> None:
    """Also where a text holds what looks like a place."""
    template = load_model(SHIPPED / "anchoring.yaml", Stimuli).template
    fields = {"scene": scene, "comparative": comparative, "absolute": absolute}
    stimuli = Stimuli.model_validate(
        {"template": template, "stimuli": {"s": {**fields, "anchor": {"low": 10, "high": 65}}}}
    )
    names = [*fields, "anchor"]
    texts = [text if i in present else "" for i, text in enumerate([*fields.values(), "65"])]
    expected = f"{texts[0]}{texts[3]}.\n\n{texts[1]}{texts[3]}?\n\n{texts[2]}".strip()
    assert stimuli.render("s", 65, {names[i] for i in present}) == expected


def test_a_family_of_ones_own(tmp_path: Path) -> None:
    stimuli = own(tmp_path, OWN)
    assert stimuli.fields("lift") == ("story", "question", "anchor")
    assert stimuli.fields("bare") == ("question", "anchor")
    assert stimuli.render("lift", 2.5, ["story", "anchor"]) == "The lift stopped at floor: 2.5."
    assert stimuli.render("bare", 1, ["question", "anchor"]) == ": 1. How tall?"


TEXTS_VARY = (
    OWN.replace("{anchor}", "{frame}")
    .replace("anchor:", "frame:")
    .replace("template", "varied: frame\ntemplate")
)


def test_two_texts_in_a_field_of_any_name(tmp_path: Path) -> None:
    stimuli = own(tmp_path, TEXTS_VARY.replace("{low: 1, high: 2}", "{low: 1 is lost, high: 2 are saved}"))
    assert stimuli.fields("bare") == ("question", "frame")
    assert stimuli.render("bare", stimuli.anchors("bare").high, ["frame"]) == ": 2 are saved."
    assert stimuli.anchors("bare").numbers == (0, 1)
    assert stimuli.anchors("lift").numbers == (2.5, 40)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            OWN.replace("{low: 1, high: 2}", "{low: one, high: two}"),
            "anchor: an anchor is a number; write num",
        ),
        (TEXTS_VARY.replace("{low: 1, high: 2}", "{low: one, high: one}"), "high: not another text than low"),
        (TEXTS_VARY.replace("{low: 1, high: 2}", "{low: one, high: 2}"), "high: not another text than low"),
        (
            TEXTS_VARY.replace("{low: 1, high: 2}", "one"),
            "not what frame can be; write {low: TEXT, high: TEXT}",
        ),
        (OWN.replace("template", "varied: frame\ntemplate"), "it has no place for the frame; add {frame}"),
    ],
)
def test_mistakes_in_what_varies(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        own(tmp_path, text)
