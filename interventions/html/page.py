"""Edit one page: find elements in the parsed tree, and splice the changes into the source.

The tree is only read and never written back: bytes that no edit touches stay as they were.
"""

import html
import secrets
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Literal, NamedTuple

from selectolax.lexbor import LexborNode

from interventions.errors import CannotEdit
from interventions.html import charset
from interventions.html.csp import Inline, allow
from interventions.html.marking import ALL_TAGS, Marks, unmark
from interventions.html.markup import (
    RAW,
    VOID,
    SourceText,
    Tag,
    attributes,
    escape,
    read_text,
    spelling,
    tokens,
)
from interventions.html.numbers import Figure, one_line
from interventions.html.placement import STRUCTURAL, is_settled, lineage, stands_clear, starts_body
from interventions.html.raised import missing_signs
from interventions.html.source_page import ParsedPage
from interventions.html.splices import Arrangement, Conflict, Owner, Splice, apply, arranged, cut, ordered
from interventions.html.tree import parse, select

Where = Literal["before", "after", "prepend", "append"]
InTree = Callable[[str], object] | None

# Here parsers drop or move what they do not expect, and differ in how.
_FORBIDDEN = frozenset(["select", "svg", "math", "frameset"])
# What is in them are ids of other elements.
_NAME_IDS = ("for", "aria-labelledby", "aria-describedby", "aria-controls")
# What is in it is no part of the page.
_HIDDEN = frozenset(["template"])


class Piece(NamedTuple):
    """A piece of a text, from `start` to `end`, and what is written in its place.

    `parts`: what of it changes, each from a start to an end, where not all of it does.
    """

    start: int
    end: int
    new: str
    parts: tuple[tuple[int, int, str], ...] = ()


