"""Find trials of a run by what they are and what was said in them: pages of rows, counts, neighbours."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self

import sqlalchemy as sql

from experiments.records.reading.notes import BETWEEN_TAGS
from experiments.records.record import TrialRow
from experiments.records.store import Records
from experiments.records.tables import notes, options, same_trial, steps, trials

_REASON: Final = 80
"""The number of characters by which reasons of trials are told apart."""

_FIRST: Final = same_trial(options, trials) & (options.c.position == 0)
# Looked up for each trial, by the key: a database without statistics may compare all trials with all options.
_CATEGORY: Final = sql.select(options.c.category).where(_FIRST).correlate(trials).scalar_subquery()

_SAID: Final = same_trial(notes, trials)

FACETS: Final[Mapping[str, sql.ColumnElement[Any]]] = {
    "outcome": trials.c.outcome,
    "reason": sql.case(
        (trials.c.outcome == "choice", ""), else_=sql.func.substr(trials.c.reason, 1, _REASON)
    ),
    "agent": trials.c.agent,
    "condition": trials.c.condition,
    "nudge": trials.c.nudge,
    "family": trials.c.family,
    "category": sql.func.coalesce(_CATEGORY, ""),
    "ordering": trials.c.ordering,
    "profile": trials.c.profile,
    "modality": sql.func.coalesce(trials.c.modality, ""),
    "match": trials.c.match,
    "tag": notes.c.tags,
}
"""What trials are counted and filtered by; the category is that of the first option.

