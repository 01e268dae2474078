import asyncio
import re

import httpx
import pytest
from bs4 import BeautifulSoup
from playwright.async_api import Browser, Page, expect

from environments.shop.commerce import SHIPPING_CENTS
from tests.environments.shop.examples import Examples

SUCCESS = "div.message-success div[data-bind*=prepareMessageForHtml]"
NOTICE = "div.message-notice"


async def add(client: httpx.AsyncClient, product_id: int, **fields: str) -> httpx.Response:
    """Add a product as the page's script does."""
    if "form_key" not in client.cookies:
        await client.get("")
    data = {"form_key": client.cookies["form_key"], "qty": "1"} | fields
    return await client.post(
        f"checkout/cart/add/uenc/x/product/{product_id}/",
        data=data,
        headers={"X-Requested-With": "XMLHttpRequest"},
    )


async def sections(client: httpx.AsyncClient) -> dict[str, dict[str, object]]:
    response = await client.get("customer/section/load/?sections=cart,directory-data,messages")
    found: dict[str, dict[str, object]] = response.json()
    return found


@pytest.mark.thorough
@pytest.mark.browser
async def test_adding_from_the_product_page(page: Page, base: str, examples: Examples) -> None:
    product = examples.rated
    requests: list[str] = []
    await page.clock.install()
    await page.goto(f"{base}{product.key}.html")
    page.on("request", lambda request: requests.append(f"{request.method} {request.url.removeprefix(base)}"))
    await page.click("#product-addtocart-button")
    await expect(page.locator(SUCCESS)).to_have_text(f"You added {product.name} to your shopping cart.")
    await expect(page.locator(f"{SUCCESS} a")).to_have_attribute("href", f"{base}checkout/cart/")
    await expect(page.locator(".showcart .counter-number")).to_have_text("1")
    assert page.url == f"{base}{product.key}.html"
    assert len([request for request in requests if "media" not in request]) == 2
    assert requests[0].startswith("POST checkout/cart/add/uenc/")
    assert requests[1].startswith("GET customer/section/load/?sections=cart,directory-data,messages")
    await expect(page.locator("#product-addtocart-button")).to_have_text("Add to Cart")
    added = await page.content()
    await page.clock.run_for("01:00:00")
    assert await page.content() == added, "what an agent sees depends on when it looks"


@pytest.mark.browser
async def test_a_missing_option_is_told_at_the_field_and_nothing_is_sent(page: Page, base, examples) -> None:
    product = examples.optioned
    await page.goto(f"{base}{product.key}.html")
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.method) if request.method == "POST" else None)
    await page.click("#product-addtocart-button")
    errors = page.locator("div.mage-error")
    await expect(errors).to_have_text(["This is a required field."] * 2)
    assert await errors.first.get_attribute("id") == f"options[{product.options[0].id}]-error"
    assert posts == []
    for option in product.options:
        await page.check(f"#options_{option.id}_3")
    await page.click("#product-addtocart-button")
    await expect(page.locator(SUCCESS)).to_contain_text("You added ")
    await expect(errors).to_have_count(0)
    await page.goto(f"{base}checkout/cart")
    values = page.locator("#shopping-cart-table td.col.item > div > dl > dd")
    await expect(values).to_have_text([option.values[1].title for option in product.options])


@pytest.mark.browser
async def test_quantities_are_checked(page: Page, base: str, examples: Examples) -> None:
    await page.goto(f"{base}{examples.rated.key}.html")
    for quantity, text in (
        ("0", "Please enter a quantity greater than 0."),
        ("10001", "The maximum you may purchase is 10000."),
    ):
        await page.fill("#qty", quantity)
        await page.click("#product-addtocart-button")
        await expect(page.locator("#qty-error")).to_have_text(text)


