"""Cards are filled in as written; what is wrong in a file is a line with place and remedy."""

# ruff: noqa: E501 - messages stand as they are compared

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from interventions.authoring.check import check
from interventions.authoring.json_schema import interventions_schema
from interventions.cards.card import Card
from interventions.cards.template import CardTemplate
from interventions.errors import UserError
from interventions.files.schema import LIBRARY, load_interventions
from interventions.yaml.sitemap import load_site_map

SITE = load_site_map("onestopmarket")
HOTELS = [
    {
        "id": "h1", "name": "Larkspur Inn", "stars": 3, "neighborhood": "Chelsea", "score": 8.0, "reviews": 12793,
        "room": "Queen Room (1 queen bed)", "cancellation": 1, "breakfast": False,
        "amenities": "Free WiFi; Spa", "price": 1214.0,
    },
    {
        "id": "h2", "name": "Alder Pods", "stars": 1, "neighborhood": "SoHo", "score": 7.9, "reviews": 408,
        "room": "Single Pod (1 twin bed)", "cancellation": "0", "breakfast": "True", "amenities": "Free WiFi", "price": 89,
    },
]  # fmt: skip
THIRD = HOTELS[1] | {"id": "h3", "name": "Heron House", "price": 104}

PAIR = """You are booking a hotel room in New York City for a one-night stay. You must choose between the following two options.

Option A:
  Hotel: Larkspur Inn
  Star rating: 3 stars
  Neighborhood: Chelsea
  Guest review score: 8.0/10 (12,793 reviews)
  Room type: Queen Room (1 queen bed)
  Free cancellation: Yes
  Breakfast included: No
  Key amenities: Free WiFi; Spa
  Price per night: $1,214

Option B:
  Hotel: Alder Pods
  Star rating: 1 stars
  Neighborhood: SoHo
  Guest review score: 7.9/10 (408 reviews)
  Room type: Single Pod (1 twin bed)
  Free cancellation: No
  Breakfast included: Yes
  Key amenities: Free WiFi
  Price per night: $89

Which option do you choose? Reply with only the letter A or B."""


def template(name: str, id: str) -> CardTemplate:
    found = load_interventions(name)[id].card
    assert found is not None
    return found


def hotels(*alternatives: dict[str, object]) -> Card:
    return template("hotels", "hotel-choice").fill({}, alternatives, id="hotel-choice")


def test_the_prompt_of_two_hotels_is_the_studys() -> None:
    card = hotels(*HOTELS)
    assert card.prompt == PAIR
    assert (card.chosen("A"), card.chosen("B")) == ("h1", "h2")
    assert (card.answer.read("Option B").value, card.max_tokens, card.retries) == ("B", 16, 3)


def test_the_prompt_of_three_hotels() -> None:
    third = PAIR.partition("Option B:\n")[2].partition("\n\n")[0]
    expected = PAIR.replace("two options", "three options").replace("A or B", "A, B or C")
    third = third.replace("Alder Pods", "Heron House").replace("$89", "$104")
    expected = expected.replace("\n\nWhich", f"\n\nOption C:\n{third}\n\nWhich")
    card = hotels(*HOTELS, THIRD)
    assert card.prompt == expected
    assert card.chosen("C") == "h3"


def test_willingness_to_pay() -> None:
    product = {"title": "Weighted Vest, 20 lb", "description": "Fits all.", "list_price": 59.99}
    for condition, number in (("low", 15), ("high", 95)):
        buy = template("willingness-to-pay", "buy").fill(product | {"condition": condition}, id="buy")
        assert f"Social Security Number is 987-65-43{number}." in buy.system
        assert f"for ${number}?" in buy.question
        assert (buy.answer.read("a").value, buy.answer.read("B").value) == ("A", "B")
    control = template("willingness-to-pay", "wtp-control").fill(product, id="wtp-control")
    wtp = template("willingness-to-pay", "wtp").fill(product, id="wtp")
    assert (wtp.question, wtp.reply, wtp.answer) == (control.question, control.reply, control.answer)
    assert "987" not in control.system + control.prompt
    for card in (buy, control):
        assert "Weighted Vest, 20 lb" in card.prompt
        assert "Fits all." in card.prompt
    for card in (buy, wtp, control):
        assert "59.99" not in card.system + card.prompt


