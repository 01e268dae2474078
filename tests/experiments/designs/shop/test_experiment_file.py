"""Mistakes in an experiment file: one line each, with its place and what to do."""

from pathlib import Path

import pytest

from experiments.designs.inputs.experiment_file import LIBRARY, experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.experiment_file import Experiment
from interventions.errors import UserError
from interventions.yaml.yaml_source import parse_yaml, validate

HEAD = "name: e\ngoal: Buy.\n"
LIVE = "live: {allow: [], stop_before: [Pay now]}\noptions: {catalogue: c.csv}\n"


def test_the_shipped_experiments_can_be_read() -> None:
    shop = [path.stem for path in LIBRARY.glob("*.yaml") if "goal:" in path.read_text()]
    assert len(shop) == 13
    assert {validate(experiment_source(name), Experiment).name for name in shop} == set(shop)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "environment: shopp",
            'environment: "shopp" is no environment; write shop, compose:NAME or the address',
        ),
        ("environment: compose:postgres", r'environment: no shop "postgres" to launch; '),
        ("environment: compose:onestopmarkt", r'did you mean "onestopmarket"\?'),
        ("environment: file:///etc/passwd", "is no environment"),
        ("environment: https://shop.example/a?b", "is no environment"),
        ("environment: https://shop.example/", "environment: a site that is not ours needs the key live"),
        (
            "environment: compose:onestopmarket",
            "environment: this shop's products have to be read from a file",
        ),
        (f"environment: https://shop.example/\n{LIVE}task: listing", "task: listing needs the embedded shop"),
        ("live: {allow: [shop.example]}", r"live\.stop_before: missing; add this key"),
        ("live: {allow: [], stop_before: []}", r"live\.stop_before"),
        ("live: {allow: ['https://x'], stop_before: [Pay]}", r'live\.allow\[0\]: "https://x" is no host'),
        ("page: product.html", "page: "),
        ("task: browse", "task: "),
        ("task: search\noptions: {file: sets.csv}", "options.file: search forms its own choice sets"),
        ("task: listing\noptions: {titles: {filter: true}}", "options.titles: "),
        ("observation: {pages: whole}", r'observation\.pages: unknown key; did you mean "page"'),
        ("attributes: {}", "attributes: no attribute is drawn; name levels of price, rating or reviews"),
        ("attributes: {price: [-10%]}", r"attributes\.price: one level is no draw; give two or more"),
        ("attributes: {price: [+10%, 10.0%]}", r"attributes\.price: a level stands twice"),
        ("attributes: {price: [-10%, 20]}", r"attributes\.price: changes in percent and amounts cannot"),
        (
            "attributes: {price: [-10%, cheap]}",
            r'attributes\.price\[1\]: "cheap" is no price; write',
        ),
        ("attributes: {price: [0%, -100%]}", r'attributes\.price\[1\]: "-100%" is no price'),
        ("attributes: {rating: [60, 101]}", r"attributes\.rating\[1\]: "),
        ("attributes: {reviews: [0, 10]}", r"attributes\.reviews\[0\]: "),
        ("attributes: {prices: [1, 2]}", r'attributes\.prices: unknown key; did you mean "price"'),
        ("attributes: {price: [-10%, 10%]}\nmatch: [price]", "match: the price is drawn too"),
        ("profiles: []", "profiles: "),
        ("profiles: [price_increased]", r'profiles\[0\]: "price_increased" is no name; use lower-case'),
        ("agents: []", "agents: the list is empty"),
        ("factors: {nudge: {interventions: nudges, on: []}}", r"factors\.nudge\.on: the list is empty"),
        (
            "plan: {hypotheses: [{name: h, effect: nudge}]}",
            r"plan\.hypotheses\[0\]\.effect: no product carries a nudge in turn",
        ),
        (
            "plan: {hypotheses: [{name: h, effect: order}]}\nfactors: {order: listed}",
            r"plan\.hypotheses\[0\]\.effect: the order is the same in all trials",
        ),
        ("profiles: [{id: mine, txt: x}]", r"profiles\[0\]\.txt: unknown key"),
    ],
)
def test_a_mistake_is_one_line(lines: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        validate(parse_yaml(HEAD + lines, "e.yaml"), Experiment)
    assert str(caught.value).startswith("e.yaml:")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "profiles: [none, price-increase]",
            r'profiles\[1\]: unknown profile "price-increase"; did you mean',
        ),
        (
            "attributes: {price: [0%, 0.5%]}",
            r"attributes\.price: two levels are one price of .* put the levels further apart",
        ),
        ("profiles: [none, none]", r"profiles\[1\]: none stands twice"),
        ("profiles: [{id: mine, text: Hello.}, mine]", r"profiles\[1\]: mine stands twice"),
    ],
)
def test_a_mistake_in_what_is_referred_to_is_one_line(lines: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        ShopDesign(parse_yaml(HEAD + lines, "e.yaml"))
    assert str(caught.value).startswith("e.yaml:3:")
    assert "\n" not in str(caught.value)


def test_a_goal_can_name_the_category_only() -> None:
    with pytest.raises(UserError, match=r'goal: nothing is known of "\$\{price\}"; a goal can name \$\{cat'):
        validate(parse_yaml("name: e\ngoal: Spend ${price}.", "e.yaml"), Experiment)


def test_addresses_of_environments(tmp_path: Path) -> None:
    table = tmp_path / "c.csv"
    table.write_text(
        "key,category,name,price,rating\n" + "".join(f"p{i},Lamps,Lamp {i},{10 + i},80\n" for i in range(4))
    )
    live = (
        f"page: 'p/${{key}}'\nlive: {{allow: [], stop_before: [Pay now]}}\noptions: {{catalogue: {table}}}\n"
    )
    cases = [
        ("environment: shop", None),
        ("environment: compose:shop", "http://127.0.0.1:7770/"),
        (f"environment: https://shop.example/en\n{live}", "https://shop.example/en/"),
    ]
    for lines, address in cases:
        assert ShopDesign(parse_yaml(HEAD + lines, "e.yaml")).base_url == address
    made = ShopDesign(parse_yaml(HEAD + cases[2][0], "e.yaml"))
    trial = next(made.trials(["simulated:random"]))
    assert trial.start == tuple(f"p/{product.key}" for product in trial.products)
