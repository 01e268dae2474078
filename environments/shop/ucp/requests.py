"""What a platform may send by UCP. The protocol allows other fields: they are ignored, and not kept."""

from typing import Annotated, Final

from pydantic import Field, model_validator

from environments.shop.calls import RequestPart, ShortText

_MOST_IDS: Final = 50
_MOST_ITEMS: Final = 200


class _PriceFilter(RequestPart):
    """The lowest and the highest price, in minor units; both are included."""

    min: Annotated[int | None, Field(ge=0, le=10**12)] = None
    max: Annotated[int | None, Field(ge=0, le=10**12)] = None


class Filters(RequestPart):
    """What a product must be; `categories` are values of the products' own `categories`."""

    categories: Annotated[list[ShortText] | None, Field(max_length=_MOST_IDS)] = None
    price: _PriceFilter | None = None


class _Pagination(RequestPart):
    """How many products, or those after the ones before."""

    cursor: ShortText | None = None
    limit: Annotated[int, Field(ge=1)] = 10


class SearchRequest(RequestPart):
    """Words, filters or both."""

    query: str | None = None
    filters: Filters = Filters()
    pagination: _Pagination = _Pagination()

    @model_validator(mode="after")
    def _has_input(self) -> "SearchRequest":
        if self.query is None and self.filters.categories is None and self.filters.price is None:
            raise ValueError("a search needs a query, filters.categories or filters.price")
        return self


class LookupRequest(RequestPart):
    """Ids of products or variants."""

    ids: list[ShortText] = Field(min_length=1)


class _SelectedOption(RequestPart):
    """A value of an option, such as Color: Blue."""

    name: ShortText
    label: ShortText


class ProductRequest(RequestPart):
    """One product or variant, and options that are already chosen."""

    id: ShortText
    selected: list[_SelectedOption] = Field(default=[], max_length=_MOST_IDS)


class _Item(RequestPart):
    """A variant; of a product without options the product."""

    id: ShortText


class _LineItem(RequestPart):
    """A variant and how often."""

    item: _Item
    quantity: int = Field(ge=1)


class _Buyer(RequestPart):
    """Who buys."""

    first_name: ShortText | None = None
    last_name: ShortText | None = None
    email: ShortText | None = None
    phone_number: ShortText | None = None


class CartContents(RequestPart):
    """The whole cart: an update replaces all that was said before."""

    line_items: list[_LineItem] = Field(max_length=_MOST_ITEMS)
    buyer: _Buyer | None = None


class _Destination(RequestPart):
    """An address."""

    id: ShortText | None = None
    type: ShortText | None = None
    first_name: ShortText | None = None
    last_name: ShortText | None = None
    street_address: ShortText | None = None
    extended_address: ShortText | None = None
    address_locality: ShortText | None = None
    address_region: ShortText | None = None
    postal_code: ShortText | None = None
    address_country: ShortText | None = None
    phone_number: ShortText | None = None


class _Method(RequestPart):
    """How the items come; without `destinations` the address that was sent before stays."""

    destinations: Annotated[list[_Destination] | None, Field(max_length=10)] = None
    selected_destination_id: ShortText | None = None


class _Fulfillment(RequestPart):
    """The shop has one method, shipping."""

    methods: list[_Method] = Field(default=[], max_length=10)


class CheckoutContents(CartContents):
    """The whole checkout: an update replaces all that was said before."""

    fulfillment: _Fulfillment | None = None


class NewCheckout(CheckoutContents):
    """A new checkout, of its own items or of those of the cart `cart_id`."""

    cart_id: ShortText | None = None


class _Instrument(RequestPart):
    """How is paid. The shop asks for no credential, and forgets one that is sent."""

    handler_id: ShortText


class _Payment(RequestPart):
    """The ways to pay that the buyer has chosen."""

    instruments: list[_Instrument] = Field(default=[], max_length=10)


class CheckoutPayment(RequestPart):
    """The payment with which a checkout becomes an order."""

    payment: _Payment


class _Agent(RequestPart):
    """The platform, by the address of its profile."""

    profile: str = Field(min_length=1, max_length=2048)


class CallMeta(RequestPart):
    """Who asks: the platform's profile, and a key under which a repeated call is carried out once."""

    agent: _Agent = Field(alias="ucp-agent")
    key: Annotated[str | None, Field(alias="idempotency-key", min_length=1, max_length=255)] = None
