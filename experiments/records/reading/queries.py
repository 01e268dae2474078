"""Answer questions about runs for people, budgets and replays; tables are in `tidy_tables.py`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

import sqlalchemy as sql

from experiments.records.page_figures import COMPARED
from experiments.records.record import EndedTrial, Row, TrialRow
from experiments.records.store import Records
from experiments.records.tables import (
    calls,
    control,
    options,
    page_errors,
    paid,
    runs,
    same_trial,
    steps,
    trials,
)

UNANSWERED: Final = "no answer that can be read"
"""What happened to a request of which no response came, or a broken one."""


@dataclass(frozen=True, slots=True)
class OutcomeCell:
    """The trials of an agent in a condition that ended in one outcome, and their sums.

    `cost` is in USD, what is known of it; `unknown_costs` counts the trials of which not all is known.
    """

    agent: str
    condition: str
    outcome: str
    trials: int
    tokens_in: int
    tokens_out: int
    cost: float
    unknown_costs: int


@dataclass(frozen=True, slots=True)
class Costs:
    """The known cost of an agent's trials, in USD, and how many trials that ended have an unknown cost.

    Those that ended as `infra_error` will be run again, and count then.
    """

    total: float
    dearest: float
    unknown: int


@dataclass(frozen=True, slots=True)
class Means:
    """The means of what an agent's ended trials took.

    `cost` is in USD; None: not known for all of them.
    """

    trials: int
    tokens_in: float
    tokens_out: float
    cost: float | None
    seconds: float


def run_names(records: Records, run: str | None = None) -> list[tuple[str, str, str]]:
    """Return the id, name and start of all runs, the latest first, or of the one with this id."""
    query = sql.select(runs.c.run, runs.c.name, runs.c.started_at)
    query = query.order_by(runs.c.started_at.desc(), runs.c.run)
    rows = records.rows(runs, query if run is None else query.where(runs.c.run == run))
    return [(row["run"], row["name"], row["started_at"]) for row in rows]


def runs_of_kind(records: Records, run: str) -> list[str]:
    """Return the ids of the other runs that are analysed as this one is, the latest first."""
    kind = sql.func.coalesce(runs.c.facts["analysis"].as_string(), "choice")
    own = records.value(sql.select(kind).where(runs.c.run == run))
    query = sql.select(runs.c.run).where(kind == own, runs.c.run != run)
    found = records.rows(runs, query.order_by(runs.c.started_at.desc(), runs.c.run))
    return [row["run"] for row in found]


def facts_of(records: Records, run: str) -> Row:
    """Return the facts of a run as they are stored, unchecked; empty where they are none."""
    found = records.value(sql.select(runs.c.facts).where(runs.c.run == run))
    return found if isinstance(found, dict) else {}


def agents_of(records: Records, run: str) -> list[str]:
    """Return the agents that have trials in a run, in order of their names."""
    query = sql.select(trials.c.agent).where(trials.c.run == run).distinct()
    return sorted(records.column(query))


def latest_with_family(records: Records, family: str) -> str:
    """Return the run that began last and has interventions of a family; empty: none has."""
    query = (
        sql.select(runs.c.run)
        .where(sql.exists().where(trials.c.run == runs.c.run, trials.c.family == family))
        .order_by(runs.c.started_at.desc())
    )
    return str(records.value(query.limit(1)) or "")


def first_ended(records: Records, run: str, outcome: str, saying: str = "") -> tuple[int, str]:
    """Count the trials with an outcome whose reason has this text, and return the first one's reason."""
    mine = (trials.c.run == run) & (trials.c.outcome == outcome) & trials.c.reason.contains(saying)
    found = records.column(sql.select(trials.c.reason).where(mine).order_by(trials.c.started_at))
    return len(found), found[0] if found else ""


def figures_of_options(records: Records, run: str) -> tuple[list[Row], list[tuple[str, int]]]:
    """Return each product's figures in catalogue and pages, and how often displayed ones are not known.

    The latter is counted in choices, by the column `unread`.
    """
    compared = sql.select(*(options.c[name] for name in COMPARED)).where(options.c.run == run).distinct()
    unread = sql.select(options.c.unread, sql.func.count())
    unread = unread.join_from(options, trials, same_trial(options, trials))
    unread = unread.where(options.c.run == run, trials.c.outcome == "choice").group_by(options.c.unread)
    with records.reading() as connection:
        rows = connection.execute(compared.order_by(options.c.option)).mappings()
        return [dict(row) for row in rows], [(why or "", n) for why, n in connection.execute(unread)]


