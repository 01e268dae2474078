"""What a content type says of an answer."""


def is_html(content_type: str) -> bool:
    """Whether it is a page; without a type it is taken for one, as browsers mostly would."""
    return _kind(content_type) in ("", "text/html", "application/xhtml+xml")


def is_json(content_type: str) -> bool:
    """Whether it is data in JSON."""
    kind = _kind(content_type)
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
