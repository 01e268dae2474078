"""Write short and stable CSS selectors: by id, itemprop, data attributes and telling class names."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, product, takewhile

from selectolax.lexbor import LexborNode

from interventions.data_file import items
from interventions.html.tree import parse, select
from interventions.proposal.scan import ancestors, label

_MOST_PARTS = 2
_NAMING = items(
    "itemprop; itemtype; typeof; data-testid; data-test; data-qa; data-role; data-price-type; data-hook"
    "; data-slot; rel; property; aria-current"
)
_UTILITY = re.compile(
    r"(?:-?[mp][trblxyse]?|w|h|min|max|gap|z|top|left|right|bottom|inset|col|order|offset|space|basis|size|aspect)(?:-|\d|$)"
    r"|(?:flex|grid|items|justify|self|content|text|font|bg|border|rounded|shadow|leading|tracking|align|float|overflow"
    r"|opacity|transition|duration|ease|transform|translate|scale|rotate|cursor|ring|divide|line|whitespace|break|object"
    r"|list|img|fas?|fa|d|bi|btn|mx|my|px|py|mt|mb|ml|mr|pt|pb|pl|pr)(?:-|$)"
    r"|(?:row|block|inline|hidden|visible|invisible|relative|absolute|fixed|sticky|static|container|clearfix|group|peer"
    r"|inline-(?:flex|block|grid)|in-?stock|out-?of-?stock|(?:un)?available|sold-?out|on-?sale|sale|new|featured|empty"
    r"|capitalize|uppercase|lowercase|truncate|underline|italic|button|active|selected|current|open|closed|first|last|odd"
    r"|even|no-js|js|sr-only|clear|left|right|center|small|large|full|wide)$"
)
_BY_SCRIPTS = re.compile(r"(?:is|has|js|css|sc|jsx|svelte|astro|ng|v)-")
_GENERIC = re.compile(
    "product|item|name|title|action|primary|secondary|view|link|price|info|details|content|wrapper|inner|main"
    "|body|box|block|label|value|text|base|page|section|wrap|holder|card|tile"
)
_STRUCTURE = frozenset(["h1", "h2", "h3", "main", "article", "title", "form"])
_CSS_MODULE = re.compile(r"([A-Z][A-Za-z0-9]*_[a-zA-Z][a-zA-Z0-9-]*__)[A-Za-z0-9+-]{5}")
"""A name that a build made of a file, a name in it and a hash, as `Card_title__x8Kq2`."""
_SHORT = items(
    "add; bag; box; buy; cta; fee; hit; img; map; nav; new; now; old; pdp; pic; plp; qty; row; rrp; sku; sub"
    "; sum; tab; tag; tax; top; vat; was"
)
"""Words of up to three letters that say what a thing is; others of this length are made by programs."""
_PLAIN = re.compile(r"[a-zA-Z][\w-]*")
_STYLED = re.compile(r"(?:sc|css|jsx|emotion)-")
_AROUND = 4
_HEADINGS = ("h1", "h2", "h3", "h4", "h5")
_TOO_MANY = 8
_CONTENTS = (
    *(f":has({held}){more}" for held in ("h3", "h2", "h4", "a[href]") for more in (":has(img)", "")),
    ":has(img)",
)
_NAME = re.compile(r"[.#\[]")


def unique_selector(
    roots: Sequence[tuple[LexborNode, LexborNode | None]], slug: str = "", elsewhere: LexborNode | None = None
) -> str | None:
    """Return the shortest stable selector that finds the given element in each root (None: no element).

    `slug`: the product's key; names that hold it or a number belong to one product and are not used.
    `elsewhere`: another page; a selector that finds nothing there is better.
    """
    parts: list[str] = []
    left = [(root, node) for root, node in roots if node is not None]
    while left and len(parts) < _MOST_PARTS:
        root, node = left[0]
        candidates = chain(_named(node, root, slug), _by_place(node, root, slug))
        part = _right_everywhere(root, candidates, roots, elsewhere)
        part = part or _right_in_all(_as_called(node, slug), roots)
        if part is None:
            return None
        parts.append(part)
        left = [(root, node) for root, node in left if not select(root, part)]
    return ", ".join(parts) if parts and not left else None


def line_selector(
    root: LexborNode, row: LexborNode, slug: str = "", elsewhere: LexborNode | None = None
) -> str | None:
    """Return the shortest stable selector of a line that also finds it alone, and with one or two more lines.

    A selector that hangs on a neighbour, as `tr:has(+ tr)` does, holds for some numbers of lines only.
    """
    plain = [*_named(row, root, slug), *_by_place(row, root, slug), *_as_called(row, slug)]
    held = (":has(a[href]):has(input)", ":has(a[href]):has(img)", ":has(a[href])", ":has(input)")
    outer = (row.parent.tag if row.parent is not None else None) or "*"
    tagged = (f"{path}{inside}" for path in (row.tag, f"{outer} > {row.tag}") for inside in held)
    second_best = None
    for css in dict.fromkeys((*plain, *tagged)):
        if [node.mem_id for node in select(root, css)] != [row.mem_id] or not _holds_for_more(row, css):
            continue
        if elsewhere is None or not select(elsewhere, css):
            return css
        second_best = second_best or css
    return second_best


def _holds_for_more(row: LexborNode, css: str) -> bool:
    """Whether a selector finds the line where it is the only child, and each of two and of three lines."""
    line, names_above = row.html or "", [*reversed([node for node in ancestors(row)])]
    opened = "".join((node.html or "").partition(">")[0] + ">" for node in names_above)
    closed = "".join(f"</{node.tag}>" for node in reversed(names_above))
    return all(
        len(select(parse(f"<body>{opened}{line * number}{closed}"), css)) == number for number in (1, 2, 3)
    )


def is_lasting(selector: str) -> bool:
    """Return whether all class names of a selector say what a thing is: others may change with the shop."""
    return all(is_stable(name) for name in re.findall(r"\.([a-zA-Z_][\w-]*)", selector))


def _right_everywhere(
    root: LexborNode,
    candidates: Iterable[str],
    roots: Sequence[tuple[LexborNode, LexborNode | None]],
    elsewhere: LexborNode | None,
) -> str | None:
    """The first selector that finds in no root a wrong element; best one that finds something in all."""
    second_best = None
    for selector in candidates:
        found = [([n.mem_id for n in select(root, selector)], wanted) for root, wanted in roots]
        if any(ids and (wanted is None or ids != [wanted.mem_id]) for ids, wanted in found):
            continue
        complete = all(ids or wanted is None for ids, wanted in found)
        if complete and (elsewhere is None or not select(elsewhere, selector)):
            return selector
        if second_best is None and select(root, selector):
            second_best = selector
    return second_best


def _right_in_all(
    candidates: Iterable[str], roots: Sequence[tuple[LexborNode, LexborNode | None]]
) -> str | None:
    """The first selector that finds the given element in each root, and nothing else."""
    wanted = [[node.mem_id] if node is not None else [] for _, node in roots]
    for selector in candidates:
        if [[found.mem_id for found in select(root, selector)] for root, _ in roots] == wanted:
            return selector
    return None


def common_selector(
    root: LexborNode, nodes: Sequence[LexborNode], slug: str = "", *, by_place: bool = False
) -> str | None:
    """Return the shortest stable selector for all of these elements and no others below `root`.

    by_place: where they have no name, by where they stand and what they hold.
    """
    wanted = {node.mem_id for node in nodes}
    candidates = _by_place(nodes[0], root, slug) if by_place else _named(nodes[0], root, slug)
    for selector in candidates:
        found = {node.mem_id for node in select(root, selector)}
        if not wanted <= found or len(found) > len(wanted) * _TOO_MANY:
            continue
        # Tags alone are on every page; what stands in a card is on few.
        for held in ("",) if _NAME.search(selector) else (*_CONTENTS, ""):
            if {node.mem_id for node in select(root, f"{selector}{held}")} == wanted:
                return f"{selector}{held}"
    return None


def column(row: LexborNode, node: LexborNode) -> str | None:
    """Return a selector for one of several alike elements of a row: by its column's name or place."""
    path: list[LexborNode] = [node, *ancestors(node)]
    path = path[: next((n for n, around in enumerate(path) if around.mem_id == row.mem_id), 0)]
    for outer in path:
        classes = [name for name in (outer.attributes.get("class") or "").split() if _PLAIN.fullmatch(name)]
        place = 1 + sum(1 for _ in _before(outer))
        for own in (*(f"{outer.tag}.{name}" for name in classes), f"{outer.tag}:nth-child({place})"):
            inner = next(iter(names(node)), node.tag or "*")
            for selector in (own, f"{own} {inner}", f"{own} {node.tag}"):
                if [found.mem_id for found in select(row, selector)] == [node.mem_id]:
                    return selector
    return None


