"""Read one page: an HTML5 parser finds the elements, and the source tells where each was written."""

import codecs
import html
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from interventions.errors import CannotEdit
from interventions.html import charset
from interventions.html.fragments import around, is_part, surroundings
from interventions.html.marking import MARK, Marks, mark
from interventions.html.markup import Tag, attributes, tag_at
from interventions.html.numbers import NumberUsage, one_line
from interventions.html.placement import End, element_end, lineage
from interventions.html.shadow import closed, opened
from interventions.html.tree import parse, select

_SCOPE = re.compile(r"([a-z]+(?:[.#][\w-]+)+) (?=[\w.#\[])", re.A)
# Chromium moves elements that are nested deeper than 512 levels.
_DEEPEST = 500
# White space, and what parsers drop or replace.
_NO_INK = re.compile(r"[\s\0\ufffd]+")


_LANGUAGE = 'meta[property="og:locale"]'
_CURRENCY = (
    'meta[property="product:price:currency"], meta[property="og:price:currency"], [itemprop=priceCurrency]'
)


class TargetNotMarked(Exception):
    """A target has no reliable offset: the page has to be read again with every start tag marked."""


def own_address(address: str, links: Mapping[str, str]) -> str:
    """Return what stood at an address's place in a page with these `links` (see ParsedPage)."""
    return links.get(address[address.rfind("#") :], address)