@pytest.mark.browser
async def test_a_card_with_options_leads_to_the_product_and_one_without_adds_on_the_spot(
    page: Page, base: str, examples: Examples
) -> None:
    product = examples.optioned
    await page.goto(f"{base}catalogsearch/result/?q={product.sku}+{product.key.replace('-', '+')}")
    await page.locator(f"form[data-product-sku={product.sku}] button").click()
    await page.wait_for_url(f"{base}{product.key}.html?options=cart")
    await expect(page.locator(NOTICE)).to_have_text(
        "The product's required option(s) weren't entered. Make sure the options are entered and try again."
    )
    await page.locator(f"form[data-product-sku={product.sku}] button.tocart").click()
    await expect(page.locator("div.mage-error").first).to_have_text("This is a required field.")
    await page.goto(f"{base}catalogsearch/result/?q={examples.rated.key.replace('-', '+')}")
    url = page.url
    await page.locator(f"form[data-product-sku={examples.rated.sku}] button").click()
    await expect(page.locator(SUCCESS)).to_contain_text(f"You added {examples.rated.name}")
    assert page.url == url, "one without options is added on the spot"
    await page.click(".showcart")
    line = page.locator("#mini-cart > li.item.product.product-item")
    await expect(line.locator(".product-item-name a")).to_have_text(examples.rated.name)
    await line.locator("input.item-qty").fill("3")
    await line.locator(".update-cart-item").click()
    await expect(page.locator(".showcart .counter-number")).to_have_text("3")
    await line.locator("a.delete").click()
    await page.click(".modal-popup .action-accept")
    await expect(page.locator("#minicart-content-wrapper .empty")).to_contain_text("You have no items")


@pytest.mark.browser
async def test_tabs_opened_at_once_can_both_buy(browser: Browser, base: str, examples: Examples) -> None:
    """Both first requests come without cookies, so one page holds the form key of a forgotten visitor."""
    context = await browser.new_context()
    pages = [await context.new_page(), await context.new_page()]
    products = [examples.rated, examples.unrated]
    await asyncio.gather(
        *(page.goto(f"{base}{product.key}.html") for page, product in zip(pages, products, strict=True))
    )
    for page in pages:
        await page.click("#product-addtocart-button")
        await expect(page.locator(SUCCESS)).to_contain_text("You added ")
    await expect(pages[1].locator(".showcart .counter-number")).to_have_text("2")
    await context.close()


@pytest.mark.browser
async def test_cart_page(page: Page, base: str, examples: Examples) -> None:
    for product in (examples.rated, examples.unrated):
        await page.goto(f"{base}{product.key}.html")
        await page.click("#product-addtocart-button")
        await expect(page.locator(SUCCESS)).to_be_visible()
    await page.goto(f"{base}checkout/cart")
    rows = page.locator("#shopping-cart-table .item-info")
    await expect(rows).to_have_count(2)
    quantity = rows.first.locator("input").first
    await expect(quantity).to_have_attribute("data-item-qty", "1")
    await quantity.fill("2")
    await page.click("button.update")
    total = 2 * examples.rated.cents + examples.unrated.cents + 3 * SHIPPING_CENTS
    await expect(page.locator("tr.grand .price")).to_have_text(f"${total / 100:,.2f}")
    await page.locator("a.action-delete").first.click()
    await expect(rows).to_have_count(1)
    await page.click("#empty_cart_button")
    await expect(page.locator(".cart-empty")).to_be_visible()


@pytest.mark.browser
async def test_checkout(page: Page, base: str, examples: Examples) -> None:
    await page.goto(f"{base}checkout/")
    assert page.url == f"{base}checkout/cart/"
    await page.goto(f"{base}{examples.rated.key}.html")
    await page.click("#product-addtocart-button")
    await expect(page.locator(SUCCESS)).to_be_visible()
    await page.goto(f"{base}checkout/")
    summary = "#opc-sidebar > div.opc-block-summary > div > div.content.minicart-items > div > ol"
    await expect(page.locator(summary)).to_contain_text(examples.rated.name)
    for name in ("firstname", "lastname", "street", "city", "postcode", "telephone"):
        await page.fill(f"[name={name}]", "1234")
    await page.fill("#checkout-form [name=email]", "a@example.org")
    await page.click("#shipping-method-buttons-container button.continue")
    await page.wait_for_url("**/checkout/#payment")
    await page.click("#payment button.action.primary.checkout")
    await page.wait_for_url("**/checkout/onepage/success/")
    await expect(page.locator("h1")).to_have_text("Thank you for your purchase!")
    await expect(page.locator(".checkout-success span").first).to_have_text(re.compile(r"^000000\d{3}$"))
    await page.goto(f"{base}checkout/cart/")
    await expect(page.locator(".cart-empty")).to_be_visible()


