"""The page that replaces one that could not be treated or must not be reached."""

from html import escape

NOT_TREATED = "This page could not be prepared"
"""The title of the error page that replaces a page which a planned edit did not reach."""

NOT_RECORDED = "not recorded"
"""The reason of the answer in place of one that a recording does not have."""

STYLE = "font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color:#222"


def error_page(title: str, explanation: str) -> bytes:
    """Return a small HTML page that needs no other file; both texts are escaped."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
        f'<body style="{STYLE}"><h1>{escape(title)}</h1><p>{escape(explanation)}</p></body></html>'
    ).encode()
