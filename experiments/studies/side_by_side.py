"""Analyse several studies side by side: no agent of two studies is pooled, and each row names its study."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from agents.simulated.own_profiles import known_as
from analysis.reporting.plots import forest
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.frame import label
from analysis.tables.table_file import selected, together
from experiments.studies.kinds import StudyAnalysis, Tables, agents_left, study_of
from interventions.errors import UserError

STUDY: Final = "study"
"""The column with the name of a run or file."""
_WHOSE: Final = ("group", "agent")
_DRAWN: Final = {"term", "group", "estimate", "conf_low", "conf_high"}


class NamedStudy(NamedTuple):
    """A run or a file: its name, its tables as its kind of study reads them, and options of its design."""

    name: str
    tables: Tables
    options: Mapping[str, Any] = {}


class _Part(NamedTuple):
    """An analysis; the study of each of its agents, and of rows without one."""

    analysis: StudyAnalysis
    report: Report
    study: Mapping[str, str]
    others: str


@dataclass(frozen=True)
class SideBySide:
    """The analyses of several studies of one kind; their tables and JSON have a column `study`."""

    parts: Sequence[_Part]
    problems: tuple[str, ...] = field(default=())

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of each study, after its name."""
        return tuple(_said(part, line) for part in self.parts for line in part.analysis.notes)

    def to_json(self) -> str:
        """Return a JSON object: the rows of each table with their study, and other values by study."""
        told = [json.loads(part.analysis.to_json()) for part in self.parts]
        found: dict[str, Any] = {}
        for name in dict.fromkeys(name for each in told for name in each):
            whole = [(part, each.get(name)) for part, each in zip(self.parts, told, strict=True)]
            own = [(part, value) for part, value in whole if value is not None]
            if all(_is_table(value) for _, value in own):
                found[name] = [{STUDY: _study(part, row), **row} for part, value in own for row in value]
            elif len(self.parts) == 1:
                found[name] = own[0][1]
            else:
                found[name] = {part.others: value for part, value in own}
        return json.dumps(found, indent=2, ensure_ascii=False)

    @cached_property
    def report(self) -> Report:
        """The report: sections of the same title are one, and so are tables of the same name."""
        reports = [part.report for part in self.parts]
        titles = dict.fromkeys(section.title for report in reports for section in report.sections)
        return Report(
            sections=tuple(map(self._section, titles)),
            answer=tuple(_said(part, line) for part in self.parts for line in part.report.answer),
            checked=" ".join(_said(part, part.report.checked) for part in self.parts if part.report.checked),
            problems=(
                *self.problems,
                *(_said(part, line) for part in self.parts for line in part.report.problems),
            ),
        )

    def _section(self, title: str) -> Section:
        every = [(part, section) for part in self.parts for section in part.report.sections]
        own = [(part, section) for part, section in every if section.title == title]
        texts = [section.text.split("\n\n") for _, section in own]
        lines = [
            line if all(line in text for text in texts) else _said(part, line)
            for (part, _), text in zip(own, texts, strict=True)
            for line in text
        ]
        tables: dict[str, list[tuple[_Part, NamedTable]]] = {}
        for part, section in own:
            for table in section.tables:
                tables.setdefault(table.name, []).append((part, table))
        joined = tuple(_joined(each) for each in tables.values())
        return Section(
            title,
            "\n\n".join(dict.fromkeys(filter(None, lines))),
            joined,
            (
                *(
                    self._of_all(joined[0])
                    if joined and own[0][1] is self.parts[0].report.sections[0]
                    else ()
                ),
                *(self._named(part, figure) for part, section in own for figure in section.figures),
            ),
        )

    def _of_all(self, main: NamedTable) -> Iterator[NamedFigure]:
        """One figure of the main table, a panel for each study."""
        rows = main.frame
        if len(self.parts) > 1 and not (_DRAWN - {*rows}):
            caption = f"{main.caption}: the studies side by side"
            yield NamedFigure("studies", caption, lambda: _panels(rows))

    def _named(self, part: _Part, figure: NamedFigure) -> NamedFigure:
        if len(self.parts) == 1:
            return figure
        number = [each.others for each in self.parts].index(part.others) + 1
        name = f"{figure.name}-{number}-{re.sub('[^a-z0-9]+', '-', part.others.lower()).strip('-')}"
        return NamedFigure(name, f"{part.others}: {figure.caption}", lambda: figure.figure)


