import re

import httpx
import pytest
from bs4 import BeautifulSoup
from playwright.async_api import Page, expect

from interventions.apply.engine import page_hash
from tests.environments.shop.examples import Examples


async def test_links_follow_the_host_header(client: httpx.AsyncClient, base: str, examples: Examples) -> None:
    for path in ("", "electronics.html", f"{examples.rated.key}.html", "checkout/cart/"):
        html = (await client.get(path, headers={"Host": "shop.test:81"})).text
        assert base not in html
        links = re.findall(r'(?:href|src|action)="(http[^"]*)"', html)
        assert links
        assert all(link.startswith("http://shop.test:81/") for link in links)
    for path in ("", "nope"):
        assert "<script>x" not in (await client.get(path, headers={"Host": '"><script>x'})).text


async def test_pages_have_the_same_hash_at_each_port(client: httpx.AsyncClient, examples: Examples) -> None:
    await client.get("")
    for path in ("", "electronics.html?p=2", f"{examples.rated.key}.html", "checkout/cart/"):
        bodies, hashes = set(), set()
        for port in (7770, 45_123):
            host = f"127.0.0.1:{port}"
            body = (await client.get(path, headers={"Host": host})).content
            bodies.add(body)
            hashes.add(page_hash(body, f"http://{host}/{path}"))
        assert len(bodies) == 2
        assert len(hashes) == 1


async def test_first_visit_sets_the_cookies(client: httpx.AsyncClient) -> None:
    first = await client.get("")
    cookies = {cookie.split("=")[0]: cookie for cookie in first.headers.get_list("set-cookie")}
    assert set(cookies) == {"PHPSESSID", "form_key"}
    assert "HttpOnly" in cookies["PHPSESSID"]  # scripts cannot read it
    assert client.cookies["PHPSESSID"] not in first.text
    assert "HttpOnly" not in cookies["form_key"]
    assert all("samesite=lax" in cookie.lower() for cookie in cookies.values())
    # A date that jumps by years amid a trial would end them.
    assert not any(word in cookie.lower() for cookie in cookies.values() for word in ("max-age", "expires"))
    assert re.fullmatch(r"[0-9A-Za-z]{16}", client.cookies["form_key"])
    second = await client.get("electronics.html")
    assert "set-cookie" not in second.headers
    keys = re.findall(r'name="form_key" type="hidden" value="([^"]*)"', second.text)
    assert set(keys) == {client.cookies["form_key"]}


async def test_what_may_be_kept_by_caches(client: httpx.AsyncClient, base: str, examples: Examples) -> None:
    html = await client.get(f"{examples.rated.key}.html")
    assert html.headers["cache-control"] == "no-store"
    assets = set(re.findall(rf'(?:href|src)="({base}(?:static|media)/[^"]*)"', html.text))
    assert len(assets) == 4  # style sheet, script, logo, picture
    for asset in assets:
        response = await client.get(asset)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]
        assert len(response.content) < 40_000


PICTURE = "media/catalog/product/cache/x/B/0/B0.0.svg"


@pytest.mark.parametrize("path", ["nope.html", "nope", "a/b/c.html", PICTURE, "static/version1/x.css"])
async def test_unknown_pages(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert response.status_code == 404
    assert BeautifulSoup(response.text, "lxml").select("h1")[0].get_text() == "Page not found"


async def test_static_files_do_not_climb_out(client: httpx.AsyncClient, base: str) -> None:
    for path in ("..%2F..%2Fserver.py", "%2e%2e/%2e%2e/%2e%2e/server.py", "/etc/passwd"):
        url = f"{base}static/version1/frontend/Magento/blank/en_US/{path}"
        assert (await client.get(url)).status_code == 404


async def test_methods_and_last_slash(client: httpx.AsyncClient) -> None:
    for path in ("checkout/cart", "checkout/cart/", "contact", "contact/", "catalogsearch/result?q=a"):
        assert (await client.get(path)).status_code == 200
    assert (await client.head("")).status_code == 200
    assert (await client.post("checkout/cart/")).status_code == 405
    assert (await client.get("robots.txt")).text.startswith("User-agent: *")


@pytest.mark.parametrize(
    "path",
    ["wishlist/", "customer/account/", "customer/address/", "sales/order/history/", "newsletter/manage/"],
)
async def test_customer_pages_ask_to_sign_in(client: httpx.AsyncClient, base: str, path: str) -> None:
    response = await client.get(path)
    assert (response.status_code, response.headers["location"]) == (302, f"{base}customer/account/login/")


@pytest.mark.browser
async def test_forms_that_keep_nothing_say_so(page: Page, base: str, examples: Examples) -> None:
    message = page.locator("div[data-bind*=prepareMessageForHtml]")
    await page.goto(f"{base}{examples.rated.key}.html#review-form")
    await page.check("#Rating_4")
    await page.fill("#nickname_field", "Ann")
    await page.fill("#summary_field", "Good")
    await page.fill("#review_field", "Good enough.")
    await page.click("#review-form button")
    await expect(message).to_have_text("You submitted your review for moderation.")
    assert page.url.startswith(f"{base}{examples.rated.key}.html")
    await page.goto(f"{base}contact/")
    await page.fill("#name", "Ann")
    await page.fill("#contact-form #email", "a@example.org")
    await page.fill('[title="What’s on your mind?"]', "Hello")
    await page.click("#contact-form button")
    await expect(message).to_contain_text("Thanks for contacting us")
    await page.goto(f"{base}customer/account/login/")
    await page.get_by_label("Email", exact=True).fill("a@example.org")
    await page.get_by_label("Password", exact=True).fill("secret")
    await page.get_by_role("button", name="Sign In").click()
    await expect(message).to_contain_text("The account sign-in was incorrect")
    await page.goto(f"{base}{examples.rated.key}.html")
    await page.click("a.towishlist")
    await expect(message).to_have_text("You must login or register to add items to your wishlist.")
