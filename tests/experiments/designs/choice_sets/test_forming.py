"""From the options of an experiment to its choice sets."""

from collections import Counter
from pathlib import Path

import pytest
from pydantic import BaseModel

from experiments.designs.choice_sets.forming import form_choice_sets
from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.shop_products import shop_products
from interventions.yaml.yaml_source import Source, parse_yaml, validate

STUDY = Path(__file__).parents[5] / "shared/data/abxlab"
CATALOGUE = """\
key,category,name,price,rating
ash,Wine,Ash Red,10,80
elm,Wine,Elm Red,11,80
fir,Wine,Fir Red (Pack of 6),12,80
oak,Wine,Oak Red,13,80
yew,Wine,Yew Red,14,81
"""


class File(BaseModel):
    options: Options


def experiment(folder: Path, options: str) -> tuple[Source, Options]:
    source = parse_yaml(f"name: test\noptions: {options}\n", str(folder / "test.yaml"))
    return source, validate(source, File).options


def form(folder: Path, options: str, seed: int = 0) -> tuple[list[list[str]], list[str]]:
    (folder / "wine.csv").write_text(CATALOGUE, encoding="utf-8")
    source, read = experiment(folder, options)
    formed = form_choice_sets(source, read, seed)
    return [[product.key for product in products] for products in formed.sets], formed.notes


def test_the_seed_decides_which_sets_and_in_which_order(tmp_path: Path) -> None:
    source, options = experiment(tmp_path, "{sets: 10}")
    drawn = [form_choice_sets(source, options, seed).sets for seed in range(4)]
    assert form_choice_sets(source, options, 2).sets == drawn[2]
    assert len({tuple(sets) for sets in drawn}) == 4
    cheaper_first = [(one.price or 0) < (other.price or 0) for sets in drawn for one, other in sets]
    assert 0 < sum(cheaper_first) < len(cheaper_first)
    known = {product.key: product for product in shop_products()}
    assert all(known[product.key] == product for sets in drawn for pair in sets for product in pair)


def test_a_catalogue_is_read_and_its_titles_filtered(tmp_path: Path) -> None:
    sets, notes = form(tmp_path, "{catalogue: wine.csv}")
    assert sorted(sorted(pair) for pair in sets) == [["ash", "elm"], ["oak", "yew"]]
    assert notes == [
        f"{tmp_path / 'wine.csv'}: 5 products kept",
        "titles: left out for their wording: 1 multi-pack",
        "there are only 2 of the 50 choice sets asked for",
    ]
    sets, _ = form(tmp_path, "{catalogue: wine.csv, sets: 2, titles: {filter: false}}")
    assert sorted(sorted(pair) for pair in sets) == [["ash", "elm"], ["fir", "oak"]]
    (tmp_path / "phrases.yaml").write_text("patterns: {trees: [ash, elm red]}", encoding="utf-8")
    sets, notes = form(tmp_path, "{catalogue: wine.csv, titles: {patterns: phrases.yaml}}")
    assert sorted(sorted(pair) for pair in sets) == [["fir", "oak"]]
    assert notes[1] == "titles: left out for their wording: 2 trees"


def test_matched_ratings(tmp_path: Path) -> None:
    sets, _ = form(tmp_path, "{catalogue: wine.csv, pairing: matched-ratings, titles: {filter: false}}")
    assert sorted(sorted(pair) for pair in sets) == [["ash", "elm"], ["fir", "oak"]]


def test_the_sets_of_a_file_keep_their_order(tmp_path: Path) -> None:
    rows = "1,yew\n1,ash\n2,oak\n2,elm\n3,fir\n3,ash\n"
    (tmp_path / "sets.csv").write_text(f"set,option\n{rows}", encoding="utf-8")
    wanted = [["yew", "ash"], ["oak", "elm"], ["fir", "ash"]]
    sets, notes = form(tmp_path, "{catalogue: wine.csv, file: sets.csv}", seed=5)
    assert sets == wanted
    assert len(notes) == 1
    drawn = [form(tmp_path, "{catalogue: wine.csv, file: sets.csv, sets: 2}", seed) for seed in range(6)]
    assert {len(sets) for sets, _ in drawn} == {2}
    assert all([pair for pair in wanted if pair in sets] == sets for sets, _ in drawn)
    assert len({str(sets) for sets, _ in drawn}) > 1
    assert drawn[0][1][1].endswith("sets.csv: 2 of its 3 choice sets sampled (options.sets)")


def test_random_sets_are_of_one_category_and_drawn_anew_by_each_seed(tmp_path: Path) -> None:
    source, options = experiment(tmp_path, "{pairing: random, set_size: 3, sets: 100000}")
    drawn = [form_choice_sets(source, options, seed).sets for seed in range(3)]
    assert drawn[1] == form_choice_sets(source, options, 1).sets
    assert len({frozenset(map(frozenset, sets)) for sets in drawn}) == 3
    rated = [product for product in shop_products() if product.price and product.rating]
    wanted = {name: number // 3 for name, number in Counter(each.category for each in rated).items()}
    for sets in drawn:
        assert Counter(products[0].category for products in sets) == +Counter(wanted)
        assert all(len({product.category for product in products}) == 1 for products in sets)
        keys = [product.key for products in sets for product in products]
        assert len(set(keys)) == len(keys) == 3 * len(sets)
    gaps = [max(p.price or 0 for p in s) / min(p.price or 0 for p in s) - 1 for s in drawn[0]]
    assert max(gaps) > 0.5, "the bound of other pairings holds for random ones too"


@pytest.mark.parametrize("pairing", ["price-adjacent", "price-coverage", "random"])
def test_categories_with_few_products_are_left_out_and_named(tmp_path: Path, pairing: str) -> None:
    rows = "rye,Bread,Rye,3,80\nbun,Bread,Bun,3.1,80\nroll,Bread,Roll,3.2,\n"
    (tmp_path / "shop.csv").write_text(CATALOGUE + rows, encoding="utf-8")
    own = f"catalogue: shop.csv, titles: {{filter: false}}, pairing: {pairing}"
    source, options = experiment(tmp_path, f"{{{own}}}")
    assert {pair[0].category for pair in form_choice_sets(source, options, 0).sets} == {"Wine", "Bread"}
    source, options = experiment(tmp_path, f"{{{own}, min_products_per_category: 3}}")
    formed = form_choice_sets(source, options, 0)
    assert {pair[0].category for pair in formed.sets} == {"Wine"}
    assert "1 of 2 categories left out, with fewer than 3 products: Bread (2)" in formed.notes


@pytest.mark.skipif(not STUDY.exists(), reason=f"needs the study's data at {STUDY}")
@pytest.mark.parametrize(
    "pairing", ["price-adjacent", "matched-ratings", "price-coverage", "rating-coverage", "random"]
)
def test_every_pairing_finds_fifty_pairs_in_the_public_catalogue(pairing: str) -> None:
    source, options = experiment(STUDY, f"{{catalogue: products.csv, pairing: {pairing}}}")
    formed = form_choice_sets(source, options, 42)
    assert len(formed.sets) == 50
    assert len({product.key for pair in formed.sets for product in pair}) == 100
    assert formed.notes[0].endswith("left out: 3,987 without a rating, 1,826 with options")
