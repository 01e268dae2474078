"""What tells that a product is in the cart: the rules under `choice` of a site map."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator

from interventions.yaml.notations import Css, Pattern, Regex, check_json_path, listed, several

PRODUCT: Final = "${product}"
"""The place of a product's name in what a shop says."""


def _check_field(field: str) -> str:
    return check_json_path(field) if field.startswith("$") else field


def _check_says(says: str) -> str:
    if says.count(PRODUCT) > 1:
        raise ValueError(f'"{says}" names {PRODUCT} twice; once is enough')
    if PRODUCT in says and not says.replace(PRODUCT, "").strip():
        raise ValueError(f"beside {PRODUCT} nothing is said; add words that stand beside the name")
    return says


class CartRequest(BaseModel, frozen=True, extra="forbid"):
    """The request that puts a product into the cart, and how the shop says no."""

    path: Regex
    """The address's path; its first group, if it has one, is the product's id."""
    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    operation: str | None = None
    """GraphQL: the name of the operation, or of the field that it asks for, such as `addItemToOrder`."""
    field: Annotated[str, AfterValidator(_check_field)] | None = None
    """The field that holds the product's id: of the form, the query or the JSON.

    Or a JSONPath (RFC 9535) into the JSON, such as `$.variables.id`. A request without it adds nothing, but
    where an `operation` is named.
    """
    id_pattern: Pattern | None = None
    """A regular expression whose one group is the id, where the field holds more, as `gid://shop/Variant/7`.

    A request whose field does not hold it adds nothing.
    """
    refused_to: Regex | None = None
    """The shop says no where it redirects to such an address ..."""
    refused_by: Regex | None = None
    """... or answers with such a text."""


class Message(BaseModel, frozen=True, extra="forbid"):
    """What the shop says on the page."""

    css: Css
    """The element that says it."""
    says: Annotated[str, AfterValidator(_check_says)] = ""
    """A text in it, in any case; `${product}` stands for the product's name. Left out: any text."""

    @property
    def words(self) -> str:
        """The longest part of the text that is no product's name."""
        return max((part.strip() for part in self.says.split(PRODUCT)), key=len)


class Choice(BaseModel, frozen=True, extra="forbid"):
    """What tells that a product is in the cart: any of these. In YAML one of each will do without a list."""

    request: Annotated[tuple[CartRequest, ...], BeforeValidator(several)] = ()
    """A request that adds to the cart."""
    cart: Annotated[tuple[str, ...], BeforeValidator(several)] = ()
    """Kinds of cards that show what is in the cart, such as `row`; the cart is empty at first."""
    message: Annotated[tuple[Message, ...], BeforeValidator(listed)] = ()
    """What the shop says."""
    address: Annotated[tuple[Regex, ...], BeforeValidator(several)] = ()
    """The path of a page that is reached; its first group, if it has one, is the product's id."""
    refused: Annotated[tuple[Message, ...], BeforeValidator(listed)] = ()
    """What the shop says where it does not take the product, such as that an option is missing."""

    def over(self, base: "Choice | None") -> "Choice":
        """Return these rules, and those of `base` where nothing is said here."""
        own = {name: getattr(self, name) for name in self.model_fields_set}
        return base.model_copy(update=own) if base else self
