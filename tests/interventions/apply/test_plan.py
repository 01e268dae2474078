"""Treatments and plans: variables filled in, kept as plain data, told apart by a digest."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.apply.plan import Plan, ProductFacts, Treatment, compile_treatment
from interventions.cards.card import Card, NumberAnswer
from interventions.edits.ask import Ask
from interventions.edits.base import Edit
from interventions.edits.registry import EDITS, edit_from_dict, edit_to_dict
from interventions.edits.sort_default import SortDefault
from interventions.errors import UserError
from interventions.files.schema import load_interventions

OATS = ProductFacts("quiet-oats", "Cookies", "Quiet Oats", 19.9, 80, 12)
FILE = """
interventions:
  - id: facts
    kind: nudge
    variables: {praise: "best of ${experts} and ${product.name}", loop: "${pool}", pool: "${loop}"}
    edits:
      - insert_text: {after: product.title, text: "TEXT"}
  - id: value
    kind: price
    edits:
      - set_price: ${value}
tables:
  experts: {Cookies: bakers}
"""


def compiled(tmp_path: Path, text: str, product: ProductFacts | None = OATS, **values: object) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE.replace("TEXT", text))
    treatment = compile_treatment(load_interventions(path)["facts"], product, **values)
    return str(edit_to_dict(treatment.edits[0])["insert_text"]["text"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain $5", "plain $5"),
        ("${product.name} in ${product.category}", "Quiet Oats in Cookies"),
        ("${product.price}, ${product.rating}%, ${product.reviews}", "19.90, 80%, 12"),
        ("${product.price-5%} ${product.price - 0.01} ${product.price+10.5%}", "18.91 19.89 21.99"),
        ("${product.rating+2} ${product.reviews+20} ${product.reviews-50%}", "82 32 6"),
        ("by ${ experts }!", "by bakers!"),
        ("${praise}", "best of bakers and Quiet Oats"),
        ("${discount} off", "2.50 off"),
        ("${count}", "3"),
    ],
)
def test_variables(tmp_path: Path, text: str, expected: str) -> None:
    assert compiled(tmp_path, text, discount=2.5, count=3) == expected


def test_values_of_the_design_come_first(tmp_path: Path) -> None:
    assert compiled(tmp_path, "${experts}", experts="you") == "you"


BARE = ProductFacts("x")


@pytest.mark.parametrize(
    ("text", "product", "message"),
    [
        ("${expert}", OATS, 'nothing is known of "${expert}"; did you mean "experts"?'),
        ("${product.prize}", OATS, 'a product has no "prize"; did you mean "price"?'),
        (
            "${experts}",
            ProductFacts("x", "Tea"),
            'the table "experts" has no entry for the category "Tea"; add',
        ),
        ("${experts}", BARE, 'the product "x" has no category; leave it out of the design'),
        ("${product.rating}", BARE, 'the product "x" has no rating; leave it out of the design'),
        ("${product.name}", None, '"name" differs by product, but this is for every product; drop the'),
    ],
)
def test_a_missing_variable(tmp_path: Path, text: str, product: ProductFacts, message: str) -> None:
    with pytest.raises(UserError) as error:
        compiled(tmp_path, text, product)
    place = f"{tmp_path}/mine.yaml:7:45: interventions[0].edits[0].insert_text.text: "
    assert str(error.value).startswith(place + message)


def test_a_variable_that_refers_to_itself(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r":5:67: interventions\[0\]\.variables\.loop: the variable refers to it"
    ):
        compiled(tmp_path, "${loop}")


@pytest.mark.parametrize(
    ("value", "price"),
    [(5, "5.00"), (12.345, "12.35"), ("7.5", "7.50"), (Decimal("0.1"), "0.10"), (3.0, "3.00")],
)
def test_a_price_given_by_the_design(value: object, price: str) -> None:
    treatment = compile_treatment(load_interventions("matching")["match-price"], OATS, value=value)
    assert edit_to_dict(treatment.edits[0]) == {"set_price": price}


def test_a_value_that_does_not_fit_is_the_users_mistake() -> None:
    with pytest.raises(
        UserError, match=r'matching.yaml:6:9: .*set_price: "cheap" is not a price; write an amount'
    ):
        compile_treatment(load_interventions("matching")["match-price"], OATS, value="cheap")


def test_every_nudge_can_be_made_for_every_category() -> None:
    file = load_interventions("nudges")
    for category in file.tables["category"]:
        for intervention in file.interventions:
            treatment = compile_treatment(intervention, ProductFacts("x", category))
            assert "${" not in json.dumps(treatment.to_dict())


def test_keys_may_be_addresses() -> None:
    nudge = load_interventions("nudges")["best-seller"]
    assert (
        compile_treatment(nudge, ProductFacts("http://shop.test/Quiet-Oats.html?x")).product == "quiet-oats"
    )


def test_lookup_by_product() -> None:
    nudges, show = load_interventions("nudges"), load_interventions("display")["show-rating"]
    first = compile_treatment(nudges["best-seller"], OATS)
    second = compile_treatment(nudges["wirecutter"], OATS)
    other = compile_treatment(nudges["wirecutter"], ProductFacts("other", "Cheese"))
    everywhere = compile_treatment(show, None)
    plan = Plan((first, everywhere, other, second))
    assert plan.by_product == {"quiet-oats": (first, second), "other": (other,)}
    assert plan.everywhere == (everywhere,)


EXAMPLES = [
    {"insert_text": {"after": "product.title", "text": "${text}"}},
    {"set_price": "${figure}"},
    {"set_rating": "${figure}"},
    {"set_reviews": "${figure}"},
    {"set_stock": "${text}"},
    {"remove": "product.price"},
    {"show_rating_text": {}},
    {"set_title": "${text} ${product.name}"},
    {"set_image": "/${address}.png"},
    {"set_attribute": {"role": "product.title", "name": "title", "value": "${text}"}},
    {"replace_text": {"in": "product.name", "from": "${word}", "to": "${text}"}},
    {"review": {"text": "${text}", "stars": 5, "author": "${word}", "rank": "${figure}"}},
    {"hidden_text": {"channel": "alt", "text": "${text}"}},
    {"badge": {"text": "${text}"}},
    {"banner": {"text": "${text}"}},
    {"strike_price": {"was": "${figure}", "label": "${text}"}},
    {"countdown": {"minutes": "${figure}", "text": "${text} {time}"}},
    {"fee": {"label": "${text}", "amount": "${figure}"}},
    {"fee": {"label": "${text}", "percent": "${figure}"}},
    {"order_total": {"factor": "${figure}"}},
    {"order_total": {"add": "${figure}"}},
    {"add_line": {"label": "${text}", "price": "${figure}"}},
    {"checkout_option": {"label": "${text}", "line": "${word}", "price": "${figure}"}},
    {
        "dialog": {
            "text": "${text}",
            "accept": "${text}",
            "decline": "${word}",
            "line": "${word}",
            "price": "${figure}",
        }
    },
    {"require_step": {"text": "${text}", "asks": "${word}", "submit": "${text}", "skip_label": "${word}"}},
    {"reorder": {"rank": "${figure}"}},
    {"reorder": {"shuffle": "${figure}"}},
    {"swap": "${address}"},
    {"link_to": {"to": "${address}"}},
    {"results": "${figure}"},
    {"insert_item": {"rank": "${figure}", "label": "${text}"}},
    {"hide_option": "${word}"},
    {"rewrite_text": {"in": "product.description", "text": "${text}"}},
    {"collapse": {"role": "product.description", "label": "${text}"}},
    {"unit_price": {"content": "${figure}", "unit": "kg"}},
    {"set_default": {"value": "${word}"}},
    {"style": {"role": "product.title", "background": "yellow", "scale": 1.2}},
]
VALUES = {"text": "New", "figure": 7, "address": "third", "word": "Quiet"}
CARD = Card(id="wtp", look="shop", question="How much?", answer=NumberAnswer(unit="$"))


def filled(edit: dict[str, object]) -> Edit:
    text = json.dumps(edit).replace("${product.name}", OATS.name)
    for name, value in VALUES.items():
        text = text.replace(f"${{{name}}}", str(value))
    return edit_from_dict(json.loads(text))


EVERY_EDIT = (*map(filled, EXAMPLES), SortDefault(by="price"), Ask(card=CARD))


@pytest.mark.parametrize("edit", EXAMPLES, ids=lambda edit: next(iter(edit)))
def test_variables_stand_in_every_argument_that_says_what_is_shown(
    edit: dict[str, object], tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps({"interventions": [{"id": "a", "kind": "nudge", "edits": [edit]}]}))
    treatment = compile_treatment(load_interventions(file)["a"], OATS, **VALUES)
    assert [edit_to_dict(each) for each in treatment.edits] == [edit_to_dict(filled(edit))]
    assert "${" not in json.dumps(treatment.to_dict())


def test_no_edit_is_without_an_example() -> None:
    assert {each.kind() for each in EVERY_EDIT} == set(EDITS)


@given(
    st.lists(st.tuples(st.text(), st.none() | st.text(), st.sampled_from(["product", "cart"])), max_size=4)
)
def test_plans_are_plain_data_and_back(parts: list[tuple[str, str | None, str]]) -> None:
    plan = Plan(tuple(Treatment(id, product, EVERY_EDIT, (page,)) for id, product, page in parts))
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan
    assert again.digest == plan.digest


def test_the_digest_is_the_same_on_every_machine_and_tells_plans_apart() -> None:
    assert Plan().digest == "f9d85900a1ed96783506f54cfde450cd"
    five = Plan((Treatment("a", "x", (edit_from_dict({"set_price": 5}),)),))
    assert five.digest == Plan((Treatment("a", "x", (edit_from_dict({"set_price": "5.00"}),)),)).digest
    assert five.digest != Plan((Treatment("a", "x", (edit_from_dict({"set_price": 6}),)),)).digest