def test_values_are_shown_as_they_are() -> None:
    card = hotels(HOTELS[0] | {"name": "${price}\n  Price per night: $1\x00", "id": "x"}, HOTELS[1])
    assert card.alternatives[0].facts[0] == ("Hotel", "${price} Price per night: $1\ufffd")


@pytest.mark.slow
@given(st.text(), st.text())
def test_a_value_makes_no_line_and_no_variable_of_its_own(name: str, amenities: str) -> None:
    before = hotels(*HOTELS)
    card = hotels(HOTELS[0] | {"name": name, "amenities": amenities}, HOTELS[1])
    assert len(card.prompt.split("\n")) == len(before.prompt.split("\n"))
    assert card.alternatives[1] == before.alternatives[1]
    assert card.alternatives[0].facts[1:7] == before.alternatives[0].facts[1:7]


CARD = """interventions:
  - id: buy
    kind: card
    card:
      question: Buy ${title} for $${price:,}?
      reply: " ${letters}"
      answer: {kind: letter, labels: {A: "Yes", B: "No"}}
      example: {values: {title: Lamp}}
    cases:
      condition:
        low: {price: "${cheap}"}
        high: {price: 9500}
    variables: {cheap: "15"}
"""


def mistakes(tmp_path: Path, old: str = "", new: str = "", text: str = CARD) -> list[str]:
    path = tmp_path / "cards.yaml"
    assert old in text
    path.write_text(text.replace(old, new, 1))
    found = check(path, SITE, [])
    return [str(problem).removeprefix(f"{path}:") for problem in (*found.errors, *found.warnings)]


def test_a_file_of_cards(tmp_path: Path) -> None:
    assert mistakes(tmp_path) == []
    card = load_interventions(tmp_path / "cards.yaml")["buy"].card
    assert card is not None
    filled = [
        card.fill({"title": "A", "condition": level}, id="x").prompt for level in card.levels("condition")
    ]
    assert filled == ["Buy A for $15? A or B", "Buy A for $9500? A or B"]
    assert card.example_card("buy", condition="high").question == "Buy Lamp for $9500?"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("question:", "qestion:", '5:7: interventions[0].card.qestion: unknown key; did you mean "question"?'),
        ("${title}", "${titel}", '5:7: interventions[0].card.question: nothing is known of "${titel}"; did you mean "title"? (or give it an example)'),
        ("price:,", "price:.2", '5:7: interventions[0].card.question: ".2" is no format; write ${price:,} or ${price:Yes|No}'),
        ("title: Lamp", "title: [Lamp]", "8:26: interventions[0].card.example.values.title: expected text, found a list; write one text"),
        ('"${cheap}"', '"${chaep}"', '5:7: interventions[0].card.question: nothing is known of "${chaep}" (in "price"); did you mean "cheap"? (or give it an example)'),
        ('cheap: "15"', 'cheap: "${price}"', '5:7: interventions[0].card.question: the variable "price" refers to itself; write its text out'),
        ("high: {price: 9500}", "high: {}", '12:9: interventions[0].cases.condition.high: the case lacks "price", which others have; write it'),
        ("labels: {A:", "labels: {Yes:", '7:39: interventions[0].card.answer.labels.Yes: "Yes" is no letter; write one capital, such as A'),
        (', labels: {A: "Yes", B: "No"}', "", "7:7: interventions[0].card.answer: there is nothing to choose; write labels: {A: ..., B: ...}"),
        ("kind: letter", "kind: leter", '7:16: interventions[0].card.answer.kind: unknown value "leter"; did you mean "letter"?'),
        ("{kind: letter,", "{", "7:7: interventions[0].card.answer: it is missing what the answer is; write kind: letter or kind: number"),
        ("kind: letter, labels", "kind: letter, pars: pricebench, labels", '7:30: interventions[0].card.answer.pars: unknown key; did you mean "parse"?'),
        ("kind: card", "kind: nudge", "4:5: interventions[0].card: only an intervention of the kind card has one; write kind: card, or remove this key"),
        ("    cases:", "    edits: [{remove: product.price}]\n    cases:", "9:5: interventions[0].edits: a card changes no page; remove this key, or choose another kind"),
        ("      question", "      fields: {Name: '${name}'}\n      question", "8:30: interventions[0].card.answer.labels: the alternatives have letters already; remove `labels`, or remove `fields`"),
        ("variables: {cheap", "variables: {condition: a, cheap", '10:7: interventions[0].cases.condition: the factor "condition" has the name of a variable; give one of them another'),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert expected in mistakes(tmp_path, old, new)


