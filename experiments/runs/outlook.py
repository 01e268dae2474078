"""Describe a run before it starts: conditions, an example, the effects it can find, what it may take."""

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from agents.base import is_simulated
from agents.providers import PROVIDERS
from agents.providers.batches import SHARE
from agents.providers.model_settings import split_agent
from agents.providers.pricing import price_tables
from agents.providers.rates import Rates
from agents.providers.settings import COMPUTERS, SERVICES
from analysis.estimators.detectable import detectable_d, detectable_effect
from experiments.console.progress import duration
from experiments.console.terminal import new_table
from experiments.designs.design import Trial
from experiments.designs.loading import AnyDesign
from experiments.executors.expected_use import assumed, expected_use
from experiments.executors.workers import Workers
from experiments.records.reading.queries import means, request_seconds
from experiments.runs.experiment_run import ExperimentRun

REQUEST_SECONDS: Final = 3.0
PAGE_CORE_SECONDS: Final = 0.7
"""The seconds that one core takes for an episode of an agent that answers at once.

That gives 140 to 210 episodes a minute on two cores.
"""
TEXT_CORE_SECONDS: Final = 0.005


@dataclass(frozen=True, slots=True)
class _Forecast:
    """The time, tokens and cost that the trials of an agent that have not run may take.

    `cost` is in USD; None: it cannot be told.
    """

    agent: str
    trials: int
    requests: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    seconds: float | None
    basis: str
    """The source of the figures."""


def outlook(run: ExperimentRun, trials: Sequence[Trial], workers: Workers) -> dict[str, Any]:
    """Return the whole outlook of a run, whose wanted trials these are, as plain data."""
    done = run.records.finished(run.design.run_id)
    one_agent = [trial for trial in trials if trial.agent == run.agents[0]]
    return {
        "run": run.design.run_id,
        "summary": run.summary(),
        "agents": list(run.agents),
        "not_ready": run.not_ready,
        "trials": run.total,
        "done": run.done,
        "to_run": run.total - run.done,
        "conditions": dict(Counter(trial.condition for trial in trials)),
        "interventions": dict(Counter(filter(None, map(run.design.intervention, trials)))),
        "orders": dict(Counter(trial.ordering for trial in trials)),
        "example": _example(run.design, one_agent),
        "smallest_effect": _smallest_effect(run.design, one_agent),
        "forecast": [
            asdict(
                _forecast(run, agent, [t for t in trials if t.agent == agent and t.id not in done], workers)
            )
            for agent in run.agents
        ],
    }


def _example(design: AnyDesign, trials: Sequence[Trial]) -> dict[str, Any]:
    """Describe one trial in full."""
    trial = design.exemplary(trials)
    shown = {"trial": trial.id, "condition": trial.condition, "set": trial.set, "ordering": trial.ordering}
    return shown | design.example(trial)


def _smallest_effect(design: AnyDesign, trials: Sequence[Trial]) -> dict[str, Any] | None:
    """Compute what one agent's trials find with power 0.8 at the level 0.05; None: nothing is sampled."""
    found = design.comparison(trials)
    if found is None:
        return None
    told = {"power": 0.8, "alpha": 0.05}
    if not found.alternatives:
        return told | {
            "of": found.of,
            "value": detectable_d(found.trials),
            "unit": "standard deviations (Cohen's d)",
        }
    points = detectable_effect(found.trials, found.alternatives)
    return told | {
        "of": f"{found.of}, in {found.trials:,} trials",
        "value": points if points <= 100 else None,  # no effect on a probability is larger
        "unit": "percentage points",
    }


