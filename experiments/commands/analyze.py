"""souk analyze, souk report and souk export: from stored runs, or any tidy tables, to effects."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    AsJson,
    Db,
    Everything,
    Excluded,
    Margin,
    OneRun,
    Out,
    Run,
    RunOrFiles,
    Site,
    estimating,
    is_bundle,
    open_records,
    open_run,
    pair,
    run_or_files,
    show,
    write,
)
from interventions.errors import UserError


class KindsGroup(TyperGroup):
    """The commands of `souk analyze`, which answers the name of a run with the command for it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named, or the one for a run. Raises UserError for what is neither."""
        from interventions.yaml.yaml_source import did_you_mean

        if args[0] in self.commands or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if kind := _kind_of_study(args[0], db=_database_named(args)):
            return super().resolve_command(ctx, [kind, *args])
        hint = did_you_mean(args[0], self.commands, noun="there are")
        raise UserError(f"souk analyze {args[0]}: no kind of study has this name; {hint}")


def _database_named(args: Sequence[str]) -> str:
    """The database that arguments name which no command has read yet."""
    for name, value in zip(args, [*args[1:], ""], strict=True):
        if name == "--db" and value:
            return value
        if name.startswith("--db="):
            return name.removeprefix("--db=")
    return DEFAULT_DB


def _kind_of_study(name: str, *, db: str) -> str:
    """The kind of study of a stored run or of an experiment; empty where there is none of this name."""
    from experiments.designs.loading import load_design
    from experiments.records.record import kind_of

    if is_bundle(name):
        return kind_of(open_run(name, db)[1])
    with suppress(UserError):
        return kind_of(open_records(db).latest_run(name))
    with suppress(UserError):
        return load_design(name).analysis
    return ""


app = typer.Typer(
    cls=KindsGroup, no_args_is_help=True, help="Estimate effects from a run or from any tidy table."
)


@app.command("choice")
def choice(
    named: RunOrFiles = None,
    margin: Margin = None,
    agent: Agents = None,
    exclude: Excluded = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Estimate what moves choices in a shop: linear model with trial fixed effects, percentage points.

    Examples:

      souk analyze choice

      souk analyze choice nudges --agent openai:gpt-4.1-mini --json

      souk analyze choice nudges --margin 5

      souk analyze choice nudges.zip

      souk analyze choice other-study.csv --out report/
    """
    options = {} if margin is None else {"margin": margin}
    _analyze(
        "choice", named, run, (agent, exclude), db, out, everything=everything, as_json=as_json, **options
    )


Size = Annotated[
    list[str] | None,
    typer.Option(
        "--size", metavar="AGENT=BILLIONS", help="A model's size, in billions of parameters; repeatable."
    ),
]


@app.command("conjoint")
def conjoint(
    named: RunOrFiles = None,
    size: Size = None,
    cov: Annotated[
        Literal["classical", "robust", "clustered"] | None,
        typer.Option(
            help="Standard errors. By default clustered by choice set where sets are shown several times."
        ),
    ] = None,
    locked: Annotated[
        bool, typer.Option("--locked", help="Fit the models of position-locked agents, too.")
    ] = False,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="Fit a mixed logit, too: how far tastes differ. Takes minutes.")
    ] = False,
    classes: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, max=6, help="Fit latent classes, too: N kinds of tastes."),
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            metavar="NAME=KIND",
            help="How attr_NAME is read: numbers, levels or none; else as its values are; repeatable.",
        ),
    ] = None,
    currency: Annotated[
        str, typer.Option(metavar="CODE", help="The currency of the prices, where the table does not say it.")
    ] = "",
    agent: Agents = None,
    exclude: Excluded = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Estimate from choices among cards who reads them, and what price, quality and brand are worth.

    Examples:

      souk run hotels --mode text && souk analyze conjoint

      souk analyze conjoint hotels --mixed --classes 2

      souk analyze conjoint one-model.csv another.csv --size openai:small=8 --out report/

      souk analyze conjoint shirts.csv --attribute size=levels --currency EUR
    """
    _analyze(
        "conjoint",
        named,
        run,
        (agent, exclude),
        db,
        out,
        everything=everything,
        as_json=as_json,
        sizes=_sizes(size),
        cov=cov,
        locked=locked,
        mixed=mixed,
        classes=classes or 0,
        attributes=dict(pair("--attribute", text) for text in attribute or ()),
        currency=currency,
    )


@app.command("montecarlo")
def montecarlo(
    named: RunOrFiles = None,
    condition: Annotated[
        str, typer.Option(help="The condition in which answers are compared with the list price.")
    ] = "control",
    size: Size = None,
    generation: Annotated[
        list[str] | None,
        typer.Option(
            "--generation", metavar="AGENT=VERSION", help="A model's generation, for comparisons; repeatable."
        ),
    ] = None,
    agent: Agents = None,
    exclude: Excluded = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Analyse willingness to pay: its spread, its validity, its distance from the list price, anchoring.

    Examples:

      souk run wtp --mode text && souk analyze montecarlo

      souk analyze montecarlo old.csv new.csv --generation openai:a=3 --generation openai:b=4
    """
    generations = dict(pair("--generation", text) for text in generation or ())
    _analyze(
        "montecarlo",
        named,
        run,
        (agent, exclude),
        db,
        out,
        everything=everything,
        as_json=as_json,
        condition=condition,
        sizes=_sizes(size),
        generations=generations,
    )


