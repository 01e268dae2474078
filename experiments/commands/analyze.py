"""souk analyze, souk report and souk export: from stored runs, or any tidy tables, to effects."""

import re
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

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
    RunOrFiles,
    Site,
    estimating,
    open_records,
    open_run,
    pair,
    run_or_files,
    show,
    tables_among,
    write,
)
from interventions.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.studies.side_by_side import NamedStudy

Kind = Annotated[
    str | None,
    typer.Option("--as", metavar="KIND", help="How tables are analysed; a run has its own kind of study."),
]
_CARDS = "Choices between cards (conjoint)"
_ANSWERS = "Answers (montecarlo, biases)"
PUBLISHED: Final = {"population": True, "legacy_zero": True, "method": "banzhaf"}
"""The options of analyses with which the published figures of the studies come out."""
_SCORES = "Log-probabilities (anchoring)"


def analyze(
    named: RunOrFiles = None,
    kind: Kind = None,
    agent: Agents = None,
    exclude: Excluded = None,
    db: Db = DEFAULT_DB,
    out: Out = None,
    everything: Everything = False,
    as_json: AsJson = False,
    tex: Annotated[
        bool,
        typer.Option("--tex", help="Print a LaTeX table by agent and study, with stars by adjusted p."),
    ] = False,
    margin: Margin = None,
    contrast: Annotated[
        list[str] | None,
        typer.Option(
            "--contrast",
            metavar="A:B",
            help="Compare two nudges, texts, profiles or conditions of choices in shops; repeatable.",
        ),
    ] = None,
    cov: Annotated[
        Literal["classical", "robust", "clustered"] | None,
        typer.Option(
            help="Standard errors. By default clustered by choice set where sets are shown several times.",
            rich_help_panel=_CARDS,
        ),
    ] = None,
    locked: Annotated[
        bool,
        typer.Option(
            "--locked", help="Fit the models of position-locked agents, too.", rich_help_panel=_CARDS
        ),
    ] = False,
    mixed: Annotated[
        bool,
        typer.Option(
            "--mixed",
            help="Fit a mixed logit, too: how far tastes differ. Takes minutes.",
            rich_help_panel=_CARDS,
        ),
    ] = False,
    classes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=6,
            help="Fit latent classes, too: N kinds of tastes.",
            rich_help_panel=_CARDS,
        ),
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            metavar="NAME=KIND",
            help="How attr_NAME is read: numbers, levels or none; else as its values are; repeatable.",
            rich_help_panel=_CARDS,
        ),
    ] = None,
    currency: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="The currency of the prices, where the table does not say it.",
            rich_help_panel=_CARDS,
        ),
    ] = None,
    robust: Annotated[
        bool,
        typer.Option(
            "--robust",
            help="Fit models with tier, area and each option held, too. Takes seconds for each agent.",
            rich_help_panel=_CARDS,
        ),
    ] = False,
    at_price: Annotated[
        float | None,
        typer.Option(
            metavar="PRICE",
            min=0.01,
            help="The price at which attributes are valued, instead of the median price.",
            rich_help_panel=_CARDS,
        ),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size",
            metavar="AGENT=BILLIONS",
            help="A model's size, in billions of parameters; of cards too; repeatable.",
            rich_help_panel=_ANSWERS,
        ),
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option(
            help="The condition in which answers are compared with the list price, control by default; of"
            " cards the variant that tables are of, base by default.",
            rich_help_panel=_ANSWERS,
        ),
    ] = None,
    generation: Annotated[
        list[str] | None,
        typer.Option(
            "--generation",
            metavar="AGENT=VERSION",
            help="A model's generation, for comparisons; repeatable.",
            rich_help_panel=_ANSWERS,
        ),
    ] = None,
    valid: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Valid answers that a question of a bias needs, 100 by default; with fewer it is left out.",
            rich_help_panel=_ANSWERS,
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Compute as the published studies did: standard deviations with divisor n, complete "
            "separation as no effect, Banzhaf values.",
            rich_help_panel=_ANSWERS,
        ),
    ] = False,
    models: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of the agents' models: agent, and release, parameters, scores ...",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed of bands and permutation tests; the run's own by default.",
            rich_help_panel=_SCORES,
        ),
    ] = None,
) -> None:
    """Estimate effects, from runs by their kind of study, or from any tidy tables.

    Kinds: choice (in shops), conjoint (between cards), montecarlo (willingness to pay), biases, anchoring.
    Several runs or tables stand side by side: each row names its study, and an agent of two is never pooled.

    Examples:

      souk analyze nudges

      souk analyze nudges nudges-mr nudges-mrap --tex

      souk analyze nudges --agent openai:gpt-6-luna --margin 5 --json

      souk analyze nudges --contrast best-seller:free-shipping

      souk analyze nudges.zip

      souk analyze other-study.csv --as choice --out report/

      souk analyze hotels --mixed --classes 2

      souk analyze hotels --models models.csv

      souk analyze hotels --at-price 250

      souk analyze shirts.csv --as conjoint --attribute size=levels --currency EUR

      souk analyze old.csv new.csv --as montecarlo --generation openai:a=3 --generation openai:b=4

      souk analyze responses.csv --as biases --valid 50

      souk analyze anchoring_gpt2_results_standard.csv --as anchoring --published
    """
    from analysis.reporting.by_model import read_models
    from experiments.plans.registered import registered_results, unregistered
    from experiments.records.record import kind_of
    from experiments.studies.combined import combined_table
    from experiments.studies.kinds import analyze_run, read_tables, study_of
    from experiments.studies.printing import run_facts
    from experiments.studies.side_by_side import side_by_side

    asked = {
        "--margin": ("margin", margin),
        "--contrast": ("contrasts", contrast or None),
        "--cov": ("cov", cov),
        "--locked": ("locked", locked or None),
        "--mixed": ("mixed", mixed or None),
        "--classes": ("classes", classes),
        "--attribute": ("attributes", _pairs("--attribute", attribute)),
        "--currency": ("currency", currency),
        "--at-price": ("at_price", at_price),
        "--robust": ("robust", robust or None),
        "--size": ("sizes", _sizes(size)),
        "--condition": ("condition", condition),
        "--generation": ("generations", _pairs("--generation", generation)),
        "--valid": ("valid", valid),
        "--seed": ("seed", seed),
    }
    given = {option: (name, value) for option, (name, value) in asked.items() if value is not None}
    only, without = tuple(agent or ()), tuple(exclude or ())
    if len(named or ()) > 1 or tex:
        if models:
            raise UserError(f"--models {models}: facts of models stand beside one study; name one")
        with estimating():
            kind, studies, facts = _several(named or [], kind, db)
            options = _options(kind, given, published=published)
            several = side_by_side(kind, studies, only, without, **options)
        if tex:
            typer.echo(combined_table(several.report), nl=False)
            return
        show(several, kind, facts, out, everything=everything, as_json=as_json, made=several.report)
        return
    told = read_models(models) if models else None
    run, files = run_or_files(named)
    if files:
        kind = _kind_of_tables(kind, files)
        options = _options(kind, given, published=published) | _features(kind, told)
        with estimating():
            analysis = study_of(kind).analyze(read_tables(kind, files, only, without), **options)
        facts = {"tables": ", ".join(map(str, files))}
        show(analysis, kind, facts, out, everything=everything, as_json=as_json, models=told)
        return
    _refuse_kind_of_run(kind)
    records, found, is_temporary = open_run(run, db)
    options = _options(kind_of(found), given, published=published)
    with estimating():
        features = _features(kind_of(found), told)
        analysis = analyze_run(records, found, only, without, **options, **features)
        known = registered_results(records, found, analysis, only=only, without=without, options=options)
    facts = run_facts(found)
    if only or without:
        # Of a part of the trials: the report in the run's folder is about all of them and stays.
        facts |= _chosen(only, without)
    elif not is_temporary:
        out = out or records.folder(found["run"])
    show(
        analysis,
        kind_of(found),
        facts,
        out,
        everything=everything,
        as_json=as_json,
        known=known,
        note=unregistered(records, found),
        models=told,
    )


