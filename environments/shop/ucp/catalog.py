"""The catalogue by UCP: search, lookup, product."""

import re
from typing import Final

from environments.shop import prose
from environments.shop.browse import PAGE_LIMITS
from environments.shop.calls import Json, ProtocolError
from environments.shop.catalogue import Product
from environments.shop.sessions import Choices
from environments.shop.store import ProductQuery
from environments.shop.storefront import Storefront
from environments.shop.ucp import answers
from environments.shop.ucp.answers import UcpCall
from environments.shop.ucp.requests import Filters, LookupRequest, ProductRequest, SearchRequest
from environments.shop.variants import VariantIds, variants

_MOST_IDS: Final = 50
_CURSOR: Final = re.compile(r"([0-9]{1,2})\.([0-9]{1,6})", re.ASCII)


class UcpCatalog:
    """The three operations on the catalogue."""

    def __init__(self, shop: Storefront, ids: VariantIds) -> None:
        self._shop = shop
        self._ids = ids

    def search_catalog(self, call: UcpCall, request: SearchRequest) -> Json:
        """Search the catalogue for products."""
        cursor = _CURSOR.fullmatch(request.pagination.cursor or f"{min(request.pagination.limit, 99)}.1")
        if cursor is None:
            raise ProtocolError(400, "invalid_request", "pagination.cursor: not a cursor of this shop")
        limit, is_search = max(1, min(int(cursor[1]), PAGE_LIMITS[-1])), request.query is not None
        found = self._shop.store.find(
            ProductQuery(
                text=(request.query or "").strip()[:128] if is_search else None,
                leaves=self._leaves(request.filters.categories),
                price=_cents(call, request.filters),
                # As on the search page, so that a product has the same rank on both.
                order="relevance" if is_search else "position",
                descending=is_search,
                limit=limit,
                page=int(cursor[2]),
            )
        )
        paging = found.paging
        more = {"cursor": f"{limit}.{paging.page + 1}"} if paging.page < paging.pages else {}
        return {
            "ucp": answers.envelope("catalog.search"),
            "products": [call.product(each, [next(variants(each))]) for each in found.products],
            "pagination": {"has_next_page": bool(more), "total_count": paging.total} | more,
        }

    def _leaves(self, categories: list[str] | None) -> tuple[str, ...] | None:
        if categories is None:
            return None
        nodes = (node for node in self._shop.catalogue.categories if " > ".join(node.path) in categories)
        return tuple(dict.fromkeys(leaf for node in nodes for leaf in node.leaves))

    def lookup_catalog(self, call: UcpCall, request: LookupRequest) -> Json:
        """Look up products by the ids of products or variants."""
        if len(request.ids) > _MOST_IDS:
            raise ProtocolError(400, "request_too_large", f"ids: at most {_MOST_IDS}")
        found: dict[str, tuple[Product, dict[Choices, list[Json]]]] = {}
        unknown = []
        for each in dict.fromkeys(request.ids):
            product, choices = self._ids.resolve(each)
            if product is None:
                unknown.append({"type": "info", "code": "not_found", "content": each})
                continue
            chosen = next(variants(product)) if choices is None else choices
            inputs = found.setdefault(product.sku, (product, {}))[1].setdefault(chosen, [])
            inputs.append({"id": each, "match": "featured" if choices is None else "exact"})
        products = [call.product(*each) for each in found.values()]
        for form, (_, inputs_of) in zip(products, found.values(), strict=True):
            for variant, inputs in zip(form["variants"], inputs_of.values(), strict=True):
                variant["inputs"] = inputs
        return {"ucp": answers.envelope("catalog.lookup"), "products": products} | answers.said(unknown)

    def get_product(self, call: UcpCall, request: ProductRequest) -> Json:
        """Get one product with its variants."""
        product, choices = self._ids.resolve(request.id)
        if product is None:
            unknown = answers.error("not_found", f"Product not found: {request.id}")
            raise answers.nothing("catalog.lookup", unknown)
        if choices is None:
            # Every combination is sold, so all that is dropped of a choice is a value that there is not.
            asked = {each.name: each.label for each in request.selected}
            pairs = [(option, value) for option in product.options for value in option.values]
            choices = tuple(pair for pair in pairs if asked.get(pair[0].title) == pair[1].title)
        form = call.product(product, [each for each in variants(product) if {*choices} <= {*each}])
        if product.options:
            effective = choices if choices or request.selected else next(variants(product))
            form["selected"] = answers.selected(effective)
        for option in form.get("options", ()):
            for value in option["values"]:
                value |= {"available": product.in_stock, "exists": True}
        form["metadata"] = form.get("metadata", {}) | {"details": dict(prose.details(product))}
        return {"ucp": answers.envelope("catalog.lookup"), "product": form}


def _cents(call: UcpCall, filters: Filters) -> tuple[float | None, float | None] | None:
    """The price range of a search as the index has it: in currency units, the upper end excluded."""
    price, units = filters.price, call.shop.minor(100)
    if price is None:
        return None
    low = None if price.min is None else -(-price.min * 100 // units) / 100
    return low, None if price.max is None else (price.max * 100 // units + 1) / 100
