"""What a platform may send by UCP. The protocol allows other fields: they are ignored, and not kept."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

_MOST_IDS: Final = 50
_MOST_ITEMS: Final = 200

_Text = Annotated[str, Field(max_length=512)]


class _Request(BaseModel):
    """A part of a request. Types are those of JSON: "2" and 2.0 are no integers."""

    model_config = ConfigDict(strict=True, extra="ignore")


class EmptyRequest(_Request):
    """A request that says all in its address."""


class _PriceFilter(_Request):
    """The lowest and the highest price, in minor units; both are included."""

    min: Annotated[int | None, Field(ge=0, le=10**12)] = None
    max: Annotated[int | None, Field(ge=0, le=10**12)] = None


class Filters(_Request):
    """What a product must be; `categories` are values of the products' own `categories`."""

    categories: Annotated[list[_Text] | None, Field(max_length=_MOST_IDS)] = None
    price: _PriceFilter | None = None


class _Pagination(_Request):
    """How many products, or those after the ones before."""

    cursor: _Text | None = None
    limit: Annotated[int, Field(ge=1)] = 10


class SearchRequest(_Request):
    """Words, filters or both."""

    query: str | None = None
    filters: Filters = Filters()
    pagination: _Pagination = _Pagination()

    @model_validator(mode="after")
    def _has_input(self) -> "SearchRequest":
        if self.query is None and self.filters.categories is None and self.filters.price is None:
            raise ValueError("a search needs a query, filters.categories or filters.price")
        return self


class LookupRequest(_Request):
    """Ids of products or variants."""

    ids: list[_Text] = Field(min_length=1)


class _SelectedOption(_Request):
    """A value of an option, such as Color: Blue."""

    name: _Text
    label: _Text


class ProductRequest(_Request):
    """One product or variant, and options that are already chosen."""

    id: _Text
    selected: Annotated[list[_SelectedOption], Field(max_length=_MOST_IDS)] = []


class _Item(_Request):
    """A variant; of a product without options the product."""

    id: _Text


class _LineItem(_Request):
    """A variant and how often."""

    item: _Item
    quantity: int = Field(ge=1)


class _Buyer(_Request):
    """Who buys."""

    first_name: _Text | None = None
    last_name: _Text | None = None
    email: _Text | None = None
    phone_number: _Text | None = None


class CartContents(_Request):
    """The whole cart: an update replaces all that was said before."""

    line_items: list[_LineItem] = Field(max_length=_MOST_ITEMS)
    buyer: _Buyer | None = None


class _Destination(_Request):
    """An address."""

    id: _Text | None = None
    type: _Text | None = None
    first_name: _Text | None = None
    last_name: _Text | None = None
    street_address: _Text | None = None
    extended_address: _Text | None = None
    address_locality: _Text | None = None
    address_region: _Text | None = None
    postal_code: _Text | None = None
    address_country: _Text | None = None
    phone_number: _Text | None = None


class _Method(_Request):
    """How the items come; without `destinations` the address that was sent before stays."""

    destinations: Annotated[list[_Destination] | None, Field(max_length=10)] = None
    selected_destination_id: _Text | None = None


class _Fulfillment(_Request):
    """The shop has one method, shipping."""

    methods: Annotated[list[_Method], Field(max_length=10)] = []


class CheckoutContents(CartContents):
    """The whole checkout: an update replaces all that was said before."""

    fulfillment: _Fulfillment | None = None


class NewCheckout(CheckoutContents):
    """A new checkout, of its own items or of those of the cart `cart_id`."""

    cart_id: _Text | None = None


class _Instrument(_Request):
    """How is paid. The shop asks for no credential, and forgets one that is sent."""

    handler_id: _Text


class _Payment(_Request):
    """The ways to pay that the buyer has chosen."""

    instruments: Annotated[list[_Instrument], Field(max_length=10)] = []


class CheckoutPayment(_Request):
    """The payment with which a checkout becomes an order."""

    payment: _Payment


class _Agent(_Request):
    """The platform, by the address of its profile."""

    profile: str = Field(min_length=1, max_length=2048)


class CallMeta(_Request):
    """Who asks: the platform's profile, and a key under which a repeated call is carried out once."""

    agent: _Agent = Field(alias="ucp-agent")
    key: Annotated[str | None, Field(alias="idempotency-key", min_length=1, max_length=255)] = None
