"""Form the choice sets of an experiment from its options: products, titles, pairing, sample."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from environments.shop.shop import USUAL, Shop
from experiments.designs.catalogue.table import CatalogueFile, read_catalogue
from experiments.designs.catalogue.title_judge import judged_promotional
from experiments.designs.catalogue.titles import SHIPPED, load_patterns, without_wording
from experiments.designs.choice_sets.coverage import coverage
from experiments.designs.choice_sets.options import Options, Pairing
from experiments.designs.choice_sets.pairings import ChoiceSet, matched_ratings, price_adjacent, random_sets
from experiments.designs.choice_sets.set_file import read_sets
from experiments.designs.choice_sets.shop_products import shop_products
from interventions.apply.plan import ProductFacts
from interventions.yaml.yaml_source import Source

PAIRINGS: Final[
    dict[Pairing, Callable[[Iterable[ProductFacts], Options, random.Random], list[ChoiceSet]]]
] = {
    "price-adjacent": lambda products, options, rng: price_adjacent(products, options),
    "matched-ratings": lambda products, options, rng: matched_ratings(products, options),
    "price-coverage": coverage,
    "rating-coverage": coverage,
    "random": random_sets,
}


@dataclass(frozen=True, slots=True)
class _FormedSets:
    """Choice sets, notes for people on how they were formed, and the addresses that a catalogue tells."""

    sets: list[ChoiceSet]
    notes: list[str]
    addresses: Mapping[str, str]


def form_choice_sets(
    source: Source, options: Options, seed: int, query: Sequence[str] = (), shop: Shop = USUAL
) -> _FormedSets:
    """Form the choice sets that the `options` of the experiment `source` ask for.

    The same seed gives the same sets. Of all that a pairing finds, `sets` are sampled uniformly without
    replacement, and the alternatives of each put in random order. The sets of a file keep their order, and
    that of their alternatives; where it has more than `sets`, as many are sampled. `shop`: sells the
    products of `options.catalogue`, or this is another shop's.

    Raises:
        UserError: a mistake in a file that the options name, or there is no such choice set.
    """
    catalogue = None
    if options.catalogue is not None and not shop.own:
        catalogue = read_catalogue(source.file_at(("options", "catalogue"), options.catalogue), query)
    notes = [catalogue.note(), *catalogue.unused] if catalogue else []
    addresses = catalogue.addresses if catalogue else {}
    products = catalogue.products if catalogue else shop_products(shop)
    rng = random.Random(seed)  # noqa: S311 - a design, not a secret
    if options.file is not None:
        path = source.file_at(("options", "file"), options.file)
        refused = dict(catalogue.refused) if catalogue else {}
        found, unused = read_sets(path, {product.key: product for product in products}, refused, query)
        notes += unused
        if len(found) > options.sets:
            notes.append(f"{path}: {options.sets} of its {len(found)} choice sets sampled (options.sets)")
            found = [found[index] for index in sorted(rng.sample(range(len(found)), options.sets))]
        return _FormedSets(found, notes, addresses)
    neutral, wording = _neutral(products, options, source, catalogue)
    notes += wording
    compared, unrated = comparable(neutral, options, source, shop)
    notes += unrated
    found = PAIRINGS[options.pairing](compared, options, rng)
    if not found:
        raise source.error(("options",), _nothing(compared, options))
    if len(found) < options.sets:
        notes.append(f"there are only {len(found)} of the {options.sets} choice sets asked for")
    sampled = rng.sample(found, min(options.sets, len(found)))
    shuffled = [tuple(rng.sample(choice_set, len(choice_set))) for choice_set in sampled]
    return _FormedSets(shuffled, notes, addresses)


def _neutral(
    products: Sequence[ProductFacts], options: Options, source: Source, catalogue: CatalogueFile | None
) -> tuple[Sequence[ProductFacts], list[str]]:
    """The products whose titles do not push a choice themselves, and notes of how many others there are."""
    titles, notes = options.titles, []
    wanted = titles.filter if titles.filter is not None else bool(catalogue or titles.patterns)
    if wanted:
        own = titles.patterns and source.file_at(("options", "titles", "patterns"), titles.patterns)
        patterns = load_patterns(own or SHIPPED)
        products, dropped = without_wording(products, patterns)
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in dropped.most_common())
        notes.append(f"titles: left out for their wording: {kinds or 'none'}")
    if titles.model is not None and options.catalogue is not None:
        file = source.file_at(("options", "catalogue"), options.catalogue)
        judged = judged_promotional(titles.model, [p.name for p in products], file)
        products = [product for product in products if product.name not in judged.promotional]
        notes.append(judged.note())
    return products, notes


def comparable(
    products: Sequence[ProductFacts], options: Options, source: Source, shop: Shop
) -> tuple[list[ProductFacts], list[str]]:
    """Return the products with a price and a rating, and notes of what was left out.

    A user's products of which none has a rating are compared without. Categories with fewer products than
    `min_products_per_category` are left out. Raises UserError where the pairing needs ratings, or no category
    has so many products.
    """
    compared, notes = _rated(products, options, source, shop)
    if (least := options.min_products_per_category) is None:
        return compared, notes
    counts = Counter(product.category for product in compared)
    small = [f"{name} ({count})" for name, count in sorted(counts.items()) if count < least]
    if len(small) == len(counts):
        message = (
            f"no category has {least} products, the largest has {max(counts.values(), default=0)}; lower it"
        )
        raise source.error(("options", "min_products_per_category"), message)
    if small:
        left = f"{len(small)} of {len(counts)} categories left out, with fewer than {least} products"
        notes.append(f"{left}: {', '.join(small)}")
    return [product for product in compared if counts[product.category] >= least], notes


def _rated(
    products: Sequence[ProductFacts], options: Options, source: Source, shop: Shop
) -> tuple[list[ProductFacts], list[str]]:
    """The products with a price and a rating, and a note of others that a user's table has."""
    rated = [product for product in products if product.price and product.rating]
    if shop.own is None or len(rated) == len(products):
        return rated, []
    if rated:
        left = f"{len(products) - len(rated)} products without a rating are in the shop, and in no choice set"
        return rated, [f"{options.catalogue}: {left}"]
    if "rating" in options.pairing:
        message = f"{options.pairing} needs ratings, and {options.catalogue} has none; write price-adjacent"
        raise source.error(("options", "pairing"), message)
    return list(products), []


def _nothing(products: Sequence[ProductFacts], options: Options) -> str:
    """Why there is no choice set of these products, and what to do."""
    size = options.set_size
    if _most_alike(product.category for product in products) < size:
        left = "have a price, a rating and a title that is not left out"
        return f"no {size} products of a category {left}; add products"
    ratings = ((product.category, product.rating) for product in products)
    if options.pairing == "matched-ratings" and _most_alike(ratings) < size:
        return (
            f"no {size} products of a category have the same rating; add products, or choose another pairing"
        )
    of_price = {"price-adjacent": "max_price_gap or max_rating_gap", "price-coverage": "max_rating_gap"}
    bounds = of_price.get(options.pairing, "max_price_gap")
    return f"no {size} products of a category are that close; raise {bounds}"


def _most_alike(values: Iterable[object]) -> int:
    """How often the commonest of the values occurs."""
    return max(Counter(values).values(), default=0)
