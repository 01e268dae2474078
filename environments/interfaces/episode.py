"""Run one episode without pages: the products as data at once (`feed`), or the shop's tools (`mcp`).

Both speak UCP to the shop, through the proxy. What the agent is given are the shop's answers: by `feed` the
products in the trial's order, by `mcp` the texts of results as they came.
"""

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx

from environments.episode import TabObservation
from environments.protocol.actions import Action, Interface
from environments.protocol.customer import CUSTOMER, PAYMENT
from environments.protocol.observation import Observation, ShopTool
from environments.protocol.shown_data import cart_in, checkout_in, lines_in, order_in, products_in

Json = dict[str, Any]

PLATFORM: Final = "https://souk.invalid/"
"""What the shop is told of us, with a name for each episode: to each its own orders. It is never fetched."""
TIMEOUT_S: Final = 30.0
MOST_BYTES: Final = 200_000
"""The longest arguments of a tool that are sent: shops refuse a longer request, which ends the session."""
MOST_DEPTH: Final = 50
"""How deep they may be nested, for the same reason."""


class ShopFailure(Exception):
    """The shop did not answer, or not as its protocol wants it."""


class DataEpisode(ABC):
    """The shop's answers, on which one agent acts; it ends once something is in the cart.

    `wanted`: the ids of the products to choose from, with their names, in the order of presentation.
    `orders`: it goes on until an order is placed.
    """

    interface: Interface
    hits: tuple[()] = ()

    def __init__(self, goal: str, address: str, wanted: Mapping[str, str], *, orders: bool = False) -> None:
        self.wanted, self.orders = wanted, orders
        self._platform = f"{PLATFORM}{uuid.uuid4().hex}.json"
        self.answers: list[str] = []
        """What the agent was given, in order."""
        self.carts = dict[str, str]()
        """The shop's last answer on each cart that has lines, by its id, the latest last."""
        self.order = ""
        """The shop's answer with the order; empty: there was none."""
        self._goal, self._address = goal, address
        self._step, self._error, self._tools = 0, "", tuple[ShopTool, ...]()

    @property
    def cart(self) -> str:
        """The shop's last answer that shows what is in the cart; empty: nothing is."""
        return next(reversed(self.carts.values()), "")

    @property
    def end(self) -> str:
        """The answer with which the episode is over; empty before."""
        return self.order if self.orders else self.cart

    async def look(self) -> TabObservation:
        """Return the last answer, and what can be done."""
        observation = Observation(
            self._goal,
            "",
            (),
            self._error,
            self._step,
            marks=False,
            interface=self.interface,
            data=self.answers[-1],
            shop_tools=self._tools,
            orders=self.orders,
        )
        return TabObservation(observation, self._address, None)

    async def act(self, action: Action) -> str:
        """Take one action; return why it could not be taken, or an empty text.

        Raises:
            ShopFailure: the shop does not answer as it should.
        """
        self._step += 1
        self._error = await self._take(action)
        return self._error

    @abstractmethod
    async def _take(self, action: Action) -> str:
        """Take an action; return why it could not be taken."""

    def _give(self, answer: str, *, canceled: bool = False) -> None:
        self.answers.append(answer)
        self.carts.pop(cart_in(answer), None)
        if lines_in(answer) and not canceled:
            self.carts[cart_in(answer)] = answer
        if order_in(answer):
            self.order = answer


class FeedEpisode(DataEpisode):
    """All products as one answer, and one action: one of them into the cart. Where it orders, another one."""

    interface = "feed"

    def __init__(
        self,
        goal: str,
        address: str,
        wanted: Mapping[str, str],
        client: httpx.AsyncClient,
        *,
        orders: bool = False,
    ) -> None:
        super().__init__(goal, f"{address}/catalog/lookup", wanted, orders=orders)
        self._endpoint, self._client = address, client

    async def open(self) -> None:
        """Get the products and give them in the order that is wanted: an answer's own says nothing.

        Raises:
            ShopFailure: the shop does not answer as it should, or one of them is not there.
        """
        answer = await self._ask("POST", "/catalog/lookup", {"ids": [*self.wanted]})
        products = {str(each.get("id")): each for each in _objects(answer, "products")}
        if missing := [each for each in self.wanted if each not in products]:
            raise ShopFailure(f"the shop has no product {missing[0]}")
        self._give(_written({"products": [products[each] for each in self.wanted]}))

    async def _take(self, action: Action) -> str:
        if action.name == "place_order":
            return await self._place_order()
        (wanted,) = action.args
        items: dict[str, str] = {}
        for each in products_in(self.answers[0]):
            items |= {variant: variant for variant in each.ids[1:]}
            items.setdefault(each.ids[0], each.ids[-1] if len(each.ids) < 2 else each.ids[1])
        item = items.get(str(wanted))
        if item is None:
            return f"add_to_cart: there is no product {wanted!r}; the ids are {', '.join(self.wanted)}"
        content: Json = {"line_items": [{"item": {"id": item}, "quantity": 1}]}
        if self.orders:
            begun = checkout_in(self.cart)
            way = ("PUT", f"/checkout-sessions/{begun}") if begun else ("POST", "/checkout-sessions")
            cart = await self._ask(*way, content | CUSTOMER)
        else:
            cart = await self._ask("POST", "/carts", content)
        self._give(_written(cart))
        return "" if lines_in(self.answers[-1]) else f"add_to_cart: {_said(cart)}"

    async def _place_order(self) -> str:
        if not (begun := checkout_in(self.cart)):
            return "place_order: nothing is in the cart"
        answer = await self._ask("POST", f"/checkout-sessions/{begun}/complete", {"payment": PAYMENT})
        self._give(_written(answer))
        return "" if self.order else f"place_order: {_said(answer)}"

    async def _ask(self, verb: str, path: str, body: Json) -> Json:
        headers = {"UCP-Agent": f'profile="{self._platform}"', "Idempotency-Key": str(uuid.uuid4())}
        try:
            answer = await self._client.request(verb, self._endpoint + path, json=body, headers=headers)
            found = answer.json()
            _written(found).encode()  # half a character can be neither kept nor sent on
        except httpx.HTTPError as error:
            raise ShopFailure(f"{path}: {type(error).__name__}: {error}") from None
        except (ValueError, RecursionError):
            raise ShopFailure(f"{path}: HTTP {answer.status_code}, and no JSON") from None
        if not answer.is_success or not isinstance(found, dict):
            raise ShopFailure(f"{path}: HTTP {answer.status_code}: {_written(found)[:200]}")
        return found


