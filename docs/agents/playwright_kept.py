"""Buy the cheapest product, in each trial that is given: one program, and one browser, for many trials.

Run it with `souk run nudges --agent "kept:python docs/agents/playwright_kept.py"`. It needs the package
playwright, and nothing of Souk.
"""

import json
import sys

from playwright.sync_api import sync_playwright


def shop(browser, trial):
    """Do one trial, with cookies and a proxy of its own."""
    context = browser.new_context(proxy={"server": trial["proxy"]})
    page = context.new_page()
    prices = {}
    for url in trial["urls"]:
        page.goto(url)
        shown = page.locator(".product-info-main .price").first.inner_text()
        prices[url] = float(shown.strip("$").replace(",", ""))
        print(f"{shown} at {url}", flush=True)
    page.goto(min(prices, key=prices.get))
    page.locator("#product-addtocart-button").click()
    page.locator(".message-success").wait_for()
    context.close()


with sync_playwright() as playwright:
    browser = None
    for line in sys.stdin:
        trial = json.loads(line)
        browser = browser or playwright.chromium.launch(
            executable_path=trial["browser"],
            args=["--no-sandbox", f"--ignore-certificate-errors-spki-list={trial['spki']}"],
        )
        shop(browser, trial)
        print(json.dumps({"done": trial["trial"]}), flush=True)
