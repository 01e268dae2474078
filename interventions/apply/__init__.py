"""Edits are applied to a page: plan, engine, the data within the page."""
