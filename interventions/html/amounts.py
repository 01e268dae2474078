"""Find the amounts in a part of a page, and tell what each means by what stands around it.

Of `was $30.00, now $24.90, or $2.08 a month` one is the price. What tells the others is data:
`amounts.yaml`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from selectolax.lexbor import LexborNode

from interventions.data_file import read_data
from interventions.html.currencies import UNSEEN
from interventions.html.numbers import UNKNOWN, Figure, NumberUsage
from interventions.html.ranges import prices
from interventions.html.tree import select

PRICE: Final = ""
"""The kind of an amount that nothing tells from a price."""
_SILENT: Final = frozenset(
    ["script", "style", "template", "noscript", "svg", "head", "title", "option", "textarea"]
)
_BLOCKS: Final = re.compile(
    "body|div|p|[uod]l|li|t[dhr]|table|d[td]|section|article|main|aside|header|footer|form|nav|label|h[1-6r]"
    "|figure|fieldset|button|details|summary|br"
)
_STRUCK: Final = frozenset(["del", "s", "strike"])
_LINE_THROUGH: Final = re.compile(r"([^{}]+)\{[^{}]*line-through")
_NEXT: Final = re.compile(r"[,;|·•]|[(（\[][^)）\]]*\Z")
_PERCENT: Final = re.compile(r"\s*[%٪％]")
_BEFORE: Final = r"(?<!\w)(?:{})(?!\w)\W*(?:(?:only|just|nur|[^\W\d_]{{1,3}})\b\W*)?\Z"
_AFTER: Final = r"[^\w/+]*(?:[^\W\d_]{{1,3}}\.?(?!\w))?[^\w/+]*(?:{})"
"""A currency and a short word may stand between."""
_LABEL: Final = 32
"""The longest text, in characters, that names the amount in the block after it or before it."""
_WIDE: Final = 1200
"""How much text the part of a page around a price has at the most."""
_LEVELS: Final = 3
_NAMING: Final = frozenset(["h1", "h2", "h3", "h4", "h5", "h6", "a"])


class _Kind(NamedTuple):
    role: str
    before: re.Pattern[str] | None
    after: re.Pattern[str] | None
    names: re.Pattern[str] | None

    def named(self, words: str) -> bool:
        return bool(self.names and self.names.search(words))


@dataclass(frozen=True)
class Amount:
    """A figure with a currency, or a saving in percent; `element` holds its first digit.

    `kind`: what it means, such as `instalment`; empty: it may be the price. `text`: the line that it is in.
    """

    figure: Figure
    element: LexborNode
    kind: str
    text: str
    percent: bool = False

    @property
    def role(self) -> str:
        """The role of such an amount, without its group; empty: it has none."""
        return _kinds()[self.kind].role if self.kind else ""


class _Line(NamedTuple):
    block: int
    text: str
    starts: list[tuple[int, LexborNode]]

    def element(self, at: int) -> LexborNode:
        return next(node for start, node in reversed(self.starts) if start <= at)


def follower_roles() -> tuple[str, ...]:
    """Return the roles of amounts that follow a price, without their group."""
    return tuple(each.role for each in _kinds().values() if each.role)


def amounts_in(root: LexborNode, usage: NumberUsage = UNKNOWN) -> Iterator[Amount]:
    """Yield the amounts in an element, in order."""
    lines = [line for line in _lines(root) if line.text.strip(UNSEEN)]
    struck = _struck_by_style(root)
    read = [prices(line.text[:2000], usage) for line in lines]
    for number, (line, found) in enumerate(zip(lines, read, strict=True)):
        money = [each for each in found if each.is_price or is_percent(each, line.text) or each.decimals == 2]
        for place, figure in enumerate(money):
            start = money[place - 1].end if place else 0
            stop = money[place + 1].start if place + 1 < len(money) else len(line.text)
            before, after = _clean(line.text[start : figure.start]), _clean(line.text[figure.end : stop])
            if place + 1 < len(money):  # then what stands after a comma or a bracket is of the next one
                after = _NEXT.split(after, maxsplit=1)[0]
            if not place and not _words(before, figure) and number and not read[number - 1]:
                before = _label(lines[number - 1])
            last = place + 1 == len(money) and number + 1 < len(lines) and not read[number + 1]
            if last and not _words(after, figure):
                after += " " + _label(lines[number + 1])
            element = line.element(figure.start)
            kind = _kind(before, after, element, len(money) > 1, struck, figure)
            percent = is_percent(figure, line.text)
            if kind == "saving" if percent else figure.is_price or kind:
                yield Amount(figure, element, kind, " ".join(line.text.split()), percent)


def near_price(price: LexborNode) -> LexborNode:
    """Return the part of the page around a price that its reader takes in together with it."""
    near = price
    while (outer := near.parent) is not None and outer.tag not in ("html", "-undef"):
        if len(outer.text()) > _WIDE:
            break
        near = outer
    return near


def _lines(root: LexborNode) -> Iterator[_Line]:
    """The texts of an element, a line for each block."""
    silent, block = set[int](), dict[int, int]()
    line = _Line(0, "", [])
    for node in root.traverse(include_text=True):
        parent = node.parent
        around = parent.mem_id if parent is not None else 0
        if not node.is_text_node:
            if node.tag in _SILENT or around in silent:
                silent.add(node.mem_id)
            block[node.mem_id] = node.mem_id if _BLOCKS.fullmatch(node.tag or "") else block.get(around, 0)
            if node.tag == "br":
                yield line
                line = _Line(line.block, "", [])
            continue
        if around in silent or parent is None:
            continue
        own, text = block.get(around, 0), re.sub(r"[ \t\n\f\r]+", " ", node.text())
        if own != line.block:
            yield line
            line = _Line(own, "", [])
        # Names and figures of neighbouring elements are no one word; whole parts and cents are one figure.
        joins = re.search(r"[\d.,]\Z", line.text) and re.match(r"[\d.,]", text)
        if line.text and not joins and line.starts[-1][1].mem_id != around:
            line = line._replace(text=line.text + " ")
        line.starts.append((len(line.text), parent))
        line = line._replace(text=line.text + text)
    yield line


def _kind(
    before: str, after: str, element: LexborNode, several: bool, struck: set[int], figure: Figure
) -> str:
    around = list(_around(element, figure))
    if any(
        node.tag in _STRUCK
        or node.mem_id in struck
        or "line-through" in (node.attributes.get("style") or "").lower()
        for node in around
    ):
        return "former"
    if figure.signed < 0:
        return "saving"
    names = [_names(node) for node in around]
    for kind, says in _kinds().items():
        if (says.before and says.before.search(before)) or (says.after and says.after.match(after)):
            return kind
    for kind, says in _kinds().items():
        # What is called a discount is a saving only beside the price, else the price itself.
        if (kind != "saving" or several or _beside(around[-1])) and any(map(says.named, names)):
            return kind
    return PRICE


def _around(element: LexborNode, figure: Figure) -> Iterator[LexborNode]:
    """The element of an amount, and those around it that hold no other."""
    node: LexborNode | None = element
    for _ in range(_LEVELS):
        if node is None or node.tag in ("body", "html", "main", "-undef"):
            return
        text = node.text()
        if node.mem_id != element.mem_id and sum(each.is_price for each in prices(text[:300])) > 1:
            return
        yield node
        node = node.parent


def _beside(node: LexborNode) -> bool:
    """Whether another amount stands in the element around one."""
    outer = node.parent
    return outer is not None and sum(each.is_price for each in prices(outer.text()[:300])) > 1


def _struck_by_style(root: LexborNode) -> set[int]:
    """The elements that a style sheet in the page strikes through."""
    top = root
    while top.parent is not None and top.parent.tag != "-undef":
        top = top.parent
    found: set[int] = set()
    for sheet in select(top, "style"):
        for selector in _LINE_THROUGH.findall(sheet.text()):
            try:
                found |= {node.mem_id for node in select(top, selector.strip())}
            except Exception:  # noqa: S112 - a selector that the parser does not know strikes nothing
                continue
    return found


def _names(node: LexborNode) -> str:
    said = (
        node.attributes.get(name) or "" for name in ("class", "id", "data-testid", "data-test", "itemprop")
    )
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", " ".join(said)).lower().replace("_", "-")


def is_percent(figure: Figure, text: str) -> bool:
    """Return whether a figure of a text is a percentage."""
    return bool(_PERCENT.match(text, figure.end)) or text[: figure.start].rstrip().endswith(("%", "٪"))


def _clean(text: str) -> str:
    return " ".join(text.replace("’", "'").split())


def _words(text: str, figure: Figure) -> bool:
    """Whether more stands there than the figure's currency."""
    return any(map(str.isalpha, text.replace(figure.sign, "")))


def _label(line: _Line) -> str:
    """What a line says of the amount in the next one, or in the one before; not where it is a name."""
    text = _clean(line.text)
    around = line.starts[0][1]
    named = any(node is not None and node.tag in _NAMING for node in (around, around.parent))
    return "" if named or len(text) > _LABEL else text


@lru_cache(maxsize=1)
def _kinds() -> Mapping[str, _Kind]:
    return {
        name: _Kind(
            says.get("role", ""),
            _any(says.get("before", ()), _BEFORE),
            _any(says.get("after", ()), _AFTER),
            re.compile(says["names"]) if "names" in says else None,
        )
        for name, says in read_data(__file__, "amounts.yaml").items()
    }


def _any(patterns: Any, form: str) -> re.Pattern[str] | None:
    return re.compile(form.format("|".join(patterns)), re.I) if patterns else None
