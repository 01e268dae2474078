"""Environments that can be launched: the profiles of docker/compose.yaml that have an address."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from interventions.data_file import read_data
from interventions.errors import UserError

PASSWORD_VARIABLE: Final = "POSTGRES_PASSWORD"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True)
class Launchable:
    """A profile of compose.yaml.

    `url` holds `{port}`, the port that is published on 127.0.0.1; `port` is its default. `patience` is how
    long the profile may take to become healthy, in seconds, once its images are there.
    """

    name: str
    services: Sequence[str]
    port: int
    url: str
    patience: float
    image: str = ""
    """The image that no registry has and that must be loaded first; empty: none."""
    needs_password: bool = False
    """Whether `POSTGRES_PASSWORD` must be set."""
    configure: Sequence[Sequence[str]] = ()
    """The commands that are run inside the first service once it is healthy; `{root}` is its address."""

    @property
    def port_variable(self) -> str:
        """The variable of compose.yaml that holds the published port."""
        return f"SOUK_{self.name.upper()}_PORT"

    def commands(self, url: str) -> list[list[str]]:
        """Return the commands of `configure` for an address, which ends with a slash."""
        return [[word.format(root=url.rstrip("/")) for word in command] for command in self.configure]


def launchable(name: str) -> Launchable:
    """Return the environment of this name. Raises UserError when there is none."""
    if name not in LAUNCHABLE:
        raise UserError(f"unknown environment {name!r}; the environments are: {', '.join(LAUNCHABLE)}")
    return LAUNCHABLE[name]


LAUNCHABLE: Final = {
    name: Launchable(name, **told) for name, told in read_data(__file__, "launchable.yaml").items()
}
