"""Simulate shopping without pages: from products as data, or by a shop's tools."""

import json
from collections.abc import Mapping, Sequence

from agents.simulated.nudges import Nudge, as_searched
from agents.simulated.readers.product_page import ReadFacts
from agents.simulated.tab_shopper import Shopper
from agents.simulated.utility import Taste
from environments.protocol.actions import Action
from environments.protocol.customer import CUSTOMER, PAYMENT
from environments.protocol.observation import Observation, ShopTool
from environments.protocol.shown_data import ProductData, checkout_in, products_in

_NOTHING = Action("give_up", ("nothing here can be bought",))


class DataShopper(Shopper):
    """A shopper of a known taste that reads data.

    By tools it asks for each product that it is told of, the first one first. Its choice is as in
    `SimulatedShopper`, over the products in the order in which they are listed; the first is the one viewed
    first. Where an order is to be placed, it orders what it has chosen, whatever the checkout says.
    """

    def __init__(self, taste: Taste, *, seed: int, nudges: Sequence[Nudge] = ()) -> None:
        super().__init__(taste, seed=seed, nudges=nudges)
        self._listed: tuple[str, ...] = ()
        self._asked: set[str] = set()
        self._read: dict[str, ProductData] = {}

    def _memory(self) -> str:
        return self._describe_all(map(_facts, self._read.values()))

    def _decide(self, observation: Observation) -> tuple[str, Action]:
        if self.has_bought and observation.orders:
            return self._order(observation)
        told = products_in(observation.data)
        if observation.interface == "mcp":
            self._listed = self._listed or _ids(observation.data)
            self._read |= {each.ids[0]: each for each in told if each.ids and each.ids[0] in self._listed}
            if left := [each for each in self._listed if each not in self._asked]:
                self._asked.add(left[0])
                return f"I ask for {left[0]}.", _call("get_product", {"catalog": {"id": left[0]}})
        else:
            self._read = self._read or {each.ids[0]: each for each in told if each.ids}
        sold = [each for each in self._read.values() if each.in_stock]
        if not sold or self.has_bought:
            return "Nothing here can be bought.", _NOTHING
        items = [_facts(each, observation.shop_tools) for each in sold]
        viewed_first = 0 if sold[0].ids[0] == next(iter(self._read)) else -1
        product = sold[self._choose(items, viewed_first, self._describe_all(items))]
        self._purchase.is_done = True
        thought = f"I prefer {product.name} and put it into the cart."
        if observation.interface == "feed":
            return thought, Action("add_to_cart", (product.ids[0],))
        item = product.ids[1] if len(product.ids) > 1 else product.ids[0]
        content = {"line_items": [{"item": {"id": item}, "quantity": 1}]}
        if observation.orders:
            return thought, _call("create_checkout", {"checkout": content | CUSTOMER})
        return thought, _call("create_cart", {"cart": content})

    def _order(self, observation: Observation) -> tuple[str, Action]:
        begun = checkout_in(observation.data)
        if not begun or observation.error:
            return "Nothing can be ordered.", _NOTHING
        if observation.interface == "feed":
            return "I place the order.", Action("place_order", ())
        done = {"id": begun, "checkout": {"payment": PAYMENT}}
        return "I place the order.", _call("complete_checkout", done)


def _call(name: str, arguments: Mapping[str, object]) -> Action:
    return Action("call_tool", (name, json.dumps(arguments)))


def _ids(data: str) -> tuple[str, ...]:
    """The ids of the products that the agent is first told of."""
    return tuple(str(each["id"]) for each in json.loads(data)["products"])


def _facts(product: ProductData, tools: Sequence[ShopTool] = ()) -> ReadFacts:
    """What is read of a product: its own texts, and those of tools that name it."""
    said = (each.description for each in tools if product.name and product.name in each.description)
    text = as_searched(" ".join((product.name, product.text, *said)))
    return ReadFacts(
        product.name, product.price, product.rating, product.reviews or 0, text, next(iter(product.ids))
    )
