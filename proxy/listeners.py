"""Tell events of mitmproxy only to the addons that listen to them."""

import inspect
from collections.abc import Callable
from typing import Any

from mitmproxy.addonmanager import AddonManager, safecall
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook


class Listeners(AddonManager):
    """The addons of a master, which do not change once it runs.

    mitmproxy's own manager asks each addon at each of the sixty events of an episode's pages whether it
    listens; most addons listen to two or three kinds.
    """

    def __init__(self, master: Any) -> None:
        """See `AddonManager`."""
        super().__init__(master)  # type: ignore[no-untyped-call]
        self._told: dict[str, list[Callable[..., Any]]] = {}

    def register(self, addon: Any) -> Any:
        """See `AddonManager.register`."""
        self._told.clear()
        return super().register(addon)  # type: ignore[no-untyped-call]

    async def trigger_event(self, event: Hook) -> None:
        """See `AddonManager.trigger_event`."""
        told = self._told.get(event.name)
        if told is None:
            told = [tell for addon in self.chain for _, tell in self._iter_hooks(addon, event)]
            self._told[event.name] = told
        for tell in told:
            try:
                with safecall():
                    answer = tell(*event.args())
                    if inspect.isawaitable(answer):
                        await answer
            except AddonHalt:
                return