def trials_with_page_errors(records: Records, run: str) -> list[tuple[str, str, int]]:
    """Return each error of pages with a condition, and how many of its trials had it."""
    by = (page_errors.c.text, trials.c.condition)
    query = sql.select(*by, sql.func.count(trials.c.trial.distinct()))
    query = query.join_from(trials, page_errors, same_trial(trials, page_errors))
    query = query.where(trials.c.run == run).group_by(*by).order_by(*by)
    return [(text, condition, number) for text, condition, number in records.ask(query)]


def partly_opened(records: Records, run: str) -> int:
    """Count the guests' choices in a run before which not all options had been opened."""
    query = (
        sql.select(sql.func.count(trials.c.trial.distinct()))
        .join_from(trials, options, same_trial(trials, options))
        .where(trials.c.run == run, trials.c.outcome == "choice", options.c.opened == 0)
    )
    return records.value(query) or 0


def cells(records: Records, run: str) -> list[OutcomeCell]:
    """Return the stored trials of a run by agent, condition and outcome."""
    columns = (trials.c.agent, trials.c.condition, trials.c.outcome)
    query = (
        sql.select(
            *columns,
            sql.func.count(),
            *(sql.func.sum(trials.c[name]) for name in ("tokens_in", "tokens_out")),
            sql.func.sum(paid),
            sql.func.count(trials.c.cost),
        )
        .where(trials.c.run == run)
        .group_by(*columns)
        .order_by(*columns)
    )
    return [
        OutcomeCell(agent, condition, outcome, n, int(sent), int(received), cost or 0.0, n - known)
        for agent, condition, outcome, n, sent, received, cost, known in records.ask(query)
    ]


def wasted(records: Records, run: str) -> float:
    """Return the cost of stored attempts that were replaced, in USD."""
    found = records.rows(control, sql.select(control.c.wasted).where(control.c.run == run))
    return sum((row["wasted"] for row in found), 0.0)


def cached_tokens(records: Records, run: str) -> dict[str, int]:
    """Return the tokens that providers took from their caches for a run's requests, by `PROVIDER:MODEL`."""
    query = (
        sql.select(trials.c.agent, calls.c.model, sql.func.sum(calls.c.tokens_cached))
        .join_from(calls, trials, same_trial(calls, trials))
        .where(calls.c.run == run, calls.c.tokens_cached > 0)
        .group_by(trials.c.agent, calls.c.model)
    )
    found = Counter[str]()
    for agent, model, tokens in records.ask(query):
        found[f"{agent.partition(':')[0]}:{model}"] += int(tokens)
    return dict(found)


def answering(records: Records, run: str) -> list[tuple[str, str]]:
    """Return each model that was asked in a run, with one that answered by its provider's word."""
    asked = sql.select(calls.c.model, calls.c.answered_by).where(
        calls.c.run == run, calls.c.answered_by != ""
    )
    found = records.ask(asked.distinct().order_by(calls.c.model, calls.c.answered_by))
    return [(str(model), str(answered)) for model, answered in found]


def invalid_answers(records: Records, run: str) -> dict[str, Counter[str]]:
    """Count the trials of each agent that ended with an invalid answer, by the reason."""
    query = sql.select(trials.c.agent, trials.c.reason).where(
        trials.c.run == run, trials.c.reason.like("invalid answer: %")
    )
    found: dict[str, Counter[str]] = {}
    for agent, reason in records.ask(query):
        found.setdefault(agent, Counter())[re.split(r"\W+", reason, maxsplit=3)[2]] += 1
    return found


def failed_requests(records: Records, run: str) -> Iterator[tuple[str, int, Counter[str]]]:
    """Yield each agent with requests that failed, how many it made, and the failed ones by what happened."""
    query = sql.select(trials.c.agent, calls.c.failed, sql.func.count(), sql.func.sum(calls.c.retries))
    query = query.join_from(calls, trials, same_trial(calls, trials)).where(calls.c.run == run)
    query = query.group_by(trials.c.agent, calls.c.failed).order_by(trials.c.agent)
    made, failed = Counter[str](), dict[str, Counter[str]]()
    for agent, statuses, number, retries in records.ask(query):
        made[agent] += number + int(retries)
        for status in (records.checked(calls, {"failed": statuses})["failed"] or "").split():
            what = f"HTTP {status}" if status.isdecimal() and int(status) >= 300 else UNANSWERED
            failed.setdefault(agent, Counter())[what] += number
    for agent, each in failed.items():
        yield agent, made[agent], each


