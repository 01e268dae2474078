"""Read the content type of an answer."""


def is_html(content_type: str) -> bool:
    """Return whether the type is that of a page.

    An empty type counts as one, as browsers mostly take it so.
    """
    return _kind(content_type) in ("", "text/html", "application/xhtml+xml")


def is_json(content_type: str) -> bool:
    """Return whether the type is that of JSON data."""
    kind = _kind(content_type)
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def is_in_pieces(content_type: str) -> bool:
    """Return whether the type is that of data sent in pieces, as GraphQL's `@defer` has them."""
    kind = _kind(content_type)
    return kind.startswith("multipart/") or kind in PIECES


PIECES = frozenset({"text/event-stream", "application/x-ndjson", "application/jsonl", "application/json-seq"})


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
