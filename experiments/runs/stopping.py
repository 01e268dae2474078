"""Tell of a run whether a stopping rule watches it, and say what the rule did.

Without a rule nothing is loaded that estimates: it takes seconds.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments.designs.shop.strata_order import strata_order
from experiments.records.store import Records

if TYPE_CHECKING:
    from experiments.runs.stopping_watch import StoppingWatch


def stopping_watch(records: Records, run: str, facts: Mapping[str, Any]) -> "StoppingWatch | None":
    """Return the watch of a run with these facts; None where no rule may stop it."""
    order = strata_order(facts)
    if order is None:
        return None
    from experiments.runs.stopping_watch import StoppingWatch  # noqa: PLC0415 (estimators take a while)

    return StoppingWatch(records, run, order)


def stop_line(found: Mapping[str, Any]) -> str:
    """Say that an agent was stopped by its rule."""
    of = f"{found['trials']:,} of at most {found['most']:,} trials"
    return f"{found['agent']}: stopped by its rule after {of}"


def saved_text(found: Mapping[str, Any]) -> str:
    """Say how many trials, and where that is known how many dollars, the rule has saved."""
    cost = found["saved_cost"]
    dollars = "" if not cost else f"{cost:,.2f}" if cost >= 1 else f"{cost:.2g}"
    return f"{found['saved']:,} trials saved{f' (about {dollars} USD)' if dollars else ''}"


def sequence_line(found: Mapping[str, Any]) -> str:
    """Say what the rule knows of an agent: its trials, the estimate and its interval at any time."""
    numbers = "no stratum is complete yet"
    if found["strata"]:
        level, p_value = 100 * (1 - found["alpha"]), max(found["p_value"], 0.001)
        numbers = (
            f"{found['effect']} {found['estimate']:.1f} points ({level:g} % at any time:"
            f" {found['conf_low']:.1f} to {found['conf_high']:.1f}; p {p_value:.3f};"
            f" {found['strata']:,} strata)"
        )
    if found["decision"]:
        return f"{stop_line(found)}: {numbers}; {saved_text(found)}"
    waiting = f"; {found['waiting']:,} trials wait for one before them" if found["waiting"] else ""
    return f"{found['agent']}: {found['ended']:,} of at most {found['most']:,} trials: {numbers}{waiting}"
