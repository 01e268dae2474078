"""souk power: how many answers a design needs."""

import json
from typing import Annotated

import typer

from experiments.commands.common import AsJson

app = typer.Typer(no_args_is_help=True, help="Compute how many answers are needed to find an effect.")


@app.callback()
def power() -> None:
    """Compute how many answers a design needs."""


@app.command("anova")
def anova(
    groups: Annotated[int, typer.Option(min=2, help="Groups that are compared.")],
    effect: Annotated[float, typer.Option(help="Effect size f: 0.1 is small, 0.25 medium, 0.4 large.")],
    power: Annotated[float, typer.Option(help="Wanted probability of finding the effect.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = 0.05,
    as_json: AsJson = False,
) -> None:
    """Compute the smallest number of answers in each group of a one-way analysis of variance.

    Example: souk power anova --groups 6 --effect 0.1 --power 0.8
    """
    from analysis.estimators.power import power_anova, smallest_k

    wanted = smallest_k(groups, effect, alpha, power)
    reached = None if wanted is None else power_anova(groups, wanted, effect, alpha)
    if as_json:
        typer.echo(json.dumps({"per_group": wanted, "power": reached, "total": wanted and groups * wanted}))
    elif wanted is None:
        typer.echo("not reached with 1,000,000 answers in each group")
    else:
        typer.echo(
            f"{wanted:,} answers in each of {groups} groups ({groups * wanted:,} in all): power {reached:.4f}"
        )
