"""souk judge."""

from typing import Annotated

import typer

from experiments.commands.common import DEFAULT_DB, Db, open_records
from experiments.runs.interrupts import run_until_stopped


def judge(
    run: Annotated[str | None, typer.Argument(help="Run (id or name); the latest by default.")] = None,
    agent: Annotated[
        str, typer.Option("--agent", "-a", metavar="NAME", help="The judge, such as openai:gpt-6-luna.")
    ] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most N trials.")] = None,
    slots: Annotated[int, typer.Option(min=1, max=64, help="Trials at the same time.")] = 8,
    db: Db = DEFAULT_DB,
) -> None:
    """Let a model judge what decided the choices, from the agents' thoughts and memories.

    The model names the factors (price, rating, nudge, other) that decided or are only mentioned, each with a
    quotation that the agent wrote; a factor with another quotation is rejected. Run the same command again to
    judge the rest, or with another judge to see how far both agree. souk analyze shows the shares.

    Example: souk judge nudges --agent openai:gpt-6-luna --limit 200
    """
    from analysis.choice.ended.factors import deciding_factors, judges_agree
    from analysis.reporting.sections import NamedTable, Section
    from experiments.console.progress import RunProgress
    from experiments.console.terminal import stderr_console, stdout_console
    from experiments.records.reading.tidy_tables import factors_table
    from experiments.studies.deciding_factors import TrialJudge
    from experiments.studies.printing import print_sections
    from interventions.errors import UserError

    if not agent:
        raise UserError("--agent: name the judge, such as openai:gpt-6-luna")
    records, console = open_records(db), stderr_console()
    found = records.latest_run(run, "choice")
    judging = TrialJudge(records, found["run"], agent, limit)
    console.print(
        f"{found['run']}: {len(judging.waiting):,} trials to judge, {judging.done:,} judged before,"
        f" {judging.wordless:,} without a word of the agent",
        highlight=False,
    )
    try:
        with RunProgress(console, len(judging.waiting)) as progress:
            failures = run_until_stopped(judging.carry_out(slots, progress.note))
    except KeyboardInterrupt:
        console.print("stopped; what was judged is stored. The same command goes on from here.")
        raise typer.Exit(130) from None
    table = factors_table(records, found["run"])
    if table is not None:
        caption = "Share of judged trials in which each factor decided, or is mentioned (percent)"
        factors = NamedTable("factors", caption, deciding_factors(table), decimals=1)
        caption = "Agreement of the judges (Krippendorff's alpha)"
        agreement = NamedTable("agreement", caption, judges_agree(table), decimals=2)
        tables = (factors, *([agreement] if len(agreement.frame) else []))
        print_sections(stdout_console(), [Section("Deciding factors", "", tables)], None)
    if failures:
        console.print(
            f"{failures:,} trials are not judged: the provider failed. The same command tries them again.",
            style="red",
        )
        raise typer.Exit(1)
