"""The pages to look at: home, categories, search, products, review lists."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, cast
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from environments.shop import prose
from environments.shop.catalogue import Product
from environments.shop.departments import Category
from environments.shop.store import Listing, Order, Paging, ProductQuery, showcases
from environments.shop.storefront import NO_STORE, ShopVisit, Storefront, product_url

PAGE_LIMITS: Final = (12, 24, 36)
REVIEW_LIMITS: Final = (10, 20, 50)

_CATEGORY_ORDERS: Final = (("position", "Position"), ("name", "Product Name"), ("price", "Price"))
_SEARCH_ORDERS: Final = (("relevance", "Relevance"), ("name", "Product Name"), ("price", "Price"))
_LISTING_PARAMETERS: Final = (
    "q",
    "cat",
    "price",
    "product_list_order",
    "product_list_dir",
    "product_list_mode",
    "product_list_limit",
)
_PRICE: Final = re.compile(r"(\d{1,7}(?:\.\d{1,2})?)?-(\d{1,7}(?:\.\d{1,2})?)?")

Facet = tuple[str, list[tuple[str, int, str]]]
LinkTo = Callable[..., str]


async def home(shop: Storefront, visit: ShopVisit) -> Response:
    """Return the first page: one product of most categories, or a user's own ones, twelve at a time."""
    shown = showcases(shop.catalogue)
    paging = Paging(len(shown), PAGE_LIMITS[0], _number(visit, "pbaocw", 1))
    return shop.page(
        visit,
        "home.html",
        title="One Stop Market",
        body_class="cms-home cms-index-index",
        products=shown[paging.first - 1 : paging.last],
        paging=paging,
        link=lambda page: f"{visit.base}?pbaocw={page}",
    )


async def document(shop: Storefront, visit: ShopVisit) -> Response:
    """Return the page of the category or product that has this address."""
    path = visit.request.path_params["path"] + ".html"
    category = shop.categories.get(path)
    if category is not None:
        return _category(shop, visit, category)
    product = shop.catalogue.by_key.get(path.removesuffix(".html"))
    if product is None:
        raise HTTPException(404)
    return _product(shop, visit, product)


async def search(shop: Storefront, visit: ShopVisit) -> Response:
    """Return the products with any of the words searched for."""
    text = visit.request.query_params.get("q", "").strip()[:128]
    title = shop.word("Search results for: '{}'").format(text)
    return _listing(
        shop,
        visit,
        _SEARCH_ORDERS,
        f"{visit.base}catalogsearch/result/index/",
        text=text,
        title=title,
        ancestors=(),
        body_class="page-products page-with-filter catalogsearch-result-index",
        search_text=text,
    )


async def review_list(shop: Storefront, visit: ShopVisit) -> Response:
    """Return the reviews of one product, as a fragment that the product page fetches."""
    product = shop.store.product(visit.request.path_params["id"])
    if product is None:
        raise HTTPException(404)
    limit = _number(visit, "limit", REVIEW_LIMITS[0])
    limit = limit if limit in REVIEW_LIMITS else REVIEW_LIMITS[0]
    written = prose.reviews(product)
    paging = Paging(len(written), limit, _number(visit, "p", 1))
    address = f"{visit.base}review/product/listAjax/id/{product.id}/"
    html = shop.render(
        "reviews.html",
        reviews=written[paging.first - 1 : paging.last],
        paging=paging,
        limit=limit,
        limits=REVIEW_LIMITS,
        product_url=product_url(product, visit.base),
        link=lambda page: f"{address}?limit={limit}&p={page}",
    )
    return HTMLResponse(html, headers=NO_STORE)


def _product(shop: Storefront, visit: ShopVisit, product: Product) -> Response:
    features = prose.features(product)
    return shop.page(
        visit,
        "product.html",
        title=product.name,
        description=features[0] if features else "",
        body_class=f"catalog-product-view product-{product.key}",
        product=product,
        features=features,
        details=prose.details(product),
    )


def _category(shop: Storefront, visit: ShopVisit, category: Category) -> Response:
    path = category.url.removesuffix(".html")
    return _listing(
        shop,
        visit,
        _CATEGORY_ORDERS,
        visit.base + category.url,
        category=category,
        title=" - ".join(reversed(category.path)),
        heading=category.name,
        heading_id="page-title-heading",
        body_class=(
            f"page-with-filter page-products categorypath-{path.replace('/', '-')}"
            f" category-{path.rsplit('/', 1)[-1]} catalog-category-view"
        ),
        ancestors=[
            node for node in shop.catalogue.categories if node.path == category.path[: len(node.path)]
        ][:-1],
    )


