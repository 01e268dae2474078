"""The browser: found, installed, started behind a proxy, and kept alive."""
