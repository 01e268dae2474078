"""The hosts that an episode may reach."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from interventions.errors import UserError

WEB_PORTS = {"http": 80, "https": 443}
"""Scheme of a page's address -> the port where the address names none."""
DEFAULT_PORTS = {**WEB_PORTS, "ws": 80, "wss": 443}
"""The same, with those of WebSockets."""


@dataclass(frozen=True, slots=True)
class AllowList:
    """The hosts that an episode may reach, as `host:port`. Everything else is refused.

    The port matters: a shop on this machine must not open the way to other services on it.
    """

    hosts: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, *urls: str) -> "AllowList":
        """Return the hosts of these URLs. Raises UserError where a URL is no web address."""
        hosts = set()
        for url in urls:
            try:
                parts = urlsplit(url)
                host, port = parts.hostname, parts.port or DEFAULT_PORTS.get(parts.scheme)
            except ValueError:
                host = port = None
            if not host or port is None or parts.scheme not in DEFAULT_PORTS:
                raise UserError(f"{url}: not the address of a shop; write it like http://127.0.0.1:7770/")
            hosts.add((host, port))
        return cls(frozenset(hosts))

    def __contains__(self, host_port: tuple[str, int]) -> bool:
        host, port = host_port
        return (host.lower(), port) in self.hosts
