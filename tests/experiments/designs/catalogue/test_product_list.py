"""A user's list of products: what is read, and where a mistake stands."""

from pathlib import Path

import pytest

from experiments.designs.catalogue.product_list import read_products
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError


def test_what_a_list_says_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    path.write_text(
        "key,category,name,price,rating,reviews,colour\na,Lamps,Lamp,19.99,84.4,12,red\n,Socks,,,,,\n"
    )
    assert read_products(path) == (
        [ProductFacts("a", "Lamps", "Lamp", 19.99, 84, 12), ProductFacts(f"{path}:3", "Socks")],
        [f"{path}: columns that are not used: colour"],
    )


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('name,category,price\n"a\nlamp",Lamps,1\nb,Lamps,x\n', 4, "price: expected a number"),
        ("category,price\nLamps,nan\n", 2, "price: must be a finite number"),
        ("category,price\nLamps,-1\n", 2, "price: must be greater than or equal to 0"),
        ("category,rating\nLamps,101\n", 2, "rating: must be less than or equal to 100"),
        ("name\nLamp\n", 1, 'no column "category"'),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, place: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        read_products(path)
    assert str(error.value).startswith(f"{path}:{place}: {message}")
