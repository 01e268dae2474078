"""Let a parser look into declarative shadow trees: `<template shadowrootmode=open>` is no template to it."""

import re
from typing import Final

from interventions.html.markup import attributes, tokens

_MODE: Final = b"shadowrootmode"
_TEMPLATE: Final = b"template"
_OTHER_CASE: Final = re.compile(rb"</?(?!template)(?i:template)")
SHADOW: Final = "shadow-t"
"""The name that such templates get meanwhile: as long, so that what is around stays in its place."""
_SHADOW: Final = SHADOW.encode()


def opened(source: bytes) -> bytes:
    """Return a page in which the templates of open shadow trees have a name like other elements.

    A page that writes `template` with capitals stays as it is.
    """
    if _MODE not in source or _SHADOW in source or _OTHER_CASE.search(source):
        return source
    written, around = bytearray(source), list[bool]()
    for token in tokens(source, 0):
        tag = token.tag
        if tag is None or tag.name != "template":
            continue
        if tag.closing:
            is_shadow = bool(around) and around.pop()
        else:
            span = attributes(source, tag).get(_MODE.decode())
            # In the content of another template nothing is shown.
            is_shadow = span is not None and source[slice(*span)].lower() == b"open" and all(around)
            around.append(is_shadow)
        if is_shadow:
            start = tag.start + 1 + tag.closing
            written[start : start + len(_TEMPLATE)] = _SHADOW
    return bytes(written)


def closed(source: bytes) -> bytes:
    """Return a page that `opened` has changed with the names that it had before."""
    return source.replace(_SHADOW, _TEMPLATE)