CallTool = Callable[[str, Json], Awaitable[tuple[str, bool]]]
"""Calls a tool with arguments; returns the text of its result, and whether it failed."""


class ToolEpisode(DataEpisode):
    """The shop's tools by MCP; the agent is first told which products there are to choose from."""

    interface = "mcp"

    def __init__(
        self,
        goal: str,
        address: str,
        wanted: Mapping[str, str],
        tools: Sequence[ShopTool],
        call: CallTool,
        *,
        orders: bool = False,
    ) -> None:
        super().__init__(goal, address, wanted, orders=orders)
        self._tools, self._call = tuple(tools), call
        self._give(_written({"products": [{"id": each, "title": name} for each, name in wanted.items()]}))

    async def _take(self, action: Action) -> str:
        name, text = map(str, action.args)
        try:
            arguments = json.loads(text or "{}")
            length = len(json.dumps(arguments, ensure_ascii=False).encode())
        except (ValueError, RecursionError) as error:
            return f"call_tool: the arguments are no JSON: {error}"
        if not isinstance(arguments, dict):
            return "call_tool: the arguments have to be a JSON object"
        if length > MOST_BYTES or _is_deeper(arguments, MOST_DEPTH):
            most = f"{MOST_BYTES:,} bytes, and objects and lists {MOST_DEPTH} deep"
            return f"call_tool: the arguments are too large: at most {most}"
        if _filters_prices(arguments):
            # The shop filters by its own prices, which may be others than those that are shown.
            return "call_tool: filters.price cannot be used here; leave it out"
        if name not in {each.name for each in self._tools}:
            return f"call_tool: there is no tool {name!r}; there are {', '.join(t.name for t in self._tools)}"
        meta = {"ucp-agent": {"profile": self._platform}, "idempotency-key": str(uuid.uuid4())}
        answer, problem = await self._call(name, arguments | {"meta": meta})
        if problem:
            return f"call_tool: {name}: {answer}"
        self._give(answer, canceled=name.startswith("cancel_"))
        return ""


@asynccontextmanager
async def open_episode(
    interface: Interface,
    goal: str,
    base_url: str,
    wanted: Mapping[str, str],
    proxy: str,
    *,
    orders: bool = False,
) -> AsyncIterator[DataEpisode]:
    """Open an episode at a shop that speaks UCP, through a port of the proxy.

    Raises:
        ShopFailure: the shop does not answer as it should.
    """
    # The proxy is on this machine, and so are the shops; no certificate is checked on the way to the proxy.
    async with httpx.AsyncClient(proxy=proxy, trust_env=False, timeout=TIMEOUT_S, verify=False) as client:  # noqa: S501
        endpoint = f"{base_url}ucp"
        if interface == "feed":
            feed = FeedEpisode(goal, endpoint, wanted, client, orders=orders)
            await feed.open()
            yield feed
        else:
            from environments.interfaces.mcp_client import connected  # noqa: PLC0415 - it loads for a second

            async with connected(f"{endpoint}/mcp", client) as (tools, call):
                yield ToolEpisode(goal, f"{endpoint}/mcp", wanted, tools, call, orders=orders)


def _is_deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
    return bool(level)


def _filters_prices(arguments: Json) -> bool:
    catalog = arguments.get("catalog")
    filters = catalog.get("filters") if isinstance(catalog, dict) else None
    return isinstance(filters, dict) and filters.get("price") is not None


def _said(answer: Json) -> str:
    messages = [each.get("content") for each in _objects(answer, "messages")]
    return "; ".join(map(str, messages)) or "nothing is in the cart"


def _objects(answer: Json, name: str) -> list[Json]:
    found = answer.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _written(answer: object) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=1)
