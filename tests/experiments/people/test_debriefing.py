"""What a person is told of is what was false, and nothing that the shop has said itself."""

from typing import Any

import pytest

from experiments.people.debriefing import false_texts

PRICE, TITLE = "product.price", "product.title"


def receipt(edit: str, before: str, after: str, role: str = PRICE, page: str = "a") -> dict[str, Any]:
    return {
        **{"intervention": "one", "edit": edit, "role": role, "page_hash_before": page, "product": "lamp"},
        **{"before": before, "after": after},
    }


@pytest.mark.parametrize(
    ("receipts", "told"),
    [
        ([receipt("set_price", "$12", "$9")], [("$12", "$9")]),
        ([receipt("set_price", "$12", "$12")], []),
        ([receipt("set_price", " $12\n", "$12")], []),
        ([receipt("insert_text", "", "Best seller", TITLE)], [("", "Best seller")]),
        ([receipt("remove", "In stock", "", "product.stock")], [("In stock", "")]),
        # What the shop says itself
        ([receipt("show_rating_text", "", "Rating: 75%", "product.stars")], []),
        ([receipt("show_only", "", "lamp, chair", "item")], []),
        # Two edits at one place: the shop's value and the last one, and none where it is the shop's again
        ([receipt("set_price", "$12", "$11"), receipt("set_price", "$11", "$9")], [("$12", "$9")]),
        ([receipt("set_price", "$12", "$11"), receipt("set_price", "$11", "$12")], []),
        # The page was opened again; another page, and another place, are told for themselves
        ([receipt("set_price", "$12", "$9")] * 2, [("$12", "$9")] * 2),
        ([receipt("set_price", "$12", "$9"), receipt("set_price", "$9", "$8", page="b")],
         [("$12", "$9"), ("$9", "$8")]),
        ([receipt("insert_text", "", "9", TITLE), receipt("set_title", "9", "8", TITLE)],
         [("", "9"), ("9", "8")]),
        # The observer in every page is no edit
        ([receipt("observer", "", "x") | {"intervention": ""}], []),
    ],
)  # fmt: skip
def test_only_what_was_false_is_told(receipts: list[dict[str, Any]], told: list[tuple[str, str]]) -> None:
    assert [(before, after) for _, before, after in false_texts(receipts)] == told
