"""Cartridge as its project template sets it up, with SQLite in the folder that SHOP names."""

import os

from cartridge.project_template.project_name.settings import *  # noqa: F403
from cartridge.project_template.project_name.settings import INSTALLED_APPS, MIDDLEWARE

SECRET_KEY = NEVERCACHE_KEY = "only for tests"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{os.environ['SHOP']}/shop.db"}}
STATIC_ROOT = f"{os.environ['SHOP']}/static"
MEDIA_ROOT = f"{os.environ['SHOP']}/media"
ROOT_URLCONF = "cartridge.project_template.project_name.urls"
MIDDLEWARE = [name for name in MIDDLEWARE if "Cache" not in name]
INSTALLED_APPS = [*INSTALLED_APPS]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SHOP_CURRENCY_LOCALE = "en_US.UTF-8"
SHOP_USE_RATINGS = True