def _forecast(run: ExperimentRun, agent: str, trials: Sequence[Trial], workers: Workers) -> _Forecast:
    count, is_text = len(trials), run.design.mode == "text"
    total_slots = workers.count * workers.slots_each([agent], is_text=is_text)
    cores = os.cpu_count() or 1
    core_seconds = TEXT_CORE_SECONDS if is_text else PAGE_CORE_SECONDS
    if known := means(run.records, run.design.run_id, agent):
        return _Forecast(
            agent,
            count,
            None,
            round(count * known.tokens_in),
            round(count * known.tokens_out),
            None if known.cost is None else count * known.cost,
            None if workers.in_batches else math.ceil(count / total_slots) * known.seconds,
            f"{known.trials:,} trials of this run that have ended; {total_slots} at the same time",
        )
    if run.design.mode == "logprobs":
        return _Forecast(agent, count, count, None, None, None, None, "not known before the first trials")
    if agent.partition(":")[0] not in (*PROVIDERS, *COMPUTERS):
        if not is_simulated(agent):
            return _Forecast(agent, count, None, None, None, None, None, "not known before the first trials")
        return _Forecast(
            agent, count, 0, 0, 0, 0.0, count * core_seconds / cores,
            f"assumed: {core_seconds:g} s of one core for a trial; {cores} cores",
        )  # fmt: skip
    use = expected_use(agent, trials, run.design)
    question, _, answer = assumed(run.design, agent, trials).partition(", ")
    each = request_seconds(run.records, agent) or REQUEST_SECONDS
    in_turn = math.ceil(count / total_slots) * use.requests / max(1, count) * each
    provider, _, model = split_agent(agent)[0].partition(":")
    limited = 0.0
    if service := SERVICES.get(provider) or COMPUTERS.get(provider):
        both = {"input-tokens": use.tokens_in, "output-tokens": use.tokens_out}
        needed = {"requests": use.requests, "tokens": sum(both.values()), **both}
        limited = Rates.of(service, model).least(needed)
    slowest = max(in_turn, limited, count * core_seconds / cores)
    limits = ", by the limits per minute" if slowest == limited else ""
    pace = f" and {_two_digits(each)} s, {answer}; {total_slots} trials at the same time{limits}"
    if workers.in_batches:
        pace = f", {answer}; in batches, at half the price, each within a day"
    return _Forecast(
        agent,
        count,
        use.requests,
        use.tokens_in,
        use.tokens_out,
        use.cost if use.cost is None or not workers.in_batches else SHARE * use.cost,
        None if workers.in_batches else slowest,
        f"assumed: a request takes {question}{pace}; prices of {price_tables()[0].as_of}",
    )


def print_outlook(console: Console, found: dict[str, Any]) -> None:
    """Print the whole outlook for people."""
    for line in _lines(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    table = new_table(
        "What it may take", "agent", "trials", "requests", "tokens in", "tokens out", "USD", "time"
    )
    for each in found["forecast"]:
        cells = (_count(each[name]) for name in ("trials", "requests", "tokens_in", "tokens_out"))
        cost = "?" if each["cost"] is None else f"{each['cost']:,.2f}"
        time = "?" if each["seconds"] is None else duration(math.ceil(each["seconds"]))
        table.add_row(escape(each["agent"]), *cells, cost, time)
    console.print(table)
    for each in found["forecast"]:
        console.print(
            f"{each['agent']}: {each['basis']}",
            style="dim",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _least(effect: dict[str, Any]) -> str:
    """A smallest effect in words."""
    if effect["value"] is None:
        return f"none ({effect['about']})"
    return f"{_two_digits(effect['value'])} {effect['unit']} ({effect['about']})"


def _two_digits(value: float) -> str:
    """Two digits that count, never as 1e+02."""
    return f"{value:.2g}" if abs(value) < 99.5 else f"{value:,.0f}"


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield from found["not_ready"]
    for title in ("conditions", "interventions", "orders"):
        counts = [f"{name} {count:,}" for name, count in found[title].items() if name]
        if counts:
            yield f"{title}: {', '.join(counts)}"
    if effects := found.get("smallest_effects"):
        count = f"{effects['trials']:,} trials of an agent"
        yield f"smallest effects that {count} can show (power 80 %, level 5 %):"
        for feature in dict.fromkeys(each["feature"] for each in effects["effects"]):
            own = [each for each in effects["effects"] if each["feature"] == feature]
            yield f"  {feature}: {', '.join(_least(each) for each in own)}"
        yield from (f"  {note}" for note in effects["notes"])
    elif effect := found["smallest_effect"]:
        size = "none" if effect["value"] is None else f"{_two_digits(effect['value'])} {effect['unit']}"
        value = f"{size}, of {effect['of']}"
        yield f"smallest effect that an agent's trials can show (power 80 %, level 5 %): {value}"
    example = found["example"]
    where = ", ".join(filter(None, (example["condition"], example["ordering"], example["set"])))
    yield f"an example ({where}):"
    for option in example.get("options", ()):
        facts = ((name, option[name]) for name in ("price", "rating", "reviews"))
        shown = "".join(f", {name} {value:g}" for name, value in facts if value is not None)
        nudge = option["intervention"]
        yield f"  {option['name']}{shown}{f'  <- {nudge}' if nudge else ''}"
    yield from (f'  "{text}"' for text in example.get("texts", ()))
    for prompt in example.get("prompts", ()):
        yield from (f"  {line}" for line in prompt.strip().splitlines())
