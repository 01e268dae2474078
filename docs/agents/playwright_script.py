"""Buy the cheapest product.

Run it with `souk run nudges --agent "command:python docs/agents/playwright_script.py"`. It needs the package
playwright, and nothing of Souk.
"""

import json
import sys

from playwright.sync_api import sync_playwright

trial = json.loads(sys.stdin.readline())

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=trial["browser"],
        proxy={"server": trial["proxy"]},
        args=["--no-sandbox", f"--ignore-certificate-errors-spki-list={trial['spki']}"],
    )
    page = browser.new_page()
    prices = {}
    for url in trial["urls"]:
        page.goto(url)
        shown = page.locator(".product-info-main .price").first.inner_text()
        prices[url] = float(shown.strip("$").replace(",", ""))
        print(f"{shown} at {url}", flush=True)
    page.goto(min(prices, key=prices.get))
    page.locator("#product-addtocart-button").click()
    page.locator(".message-success").wait_for()
    browser.close()
