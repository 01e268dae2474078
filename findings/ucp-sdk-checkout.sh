#!/bin/sh
# ucp-sdk 0.4.6 (models of UCP 2026-04-08) and 0.5.0 (2026-08-25), pydantic 2.12.5, CPython 3.11 to 3.13.
# Checkout.model_validate() of both takes a checkout without payment_handlers, which the protocol requires there:
# the field `ucp` is a union, and what does not fit a checkout's metadata is parsed as an order's, without a word. There
# `payment_handlers` is None, so the fault shows at its first use. Sums are no part of the models either: a total of 5
# with a subtotal of 100 passes.
# The two releases do not read each other: 0.5.0 refuses a destination that has no `type`, which 0.4.6 does not have.
#
# Seen:
#   0.4.6 without handlers: ResponseOrderSchema; total 5 of 100: taken; destination without type: taken
#   0.5.0 without handlers: ResponseOrderSchema; total 5 of 100: taken; destination without type: refused
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 0.4.6 0.5.0; do
  "${PYTHON:-python3}" -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet --disable-pip-version-check "ucp-sdk==$version" pydantic==2.12.5
  "$folder/$version/bin/python" - "$version" <<'PROGRAM'
import sys

from pydantic import ValidationError
from ucp_sdk.models.schemas.shopping.checkout import Checkout
from ucp_sdk.models.schemas.shopping.fulfillment import Checkout as Delivered

version = sys.argv[1]
item = {"id": "mug", "title": "Mug", "price": 100}
line = {"id": "1", "item": item, "quantity": 1, "totals": [{"type": "total", "amount": 100}]}
checkout = {
    "ucp": {"version": "2026-04-08"},
    "id": "c1",
    "line_items": [line],
    "status": "ready_for_complete",
    "currency": "USD",
    "totals": [{"type": "subtotal", "amount": 100}, {"type": "total", "amount": 5}],
    "links": [],
}
read = Checkout.model_validate(checkout)
sums = "taken" if read.totals else "refused"
method = {
    "id": "m1",
    "type": "shipping",
    "line_item_ids": ["1"],
    "destinations": [{"id": "d1", "address_country": "US", "postal_code": "01101"}],
}
whole = checkout | {"ucp": {"version": "2026-04-08", "payment_handlers": {}}, "fulfillment": {"methods": [method]}}
try:
    Delivered.model_validate(whole)
    told = "taken"
except ValidationError as error:
    told = "refused"
    print(*error.errors()[0]["loc"])
print(f"{version} without handlers: {type(read.ucp).__name__}; total 5 of 100: {sums}; destination without type: {told}")
expected = "taken" if version == "0.4.6" else "refused"
seen = (type(read.ucp).__name__, read.ucp.payment_handlers, sums, told)
sys.exit(seen != ("ResponseOrderSchema", None, "taken", expected))
PROGRAM
done
