"""Products of a user's table in the embedded shop: how they are read, their sets, the run's id."""

from pathlib import Path

import pytest
from PIL import Image

from environments.shop.catalogue import generate
from environments.shop.pictures import picture
from experiments.designs.catalogue.own_shop import own_catalogue
from experiments.designs.shop.design import ShopDesign
from interventions.errors import UserError
from interventions.yaml.yaml_source import Source, parse_yaml
from tests.experiments.designs.make import AGENT, shop
from tests.ground_truth import carry_out

HEADER = "name,price,rating,reviews,category,picture,description,Origin\n"
TEAS = """\
Assam,6.90,4.5 / 5,212,Black tea,assam.png,Malty.,India
Ceylon,7.50,4.3 / 5,98,Black tea,,,
Sencha,8.90,4.2 / 5,,Green tea,,,Japan
Gyokuro,9.90,,,Green tea,,,
Bancha,9.50,4.4 / 5,12,Green tea,,,
"""


def source(folder: Path, options: str = "", rows: str = HEADER + TEAS, task: str = "compare-tabs") -> Source:
    (folder / "teas.csv").write_text(rows, encoding="utf-8")
    if not (folder / "assam.png").exists():
        Image.new("RGB", (30, 20), "brown").save(folder / "assam.png")
    text = f"name: teas\ngoal: Buy the better one.\ntask: {task}\noptions: {{catalogue: teas.csv{options}}}\n"
    return parse_yaml(text, str(folder / "e.yaml"))


PRICES = [
    ("USD", "en", "$1,299.00", 129_900),
    ("EUR", "de", "1.299,00", 129_900),
    ("EUR", "de", "1.299,00 €", 129_900),
    ("EUR", "de", "1.299", 129_900),
    ("EUR", "en", "1,299", 129_900),
    ("EUR", "fr", "1 299,5 EUR", 129_950),
    ("CHF", "de-CH", "1’299.50", 129_950),
    ("JPY", "ja", "¥1,299", 129_900),
    ("USD", "en", "4.5", 450),
]


@pytest.mark.parametrize(("currency", "language", "text", "cents"), PRICES)
def test_prices_of_a_currency_and_a_language(
    currency: str, language: str, text: str, cents: int, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(f'name,price\nTea,"{text}"\n', encoding="utf-8")
    assert own_catalogue(tmp_path / "t.csv", currency, language).products[0].cents == cents


def test_what_the_table_does_not_say_is_not_made_up(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,price\n緑茶,4\nA,5\nA+,6\nA 3,7\n", encoding="utf-8")
    products = own_catalogue(tmp_path / "t.csv").products
    assert [each.key for each in products] == ["product-1", "a", "a-3", "a-3-4"]
    assert {(each.rating, each.reviews, each.category) for each in products} == {(None, 0, "Products")}
    assert len({picture(each) for each in products}) == 1  # of no picture the same frame


def test_sets_are_formed_of_products_with_ratings(tmp_path: Path) -> None:
    design = ShopDesign(source(tmp_path))
    assert {frozenset(p.key for p in each) for each in design.sets.values()} == {
        frozenset({"assam", "ceylon"}),
        frozenset({"sencha", "bancha"}),
    }
    facts = design.products["assam"]
    assert (facts.price, facts.rating, facts.reviews, facts.category) == (6.9, 90, 212, "Black tea")
    assert design.products["sencha"].reviews is None
    notes = design.notes([AGENT])
    assert "teas.csv: no column key or url: the embedded shop serves its 5 products" in notes
    assert "teas.csv: 1 products without a rating are in the shop, and in no choice set" in notes


def test_sets_of_a_table_without_ratings_are_formed_by_price(tmp_path: Path) -> None:
    rows = "name,price\nA,4\nB,5\nC,40\nD,41\n"
    assert len(ShopDesign(source(tmp_path, rows=rows)).sets) == 2
    for pairing in ("matched-ratings", "rating-coverage"):
        with pytest.raises(UserError, match=r"needs ratings, and teas\.csv has none; write price-adjacent"):
            ShopDesign(source(tmp_path, f", pairing: {pairing}", rows))


@pytest.mark.parametrize("task", ["listing", "search"])
def test_tasks_on_listings_have_these_products(task: str, tmp_path: Path) -> None:
    design = ShopDesign(source(tmp_path, task=task))
    assert len(design.sets) == 2
    starts = {trial.start for trial in design.trials([AGENT])}
    listings = {(f"{color}-tea.html?product_list_limit=36",) for color in ("black", "green")}
    assert starts == (listings if task == "listing" else {("",)})


CHANGES = [
    ("a price", "6.90", "6.95"),
    ("a text that only the page shows", "Malty.", "Mild."),
    ("an attribute", "India", "Nepal"),
    ("a product that is in no set", "Gyokuro", "Kabuse"),
]


def test_each_change_of_the_table_or_a_picture_is_another_run(tmp_path: Path) -> None:
    run = ShopDesign(source(tmp_path)).run_id
    assert ShopDesign(source(tmp_path)).run_id == run
    others = {
        ShopDesign(source(tmp_path, rows=HEADER + TEAS.replace(old, new))).run_id for _, old, new in CHANGES
    }
    others |= {ShopDesign(source(tmp_path, each)).run_id for each in (", currency: EUR", ", language: de")}
    Image.new("RGB", (30, 20), "green").save(tmp_path / "assam.png")
    others.add(ShopDesign(source(tmp_path)).run_id)
    assert len(others - {run}) == len(CHANGES) + 3


def test_the_identity_of_other_experiments_is_that_of_before() -> None:
    inputs = shop("nudges").inputs
    assert "own_shop" not in inputs
    assert not {"currency", "language"} & inputs["experiment"]["options"].keys()
    assert all(product.own is None for product in generate().everything)


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "secret.png")
    (folder / "assam.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(
        UserError, match=r"teas\.csv:2: picture: assam\.png is not in the folder of the table"
    ):
        ShopDesign(source(folder))


@pytest.mark.browser
async def test_products_without_ratings_have_none_to_say(tmp_path: Path) -> None:
    """The text beside the stars is for products that have stars; nudges are for all."""
    (tmp_path / "own.csv").write_text("name,price\nRed Lamp,10\nBlue Lamp,11\n")
    nudge = {"interventions": "nudges", "only": ["best-seller"]}
    made = shop(options={"catalogue": str(tmp_path / "own.csv")}, factors={"nudge": nudge})
    done = await carry_out(tmp_path, made.source, AGENT, 3, 2)
    assert done.records.outcomes(made.run_id) == {"choice": 3}