async def test_without_scripts_the_form_leads_back(client, base: str, examples: Examples) -> None:
    url = f"{base}{examples.rated.key}.html"
    html = BeautifulSoup((await client.get(url)).text, "lxml")
    form = html.select("#product_addtocart_form")[0]
    fields = {str(field["name"]): (None, str(field.get("value", ""))) for field in form.select("input")}
    response = await client.post(str(form["action"]), files=fields)
    assert (response.status_code, response.headers["location"]) == (302, url)
    assert (await sections(client))["cart"]["summary_count"] == 1


async def test_a_script_is_answered_by_an_empty_list(client: httpx.AsyncClient, examples: Examples) -> None:
    response = await add(client, examples.rated.id, qty="2")
    assert response.json() == []
    first, second = await sections(client), await sections(client)
    assert first["cart"] == second["cart"]
    assert first["cart"]["summary_count"] == 2
    link = f'<a href="{client.base_url}checkout/cart/">shopping cart</a>'
    text = f"You added {examples.rated.name} to your {link}.".replace("&", "&amp;")
    assert first["messages"] == {"messages": [{"type": "success", "text": text}]}
    assert second["messages"] == {"messages": []}


async def test_a_wrong_form_key_is_refused(client: httpx.AsyncClient, examples: Examples) -> None:
    for key in ("", "0123456789abcdef"):
        response = await add(client, examples.rated.id, form_key=key)
        assert "backUrl" in response.json()
        found = await sections(client)
        assert found["cart"]["summary_count"] == 0
        told = {"type": "error", "text": "Invalid Form Key. Please refresh the page."}
        assert found["messages"] == {"messages": [told]}


async def test_another_visitors_form_key_is_refused(base: str, examples: Examples) -> None:
    async with httpx.AsyncClient(base_url=base) as one, httpx.AsyncClient(base_url=base) as two:
        await one.get("")
        await two.get("")
        await add(two, examples.rated.id, form_key=one.cookies["form_key"])
        assert (await sections(two))["cart"]["summary_count"] == 0


async def test_options_are_checked_by_the_server_too(client, base: str, examples: Examples) -> None:
    product = examples.optioned
    back = {"backUrl": f"{base}{product.key}.html?options=cart"}
    assert (await add(client, product.id)).json() == back
    wrong = {f"options[{option.id}]": "1" for option in product.options}
    assert (await add(client, product.id, **wrong)).json() == back
    right = {f"options[{option.id}]": str(option.values[0].id) for option in product.options}
    assert (await add(client, product.id, **right)).json() == []
    found = await sections(client)
    assert found["cart"]["summary_count"] == 1
    assert [message["type"] for message in found["messages"]["messages"]] == ["notice", "notice", "success"]  # type: ignore[index,attr-defined]


async def test_what_cannot_be_bought(client: httpx.AsyncClient, examples: Examples) -> None:
    assert (await add(client, examples.sold_out.id)).status_code == 404
    assert (await add(client, 999_999)).status_code == 404
    for quantity in ("0", "-1", "1e3", "x", "1000001", "²"):
        assert "backUrl" in (await add(client, examples.rated.id, qty=quantity)).json()
    assert (await sections(client))["cart"]["summary_count"] == 0


@pytest.mark.browser
async def test_each_context_has_its_own_cart(browser: Browser, base: str, examples: Examples) -> None:
    first, second = await browser.new_context(), await browser.new_context()
    mine, other = await first.new_page(), await second.new_page()
    for page in (mine, other):
        await page.goto(f"{base}{examples.rated.key}.html")
    await mine.click("#product-addtocart-button")
    await expect(mine.locator(SUCCESS)).to_contain_text("You added ")
    await other.goto(f"{base}checkout/cart/")
    await expect(other.locator(".cart-empty")).to_contain_text("You have no items in your shopping cart.")
    await mine.goto(f"{base}checkout/cart/")
    await expect(mine.locator("#shopping-cart-table")).to_contain_text(examples.rated.name)
    for context in (first, second):
        await context.close()
