"""The command line. The only module that knows every room."""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from analysis.errors import AnalysisError
from interventions.errors import UserError

# Each command imports what it needs: --help, a typing error and a missing file are answered at once.
if TYPE_CHECKING:
    import pandas as pd

    from analysis.choice import ChoiceAnalysis
    from experiments.records import Records

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find out what moves AI agents when they choose.\n\n"
    "Start with [bold]souk run nudges --limit 60[/bold]: a simulated shopper shops in a real browser, "
    "on pages that the proxy rewrites, and a table of effects comes out.",
)
analyze_app = typer.Typer(no_args_is_help=True, help="Estimate effects from a run or from any tidy table.")
proxy_app = typer.Typer(no_args_is_help=True, help="The rewriting proxy on its own.")
env_app = typer.Typer(no_args_is_help=True, help="Shops to act in.")
app.add_typer(analyze_app, name="analyze")
app.add_typer(proxy_app, name="proxy")
app.add_typer(env_app, name="env")

DEFAULT_DB = "sqlite:///runs/souk.db"

Db = Annotated[str, typer.Option("--db", metavar="URL", help="Database of runs, e.g. sqlite:///t.db.")]
Run = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="Run (id or name); the latest by default.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for reports and figures.")]


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="A shipped experiment (nudges) or a YAML file.")],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", "-a", metavar="NAME", help="simulated:balanced, openai:gpt-4.1-mini, ...; repeatable."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N trials of each agent (balanced blocks).")
    ] = None,
    slots: Annotated[int | None, typer.Option(min=1, max=64, help="Episodes at the same time.")] = None,
    db: Db = DEFAULT_DB,
    out: Out = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run, and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment: expand its design, run the trials, print the effects, write the report.

    The same command again resumes: trials that have ended are never repeated.

    Examples:

      souk run nudges --agent simulated:balanced --limit 600

      souk run nudges --agent openai:gpt-4.1-mini --slots 8

      souk run my-experiment.yaml --db sqlite:///study.db --dry-run
    """
    from experiments.experiment_run import ExperimentRun

    console = Console(stderr=True)
    session = ExperimentRun(experiment, agents=agent, limit=limit, db=db, out=out)
    console.print(session.summary(), highlight=False, markup=False, soft_wrap=True)
    if dry_run:
        return
    try:
        asyncio.run(session.run(console, slots))
    except KeyboardInterrupt:
        logging.getLogger("asyncio").disabled = True  # an interrupted Playwright leaves futures behind
        console.print("stopped; what was finished is stored. The same command goes on from here.")
        raise typer.Exit(130) from None
    status = 0
    for line in session.complaints():
        console.print(line, style="red", highlight=False, markup=False, soft_wrap=True)
        status = 1
    try:
        _analyze_run(session.records, session.design.run, session.folder, as_json=as_json)
    except AnalysisError as error:
        console.print(f"no effects: {error}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(status)


@analyze_app.command("choice")
def analyze_choice_command(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Tidy tables (CSV or Parquet); a stored run by default.")
    ] = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """What moves the choices: linear probability model with trial fixed effects, in percentage points.

    Examples:

      souk analyze choice

      souk analyze choice --db sqlite:///t.db --run nudges --json

      souk analyze choice other-study.csv --out report/
    """
    from analysis.choice import analyze_choice

    if files:
        analysis = analyze_choice(_read_all(files))
        _show(analysis, {"tables": ", ".join(map(str, files))}, out, as_json=as_json)
        return
    records = _open(db)
    found = records.latest_run(run)
    _analyze_run(records, found["run"], out, as_json=as_json)


@app.command()
def report(
    files: Annotated[list[Path] | None, typer.Argument(help="Tidy tables; a stored run by default.")] = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
) -> None:
    """Write the HTML report and the figures of a run, or of any tidy tables.

    Example: souk report --run nudges --out report/
    """
    from analysis.choice import analyze_choice
    from experiments.output import run_facts, run_folder
    from experiments.tidy import receipts_table, tidy_table

    if files:
        analysis = analyze_choice(_read_all(files))
        path = _write(analysis, {"tables": ", ".join(map(str, files))}, out or Path("report"))
    else:
        records = _open(db)
        found = records.latest_run(run)
        table = tidy_table(records, found["run"])
        analysis = analyze_choice(table, receipts_table(records, found["run"]))
        path = _write(analysis, run_facts(found), out or run_folder(found["run"]))
    typer.echo(path)


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A .parquet or .csv file.")],
    db: Db = DEFAULT_DB,
    run: Run = None,
) -> None:
    """Write the tidy table: one row per option shown in a trial.

    Example: souk export --db sqlite:///t.db --out t.parquet
    """
    from experiments.tidy import tidy_table, write_table

    records = _open(db)
    found = records.latest_run(run)
    table = tidy_table(records, found["run"])
    write_table(table, out)
    typer.echo(f"{out}: {len(table):,} rows, {table['trial'].nunique():,} trials of run {found['run']}")


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check browser, proxy, ports, folder and keys; say how to mend what is missing."""
    from experiments import output
    from experiments.doctor import check_machine

    checks = asyncio.run(check_machine())
    if as_json:
        typer.echo(json.dumps([output.check_dict(check) for check in checks], indent=2))
    else:
        output.stdout_console().print(output.checks_table(checks))
    raise typer.Exit(any(check.ok is False for check in checks))


