"""Analyse a run in a process of its own, which gives its memory back: `python -m experiments.viewer.answer`.

It reads JSON with `db` and `run` and writes the answer, the main table and its figure as JSON.
"""

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from experiments.records.store import Records
from interventions.errors import UserError

if TYPE_CHECKING:
    from analysis.reporting.sections import Report


async def answer_of(db: str, run: str, other: str = "") -> dict[str, Any]:
    """Return what `compute` does, computed in another process; with the key `error` where there is none."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "experiments.viewer.answer"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, _ = await process.communicate(json.dumps({"db": db, "run": run, "with": other}).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        found = json.loads(out)
    except ValueError:
        return {"error": "the analysis ended without a result; souk report says why"}
    return found if isinstance(found, dict) else {"error": "the analysis gave no answer"}


def compute(records: Records, run: str, other: str = "") -> dict[str, Any]:
    """Return the answer of a run, or how it differs from another; `error` says why it cannot be analysed."""
    from analysis.tables.errors import AnalysisError  # noqa: PLC0415 - as late as it is needed

    try:
        return _shown(_compared(records, run, other) if other else _analysed(records, run))
    except (UserError, AnalysisError) as error:
        return {"error": str(error)}


def _compared(records: Records, *runs: str) -> "Report":
    from experiments.studies.comparing import compared  # noqa: PLC0415 - as late as they are needed
    from experiments.studies.stored_studies import StoredRun  # noqa: PLC0415

    found = [records.latest_run(run) for run in runs]
    word = "name" if len({row["name"] for row in found}) == len(found) else "run"
    studies = [StoredRun(records, row, None, row[word]) for row in found]
    return compared(studies, None, (), (), None).report


def _analysed(records: Records, run: str) -> "Report":
    from experiments.plans.registered import (  # noqa: PLC0415
        registered_results,
        report_of,
        unregistered,
    )
    from experiments.records.record import kind_of  # noqa: PLC0415
    from experiments.studies.kinds import analyze_run  # noqa: PLC0415

    found = records.latest_run(run)
    kind = kind_of(found)
    analysis = analyze_run(records, found)
    known = registered_results(records, found, analysis)
    return report_of(kind, analysis, known, unregistered(records, found))


def _shown(report: "Report") -> dict[str, Any]:
    from analysis.reporting.html import figure_data, table_cells  # noqa: PLC0415 - as late as they are needed

    first = report.sections[0] if report.sections else None
    return {
        "answer": list(report.answer),
        "problems": list(report.problems),
        "checked": report.checked,
        "table": table_cells(first.tables[0]) if first and first.tables else None,
        "figure": figure_data(first.figures[0]) if first and first.figures else None,
    }


def main() -> None:
    """Answer what is asked on the standard input."""
    asked = json.load(sys.stdin)
    try:
        records = Records(asked["db"], create=False)
    except UserError as error:
        json.dump({"error": str(error)}, sys.stdout)
    else:
        json.dump(compute(records, asked["run"], asked["with"]), sys.stdout)


if __name__ == "__main__":
    main()
