"""Find where an element ends in the source, and whether an insertion stays in its place when parsed."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from interventions.html.markup import VOID, Tag, Token, tag_at, tokens

# Here the parser moves what it does not expect.
STRUCTURAL = frozenset(["html", "head", "table", "tbody", "thead", "tfoot", "tr", "colgroup"])

# Start tags that the parser does not put into a formatting element which was left open ...
# fmt: off
BLOCKS: Final = frozenset([
    "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hgroup", "li", "main", "menu", "nav", "ol", "p", "search", "section", "summary", "ul",
])
# fmt: on
# ... and those that it does.
_PHRASING = frozenset(["button", "img", "input", "label", "span"])

_IN_HEAD = frozenset(["html", "head", "base", "link", "meta", "title", "noscript", "style", "script"])


class End(NamedTuple):
    """The end of an element's content and of the element.

    `regular`: it is well nested, and the tree has it so. `implied`: it has no end tag of its own. `texts`:
    the tokens of kind `text` and `raw` in it.
    """

    inner: int
    outer: int
    regular: bool
    implied: bool = False
    texts: tuple[Token, ...] = ()


def lineage(node: LexborNode | None) -> Iterator[LexborNode]:
    """Yield the element and those around it, from the inside out."""
    while node is not None and node.is_element_node:
        yield node
        node = node.parent


def element_end(source: bytes, node: LexborNode, tag: Tag) -> End:
    """Return the end of `node`, which `tag` starts: its end tag, or the next thing that is not in it."""
    if tag.name in VOID:
        return End(tag.end, tag.end, regular=True)
    inside = [(child.tag or "").lower() for child in node.traverse()][1:]
    outside = {around.tag for around in lineage(node.parent)}
    seen, open_names, regular = 0, [tag.name], True
    texts: list[Token] = []

    def end(inner: int, outer: int, *, regular: bool = False, implied: bool = False) -> End:
        return End(inner, outer, regular, implied, tuple(texts))

    for token in tokens(source, tag.end, tag.name):
        found = token.tag
        if found is None:
            if token.kind != "comment":
                texts.append(token)
            continue
        if not found.closing:
            if inside[seen : seen + 1] != [found.name]:
                # Perhaps after elements that the parser adds, such as tbody.
                regular = False
                if found.name not in inside[seen:]:
                    return end(found.start, found.start, regular=regular, implied=True)
                seen = inside.index(found.name, seen)
            seen += 1
            foreign = "svg" in open_names or "math" in open_names
            if found.name not in VOID and not (
                found.self_closing and (foreign or found.name in ("svg", "math"))
            ):
                open_names.append(found.name)
        elif found.name == open_names[-1]:
            open_names.pop()
            if not open_names:
                return end(found.start, found.end, regular=regular and seen == len(inside))
        else:
            regular = False
            if found.name in open_names[1:]:
                while open_names.pop() != found.name:
                    pass
            elif found.name == tag.name:
                return end(found.start, found.end)
            elif found.name in outside:
                return end(found.start, found.start, implied=True)
    return end(len(source), len(source), implied=True)


def stands_clear(source: bytes, node: LexborNode, tag: Tag) -> bool:
    """Return whether a parser that is about to read `tag`, the start of `node`, is in the element around it.

    In `<p>one<div>` the start tag itself closes what is open before it. Here the tag before has to be the
    start of the element around, or the end of the sibling before.
    """
    before = source.rfind(b">", 0, tag.start)
    last = tag_at(source, source.rfind(b"<", 0, before)) if before > 0 else None
    if last is None or last.end != before + 1 or source[last.end : tag.start].strip(b" \t\n\f\r"):
        return False
    sibling = node.prev
    while sibling is not None and sibling.is_text_node:
        sibling = sibling.prev
    neighbour = node.parent if sibling is None else sibling
    if neighbour is None or neighbour.tag != last.name:
        return False
    closed = sibling is not None and (last.closing or last.name in VOID)
    opened = sibling is None and not last.closing
    return (closed or opened) and is_settled(source, tag.start, node.parent, node)


def starts_body(source: bytes, tag: Tag) -> bool:
    """Return whether `<body>` comes before any content that would open a body by itself."""
    for token in tokens(source, 3 if source.startswith(BOM_UTF8) else 0):
        if token.start >= tag.start:
            return True
        if token.kind == "text" and source[token.start : token.end].strip(b" \t\n\f\r"):
            return False
        if token.tag and token.tag.name not in _IN_HEAD:
            return False
    return False


def is_settled(source: bytes, position: int, parent: LexborNode | None, following: LexborNode | None) -> bool:
    """Return whether a parser at `position` is in `parent`, before `following`, with no formatting open.

    A `<b>` that only the end of its `<div>` closed opens again at the next text or phrasing element, and
    would take in what is inserted before that. So tree and source are read on, side by side, up to there.
    """
    for token in tokens(source, position):
        if parent is None or parent.tag in STRUCTURAL:
            return False
        if token.kind == "text":
            return following is not None and following.is_text_node
        if token.tag is None:
            return False
        name = token.tag.name
        if token.tag.closing:
            if following is not None or name != parent.tag or not (name in BLOCKS or name == "span"):
                return False
            following, parent = parent.next, parent.parent
        else:
            if following is None or following.tag != name:
                return False
            if name not in BLOCKS:
                return name in _PHRASING
            following, parent = following.first_child, following
    return False
