"""What each host does in the shop, and how it says what it has read: a line of JSON for each channel."""

import json
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

ADDRESS, SKU, NAME = sys.argv[1:]
_META = {"ucp-agent": {"profile": "https://platform.test/profile.json"}}
_LINE = {"item": {"id": SKU}, "quantity": 2}


async def shop(call: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> list[Any]:
    """Search for the product, put two into a cart; return what `call` returns."""
    found = await call("search_catalog", {"meta": _META, "catalog": {"query": NAME}})
    return [found, await call("create_cart", {"meta": _META, "cart": {"line_items": [_LINE]}})]


def say(package: str, revision: str, channel: str, answers: list[Any]) -> None:
    """Print the product's prices in both answers, which are objects or JSON."""
    found, cart = (json.loads(each) if isinstance(each, str) else each for each in answers)
    (product,) = (each for each in found["products"] if each["id"] == SKU)
    (total,) = (each["amount"] for each in cart["totals"] if each["type"] == "subtotal")
    prices = [product["price_range"]["min"]["amount"], cart["line_items"][0]["item"]["price"], total]
    said = {
        "host": f"{package} {version(package)}",
        "revision": revision,
        "channel": channel,
        "prices": prices,
    }
    sys.stdout.write(json.dumps(said) + "\n")
