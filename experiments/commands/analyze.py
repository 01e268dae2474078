"""souk analyze: from stored runs, or any tidy tables, to effects."""

import re
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    AsJson,
    Db,
    Everything,
    Excluded,
    Kind,
    Margin,
    Out,
    RunOrFiles,
    named_studies,
    pair,
)
from experiments.commands.results import analysed, folder_of, show
from interventions.errors import UserError

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

    Kinds: choice (in shops), conjoint (between cards), montecarlo (willingness to pay), biases, anchoring,
    orders (who is deceived).
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
    from experiments.studies.combined import combined_table
    from experiments.studies.stored_studies import shared_kind

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
    studies = named_studies(named, db, kind)
    kind = shared_kind(studies, kind)
    if models and (tex or len(studies) > 1):
        raise UserError(f"--models {models}: facts of models stand beside one study; name one")
    options = _options(kind, given, published=published)
    told = read_models(models) if models else None
    made = analysed(studies, kind, agent or (), exclude or (), options, told, beside=tex)
    if tex:
        typer.echo(combined_table(made.report), nl=False)
        return
    # The report in the run's folder is about all of its trials, and stays when a part is analysed.
    folder = out or (None if agent or exclude else folder_of(studies))
    show(made, folder, everything=everything, as_json=as_json)


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