def names(node: LexborNode, slug: str = "") -> Iterator[str]:
    """Yield selectors of an element by its own names, the most telling first."""
    tag = node.tag or "*"
    attributes = node.attributes
    if (own := attributes.get("id")) and is_stable(own, slug):
        yield f"{tag}#{own}"
    for name in _NAMING:
        if (value := attributes.get(name)) and value.isprintable() and len(value) <= 60:
            yield f"{tag}[{name}={_quoted(value)}]"
    own_classes = (attributes.get("class") or "").split()
    styled = any(_STYLED.match(name) for name in own_classes)  # then a single word is a hash of the style
    classes = [n for n in own_classes if is_stable(n, slug) and not (styled and re.fullmatch(r"\w{4,7}", n))]
    classes.sort(
        key=lambda name: (_GENERIC.fullmatch(name.lower()) is not None, -min(len(re.split("[-_]+", name)), 3))
    )
    for name in classes:
        yield f"{tag}.{name}"
    for pair in combinations(classes, 2):
        yield f"{tag}.{'.'.join(pair)}"
    for name in own_classes:
        if made := _CSS_MODULE.fullmatch(name):
            yield f'{tag}[class*="{made[1]}"]'
    if tag == "input" and (value := attributes.get("name")):
        yield from _by_name(value)
    if (value := attributes.get("type")) and tag in ("button", "input"):
        yield f"{tag}[type={_quoted(value)}]"


