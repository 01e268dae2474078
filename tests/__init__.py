"""A package, because others install one of this name."""
