"""Say where a site of trials stands, for links from reports and tables."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from experiments.records.reading.trial_search import Selection
from experiments.viewer.site_links import list_page, trial_page
from interventions.errors import UserError

CONTENTS: Final = ".souk-site"
"""The file in a site's folder with the names of the site's files, one a line."""
_WEB: Final = ("http://", "https://")


class SiteAddress:
    """A site at an address of the web, or in a folder, which is named from where the link stands."""

    def __init__(self, site: str, beside: Path) -> None:
        """Take the option's value, and the folder of the file that gets links. Raises UserError."""
        self._folder = None if site.startswith(_WEB) else Path(site)
        if self._folder and not (self._folder / CONTENTS).is_file():
            raise UserError(
                f"--site {site}: no site is there; write one with souk view --static {site}, "
                "or give its https address"
            )
        self._root = (
            quote(Path(os.path.relpath(site, beside)).as_posix()) if self._folder else site.rstrip("/")
        )

    def first_page(self) -> str:
        """Return the address of the site's first page."""
        return f"{self._root}/index.html"

    def of_trials(self, trials: Iterable[str]) -> list[str]:
        """Return the addresses of trials; empty for one that a folder has no page of."""
        known: dict[str, str] = {}
        return [known.get(trial) or known.setdefault(trial, self._of(trial)) for trial in trials]

    def of_list(self, selection: Selection) -> str:
        """Return the address of the list of some trials; empty where no folder is known to have it."""
        page = list_page(selection)
        return f"{self._root}/{page}" if self._folder and (self._folder / page).is_file() else ""

    def _of(self, trial: str) -> str:
        page = trial_page(trial)
        missing = self._folder and not (self._folder / page).is_file()
        return "" if missing else f"{self._root}/{page}"