@app.command("biases")
def biases(
    named: RunOrFiles = None,
    population: Annotated[
        bool,
        typer.Option("--population", help="Use standard deviations with divisor n, as in published data."),
    ] = False,
    legacy_zero: Annotated[
        bool,
        typer.Option("--legacy-zero", help="Count complete separation as no effect, as in published data."),
    ] = False,
    valid: Annotated[
        int,
        typer.Option(min=2, help="Valid answers that a question needs; experiments with fewer are left out."),
    ] = 100,
    size: Size = None,
    agent: Agents = None,
    exclude: Excluded = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Measure eight cognitive biases: the effect of each, its direction, and what goes with it.

    Examples:

      souk run biases --mode text && souk analyze biases

      souk analyze biases responses.csv --valid 50
    """
    _analyze(
        "biases",
        named,
        run,
        (agent, exclude),
        db,
        out,
        everything=everything,
        as_json=as_json,
        population=population,
        legacy_zero=legacy_zero,
        valid=valid,
        sizes=_sizes(size),
    )


@app.command("anchoring")
def anchoring(
    named: RunOrFiles = None,
    method: Annotated[
        Literal["shapley", "banzhaf"],
        typer.Option(help="The attribution in calls and scores; banzhaf: the published one."),
    ] = "shapley",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of bands and permutation tests; the run's own by default.")
    ] = None,
    agent: Agents = None,
    exclude: Excluded = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Measure anchoring in log-probabilities: expected answers by anchor, paired tests, attribution, ABSS.

    Examples:

      souk run anchoring --agent hf:tiny-anchor && souk analyze anchoring

      souk analyze anchoring anchoring_gpt2_results_standard.csv --method banzhaf --out report/
    """
    options = {} if seed is None else {"seed": seed}
    _analyze(
        "anchoring",
        named,
        run,
        (agent, exclude),
        db,
        out,
        everything=everything,
        as_json=as_json,
        method=method,
        **options,
    )


def _analyze(
    kind: str,
    named: list[str] | None,
    run: str | None,
    agents: tuple[list[str] | None, list[str] | None],
    db: str,
    out: Path | None,
    *,
    everything: bool,
    as_json: bool,
    **options: Any,
) -> None:
    from experiments.studies.kinds import analyze_run, read_tables, study_of
    from experiments.studies.printing import run_facts
    from experiments.studies.registered import registered_results, unregistered

    run, files = run_or_files(named, run)
    only, without = (tuple(names or ()) for names in agents)
    if files:
        with estimating():
            analysis = study_of(kind).analyze(read_tables(kind, files, only, without), **options)
        show(
            analysis,
            kind,
            {"tables": ", ".join(map(str, files))},
            out,
            everything=everything,
            as_json=as_json,
        )
        return
    records, found, is_temporary = open_run(run, db, kind)
    with estimating():
        analysis = analyze_run(records, found, only, without, **options)
        known = registered_results(records, found, analysis, only=only, without=without, options=options)
    facts = run_facts(found)
    if only or without:
        # Of a part of the trials: the report in the run's folder is about all of them and stays.
        facts |= _chosen(only, without)
    elif not is_temporary:
        out = out or records.folder(found["run"])
    show(
        analysis,
        kind,
        facts,
        out,
        everything=everything,
        as_json=as_json,
        known=known,
        note=unregistered(records, found),
    )


def _chosen(only: Sequence[str], without: Sequence[str]) -> dict[str, str]:
    """What a report says of its agents, where these are not all of the run."""
    words = [*only, *(f"without {name}" for name in without)]
    return {"agents": ", ".join(words)} if words else {}


def _sizes(size: list[str] | None) -> dict[str, float]:
    sizes = {}
    for text in size or ():
        name, number = pair("--size", text)
        if not re.fullmatch(r"\d+(\.\d+)?", number):
            raise UserError(f"--size {text}: {number} is no size; write billions, such as openai:small=8")
        sizes[name] = float(number)
    return sizes


def report(
    named: RunOrFiles = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    methods: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a methods section, with the registered results, to this .md or .tex."
        ),
    ] = None,
    site: Site = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="How tables are analysed, as by souk analyze KIND."),
    ] = None,
    agent: Agents = None,
    exclude: Excluded = None,
) -> None:
    """Write the HTML report and the figures of a run, or of any tidy tables.

    Examples:

      souk report nudges --out report/

      souk report nudges --exclude simulated:random --out report/

      souk report answers.csv --kind montecarlo --out report/

      souk report nudges --out report/ --site site/

      souk report my-study --methods methods.tex
    """
    from experiments.records.record import kind_of
    from experiments.records.trial_search import Selection, facet_cells
    from experiments.studies.kinds import STUDIES, analyze_run, read_tables
    from experiments.studies.methods import write_methods
    from experiments.studies.printing import run_facts
    from experiments.studies.registered import registered_results, report_of, unregistered
    from experiments.viewer.screens.answer_screen import named_trials
    from experiments.viewer.site_address import SiteAddress
    from interventions.yaml.yaml_source import did_you_mean

    run, files = run_or_files(named, run)
    if site and files:
        raise UserError(f"--site {site}: tables have no pages of trials; name a run")
    if methods and (files or methods.suffix not in (".md", ".tex")):
        why = "only a stored run has a design" if files else "the suffix must be .md or .tex"
        raise UserError(f"--methods {methods}: {why}; write --methods methods.md with a run")
    if kind and (not files or kind not in STUDIES):
        hint = did_you_mean(kind, STUDIES, noun="kinds") if files else "a run has its own; leave it out"
        raise UserError(f"--kind {kind}: {hint}")
    only, without = tuple(agent or ()), tuple(exclude or ())
    if files:
        kind = kind or "choice"
        study = STUDIES[kind]
        made = study.report(study.analyze(read_tables(kind, files, only, without)))
        path = write(made, kind, {"tables": ", ".join(map(str, files))}, out or Path("report"))
    else:
        if (only or without) and not out:
            name = "--agent" if only else "--exclude"
            raise UserError(f"{name}: the report in the run's folder is about all agents; add --out DIR")
        records = open_records(db)
        found = records.latest_run(run)
        analysed = analyze_run(records, found, only, without)
        known = registered_results(records, found, analysed, only=only, without=without)
        made = report_of(kind_of(found), analysed, known, unregistered(records, found))
        folder = out or records.folder(found["run"])
        trials, names = None, {}
        if site:
            pages, whole = SiteAddress(site, folder), Selection(found["run"])
            named_ones = named_trials(whole.run, facet_cells(records, whole))
            names = {name: page for name, its in named_ones.items() if (page := pages.of_list(its))}
            trials = pages.first_page()
        facts = run_facts(found) | _chosen(only, without)
        path = write(made, kind_of(found), facts, folder, trials, names)
        if methods:
            write_methods(records, found, known, methods)
    typer.echo(path)


