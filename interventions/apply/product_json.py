"""Find products in JSON data by the site map's paths, and rewrite them.

Pages embed such data, or load them by script. The data are written anew as a whole: a script reads the same
from them, but for the edits.
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import quote

from interventions.edits.place_values import LONGEST
from interventions.edits.showing import apart
from interventions.errors import CannotEdit
from interventions.html.markup import SourceText, read_text
from interventions.html.numbers import UNKNOWN, machine_figure, on_scale
from interventions.html.raised import missing_signs
from interventions.html.ranges import PriceSpan, prices
from interventions.yaml.limited import find
from interventions.yaml.plain_paths import JsonPlace, plain_path
from interventions.yaml.sitemap import Data, product_key

_MARKUP = re.compile(rb"<[^>]*>")
_NAME = re.compile(r"""\.([A-Za-z_]\w*)|\[(?:"([^"\\]+)"|'([^'\\]+)')\]""", re.A)
_START = re.compile(r"[{\[]")


class Document:
    """A JSON document under edit; text around it, such as `while(1);`, is kept. Raises CannotEdit."""

    def __init__(self, text: str) -> None:
        start = found.start() if (found := _START.search(text)) else 0
        try:
            self.root: Any
            self.root, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            raise CannotEdit("the data is not valid JSON") from None
        self.changed = False
        self._source = text
        self._around = text[:start], text[end:]

    def entries(
        self, data: Data, url: str, own: str | None = None, query: tuple[str, ...] = ()
    ) -> list[tuple[str, "ProductObject"]]:
        """Return each object that shows a product, with the product's key.

        `own` is the product whose page embeds the data; `query`: see `product_key`.
        """
        found = [match for path in data.paths for match in self._items(path)]
        entries = [ProductObject(self, data, match.obj) for match in found if isinstance(match.obj, dict)]
        keys = [entry.key(url, query) for entry in entries]
        # Of several that do not say what they show, none is surely the page's own product.
        default = own if own and keys.count(None) == 1 else ""
        return [(default if key is None else key, entry) for key, entry in zip(keys, entries, strict=True)]

    @cached_property
    def _text(self) -> str:
        return self._source.replace("\\/", "/")

    def _items(self, path: str) -> list[JsonPlace]:
        if ".." in path and not all(name in self._text for name in _needed(path)):
            return []  # a search for `$..price` would walk through everything
        # To a filter among descendants the document itself is no child of anything.
        return find(path, [self.root] if path.startswith("$..[?") else self.root)

    def shift(self, data: Data, delta: Decimal) -> None:
        """Add `delta` to the document's totals."""
        for value in data.totals:
            for match in find(value.path, self.root):
                total: Any = match.obj
                if isinstance(total, str | int | float) and not isinstance(total, bool):
                    self.put(match, _written(total, lambda old: old + delta, value.factor or data.factor))

    def totals(self, data: Data) -> Iterator[tuple[str, Decimal]]:
        """Yield each total with the path that leads to it."""
        for value in data.totals:
            for match in find(value.path, self.root):
                if isinstance(match.obj, str | int | float) and not isinstance(match.obj, bool):
                    figure = _figure(_text(match.obj), value.factor or data.factor)
                    if figure is not None:
                        yield value.path, figure

    def text(self) -> str:
        """Return the data in ASCII, without `<`: safe inside a script and in any encoding."""
        try:
            text = _ENCODER.encode(self.root)
        except (ValueError, RecursionError):
            raise CannotEdit("the data hold a number that JSON cannot write") from None
        before, after = self._around
        return before + "\\u003c".join(text.split("<")) + after

    def texts(self, path: str) -> Iterator[tuple[JsonPlace, str]]:
        """Yield each text at a path that may hold JSON itself, with its place."""
        for match in find(path, self.root):
            if isinstance(match.obj, str) and _START.match(match.obj.lstrip()):
                yield match, match.obj

    def put(self, match: JsonPlace, value: str | int | float) -> None:
        """Write a value at the place that a path matched."""
        match.holder[match.key] = value
        self.changed = True


