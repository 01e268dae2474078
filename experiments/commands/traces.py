"""souk export --trace."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from interventions.errors import UserError

if TYPE_CHECKING:
    from experiments.records.store import Records

Kind = Literal["otlp", "playwright", "har"]

SUFFIXES: Final[dict[Kind, str]] = {"otlp": ".jsonl", "playwright": ".zip", "har": ".har"}


def write_trace(records: "Records", run: dict[str, Any], kind: Kind, trial: str | None, out: Path) -> str:
    """Write a trace, whole or not at all; return what is said of it. Raises UserError."""
    from experiments.records.reading.trial_search import Selection, every
    from experiments.records.whole_file import whole_file
    from experiments.traces.har import har_text
    from experiments.traces.otlp import otlp_lines, trial_line
    from experiments.traces.playwright_trace import write_playwright_trace
    from experiments.traces.traced_trial import read_trial

    name = run["run"]
    if out.suffix != SUFFIXES[kind]:
        raise UserError(f"--out {out}: the suffix of this trace must be {SUFFIXES[kind]}")
    if trial:
        traced = read_trial(records, name, trial)
        with whole_file(out) as partial:
            if kind == "playwright":
                write_playwright_trace(traced, partial)
            else:
                text = har_text(traced) if kind == "har" else trial_line(traced) + "\n"
                partial.write_text(text, encoding="utf-8")
        return f"{out}: trial {trial} of run {name}"
    if kind != "otlp":
        raise UserError(f"--trace {kind}: it holds one trial; write --trial ID, which souk view {name} shows")
    rows = every(records, Selection(name))
    column = next(rows).index("trial")
    ids = [row[column] for row in rows]
    with whole_file(out) as partial, partial.open("w", encoding="utf-8") as file:
        for line in otlp_lines(run, (read_trial(records, name, each) for each in ids)):
            file.write(line + "\n")
    return f"{out}: {len(ids):,} trials of run {name}, one a line"