def _several(
    words: Sequence[str], kind: str | None, db: str
) -> tuple[str, list["NamedStudy"], dict[str, str]]:
    """The kind, the studies and the facts of several runs and tables. Raises UserError for two kinds."""
    from experiments.records.record import kind_of
    from experiments.studies.kinds import of_design, read_tables, study_of
    from experiments.studies.side_by_side import NamedStudy

    files, runs = tables_among(words)
    latest: list[str | None] = [] if files else [None]
    opened = [(name, *open_run(name, db)[:2]) for name in runs or latest]
    kinds = {str(name): kind_of(found) for name, _, found in opened}
    if opened:
        _refuse_kind_of_run(kind)
    else:
        kinds[str(files[0])] = _kind_of_tables(kind, files)
    if len(set(kinds.values())) > 1:
        said = ", ".join(f"{name} is of the kind {each}" for name, each in kinds.items())
        raise UserError(f"{said}: studies of one kind stand side by side; name those only")
    kind = next(iter(kinds.values()))
    names = [found["name"] for *_, found in opened] + [path.stem for path in files]
    studies = [
        NamedStudy(
            found["name"] if names.count(found["name"]) == 1 else found["run"],
            study_of(kind).stored(records, found["run"], ()),
            of_design(found),
        )
        for _, records, found in opened
    ]
    studies += [
        NamedStudy(path.stem if names.count(path.stem) == 1 else str(path), (read_tables(kind, [path]),))
        for path in files
    ]
    facts = {"run": ", ".join(found["run"] for *_, found in opened), "tables": ", ".join(map(str, files))}
    return kind, studies, {name: text for name, text in facts.items() if text}


