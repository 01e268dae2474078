"""Choice sets from a file: the study's own, and one row per option."""

from pathlib import Path

import pytest

from experiments.designs.catalogue.table import read_catalogue
from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.pairings import is_close_in_price, is_close_in_rating
from experiments.designs.choice_sets.set_file import read_sets
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError

STUDY = Path(__file__).parents[5] / "shared/data/abxlab"
PRODUCTS = {key: ProductFacts(key, "Wine", key.title(), 10.0, 80, 3) for key in ("ash", "elm", "oak", "yew")}
PAIR = "category,product1_url,product1_name,product1_price,product1_rating"
PAIR += ",product2_url,product2_name,product2_price,product2_rating\n"


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "1: neither the columns set and option nor product1_url, product2_url ...; name"),
        ("set,option\n1,oak\n1,\n", "3: option: the cell is empty; fill it in"),
        ("set,option\n1,oak\n1,elmm\n", '3: option: no product "elmm" can be chosen; did you mean "elm"'),
        ("set,option\n1,oak\n1,fir\n", "3: option: fir is a product with options; name another"),
        ("set,option,position\n1,oak,first\n", "2: position: not a whole number from 0 on; mend the cell"),
        ("set,option\n1,oak\n", "2: set 1: 1 options; give the set 2 to 8"),
        ("set,option\n1,oak\n1,OAK\n", "2: set 1: one option stands twice in the set; name another"),
        ("set,option\n1,oak\n1,elm\n2,elm\n2,oak\n", "4: set 2: another set has the same options; remove"),
        (
            "set,option\n1,oak\n1,elm\n2,elm\n2,oak\n2,ash\n",
            "4: set 2: 3 options, but 2 in the first set; use",
        ),
        (f"{PAIR}Wine,a,A,5,80,b,B,,80\n", "2: product2_url: a product without a price; mend the row"),
        (f"{PAIR}Wine,a,A,5,many,b,B,5,80\n", "2: product1_url: a product with an unreadable rating; mend"),
    ],
)
def test_mistakes_are_named_by_line(text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UserError) as caught:
        read_sets(path, PRODUCTS, {"fir": "with options"})
    assert str(caught.value).startswith(f"{path}:{message}")
