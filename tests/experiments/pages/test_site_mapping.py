"""`souk interventions map` on the embedded shop, and what it refuses."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.requests import Request
from starlette.responses import RedirectResponse

from environments.shop.server import shop as run_shop
from experiments.pages.mapped_picture import picture
from experiments.pages.proof import prove
from experiments.pages.purchasing import learned
from experiments.pages.site_mapping import default_name, map_site, save
from experiments.pages.whole_map import map_and_prove
from interventions.errors import UserError
from interventions.yaml.sitemap import PageTest, load_site_map
from tests.support import pages, usual

pytestmark = pytest.mark.usefixtures("one_driver")

PRODUCT = """<title>Lamp</title><body class="product-view"><h1>Lamp</h1><p class="price">$5.00</p>
<nav class="breadcrumb"><a href="/lamps">Lamps</a></nav>"""
LISTING = """<title>Lamps</title><body class="list"><ul>
<li class="card"><a class="name" href="/lamp">Lamp</a> <b class="price">$5.00</b></li>
<li class="card"><a class="name" href="/lantern">Lantern</a> <b class="price">$7.00</b></li></ul>"""
REDRAWN = PRODUCT + "<script>document.body.innerHTML = '<h1>Lamp</h1><p class=price>$5.00</p>'</script>"


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[str]:
    async with run_shop() as url:
        yield url


@pytest.mark.thorough
@pytest.mark.browser
async def test_the_embedded_shop(shop: str, tmp_path: Path) -> None:
    """The roles found are those of the map written by hand, and they show the same."""
    listing = f"{shop}electronics/headphones/over-ear-headphones.html"
    async with httpx.AsyncClient() as client:
        text = (await client.get(listing)).text
    card = next(part for part in text.split("product-item-info")[1:] if "rating-result" in part)
    url = card.partition('href="')[2].partition('"')[0]
    mapped = await map_site(url, listing, name="own")
    site, faults = save(mapped, tmp_path / "own.yaml")
    assert faults == []
    assert mapped.proposal.missing == []
    by_hand = load_site_map("onestopmarket")
    skipped = {"page.body", "product.id", "product.option", "product.sku", "product.reviews_summary"}
    skipped |= {"page.listing_tools", "item.image", "item.id", "item.stock", "item.reviews_summary"}
    wanted = {role for role in by_hand.roles if role.startswith(("page.", "product.", "item"))} - skipped
    assert wanted <= set(site.roles)
    assert (await picture(mapped)).startswith(b"\x89PNG")
    with pytest.raises(UserError, match="exists and is not overwritten; choose another with --out or --name"):
        save(mapped, tmp_path / "own.yaml")


async def test_the_listing_is_found_among_the_page_s_links(tmp_path: Path) -> None:
    async with pages({"/lamp": PRODUCT, "/lamps": LISTING}) as url:
        mapped = await map_site(f"{url}lamp", None, name="lamps")
        assert mapped.listing is not None
        assert mapped.listing.url == f"{url}lamps"
        _, faults = save(mapped, tmp_path / "lamps.yaml")
        assert faults == []
        assert (await map_site(f"{url}lamp", None, name="lamps", follow=0)).listing is None


@pytest.mark.browser
async def test_scripts_that_undo_edits_are_noticed_and_cured(tmp_path: Path) -> None:
    async with pages({"/lamp": REDRAWN}) as url:
        file = tmp_path / "lamps.yaml"
        mapped = await map_site(f"{url}lamp", None, name="lamps", follow=0)
        site, faults = save(mapped, tmp_path / "first.yaml")
        assert faults == []
        assert not site.drawn
        proofs = await prove(mapped, site, buys=False)
        assert {role for role, proof in proofs.items() if proof.is_drawn_over} >= {
            "product.title",
            "product.price",
        }
        done = await map_and_prove(
            f"{url}lamp", None, name="lamps", file=file, png=None, follow=0, buys=False
        )
    assert load_site_map(file).drawn
    assert done.troubles == ()
    assert done.proofs["product.price"].proved
    assert done.proofs["product.title"].proved


# What chooses a variant: the markup, what calls `show` with the new price, and what it is called.
CONTROLS = {
    "select": (
        "<select name=size onchange='show(this.value)'><option value=20.00>Small"
        "<option value=28.00>Large</select>",
        "Large",
    ),
    "radios": (
        "<label><input type=radio name=a checked>Small</label>"
        "<label><input type=radio name=a onchange='show(\"28.00\")'>Large</label>",
        "Large",
    ),
    "pressed": (
        "<button aria-pressed=true>Small</button>"
        "<button aria-pressed=false onclick='show(\"28.00\")'>Large</button>",
        "Large",
    ),
    "currency": (
        "<div class=currencies><button type=button>$</button>"
        "<button type=button onclick='show(\"18.00\")'>EUR</button></div>",
        "EUR",
    ),
    "a third value": (
        "<select name=size onchange='this.value > 20 && show(this.value)'><option value=20.00>S"
        "<option value=19>M<option value=28.00>Large</select>",
        "Large",
    ),
    "another place": (
        "<select name=size onchange='box.textContent = `$${this.value}`'><option value=20.00>S"
        "<option value=28.00>Large</select><b id=box class=price>$20.00</b>",
        "Large",
    ),
    "quantity": ("<select name=qty onchange='show(\"1\")'><option>1<option>2</select>", ""),
    "sends": ("<form><button class=option onclick='show(\"1\")'>Now</button></form>", ""),
}


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize(
    "kind",
    [
        *usual(["select", "radios", "pressed", "currency"], 1),
        "a third value",
        "another place",
        *usual(["quantity", "sends"], 1),
    ],
)
async def test_what_a_choice_draws_anew_is_told(kind: str, tmp_path: Path) -> None:
    control, label = CONTROLS[kind]
    show = "<script>const show = (p) => document.querySelector('.price').innerHTML = '$' + p</script>"
    page = f"<title>Lamp</title><h1>Lamp</h1><p class=price>$20.00</p>{control}{show}"
    async with pages({"/lamp": page}) as url:
        mapped = await map_site(f"{url}lamp", None, name="lamps", follow=0)
        site, _ = save(mapped, tmp_path / "lamps.yaml")
        site = site.model_copy(update={"pages": {"product": PageTest(css="h1")}})
        for drawn in (False, True):
            proofs = await prove(mapped, site.model_copy(update={"drawn": drawn}), buys=False)
            price = proofs["product.price"]
            lost = bool(label) and not drawn
            assert (price.proved, price.is_drawn_over) == (not lost, lost), (drawn, price)
            assert (f"choosing '{label}' draws it anew without the edit" in price.why) == lost
            assert proofs["product.title"].proved


@pytest.mark.thorough
@pytest.mark.browser
async def test_what_covers_the_button_is_named_and_a_drawer_s_old_price_told(tmp_path: Path) -> None:
    draw = "document.body.insertAdjacentHTML('beforeend', '<aside>1 Lamp $5.00</aside>')"
    shop = f'{PRODUCT}<button type=button onclick="{draw}">Add to cart</button>'
    wall = (
        shop + "<div id=wall style='position: fixed; inset: 0; background: white'><button>OK</button></div>"
    )
    async with pages({"/lamp": shop, "/wall": wall}) as url:
        mapped = await map_site(f"{url}wall", None, name="lamps", follow=0)
        _, troubles = await learned(mapped)
        assert re.search(r'<div id="wall"> covers the button .*: .* dismiss', "; ".join(troubles)), troubles
        mapped = await map_site(f"{url}lamp", None, name="lamps", follow=0)
        site, _ = save(mapped, tmp_path / "lamps.yaml")
        proofs = await prove(mapped, site, buys=True)
        assert proofs["cart drawer"].why.startswith(
            "after the press $5.00 is shown again: give its line a role"
        )
        assert proofs["product.price"].proved


async def test_another_product_s_page_is_no_listing() -> None:
    """It shows the product among related ones."""
    related = '<ul><li class="card"><a href="/{}">{}</a> <b class="price">$7.00</b></li>'
    strip = related.format("lantern", "Lantern") + related.format("torch", "Torch")
    other = related.format("lamp", "Lamp") + related.format("torch", "Torch")
    lamp, lantern = f"{PRODUCT}{strip}", f"<title>Lantern</title><h1>Lantern</h1>{other}"
    links = lamp.replace('<a href="/lamps">Lamps</a>', "")
    async with pages({"/lamp": links, "/lantern": lantern, "/torch": lantern, "/lamps": LISTING}) as url:
        assert (await map_site(f"{url}lamp", None, name="lamps")).listing is None
    async with pages({"/lamp": lamp, "/lantern": lantern, "/torch": lantern, "/lamps": LISTING}) as url:
        found = (await map_site(f"{url}lamp", None, name="lamps")).listing
        assert found is not None
        assert found.url == f"{url}lamps"


@pytest.mark.browser
async def test_what_only_scripts_make_is_marked() -> None:
    script = "<script>document.body.innerHTML += '<p class=price>$5.00</p>'</script>"
    drawn = f"<title>Lamp</title><h1>Lamp</h1>{script}"
    async with pages({"/lamp": drawn}) as url:
        sent = await map_site(f"{url}lamp", None, name="lamps", follow=0)
        assert "product.price" in sent.proposal.missing
        rendered = await map_site(f"{url}lamp", None, name="lamps", follow=0, render=True)
        marks = {role.role: role.scripted for role in rendered.proposal.roles}
        assert marks["product.price"] is True
        assert marks["product.title"] is False


async def test_only_the_hosts_that_were_given_are_contacted() -> None:
    async with pages({"/lamp": PRODUCT}) as other:
        away = RedirectResponse(f"{other}lamp")
        async with pages({"/lamp": away}) as url:
            with pytest.raises(UserError, match="redirects to another host"):
                await map_site(f"{url}lamp", None, name="lamps")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("lamp", "lamp: not the address of a page; write it like https://shop.example/product"),
        ("http://127.0.0.1:1/lamp", "cannot be fetched"),
    ],
)
async def test_mistakes(url: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        await map_site(url, None, name="lamps")


@pytest.mark.slow
def test_a_name_from_the_address() -> None:
    assert default_name("https://www.Shop-Example.co.uk/p/1") == "shop-example-co-uk"


# What lies over a page: its buttons, and which of them take it away.
LAYERS = {
    "refuse before accept": (
        "<button class=a>Accept all</button> <button class=go-away>Nur notwendige</button>",
        ".go-away",
    ),
    "a sign": ("<a class=a href=/terms>Terms</a> <button class=go-away aria-label=''>×</button>", ".go-away"),
    "what only opens more": (
        "<button class=more>Reject or choose</button> <button class=go-away>OK</button>",
        ".go-away",
    ),
    "a text": ("<button>No thanks</button>", "button"),
}


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(LAYERS, 2))
async def test_the_button_that_takes_a_layer_away_is_proposed_and_pressed(kind: str, tmp_path: Path) -> None:
    """It comes on each page, above and below the button that adds."""
    buttons, wanted = LAYERS[kind]
    named = "" if kind == "a text" else "class=wall"
    over = f"""<script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', `<div {named}
      style='position: fixed; inset: 0; background: white'>{buttons}</div>`), 100);
    addEventListener('click', ({{ target }}) => {{
      if (target.matches('div > .go-away, div > :only-child')) target.parentElement.remove(); }})</script>"""
    added = (
        "document.title = 'x'; fetch('/cart/add', {method: 'POST', body: new URLSearchParams({id: 'lamp'})})"
    )
    shop = f'{PRODUCT}<button type=button class=buy onclick="{added}">Add to cart</button>{over}'
    file = tmp_path / "lamps.yaml"
    async with pages({"/lamp": shop, "/cart/add": "OK"}) as url:
        done = await map_and_prove(f"{url}lamp", None, name="lamps", file=file, png=None, follow=0)
    (button,) = load_site_map(file).dismiss
    page = LexborHTMLParser(f"<div class=wall>{buttons}</div>")
    (found,) = page.css(button.css) if button.css else page.css("button")
    assert button.text == (None if button.css else found.text()), button
    assert found.css_matches(wanted)
    assert done.proofs["product.add_to_cart"].proved, done.troubles


CARDS = "".join(
    f'<a class=product-item href="/{key}"><img alt=""><h4>{key}</h4><small><div>${n}4.90</div></small></a>'
    for n, key in enumerate(("lamp", "lantern", "torch"), start=1)
)
SENDS = "<form method=post action={}><button>{}</button></form>"


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("named", [False, True])
async def test_a_product_s_page_is_told_from_listing_home_and_cart(named: bool, tmp_path: Path) -> None:
    """On each of them forms with a button stand too; cards are links without names for their parts."""
    view = " class=product-view" * named
    about = SENDS.format("/cart", "Add to cart")
    lamp = f"<main><div{view}><h1>lamp</h1><div>$14.90</div>{about}</div></main>"
    home = f"<main>{SENDS.format('/join', 'Join')}<h2>New</h2><div>{CARDS}</div></main>"
    listing = f"<main><h1>Lamps</h1><div>{CARDS}</div></main>"
    line = (
        "<li><a href='/lamp'>lamp</a> <b>$14.90</b> <input type=number name=qty value={0}> <i>${1}</i></li>"
    )
    pieces: list[int] = []

    def cart(request: Request) -> str:
        pieces.extend([1] * (request.method == "POST"))
        rows = line.format(len(pieces), 14.9 * len(pieces))
        return f"<main><ul>{rows}</ul><div{view}>Go on</div>{SENDS.format('/pay', 'Pay')}</main>"

    shop = {"/lamp": lamp, "/": home, "/lamps": listing, "/cart": cart}
    links = "<nav><a href=/cart>Cart</a><a href=/lamps>Lamps</a></nav>"
    async with pages({path: each if callable(each) else links + each for path, each in shop.items()}) as url:
        mapped = await map_site(f"{url}lamp", f"{url}lamps", name="lamps")
        mapped, troubles = await learned(mapped)
        async with httpx.AsyncClient() as client:
            texts = {path: (await client.get(url + path[1:])).text for path in shop}
    site, _ = save(mapped, tmp_path / "lamps.yaml")
    assert (site.role("item")[0].css, mapped.cart, troubles) == ("a.product-item", f"{url}cart", ())
    css = site.pages["product"].css or ""
    assert [path for path in shop if LexborHTMLParser(texts[path]).css(css)] == ["/lamp"], css