def _kind_of_tables(kind: str | None, files: Sequence[Path]) -> str:
    """Return the kind of study of tables, as `--as` says. Raises UserError."""
    from experiments.studies.kinds import STUDIES
    from interventions.yaml.yaml_source import did_you_mean

    if not kind:
        raise UserError(
            f"{files[0]}: a table does not say its kind of study; add --as with one of {', '.join(STUDIES)}"
        )
    if kind not in STUDIES:
        raise UserError(f"--as {kind}: {did_you_mean(kind, STUDIES, noun='kinds')}")
    return kind


def _refuse_kind_of_run(kind: str | None) -> None:
    """Raise UserError where `--as` is given for a stored run."""
    if kind:
        raise UserError(f"--as {kind}: a run has its own kind of study; leave it out")


def _options(kind: str, given: dict[str, tuple[str, Any]], *, published: bool) -> dict[str, Any]:
    """The options of a study's analysis, by their names there. Raises UserError for one of another kind."""
    from experiments.studies.kinds import study_of

    known = signature(study_of(kind).analyze).parameters
    strange = [option for option, (name, _) in given.items() if name not in known]
    as_published = {name: value for name, value in PUBLISHED.items() if name in known} if published else {}
    if published and not as_published:
        strange.append("--published")
    if strange:
        raise UserError(f"{strange[0]}: an analysis of the kind {kind} has no such option; leave it out")
    return as_published | dict(given.values())


def _features(kind: str, models: "DataFrame | None") -> dict[str, Any]:
    """The table of models as an option of an analysis that has one."""
    from experiments.studies.kinds import study_of

    known = "models" in signature(study_of(kind).analyze).parameters
    return {"models": models} if models is not None and known else {}


def _chosen(only: Sequence[str], without: Sequence[str]) -> dict[str, str]:
    """What a report says of its agents, where these are not all of the run."""
    words = [*only, *(f"without {name}" for name in without)]
    return {"agents": ", ".join(words)} if words else {}


def _pairs(option: str, texts: list[str] | None) -> dict[str, str] | None:
    return dict(pair(option, text) for text in texts) if texts else None


def _sizes(texts: list[str] | None) -> dict[str, float] | None:
    sizes = _pairs("--size", texts) or {}
    for name, number in sizes.items():
        if not re.fullmatch(r"\d+(\.\d+)?", number):
            raise UserError(
                f"--size {name}={number}: {number} is no size; write billions, such as openai:small=8"
            )
    return {name: float(number) for name, number in sizes.items()} or None


def report(
    named: RunOrFiles = None,
    db: Db = DEFAULT_DB,
    out: Out = None,
    site: Site = None,
    kind: Kind = None,
    agent: Agents = None,
    exclude: Excluded = None,
) -> None:
    """Write the HTML report and the figures of a run, or of any tidy tables.

    Examples:

      souk report nudges --out report/

      souk report nudges --exclude simulated:random --out report/

      souk report answers.csv --as montecarlo --out report/

      souk report nudges nudges-mr --out report/

      souk report nudges --out report/ --site site/
    """
    from experiments.plans.registered import registered_results, report_of, unregistered
    from experiments.records.reading.trial_search import Selection, facet_cells
    from experiments.records.record import kind_of
    from experiments.studies.kinds import analyze_run, read_tables, study_of
    from experiments.studies.printing import run_facts
    from experiments.studies.side_by_side import side_by_side
    from experiments.viewer.screens.answer_screen import named_trials
    from experiments.viewer.site_address import SiteAddress

    only, without = tuple(agent or ()), tuple(exclude or ())
    if len(named or ()) > 1:
        if site:
            raise UserError(f"--site {site}: pages are of one run; name one")
        kind, studies, told = _several(named or [], kind, db)
        made = side_by_side(kind, studies, only, without).report
        typer.echo(write(made, study_of(kind).title, told, out or Path("report")))
        return
    run, files = run_or_files(named)
    if site and files:
        raise UserError(f"--site {site}: tables have no pages of trials; name a run")
    if files:
        kind = _kind_of_tables(kind, files)
        study = study_of(kind)
        made = study.report(study.analyze(read_tables(kind, files, only, without)))
        path = write(made, study.title, {"tables": ", ".join(map(str, files))}, out or Path("report"))
    else:
        _refuse_kind_of_run(kind)
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
        path = write(made, study_of(kind_of(found)).title, facts, folder, trials, names)
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
        typer.echo(write_trace(records, records.latest_run(named), trace, trial, out))
        return
    if trial:
        raise UserError(f"--trial {trial}: a table is of all trials; write --trace too, or leave it out")
    _export_table(out, named, db, site, codebook)


def _export_table(out: Path, run: str | None, db: str, site: str | None, codebook: Path | None) -> None:
    from experiments.plans.codebook import check_suffix, write_codebook
    from experiments.records.reading.notes import with_notes
    from experiments.records.reading.tidy_tables import write_table
    from experiments.records.record import kind_of
    from experiments.studies.kinds import study_of
    from experiments.viewer.site_address import SiteAddress

    if codebook:
        check_suffix(codebook)
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
