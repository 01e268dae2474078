from dataclasses import replace
from xml.etree import ElementTree

import pytest

from environments.shop.catalogue import Catalogue
from environments.shop.market import MARKETS
from environments.shop.pictures import picture

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("category", MARKETS)
def test_every_category_has_a_small_drawing_with_the_brand_on_it(catalogue: Catalogue, category: str) -> None:
    products = [product for product in catalogue.products if product.category == category]
    for product in products[:20]:
        drawing = picture(product)
        assert len(drawing.encode()) < 4096
        assert "$" not in drawing
        labels = [text.text for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]
        assert labels == [product.brand]
    assert len({picture(product) for product in products[:20]}) > 10


def test_a_hostile_brand_stays_text(catalogue: Catalogue) -> None:
    hostile = replace(catalogue.products[0], brand="<script>&$main")
    root = ElementTree.fromstring(picture(hostile))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["<script>&$main"]
    assert not list(root.iter(f"{SVG}script"))
