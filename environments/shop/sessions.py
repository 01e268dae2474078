"""The visitors: their identity, form key, cart and pending messages, in the memory of the process."""

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from environments.shop.catalogue import Option, OptionValue, Product

MOST_LINES: Final = 100
MOST_MESSAGES: Final = 10
MOST_QUANTITY: Final = 10_000
_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ID: Final = re.compile(r"[0-9a-f]{32}")

Choices = tuple[tuple[Option, OptionValue], ...]


class CartFull(ValueError):
    """The cart takes no further line, or no such quantity."""


@dataclass(slots=True)
class CartLine:
    """A line of a cart."""

    id: int
    product: Product
    choices: Choices
    quantity: int

    @property
    def cents(self) -> int:
        """The price of the whole line, in cents."""
        return self.product.cents * self.quantity


@dataclass(frozen=True, slots=True)
class ShopOrder:
    """An order as it was placed; `shipping` in cents."""

    number: str
    lines: tuple[CartLine, ...]
    shipping: int

    @property
    def cents(self) -> int:
        """The subtotal, in cents."""
        return sum(line.cents for line in self.lines)


@dataclass(frozen=True, slots=True)
class _ShopMessage:
    """A message to the visitor; `kind` is success, notice, error or warning, `html` is safe markup."""

    kind: str
    html: str


@dataclass(slots=True)
class ShopSession:
    """The shop's memory of one visitor."""

    lines: dict[int, CartLine] = field(default_factory=dict)
    messages: list[_ShopMessage] = field(default_factory=list)
    order: ShopOrder | None = None
    touched: float = 0.0
    _last_line: int = 0

    @property
    def quantity(self) -> int:
        """The number of items in the cart."""
        return sum(line.quantity for line in self.lines.values())

    @property
    def cents(self) -> int:
        """The subtotal of the cart, in cents."""
        return sum(line.cents for line in self.lines.values())

    def add(self, product: Product, choices: Choices, quantity: int) -> None:
        """Put a product into the cart; a line with the same choices grows.

        Raises:
            CartFull: when the cart or the line would grow beyond its limit.
        """
        for line in self.lines.values():
            if line.product is product and line.choices == choices:
                self.set_quantity(line.id, line.quantity + quantity)
                return
        if len(self.lines) >= MOST_LINES or quantity > MOST_QUANTITY:
            raise CartFull
        self._last_line += 1
        self.lines[self._last_line] = CartLine(self._last_line, product, choices, quantity)

    def set_quantity(self, line_id: int, quantity: int) -> None:
        """Change the quantity of a line; zero removes the line, an unknown line is ignored.

        Raises:
            CartFull: when the quantity is above the limit.
        """
        if quantity > MOST_QUANTITY:
            raise CartFull
        if quantity <= 0:
            self.lines.pop(line_id, None)
        elif line_id in self.lines:
            self.lines[line_id].quantity = quantity

    def say(self, kind: str, html: str) -> None:
        """Keep a message for the next page or section that shows messages."""
        self.messages = [*self.messages, _ShopMessage(kind, html)][-MOST_MESSAGES:]

    def take_messages(self) -> list[_ShopMessage]:
        """Return the pending messages and forget them: each is shown once."""
        messages, self.messages = self.messages, []
        return messages


class Sessions:
    """The sessions of all visitors.

    Idle sessions are forgotten, and the longest idle one when there are too many. A session begins with the
    first cart or message; a visitor who only looks around costs no memory.
    """

    def __init__(
        self, *, idle: float = 3600.0, limit: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.idle = idle
        self._limit = limit
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, ShopSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def visitor_id(self, cookie: str | None) -> str:
        """Return the id in a cookie if it is well formed, else a new id."""
        return cookie if cookie and _ID.fullmatch(cookie) else secrets.token_hex(16)

    def form_key(self, visitor_id: str) -> str:
        """Return sixteen letters and digits that only pages of this visitor carry."""
        digest = hmac.digest(self._secret, visitor_id.encode(), hashlib.sha256)
        return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:16])

    def get(self, visitor_id: str) -> ShopSession:
        """Return the visitor's session; when there is none, an empty one that is not kept."""
        return self.find(visitor_id) or ShopSession()

    def open(self, visitor_id: str) -> ShopSession:
        """Return the visitor's session, and begin one when there is none."""
        session = self.find(visitor_id)
        if session is None:
            session = self._sessions[visitor_id] = ShopSession(touched=self._clock())
            if len(self._sessions) > self._limit:
                self._sessions.popitem(last=False)
        return session

    def __contains__(self, visitor_id: str) -> bool:
        """Whether a visitor's session is there; other than `find`, to ask does not keep it."""
        return visitor_id in self._sessions

    def find(self, visitor_id: str) -> ShopSession | None:
        """Return the visitor's session; None when it has not begun or is forgotten."""
        now = self._clock()
        while self._sessions and now - next(iter(self._sessions.values())).touched > self.idle:
            self._sessions.popitem(last=False)
        session = self._sessions.get(visitor_id)
        if session is not None:
            session.touched = now
            self._sessions.move_to_end(visitor_id)
        return session
