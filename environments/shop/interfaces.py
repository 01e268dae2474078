"""The shop's interfaces for programs, and the way from their carts to its pages."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from environments.shop.acp.rest import acp_routes
from environments.shop.purchases import Purchases
from environments.shop.storefront import Storefront
from environments.shop.ucp.rest import ucp_routes
from environments.shop.variants import VariantIds


def interface_routes(shop: Storefront) -> list[BaseRoute]:
    """Return the addresses of all protocols, over the same catalogue, carts and orders."""
    ids = VariantIds(shop.catalogue)
    by_ucp, by_acp = Purchases(shop, ids), Purchases(shop, ids)

    async def on_the_pages(request: Request) -> Response:
        visit = shop.visit(request)
        purchase_id = request.path_params["id"]
        session = by_ucp.session(purchase_id) or by_acp.session(purchase_id)
        if session is None:
            return RedirectResponse(f"{visit.base}checkout/cart/", status_code=302)
        page = "checkout/onepage/success/" if session.order else "checkout/"
        response = RedirectResponse(f"{visit.base}{page}", status_code=302)
        form_key = shop.sessions.form_key(purchase_id)
        shop.introduce(replace(visit, visitor_id=purchase_id, form_key=form_key), response)
        return response

    return [Route("/continue/{id}", on_the_pages), *ucp_routes(shop, ids, by_ucp), *acp_routes(by_acp)]
