import csv
import hashlib
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from environments.shop import prose
from environments.shop.catalogue import Catalogue, Product, generate
from environments.shop.departments import departments
from environments.shop.market import MARKETS

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data" / "abxlab" / "products.csv"

# Words that a study uses as a treatment, and words of multi-packs, which make unit prices incomparable.
TREATMENT_WORDS = re.compile(
    r"best.?sell|top pick|recommend|limited edition|free shipping|newer version|final sale|return|"
    r"buy \d|get \d|purchased by|hurry|only \d+|editor|award|choice of|\bdeal|discount|popular|"
    r"\bpack of|\bpack\b|multi-?pack|bundle",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def shelves(catalogue: Catalogue) -> dict[str, list[Product]]:
    shelves = defaultdict(list)
    for product in catalogue.products:
        shelves[product.category].append(product)
    return shelves


def quantiles(values: list[float], at: tuple[float, ...]) -> list[float]:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return [cuts[round(100 * q) - 1] for q in at]


def test_every_leaf_category_has_at_least_sixty_products(shelves: dict[str, list[Product]]) -> None:
    assert list(shelves) == list(MARKETS)
    assert len(shelves) == 26
    assert min(map(len, shelves.values())) >= 60


def test_the_departments_are_those_of_the_menu(catalogue: Catalogue) -> None:
    assert tuple(department.name for department in catalogue.departments) == departments()
    assert [department.id for department in catalogue.departments] == list(range(3, 15))


@pytest.mark.parametrize("field", ["id", "key", "sku", "name"])
def test_is_unique(catalogue: Catalogue, field: str) -> None:
    values = [str(getattr(product, field)).lower() for product in catalogue.products]
    assert len(set(values)) == len(values)


def test_keys_and_skus_look_as_the_shop_writes_them(catalogue: Catalogue) -> None:
    for product in catalogue.products:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", product.key), product.key
        assert len(product.key) <= 200
        assert re.fullmatch(r"B0[0-9A-Z]{8}", product.sku)
        assert product.path[-1] == product.category
        assert product.path[0] in departments()


@pytest.mark.parametrize("category", MARKETS)
def test_prices_follow_the_category(shelves: dict[str, list[Product]], category: str) -> None:
    """Within 12 % of the quantile, or 60 cents: endings such as .99 move low prices so far."""
    found = quantiles([product.price for product in shelves[category]], (0.05, 0.25, 0.5, 0.75, 0.95))
    for value, expected in zip(found, MARKETS[category].price, strict=True):
        assert value == pytest.approx(expected, rel=0.12, abs=0.6)


@pytest.mark.parametrize("category", MARKETS)
def test_ratings_reviews_and_options_follow_the_category(
    shelves: dict[str, list[Product]], category: str
) -> None:
    """Shares within 2 points; ratings within 6 points at the quartiles, as some have only 8 of them."""
    products, market = shelves[category], MARKETS[category]
    rated = [product for product in products if product.rating is not None]
    assert 1 - len(rated) / len(products) == pytest.approx(market.unrated, abs=0.02)
    assert sum(bool(p.options) for p in products) / len(products) == pytest.approx(market.optioned, abs=0.02)
    found = quantiles([float(product.rating or 0) for product in rated], (0.25, 0.5, 0.75))
    for value, expected in zip(found, market.rating[1:4], strict=True):
        assert value == pytest.approx(expected, abs=6)
    assert statistics.median(p.reviews for p in rated) == pytest.approx(market.reviews[1], abs=2)
    assert max(p.reviews for p in rated) <= market.reviews[4]


def test_ratings_are_means_of_stars(catalogue: Catalogue) -> None:
    for product in catalogue.products:
        if product.rating is None:
            assert product.reviews == product.stars == 0
        else:
            assert product.reviews <= product.stars <= 5 * product.reviews
            assert abs(20 * product.stars / product.reviews - product.rating) <= 0.5
        if product.reviews == 1:
            assert product.rating in (20, 40, 60, 80, 100)


def test_few_reviews_give_extreme_ratings(catalogue: Catalogue) -> None:
    """Shares of review counts within 6 points of 11.5 %, 50.2 % and 2.1 %; perfect ratings come from few."""
    rated = [product for product in catalogue.products if product.rating is not None]

    def share(low: int, high: int) -> float:
        return sum(low <= product.reviews <= high for product in rated) / len(rated)

    def perfect(low: int, high: int) -> float:
        group = [product for product in rated if low <= product.reviews <= high]
        return sum(product.rating == 100 for product in group) / len(group)

    assert share(1, 1) == pytest.approx(0.115, abs=0.06)
    assert share(12, 12) == pytest.approx(0.502, abs=0.08)
    assert share(13, 1000) == pytest.approx(0.021, abs=0.015)
    assert perfect(1, 1) > perfect(2, 3) > perfect(4, 11) > perfect(12, 1000)
    assert perfect(12, 1000) < 0.01


def test_price_endings(catalogue: Catalogue) -> None:
    endings = [product.cents % 100 for product in catalogue.products]
    for ending, share in {99: 0.29, 0: 0.10, 95: 0.06, 98: 0.03, 90: 0.02, 49: 0.02}.items():
        assert endings.count(ending) / len(endings) == pytest.approx(share, abs=0.02)


@pytest.mark.skipif(not DATA.exists(), reason="the study's product table is not beside the project")
def test_marginals_agree_with_the_study(catalogue: Catalogue) -> None:
    with DATA.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["category"] for row in rows} == {product.category for product in catalogue.products}
    study = [float(row["rating"].rstrip("%")) for row in rows if row["rating"]]
    ours = [float(product.rating) for product in catalogue.products if product.rating is not None]
    assert statistics.mean(ours) == pytest.approx(statistics.mean(study), abs=2)
    assert statistics.stdev(ours) == pytest.approx(statistics.stdev(study), abs=2)
    assert {row["product_name"] for row in rows}.isdisjoint(product.name for product in catalogue.products)


