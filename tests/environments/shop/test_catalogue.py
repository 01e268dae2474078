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


def test_every_leaf_category_has_at_least_sixty_products(catalogue, shelves) -> None:
    assert list(shelves) == list(MARKETS)
    assert min(map(len, shelves.values())) >= 60
    for product in catalogue.products:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", product.key) and len(product.key) <= 200
        assert re.fullmatch(r"B0[0-9A-Z]{8}", product.sku)
        assert product.path[-1] == product.category and product.path[0] in departments()
    keys = {product.key for product in catalogue.products}
    assert len(keys & {product.key for product in generate(1).products}) < len(keys) / 10, "by the seed"


@pytest.mark.parametrize("field", ["id", "key", "sku", "name"])
def test_is_unique(catalogue: Catalogue, field: str) -> None:
    values = [str(getattr(product, field)).lower() for product in catalogue.products]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("category", MARKETS)
def test_prices_ratings_and_options_follow_the_category(shelves, category: str) -> None:
    """Prices within 12 % of the quantile, or 60 cents: endings such as .99 move low prices so far.

    Shares within 2 points; ratings within 6 points at the quartiles, as some have only 8 of them.
    """
    found = quantiles([product.price for product in shelves[category]], (0.05, 0.25, 0.5, 0.75, 0.95))
    for value, expected in zip(found, MARKETS[category].price, strict=True):
        assert value == pytest.approx(expected, rel=0.12, abs=0.6)

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


@pytest.mark.thorough
@pytest.mark.slow
def test_no_text_holds_a_treatment(catalogue: Catalogue) -> None:
    for product in catalogue.products:
        texts = [product.name, product.brand, *prose.features(product)]
        texts += [f"{label} {value}" for label, value in prose.details(product)]
        texts += [f"{review.title} {review.text} {review.author}" for review in prose.reviews(product)]
        texts += [f"{option.title} {value.title}" for option in product.options for value in option.values]
        assert not TREATMENT_WORDS.search("\n".join(texts)), product.key


def test_equal_seeds_give_equal_bytes_in_every_process(catalogue: Catalogue) -> None:
    script = (
        "import hashlib; from environments.shop.catalogue import generate; "
        "everything = repr([(p, p.words) for p in generate(0).products]); "
        "print(hashlib.sha256(everything.encode()).hexdigest())"
    )
    here = hashlib.sha256(repr([(p, p.words) for p in catalogue.products]).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        env = {"PYTHONHASHSEED": hash_seed}
        assert (
            subprocess.check_output([sys.executable, "-c", script], text=True, cwd=ROOT, env=env).strip()
            == here
        )
