"""Write a fitted shopper as a YAML file, and never half of one."""

from pathlib import Path

from experiments.console.terminal import plain
from experiments.fitting.shopper_fit import Parameter, ShopperFit
from experiments.fitting.shown_choices import BRAND
from experiments.records.whole_file import whole_file
from interventions.errors import UserError

SUFFIXES = (".yaml", ".yml")


def shopper_yaml(fit: ShopperFit, origin: str) -> str:
    """Return the text of the file; `origin` says in words of whose choices in what the shopper was made."""
    about = [
        f"A simulated shopper that was fitted to choices (souk fit): {origin}.",
        f"{fit.choices:,} choices in {fit.sets:,} choice sets; maximum likelihood, errors clustered by set.",
        *_quality_lines(fit),
        *fit.notes,
    ]
    lines = [f"# {one_line(text)}" for text in about] + ["taste:"]
    told = [each for each in fit.parameters if not each.fixed]
    lines += [_line(each.name, each) for each in told if not each.name.startswith(BRAND)]
    if brands := [each for each in told if each.name.startswith(BRAND)]:
        lines += ["  brand:", *(f"  {_line(each.name.removeprefix(BRAND), each)}" for each in brands)]
    lines += [f"  # {line}" for line in fixed_lines(fit)]
    return "\n".join(lines) + "\n"


def _quality_lines(fit: ShopperFit) -> list[str]:
    """Say in words how well the shopper predicts choice sets that it was not fitted to."""
    if not fit.quality:
        return []
    mine, constant, chance = (fit.quality[name] for name in ("shopper", "constant", "chance"))
    return [
        f"On choice sets that were held out ({fit.folds} folds): log-likelihood per choice {mine.loglik:.3f}"
        f" (position alone {constant.loglik:.3f}, chance {chance.loglik:.3f}),"
        f" McFadden's R2 {mine.pseudo_r2:.3f}, {mine.right:.0%} right, Brier score {mine.brier:.3f}."
    ]


def fixed_lines(fit: ShopperFit) -> list[str]:
    """Say in words what is not estimated, and why."""
    lines = [f"fixed at 0, as {reason}: {', '.join(names)}" for reason, names in fit.fixed.items()]
    return [*lines, "not estimated: noise (1, the unit of the weights), spread (0)"]


def one_line(text: str) -> str:
    """Return a text that a stranger may have written as one line without control characters."""
    return " ".join(plain(text).split())


def check_new(path: Path) -> None:
    """Raise UserError where a shopper's file cannot be written under this name."""
    if path.suffix not in SUFFIXES:
        raise UserError(f"--out {path}: the suffix must be .yaml or .yml")
    if path.exists():
        raise UserError(f"--out {path}: exists and is not overwritten; choose another file")


def write_new(text: str, path: Path) -> None:
    """Write the file. Raises UserError."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _line(name: str, each: Parameter) -> str:
    error = each.reason or "no standard error"
    if each.std_error is not None:
        low, high = each.conf_low, each.conf_high
        error = f"standard error {each.std_error:.2g}, 95 % interval {low:.3g} to {high:.3g}"
    return f"  {name}: {each.estimate!r}  # {error}"
