"""Tell which options of a trial are right, by the rule of a profile."""

from collections.abc import Mapping, Sequence
from typing import Any


def right_options(
    rule: Mapping[str, Any], options: Sequence[Mapping[str, Any]], nudge: str
) -> list[bool] | None:
    """Return which options are right; None where a figure that counts is not known of one of them.

    rule: `at_most` and `at_least` (limits by figure), `carries` (the id of an intervention), `lowest` or
    `highest` (a figure, of the options that are left); empty: does not count. options: each with the figures
    that were shown (`price`, `rating`, `reviews`; None: not known), and whether it was `nudged`; the trial's
    intervention is `nudge`.
    """
    extremes = [(rule[name], best) for name, best in (("lowest", min), ("highest", max)) if rule[name]]
    figures = {*rule["at_most"], *rule["at_least"], *(name for name, _ in extremes)}
    if any(option[name] is None for option in options for name in figures):
        return None
    fits = [
        all(option[name] <= most for name, most in rule["at_most"].items())
        and all(option[name] >= least for name, least in rule["at_least"].items())
        and (not rule["carries"] or (option["nudged"] == 1 and nudge == rule["carries"]))
        for option in options
    ]
    for name, best in extremes:
        extreme = best((option[name] for option, fit in zip(options, fits, strict=True) if fit), default=None)
        fits = [fit and option[name] == extreme for option, fit in zip(options, fits, strict=True)]
    return fits