@proxy_app.command("serve")
def proxy_serve(
    interventions: Annotated[
        str, typer.Option("-i", "--interventions", metavar="FILE", help="A shipped file by name, or a path.")
    ],
    only: Annotated[list[str] | None, typer.Option(help="Only this intervention; repeatable.")] = None,
    site: Annotated[str, typer.Option(help="Site map: a shipped one by name, or a path.")] = "onestopmarket",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 8080,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Reach only these hosts; repeatable. Default: all."),
    ] = None,
    var: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Value of a variable for every product; repeatable."),
    ] = None,
) -> None:
    """Rewrite pages for any browser, any program or a person.

    Example:

      souk env up shop --port 7770 &

      souk proxy serve -i nudges --only wirecutter --port 8080 &

      curl -x http://127.0.0.1:8080 http://127.0.0.1:7770/
    """
    from experiments.experiment_run import shop_products
    from proxy.serve import serve

    try:
        asyncio.run(serve(interventions, only or (), site, port, allow, var or (), products=shop_products()))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


@env_app.command("up")
def env_up(
    name: Annotated[str, typer.Argument(help="shop: the embedded shop.")] = "shop",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 7770,
) -> None:
    """Run a shop in the foreground, to look at it or to try an intervention on it.

    Example: souk env up shop --port 7770
    """
    if name != "shop":
        raise UserError(f"unknown environment {name!r}; the environments are: shop")
    from experiments.output import run_shop

    raise typer.Exit(run_shop(port))


def _open(db: str) -> "Records":
    """The database, unless it is a SQLite file that is not there: reading must not create one."""
    from experiments.records import Records

    prefix = "sqlite:///"
    if db.startswith(prefix) and not Path(db.removeprefix(prefix)).exists():
        raise UserError(f"--db {db}: no such file; run an experiment first: souk run nudges --db {db}")
    return Records(db)


def _analyze_run(records: "Records", run: str, out: Path | None, *, as_json: bool) -> None:
    from analysis.choice import analyze_choice
    from experiments.output import run_facts, run_folder
    from experiments.tidy import receipts_table, tidy_table

    found = records.latest_run(run)
    analysis = analyze_choice(tidy_table(records, run), receipts_table(records, run))
    _show(analysis, run_facts(found), out or run_folder(run), as_json=as_json)


def _show(analysis: "ChoiceAnalysis", facts: dict[str, Any], out: Path | None, *, as_json: bool) -> None:
    from experiments.output import print_analysis, stdout_console

    path = _write(analysis, facts, out) if out else None
    if as_json:
        content = {**json.loads(analysis.to_json()), "facts": facts, "report": str(path) if path else None}
        typer.echo(json.dumps(content, indent=2))
        return
    console = stdout_console()
    print_analysis(console, analysis)
    if path:
        console.print(f"report: {escape(str(path))}", highlight=False, soft_wrap=True)


def _write(analysis: "ChoiceAnalysis", facts: dict[str, Any], folder: Path) -> Path:
    from analysis.figures import effects_figure, save_figure
    from analysis.report import write_report

    path = folder / "report.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_report(path, f"What moved the choices: {facts.get('run', 'tables')}", facts, analysis)
        for suffix in (".png", ".svg"):
            save_figure(effects_figure(analysis.effects), folder / f"effects{suffix}")
    except OSError as error:
        raise UserError(
            f"--out {folder}: cannot be written ({error.strerror}); choose another folder"
        ) from None
    return path


def _read_all(files: list[Path]) -> "pd.DataFrame":
    """All tables as one; the name of a single file is kept for messages."""
    import pandas as pd

    from analysis.table import read_table

    tables = [read_table(path) for path in files]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def main() -> None:
    """Entry point of `souk`: a user's mistake is one line and status 2, never a traceback."""
    logging.basicConfig(
        level=os.environ.get("SOUK_LOG", "ERROR"), format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        app()
    except (UserError, AnalysisError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has gone, e.g. `souk ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
