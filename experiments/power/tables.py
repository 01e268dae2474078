"""Print what simulated studies show, and the splits of a budget."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from experiments.console.terminal import new_table, stdout_console
from experiments.power.budget import LARGEST, Split
from experiments.power.results import POINTS, ContrastPower, TestedEffect

_LEFT = ("effect of", "about", "unit")
_NEW = "new sets"
_ABOUT = "these sets: by the exact test; new sets like these: by the clustered error"


def print_contrasts(
    found: Sequence[ContrastPower], named: Collection[str], studies: int, alpha: float, notes: Iterable[str]
) -> None:
    """Print a line for each named effect, the table of all contrasts, and what it is about."""
    console = stdout_console()
    several, units = len(_abouts(found)) > 1, sorted({contrast.unit for contrast in found})
    for contrast in found:
        if contrast.feature in named:
            size = f"{_number(contrast.effect)} {contrast.unit}"
            _say(console, f"{contrast.trials:,} trials find {contrast.feature} ({size}): {_told(contrast)}")
    unit, about = (["unit"] if len(units) > 1 else []), (["about"] if several else [])
    headings = ("trials", "effect of", "size", *unit, *about, "power", "claimed", "95 %", "least")
    table = _table("What the experiment can show", headings)
    for contrast in found:
        for target in contrast.targets:
            table.add_row(
                f"{contrast.trials:,}",
                contrast.feature,
                _number(contrast.effect),
                *([contrast.unit] if unit else []),
                *([target.about] if about else []),
                _share(target.power),
                _share(target.claimed),
                _width(target),
                _number(target.detectable),
            )
    console.print(table)
    by_chance = f"(by chance ± {50 / studies**0.5:.0f} points)"
    is_empty = any(target.power is None for contrast in found for target in contrast.targets)
    for line in (
        f"power: the share of {studies:,} simulated studies with p < {alpha:g} {by_chance}",
        "claimed: the same with p adjusted for all effects, as the first sentences do",
        "95 %: half the width of the interval; least: the effect claimed with power 80 %",
        *([f"size, 95 % and least are in {_unit(units[0])}"] if len(units) == 1 else []),
        *([_ABOUT] if _NEW in _abouts(found) else []),
        *(["empty: no such test, or too few trials or choice sets for one"] if is_empty else []),
        *notes,
    ):
        _say(console, line, "dim")


def print_splits(
    found: Sequence[Split],
    features: Sequence[str],
    budget: float,
    affordable: int,
    studies: int,
    notes: Iterable[str],
) -> None:
    """Print the splits of a budget, best first, and what to write into the experiment file for the best."""
    console = stdout_console()
    agents = ["agents"] if any(len(split.agents) > 1 for split in found) else []
    of = ["effect of"] if len(features) > 1 else []
    abouts = _abouts(contrast for split in found for contrast in split.contrasts)
    shown = abouts if len(abouts) > 1 else ["power"]
    headings = (*agents, *found[0].way.parts, "trials", "USD", *of, *shown, "off by")
    table = _table(f"What {budget:,.2f} USD can show", headings)
    for split in found:
        counts = (*([len(split.agents)] if agents else []), *split.way.parts.values(), split.trials)
        what = [*(f"{count:,}" for count in counts), f"{split.cost:,.2f}"]
        for number, feature in enumerate(features):
            contrast = split.of(feature)
            targets = {target.about: target for target in contrast.targets} if contrast else {}
            own = [targets.get(about) for about in abouts]
            told = [f"{_share(each.power)} {_width(each)}".strip() if each else "" for each in own]
            error = _number(contrast.error if contrast else None)
            first = what if not number else [""] * len(what)
            table.add_row(*first, *([feature] if of else []), *told, error)
    console.print(table)
    _say(console, "The best one, as keys of the experiment file:")
    for key, value in found[0].keys.items():
        _say(console, f"  {key}: {_yaml(value)}")
    by_chance = f"(by chance ± {50 / studies**0.5:.0f} points)"
    more = f"the money buys {affordable:,} trials of each agent; {LARGEST:,} are split"
    for line in (
        f"power in {studies:,} simulated studies {by_chance}",
        "±: half the width of the 95 % interval",
        *([_ABOUT] if _NEW in abouts else []),
        "off by: 95 % of estimates are no further from the effect in all that is like this",
        "order: by power; where that is alike but for chance, by off by",
        *([more] if affordable > LARGEST else []),
        *notes,
    ):
        _say(console, line, "dim")


def _told(contrast: ContrastPower) -> str:
    found = [(target.claimed, target.about) for target in contrast.targets if target.claimed is not None]
    if not found:
        return "there is no test with so few"
    if len(contrast.targets) == 1:
        return f"claimed in {found[0][0]:.0%} of studies"
    return f"claimed in {', '.join(f'{share:.0%} ({about})' for share, about in found)} of studies"


def _abouts(contrasts: Iterable[ContrastPower]) -> list[str]:
    """What the tests are about, new sets last."""
    found = dict.fromkeys(target.about for contrast in contrasts for target in contrast.targets)
    return sorted(found, key=lambda about: about == _NEW)


def _unit(unit: str) -> str:
    return {POINTS: "percentage points", "d": "Cohen's d"}.get(unit, unit)


def _number(value: float | None) -> str:
    if value is None or value != value:  # noqa: PLR0124 (not a number)
        return ""
    return f"{value:.1f}" if abs(value) >= 3 else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _width(target: TestedEffect) -> str:
    return "" if target.half_width is None else f"± {_number(target.half_width)}"


def _table(title: str, headings: Sequence[str]) -> Any:
    table = new_table(title, *headings)
    for column, heading in zip(table.columns, headings, strict=True):
        column.justify = "left" if heading in _LEFT else "right"
    return table


def _yaml(value: Any) -> str:
    """The value as YAML in one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_yaml(own)}' for name, own in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return "null" if value is None else str(value)


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
