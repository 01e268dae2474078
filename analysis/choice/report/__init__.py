"""The answer, the sections, the figures."""
