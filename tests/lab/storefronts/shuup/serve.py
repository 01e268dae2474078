"""Run Shuup with the test catalogue, inside the environment that `install.py` made for it.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import collections.abc
import enum
import json
import os
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from django_shop import NoMigrations, serve

CATALOGUE = Path(__file__).parents[1] / "catalogue.json"


class Names(dict[str, None]):
    """The names of an enumeration's members, which were a list before Python 3.11."""

    remove = dict.__delitem__


def be_older() -> None:
    """Let Python be as Shuup's requirements know it, versions of 2016 to 2020."""
    for name in collections.abc.__all__:
        setattr(collections, name, getattr(collections.abc, name))
    made = enum._EnumDict.__init__

    def init(self: Any) -> None:
        made(self)
        self._member_names = Names()

    enum._EnumDict.__init__ = init


def fill() -> None:
    from django.core.management import call_command
    from shuup.core import models
    from shuup.core.defaults.order_statuses import create_default_order_statuses
    from shuup.xtheme import set_current_theme

    call_command("migrate", verbosity=0, run_syncdb=True)
    models.Currency.objects.get_or_create(code="USD", defaults={"decimal_places": 2})
    create_default_order_statuses()
    shop = models.Shop.objects.create(
        name="Shop", identifier="default", currency="USD", status=models.ShopStatus.ENABLED
    )
    set_current_theme("shuup.themes.classic_gray", shop)
    supplier = models.Supplier.objects.create(name="Warehouse", identifier="default")
    supplier.supplier_modules.add(
        models.SupplierModule.objects.get_or_create(module_identifier="simple_supplier")[0]
    )
    supplier.shops.add(shop)
    common = {
        "type": models.ProductType.objects.create(identifier="default", name="Household"),
        "tax_class": models.TaxClass.objects.create(identifier="default", name="No tax"),
        "sales_unit": models.SalesUnit.objects.create(identifier="pcs", name="Pieces", symbol="pcs"),
    }
    categories = {}
    for number, item in enumerate(json.loads(CATALOGUE.read_text(encoding="utf-8")), start=1):
        name = item["category"]
        if name not in categories:
            categories[name] = models.Category.objects.create(name=name, slug=name.lower())
            categories[name].shops.add(shop)
        product = models.Product.objects.create(
            sku=f"SK-{number:03d}",
            name=item["name"],
            slug=item["slug"],
            description=item["description"],
            **common,
        )
        sold = models.ShopProduct.objects.create(
            product=product,
            shop=shop,
            default_price_value=Decimal(item["price"]),
            visibility=models.ShopProductVisibility.ALWAYS_VISIBLE,
            primary_category=categories[name],
        )
        sold.suppliers.add(supplier)
        sold.categories.add(categories[name])
    call_command("reindex_product_catalog")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="souk-shuup-") as name:
        (Path(name) / "shop").mkdir()
        os.environ |= {
            "SHUUP_WORKBENCH_BASE_DIR": f"{name}/shop",
            "DJANGO_SETTINGS_MODULE": "shuup_workbench.settings",
        }
        be_older()
        import django
        from django.conf import settings

        settings.MIGRATION_MODULES = NoMigrations()
        settings.DEBUG = False
        settings.LOGGING = {}
        settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
        django.setup()
        fill()
        serve()
