"""The shop as an ASGI application: which address is answered by what."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from environments.shop import browse, commerce
from environments.shop.catalogue import Catalogue
from environments.shop.pictures import picture
from environments.shop.sessions import Sessions
from environments.shop.site import HERE, Site, Visit

_IMMUTABLE: Final = {"Cache-Control": "public, max-age=31536000, immutable"}

_TEXTS: Final = {
    "/privacy-policy-cookie-restriction-mode": (
        "Privacy and Cookie Policy",
        ("We use cookies to keep your shopping cart while you look around. They hold no personal data.",),
    ),
    "/search/term/popular": (
        "Search Terms",
        (
            "Type a word or two into the search field at the top of every page, for example headphones or mirror.",
        ),
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

Reader = Callable[[Site, Visit], Awaitable[Response]]
Writer = Callable[[Site, Visit, FormData], Awaitable[Response]]


def create_app(catalogue: Catalogue, sessions: Sessions | None = None) -> Starlette:
    """The shop over one catalogue. Carts live in `sessions`, in the memory of this process."""
    site = Site(catalogue, sessions or Sessions())

    def read(path: str, handler: Reader) -> list[BaseRoute]:
        async def endpoint(request: Request) -> Response:
            visit = site.visit(request)
            response = await handler(site, visit)
            site.introduce(visit, response)
            return response

        # Addresses work with and without the last slash, as visitors write both.
        paths = {path, path.rstrip("/") or "/"}
        return [Route(each, endpoint, methods=["GET"]) for each in sorted(paths)]

    def write(path: str, handler: Writer) -> list[BaseRoute]:
        async def endpoint(request: Request) -> Response:
            visit = site.visit(request)
            async with request.form(max_files=0, max_fields=300) as form:
                if form.get("form_key") == visit.form_key:
                    response = await handler(site, visit, form)
                else:
                    visit.open_session().say("error", "Invalid Form Key. Please refresh the page.")
                    response = visit.go(visit.origin(request.path_params.get("uenc", "")))
            site.introduce(visit, response)
            # Tells the script of the next page that there is something to fetch.
            response.set_cookie("private_content_version", visit.visitor_id, samesite="lax")
            return response

        return [Route(path, endpoint, methods=["POST"])]

    async def static(request: Request) -> Response:
        path = (HERE / "static" / request.path_params["path"]).resolve()
        if not path.is_relative_to(HERE / "static") or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, headers=_IMMUTABLE)

    async def media(request: Request) -> Response:
        product = site.by_sku.get(request.path_params["sku"])
        if product is None:
            raise HTTPException(404)
        return Response(picture(product), media_type="image/svg+xml", headers=_IMMUTABLE)

    async def robots(request: Request) -> Response:
        return PlainTextResponse("User-agent: *\nDisallow: /\n")

    async def not_found(request: Request, error: Exception) -> Response:
        visit = site.visit(request)
        paragraphs = ("The page you asked for is not here.", "Search for a product, or start from the menu.")
        response = site.page(
            visit,
            "text.html",
            title="404 Not Found",
            heading="Page not found",
            body_class="cms-no-route cms-noroute-index",
            status=404,
            paragraphs=paragraphs,
        )
        site.introduce(visit, response)
        return response

    routes: list[BaseRoute] = [
        *read("/", browse.home),
        *read("/catalogsearch/result/", browse.search),
        *read("/catalogsearch/result/index/", browse.search),
        *read(
            "/catalogsearch/advanced/",
            _form_page("advanced.html", "Advanced Search", "catalogsearch-advanced-index"),
        ),
        *read("/review/product/listAjax/id/{id:int}/", browse.review_list),
        *write("/review/product/post/id/{id:int}/", _post_review),
        *read("/customer/section/load/", commerce.sections),
        *read(
            "/customer/account/login/", _form_page("login.html", "Customer Login", "customer-account-login")
        ),
        *write("/customer/account/loginPost/", _post_login),
        *read("/contact/", _form_page("contact.html", "Contact Us", "contact-index-index")),
        *write("/contact/index/post/", _post_contact),
        *write("/newsletter/subscriber/new/", _post_newsletter),
        *write("/wishlist/index/add/", _post_wishlist),
        *write("/catalog/product_compare/add/", _post_compare),
        *read("/checkout/cart/", commerce.cart),
        *write("/checkout/cart/add/uenc/{uenc}/product/{id:int}/", commerce.add),
        *write("/checkout/cart/updatePost/", commerce.update),
        *write("/checkout/cart/delete/", commerce.delete),
        *write("/checkout/sidebar/updateItemQty/", commerce.sidebar_update),
        *write("/checkout/sidebar/removeItem/", commerce.sidebar_remove),
        *read("/checkout/", commerce.checkout),
        *write("/checkout/onepage/saveOrder/", commerce.place_order),
        *read("/checkout/onepage/success/", commerce.success),
        Route("/robots.txt", robots),
        Route("/static/{version}/frontend/Magento/blank/en_US/{path:path}", static),
        Route("/media/catalog/product/cache/{hash}/B/0/{sku}.{n:int}.svg", media),
        *read("/{path:path}.html", browse.document),
        *write("/{path:path}.html", commerce.ask_for_options),
    ]
    for path, (title, paragraphs) in _TEXTS.items():
        routes += read(f"{path}/", _text_page(title, paragraphs))
    for path in _FOR_CUSTOMERS:
        routes += read(f"{path}/", _to_login)
    return Starlette(routes=routes, exception_handlers={404: not_found})


def _text_page(title: str, paragraphs: tuple[str, ...]) -> Reader:
    async def handler(site: Site, visit: Visit) -> Response:
        return site.page(visit, "text.html", title=title, body_class="cms-page-view", paragraphs=paragraphs)

    return handler


def _form_page(template: str, title: str, body_class: str) -> Reader:
    async def handler(site: Site, visit: Visit) -> Response:
        return site.page(visit, template, title=title, body_class=body_class)

    return handler


async def _to_login(site: Site, visit: Visit) -> Response:
    return RedirectResponse(f"{visit.base}customer/account/login/", status_code=302)


async def _post_login(site: Site, visit: Visit, form: FormData) -> Response:
    visit.open_session().say(
        "error",
        "The account sign-in was incorrect or your account is disabled temporarily."
        " Please wait and try again later.",
    )
    return visit.go(f"{visit.base}customer/account/login/")


async def _post_wishlist(site: Site, visit: Visit, form: FormData) -> Response:
    visit.open_session().say("error", "You must login or register to add items to your wishlist.")
    return visit.go(f"{visit.base}customer/account/login/")


async def _post_compare(site: Site, visit: Visit, form: FormData) -> Response:
    visit.open_session().say("notice", "Products cannot be compared at the moment.")
    return visit.go(visit.origin(str(form.get("uenc", ""))))


async def _post_newsletter(site: Site, visit: Visit, form: FormData) -> Response:
    visit.open_session().say("success", "Thank you for your subscription.")
    return visit.go(visit.origin())


async def _post_contact(site: Site, visit: Visit, form: FormData) -> Response:
    session = visit.open_session()
    if all(str(form.get(name, "")).strip() for name in ("name", "email", "comment")):
        session.say("success", "Thanks for contacting us with your comments and questions.")
    else:
        session.say("error", "Please fill in all required fields.")
    return visit.go(f"{visit.base}contact/")


async def _post_review(site: Site, visit: Visit, form: FormData) -> Response:
    product = site.store.product(visit.request.path_params["id"])
    if product is None:
        raise HTTPException(404)
    session = visit.open_session()
    if all(str(form.get(name, "")).strip() for name in ("nickname", "title", "detail", "ratings[4]")):
        session.say("success", "You submitted your review for moderation.")
    else:
        session.say("error", "We can't post your review right now.")
    return visit.go(visit.origin())