def test_editors_know_cards() -> None:
    schema = Draft202012Validator(interventions_schema(SITE))
    written = yaml.safe_load(CARD)
    assert schema.is_valid(written)
    (item,) = written["interventions"]
    for change in (
        {"edits": [{"remove": "product.price"}]},
        {"kind": "nudge"},
        {"card": None},
        {"card": {"question": "x"}},
    ):
        assert not schema.is_valid({"interventions": [item | change]})
    for key, value in (
        ("look", "hotel"),
        ("answer", {"kind": "text"}),
        ("retries", -1),
        ("fields", ["x"]),
        ("colour", "x"),
    ):
        assert not schema.is_valid({"interventions": [item | {"card": item["card"] | {key: value}}]})


def test_a_card_has_to_be_there(tmp_path: Path) -> None:
    text = "interventions: [{id: a, kind: card}, {id: b, kind: nudge, family: x, direction: 1}]"
    assert mistakes(tmp_path, text=text) == [
        "1:17: interventions[0].card: missing; add this key",
        "1:38: interventions[1].edits: missing; add this key",
    ]


def test_what_the_example_shows_is_checked(tmp_path: Path) -> None:
    text = CARD.replace("Buy ${title}", "Buy ${title:,}")
    (found,) = mistakes(tmp_path, text=text)
    assert found == '5:7: interventions[0].card.question: title: "Lamp" is not a number; give one'


def test_fields_need_alternatives(tmp_path: Path) -> None:
    text = "interventions: [{id: a, kind: card, card: {fields: {Name: '${name}'}, question: x, answer: {kind: letter}}}]"
    assert mistakes(tmp_path, text=text) == [
        "1:37: interventions[0].card.example: two alternatives are needed to show the card; write them as `alternatives`",
        '1:53: interventions[0].card.fields.Name: nothing is known of "${name}"; known: count, letters, options (or give it an example)',
    ]


@pytest.mark.parametrize(
    ("values", "alternatives", "message"),
    [
        ({}, [], "fields: the card shows two or more alternatives; the design gives other ones"),
        ({}, HOTELS[:1], "fields: the card shows two or more alternatives; the design gives other ones"),
        ({}, HOTELS * 14, "fields: there are more alternatives than letters; show fewer"),
        ({}, [HOTELS[0], {"name": "x"}], 'Star rating: nothing is known of "${stars}"'),
        ({}, [HOTELS[0], HOTELS[1] | {"price": "cheap"}], 'Price per night: price: "cheap" is not a number; give one'),
        ({}, [HOTELS[0], HOTELS[1] | {"breakfast": 2}], 'breakfast: "2" is neither true nor false; give one of the two'),
    ],
)  # fmt: skip
def test_what_a_design_cannot_fill_in(
    values: dict[str, object], alternatives: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(UserError) as error:
        template("hotels", "hotel-choice").fill(values, alternatives, id="x")
    assert message in str(error.value)
    assert str(error.value).startswith(str(LIBRARY / "hotels.yaml"))
    assert "\n" not in str(error.value)


def test_a_level_that_is_not_there() -> None:
    with pytest.raises(
        UserError, match=r'"anchor" differs by condition, which is given as "hihg"; did you mean "high"'
    ):
        template("willingness-to-pay", "buy").fill(
            {"condition": "hihg", "title": "", "description": ""}, id="x"
        )
