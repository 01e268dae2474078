"""Read YAML with the place of every value, and site maps."""
