"""Shops written for the tests, each hard to treat in one way, such as pages drawn by scripts.

They sell the products of `catalogue.json`; the cart is in a cookie.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import product as pairs
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

Product = dict[str, Any]
CATALOGUE: list[Product] = json.loads(Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8"))


def _cups() -> Iterator[Product]:
    """Products that are in no list, as many as an experiment needs."""
    chance = random.Random(1)
    colours = ("Amber", "Birch", "Coral", "Dusk", "Ember", "Fern", "Grey", "Hazel", "Ivory", "Jade")
    forms = ("Tall", "Wide", "Round", "Square", "Oval", "Flat", "Slim", "Deep", "Small")
    for number, (colour, form) in enumerate(pairs(colours, forms)):
        yield {
            **{"slug": f"{colour}-{form}-cup".lower(), "name": f"{colour} {form} Cup", "category": "Cups"},
            **{"price": f"{8 * 1.04**number * chance.uniform(0.97, 1.03):.2f}", "stock": 9},
            "description": "Stoneware.",
            "reviews": [[chance.choice((4, 4, 5, 5)), "", ""] for _ in range(chance.randint(2, 40))],
        }


CUPS = list(_cups())
PRODUCTS: dict[str, Product] = {product["slug"]: product for product in [*CATALOGUE, *CUPS]}


def grouped(cents: int, comma: str, point: str, decimals: int = 2) -> str:
    whole, rest = divmod(cents, 100)
    text = f"{whole:,}".replace(",", comma)
    return f"{text}{point}{rest:02}" if decimals else text


def indian(cents: int) -> str:
    """With a comma after three digits, and then after every two."""
    whole, rest = divmod(cents, 100)
    head, tail = divmod(whole, 1000)
    parts = [f"{tail:03}" if head else str(tail)]
    while head:
        head, pair = divmod(head, 100)
        parts.insert(0, f"{pair:02}" if head else str(pair))
    return f"₹{','.join(parts)}.{rest:02}"


ARABIC_DIGITS = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


@dataclass
class Shop:
    """Pages from the server, with names that say what a thing is."""

    lang: str = "en"
    times: int = 1
    """By what the catalogue's prices are multiplied."""
    buy: str = "Add to cart"
    reviewed: str = "{} reviews"
    rated: str = "{} out of 5"
    written: Callable[[int], str] = lambda cents: f"${grouped(cents, ',', '.')}"
    """How the shop writes so many cents."""

    def money(self, cents: int) -> str:
        return self.written(cents)

    def price(self, cents: int) -> str:
        """The price as HTML."""
        return f'<p class="price">{self.money(cents)}</p>'

    def address(self, product: Product) -> str:
        return f"/p/{product['slug']}"

    def cents(self, product: Product) -> int:
        return round(float(product["price"]) * 100) * self.times

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", lambda request: RedirectResponse("/lamps")),
                Route("/lamps", self._listing),
                Route("/p/{slug}", self._product),
                Route("/item", self._product),
                Route("/cart/add", self._add, methods=["POST"]),
                Route("/cart", self._cart),
                *self.more(),
            ]
        )

    def more(self) -> list[Route]:
        return []

    def page(self, title: str, body: str, head: str = "") -> Response:
        return HTMLResponse(
            f'<!doctype html><html lang="{self.lang}"><head><meta charset="utf-8">'
            f"<title>{title}</title>{head}"
            f'</head><body><header><a href="/lamps">Lamps</a> <a href="/cart">Cart</a>'
            f"</header>{body}</body></html>"
        )

    def listing(self) -> str:
        cards = "".join(
            f'<li class="product-card"><a href="{self.address(product)}">'
            f"<h3>{escape(product['name'])}</h3></a>"
            f"{self.price(self.cents(product))}</li>"
            for product in PRODUCTS.values()
            if product["category"] == "Lamps"
        )
        return f'<main class="listing"><h1>Lamps</h1><ul class="products">{cards}</ul></main>'

    def product(self, product: Product) -> str:
        return (
            f'<main class="product"><h1 class="product-name">{escape(product["name"])}</h1>'
            f"{self.price(self.cents(product))}{self.rating(product)}"
            f'<form method="post" action="/cart/add">'
            f'<input type="hidden" name="sku" value="{product["slug"]}">'
            f'<button class="buy">{self.buy}</button></form>'
            f'<p class="description">{product["description"]}</p></main>'
        )

    def rating(self, product: Product) -> str:
        scores = [score for score, _, _ in product["reviews"]]
        if not scores:
            return ""
        mean = self.rated.format(round(sum(scores) / len(scores), 1))
        return f'<p class="rating">{mean}</p><p class="reviews">{self.reviewed.format(len(scores))}</p>'

    def cart(self, products: list[Product]) -> str:
        rows = "".join(
            f'<tr class="line"><td><a href="{self.address(product)}">{escape(product["name"])}</a></td>'
            f"<td>{self.price(self.cents(product))}</td></tr>"
            for product in products
        )
        total = self.money(sum(self.cents(product) for product in products))
        return f'<main class="cart"><table>{rows}</table><p class="total">{total}</p></main>'

    async def _listing(self, request: Request) -> Response:
        return self.page("Lamps", self.listing())

    async def _product(self, request: Request) -> Response:
        found = PRODUCTS.get(request.path_params.get("slug") or request.query_params.get("id", ""))
        if found is None:
            return HTMLResponse("<title>Not here</title>", status_code=404)
        return self.page(found["name"], self.product(found), self.head(found))

    def head(self, product: Product) -> str:
        return ""

    async def _add(self, request: Request) -> Response:
        answer = RedirectResponse("/cart", status_code=303)
        keep(answer, request, str((await request.form())["sku"]))
        return answer

    async def _cart(self, request: Request) -> Response:
        return self.page("Cart", self.cart(in_cart(request)))