class ProductObject(NamedTuple):
    """A JSON object that shows one product."""

    document: Document
    data: Data
    object: dict[str, Any]

    def key(self, page: str, query: tuple[str, ...] = ()) -> str | None:
        """Return the key of the product that the object links to; None without a link.

        It is empty where the link leads to what is no product's page, such as the shop's first page.
        """
        linked = False
        for link in self.data.link:
            for match in find(link.path, self.object):
                value = match.obj
                if link.page and isinstance(value, str | int) and not isinstance(value, bool):
                    value = link.page.replace("${value}", quote(str(value)))
                if isinstance(value, str):
                    if key := product_key(value, page, query):
                        return key
                    linked = linked or bool(value)
        return "" if linked else None

    def has(self, part: str) -> bool:
        """Return whether the object holds a value of this part, such as `price`."""
        return next(self._values(part), None) is not None

    def text(self, part: str) -> str:
        """Return the first value of a part as text; empty when there is none."""
        value = next(self._values(part), None)
        return "" if value is None else _text(value[0].obj)

    def figures(self, part: str) -> Iterator[tuple[Decimal, int | None]]:
        """Yield the figures of a part, each with its scale, of values that hold exactly one."""
        for match, scale, factor in self._values(part):
            if (value := _figure(_text(match.obj), factor)) is not None:
                yield value, scale

    def texts(self, part: str) -> Iterator[str]:
        """Yield the values of a part as texts."""
        return (_text(match.obj) for match, *_ in self._values(part))

    def tell(self, text: str) -> int:
        """Put a text before each text at the place for texts; return how many. Raises CannotEdit."""
        found = [match for match in find(self.data.told or "", self.object) if isinstance(match.obj, str)]
        if not found:
            raise CannotEdit(f'the data have no text at "{self.data.told}"')
        for match in found:
            self.document.put(match, f"{text}\n{match.obj}")
        return len(found)

    def write(self, part: str, value: Decimal | str, base: Decimal | None = None) -> list[tuple[str, str]]:
        """Write a figure or a text into every place of a part; return the texts before and after.

        The upper end of its range, the sum of the line and the totals follow a price. `base`: the price that
        becomes `value` (None: the object's first); those of variants keep their difference to it.
        """
        if part != "price" or isinstance(value, str):
            return self._put(part, value)
        (old, _), (quantity, _) = (next(self.figures(name), (None, None)) for name in ("price", "quantity"))
        old_sum, _ = next(self.figures("subtotal"), (None, None))
        base, new = old if base is None else base, value
        value = new if old is None or base is None else _variant(base, new, old)
        new_sum = value * (1 if quantity is None else quantity)
        if self.has("high_price") and value != old:
            self._move_high(value, old)
        done = self._put("price", value if base is None else partial(_variant, base, new))
        self._put("subtotal", new_sum)
        if old_sum is None and old is not None:
            old_sum = old * (1 if quantity is None else quantity)
        if old_sum is not None:
            self.document.shift(self.data, new_sum - old_sum)
        return done

    def _move_high(self, new: Decimal, old: Decimal | None) -> None:
        """Move the upper end of a range of prices by the factor by which the lower end moves."""
        if not old:
            raise CannotEdit("where the prices end cannot be told: the data hold no price that they begin at")
        for match, _, factor in list(self._values("high_price")):
            high: Any = match.obj
            self.document.put(match, _written(high, lambda end: _to_cents(end * new / old), factor))

    def _put(self, part: str, value: Decimal | str | Callable[[Decimal], Decimal]) -> list[tuple[str, str]]:
        done = []
        for match, scale, factor in list(self._values(part)):
            before: Any = match.obj
            after: Any = value
            if callable(value):
                after = _written(before, value, factor)
            elif not isinstance(value, str):
                after = _written(before, partial(_instead, on_scale(value, scale)), factor)
            if after != before:
                self.document.put(match, after)
            done.append((_text(before), _text(after)))
        return done

    def _values(self, part: str) -> Iterator[tuple[JsonPlace, int | None, int]]:
        """The values of a part, each with its scale and its factor."""
        usual = self.data.factor if part in ("subtotal", "high_price") else 1
        for value in self.data.roles.get(part, ()):
            for match in find(value.path, self.object):
                if isinstance(match.obj, str | int | float) and not isinstance(match.obj, bool):
                    stated = _best(match.holder) if value.scale else None
                    scale = stated or value.scale
                    yield match, scale, value.factor or usual


