"""Analyse a run in a process of its own, which gives its memory back: `python -m experiments.viewer.answer`.

It reads JSON with `db` and `run` and writes the answer, the main table and its figure as JSON.
"""

import asyncio
import json
import sys
from typing import Any

from experiments.records.store import Records
from interventions.errors import UserError


async def answer_of(db: str, run: str) -> dict[str, Any]:
    """Return the answer of a run, computed in another process; with the key `error` where there is none."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "experiments.viewer.answer"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, _ = await process.communicate(json.dumps({"db": db, "run": run}).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        found = json.loads(out)
    except ValueError:
        return {"error": "the analysis ended without a result; souk report says why"}
    return found if isinstance(found, dict) else {"error": "the analysis gave no answer"}


def compute(records: Records, run: str) -> dict[str, Any]:
    """Return the answer of a run; with the key `error` where it cannot be analysed."""
    from analysis.tables.errors import AnalysisError  # noqa: PLC0415 - as late as it is needed

    try:
        return _analysed(records, run)
    except (UserError, AnalysisError) as error:
        return {"error": str(error)}


def _analysed(records: Records, run: str) -> dict[str, Any]:
    from analysis.reporting.html import figure_data, table_cells  # noqa: PLC0415 - as late as they are needed
    from experiments.plans.registered import (  # noqa: PLC0415
        registered_results,
        report_of,
        unregistered,
    )
    from experiments.records.record import kind_of  # noqa: PLC0415
    from experiments.studies.kinds import analyze_run, study_of  # noqa: PLC0415

    found = records.latest_run(run)
    kind = kind_of(found)
    analysis = analyze_run(records, found)
    known = registered_results(records, found, analysis)
    report = report_of(kind, analysis, known, unregistered(records, found))
    first = report.sections[0] if report.sections else None
    return {
        "title": study_of(kind).title,
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
        json.dump(compute(records, asked["run"]), sys.stdout)


if __name__ == "__main__":
    main()
