"""Agents of others and people: BrowserGym, and guests of the proxy."""
