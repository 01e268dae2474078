"""`souk interventions map` from first to last, in shops that fill the cart in ways of their own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from experiments.pages.purchasing import learned
from experiments.pages.site_mapping import map_site
from experiments.pages.whole_map import map_and_prove
from interventions.yaml.sitemap import load_site_map
from tests.interventions.proposal.made_shops import NAMES, MadeShop
from tests.support import serve, usual

pytestmark = pytest.mark.usefixtures("one_driver")

ADD = {
    "form": "",
    "graphql": """fetch('/shop-api', {method: 'POST', headers: {'content-type': 'application/json'},
      body: JSON.stringify({query: 'mutation Put($id: ID!) { addItemToOrder(id: $id) { total } }',
                            variables: {id: String(ID), quantity: 1}})})""",
}
"""How a press asks the shop; `form`: without a script."""
SAYS = (
    "document.querySelector('#said').innerHTML = '<div class=toast role=status>NAME is in your basket</div>'"
)


@dataclass(frozen=True, kw_only=True)
class SellingShop(MadeShop):
    """A made shop with a cart, whose sums are right."""

    way: str = "form"
    onward: str = '<a href="/checkout">Checkout</a>'
    """What leads from the cart to the checkout."""

    def form(self, name: str) -> str:
        if self.way == "form":
            return super().form(name)
        press = (
            f"{ADD[self.way].replace('ID', str(self.number(name)))}.then(() => {SAYS.replace('NAME', name)})"
        )
        return f'<div id="said"></div><button onclick="{escape(press)}">{self.button}</button>'

    def cart_page(self, lines: dict[str, int]) -> str:
        """One line for each product, with the price of one piece and the sum."""
        rows = "".join(
            f"""<tr{self._class("basket-line")}><td><a href="{self.path(name)}">{name}</a></td>
<td>{money(self.cost(name))}</td><td><input type="number" name="qty" value="{count}"></td>
<td>{money(self.cost(name) * count)}</td></tr>"""
            for name, count in lines.items()
        )
        total = self.total(lines)
        return self._page(
            "Basket",
            f"""<main id="basket-page"><h1>Basket</h1><table><tbody>{rows}</tbody></table>
<p>Total <b id="basket-total">{total}</b></p>{self.onward}</main>""",
        )

    def checkout(self, lines: dict[str, int]) -> str:
        """The lines in another markup, and the sum."""
        rows = "".join(
            f"""<li class="ordered"><a href="{self.path(name)}">{name}</a>
<input class="pieces" name="pieces" value="{count}"> x
<b class="each">{money(self.cost(name))}</b>
<b class="line-sum">{money(self.cost(name) * count)}</b></li>"""
            for name, count in lines.items()
        )
        total = self.total(lines)
        return self._page(
            "Checkout",
            f"""<main id="checkout-page"><h1>Checkout</h1><ul>{rows}</ul><p>To pay
<b id="to-pay">{total}</b></p><form method="post" action="/pay"><button>Pay now</button></form></main>""",
        )

    def total(self, lines: dict[str, int]) -> str:
        return money(sum((self.cost(name) * count for name, count in lines.items()), Decimal(0)))

    def cost(self, name: str) -> Decimal:
        return Decimal("1299") if NAMES.index(name) % 2 == 0 else Decimal("18.50")


class DrawingShop(SellingShop):
    """A shop whose cart scripts draw, from a template that is on every page; what it says comes late."""

    def form(self, name: str) -> str:
        press = f"""event.preventDefault();
          fetch('/validate?what={self.number(name)}').then(answer => answer.text()).then(() =>
            setTimeout(() => {{ {SAYS.replace("NAME", name)}; draw() }}, 150))"""
        button = f'<a href="" onclick="{escape(press)}">{self.button}</a>'
        return f'<div id="said"></div>{button}<a href="" title="Update cart">1</a>'

    def cart_page(self, lines: dict[str, int]) -> str:
        return self._page("Basket", '<main id="basket-page"><h1>Basket</h1></main>')

    def data(self, lines: dict[str, int]) -> list[dict[str, Any]]:
        return [
            {"name": name, "url": self.path(name), "count": count, "sum": f"{self.cost(name) * count}"}
            for name, count in lines.items()
        ]

    def _page(self, title: str, body: str) -> str:
        drawn = """<aside><div id="form" style="display: none"><div class="basket-line">