def _by_name(value: str) -> Iterator[str]:
    """Selectors of a field by its name; where that has the number of a line, by the words beside it."""
    if not any(_is_arbitrary(part) for part in re.split(r"[^a-zA-Z0-9]+", value)):
        yield f"input[name={_quoted(value)}]"
        return
    if last := re.search(r"(?<=[^a-zA-Z])[a-zA-Z]{3,}\]?$", value):
        yield f"input[name$={_quoted(last[0])}]"
    if first := re.match(r"[a-zA-Z]{3,}", value):
        yield f"input[name^={first[0]}]"


def is_stable(name: str, slug: str = "") -> bool:
    """Return whether a class name or id says what a thing is, not how it looks or which one it is."""
    lowered = name.lower()
    if not re.fullmatch(r"[a-zA-Z_][\w-]*", name) or _UTILITY.match(lowered) or _BY_SCRIPTS.match(lowered):
        return False
    if slug and slug.rpartition("/")[2] in lowered:
        return False
    parts = [part for part in re.split(r"[-_]+", name) if part]
    says = any(len(part) > 3 or part.lower() in _SHORT for part in parts)
    return says and not _CSS_MODULE.fullmatch(name) and not any(_is_arbitrary(part) for part in parts)


def _is_arbitrary(part: str) -> bool:
    """A number, or a hash such as 1x4Zq, 7xhq or bdVaJa; no word with a number, such as price2."""
    if any(map(str.isdigit, part)):
        return not re.fullmatch(r"[a-zA-Z]{3,}\d", part)
    changes = len(re.findall(r"[a-z][A-Z]", part))
    vowels = re.search(r"[aeiouy]", part, re.I)
    return len(part) >= 4 and (changes * 3 > len(part) or not vowels)


