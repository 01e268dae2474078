"""Find choice sets that a page of a shop lists, and make the edit that shows only one of them."""

import random
from collections.abc import Iterable
from typing import ClassVar, Final, Literal

from pydantic import BaseModel

from environments.shop.shop import USUAL, Shop
from environments.shop.store import ProductQuery, Store, showcases
from experiments.designs.catalogue.table import CatalogueFile, read_catalogue
from experiments.designs.choice_sets.forming import PAIRINGS, comparable
from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.choice_sets.shop_products import shop_products
from interventions.apply.plan import ProductFacts, Treatment
from interventions.edits.base import Edit, Leftover
from interventions.edits.reorder import product_of, siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.yaml_source import Source

ListingTask = Literal["home", "listing", "search"]

PAGE: Final = 36
"""The products on a page of a category, the most that the shop offers."""
RESULTS: Final = 12
"""The products on the first page of a search, and on the home page."""
AROUND: Final = "page.listing_tools"
"""The role of what stands around the cards and tells of other products: counts, pages, filters."""


class ShowOnly(Edit, BaseModel, frozen=True, extra="forbid"):
    """Leaves only these products on a listing, in this order, and takes away what tells of others.

    It is one edit for the whole list, since the ranks of single products depend on what is removed before.
    """

    leftover: ClassVar[Leftover] = ""
    repeats: ClassVar[bool] = True
    orders: ClassVar[bool] = True
    only: ClassVar[bool] = True

    keys: tuple[str, ...]

    def moved(self, site: SiteMap) -> frozenset[str]:
        return frozenset(self.keys)

    def roles(self) -> tuple[str, ...]:
        return ("item", AROUND)

    def apply(self, showing: ProductPlace) -> Change | None:
        page = showing.page
        # All is done at the first card, and is found done at the others.
        ranks = {product: rank for rank, product in enumerate(self.keys)}
        card, cards = siblings(showing)
        rank_of = {each.mem_id: ranks.get(product_of(showing, each)) for each in cards}
        kept = [each for each in cards if rank_of[each.mem_id] is not None]
        order = sorted(kept, key=lambda each: rank_of[each.mem_id] or 0)
        others = [each for each in cards if each not in kept]
        around = [node for place in showing.site.role(AROUND) for node in page.find(place.css)]
        for node in (*others, *around):
            page.remove(node)
        if kept:
            page.arrange(kept, order)
        if card == (order or others)[0]:
            shown = sorted(rank for rank in rank_of.values() if rank is not None)
            return Change(len(cards), "", ", ".join(self.keys[rank] for rank in shown))
        return None


def show_only(products: Iterable[ProductFacts]) -> Treatment:
    """Return the treatment that shows only these products on listings, in this order."""
    keys = tuple(product.key for product in products)
    return Treatment(ShowOnly.kind().replace("_", "-"), None, (ShowOnly(keys=keys),), ("listing",))


def category_address(category: str, shop: Shop = USUAL) -> str:
    """Return the address of a category's listing, with as many products on a page as possible."""
    url = next(node.url for node in shop.catalogue.categories if node.leaves == (category,))
    return f"{url}?product_list_limit={PAGE}"


def listed_sets(
    task: ListingTask, options: Options, seed: int, source: Source, shop: Shop
) -> tuple[list[ChoiceSet], list[str]]:
    """Form choice sets of products that the shop lists on one page; return notes of what was left out too.

    The page is one of a category, or of a search for its name, or the home page. The sets are formed and
    sampled like those of all products; of whole lists each is one. Raises UserError where the pairing needs
    ratings, and a user's products have none.
    """
    store, every = Store(shop.catalogue), shop_products(shop)
    rng = random.Random(seed)  # noqa: S311 - a design, not a secret
    if task == "home":
        pages = {"": [product.key for product in showcases(shop.catalogue)[:RESULTS]]}
    else:
        pages = {
            category: [product.key for product in store.find(_query(task, category)).products]
            for category in dict.fromkeys(product.category for product in every)
        }
    if options.pairing == "whole-list":
        by_key = {product.key: product for product in every}
        lists = [tuple(by_key[key] for key in keys if key in by_key) for keys in pages.values()]
        return _sampled(lists, options, rng), []
    compared, notes = comparable(every, options, source, shop)
    products = [product for product in compared if product.key in pages[product.category]]
    found = PAIRINGS[options.pairing](products, options, rng)
    sampled = rng.sample(found, min(options.sets, len(found)))
    return [tuple(rng.sample(choice_set, len(choice_set))) for choice_set in sampled], notes


def catalogue_lists(
    options: Options, seed: int, source: Source, query: tuple[str, ...]
) -> tuple[list[ChoiceSet], CatalogueFile]:
    """Form a choice set of each list of a shop of which a catalogue tells; return the catalogue too.

    Raises UserError where it cannot be read, or does not say where the lists are.
    """
    file = read_catalogue(source.file_at(("options", "catalogue"), str(options.catalogue)), query)
    if not file.lists:
        message = f"{file.file} has no column list, with the address of the list that shows a product"
        raise source.error(("options", "catalogue"), f"{message}; import it again, or add the column")
    lists: dict[str, list[ProductFacts]] = {category: [] for category in file.lists}
    for product in file.products:
        if product.category in lists:
            lists[product.category].append(product)
    rng = random.Random(seed)  # noqa: S311 - a design, not a secret
    return _sampled(map(tuple, lists.values()), options, rng), file


def _sampled(lists: Iterable[ChoiceSet], options: Options, rng: random.Random) -> list[ChoiceSet]:
    """Of the lists with two products or more, as many as are asked for; their order stays."""
    found = [products for products in lists if len(products) >= (options.min_products_per_category or 2)]
    return rng.sample(found, min(options.sets, len(found)))


def _query(task: ListingTask, category: str) -> ProductQuery:
    if task == "listing":
        return ProductQuery(leaves=(category,), limit=PAGE)
    return ProductQuery(text=category, order="relevance", descending=True, limit=RESULTS)
