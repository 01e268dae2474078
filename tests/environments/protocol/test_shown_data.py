"""What answers of shops say is read, whatever they hold."""

import pytest

from environments.protocol.shown_data import products_in


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e999", "NaN"])
def test_a_figure_without_end_is_none(number: str) -> None:
    price = f'{{"min": {{"amount": {number}, "currency": "USD"}}}}'
    rating = f'{{"value": {number}, "count": {number}}}'
    (product,) = products_in(f'{{"id": "a", "price_range": {price}, "rating": {rating}, "variants": 5}}')
    assert (product.ids, product.price, product.rating, product.reviews) == (("a",), None, None, None)
