"""What an agent may send by ACP. Fields that the shop has no use for are ignored, and not kept."""

from typing import Any, Final

from pydantic import Field

from environments.shop.calls import RequestPart, ShortText

_MOST_ITEMS: Final = 200


class _AcpItem(RequestPart):
    """A variant. The schema has no quantity here, its examples have one; the same id twice adds up."""

    id: ShortText
    quantity: int = Field(default=1, ge=1)


class _AcpBuyer(RequestPart):
    """Who buys."""

    email: ShortText
    first_name: ShortText | None = None
    last_name: ShortText | None = None
    full_name: ShortText | None = None
    phone_number: ShortText | None = None


class _AcpAddress(RequestPart):
    """A postal address."""

    name: ShortText
    line_one: ShortText
    line_two: ShortText | None = None
    city: ShortText
    state: ShortText
    country: ShortText
    postal_code: ShortText
    company: ShortText | None = None


class _AcpDetails(RequestPart):
    """Who gets the items, and where."""

    name: ShortText | None = None
    phone_number: ShortText | None = None
    email: ShortText | None = None
    address: _AcpAddress | None = None


class _SelectedFulfillment(RequestPart):
    """How the items come; the shop has one way."""

    option_id: ShortText


class SessionUpdate(RequestPart):
    """What is to be changed: fields that are left out stay, and null takes away."""

    line_items: list[_AcpItem] | None = Field(default=None, max_length=_MOST_ITEMS)
    buyer: _AcpBuyer | None = None
    fulfillment_details: _AcpDetails | None = None
    selected_fulfillment_options: list[_SelectedFulfillment] | None = Field(default=None, max_length=10)


class NewCheckoutSession(SessionUpdate):
    """A new session."""

    line_items: list[_AcpItem] = Field(min_length=1, max_length=_MOST_ITEMS)
    currency: ShortText
    capabilities: dict[str, Any]


class _PaymentData(RequestPart):
    """How is paid. The shop asks for no credential, and forgets one that is sent."""

    handler_id: ShortText | None = None


class SessionPayment(RequestPart):
    """The payment with which a session becomes an order."""

    buyer: _AcpBuyer | None = None
    payment_data: _PaymentData