class ParsedPage:
    """A page in bytes, of which some start tags are marked: only their elements can be found in the source.

    Raises CannotEdit when it is not valid in an encoding that has to be decoded (UTF-16, ISO-2022-JP).
    """

    def __init__(self, body: bytes, content_type: str, marks: Marks, url: str = "") -> None:
        self.url = url
        self.codec, declared = charset.detect(body, content_type)
        # Markup has to be ASCII for offsets to be found in it.
        self.decoded = not charset.is_ascii_superset(self.codec)
        self.source, self._has_shadows = body, False
        if self.decoded:
            try:
                errors = "surrogatepass" if self.codec.startswith("utf-16") else "strict"
                text = body.decode(self.codec, errors)
                self.source = text.encode("utf-8", "surrogatepass")
                faithful = self._restore(self.source) == body
            except UnicodeError:
                faithful = False
            if not faithful:
                raise CannotEdit(f"the page is not valid {self.codec}")
        plain, self.source = self.source, opened(self.source)
        self._has_shadows = self.source != plain
        # Characters outside ASCII are written as references unless the page says that it is UTF-8.
        self.output = "utf-8" if self.decoded or (self.codec == "utf-8" and declared) else "ascii"
        self._around, self._marked = b"", mark(self.source, marks)
        self.tree = self._parse(self._marked)
        self._found: dict[tuple[str, int], list[LexborNode]] = {}
        self._tags: dict[int, Tag] = {}
        self._starts: dict[int, int] = {}
        self._ends: dict[int, End] = {}
        self._values: dict[tuple[int, str | None], str] = {}
        self._removed: set[int] = set()
        self.links: dict[str, str] = {}
        """Links that an edit has made lead elsewhere: the end of an address, `#...` -> what stood there."""

    def stand_among(self, selectors: Sequence[str]) -> None:
        """Read a part of a page as it stands in the page, where else none of the selectors is met.

        A parser drops `<tr>` outside a table, and `<li>` alone is not found by `ul.cards > li`.
        """
        if not is_part(self.source) or any(map(self.has, selectors)):
            return
        table = around(self.source)
        for css in selectors:
            outer = surroundings(css)
            outer += b"" if b"<table" in outer else table
            if outer and (tree := self._parse(self._marked, outer)).css_first(css):
                self._around, self.tree, self._found = outer, tree, {}
                return

    def find(self, css: str, root: LexborNode | None = None) -> list[LexborNode]:
        """Return the elements that match, in document order, without those that an earlier edit removes."""
        key = (css, root.mem_id if root else 0)
        if key not in self._found:
            self._found[key] = self._search(css, root)
        found = self._found[key]
        if self._removed:
            found = [node for node in found if not any(a.mem_id in self._removed for a in lineage(node))]
        return found

    def has(self, css: str) -> bool:
        """Return whether any element matches; cheaper than `find` when one stands near the start."""
        return self.tree.css_first(css) is not None

    def title(self) -> str:
        """Return the document's title."""
        node = self.tree.css_first("title")
        return "" if node is None else self.value(node, None)

    def value(self, node: LexborNode, attribute: str | None) -> str:
        """Return the text of an element, or an attribute, as earlier edits leave it.

        Of a link that an edit has made lead elsewhere it is the old address, which names the card's product.
        """
        text = self._values.get((node.mem_id, attribute))
        if text is None:
            text = one_line(self.raw(node, attribute))
        return own_address(text, self.links) if attribute and self.links else text

    def raw(self, node: LexborNode, attribute: str | None) -> str:
        """Return the text of an element, or an attribute, just as the page has it."""
        return node.text() if attribute is None else node.attributes.get(attribute) or ""

    @cached_property
    def usage(self) -> NumberUsage:
        """The page's language and currency, as far as it states them."""
        root = self.tree.root
        language = root.attributes.get("lang") if root is not None else ""
        return NumberUsage(language or self._stated(_LANGUAGE), self._stated(_CURRENCY).upper())

    def _stated(self, css: str) -> str:
        node = self.tree.css_first(css)
        return "" if node is None else (node.attributes.get("content") or "").strip()

    # Where it was written

    @property
    def located(self) -> frozenset[int]:
        """The offsets of the start tags that were looked up so far."""
        return frozenset(tag.start for tag in self._tags.values())

    def _locate(self, node: LexborNode) -> Tag:
        """The start tag of `node` in the source, which has to agree with the tree."""
        if known := self._tags.get(node.mem_id):
            return known
        if sum(1 for _ in lineage(node)) > _DEEPEST:
            raise CannotEdit("the element is nested too deeply")
        marked = node.attributes
        offset = marked.pop(MARK, None)
        if not offset or not offset.isdigit():
            raise TargetNotMarked
        tag = tag_at(self.source, int(offset))
        if tag is None or tag.closing or tag.name != (node.tag or "").lower():
            raise TargetNotMarked
        if attributes(self.source, tag).keys() != {name.lower() for name in marked}:
            raise TargetNotMarked
        if self._starts.setdefault(tag.start, node.mem_id) != node.mem_id:
            raise CannotEdit(f"the <{tag.name}> is not closed where it should be, and shows several times")
        self._tags[node.mem_id] = tag
        return tag

    def _end(self, node: LexborNode, tag: Tag) -> End:
        """Where the element ends in the source."""
        if node.mem_id not in self._ends:
            self._ends[node.mem_id] = element_end(self.source, node, tag)
        return self._ends[node.mem_id]

    def _texts(self, node: LexborNode, tag: Tag) -> list[tuple[int, int]]:
        """Where the texts of an element stand, which have to be those that it shows."""
        texts = self._end(node, tag).texts
        source = b"".join(self.source[token.start : token.end] for token in texts)
        written = source.decode(self._codec, "replace")
        if _NO_INK.sub("", html.unescape(written)) != _NO_INK.sub("", node.text()):
            raise CannotEdit("the text is written in another place than it shows")
        return [(token.start, token.end) for token in texts if token.kind == "text"]

    def _search(self, css: str, root: LexborNode | None) -> list[LexborNode]:
        # `div.main span.price` is looked for in the one `div.main`: every search walks over all elements.
        if root is None and css.startswith("head ") and self.tree.head and "," not in css:
            return select(self.tree.head, css)
        if root is None and css == "body":
            return [self.tree.body] if self.tree.body else []
        if root is None and "," not in css and (scope := _SCOPE.match(css)):
            around = self.find(scope[1])
            if len(around) <= 1:
                return around and select(around[0], css)
        return select(root or self.tree, css)

    @property
    def _codec(self) -> str:
        """The encoding of `source`."""
        return "utf-8" if self.decoded else self.codec

    def _parse(self, source: bytes, outer: bytes = b"") -> LexborHTMLParser:
        # Before the first tag it would be a text, and open the body.
        source = outer + source.removeprefix(codecs.BOM_UTF8)
        utf8 = self.decoded or self.codec == "utf-8"
        return parse(source if utf8 else source.decode(self.codec, "replace"), scripting=True)

    def _restore(self, source: bytes) -> bytes:
        if self._has_shadows:
            source = closed(source)
        if not self.decoded:
            return source
        errors = "surrogatepass" if self.codec.startswith("utf-16") else "xmlcharrefreplace"
        return source.decode("utf-8", "surrogatepass").encode(self.codec, errors)
