"""souk fit: a simulated shopper that stands in for an agent whose choices are stored."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    AsJson,
    Db,
    RunOrFiles,
    named_studies,
)
from interventions.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from experiments.fitting.shopper_fit import Parameter, ShopperFit

_NAMES = {"shopper": "this shopper", "constant": "position alone", "chance": "chance"}


def fit(
    named: RunOrFiles = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the shopper to this .yaml file.")
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", "-a", metavar="NAME", help="Whose choices; needed where several agents chose."
        ),
    ] = None,
    holdout: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the choice sets that is held out at a time.")
    ] = 0.2,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Fit a simulated shopper to an agent's choices: a stand-in that needs no key.

    The weights are those of a shopper's profile, by maximum likelihood. How well the shopper predicts is
    measured on choice sets that it was not fitted to.

    Examples:

      souk fit nudges --out mine.yaml && souk run nudges --agent simulated:mine.yaml

      souk fit nudges --agent openai:gpt-6-luna --out mini.yaml

      souk power nudges --agent simulated:mini.yaml
    """
    from analysis.tables.table_file import selected
    from experiments.console.terminal import waiting
    from experiments.fitting.shopper_file import check_new, shopper_yaml, write_new
    from experiments.fitting.shopper_fit import fit_shopper
    from experiments.fitting.shown_choices import shown_choices

    if not 0 < holdout <= 0.5:
        raise UserError(f"--holdout {holdout:g}: give a share above 0 and at most 0.5, such as 0.2")
    if out:
        check_new(out)
    with waiting("estimating ..."):
        table, facts, origin, hotels = _choices(named, db)
        agent = _one_agent(table, agent)
        of_agent = selected(table, table["agent"] == agent)
        found = fit_shopper(shown_choices(of_agent, facts, hotels=hotels), holdout)
    if out:
        write_new(shopper_yaml(found, f"{origin}, agent {agent}"), out)
    if as_json:
        told = {"of": origin, "agent": agent, "holdout": holdout, "file": str(out) if out else None}
        typer.echo(json.dumps({**told, **found.as_dict()}, indent=2))
        return
    _print(found, f"{origin}, agent {agent}", out)


def _choices(named: list[str] | None, db: str) -> "tuple[pd.DataFrame, dict[str, Any], str, bool]":
    """The tidy table, the facts of its run, where it is from, and whether its options are hotels."""
    from experiments.fitting.shown_choices import HOTEL
    from experiments.records.reading.tidy_tables import tidy_table
    from experiments.records.record import kind_of
    from experiments.studies.kinds import read_tables, study_of
    from experiments.studies.stored_studies import StoredTable

    studies = named_studies(named, db)
    files = [each.path for each in studies if isinstance(each, StoredTable)]
    if len(files) == len(studies):
        table = read_tables("choice", files)
        return table, {}, f"tables {', '.join(path.name for path in files)}", set(HOTEL) <= {*table}
    one = studies[0]
    if len(studies) > 1 or isinstance(one, StoredTable):
        raise UserError(f"{' '.join(named or ())}: name one run, or tables, and not both")
    records, found = one.records, one.found
    kind = kind_of(found)
    if not (between := study_of(kind).between):
        raise UserError(
            f"{found['name']}: its answers are no choices between products or hotels; it is a study of "
            f"the kind {kind}: name a run in a shop, or of hotels"
        )
    with records.reading():  # one state of a run that goes on
        table = tidy_table(records, found["run"])
    return table, found["facts"], f"run {found['run']}", between == "hotels"


def _one_agent(table: "pd.DataFrame", agent: str | None) -> str:
    """The agent whose choices are wanted. Raises UserError where it is not clear which."""
    from agents.simulated.own_profiles import known_as
    from analysis.tables.choice_table import check_table
    from experiments.studies.kinds import agents_left

    if "agent" not in table:
        check_table(table)  # which says what the table lacks
    known = sorted(map(str, set(table["agent"].dropna())))
    if agent:
        return agents_left(known, [known_as(agent)], [])[0]
    if len(known) != 1:
        raise UserError(f"--agent: name the agent whose choices are fitted; there are {', '.join(known)}")
    return known[0]


def _print(found: "ShopperFit", origin: str, out: Path | None) -> None:
    from rich.markup import escape

    from experiments.console.terminal import new_table, stdout_console
    from experiments.fitting.shopper_file import fixed_lines

    console = stdout_console()

    def say(line: str, style: str = "") -> None:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)

    left_out = (
        f"; {found.without_choice:,} trials without a choice are left out" if found.without_choice else ""
    )
    say(f"{origin}: {found.choices:,} choices in {found.sets:,} choice sets{left_out}")
    table = new_table("The shopper", "parameter", "estimate", "std. error", "95 % interval")
    for column in table.columns[1:]:
        column.justify = "right"
    for each in found.parameters:
        if not each.fixed:
            table.add_row(escape(each.name), f"{each.estimate:.3g}", *_error(each))
    console.print(table)
    for line in fixed_lines(found):
        say(line, "dim")
    say("")
    if found.quality:
        title = f"Choices of held-out sets ({found.folds} folds)"
        columns = ("predicted by", "log-likelihood", "McFadden's R2", "right", "Brier score")
        quality = new_table(title, *columns)
        for column in quality.columns[1:]:
            column.justify = "right"
        for name, of in found.quality.items():
            row = f"{of.loglik:.3f}", f"{of.pseudo_r2:.3f}", f"{of.right:.0%}", f"{of.brier:.3f}"
            quality.add_row(_NAMES[name], *row)
        console.print(quality)
        say("log-likelihood: per choice; right: the likeliest option was chosen; Brier: 0 is perfect", "dim")
    for note in found.notes:
        say(note, "yellow")
    say(f"{out}: run it with --agent simulated:{out}" if out else "a file with --out FILE.yaml")


def _error(each: "Parameter") -> tuple[str, str]:
    if each.std_error is None:
        return "", ""
    return f"{each.std_error:.2g}", f"{each.conf_low:.3g} to {each.conf_high:.3g}"
