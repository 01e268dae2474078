"""Choice sets from a file: the study's own, and one row per option."""

from pathlib import Path

import pytest

from experiments.designs.catalogue.table import read_catalogue
from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.pairings import is_close_in_price, is_close_in_rating
from experiments.designs.choice_sets.set_file import read_sets
from interventions.apply.plan import ProductFacts

STUDY = Path(__file__).parents[5] / "shared/data/abxlab"
PRODUCTS = {key: ProductFacts(key, "Wine", key.title(), 10.0, 80, 3) for key in ("ash", "elm", "oak", "yew")}


def write(folder: Path, text: str) -> Path:
    path = folder / "sets.csv"
    path.write_text(text, encoding="utf-8")
    return path


def keys(path: Path) -> list[list[str]]:
    return [[product.key for product in products] for products in read_sets(path, PRODUCTS, {})[0]]


def test_a_row_per_option(tmp_path: Path) -> None:
    """Keys and addresses; sorted by position where there is one, else as listed."""
    listed = "set,option\n1,oak\n2,yew\n1,https://shop.example/ASH.html?x=1\n2,${base}elm.html\n"
    assert keys(write(tmp_path, listed)) == [["oak", "ash"], ["yew", "elm"]]
    placed = "set,option,position,remark\n1,oak,1,x\n1,ash,0,\n2,yew,0,\n2,elm,1,y\n"
    path = write(tmp_path, placed)
    assert keys(path) == [["ash", "oak"], ["yew", "elm"]]
    assert read_sets(path, PRODUCTS, {})[1] == [f"{path}: columns that are not used: remark"]


@pytest.mark.slow
@pytest.mark.skipif(not STUDY.exists(), reason=f"needs the study's data at {STUDY}")
@pytest.mark.parametrize("name", ["product_pairs.csv", "product_pairs-matched-ratings.csv"])
def test_the_study_s_pairs_are_valid_and_as_its_catalogue_says(name: str) -> None:
    pairs, _ = read_sets(STUDY / name, {}, {})
    assert len(pairs) == 50
    listed = {product.key: product for product in read_catalogue(STUDY / "products.csv").products}
    for pair in pairs:
        assert is_close_in_price(pair, Options())
        assert is_close_in_rating(pair, Options(max_rating_gap=0 if "matched" in name else 0.1))
        assert pair == tuple(listed[product.key] for product in pair)
