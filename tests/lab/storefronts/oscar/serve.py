"""Run django-oscar with the test catalogue (`serve.py FILE`: another), in the environment of `install.py`.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import django
import oscar
from django.conf import settings
from oscar import defaults

sys.path.insert(0, str(Path(__file__).parents[1]))
from django_shop import NoMigrations, serve

CATALOGUE = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "catalogue.json"
CONTEXT = (
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
    "oscar.apps.search.context_processors.search_form",
    "oscar.apps.checkout.context_processors.checkout",
    "oscar.core.context_processors.metadata",
)


def configure(folder: Path) -> None:
    """As the shop's own documentation sets a project up, with SQLite and without e-mail or pictures."""
    apps = ["sorl.thumbnail", *oscar.INSTALLED_APPS]
    settings.configure(
        **{name: getattr(defaults, name) for name in dir(defaults) if name.startswith("OSCAR_")},
        DEBUG=False,
        SECRET_KEY="only for tests",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="urls",
        SITE_ID=1,
        STATIC_URL="/static/",
        MEDIA_URL="/media/",
        MEDIA_ROOT=str(folder / "media"),
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        USE_TZ=True,
        SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "shop.db")}},
        INSTALLED_APPS=apps,
        MIGRATION_MODULES=NoMigrations(),
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "oscar.apps.basket.middleware.BasketMiddleware",
        ],
        AUTHENTICATION_BACKENDS=("django.contrib.auth.backends.ModelBackend",),
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": list(CONTEXT)},
            }
        ],
        HAYSTACK_CONNECTIONS={
            "default": {
                "ENGINE": "haystack.backends.whoosh_backend.WhooshEngine",
                "PATH": str(folder / "index"),
            }
        },
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    )
    django.setup()


def fill() -> None:
    from django.core.management import call_command
    from oscar.core.loading import get_model

    call_command("migrate", run_syncdb=True, verbosity=0)
    category = get_model("catalogue", "Category").objects
    kind = get_model("catalogue", "ProductClass").objects.create(name="Household", requires_shipping=True)
    partner = get_model("partner", "Partner").objects.create(name="Warehouse")
    get_model("address", "Country").objects.create(
        iso_3166_1_a2="GB", iso_3166_1_a3="GBR", name="UK", printable_name="UK", is_shipping_country=True
    )
    categories = {}
    for number, item in enumerate(json.loads(CATALOGUE.read_text()), start=1):
        name = item["category"]
        if name not in categories:
            categories[name] = category.add_root({"name": name, "slug": name.lower()})
        product = get_model("catalogue", "Product").objects.create(
            product_class=kind, title=item["name"], slug=item["slug"], upc=f"SK-{number:03d}",
            description=item["description"],
        )  # fmt: skip
        product.categories.add(categories[name])
        get_model("partner", "StockRecord").objects.create(
            product=product, partner=partner, partner_sku=product.upc, price=item["price"],
            price_currency="GBP", num_in_stock=item["stock"],
        )  # fmt: skip
        for score, title, body in item["reviews"]:
            product.reviews.create(
                score=score, title=title, body=body, name="A customer", email="c@shop.test", status=1
            )
        product.update_rating()
    call_command("rebuild_index", interactive=False, verbosity=0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="souk-oscar-") as name:
        configure(Path(name))
        image = Path(oscar.__file__).parent / "static/oscar/img/image_not_found.jpg"
        (Path(name) / "media").mkdir()
        shutil.copy(image, Path(name) / "media")
        fill()
        serve()
