"""Stored episodes are run again and compared."""