def test_names_are_as_long_as_real_ones(catalogue: Catalogue) -> None:
    found = quantiles([float(len(p.name)) for p in catalogue.products], (0.05, 0.25, 0.5, 0.75, 0.95))
    for value, expected in zip(found, (37, 64, 98, 155, 196), strict=True):
        assert value == pytest.approx(expected, abs=15)


@pytest.mark.thorough
@pytest.mark.slow
def test_no_text_holds_a_treatment(catalogue: Catalogue) -> None:
    for product in catalogue.products:
        texts = [product.name, product.brand, *prose.features(product)]
        texts += [f"{label} {value}" for label, value in prose.details(product)]
        texts += [f"{review.title} {review.text} {review.author}" for review in prose.reviews(product)]
        texts += [f"{option.title} {value.title}" for option in product.options for value in option.values]
        assert not TREATMENT_WORDS.search("\n".join(texts)), product.key


def test_options(catalogue: Catalogue) -> None:
    options = [option for product in catalogue.products for option in product.options]
    ids = [value.id for option in options for value in option.values]
    assert len(set(ids)) == len(ids)
    for option in options:
        titles = [value.title for value in option.values]
        assert 2 <= len(set(titles)) == len(titles) <= 6


def test_what_is_out_of_stock_is_no_use_to_a_study(catalogue: Catalogue) -> None:
    sold_out = [product for product in catalogue.products if not product.in_stock]
    assert len(sold_out) == 26
    assert all(product.rating is None for product in sold_out)


def test_equal_seeds_give_equal_bytes_in_every_process(catalogue: Catalogue) -> None:
    script = (
        "import hashlib; from environments.shop.catalogue import generate; "
        "everything = repr([(p, p.words) for p in generate(0).products]); "
        "print(hashlib.sha256(everything.encode()).hexdigest())"
    )
    here = hashlib.sha256(repr([(p, p.words) for p in catalogue.products]).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": hash_seed},
        )
        assert run.stdout.strip() == here


def test_another_seed_gives_another_catalogue(catalogue: Catalogue) -> None:
    other = generate(1)
    keys = {product.key for product in catalogue.products}
    assert len(keys & {product.key for product in other.products}) < len(keys) / 10