def _best(rating: object) -> int | None:
    """The highest rating that an object states beside its rating, in the terms of schema.org."""
    best = str(rating.get("bestRating")) if isinstance(rating, dict) else ""
    return int(best) if best.isascii() and best.isdigit() and int(best) else None


@lru_cache(maxsize=256)
def _needed(path: str) -> list[str]:
    """Names that stand in all data in which a path leads anywhere."""
    known = plain_path(path)
    if known and known.held:
        return [f'"{name}"' for name in known.held]
    plain = path.partition("[?")[0]
    return [name for names in _NAME.findall(plain) for name in names if name and name.isascii()]


def _written(
    old: str | int | float, change: Callable[[Decimal], Decimal], factor: int = 1
) -> str | int | float:
    """A changed value in the form of `old`: a number, a number as text, or a text that holds one figure."""
    if not isinstance(old, str):
        value = _multiplied(change(Decimal(str(old)) / factor), factor)
        return int(value) if value == value.to_integral() else float(round(value, 3))
    if machine := machine_figure(old):
        return machine.write(_multiplied(change(machine.value / factor), factor))
    source, written = _read(old)
    found = prices(written.text)
    if len(found) != 1 or not found[0].is_clear:
        raise CannotEdit(f'the data "{old[:80]}" do not hold exactly one figure')
    figure, new = found[0], change(found[0].signed)
    parts = figure.changes(new) if isinstance(figure, PriceSpan) else [figure.put(new)]
    for changed in reversed(parts):
        splices = written.splices(*changed)
        if splices is None:
            raise CannotEdit(f'the figure in the data "{old[:80]}" is spread over several elements')
        for at, until, part in reversed(splices):
            source = source[:at] + part.encode() + source[until:]
    return source.decode("utf-8", "surrogatepass")


def _figure(text: str, factor: int) -> Decimal | None:
    """The figure of a value as text; None unless it holds exactly one."""
    if machine := machine_figure(text):
        return machine.value / factor
    found = prices(_read(text[:LONGEST])[1].text)
    return found[0].signed if len(found) == 1 else None


def _multiplied(value: Decimal, factor: int) -> Decimal:
    """The value times the factor, which then has to be whole. Raises CannotEdit."""
    product = value * factor
    if factor > 1 and product != product.to_integral():
        raise CannotEdit(f"{value.normalize():f} times the factor {factor} is no whole number")
    return product


def _to_cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def _variant(base: Decimal, new: Decimal, old: Decimal) -> Decimal:
    return new if old in (base, new) else apart(old, base, new)


def _instead(new: Decimal, old: Decimal) -> Decimal:
    return new


def _read(text: str) -> tuple[bytes, SourceText]:
    """A text that may be HTML: as bytes, and what it shows."""
    source = text.encode("utf-8", "surrogatepass")
    ends = [match.span() for match in _MARKUP.finditer(source)]
    between = zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(source)], strict=True)
    written = read_text(source, between, "utf-8")
    for end, sign in missing_signs(source, 0, len(source), UNKNOWN):
        written = written.with_sign(sign, end)
    return source, written


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{Decimal(str(value)):f}"


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
_ENCODER = json.JSONEncoder(check_circular=False, allow_nan=False, separators=(",", ":"))