class Page(ParsedPage):
    """A page under edit. An edit that it cannot make safely raises CannotEdit."""

    def __init__(self, body: bytes, content_type: str, marks: Marks, url: str = "") -> None:
        super().__init__(body, content_type, marks, url)
        self.owner: Owner = ("", "", "")
        self.splices: list[Splice] = []
        self._shifts: dict[int, tuple[LexborNode, Decimal, Callable[[str], Sequence[Figure]]]] = {}
        self.charged = Decimal(0)
        """What edits have added to the sum of an order so far."""
        self.drift = Decimal(0)
        """What of that no line says."""
        self._insertions: dict[tuple[int, Where], Callable[[str], None]] = {}
        self._orders: dict[tuple[int, ...], list[LexborNode]] = {}
        self._order_owners: dict[tuple[int, ...], Owner] = {}
        self.styles: set[str] = set()
        """Style attributes that edits have put into the page."""
        self.scripts: set[str] = set()
        """Inline scripts that edits have put into the page."""
        self.images: set[str] = set()
        """Addresses of pictures that edits show."""
        self.connects: set[str] = set()
        """Where scripts that are put into the page send something."""

    def can_write(self, text: str) -> bool:
        """Return whether the page's encoding has all characters of a text, without references."""
        return text == text.encode(self.output, "ignore").decode(self.output)

    def insert(self, node: LexborNode, where: Where, markup: bytes) -> None:
        """Put `markup` before or after an element, or first or last inside it.

        It is one complete element, or a comment.
        """
        tag = self._locate(node)
        inside = where in ("prepend", "append")
        if inside and tag.name in VOID | RAW | _HIDDEN:
            raise CannotEdit(f"<{tag.name}> cannot hold other elements")
        parent = node if inside else node.parent
        self._check_surroundings(parent)
        close = b""
        if where == "before":
            position, sure = tag.start, stands_clear(self.source, node, tag)
        elif where == "prepend":
            position, sure = tag.end, self._begins_well(node, tag)
        else:
            end = self._end(node, tag)
            position, following = (end.inner, None) if inside else (end.outer, node.next)
            sure = end.regular and (
                self._begins_well(node, tag) or is_settled(self.source, position, parent, following)
            )
            if end.implied and not inside:
                close = b"</%b>" % tag.name.encode()
        sure = sure and parent is not None and parent.tag not in STRUCTURAL

        def in_tree(marker: str) -> None:
            if where == "after":
                node.insert_after(marker)
            elif where == "before":
                node.insert_before(marker)
            elif where == "prepend" and node.first_child is not None:
                node.first_child.insert_before(marker)
            else:
                node.insert_child(marker)

        same = self._insertions.setdefault((node.mem_id, where), in_tree)
        self._splice(position, position, close + markup, markup, None if sure else same)

    def enclose(self, node: LexborNode, opening: bytes, closing: bytes) -> None:
        """Put all content of an element into a new one, which begins with `opening`."""
        tag = self._locate(node)
        self._check_surroundings(node)
        start, end, name = tag.end, self._end(node, tag).inner, f"souk{secrets.token_hex(8)}"
        named = opening.replace(b" ", b" %b " % name.encode(), 1)
        splices = [Splice(start, start, named, self.owner), Splice(end, end, closing, self.owner)]
        made = self._parse(apply(self.source, splices), self._around)
        box, inner = made.css_first(f"[{name}]"), unmark(node.inner_html or "")
        whole = (box and box.html) or ""
        is_whole = whole.endswith(inner + closing.decode("ascii"))
        if not is_whole or (made.html or "").replace(whole, inner, 1) != unmark(self.tree.html or ""):
            raise CannotEdit("the markup in the element is too irregular to be enclosed")
        self._splice(start, start, opening)
        self._splice(end, end, closing)

    def copied(self, node: LexborNode) -> "Page":
        """Return an element with its edits so far, as a page of its own, which can be edited and inserted."""
        tag = self._locate(node)
        try:
            source = cut(self.source, ordered(self.splices), tag.start, self._end(node, tag).outer)
        except Conflict as error:
            raise CannotEdit(str(error), error.owner) from None
        made = Page(source, f"text/html; charset={self._codec}", ALL_TAGS, self.url)
        made.usage, made.owner = self.usage, self.owner
        # No id stands on a page twice, and what names one in the copy means the copy's.
        names = {
            old: f"{old}-{len(self.splices)}" for each in made.find("[id]") if (old := each.attributes["id"])
        }
        for name in ("id", *_NAME_IDS):
            for each in made.find(f"[{name}]"):
                old = each.attributes[name] or ""
                new = " ".join(names.get(part, part) for part in old.split())
                if new != old:
                    made.set_attribute(each, name, new)
        return made

    def insert_at_rank(self, nodes: Sequence[LexborNode], rank: int, made: "Page") -> None:
        """Put an element that is a page of its own among others, in document order, at a rank (1: first)."""
        where: Where = "before" if rank <= len(nodes) else "after"
        self.insert(nodes[min(rank, len(nodes)) - 1], where, made.finish())
        self.styles |= made.styles

    def remove(self, node: LexborNode) -> None:
        """Remove an element from the page."""
        tag = self._locate(node)
        self._check_surroundings(node.parent)
        start, end = tag.start, self._end(node, tag)
        parent = node.parent
        sure = (
            end.regular
            and parent is not None
            and parent.tag not in ("body", "pre", "listing")  # white space at their start may be dropped
            and self.source[start - 1 : start] != b"\r"  # `\r` and `\n` would become one line break
            and stands_clear(self.source, node, tag)
            and is_settled(self.source, end.outer, parent, node.next)
        )
        self._splice(start, end.outer, b"", b"", None if sure else node.replace_with)
        self._removed.add(node.mem_id)

    def set_text(self, node: LexborNode, text: str) -> tuple[str, str]:
        """Replace the whole content of an element by text; return the text before and after."""
        tag = self._locate(node)
        if tag.name in (VOID | RAW | STRUCTURAL | _HIDDEN) - {"title"}:
            raise CannotEdit(f"the text of <{tag.name}> cannot be set")
        self._check_surroundings(node)
        end = self._end(node, tag)
        before = self.value(node, None)
        sure = end.regular and self._begins_well(node, tag)

        def in_tree(marker: str) -> None:
            node.inner_html = marker

        data = escape(text, self.output)
        self._splice(tag.end, end.inner, data, data, None if sure else in_tree)
        self._values[node.mem_id, None] = text
        return before, text

    def set_data(self, node: LexborNode, text: str) -> None:
        """Replace the text of a script that holds data, not code; nothing in `text` may end the script."""
        tag = self._locate(node)
        if tag.name != "script":
            raise CannotEdit(f"the data in <{tag.name}> cannot be set")
        token = next(tokens(self.source, tag.end, tag.name), None)
        if token is None or token.kind != "raw":
            raise CannotEdit("the script is empty")
        self._splice(token.start, token.end, text.encode(self._codec, "replace"))

    def set_attribute(self, node: LexborNode, name: str, value: str) -> tuple[str, str]:
        """Set an attribute of an element; return its value before and after."""
        tag = self._locate(node)
        before = self.value(node, name)
        data = html.escape(value).encode(self.output, "xmlcharrefreplace")
        span = attributes(self.source, tag).get(name)
        if span is None:
            start = end = tag.start + 1 + len(tag.name.encode("latin-1"))
            data = b' %b="%b"' % (name.encode("ascii"), data)
        else:
            start, end = span
            if self.source[start - 1 : start] not in (b'"', b"'"):
                data = b'"%b"' % data
                if start == end and not self.source[:start].rstrip(b" \t\n\f\r").endswith(b"="):
                    data = b"=" + data
        self._splice(start, end, data)
        self._values[node.mem_id, name] = " ".join(value.split())
        return before, value

    def replace_text(self, node: LexborNode, old: str, new: str) -> tuple[str, str] | None:
        """Replace every `old` in an element's texts; returns its whole text before and after.

        None when no text of the element (between two tags) holds it.
        """
        tag = self._locate(node)
        before, pattern = self.value(node, None), spelling(old, self._codec)
        places = [
            match.span()
            for start, end in self._texts(node, tag)
            for match in pattern.finditer(self.source, start, end)
            if charset.is_boundary(self.source, start, match.start(), self._codec)
        ]
        if not places:
            return None
        for start, end in places:
            self._splice(start, end, escape(new, self.output))
        after = self._values[node.mem_id, None] = self._edited_text(node, tag)
        return before, after

    def order(self, nodes: Sequence[LexborNode]) -> list[LexborNode]:
        """Return elements (given in document order) in the order in which they show after earlier edits."""
        return list(self._orders.get(tuple(node.mem_id for node in nodes), nodes))

    def arrange(self, nodes: Sequence[LexborNode], order: Sequence[LexborNode]) -> None:
        """Show siblings of one kind, given in document order, in another order."""
        self._check_surroundings(nodes[0].parent)
        for node in nodes:
            tag = self._locate(node)
            # Well nested pieces with the same surroundings mean the same wherever they stand.
            if node.parent != nodes[0].parent or not self._end(node, tag).regular:
                raise CannotEdit("the elements are too irregular to be put in another order")
        key = tuple(node.mem_id for node in nodes)
        self._orders[key], self._order_owners[key] = list(order), self.owner

    def replace(
        self, node: LexborNode, attribute: str | None, change: Callable[[str], Sequence[Piece]]
    ) -> tuple[str, str] | None:
        """Change one piece of an element's text, or the first piece of an attribute.

        `change` gets the text and returns the pieces that it would write anew. Returns the whole text before
        and after, or None when there is nothing to change. Raises CannotEdit when the text has several.
        """
        tag = self._locate(node)
        spans = [span] if attribute and (span := attributes(self.source, tag).get(attribute)) else []
        if attribute is None:
            spans = self._texts(node, tag)
        written, current = self._written(node, tag, spans, attribute)
        found = change(written.text)
        if not found:
            return None
        piece = found[0]
        old, new = one_line(written.text[piece.start : piece.end]), one_line(piece.new)
        edited = (node.mem_id, attribute) in self._values
        if edited and old not in current:
            if new in current:
                return current, current
            raise CannotEdit(f'an earlier edit has made the text "{current}"')
        whole = f"{written.text[: piece.start]}{piece.new}{written.text[piece.end :]}"
        is_sure = one_line(written.text) == current or current.count(old) == 1
        if attribute is None and (len(found) > 1 or not is_sure):
            raise CannotEdit(f'the text "{current}" does not hold exactly one figure')
        for changed in piece.parts or (piece[:3],):
            splices = written.splices(*changed)
            if splices is None:
                raise CannotEdit(
                    f'the figure {old} in "{current}" is spread over several elements; name each with part'
                )
            for start, end, part in splices:
                data = escape(part, self.output)
                if attribute:  # whose value may stand in quotes of either kind, or in none
                    data = data.replace(b"'", b"&#39;").replace(b" ", b"&#32;")
                self._splice(start, end, data)
        after = current.replace(old, new, 1) if edited else one_line(whole)
        self._values[node.mem_id, attribute] = after
        return current, after

    def _written(
        self, node: LexborNode, tag: Tag, spans: Sequence[tuple[int, int]], attribute: str | None
    ) -> tuple[SourceText, str]:
        """The text of an element or an attribute with its places in the source, and as edits leave it.

        Before raised cents it has a decimal sign.
        """
        written, current = read_text(self.source, spans, self._codec), self.value(node, attribute)
        if attribute is None and len(spans) > 1:
            text = written.text
            for end, sign in missing_signs(self.source, tag.end, self._end(node, tag).inner, self.usage):
                written = written.with_sign(sign, end)
            if written.text != text and (node.mem_id, None) not in self._values:
                current = one_line(written.text)
        return written, current

    def shift(self, node: LexborNode, delta: Decimal, find: Callable[[str], Sequence[Figure]]) -> None:
        """Add `delta` to the figure that `find` finds in an element's text; several shifts add up."""
        _, so_far, _ = self._shifts.get(node.mem_id, (node, Decimal(0), find))
        self._shifts[node.mem_id] = (node, so_far + delta, find)

    def shifted(self, node: LexborNode) -> Decimal:
        """Return by how much a figure is to be shifted so far."""
        return self._shifts[node.mem_id][1] if node.mem_id in self._shifts else Decimal(0)

    def finish(self) -> bytes:
        """Return the edited page."""
        for node, delta, find in self._shifts.values():
            self.replace(node, None, partial(_shifted, find, delta))
        self._adapt_policy()
        try:
            splices = ordered(self.splices)
            moved = arranged(self.source, splices, [self._arrangement(key) for key in self._orders])
        except Conflict as error:
            raise CannotEdit(str(error), error.owner) from None
        self._verify([splice for splice in splices if splice.in_tree])
        return self._restore(apply(self.source, moved))

    @property
    def inline(self) -> Inline:
        """The inline parts that edits have put into the page, which a content security policy may forbid."""
        return Inline(*map(frozenset, (self.styles, self.scripts, self.images, self.connects)))

    # The inside

    def _arrangement(self, key: tuple[int, ...]) -> Arrangement:
        spans: dict[int, tuple[int, int]] = {}
        for node in self._orders[key]:
            tag = self._locate(node)
            spans[node.mem_id] = tag.start, self._end(node, tag).outer
        places = tuple(spans[mem_id] for mem_id in key)
        order = tuple(spans[node.mem_id] for node in self._orders[key])
        return Arrangement(places, order, self._order_owners[key])

    def _adapt_policy(self) -> None:
        """The policy that the page itself states allows what edits have put in."""
        if not self.inline:
            return
        for node in self.find('head meta[http-equiv="Content-Security-Policy" i]'):
            policy = node.attributes.get("content") or ""
            if (allowed := allow(policy, self.inline)) != policy:
                self.set_attribute(node, "content", allowed)

    def _begins_well(self, node: LexborNode, tag: Tag) -> bool:
        """Whether a formatting element is surely not left open at the start of the content."""
        first = node.first_child
        if tag.name == "body" and not starts_body(self.source, tag):
            return False
        # A line break at the start of `<pre>` is dropped.
        return tag.name not in ("pre", "listing") and is_settled(self.source, tag.end, node, first)

    @staticmethod
    def _check_surroundings(node: LexborNode | None) -> None:
        for around in lineage(node):
            if around.tag in _FORBIDDEN:
                raise CannotEdit(f"the target is inside <{around.tag}>")

    def _edited_text(self, node: LexborNode, tag: Tag) -> str:
        """The text of an element, read from the source as the splices so far make it."""
        end = self._end(node, tag).inner
        inside = (splice for splice in self.splices if tag.end <= splice.start and splice.end <= end)
        try:
            edited = apply(self.source[:end], ordered(inside))[tag.end :]
        except Conflict as error:
            raise CannotEdit(str(error), error.owner) from None
        body = self._parse(edited).body
        return " ".join(body.text().split()) if body else ""

    def _splice(self, start: int, end: int, data: bytes, shown: bytes = b"", in_tree: InTree = None) -> None:
        self.splices.append(Splice(start, end, data, self.owner, shown, in_tree))

    def _verify(self, doubtful: list[Splice]) -> None:
        """Irregular markup: the spliced source has to parse to the tree in which the same edits were made."""
        if not doubtful:
            return
        shown: dict[str, bytes] = {}
        marker: str = ""
        last: InTree = None
        for splice in doubtful:
            if splice.in_tree and splice.in_tree is not last:
                marker, last = f"souk{secrets.token_hex(8)}", splice.in_tree
                splice.in_tree(marker)
            shown[marker] = shown.get(marker, b"") + splice.shown
        expected = unmark(self.tree.html or "")
        for marker, markup in shown.items():
            expected = expected.replace(marker, _as_parsed(markup))
        if self._parse(apply(self.source, doubtful), self._around).html != expected:
            message = "the markup around the target is too irregular for a safe edit"
            raise CannotEdit(message, doubtful[0].owner)


def _as_parsed(markup: bytes) -> str:
    """The HTML of elements as they are parsed; rows are so only in a table."""
    if not markup.startswith(b"<tr"):
        return parse(markup, is_fragment=True).html or ""
    rows = select(parse(b"<table>%b</table>" % markup, is_fragment=True), "tr")
    return "".join(row.html or "" for row in rows)


def _shifted(find: Callable[[str], Sequence[Figure]], delta: Decimal, text: str) -> list[Piece]:
    return [Piece(*figure.put(figure.signed + delta)) for figure in find(text)]