def in_cart(request: Request) -> list[Product]:
    slugs = request.cookies.get("cart", "").split("|")
    return [PRODUCTS[slug] for slug in slugs if slug in PRODUCTS]


def keep(answer: Response, request: Request, slug: str) -> None:
    had = request.cookies.get("cart", "")
    answer.set_cookie("cart", "|".join(filter(None, [had, slug])))


class Arabic(Shop):
    def rating(self, product: Product) -> str:
        return super().rating(product).translate(ARABIC_DIGITS | {ord("."): "٫"})


class Split(Shop):
    """The whole price is for screen readers; what is seen stands in pieces."""

    def price(self, cents: int) -> str:
        whole, fraction = f"{cents // 100:,}", f"{cents % 100:02}"
        return (
            f'<span class="price"><span class="offscreen">{self.money(cents)}</span><span aria-hidden="true">'
            f'<sup>$</sup><span class="whole">{whole}<span>.</span></span>'
            f'<span class="fraction">{fraction}</span>'
            "</span></span>"
        )

    def head(self, product: Product) -> str:
        return "<style>.offscreen { position: absolute; left: -9999px }</style>"


class Query(Shop):
    """Products are told apart by the query of their address."""

    def address(self, product: Product) -> str:
        return f"/item?id={product['slug']}"


class Stated(Shop):
    """Names of classes that say nothing; the product is stated as JSON-LD."""

    def price(self, cents: int) -> str:
        return f'<span class="css-19ab3x">{self.money(cents)}</span>'

    def listing(self) -> str:
        return super().listing().replace('"listing"', '"_1kq"').replace('"product-card"', '"_9zz"')

    def product(self, product: Product) -> str:
        text = super().product(product)
        for name, other in {
            "product-name": "_7xhq",
            "product": "_p0",
            "buy": "css-0q",
            "reviews": "_r1",
        }.items():
            text = text.replace(f'class="{name}"', f'class="{other}"')
        return text

    def head(self, product: Product) -> str:
        stated = {
            "@context": "https://schema.org",
            "@type": "Product",
            "name": product["name"],
            "sku": product["slug"],
            "offers": {"@type": "Offer", "priceCurrency": "USD", "price": self.cents(product) / 100},
        }
        return f'<script type="application/ld+json">{json.dumps(stated)}</script>'