<a class="basket-link" href="#">Name</a><input type="number" class="basket-count">
<b class="basket-price">0</b></div></div>
<div id="lines"></div></aside><script>
  const form = document.querySelector('#form .basket-line').cloneNode(true);
  document.querySelector('#form').remove();
  const draw = () => fetch('/basket.json').then(answer => answer.json()).then(lines => {
    document.querySelector('#lines').replaceChildren(...lines.map(line => {
      const made = form.cloneNode(true);
      made.querySelector('a').textContent = line.name;
      made.querySelector('a').href = line.url;
      made.querySelector('input').setAttribute('value', line.count);
      made.querySelector('b').textContent = line.sum;
      return made;
    }));
  });
  draw();
</script>"""
        return super()._page(title, f"{body}{drawn}")


def money(value: Decimal) -> str:
    return f"${value:,.2f}"


@asynccontextmanager
async def selling(shop: SellingShop, asked: list[str]) -> AsyncIterator[str]:
    """The shop at work; each browser has a cart of its own."""
    carts: dict[str, dict[str, int]] = {}

    async def answer(request: Request) -> Response:
        asked.append(request.url.path)
        visitor = request.cookies.get("visitor") or f"v{len(carts)}"
        cart = carts.setdefault(visitor, {})
        response = await page(request, cart)
        response.set_cookie("visitor", visitor)
        return response

    async def page(request: Request, cart: dict[str, int]) -> Response:
        path = f"{request.url.path}?{request.url.query}".rstrip("?")
        if request.method == "POST":
            body = (await request.body()).decode()
            data: Any = json.loads(body) if body.startswith("{") else dict(await request.form())
            wanted = str(data["variables"]["id"] if shop.way == "graphql" else data["what"])
            name = next(name for name in NAMES if str(shop.number(name)) == wanted)
            cart[name] = cart.get(name, 0) + 1
            return (
                RedirectResponse("/basket", 303) if shop.way == "form" else JSONResponse({"data": {"ok": 1}})
            )
        if path == "/basket.json" and isinstance(shop, DrawingShop):
            return JSONResponse(shop.data(cart))
        if request.url.path == "/validate":
            name = next(name for name in NAMES if str(shop.number(name)) == request.query_params["what"])
            cart[name] = cart.get(name, 0) + 1
            return JSONResponse({"success": True})
        if path == "/checkout":
            return HTMLResponse(shop.checkout(cart))
        if path == "/account/checkout":
            return RedirectResponse("/login?next=/account/checkout")
        if path == "/basket":
            return HTMLResponse(shop.cart_page(cart))
        if path in ("/", "/lamps"):
            return HTMLResponse(shop.listing_page())
        name = next((name for name in NAMES if shop.path(name) == path), "")
        return HTMLResponse(
            shop.product_page(name) if name else "<title>Not here</title>", 200 if name else 404
        )

    methods = ["GET", "POST"]
    async with serve(Starlette(routes=[Route("/{path:path}", answer, methods=methods)])) as url:
        yield url


REQUESTS = {
    "form": {"path": "/basket", "field": "what"},
    "graphql": {"path": "/shop-api", "operation": "addItemToOrder", "field": "$.variables.id"},
}


@pytest.mark.browser
@pytest.mark.parametrize(("way", "style"), usual([("graphql", "minified"), ("form", "told")], 1))
async def test_a_purchase_teaches_the_choice_and_the_cart(way: str, style: str, tmp_path: Path) -> None:
    shop, asked = SellingShop(way=way, style=style), list[str]()
    async with selling(shop, asked) as url:
        done = await map_and_prove(
            f"{url.rstrip('/')}{shop.path(NAMES[0])}",
            f"{url}lamps",
            name="made",
            file=tmp_path / "made.yaml",
            png=None,
        )
    assert "/pay" not in asked
    assert done.mapped.proposal.missing == []
    assert done.troubles == ()
    site = load_site_map(tmp_path / "made.yaml")
    assert site.pages["checkout"].css == "main#checkout-page"
    assert len(site.role("cart.total")) == 2
    assert site.role("row")[0].css.endswith(", li.ordered" if style == "told" else "")
    (rule,) = site.choice.request
    assert rule.model_dump(exclude_defaults=True) == REQUESTS[way]
    if way != "form":
        (message,) = site.choice.message
        assert message.says == "${product} is in your basket"
    proved = {role for role, proof in done.proofs.items() if proof.proved}
    wanted = {"product.title", "product.name", "product.price", "product.add_to_cart"}
    wanted |= {"item", "item.link", "item.title", "item.name", "item.price"}
    wanted |= {"row", "row.link", "row.name", "row.price", "row.quantity", "row.subtotal", "cart.total"}
    wanted |= {"pages.checkout", "choice.request", "choice.cart"} | (
        {"choice.message"} if way != "form" else set()
    )
    assert wanted <= proved, {role: done.proofs.get(role) for role in wanted - proved}
    assert done.as_json()["choice"]["request"]["proved"] is True


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize(
    ("onward", "reason"),
    [
        ('<a href="/account/checkout">Checkout</a>', "perhaps to log in: pages.checkout is by hand"),
        ('<form action="/checkout"><button>Checkout</button></form>', "no plain link leads to the checkout"),
        ('<a href="/pay">Checkout and pay</a>', "no plain link leads to the checkout"),
    ],
)
async def test_a_checkout_that_is_not_opened(onward: str, reason: str) -> None:
    shop, asked = SellingShop(onward=onward), list[str]()
    async with selling(shop, asked) as url:
        mapped = await map_site(f"{url.rstrip('/')}{shop.path(NAMES[0])}", f"{url}lamps", name="made")
        mapped, troubles = await learned(mapped)
    assert troubles == ()
    assert mapped.proposal.learned is not None
    (left,) = mapped.proposal.learned.by_hand
    assert reason in left
    assert not {"/checkout", "/pay"} & {*asked}
    assert "checkout" not in mapped.proposal.pages
    assert mapped.proposal.pages["cart"] == "main#basket-page"
    assert mapped.checkout == ""


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_cart_that_scripts_draw(tmp_path: Path) -> None:
    shop = DrawingShop()
    async with selling(shop, []) as url:
        done = await map_and_prove(
            f"{url.rstrip('/')}{shop.path(NAMES[0])}", f"{url}lamps",
            name="made", file=tmp_path / "made.yaml", png=None, render=True,
        )  # fmt: skip
        assert done.mapped.cart == f"{url}basket"
    assert done.troubles == ()
    site = load_site_map(tmp_path / "made.yaml")
    assert site.drawn
    assert site.pages["cart"].css == "main#basket-page"
    (message,) = site.choice.message
    assert message.says == "${product} is in your basket"
    proved = {role for role, proof in done.proofs.items() if proof.proved}
    wanted = {"row", "row.link", "row.name", "row.quantity", "row.subtotal", "choice.cart", "choice.message"}
    assert wanted <= proved, {role: done.proofs.get(role) for role in wanted - proved}


@pytest.mark.browser
async def test_nothing_is_pressed_where_it_is_not_wanted(tmp_path: Path) -> None:
    """And a page that lists products leads to the first of them."""
    shop, asked = SellingShop(), list[str]()
    async with selling(shop, asked) as url:
        done = await map_and_prove(url, None, name="made", file=tmp_path / "made.yaml", png=None, buys=False)
    assert "/basket" not in asked
    assert done.mapped.product.url == f"{url.rstrip('/')}{shop.path(NAMES[0])}"
    assert done.proofs["product.price"].proved is True
    assert done.proofs["product.add_to_cart"].proved is None
    assert not load_site_map(tmp_path / "made.yaml").knows_choices
