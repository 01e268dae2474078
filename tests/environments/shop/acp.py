"""A client's view of ACP 2026-04-17: the rules that answers keep, written by hand from the published schema.

There is no official package for Python. The rules name the fields that the shop uses; any other is a mistake,
because the protocol's objects are closed.
"""

import re
import uuid
from typing import Any, Final

VERSION: Final = "2026-04-17"
AGENT: Final = {"API-Version": VERSION, "Authorization": "Bearer agent"}
ADDRESS: Final = {
    "name": "Jane Doe",
    "line_one": "1 Main St",
    "city": "Springfield",
    "state": "IL",
    "country": "US",
    "postal_code": "62701",
}
BUYER: Final = {"email": "jane@example.test", "first_name": "Jane", "last_name": "Doe"}
DETAILS: Final = {"name": "Jane Doe", "phone_number": "12015550123", "address": ADDRESS}
PAID: Final = {
    "payment_data": {
        "handler_id": "check",
        "instrument": {"type": "check_money_order", "credential": {"type": "none", "token": "none"}},
    }
}
Json = dict[str, Any]

# Field by field: `!` where it is required, then its type; text where it has none, `[X]` for a list.
_RULES: Final = {
    "Discovery": "protocol!:Protocol api_base_url!:url transports!:[transport] capabilities!:Offered",
    "Protocol": "name!:acp version!:date supported_versions!:[date]",
    "Offered": "services!:[service] supported_currencies:[currency]",
    "Feed": "id!",
    "Products": "products!:[Product]",
    "Product": "id! title description:Description url:url media:[Media] variants!:[Variant]",
    "Description": "plain!",
    "Media": "type! url!:url",
    "Variant": (
        "id! title! price:Price availability:Availability categories:[Category] variant_options:[Chosen]"
    ),
    "Price": "amount!:amount currency!:CURRENCY",
    "Availability": "available:bool status",
    "Category": "value! taxonomy",
    "Chosen": "name! value!",
    "Session": (
        "id! protocol:Spoken capabilities!:Capabilities status!:status currency!:currency line_items!:[Line] "
        "fulfillment_options!:[Option] selected_fulfillment_options:[Selected] totals!:[Total] "
        "messages!:[Message] links!:[Link] buyer:Buyer fulfillment_details:Details continue_url:url "
        "expires_at:time order:Order"
    ),
    "Spoken": "version!:date",
    "Capabilities": "payment:Payment",
    "Payment": "handlers!:[Handler]",
    "Handler": (
        "id! name! version!:date spec!:url requires_delegate_payment!:bool requires_pci_compliance!:bool "
        "psp! config_schema!:url instrument_schemas!:[url] config!:Config"
    ),
    "Config": "",
    "Line": (
        "id! item!:Item quantity!:count name description images:[url] unit_amount:amount "
        "availability_status:stock variant_options:[Chosen] totals!:[Total]"
    ),
    "Item": "id!",
    "Option": "type!:shipping id! title! totals!:[Total]",
    "Selected": "type!:shipping option_id! item_ids!:[text]",
    "Total": "type!:total display_text! amount!:amount",
    "Message": "type!:error code!:problem content_type!:plain content! param:path",
    "Link": "type!:link url!:url",
    "Buyer": "email! first_name last_name full_name phone_number",
    "Details": "name phone_number email address:Address",
    "Address": "name! line_one! line_two city! state! country! postal_code! company",
    "Order": "id! checkout_session_id! permalink_url!:url status:confirmed",
    "Error": "type!:invalid_request code! message! param supported_versions:[date]",
}
_TEXTS: Final = {
    "text": r".*",
    "url": r"https?://\S+",
    "date": r"\d{4}-\d\d-\d\d",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00",
    "currency": r"[a-z]{3}",
    "CURRENCY": r"[A-Z]{3}",
    "path": r"\$\..+",
    "transport": "rest|mcp",
    "service": "checkout|orders|delegate_payment|carts",
    "status": "not_ready_for_payment|ready_for_payment|completed|canceled",
    "total": "subtotal|fulfillment|total",
    "problem": "missing|invalid|out_of_stock|payment_declined|quantity_exceeded|not_found",
    "stock": "in_stock|low_stock|out_of_stock|backorder|pre_order",
    "link": "privacy_policy",
}
_LEAST: Final = {"amount": 0, "count": 1}


def check(kind: str, value: object, path: str = "$") -> None:
    """Raises AssertionError where a value is not what the protocol says."""
    if kind.startswith("["):
        assert isinstance(value, list), path
        for number, each in enumerate(value):
            check(kind[1:-1], each, f"{path}[{number}]")
    elif kind in _RULES:
        assert isinstance(value, dict), path
        known = {name.partition(":")[0]: name.partition(":")[2] or "text" for name in _RULES[kind].split()}
        assert {name[:-1] for name in known if name.endswith("!")} <= value.keys(), path
        types = {name.rstrip("!"): each for name, each in known.items()}
        assert value.keys() <= types.keys(), path
        for name, each in value.items():
            check(types[name], each, f"{path}.{name}")
    elif kind in _LEAST:
        assert type(value) is int, path
        assert value >= _LEAST[kind], path
    elif kind == "bool":
        assert isinstance(value, bool), path
    else:
        assert isinstance(value, str), path
        assert re.fullmatch(_TEXTS.get(kind, kind), value, re.DOTALL), f"{path}: {value}"


def read(kind: str, answer: Json) -> Json:
    """Check an answer, and the sums of a session."""
    check(kind, answer)
    if kind == "Session":
        found = totals(answer)
        assert found["total"] == sum(found.values()) - found["total"], "the details are the total"
        assert found["subtotal"] == sum(totals(line)["subtotal"] for line in answer["line_items"])
        for line in answer["line_items"]:
            assert totals(line) == dict.fromkeys(
                ("subtotal", "total"), line["unit_amount"] * line["quantity"]
            )
        (selected,) = answer["selected_fulfillment_options"]
        (option,) = (each for each in answer["fulfillment_options"] if each["id"] == selected["option_id"])
        assert totals(option) == {"total": found["fulfillment"]}
        assert selected["item_ids"] == [line["id"] for line in answer["line_items"]]
        ended = answer["status"] in ("completed", "canceled")
        assert ended or (answer["status"] == "ready_for_payment") or answer["messages"]
    return answer


def totals(answer: Json) -> dict[str, int]:
    """The sums by type, of which there is one each."""
    assert len({each["type"] for each in answer["totals"]}) == len(answer["totals"])
    return {each["type"]: each["amount"] for each in answer["totals"]}


def wanted(*items: str) -> Json:
    """The request for a new session; an item that is named twice is wanted twice."""
    return {"line_items": [{"id": each} for each in items], "currency": "usd", "capabilities": {}}


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}
