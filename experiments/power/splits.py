"""List the ways to spend a number of trials: on choice sets, texts or repeats, by what the experiment has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb
from typing import Any, Final, cast

from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.experiment_file import BatteryQuestions, Conjoint, Factorial
from experiments.designs.loading import AnyDesign, stored_design
from experiments.designs.shop.design import ShopDesign
from interventions.errors import UserError

FEWEST_SETS: Final = 4
_MOST_SETS: Final = 100_000


@dataclass(frozen=True)
class TrialSplit:
    """A way to spend trials.

    parts: how many of what, by the headings of a table. keys: what to write into the experiment file, dots
    between the levels. trials: those of each agent.
    """

    parts: Mapping[str, int]
    keys: Mapping[str, Any]
    trials: int


def with_keys(design: AnyDesign, keys: Mapping[str, Any]) -> AnyDesign:
    """Return the experiment with these keys, and without its stopping rule and plan."""
    data = {name: own for name, own in design.source.data.items() if name not in ("stopping", "plan")}
    for name, value in keys.items():
        _put(data, name.split("."), value)
    return stored_design(replace(design.source, data=data), "")


@lru_cache(maxsize=4)
def _most_sets(design: ShopDesign) -> int:
    """The number of choice sets that there are; counted once, because it takes a while."""
    keys = all_sets(design)
    return len(cast("ShopDesign", with_keys(design, keys) if keys else design).sets)


def _put(data: dict[str, Any], path: Sequence[str], value: Any) -> None:
    name, *rest = path
    if rest:
        data[name] = dict(data.get(name, {}))
        _put(data[name], rest, value)
    else:
        data[name] = value


def of_shop(design: ShopDesign, trials: int) -> Iterator[TrialSplit]:
    """Yield all texts, a third of them and one: as many sets as there can be, then fewer, repeated."""
    if design.experiment.head_to_head:
        raise UserError(f"--budget: {design.name} has nudges head to head (on: both); use --trials")
    texts = tuple(nudge.id for nudge in design.nudges if nudge)
    most, is_file = _most_sets(design), bool(design.experiment.options.file)
    cells = trials // design.block_size()
    for number in sorted({len(texts), max(1, round(len(texts) / 3)), 1}, reverse=True) if texts else (0,):
        each = max(number, 1)
        fewest = max(1, cells // (each * most))
        for repeats in (fewest, fewest + 1) if is_file else (fewest, fewest + 1, 4 * fewest):
            sets = min(most, cells // (each * repeats))
            if sets < FEWEST_SETS or (is_file and sets < most):
                continue
            keys: dict[str, Any] = {} if is_file else {"options.sets": sets}
            if 0 < number < len(texts):
                chosen = [texts[place * len(texts) // number] for place in range(number)]
                keys |= {"factors.nudge.only": chosen}
            parts = {"sets": sets, **({"texts": number} if texts else {}), "repeats": repeats}
            yield TrialSplit(parts, {**keys, "repeats": repeats}, sets * each * repeats * design.block_size())


def of_conjoint(design: CardDesign, trials: int) -> Iterator[TrialSplit]:
    """Yield sets shown once, twice and four times, of all sizes in the proportions of the file.

    Raises UserError for ready-made cards.
    """
    spec = cast("Conjoint", design.experiment.design.one)
    if not spec.blocks:
        raise UserError(f"--budget: the cards of {design.name} are ready-made, in one way only; use --trials")
    profiles = {option.option for trial in design.trials(["simulated"]) for option in trial.options}
    shown = [block.sets * block.repeats for block in spec.blocks]
    orders = design.block_size()
    for repeats in (1, 2, 4):
        sets = [
            min(comb(len(profiles), block.set_size), trials * own // (orders * repeats * sum(shown)))
            for block, own in zip(spec.blocks, shown, strict=True)
        ]
        if min(sets) >= FEWEST_SETS:
            blocks = [
                {"set_size": block.set_size, "sets": own, "repeats": repeats}
                for block, own in zip(spec.blocks, sets, strict=True)
            ]
            parts = {"sets": sum(sets), "repeats": repeats}
            yield TrialSplit(parts, {"design.conjoint.blocks": blocks}, sum(sets) * repeats * orders)


def of_factorial(design: CardDesign, trials: int) -> Iterator[TrialSplit]:
    """Yield all products in all conditions, as often as can be."""
    spec = cast("Factorial", design.experiment.design.one)
    cells = design.size // spec.repeats
    if repeats := trials // cells:
        parts = {"questions": cells, "repeats": repeats}
        yield TrialSplit(parts, {"design.factorial.repeats": repeats}, cells * repeats)


def of_battery(design: CardDesign, trials: int) -> Iterator[TrialSplit]:
    """Yield all scenarios and temperatures, and the first of each."""
    spec = cast("BatteryQuestions", design.experiment.design.one)
    for number, scenarios, temperatures in (
        (len(spec.scenarios) * len(spec.temperatures), spec.scenarios, spec.temperatures),
        (1, spec.scenarios[:1], spec.temperatures[:1]),
    ):
        questions = design.sets * design.block_size() * number
        if valid := trials // questions:
            keys = {
                "design.battery.scenarios": list(scenarios),
                "design.battery.temperatures": list(temperatures),
                "design.battery.valid": valid,
                "design.battery.attempts": valid * spec.attempts // spec.valid,
            }
            yield TrialSplit({"questions": questions, "answers": valid}, keys, questions * valid)
        if number == 1:
            return


def all_sets(design: ShopDesign) -> Mapping[str, Any]:
    """Return the keys that ask for all choice sets that there are; none where a file lists them."""
    return {} if design.experiment.options.file else {"options.sets": _MOST_SETS, "repeats": 1}
