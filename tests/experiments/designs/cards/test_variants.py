"""Variants of the prompt: what each changes, and that all else is as it was."""

import json
from collections import defaultdict

import pytest

from agents.simulated.readers.card_text import read_options
from experiments.designs.cards.trial import CardTrial
from interventions.cards.page import render_page
from interventions.errors import UserError
from tests.experiments.designs.make import made

BLOCKS = [{"set_size": 2, "sets": 3, "repeats": 2}, {"set_size": 3, "sets": 2}]
VARIANTS = {
    "json": {"form": "json"},
    "price-first": {"fields": ["Price per night", "Free cancellation"]},
    "budget": {"persona": "You travel on a small budget."},
    "reasoning": {"reasoning": True},
    "warm": {"temperature": [0.3, 1]},
    "both": {"form": "json", "persona": "You are an old man.", "temperature": 0.5},
}


def conjoint(mode: str = "text", **variants: object) -> dict[str, object]:
    design = {"conjoint": {"pool": "hotels", "blocks": BLOCKS, "variants": variants}}
    return {"mode": mode, "temperature": 0, "design": design}


def cells(**variants: object) -> dict[str, list[CardTrial]]:
    """The trials of each condition, in order."""
    found = defaultdict(list)
    for trial in made("hotels", **conjoint(**variants)).trials(["simulated:balanced"]):
        found[trial.condition].append(trial)
    return found


def test_variants_are_crossed_with_sets_orders_and_repeats() -> None:
    design, plain = made("hotels", **conjoint(**VARIANTS)), cells()[""]
    found = cells(**VARIANTS)
    assert list(found) == ["base", "json", "price-first", "budget", "reasoning", "warm-0.3", "warm-1", "both"]
    for own in found.values():
        shown = [(trial.set, trial.ordering, trial.repeat, trial.options) for trial in own]
        assert shown == [(trial.set, trial.ordering, trial.repeat, trial.options) for trial in plain]
    assert len({trial.id for own in found.values() for trial in own}) == design.size == 8 * len(plain)
    assert design.block_size() == 16
    temperatures = {name: {trial.temperature for trial in own} for name, own in found.items()}
    assert temperatures == {name: {0.0} for name in found} | {
        "warm-0.3": {0.3},
        "warm-1": {1.0},
        "both": {0.5},
    }
    assert [trial.cards for trial in found["base"]] == [trial.cards for trial in plain]
    assert "in 8 variants (base, json, price-first" in design.summary()


def test_what_each_variant_changes() -> None:
    found = cells(**VARIANTS)
    for number, base in enumerate(found["base"]):
        (card,), prompts = base.cards, {name: own[number].cards[0].prompt for name, own in found.items()}
        options = read_options(card.prompt)
        assert prompts["warm-1"] == prompts["base"]
        assert prompts["budget"] == f"You travel on a small budget.\n\n{prompts['base']}"
        before, after = card.prompt.partition("Option A")[0], card.prompt.rpartition("\n\n")[2]
        record = json.loads(prompts["json"].partition("Option B:\n")[2].partition("\n\n")[0])
        assert list(record.items()) == options["B"], "the same facts in the same order"
        assert prompts["json"].startswith(before)
        assert prompts["json"].endswith(after)
        assert prompts["both"] == f"You are an old man.\n\n{prompts['json']}"
        assert read_options(prompts["json"]) == options, "simulated agents read records"
        labels = [label for label, _ in options["A"]]
        first = ["Hotel", "Price per night", "Free cancellation"]
        turned = read_options(prompts["price-first"])
        assert [label for label, _ in turned["A"]] == first + [x for x in labels if x not in first]
        assert {letter: dict(facts) for letter, facts in turned.items()} == {
            letter: dict(facts) for letter, facts in options.items()
        }


def test_a_last_line_is_read_after_reasons() -> None:
    card = cells(**VARIANTS)["reasoning"][0].cards[0]
    assert card.prompt.endswith("Final answer: A or B")
    assert card.max_tokens == 2_048
    said = "A is cheaper.\nB has the better score, and breakfast.\nFinal answer: B"
    assert card.read(said).value == "B"


def test_the_same_name_for_something_else_is_another_question() -> None:
    one, other = (cells(x=each)["x"] for each in ({"form": "json"}, {"persona": "You are rich."}))
    assert not {trial.id for trial in one} & {trial.id for trial in other}
    runs = {
        made("hotels", **conjoint(**each)).run_id
        for each in ({}, {"x": {}}, {"x": {"form": "json"}}, {"y": {"form": "json"}})
    }
    assert len(runs) == 4


def test_a_page_shows_persona_and_order() -> None:
    variants = {"x": {"fields": ["Price per night"], "persona": "You travel on a small budget."}}
    design = made("hotels", **conjoint("page", **variants))
    (trial, *_) = (each for each in design.trials(["simulated:balanced"]) if each.condition == "x")
    page = render_page(trial.cards[0], action="/").decode()
    assert "You travel on a small budget." in page
    assert page.index("Price per night") < page.index("Star rating")


@pytest.mark.parametrize(
    ("mode", "variant", "said"),
    [
        ("page", {"form": "json"}, "form: not with mode: page; set mode: text"),
        ("page", {"temperature": 1}, "temperature: not with mode: page; set mode: text"),
        ("logprobs", {"reasoning": True}, "reasoning: not with mode: logprobs; set mode: text"),
        ("text", {"fields": ["Price per nihgt"]}, 'fields[0]: the card has no field "Price per nihgt"; did'),
        ("text", {"fields": ["Hotel"]}, 'the card has no field "Hotel"; besides the name there are'),
        ("text", {"form": "xml"}, 'form: unknown value "xml"'),
        ("text", {"personna": "You"}, "personna"),
        ("text", {"temperature": []}, "temperature"),
        ("text", {"temperature": 3}, "temperature"),
    ],
)
def test_mistakes_name_their_key(mode: str, variant: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=r"^test.yaml:\d+:\d+: design\.conjoint\.variants\.x\.") as error:
        made("hotels", **conjoint(mode, x=variant))
    assert said in str(error.value)


def test_base_is_no_name_of_a_variant() -> None:
    with pytest.raises(UserError, match=r"variants\.base: this is the card as it is; give another name"):
        made("hotels", **conjoint(base={"form": "json"}))
    with pytest.raises(UserError, match="is no name"):
        made("hotels", **conjoint(**{"A variant": {"form": "json"}}))
