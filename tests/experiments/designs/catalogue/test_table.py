"""Catalogues: what is kept of a table of products, and why the rest is not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.designs.catalogue.table import CatalogueFile, key_of, read_catalogue
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError

PUBLIC = Path(__file__).parents[5] / "shared/data/abxlab/products.csv"
HEADER = "category,product_name,product_url,price,rating,reviews,has_options\n"


def read(folder: Path, text: str) -> CatalogueFile:
    path = folder / "products.csv"
    path.write_text(text, encoding="utf-8")
    return read_catalogue(path)


def test_the_columns_of_the_study_and_plain_ones(tmp_path: Path) -> None:
    wanted = (ProductFacts("ash-red", "Wine", "Ash Red", 1066.99, 80, 12),)
    assert (
        read(tmp_path, f'{HEADER}Wine,Ash Red,${{x}}ash-red.html,"$1,066.99",80%,12,False\n').products
        == wanted
    )
    plain = "key,category,name,price,rating,reviews,page\nash-red,Wine,Ash Red,1066.99,80,12,3\n"
    assert read(tmp_path, plain).products == wanted
    address = "url,category,name,price,rating\nhttps://shop.example/Ash-Red.html?x#y,Wine,Ash Red,5,80.4\n"
    assert read(tmp_path, address).products == (ProductFacts("ash-red", "Wine", "Ash Red", 5.0, 80, 0),)


LEFT_OUT = [
    ("Ash again,ash.html,$5,80%,1,False", ("ash", "listed before")),
    ("Elm,elm.html,$5,,0,False", ("elm", "without a rating")),
    ("Elm,elm-0.html,$5,0%,0,False", ("elm-0", "without a rating")),
    ("Fir,fir.html,,80%,1,False", ("fir", "without a price")),
    ("Gum,gum.html,$5,80%,1,True", ("gum", "with options")),
    ("Ivy,,$5,80%,1,False", ("", "without an address")),
    (",oak.html,$5,80%,1,False", ("oak", "without a name")),
    ("Yew,yew.html,free,80%,1,False", ("yew", "with an unreadable price")),
    ("Box,box.html,$5,high,1,False", ("box", "with an unreadable rating")),
    ("Bay,bay.html,$5,101%,1,False", ("bay", "with a rating above 100")),
    ("Fig,fig.html,$5,80%,1,perhaps", ("fig", "with an unreadable has_options")),
]


def test_each_row_left_out_has_its_reason(tmp_path: Path) -> None:
    rows = ["Ash,ash.html,$5,80%,1,False", *(row for row, _ in LEFT_OUT)]
    catalogue = read(tmp_path, HEADER + "".join(f"Wine,{row}\n" for row in rows))
    assert [product.key for product in catalogue.products] == ["ash"]
    assert catalogue.refused == tuple(reason for _, reason in LEFT_OUT)
    assert catalogue.note().startswith(
        f"{tmp_path}/products.csv: 1 products kept; left out: 2 without a rating,"
    )


@pytest.mark.parametrize(
    ("cell", "reviews"),
    [
        ("1.2k", 1200),
        ("12,5 Tsd.", 12_500),
        ("3.4 lakh", 340_000),
        ("10K+", 10_000),
        ("1,204", 1204),
        ("7", 7),
    ],
)
def test_reviews_are_read_as_on_pages_and_columns_by_any_case(
    tmp_path: Path, cell: str, reviews: int
) -> None:
    header = HEADER.replace("product_name", "Product Name").replace("rating", "Rating").replace("url", "URL")
    text = f'{header.strip()},Shelf\nWine,Ash,ash.html,$5,80%,"{cell}",no,9\n'
    catalogue = read(tmp_path, text)
    assert [product.reviews for product in catalogue.products] == [reviews]
    assert catalogue.unused == [f"{tmp_path}/products.csv: columns that are not used: Shelf"]


@pytest.mark.skipif(not PUBLIC.exists(), reason=f"needs the public catalogue at {PUBLIC}")
def test_the_public_catalogue() -> None:
    catalogue = read_catalogue(PUBLIC)
    assert len(catalogue.products) == 1733
    assert len(catalogue.products) + len(catalogue.refused) == 7546
    assert len({product.category for product in catalogue.products}) == 26


cell = st.text(st.characters(exclude_characters='\0\r\n"', exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.tuples(cell, cell, cell, cell), max_size=8))
def test_whatever_the_cells_hold_every_row_is_kept_or_counted(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, str, str, str]]
) -> None:
    rows = "".join(
        f'Wine,Name,"{key}","{price}","{rating}",1,"{options}"\n' for key, price, rating, options in cells
    )
    catalogue = read(tmp_path_factory.getbasetemp(), f"{HEADER}Wine,Ash,ash.html,$5,80%,1,False\n{rows}")
    assert len(catalogue.products) + len(catalogue.refused) == 1 + len(cells)
    for product in catalogue.products:
        assert product.key and product.name and product.price and 0 < product.price < float("inf")
        assert product.rating and 1 <= product.rating <= 100


@pytest.mark.parametrize(
    "text", ["ash", "/ash.html", "${base}ash.html", "${base}/ASH", "https://a.example/ash.html?b"]
)
def test_every_way_to_write_a_product_s_key(text: str) -> None:
    assert key_of(text) == "ash"


@given(
    scale=st.sampled_from([5, 10, 100]),
    way=st.sampled_from(["column", "slash", "words"]),
    tenths=st.lists(st.integers(1, 50), min_size=2, max_size=5),
)
def test_what_ratings_are_out_of_is_told_by_the_file(
    tmp_path_factory: pytest.TempPathFactory, scale: int, way: str, tenths: list[int]
) -> None:
    """Ratings of at most 5: in a file that says so they are read, in one that does not refused."""
    folder = tmp_path_factory.mktemp("scales")
    said = {"column": "", "slash": f" / {scale}", "words": f" out of {scale}"}[way]
    rows = [f"k{n},Wine,N{n},5,{each / 10}{said},{scale}" for n, each in enumerate(tenths)]
    head = "key,category,name,price,rating,"
    found = read(folder, "\n".join([f"{head}{'rating_scale' if way == 'column' else 'x'}", *rows]))
    assert [each.rating for each in found.products] == [max(1, round(each * 10 / scale)) for each in tenths]
    bare = [row.rpartition(",")[0].removesuffix(said) for row in rows]
    with pytest.raises(UserError, match=r"csv:1: no rating is above \S+, and it is not said .* rating_scale"):
        read(folder, "\n".join([head.rstrip(","), *bare]))
    assert len(read(folder, "\n".join([head.rstrip(","), *bare, "last,Wine,L,5,61"])).products) > len(bare)