A trial has one value of each, but any number of tags, of which each counts; with none its tag is "".
"""

SORTS: Final[Mapping[str, sql.ColumnElement[Any]]] = {
    "started_at": trials.c.started_at,
    "set": trials.c.set,
    "steps": trials.c.steps,
    "seconds": trials.c.seconds,
    "tokens": trials.c.tokens_in + trials.c.tokens_out,
    "cost": sql.func.coalesce(trials.c.cost, -1.0),
}
"""What trials are sorted by; a cost that is not known is below all others."""

_FALLING: Final = ("steps", "seconds", "tokens", "cost")
"""Columns of which the largest values are wanted first."""

_TAG: Final = list(FACETS).index("tag")

FacetCell = tuple[tuple[str, ...], int]
"""The values of all facets, in their order (tags as they are kept), and the number of such trials."""

_OWN: Final = tuple(trials.c[each.name] for each in fields(TrialRow))


@dataclass(frozen=True, slots=True)
class Selection:
    """Some trials of a run in an order: what a page of the viewer shows.

    facets: name -> value, of `FACETS`. words: what a thought, an action, a tag or a note
    holds, or the trial's id. sort: a name of `SORTS`.
    """

    run: str
    facets: Mapping[str, str] = field(default_factory=dict)
    set: str = ""
    words: str = ""
    sort: str = "started_at"
    descending: bool = False

    @classmethod
    def of(cls, run: str, query: Mapping[str, str]) -> Self:
        """Return the selection that the query of an address asks for; what is unknown is left out."""
        sort = query.get("sort", "")
        known = sort.removeprefix("-") in SORTS
        return cls(
            run,
            {name: query[name] for name in FACETS if name in query},
            query.get("set", ""),
            query.get("q", "").strip(),
            sort.removeprefix("-") if known else "started_at",
            known and sort.startswith("-"),
        )

    def query(self) -> dict[str, str]:
        """Return the query of the address that asks for this selection."""
        sort = ("-" if self.descending else "") + self.sort
        found = {
            **self.facets,
            "set": self.set,
            "q": self.words,
            "sort": "" if sort == "started_at" else sort,
        }
        return {name: value for name, value in found.items() if value or name in self.facets}

    def by(self, sort: str) -> Self:
        """Return the selection sorted by a column, or the other way round where it already is."""
        return replace(
            self, sort=sort, descending=not self.descending if sort == self.sort else sort in _FALLING
        )

    def replaced(self, facet: str, value: str | None) -> Self:
        """Return the selection with another value of a facet; None: with any."""
        others = {name: kept for name, kept in self.facets.items() if name != facet}
        return replace(self, facets=others if value is None else {**others, facet: value})


def matching(
    records: Records, selection: Selection, *, limit: int | None, after: str = "", before: str = ""
) -> list[TrialRow]:
    """Return the first trials of a selection, or those after (before: the last before) the trial of this id.

    limit: so many at most; None: all. Nothing comes after or before a trial that the run does not have.
    """
    backwards, edge = bool(before), after or before
    order = (SORTS[selection.sort], trials.c.trial)
    query = _where(sql.select(*_OWN), records, selection)
    if edge:
        place = sql.select(*order).where(trials.c.run == selection.run, trials.c.trial == edge)
        found = records.ask(place)
        if not found:
            return []
        here, there = sql.tuple_(*order), sql.tuple_(*found[0], types=[column.type for column in order])
        query = query.where(here < there if selection.descending is not backwards else here > there)
    down = selection.descending is not backwards
    query = query.order_by(*(column.desc() if down else column.asc() for column in order)).limit(limit)
    rows = [TrialRow(**row) for row in records.rows(trials, query)]
    return rows[::-1] if backwards else rows


def every(records: Records, selection: Selection) -> Iterator[tuple[Any, ...]]:
    """Yield the names of the columns of all trials of a selection, and then their rows."""
    yield (*(column.name for column in _OWN), "tags", "note")
    order = (SORTS[selection.sort], trials.c.trial)
    said = [sql.func.coalesce(notes.c[name], "") for name in ("tags", "note")]
    query = sql.select(*_OWN, *said).select_from(trials.outerjoin(notes, _SAID))
    query = _where(query, records, selection)
    query = query.order_by(*(column.desc() if selection.descending else column.asc() for column in order))
    with records.reading() as connection:
        for row in connection.execution_options(yield_per=1_000).execute(query):
            yield tuple(row)


def facet_cells(records: Records, selection: Selection) -> list[FacetCell]:
    """Count the trials of a selection, whatever its facets, by the values of all facets but tags at once.

    They count as trials without a tag until `with_tags` has looked.
    """
    untagged = [column for name, column in FACETS.items() if name != "tag"]
    query = sql.select(*untagged, sql.func.count())
    return [((*values, ""), number) for values, number in _counted(records, selection, query, len(untagged))]


def with_tags(records: Records, selection: Selection, cells: Iterable[FacetCell]) -> list[FacetCell]:
    """Return the cells of a selection with the tags that trials have now, which may change at any time."""
    query = (
        sql.select(*FACETS.values(), sql.func.count())
        .select_from(notes.join(trials, _SAID))
        .where(notes.c.tags != "")
    )
    found = Counter(dict(cells))
    for values, number in _counted(records, selection, query, len(FACETS)):
        found[values] += number
        found[*values[:-1], ""] -= number
    return [(values, number) for values, number in found.items() if number > 0]


def _counted(records: Records, selection: Selection, query: sql.Select[Any], columns: int) -> list[FacetCell]:
    """Count by the first columns of a query, whatever the facets of the selection."""
    query = _where(query, records, replace(selection, facets={}))
    query = query.group_by(*(sql.literal_column(str(number)) for number in range(1, columns + 1)))
    return [(tuple(row[:-1]), row[-1]) for row in records.ask(query)]


def facet_counts(cells: Iterable[FacetCell], selection: Selection) -> dict[str, dict[str, int]]:
    """Return the trials of a selection by facet: value -> number, the most frequent first.

    A facet is counted as if it were not filtered by, so that its other values stay in sight.
    """
    names = list(FACETS)
    wanted = [(names.index(name), value) for name, value in selection.facets.items()]
    totals: list[Counter[str]] = [Counter() for _ in names]
    for values, number in cells:
        others = [place for place, value in wanted if value not in _values(values, place)]
        for place in others if len(others) == 1 else range(0 if others else len(names)):
            for value in _values(values, place):
                totals[place][value] += number
    return {
        name: dict(sorted(total.items(), key=lambda each: (-each[1], each[0])))
        for name, total in zip(names, totals, strict=True)
    }


def trial_count(cells: Iterable[FacetCell], selection: Selection) -> int:
    """Return the number of trials of a selection."""
    names = list(FACETS)
    wanted = [(names.index(name), value) for name, value in selection.facets.items()]
    return sum(
        number for values, number in cells if all(value in _values(values, place) for place, value in wanted)
    )


def _values(values: Sequence[str], place: int) -> Sequence[str]:
    """What the trials of a cell have of a facet: one value, or their tags."""
    return values[place].split(BETWEEN_TAGS) if place == _TAG else values[place : place + 1]


def _where(query: sql.Select[Any], records: Records, selection: Selection) -> sql.Select[Any]:
    """The query, for the trials of a selection only."""
    query = query.where(trials.c.run == selection.run)
    for name, value in selection.facets.items():
        query = query.where(_tagged(selection.run, value) if name == "tag" else FACETS[name] == value)
    if selection.set:
        query = query.where(trials.c.set == selection.set)
    if selection.words:
        said = [_holds(records, column, selection.words) for column in (steps.c.thought, steps.c.action)]
        its = sql.select(steps.c.trial).where(steps.c.run == selection.run, sql.or_(*said))
        by_people = [_holds(records, column, selection.words) for column in (notes.c.tags, notes.c.note)]
        noted = sql.select(notes.c.trial).where(notes.c.run == selection.run, sql.or_(*by_people))
        named = trials.c.trial == selection.words
        query = query.where(sql.or_(trials.c.trial.in_(its), trials.c.trial.in_(noted), named))
    return query


def _tagged(run: str, tag: str) -> sql.ColumnElement[bool]:
    """Whether a trial has this very tag; an empty one: whether it has none."""
    own = sql.select(notes.c.trial).where(notes.c.run == run)
    if not tag:
        return trials.c.trial.not_in(own.where(notes.c.tags != ""))
    if BETWEEN_TAGS in tag:
        return sql.false()
    between = sql.literal(BETWEEN_TAGS)
    tags = between + notes.c.tags + between
    # Without the tag it is another text: the one comparison of these in which the case of letters counts in
    # every database, and that takes no letter for a wildcard.
    return trials.c.trial.in_(own.where(sql.func.replace(tags, between + tag + between, "") != tags))


def _holds(records: Records, column: sql.ColumnElement[str], words: str) -> sql.ColumnElement[bool]:
    """Whether a text holds these words; the case of letters (in SQLite: of ASCII letters) does not count."""
    if records.engine.dialect.name == "sqlite":
        return column.contains(words, autoescape=True)  # LIKE, which is quicker than to lower both
    return column.icontains(words, autoescape=True)
