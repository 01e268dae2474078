"""The names of the files that Souk ships."""

from interventions.files.schema import LIBRARY

_SITE_MAPS = LIBRARY.parent / "sitemaps"


def shipped_interventions() -> list[str]:
    """Return the names of the shipped intervention files, which `load_interventions` takes."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def shipped_site_maps() -> list[str]:
    """Return the names of the shipped site maps, which `load_site_map` takes."""
    return sorted(path.stem for path in _SITE_MAPS.glob("*.yaml"))