class Shadow(Shop):
    """The product is in a declarative shadow root."""

    def product(self, product: Product) -> str:
        inner = super().product(product)
        return f'<product-view><template shadowrootmode="open">{inner}</template></product-view>'


DRAWING = """
const money = cents => '$' + (cents / 100).toFixed(2).replace(/\\B(?=(\\d{3})+\\.)/g, ',');
const get = async (url, body) => (await fetch(url, body && {method: 'POST', body: JSON.stringify(body),
  headers: {'content-type': 'application/json'}})).json();
const link = one => `<a href="/p/${one.slug}">${one.name}</a>`;
const root = document.querySelector('#root');
async function draw() {
  const [, kind, slug] = location.pathname.split('/');
  if (kind === 'lamps') {
    const {products} = await get('/api/products');
    root.innerHTML = `<main class="listing"><h1>Lamps</h1><ul class="products">${products.map(one =>
      `<li class="product-card"><h3>${link(one)}</h3><p class="price">${money(one.price)}</p></li>`
      ).join('')}</ul></main>`;
  } else if (kind === 'p') {
    const one = await get(`/api/products/${slug}`);
    document.title = one.name;
    root.innerHTML = `<main class="product"><h1 class="product-name">${one.name}</h1>
      <p class="price">${money(one.price)}</p>${one.reviews ? `<p class="rating">${one.rating} out of 5</p>
      <p class="reviews">${one.reviews.toLocaleString('en-US')} reviews</p>` : ''}
      <button class="buy" type="button">Add to cart</button></main>`;
    root.querySelector('.buy').onclick = async () => {
      await get('/api/cart', {sku: one.slug});
      history.pushState({}, '', '/cart');
      draw();
    };
  } else {
    const cart = await get('/api/cart');
    root.innerHTML = `<main class="cart"><table>${cart.lines.map(one => `<tr class="line">
      <td>${link(one)}</td><td class="price">${money(one.price)}</td></tr>`
      ).join('')}</table><p class="total">${money(cart.total)}</p></main>`;
  }
}
document.addEventListener('click', event => {
  const link = event.target.closest('a');
  if (!link) return;
  event.preventDefault();
  history.pushState({}, '', link.href);
  draw();
});
addEventListener('popstate', draw);
"""


class Rest(Shop):
    """An empty page; scripts fetch the products, with prices in cents, and draw them."""

    start = "draw();"

    def more(self) -> list[Route]:
        return [
            Route("/api/products", self._products),
            Route("/api/products/{slug}", self._one),
            Route("/api/cart", self._lines, methods=["GET", "POST"]),
        ]

    def page(self, title: str, body: str, head: str = "") -> Response:
        return super().page("Shop", '<div id="root"></div>' + self.script(), head)

    def script(self) -> str:
        return f"<script>{DRAWING}{self.start}</script>"

    def facts(self, product: Product) -> dict[str, Any]:
        scores = [score for score, _, _ in product["reviews"]]
        mean = round(sum(scores) / len(scores), 1) if scores else None
        return {
            **{name: product[name] for name in ("slug", "name")},
            **{"price": self.cents(product), "rating": mean, "reviews": len(scores)},
        }

    async def _products(self, request: Request) -> Response:
        return JSONResponse(
            {"products": [self.facts(each) for each in PRODUCTS.values() if each["category"] == "Lamps"]}
        )

    async def _one(self, request: Request) -> Response:
        return JSONResponse(self.facts(PRODUCTS[request.path_params["slug"]]))

    async def _lines(self, request: Request) -> Response:
        products = in_cart(request)
        slug = (await request.json())["sku"] if request.method == "POST" else ""
        if slug:
            products.append(PRODUCTS[slug])
        total = sum(self.cents(product) for product in products)
        answer = JSONResponse({"lines": [self.facts(each) for each in products], "total": total})
        if slug:
            keep(answer, request, slug)
        return answer


