"""The names of the files that Souk ships."""

from interventions.files.schema import LIBRARY

_SITE_MAPS = LIBRARY.parent / "sitemaps"


def shipped_interventions() -> list[str]:
    """The names that `load_interventions` knows."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def shipped_site_maps() -> list[str]:
    """The names that `load_site_map` knows."""
    return sorted(path.stem for path in _SITE_MAPS.glob("*.yaml"))
