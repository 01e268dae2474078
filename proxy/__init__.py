"""The man in the middle: a mitmproxy addon that rewrites pages by a plan, and the servers that run it."""
