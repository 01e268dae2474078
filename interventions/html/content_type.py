"""Read the content type of an answer."""

import json


def is_html(content_type: str) -> bool:
    """Return whether the type is that of a page.

    An empty type counts as one, as browsers mostly take it so.
    """
    return _kind(content_type) in ("", "text/html", "application/xhtml+xml")


def is_json(content_type: str) -> bool:
    """Return whether the type is that of JSON data."""
    kind = _kind(content_type)
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def is_plain(content_type: str) -> bool:
    """Return whether the type is that of plain text."""
    return _kind(content_type) == "text/plain"


def is_data(body: bytes) -> bool:
    """Return whether a body is JSON, whatever its type says: shops send it as HTML or plain text too."""
    if body.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def is_in_pieces(content_type: str) -> bool:
    """Return whether the type is that of data sent in pieces, as GraphQL's `@defer` has them."""
    kind = _kind(content_type)
    return kind.startswith("multipart/") or kind in PIECES


PIECES = frozenset({"text/event-stream", "application/x-ndjson", "application/jsonl", "application/json-seq"})


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