def export(
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="A .parquet or .csv file; of a trace .jsonl, .zip or .har."
        ),
    ],
    named: OneRun = None,
    trace: Annotated[
        Literal["otlp", "playwright", "har"] | None,
        typer.Option(help="Write what happened when: spans, a trace of Playwright, or the pages seen."),
    ] = None,
    trial: Annotated[str | None, typer.Option(metavar="ID", help="Only the trace of this trial.")] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what each column is to this .csv, or to .md with a data sheet.",
        ),
    ] = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    site: Site = None,
) -> None:
    """Write the tidy table: a row per option shown in a trial, question that was asked, or scored target.

    Examples:

      souk export nudges --out nudges.parquet

      souk export nudges --out nudges.csv --site site/

      souk export nudges --out nudges.csv --codebook nudges.md

      souk export nudges --trace otlp --out nudges.jsonl

      souk export nudges --trace playwright --trial 3aa2a3c4fa2926ab3fdf54f66d1eb883 --out trial.zip
    """
    from experiments.commands.traces import write_trace

    if trace:
        if site or codebook:
            raise UserError(f"--trace {trace}: a trace has no columns; leave out --site and --codebook")
        records = open_records(db)
        typer.echo(write_trace(records, records.latest_run(named or run), trace, trial, out))
        return
    if trial:
        raise UserError(f"--trial {trial}: a table is of all trials; write --trace too, or leave it out")
    _export_table(out, named or run, db, site, codebook)


def _export_table(out: Path, run: str | None, db: str, site: str | None, codebook: Path | None) -> None:
    from experiments.records.notes import with_notes
    from experiments.records.record import kind_of
    from experiments.records.tidy_tables import write_table
    from experiments.studies.codebook import write_codebook
    from experiments.studies.kinds import study_of
    from experiments.viewer.site_address import SiteAddress

    pages = SiteAddress(site, out.parent) if site else None
    records = open_records(db)
    found = records.latest_run(run)
    with records.reading():  # one state of a run that goes on
        table = study_of(kind_of(found)).table(records, found["run"])
        table = with_notes(records, found["run"], table)
    if pages:
        table["trial_url"] = pages.of_trials(table["trial"])
    write_table(table, out)
    if codebook:
        write_codebook(records, found, table, codebook)
    typer.echo(f"{out}: {len(table):,} rows, {table['trial'].nunique():,} trials of run {found['run']}")
