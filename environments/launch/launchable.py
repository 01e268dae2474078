"""Environments that can be launched: the profiles of docker/compose.yaml that have an address."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from interventions.errors import UserError

PASSWORD_VARIABLE: Final = "POSTGRES_PASSWORD"  # noqa: S105 - the name of a variable

Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Launchable:
    """A profile of compose.yaml.

    `url` holds `{port}`, the port that is published on 127.0.0.1; `port` is its default. `patience` is how
    long the profile may take to become healthy, in seconds, once its images are there.
    """

    name: str
    services: tuple[str, ...]
    port: int
    url: str
    patience: float
    image: str = ""
    """The image that no registry has and that must be loaded first; empty: none."""
    needs_password: bool = False
    """Whether `POSTGRES_PASSWORD` must be set."""
    configure: Callable[[str], Commands] = lambda _: ()
    """From the URL to the commands that are run inside the first service once it is healthy."""

    @property
    def port_variable(self) -> str:
        """The variable of compose.yaml that holds the published port."""
        return f"SOUK_{self.name.upper()}_PORT"


def launchable(name: str) -> Launchable:
    """Return the environment of this name. Raises UserError when there is none."""
    if name not in LAUNCHABLE:
        raise UserError(f"unknown environment {name!r}; the environments are: {', '.join(LAUNCHABLE)}")
    return LAUNCHABLE[name]


def onestopmarket_commands(url: str) -> Commands:
    """Return the commands that make OneStopMarket answer at `url`, which ends with a slash.

    OneStopMarket redirects any other address to its own.
    """
    magento = "/var/www/magento2/bin/magento"
    statement = f'UPDATE core_config_data SET value="{url}" WHERE path = "web/secure/base_url";'  # noqa: S608
    return (
        (magento, "setup:store-config:set", f"--base-url={url.rstrip('/')}"),
        ("mysql", "-umagentouser", "-pMyPassword", "magentodb", f"--execute={statement}"),
        # Otherwise saving anything reindexes at once, and categories and search come out empty meanwhile.
        (magento, "indexer:set-mode", "schedule"),
        (magento, "cache:flush"),
    )


LAUNCHABLE: Final = {
    each.name: each
    for each in (
        Launchable("shop", ("shop",), port=7770, url="http://127.0.0.1:{port}/", patience=60),
        Launchable(
            "onestopmarket",
            ("onestopmarket",),
            port=7770,
            url="http://127.0.0.1:{port}/",
            patience=600,
            image="shopping_final_0712",
            configure=onestopmarket_commands,
        ),
        Launchable(
            "postgres",
            ("postgres",),
            port=5432,
            url=f"postgresql+psycopg://souk:${PASSWORD_VARIABLE}@127.0.0.1:{{port}}/souk",
            patience=120,
            needs_password=True,
        ),
        Launchable("ray", ("ray-head", "ray-worker"), port=10001, url="ray://127.0.0.1:{port}", patience=180),
    )
}