def side_by_side(
    kind: str,
    studies: Sequence[NamedStudy],
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    **options: Any,
) -> SideBySide:
    """Analyse several studies of a kind; options: of its analysis.

    Studies of the same columns and design in which no agent is in two are one analysis, so that its agents
    can be compared. Each other study is analysed as if it were alone, with p values adjusted within it.

    Raises:
        UserError: a study has none of the agents that are asked for.
        AnalysisError: as the analysis of the kind.
    """
    known = {each.name: _agents(each.tables) for each in studies}
    every = list(dict.fromkeys(agent for own in known.values() for agent in own))
    left = agents_left(every, [*map(known_as, only)], [*map(known_as, without)])
    for name, own in known.items():
        if not {*own} & {*left}:
            raise UserError(f"{name}: there are no trials of {', '.join(left)}; leave this study out")
    chosen = [each._replace(tables=_of(each.tables, left)) for each in studies]
    problems = tuple(_scales(chosen))
    if _can_join(chosen, known):
        frames = [_stacked(tables) for tables in zip(*(each.tables for each in chosen), strict=True)]
        whose = {agent: name for name, own in known.items() for agent in own}
        parts = [_part(kind, frames, {**chosen[0].options, **options}, whose, "")]
    else:
        parts = [_part(kind, each.tables, {**each.options, **options}, {}, each.name) for each in chosen]
    return SideBySide(parts, problems)


def _part(
    kind: str,
    tables: Sequence[pd.DataFrame | None],
    options: Mapping[str, Any],
    study: Mapping[str, str],
    others: str,
) -> _Part:
    analysis = study_of(kind).analyze(*tables, **options)
    return _Part(analysis, study_of(kind).report(analysis), study, others)


def _can_join(studies: Sequence[NamedStudy], known: Mapping[str, Sequence[str]]) -> bool:
    shapes = {
        (tuple(None if table is None else frozenset(table) for table in each.tables), str(each.options))
        for each in studies
    }
    agents = [agent for own in known.values() for agent in own]
    return len(shapes) == 1 and len(agents) == len(set(agents)) and not list(_scales(studies))


def _stacked(tables: Sequence[pd.DataFrame | None]) -> pd.DataFrame | None:
    there = [table for table in tables if table is not None]
    return together(there) if there else None


def _agents(tables: Tables) -> list[str]:
    main = tables[0]
    return [] if main is None or "agent" not in main else sorted(set(main["agent"].astype(str)))


def _of(tables: Tables, left: Sequence[str]) -> Tables:
    """The tables with these agents only; a whole table stays as it is, with its places in its file."""
    return tuple(
        selected(table, table["agent"].astype(str).isin(left))
        if table is not None and "agent" in table and not table["agent"].astype(str).isin(left).all()
        else table
        for table in tables
    )


def _scales(studies: Sequence[NamedStudy]) -> Iterator[str]:
    """A line for each scale in which the studies differ."""
    for column, what in (("currency", "currencies"), ("rating", "scales of ratings")):
        used = {each.name: scale for each in studies if (scale := _scale(each.tables[0], column))}
        if len(set(used.values())) > 1:
            said = ", ".join(f"{name} {scale}" for name, scale in used.items())
            yield f"The studies have different {what} ({said}): do not compare what is in their units."


def _scale(table: pd.DataFrame | None, column: str) -> str:
    if table is None or column not in table or not len(known := table[column].dropna()):
        return ""
    if column == "currency":
        return " and ".join(sorted(set(known.astype(str)) - {""}))
    most = pd.to_numeric(known, errors="coerce").max()
    return next((f"to {end}" for end in (5, 10, 100) if most <= end), "")


def _panels(rows: pd.DataFrame) -> Figure:
    own = rows.assign(agent=rows["group"], group=rows[STUDY])
    several = own["agent"].nunique() > 1
    return forest(
        own.sort_values("term", key=lambda terms: pd.factorize(terms)[0], kind="stable"),
        lambda row: f"{label(row['term'])}, {row['agent']}" if several else label(row["term"]),
        "Estimate, with its 95 % interval",
    )


def _is_table(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _study(part: _Part, row: Mapping[str, Any]) -> str:
    agent = next((row[name] for name in _WHOSE if name in row), None)
    return part.study.get(str(agent), part.others)


def _said(part: _Part, line: str) -> str:
    return f"{part.others}, {line}" if part.others and line else line


def _joined(own: Sequence[tuple[_Part, NamedTable]]) -> NamedTable:
    """The tables of one name as one, with the study first."""
    frames = []
    for part, table in own:
        frame = table.frame.drop(columns=STUDY, errors="ignore")
        whose = next((frame[name].astype(str) for name in _WHOSE if name in frame), None)
        names = part.others if whose is None else whose.map(lambda agent: part.study.get(agent, part.others))  # noqa: B023
        frame.insert(0, STUDY, names)
        frames.append(frame)
    captions = dict.fromkeys(table.caption for _, table in own)
    first = own[0][1]
    full = [frame for frame in frames if len(frame)] or frames[:1]
    return NamedTable(
        first.name, " / ".join(captions), pd.concat(full, ignore_index=True), first.decimals, first.detail
    )
