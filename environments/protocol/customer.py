"""The customer of orders that are placed without pages, who is made up, and how they are paid (UCP)."""

from typing import Any, Final

CUSTOMER: Final[dict[str, Any]] = {
    "buyer": {
        "email": "kim@example.org",
        "first_name": "Kim",
        "last_name": "Sample",
        "phone_number": "+15555550100",
    },
    "fulfillment": {
        "methods": [
            {
                "type": "shipping",
                "destinations": [
                    {
                        "street_address": "1 Example Street",
                        "address_locality": "Springfield",
                        "address_region": "MA",
                        "postal_code": "01101",
                        "address_country": "US",
                    }
                ],
            }
        ]
    },
}
PAYMENT: Final[dict[str, Any]] = {
    "instruments": [{"id": "1", "handler_id": "check", "type": "check_money_order"}]
}