def costs(records: Records, run: str) -> dict[str, Costs]:
    """Return the costs of each agent's trials in a run."""
    query = sql.select(
        trials.c.agent,
        sql.func.sum(paid),
        sql.func.max(paid),
        sql.func.count().filter(trials.c.cost.is_(None), trials.c.outcome != "infra_error"),
    ).where(trials.c.run == run)
    found = records.ask(query.group_by(trials.c.agent))
    return {agent: Costs(total or 0.0, dearest or 0.0, unknown) for agent, total, dearest, unknown in found}


def means(records: Records, run: str, agent: str) -> Means | None:
    """Return the means of what an agent's ended trials in the run took; None: there are none."""
    averages = [sql.func.avg(trials.c[name]) for name in ("tokens_in", "tokens_out", "cost", "seconds")]
    query = sql.select(sql.func.count(), sql.func.count(trials.c.cost), *averages).where(
        trials.c.run == run, trials.c.agent == agent, trials.c.outcome != "infra_error"
    )
    number, priced, tokens_in, tokens_out, cost, seconds = records.ask(query)[0]
    if not number:
        return None
    known = float(cost) if priced == number else None
    return Means(number, float(tokens_in), float(tokens_out), known, float(seconds))


def request_seconds(records: Records, agent: str) -> float | None:
    """Return the mean seconds of an agent's requests in all runs, waits included; None: there are none."""
    query = sql.select(sql.func.avg(calls.c.seconds)).join_from(calls, trials, same_trial(calls, trials))
    found = records.value(query.where(trials.c.agent == agent, calls.c.error == ""))
    return None if found is None else float(found)


def has_actions(records: Records, run: str) -> bool:
    """Return whether the run has a stored action of an agent."""
    query = sql.select(steps.c.trial).where(steps.c.run == run, steps.c.action != "").limit(1)
    return records.value(query) is not None


def trials_with_pages(records: Records, run: str) -> set[str]:
    """Return the ids of the run's trials that were stored with pages or prompts that their agents saw."""
    query = sql.select(steps.c.trial).where(steps.c.run == run, steps.c.observation.is_not(None))
    return set(records.column(query.distinct()))


def trial_rows(records: Records, run: str) -> dict[str, TrialRow]:
    """Return the rows of a run's trials by their ids."""
    own = [trials.c[each.name] for each in fields(TrialRow)]
    rows = records.rows(trials, sql.select(*own).where(trials.c.run == run))
    return {row["trial"]: TrialRow(**row) for row in rows}


def carriers(records: Records, run: str) -> dict[str, str]:
    """Return the option that carried the treatment, by trial id, for trials in which one did."""
    nudged = sql.select(options.c.trial, options.c.option).where(options.c.run == run, options.c.nudged == 1)
    return {trial: option for trial, option in records.ask(nudged)}


def ended_trials(records: Records, run: str) -> list[EndedTrial]:
    """Return what a stopping rule needs of a run's trials with an outcome other than `infra_error`."""
    nudged, first = dict[str, str](), dict[str, str]()
    marked = sql.select(options.c.trial, options.c.option, options.c.nudged, options.c.viewed_first)
    own = [name for name in EndedTrial._fields if name not in ("carrier", "first")]
    query = sql.select(trials.c.trial, *(trials.c[name] for name in own))
    ended = query.where(trials.c.run == run, trials.c.outcome != "infra_error")
    with records.reading() as connection:
        for trial, option, carries, is_first in connection.execute(marked.where(options.c.run == run)):
            if carries == 1:
                nudged[trial] = option
            if is_first == 1:
                first[trial] = option
        rows = connection.execute(ended.order_by(trials.c.trial)).all()
    return [
        EndedTrial(**dict(zip(own, facts, strict=True)), carrier=nudged.get(trial), first=first.get(trial))
        for trial, *facts in rows
    ]


def steps_of(records: Records, run: str, trial: str) -> list[Row]:
    """Return the steps of a trial, in order."""
    query = sql.select(steps).where(steps.c.run == run, steps.c.trial == trial).order_by(steps.c.step)
    return records.rows(steps, query)
