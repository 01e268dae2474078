"""souk power: how large an effect a design can show, or how many answers it needs."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from experiments.commands.common import AsJson

if TYPE_CHECKING:
    from experiments.studies.shop_power import Contrast, Feature

_EXPERIMENT = "experiment"
LARGEST_SHARE = 100


class ExperimentFirst(TyperGroup):
    """What is no command's name is an experiment: `souk power nudges` is `souk power experiment nudges`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, or take the one for experiments."""
        own = args if args[0] in self.commands else [_EXPERIMENT, *args]
        return super().resolve_command(ctx, own)


app = typer.Typer(
    cls=ExperimentFirst,
    no_args_is_help=True,
    help="How likely does an experiment find an effect? Example: souk power nudges --effect nudge=10",
)


@app.callback()
def power() -> None:
    """Compute how large an effect a design can show, or how many answers it needs."""


@app.command(_EXPERIMENT)
def experiment(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="A shipped experiment, or a file.")],
    effect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURE=POINTS",
            help="True effect in percentage points: of nudge, order, price or rating; repeatable.",
        ),
    ] = None,
    trials: Annotated[
        list[int] | None, typer.Option(min=1, help="Trials of an agent; repeatable. Default: 240, 600, all.")
    ] = None,
    agent: Annotated[
        str, typer.Option("--agent", "-a", metavar="NAME", help="Simulated shopper with the other tastes.")
    ] = "simulated:balanced",
    studies: Annotated[int, typer.Option(min=20, max=100_000, help="Studies that are simulated.")] = 200,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate an experiment in a shop: with what probability does it find an effect, and how small a one?

    A simulated shopper is given the effects that you name, and answers the very trials of the experiment
    again and again. "These sets" is the exact test of what the design exchanges, about its choice sets and
    texts; "new sets" is the clustered error, about sets and texts like these.

    Example: souk power nudges --effect nudge=10 --trials 240 --trials 1200
    """
    from agents.base import is_simulated
    from agents.simulated.own_profiles import profile_of
    from experiments.console.progress import counting
    from experiments.designs.loading import load_shop_design
    from experiments.studies.shop_power import calibrated, power_of
    from interventions.errors import UserError

    if not 0 < alpha < 1:
        raise UserError(f"--alpha {alpha:g}: give a level between 0 and 1, such as 0.05")
    if not is_simulated(agent):
        raise UserError(
            f"--agent {agent}: name a simulated shopper, such as simulated:balanced or simulated:mine.yaml"
        )
    effects = _effects(effect or [])
    design = load_shop_design(name, "")
    if design.experiment.task != "compare-tabs":
        raise UserError(f"{name}: only trials in tabs are simulated (task: compare-tabs)")
    sizes = sorted({min(size, design.size) for size in trials or (240, 600, design.size)})
    found: list[Contrast] = []
    with counting() as tell:
        taste = calibrated(design, profile_of(agent).taste, effects)
        for at, size in enumerate(sizes):

            def told(done: int, before: int = at * studies) -> None:
                tell("simulated studies", before + done, len(sizes) * studies)

            found += power_of(design, taste, size, studies, alpha=alpha, seed=seed, tell=told)
    if as_json:
        facts = {"experiment": design.name, "alpha": alpha, "studies": studies, "seed": seed}
        shown = taste.model_dump(exclude_defaults=True)
        contrasts = [contrast.as_dict() for contrast in found]
        typer.echo(json.dumps({**facts, "taste": shown, "contrasts": contrasts}))
        return
    _print(found, set(effects), studies, alpha, design.experiment.repeats)


def _effects(given: list[str]) -> "dict[Feature, float]":
    """Raises UserError for what is no feature with a number."""
    from experiments.studies.shop_power import TERMS
    from interventions.errors import UserError
    from interventions.yaml.yaml_source import did_you_mean

    found: dict[Feature, float] = {}
    for text in given:
        name, _, number = text.partition("=")
        feature = next((each for each in TERMS if each == name), None)
        if feature is None:
            raise UserError(f"--effect {text}: {did_you_mean(name, TERMS, noun='features')}")
        try:
            points = float(number)
        except ValueError:
            points = float("nan")
        if not abs(points) <= LARGEST_SHARE:
            raise UserError(f"--effect {text}: write it as {name}=10, a number of percentage points")
        found[feature] = points
    return found


def _print(found: "list[Contrast]", named: "set[Feature]", studies: int, alpha: float, repeats: int) -> None:
    from experiments.console.terminal import new_table, stdout_console

    console = stdout_console()

    def say(line: str, style: str = "") -> None:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)

    for contrast in found:
        if contrast.feature in named:
            shares = ((target.power, target.about) for target in contrast.targets)
            told = " and ".join(f"{power:.0%} of studies ({of})" for power, of in shares if power is not None)
            say(
                f"{contrast.trials:,} trials of an agent find an effect of {contrast.effect:.1f} points of"
                f" {contrast.feature} in {told or 'no study: there is no test with so few sets'}."
            )
    headings = ("trials", "effect of", "points", "about", "power", "95 % interval", "smallest")
    table = new_table("What the experiment can show", *headings)
    for column, heading in zip(table.columns, headings, strict=True):
        column.justify = "left" if heading in {"effect of", "about"} else "right"
    for contrast in found:
        for target in contrast.targets:
            table.add_row(
                f"{contrast.trials:,}",
                contrast.feature,
                f"{contrast.effect:.1f}",
                target.about,
                "" if target.power is None else f"{target.power:.0%}",
                "" if target.half_width is None else f"± {target.half_width:.1f}",
                "" if target.detectable is None else f"{target.detectable:.1f}",
            )
    console.print(table)
    chance = 50 / studies**0.5
    say(
        f"power: the share of {studies:,} simulated studies with p below {alpha:g} (by chance ± {chance:.0f}"
        " points)",
        "dim",
    )
    say("smallest: the effect that such trials find with a power of 80 %, in percentage points", "dim")
    if any(target.power is None for contrast in found for target in contrast.targets):
        say("empty: no test about new sets, with so few of them", "dim")
    if repeats > 1:
        say(
            "repeats: an agent that answers alike, as at temperature 0, shows nothing by them; more sets do",
            "dim",
        )


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
