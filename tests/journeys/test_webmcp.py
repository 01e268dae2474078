"""What an intervention says of a form as a tool reaches agents by WebMCP, where the browser has it."""

from pathlib import Path

import pytest
from playwright.async_api import Error, async_playwright

from environments.browser.pool import find_browser
from environments.shop.server import shop
from environments.shop.shop import Shop
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import run_proxy
from proxy.session import Session

FORM = "css:#product_addtocart_form"
TOLD = "Add this product, a best seller, to the cart"


@pytest.mark.thorough
@pytest.mark.browser
async def test_a_tools_description_is_part_of_the_treatment(tmp_path: Path) -> None:
    product, other = (each for each in Shop().catalogue.products[:2])
    names = {"toolname": "add_to_cart", "tooldescription": TOLD}
    edits = [{"set_attribute": {"role": FORM, "name": name, "value": text}} for name, text in names.items()]
    plan = Plan((Treatment("tool", product.key, tuple(map(edit_from_dict, edits))),))
    async with shop() as base, run_proxy(tmp_path) as proxy, async_playwright() as playwright:
        slot = await proxy.open_slot()
        slot.session = Session(plan, load_site_map("embedded"), AllowList.of(base))
        browser = await playwright.chromium.launch(
            executable_path=find_browser(playwright),
            args=["--enable-features=WebMCP", "--proxy-bypass-list=<-loopback>"],
            proxy={"server": slot.url},
        )
        page = await browser.new_page()
        found = {}
        for each in (product, other):
            await page.goto(f"{base}{each.key}.html")
            try:
                found[each] = await page.webmcp.tools()
            except Error as error:
                pytest.skip(f"this browser has no WebMCP: {error}")
        await browser.close()
    assert [(tool["name"], tool["description"]) for tool in found[product]] == [("add_to_cart", TOLD)]
    assert found[other] == []
