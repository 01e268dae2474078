"""Rehearse an experiment of any kind with a simulated agent, to tell its power before it is run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agents.base import is_simulated
from agents.simulated.own_profiles import profile_of
from agents.simulated.tab_shopper import ShopperProfile
from experiments.designs.loading import AnyDesign
from experiments.power.answers import BatteryRehearsal, FactorialRehearsal
from experiments.power.cards import ConjointRehearsal
from experiments.power.orders import OrdersRehearsal
from experiments.power.rehearsal import Power, Rehearsal, Studies
from experiments.power.results import DIFFER, POWER
from experiments.power.shops import ShopRehearsal
from experiments.power.splits import (
    TrialSplit,
    all_sets,
    of_battery,
    of_conjoint,
    of_factorial,
    of_shop,
    with_keys,
)
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean

POWERS: Final[dict[str, Power]] = {
    "choice": Power(ShopRehearsal, of_shop, all_sets),
    "orders": Power(OrdersRehearsal, of_shop, all_sets),
    "conjoint": Power(ConjointRehearsal, of_conjoint),
    "montecarlo": Power(FactorialRehearsal, of_factorial),
    "biases": Power(BatteryRehearsal, of_battery),
}
"""How the power of a kind of study is told; of a kind that is not here nothing is left to chance."""
STAND_IN: Final = "simulated:balanced"
"""The simulated agent that stands in for others."""
_MOST_TRIALS: Final = 10_000
_FEW_STUDIES: Final = (50, 100)
"""The fewest and the most studies for a first impression, within seconds."""
_FEW_TRIALS: Final = 60_000
"""The trials of all these studies, between those limits."""
LARGEST: Final = 1_000.0
"""The largest effect that is not one on a probability."""


def features_of(design: AnyDesign) -> Mapping[str, str]:
    """Return the contrasts that an experiment plans, each with its unit.

    Raises UserError for an experiment of which nothing can be said.
    """
    return _power(design).rehearsal.features(design)


def rehearsal(
    design: AnyDesign, profile: ShopperProfile, effects: Mapping[str, float], differ: float
) -> Rehearsal[Any]:
    """Return the experiment with a simulated agent of this profile that has these effects.

    differ: how far choice sets, texts or products differ in the effects, as a share of these. Raises
    UserError for an effect that no such agent has.
    """
    return _power(design).rehearsal(design, profile, effects, differ)


def smallest_effects(design: AnyDesign, agents: Sequence[str], trials: int) -> dict[str, Any] | None:
    """Return the smallest effects that so many trials of an agent find with a power of 80 %, at level 5 %.

    An agent like the first simulated one among `agents` answers in a few simulated studies; of very many
    trials only the first are simulated. None for an experiment of which nothing can be said.
    """
    stand_in = next((name for name in agents if is_simulated(name)), STAND_IN)
    try:
        features_of(design)
        rehearsed = rehearsal(design, profile_of(stand_in), {}, DIFFER)
    except UserError:
        return None
    size = min(trials, rehearsed.size, _MOST_TRIALS)
    least, most = _FEW_STUDIES
    studies = min(max(_FEW_TRIALS // size, least), most)
    found = [
        {"feature": each.feature, "about": target.about, "value": target.detectable, "unit": each.unit}
        for each in rehearsed.of(Studies(size, studies))
        for target in each.targets
    ]
    others = f"other effects: those of {stand_in}; {studies} simulated studies"
    told = {"trials": size, "power": POWER, "alpha": 0.05, "effects": found}
    return {**told, "notes": [*(line.replace(" (--differ)", "") for line in rehearsed.assumptions), others]}


def effects_in(given: list[str], features: Mapping[str, str]) -> dict[str, float]:
    """Read `FEATURE=NUMBER`. Raises UserError for what is no feature of the experiment with a number."""
    found: dict[str, float] = {}
    for text in given:
        name, _, number = text.partition("=")
        if name not in features:
            hint = did_you_mean(name, features, noun="there are")
            raise UserError(f'--effect {text}: the experiment has no effect "{name}"; {hint}')
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        unit = features[name]
        if not abs(value) <= (100 if unit == "points" else LARGEST):
            words = {"points": "percentage points", "% per 1 %": "percent for a price 1 % higher"}
            raise UserError(f"--effect {text}: write it as {name}=10, a number of {words.get(unit, unit)}")
        found[name] = value
    return found


def ways(design: AnyDesign, trials: int) -> Iterator[TrialSplit]:
    """Return the ways to spend so many trials of an agent on an experiment; the one first that varies most.

    Raises UserError for an experiment that has but one way.
    """
    return _power(design).ways(design, trials)


def widest(design: AnyDesign) -> AnyDesign:
    """Return the experiment with all choice sets that there are, on which shoppers are calibrated."""
    keys = _power(design).widest(design)
    return with_keys(design, keys) if keys else design


def _power(design: AnyDesign) -> Power:
    """Return how the power of such experiments is told. Raises UserError where nothing can be said."""
    if design.mode != "logprobs" and (power := POWERS.get(design.analysis)):
        return power
    if design.mode != "logprobs":
        cause = f"nothing is known of the power of experiments that are analysed as {design.analysis}"
        raise UserError(f"{design.name}: {cause}; use souk power --groups for a comparison of groups")
    raise UserError(
        f"{design.name}: answers are scored, and nothing is left to chance that a power could be about; use"
        " souk power --groups for a comparison of groups"
    )
