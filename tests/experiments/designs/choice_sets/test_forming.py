"""From the options of an experiment to its choice sets."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from experiments.designs.choice_sets.forming import form_choice_sets
from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.shop_products import shop_products
from interventions.errors import UserError
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


@pytest.mark.skipif(not STUDY.exists(), reason=f"needs the study's data at {STUDY}")
@pytest.mark.parametrize(
    "pairing", ["price-adjacent", "matched-ratings", "price-coverage", "rating-coverage"]
)
def test_every_pairing_finds_fifty_pairs_in_the_public_catalogue(pairing: str) -> None:
    source, options = experiment(STUDY, f"{{catalogue: products.csv, pairing: {pairing}}}")
    formed = form_choice_sets(source, options, 42)
    assert len(formed.sets) == 50
    assert len({product.key for pair in formed.sets for product in pair}) == 100
    assert formed.notes[0].endswith("left out: 3,987 without a rating, 1,826 with options")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "{pairing: adjacent}",
            ': options.pairing: unknown value "adjacent"; did you mean "price-adjacent"?',
        ),
        (
            "{pairing: price-coverage, set_size: 3}",
            ": options.set_size: price-coverage forms pairs; write 2 or remove this key",
        ),
        (
            "{categories: 3}",
            ": options.categories: has no effect on the pairing price-adjacent; remove this key",
        ),
        (
            "{file: sets.csv, max_price_gap: 0.1}",
            ": options.max_price_gap: has no effect on the sets of a file; remove this key",
        ),
        (
            "{titles: {model: 'openai:x'}}",
            ": options.titles.model: the answers are kept beside a catalogue; name one",
        ),
        (
            "{catalogue: wine.csv, max_price_gap: 0}",
            ": options: no 2 products of a category are that close; raise max_price_gap or max_rating_gap",
        ),
        (
            "{catalogue: wine.csv, pairing: matched-ratings, max_price_gap: 0}",
            ": options: no 2 products of a category are that close; raise max_price_gap",
        ),
        (
            "{catalogue: wine.csv, pairing: matched-ratings, set_size: 4}",
            ": options: no 4 products of a category have the same rating; "
            "add products, or choose another pairing",
        ),
        (
            "{catalogue: wine.csv, set_size: 5}",
            ": options: no 5 products of a category have a price, a rating and a title that is not left out; "
            "add products",
        ),
    ],
)
def test_mistakes_are_named_by_line_and_key(options: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        form(tmp_path, options)
    place, _, rest = str(caught.value).partition(": ")
    assert place.startswith(f"{tmp_path / 'test.yaml'}:2:")
    assert f": {rest}" == message


def test_a_catalogue_that_is_not_there(tmp_path: Path) -> None:
    source, options = experiment(tmp_path, "{catalogue: none.csv}")
    with pytest.raises(UserError, match=r"none\.csv: no such file in .+; check the path"):
        form_choice_sets(source, options, 0)