def _as_called(node: LexborNode, slug: str) -> Iterator[str]:
    """Selectors of an element by class names that say nothing, for where nothing else tells it."""
    for name in (node.attributes.get("class") or "").split():
        if _PLAIN.fullmatch(name) and not (slug and slug.rpartition("/")[2] in name.lower()):
            yield f"{node.tag}.{name}"


def _named(node: LexborNode, root: LexborNode, slug: str) -> Iterator[str]:
    """Selectors of an element by its own names and those around it."""
    own = list(islice(names(node, slug), 8))
    tag = node.tag or "*"
    yield from own
    if tag in _STRUCTURE:
        yield tag
    # Inside a card nothing outside of it is named.
    around = list(islice(takewhile(lambda outer: outer.mem_id != root.mem_id, ancestors(node)), 10))
    if node.parent is not None and node.parent.tag == "body":
        around = []
    for index, outer in enumerate(around):
        link = " > " if index == 0 else " "
        for name in [*islice(names(outer, slug), 5), *([outer.tag or ""] if outer.tag in _STRUCTURE else [])]:
            for inner in (*own, tag):
                yield f"{name}{link if inner == tag else ' '}{inner}"
    if tag in ("td", "th") and re.fullmatch(r"[^\"\\]{2,40}", heading := label(node)):
        above = f'th:lexbor-contains("{heading}")'
        yield f"tr:has(> {above}) > td" if tag == "td" else f"tr > {above} + th"
    for (index, outer), middle in product(enumerate(around[1:7], 1), around[:5]):
        if around.index(middle) < index:
            for name in islice(names(outer, slug), 2):
                for between in [
                    *islice(names(middle, slug), 2),
                    *([middle.tag or ""] if middle.tag == "ins" else []),
                ]:
                    for inner in (*own[:3], tag):
                        if index == 1:
                            yield f"{name} > {between} > {inner}"
                        yield f"{name} {between} {inner}"
    # Between a name further out and a nameless element: its parent's tag.
    for outer in around[1:5]:
        for name in islice(names(outer, slug), 3):
            yield f"{name} {around[0].tag} > {tag}"


def _by_place(node: LexborNode, root: LexborNode, slug: str) -> Iterator[str]:
    """Selectors of an element without a name: by what stands around it and before it, never by a number."""
    tag, is_page = node.tag or "*", root.parent is None or root.tag == "html"
    if not is_page:
        if tag == "a":
            yield from (f"a:has({heading})" for heading in _HEADINGS[1:])
        yield tag
    path, here = tag, node
    for _ in range(_AROUND):
        for other in islice(_before(here), 3):
            yield from (f"{name} ~ {path}" for name in _anchors(other, slug))
        after = here.next
        while after is not None and not after.is_element_node:
            after = after.next
        if after is not None and tag not in _STRUCTURE:
            # Not by what stands right before it: a text that is inserted there would come between.
            yield f"{path}:has(+ {after.tag})"
            yield from (
                f"{name} ~ {path}:has(+ {after.tag})" for o in _before(here) for name in _anchors(o, slug)
            )
        outer = here.parent
        if outer is None or outer.mem_id == root.mem_id or outer.tag in ("html", "-undef"):
            return
        yield from (f"{name} > {path}" for name in _anchors(outer, slug))
        path, here = f"{outer.tag} > {path}", outer
        if not is_page or outer.tag == "body":
            yield path


def _anchors(node: LexborNode, slug: str) -> list[str]:
    """What an element is called; its tag too, where that says what it is."""
    says = node.tag in _STRUCTURE or node.tag in _HEADINGS
    return [*islice(names(node, slug), 2), *([node.tag or ""] if says else [])]


def _before(node: LexborNode) -> Iterator[LexborNode]:
    """The elements before this one under the same parent, nearest first."""
    before = node.prev
    while before is not None:
        if before.is_element_node:
            yield before
        before = before.prev


def _quoted(value: str) -> str:
    return (
        value
        if re.fullmatch(r"[a-zA-Z_][\w-]*", value)
        else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )
