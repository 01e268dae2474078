"""Tools for people who write intervention files: checks, starter files, JSON Schemas, the facts on a page."""
