"""The shop as an ASGI application: which function answers which address."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from environments.shop import browse, commerce
from environments.shop.catalogue import Catalogue
from environments.shop.interfaces import interface_routes
from environments.shop.pictures import picture
from environments.shop.sessions import Sessions
from environments.shop.storefront import ShopVisit, Storefront
from interventions.data_file import read_data

_MEDIA_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_IMMUTABLE: Final = {"Cache-Control": "public, max-age=31536000, immutable"}

Reader = Callable[[Storefront, ShopVisit], Awaitable[Response]]
Writer = Callable[[Storefront, ShopVisit, FormData], Awaitable[Response]]


def create_app(catalogue: Catalogue, *, interfaces: bool = True) -> Starlette:
    """Make the shop over one catalogue. Carts live in the memory of this process.

    `interfaces`: whether programs have their own besides its pages.
    """
    shop = Storefront(catalogue, Sessions())
    told = read_data(__file__, "pages.yaml")

    def read(path: str, handler: Reader) -> list[Route]:
        async def endpoint(request: Request) -> Response:
            visit = shop.visit(request)
            response = await handler(shop, visit)
            shop.introduce(visit, response)
            return response

        # Addresses work with and without the last slash, as visitors write both.
        paths = {path, path.rstrip("/") or "/"}
        return [Route(each, endpoint, methods=["GET"]) for each in sorted(paths)]

    def write(path: str, handler: Writer) -> Route:
        async def endpoint(request: Request) -> Response:
            visit = shop.visit(request)
            async with request.form(max_files=0, max_fields=300) as form:
                if form.get("form_key") == visit.form_key:
                    response = await handler(shop, visit, form)
                else:
                    visit.open_session().say("error", "Invalid Form Key. Please refresh the page.")
                    response = visit.go(visit.origin(request.path_params.get("uenc", "")))
            shop.introduce(visit, response)
            # Tells the script of the next page that there is something to fetch.
            response.set_cookie("private_content_version", "1", samesite="lax")
            return response

        return Route(path, endpoint, methods=["POST"])

    async def static(request: Request) -> Response:
        path = request.path_params["path"]
        if path not in shop.static:
            raise HTTPException(404)
        media_type = _MEDIA_TYPES[path.rsplit(".", 1)[-1]]
        return Response(shop.static[path], media_type=media_type, headers=_IMMUTABLE)

    async def media(request: Request) -> Response:
        product = shop.by_sku.get(request.path_params["sku"])
        if product is None:
            raise HTTPException(404)
        return Response(picture(product), media_type="image/svg+xml", headers=_IMMUTABLE)

    async def robots(request: Request) -> Response:
        return PlainTextResponse("User-agent: *\nDisallow: /\n")

    async def not_found(request: Request, error: Exception) -> Response:
        visit = shop.visit(request)
        response = shop.page(visit, status=404, **_in_words(shop, told["not found"]))
        shop.introduce(visit, response)
        return response

    routes = [
        *read("/", browse.home),
        *read("/catalogsearch/result/", browse.search),
        *read("/catalogsearch/result/index/", browse.search),
        *read("/review/product/listAjax/id/{id:int}/", browse.review_list),
        *read("/customer/section/load/", commerce.sections),
        *read("/checkout/cart/", commerce.cart),
        write("/checkout/cart/add/uenc/{uenc}/product/{id:int}/", commerce.add),
        write("/checkout/cart/updatePost/", commerce.update),
        write("/checkout/cart/delete/", commerce.delete),
        write("/checkout/sidebar/updateItemQty/", commerce.sidebar_update),
        write("/checkout/sidebar/removeItem/", commerce.sidebar_remove),
        *read("/checkout/", commerce.checkout),
        write("/checkout/onepage/saveOrder/", commerce.place_order),
        *read("/checkout/onepage/success/", commerce.success),
        Route("/robots.txt", robots),
        *(interface_routes(shop) if interfaces else ()),
        Route("/static/{version}/frontend/Magento/blank/en_US/{path:path}", static),
        Route("/media/catalog/product/cache/{hash}/B/0/{sku}.{n:int}.svg", media),
        *read("/{path:path}.html", browse.document),
        write("/{path:path}.html", commerce.ask_for_options),
    ]
    for path, page in told["pages"].items():
        routes += read(path, _fixed_page(**page))
    for path, form in told["forms"].items():
        routes.append(write(path, _acknowledge(**form)))
    for path in told["for customers"]:
        routes += read(path, _to_login)
    return Starlette(routes=routes, exception_handlers={404: not_found})


def _in_words(shop: Storefront, told: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a page that is always the same, its texts in the shop's language."""
    return {
        name: list(map(shop.word, value)) if isinstance(value, list) else shop.word(value)
        for name, value in told.items()
    }


def _fixed_page(**told: Any) -> Reader:
    async def handler(shop: Storefront, visit: ShopVisit) -> Response:
        return shop.page(visit, **_in_words(shop, told))

    return handler


async def _to_login(shop: Storefront, visit: ShopVisit) -> Response:
    return RedirectResponse(f"{visit.base}customer/account/login/", status_code=302)


def _acknowledge(kind: str, text: str, *, required: Sequence[str] = (), to: str | None = None) -> Writer:
    """A form of which nothing is kept: say `text`, and go to the page `to` or back."""

    async def handler(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
        session = visit.open_session()
        if all(str(form.get(name, "")).strip() for name in required):
            session.say(kind, text)
        else:
            session.say("error", "Please fill in all required fields.")
        return visit.go(visit.origin(str(form.get("uenc", ""))) if to is None else visit.base + to)

    return handler
