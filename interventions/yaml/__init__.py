"""YAML that remembers where every value was written, and site maps."""
