"""The shop as an ASGI application: which function answers which address."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from environments.shop import browse, commerce
from environments.shop.catalogue import Catalogue
from environments.shop.pictures import picture
from environments.shop.sessions import Sessions
from environments.shop.storefront import ShopVisit, Storefront

_LOGIN: Final = "customer/account/login/"
_MEDIA_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_IMMUTABLE: Final = {"Cache-Control": "public, max-age=31536000, immutable"}

_TEXTS: Final = {
    "/privacy-policy-cookie-restriction-mode": (
        "Privacy and Cookie Policy",
        ("We use cookies to keep your shopping cart while you look around. They hold no personal data.",),
    ),
    "/search/term/popular": (
        "Search Terms",
        ("Type a word or two into the search field above, such as headphones or mirror.",),
    ),
    "/catalog/product_compare": ("Compare Products", ("You have no items to compare.",)),
}
_FOR_CUSTOMERS: Final = (
    "/wishlist",
    "/customer/account",
    "/customer/account/create",
    "/customer/address",
    "/sales/order/history",
    "/newsletter/manage",
)

Reader = Callable[[Storefront, ShopVisit], Awaitable[Response]]
Writer = Callable[[Storefront, ShopVisit, FormData], Awaitable[Response]]


def create_app(catalogue: Catalogue) -> Starlette:
    """Make the shop over one catalogue. Carts live in the memory of this process."""
    shop = Storefront(catalogue, Sessions())

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
        paragraphs = ("The page you asked for is not here.", "Search for a product, or start from the menu.")
        response = shop.page(
            visit,
            "text.html",
            title="404 Not Found",
            heading="Page not found",
            body_class="cms-no-route cms-noroute-index",
            status=404,
            paragraphs=paragraphs,
        )
        shop.introduce(visit, response)
        return response

    routes = [
        *read("/", browse.home),
        *read("/catalogsearch/result/", browse.search),
        *read("/catalogsearch/result/index/", browse.search),
        *read(
            "/catalogsearch/advanced/",
            _form_page("advanced.html", "Advanced Search", "catalogsearch-advanced-index"),
        ),
        *read("/review/product/listAjax/id/{id:int}/", browse.review_list),
        *read("/customer/section/load/", commerce.sections),
        *read(
            "/customer/account/login/", _form_page("login.html", "Customer Login", "customer-account-login")
        ),
        *read("/contact/", _form_page("contact.html", "Contact Us", "contact-index-index")),
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
        Route("/static/{version}/frontend/Magento/blank/en_US/{path:path}", static),
        Route("/media/catalog/product/cache/{hash}/B/0/{sku}.{n:int}.svg", media),
        *read("/{path:path}.html", browse.document),
        write("/{path:path}.html", commerce.ask_for_options),
    ]
    for path, handler in _acknowledgements().items():
        routes.append(write(path, handler))
    for path, (title, paragraphs) in _TEXTS.items():
        routes += read(f"{path}/", _text_page(title, paragraphs))
    for path in _FOR_CUSTOMERS:
        routes += read(f"{path}/", _to_login)
    return Starlette(routes=routes, exception_handlers={404: not_found})


def _acknowledgements() -> dict[str, Writer]:
    return {
        "/review/product/post/id/{id:int}/": _acknowledge(
            "success",
            "You submitted your review for moderation.",
            required=("nickname", "title", "detail", "ratings[4]"),
        ),
        "/contact/index/post/": _acknowledge(
            "success",
            "Thanks for contacting us with your comments and questions.",
            required=("name", "email", "comment"),
            to="contact/",
        ),
        "/newsletter/subscriber/new/": _acknowledge(
            "success", "Thank you for your subscription.", required=("email",)
        ),
        "/wishlist/index/add/": _acknowledge(
            "error", "You must login or register to add items to your wishlist.", to=_LOGIN
        ),
        "/customer/account/loginPost/": _acknowledge(
            "error", "The account sign-in was incorrect. Please check the email and the password.", to=_LOGIN
        ),
        "/catalog/product_compare/add/": _acknowledge("notice", "Products cannot be compared at the moment."),
    }


def _text_page(title: str, paragraphs: tuple[str, ...]) -> Reader:
    async def handler(shop: Storefront, visit: ShopVisit) -> Response:
        return shop.page(visit, "text.html", title=title, body_class="cms-page-view", paragraphs=paragraphs)

    return handler


def _form_page(template: str, title: str, body_class: str) -> Reader:
    async def handler(shop: Storefront, visit: ShopVisit) -> Response:
        return shop.page(visit, template, title=title, body_class=body_class)

    return handler


async def _to_login(shop: Storefront, visit: ShopVisit) -> Response:
    return RedirectResponse(visit.base + _LOGIN, status_code=302)


def _acknowledge(kind: str, text: str, *, required: tuple[str, ...] = (), to: str | None = None) -> Writer:
    """A form of which nothing is kept: say `text`, and go to the page `to` or back."""

    async def handler(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
        session = visit.open_session()
        if all(str(form.get(name, "")).strip() for name in required):
            session.say(kind, text)
        else:
            session.say("error", "Please fill in all required fields.")
        return visit.go(visit.origin(str(form.get("uenc", ""))) if to is None else visit.base + to)

    return handler
