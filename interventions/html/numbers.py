"""Find figures in a text as shops write them, read them, and write them again in the same format."""

import re
from decimal import ROUND_HALF_UP, Decimal

# A character reference holds digits that are no figure.
FIGURE = re.compile(rb"&#?[0-9a-zA-Z]+;?|(?P<figure>[0-9](?:[0-9.,]*[0-9])?)")
_TEXT_FIGURE = re.compile(r"[0-9](?:[0-9.,]*[0-9])?")


def read_figure(text: str) -> Decimal:
    """Return the first figure in `text`: `$1,234.00` is 1234, `1.234,50 €` is 1234.5. Raises ValueError."""
    found = find_figure(text)
    if not found:
        raise ValueError(f'no figure in "{text}"')
    whole, fraction, _ = _split(found)
    return Decimal(f"{whole}.{fraction or 0}")


def figures(text: str, pattern: str | None = None) -> list[str]:
    """Return all figures in `text` as they are written.

    `pattern`: a regular expression whose one group finds the figure; then only its first match counts.
    """
    if pattern is None:
        return _TEXT_FIGURE.findall(text)
    found = re.search(pattern, text)
    return [found[1]] if found else []


def find_figure(text: str) -> str:
    """Return the first figure in `text` as it is written; empty when there is none."""
    found = _TEXT_FIGURE.search(text)
    return found[0] if found else ""


def write_like(old: str, value: Decimal, *, machine: bool = False) -> str:
    """Write `value` in the format of the figure `old`: its separators and its number of decimals.

    `machine`: the figure is a whole attribute (`data-price-amount="11.5"`): plain, without padding.
    """
    if machine:
        return f"{value.normalize():f}"
    _, fraction, point = _split(old)
    cents = value.quantize(Decimal("0.01"), ROUND_HALF_UP)
    places = len(fraction) if fraction else (0 if cents == cents.to_integral() else 2)
    text = f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,f}"
    if not re.search(r"[.,]\d{3}(?!\d)", old) and re.search(r"\d{4}", old):
        text = text.replace(",", "")
    return text if point == "." else text.translate(str.maketrans(",.", ".,"))


def on_scale(percent: Decimal, scale: int | None) -> Decimal:
    """Return a percentage as a figure out of `scale`, such as 4.1 of 5 (None: as a percentage)."""
    return percent if scale is None else round(percent * scale / 100, 2)


def _split(figure: str) -> tuple[str, str, str]:
    """Whole part, decimals, decimal separator: the last one, unless three digits follow or it comes twice."""
    last = max(figure.rfind("."), figure.rfind(","))
    point = figure[last] if last >= 0 else "."
    other = "," if point == "." else "."
    tail = figure[last + 1 :]
    if last < 0 or figure.count(point) > 1 or (len(tail) == 3 and other not in figure):
        whole, fraction, point = figure, "", (other if last >= 0 else point)
    else:
        whole, fraction = figure[:last], tail
    return re.sub(r"[.,]", "", whole), fraction, point
