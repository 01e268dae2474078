"""Exact tests of what the design itself exchanges."""