class Hydrated(Rest):
    """Pages come from the server; who goes on by a link stays on the page, which scripts draw from data."""

    start = ""

    def page(self, title: str, body: str, head: str = "") -> Response:
        return Shop.page(self, title, f'<div id="root">{body}</div>{self.script()}', head)


STORED = {name: f"{number:x}" * 64 for number, name in enumerate(("list", "one", "add", "cart"), 10)}
"""What a stored ("persisted") query is called: by a hash, which stands in every request as its `id`."""
ASKING = """
const STORED = %s;
const get = async (url, body) => {
  const [, , kind, slug] = url.split('/');
  const name = body ? 'add' : kind === 'cart' ? 'cart' : slug ? 'one' : 'list';
  const variables = body ? {input: {merchandiseId: 'gid://shop/' + body.sku}} : {slug};
  return (await (await fetch('/graphql', {method: 'POST', headers: {'content-type': 'application/json'},
    body: JSON.stringify({id: STORED[name], variables})})).json()).data;
};
const money = cents => '<span>' + (cents / 100).toFixed(2) + '</span>\u00a0<span>₪</span>';
"""


class Persisted(Rest):
    """From right to left; every request is a POST to one address; the currency has an element of its own."""

    def more(self) -> list[Route]:
        return [Route("/graphql", self._graphql, methods=["POST"])]

    def page(self, title: str, body: str, head: str = "") -> Response:
        answer = super().page(title, body, head)
        return HTMLResponse(bytes(answer.body).replace(b'lang="he"', b'lang="he" dir="rtl"'))

    def script(self) -> str:
        drawing = DRAWING[DRAWING.index("const link") :].replace("reviews</p>", "ביקורות</p>")
        return f"<script>{ASKING % json.dumps(STORED)}{drawing}{self.start}</script>"

    def facts(self, product: Product) -> dict[str, Any]:
        return super().facts(product) | {"gid": f"gid://shop/{product['slug']}"}

    async def _graphql(self, request: Request) -> Response:
        asked = await request.json()
        variables, products = asked["variables"], in_cart(request)
        if asked["id"] == STORED["one"]:
            return JSONResponse({"data": self.facts(PRODUCTS[variables["slug"]])})
        if asked["id"] == STORED["list"]:
            lamps = [self.facts(each) for each in PRODUCTS.values() if each["category"] == "Lamps"]
            return JSONResponse({"data": {"products": lamps}})
        slug = variables["input"]["merchandiseId"].rpartition("/")[2] if asked["id"] == STORED["add"] else ""
        products += [PRODUCTS[slug]] if slug else []
        lines, total = [self.facts(each) for each in products], sum(map(self.cents, products))
        answer = JSONResponse({"data": {"lines": lines, "total": total}})
        if slug:
            keep(answer, request, slug)
        return answer


WRITING = """
function inCart() { return JSON.parse(localStorage.getItem('cart') || '[]'); }
function add(slug) {
  localStorage.setItem('cart', JSON.stringify(inCart().concat(slug)));
  location.href = '/cart';
}
function writeCart(all) {
  var sum = 0;
  document.write('<TABLE BORDER=1>');
  inCart().forEach(function (slug) {
    sum += all[slug][1];
    document.write('<TR><TD><A HREF="/p/' + slug + '">' + all[slug][0] + '</A></TD><TD ALIGN=right>' +
      euros(all[slug][1]) + '</TD></TR>');
  });
  document.write('<TR><TD>Summe</TD><TH ALIGN=right>' + euros(sum) + '</TH></TR></TABLE>');
}
function euros(cents) { return (cents / 100).toFixed(2).replace('.', ',') + ' \u20ac'; }
"""


