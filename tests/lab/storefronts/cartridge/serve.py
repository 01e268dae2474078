"""Run Cartridge with the test catalogue, inside the environment that `install.py` made for it.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import json
import locale
import os
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from django_shop import serve

CATALOGUE = Path(__file__).parents[1] / "catalogue.json"


# Prices are written by the system's locale, and en_US is not on every machine.
DOLLARS = {
    **{"currency_symbol": "$", "mon_decimal_point": ".", "mon_thousands_sep": ",", "mon_grouping": [3, 3, 0]},
    **{"frac_digits": 2, "int_frac_digits": 2, "negative_sign": "-", "positive_sign": ""},
    **{f"{sign}_{name}": value for sign in "pn"
       for name, value in (("cs_precedes", 1), ("sep_by_space", 0), ("sign_posn", 1))},
}  # fmt: skip


def fill() -> None:
    from cartridge.shop.models import Category, Product, ProductVariation
    from django.contrib.sites.models import Site
    from django.core.management import call_command
    from mezzanine.core.models import CONTENT_STATUS_PUBLISHED

    call_command("migrate", verbosity=0, run_syncdb=True)
    Site.objects.get_or_create(id=1, defaults={"domain": "127.0.0.1", "name": "Shop"})
    categories = {}
    for number, item in enumerate(json.loads(CATALOGUE.read_text(encoding="utf-8")), start=1):
        name = item["category"]
        if name not in categories:
            categories[name] = Category.objects.create(title=name, status=CONTENT_STATUS_PUBLISHED)
        product = Product.objects.create(
            title=item["name"], slug=item["slug"], content=f"<p>{item['description']}</p>", available=True,
            status=CONTENT_STATUS_PUBLISHED, unit_price=Decimal(item["price"]), sku=f"SK-{number:03d}",
            num_in_stock=item["stock"], rating_count=len(item["reviews"]),
            rating_average=sum(r[0] for r in item["reviews"]) / max(1, len(item["reviews"])),
        )  # fmt: skip
        product.categories.add(categories[name])
        ProductVariation.objects.create(
            product=product, default=True, sku=product.sku, unit_price=product.unit_price,
            num_in_stock=item["stock"],
        )  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="souk-cartridge-") as name:
        os.environ |= {"SHOP": name, "DJANGO_SETTINGS_MODULE": "settings"}
        locale.setlocale = lambda kind, wanted=None: "en_US.UTF-8"
        locale._override_localeconv = DOLLARS
        import django

        django.setup()
        fill()
        serve()
