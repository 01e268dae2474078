"""Run pretix with the test catalogue, inside the environment that `install.py` made for it.

Each product is the only one of an event, whose page is the product's.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import json
import os
import sys
import tempfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from django_shop import NoMigrations, serve

CATALOGUE = Path(__file__).parents[1] / "catalogue.json"


def fill() -> None:
    from django.core.management import call_command
    from django.utils.timezone import now
    from django_scopes import scopes_disabled
    from pretix.base.models import Event, Organizer

    call_command("migrate", verbosity=0, run_syncdb=True)
    with scopes_disabled():
        organizer = Organizer.objects.create(name="Shop", slug="shop")
        for item in json.loads(CATALOGUE.read_text(encoding="utf-8")):
            event = Event.objects.create(
                organizer=organizer, name=item["name"], slug=item["slug"], currency="USD", live=True,
                date_from=now() + timedelta(days=30), is_public=True, plugins="",
            )  # fmt: skip
            event.set_defaults()
            event.settings.locales = ["en"]
            event.settings.locale, event.settings.region = "en", "US"
            product = event.items.create(name=item["name"], default_price=Decimal(item["price"]), active=True)
            quota = event.quotas.create(name="all", size=item["stock"])
            quota.items.add(product)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="souk-pretix-") as name:
        os.environ |= {"DATA_DIR": name, "DJANGO_SETTINGS_MODULE": "pretix.settings"}
        os.chdir(name)
        import django
        from django.conf import settings

        settings.SITE_URL = "http://127.0.0.1"
        settings.MIGRATION_MODULES = NoMigrations()
        settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
        settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
        django.setup()
        fill()
        serve()