class Old(Shop):
    """Tables within tables, no names at all, latin-1; the cart is in the browser, and written by a script."""

    def page(self, title: str, body: str, head: str = "") -> Response:
        menu = '<A HREF="/lamps">Lampen</A><BR><A HREF="/cart">Korb</A>'
        html = (
            f"<HTML><HEAD><TITLE>{title}</TITLE><SCRIPT>{WRITING}</SCRIPT></HEAD><BODY BGCOLOR=white>"
            f"<TABLE WIDTH=760><TR><TD WIDTH=120 VALIGN=top>{menu}</TD><TD VALIGN=top>{body}</TD></TR>"
            "</TABLE></BODY></HTML>"
        )
        return Response(
            html.encode("latin-1", "xmlcharrefreplace"), media_type="text/html; charset=iso-8859-1"
        )

    def price(self, cents: int) -> str:
        return f"<FONT COLOR=#990000 SIZE=+1>{self.money(cents)}</FONT>"

    def listing(self) -> str:
        lamps = [each for each in PRODUCTS.values() if each["category"] == "Lamps"]
        cells = [
            f'<TD ALIGN=center><A HREF="{self.address(each)}"><B>{escape(each["name"])}</B></A><BR>'
            f"{self.price(self.cents(each))}</TD>"
            for each in lamps
        ]
        rows = "".join(f"<TR>{''.join(cells[at : at + 3])}</TR>" for at in range(0, len(cells), 3))
        return f"<H2>Lampen</H2><TABLE>{rows}</TABLE>"

    def product(self, product: Product) -> str:
        scores = [score for score, _, _ in product["reviews"]]
        mean = f"{sum(scores) / len(scores):.1f}".replace(".", ",") if scores else ""
        rated = f"<P>{mean} von 5 Sternen, {len(scores)} Meinungen</P>" if scores else ""
        return (
            f"<H1>{escape(product['name'])}</H1>{rated}<TABLE><TR><TD>Preis:</TD>"
            f"<TD>{self.price(self.cents(product))}</TD></TR><TR><TD>Versand:</TD><TD>4,90 &euro;</TD></TR>"
            f"</TABLE><A HREF=\"javascript:add('{product['slug']}')\"><B>In den Korb legen</B></A>"
        )

    def cart(self, products: list[Product]) -> str:
        known = {slug: [each["name"], self.cents(each)] for slug, each in PRODUCTS.items()}
        return f"<H2>Korb</H2><SCRIPT>writeCart({json.dumps(known)})</SCRIPT>"


def euros(cents: int) -> str:
    return grouped(cents, ".", ",") + " €"


def francs(cents: int) -> str:
    return "CHF " + grouped(cents, "’", ".")


SHOPS: dict[str, Shop] = {
    "german": Shop("de", 100, "In den Warenkorb", "{} Bewertungen", "{} von 5 Sternen", euros),
    "french": Shop(
        *("fr", 100, "Ajouter au panier", "{} avis", "{} sur 5"),
        lambda cents: grouped(cents, "\u202f", ",") + "\u00a0€",
    ),
    "swiss": Shop("de-CH", 100, "In den Warenkorb", "{} Bewertungen", "{} von 5", francs),
    "japanese": Shop(
        "ja",
        100,
        "カートに入れる",
        "{}件のレビュー",
        "{} / 5",
        lambda cents: "¥" + grouped(cents, ",", "", 0),
    ),
    "indian": Shop("en-IN", 10_000, written=indian),
    "arabic": Arabic(
        *("ar", 100, "أضف إلى السلة", "{} مراجعة", "{} من 5"),
        lambda cents: grouped(cents, "٬", "٫").translate(ARABIC_DIGITS) + " ر.س",
    ),
    "split-prices": Split(),
    "query-addresses": Query(),
    "json-ld": Stated(),
    "shadow-dom": Shadow(),
    "hydrated": Hydrated(),
    "drawn-by-scripts": Rest(),
    "persisted-queries": Persisted("he"),
    "old-tables": Old("de", written=euros),
}
