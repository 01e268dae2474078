"""The man in the middle: a mitmproxy addon that rewrites pages by plan, and the servers that carry it."""
