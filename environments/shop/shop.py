"""A shop, which knows where it is or what it sells."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from environments.shop.catalogue import Catalogue, generate
from environments.shop.server import Say, logger, shop

_usual_catalogue = cache(generate)


@dataclass(frozen=True, slots=True)
class Shop:
    """A shop that runs at an address, or the embedded one.

    `url`: the address, with a slash at its end; None: the embedded one, which is started. `own`: a user's
    products, which the embedded one sells in place of its own. `interfaces`: whether the embedded one has
    those for programs besides its pages.
    """

    url: str | None = None
    own: Catalogue | None = None
    interfaces: bool = False

    @property
    def catalogue(self) -> Catalogue:
        """What the embedded shop sells."""
        return self.own or _usual_catalogue()

    @asynccontextmanager
    async def opened(self, say: Say = logger.warning) -> AsyncIterator[str]:
        """Yield the address; the embedded shop runs as long as the block, and `say` is told of restarts.

        Raises:
            UserError: the embedded shop does not start.
        """
        if self.url is not None:
            yield self.url
        else:
            async with shop(say=say, own=self.own, interfaces=self.interfaces) as url:
                yield url


USUAL: Final = Shop()
"""The embedded shop with its own products."""