def _listing(
    shop: Storefront,
    visit: ShopVisit,
    orders: Sequence[tuple[str, str]],
    address: str,
    *,
    category: Category | None = None,
    text: str | None = None,
    **page: Any,
) -> Response:
    """A category page or search results: the two differ in little. page: see `Storefront.page`."""
    parameters = visit.request.query_params
    kept = {name: parameters[name] for name in _LISTING_PARAMETERS if name in parameters}

    def link_to(**changes: object) -> str:
        query = {name: value for name, value in (kept | changes).items() if value is not None}
        return f"{address}?{urlencode(query)}" if query else address

    order = kept.get("product_list_order", "")
    order = order if order in dict(orders) else orders[0][0]
    direction = kept.get("product_list_dir", "desc" if order == "relevance" else "asc")
    limit = _number(visit, "product_list_limit", PAGE_LIMITS[0])
    limit = limit if limit in PAGE_LIMITS else PAGE_LIMITS[0]
    chosen = _chosen_category(shop, kept.get("cat", ""))
    price = _price_range(kept.get("price", ""))
    leaves = category.leaves if category else None
    if chosen is not None:
        leaves = tuple(leaf for leaf in chosen.leaves if leaves is None or leaf in leaves)
    listing = shop.store.find(
        ProductQuery(
            leaves=leaves,
            text=text,
            price=price,
            order=cast(Order, order),
            descending=direction == "desc",
            limit=limit,
            page=_number(visit, "p", 1),
        )
    )
    filters = []
    if chosen is not None:
        filters.append(("Category", chosen.name, link_to(cat=None)))
    if price is not None:
        filters.append(("Price", _price_label(shop, *price), link_to(price=None)))
    children = category.children if category else shop.catalogue.departments
    return shop.page(
        visit,
        "listing.html",
        layout="2columns-left",
        category=category,
        listing=listing,
        products=listing.products,
        paging=listing.paging,
        mode="list" if kept.get("product_list_mode") == "list" else "grid",
        orders=orders,
        order=order,
        descending=direction == "desc",
        limit=limit,
        limits=PAGE_LIMITS,
        link=lambda page: link_to(p=page),
        link_to=link_to,
        filters=filters,
        facets=[
            *([] if chosen else _category_facet(children, listing, link_to)),
            *([] if price else _price_facet(shop, listing, link_to)),
        ],
        **page,
    )


def _category_facet(children: Sequence[Category], listing: Listing, link_to: LinkTo) -> list[Facet]:
    entries = []
    for child in children:
        count = sum(listing.leaf_counts.get(leaf, 0) for leaf in child.leaves)
        if count:
            entries.append((child.name, count, link_to(cat=child.id)))
    return [("Category", entries)] if entries else []


def _price_facet(shop: Storefront, listing: Listing, link_to: LinkTo) -> list[Facet]:
    entries = [
        (_price_label(shop, part.low, part.high), part.count, link_to(price=f"{part.low}-{part.high or ''}"))
        for part in listing.price_ranges
    ]
    return [("Price", entries)] if len(entries) > 1 else []


def _price_label(shop: Storefront, low: float | None, high: float | None) -> str:
    least = shop.money(round(100 * (low or 0)))
    return (
        shop.word("{} and above").format(least)
        if high is None
        else f"{least} - {shop.money(round(100 * high) - 1)}"
    )


def _price_range(text: str) -> tuple[float | None, float | None] | None:
    """`0-30`, `30-` or `-30`; the upper end is excluded. None for anything else."""
    match = _PRICE.fullmatch(text)
    if not match or text == "-":
        return None
    low, high = match.groups()
    return (float(low) if low else None, float(high) if high else None)


def _chosen_category(shop: Storefront, text: str) -> Category | None:
    return next((node for node in shop.catalogue.categories if str(node.id) == text), None)


def _number(visit: ShopVisit, name: str, default: int) -> int:
    """A query parameter as a small positive number."""
    text = visit.request.query_params.get(name, "")
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else default
