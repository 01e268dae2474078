"""souk power: how large an effect a design can show, or how many answers it needs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from experiments.commands.common import AsJson, Settings
from experiments.commands.completion import experiment_names

if TYPE_CHECKING:
    from agents.simulated.tab_shopper import ShopperProfile
    from experiments.designs.loading import AnyDesign
    from experiments.power.budget import Split
_WANTED: Final = 0.8
"""The wanted probability of finding an effect between groups."""


def power(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[EXPERIMENT]",
            help="A shipped experiment (nudges) or a YAML file.",
            autocompletion=experiment_names,
        ),
    ] = None,
    effect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURE=NUMBER",
            help="True effect: nudge=10 is 10 percentage points; repeatable. A name that the experiment does "
            "not have is answered with those it has.",
        ),
    ] = None,
    trials: Annotated[
        list[int] | None, typer.Option(min=1, help="Trials of an agent; repeatable. Default: 240, 600, all.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Find the best split of so much money; name a model with --agent."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            "-a",
            metavar="NAME",
            help="A model that will run it, whose price counts; or the simulated agent that stands in for it "
            "(simulated:mini.yaml; by default simulated:balanced). Repeatable.",
        ),
    ] = None,
    differ: Annotated[
        float,
        typer.Option(
            min=0, max=3, help="How far texts and choice sets differ in an effect: deviation / effect."
        ),
    ] = 0.5,
    studies: Annotated[int, typer.Option(min=20, max=100_000, help="Studies that are simulated.")] = 200,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    settings: Settings = None,
    groups: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Not an experiment: the answers that each of so many groups needs (analysis of variance, "
            "power 0.8); --effect is Cohen's f: 0.1 is small, 0.25 medium, 0.4 large.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate an experiment: with what probability does it find an effect, and how small a one?

    A simulated agent is given the effects that you name, and answers the very trials of the experiment again
    and again. In a shop "these sets" is the exact test of what the design exchanges, about its choice sets
    and texts; "new sets" is the clustered error, about sets and texts like these.

    Effects: in a shop nudge, order, price and rating in percentage points, a drawn price as its elasticity
    (price=-2: chosen 2 % less often where it costs 1 % more); of hotels star, score, cancellation, breakfast
    and bed in points and price as elasticity; of willingness to pay low and high in USD; of biases each by
    its name in Cohen's d.

    Examples:

      souk power nudges --effect nudge=10 --trials 240 --trials 1200

      souk power nudges --effect nudge=10 --budget 50 --agent openai:gpt-6-luna

      souk power hotels --effect star=10 --agent simulated:mini.yaml

      souk power --groups 6 --effect 0.1
    """
    from agents.simulated.own_profiles import profile_of
    from experiments.console.progress import counting
    from experiments.designs.loading import load_design
    from experiments.power.rehearsal import Studies
    from experiments.power.rehearsals import effects_in, features_of, rehearsal
    from experiments.power.tables import print_contrasts
    from interventions.errors import UserError

    if not 0 < alpha < 1:
        raise UserError(f"--alpha {alpha:g}: give a level between 0 and 1, such as 0.05")
    if groups is not None:
        _groups(groups, effect or [], alpha, as_json=as_json)
        return
    if name is None:
        raise UserError("name an experiment, such as souk power nudges; or --groups")
    stand_in, models = _agents(agent or [])
    design = load_design(name, settings=settings or ())
    effects = effects_in(effect or [], features_of(design))
    profile = profile_of(stand_in)
    notes = [
        *([] if features_of(design).keys() <= effects.keys() else [f"other effects: those of {stand_in}"]),
        *design.repeats_notes([*models, stand_in] if agent else design.experiment.agents),
    ]
    facts = {"experiment": design.name, "alpha": alpha, "studies": studies, "seed": seed, "differ": differ}
    if budget is not None:
        if trials:
            raise UserError("--trials: the splits of a budget have numbers of their own; leave it out")
        _Budget(design, budget, models, effects, facts).spend(profile, notes, as_json=as_json)
        return
    found = []
    with counting() as tell:
        rehearsed = rehearsal(design, profile, effects, differ)
        sizes = sorted({min(size, rehearsed.size) for size in trials or (240, 600, rehearsed.size)})
        tell("simulated studies", 0, len(sizes) * studies)
        for at, size in enumerate(sizes):

            def told(done: int, before: int = at * studies) -> None:
                tell("simulated studies", before + done, len(sizes) * studies)

            found += rehearsed.of(Studies(size, studies, alpha, seed, told))
    notes = [*rehearsed.assumptions, *notes]
    if as_json:
        shown = {"taste": rehearsed.told, "contrasts": [contrast.as_dict() for contrast in found]}
        typer.echo(json.dumps({**facts, **shown, "notes": notes}))
        return
    print_contrasts(found, set(effects), studies, alpha, notes)


def _agents(names: Sequence[str]) -> tuple[str, list[str]]:
    """The simulated agent that stands in, and the models that will run. Raises UserError."""
    from agents.base import is_simulated
    from agents.registry import check_name
    from experiments.power.rehearsals import STAND_IN
    from interventions.errors import UserError

    simulated = [each for each in dict.fromkeys(names) if is_simulated(each)]
    models = [each for each in dict.fromkeys(names) if not is_simulated(each)]
    if len(simulated) > 1:
        raise UserError(f"--agent {simulated[1]}: {simulated[0]} stands in already; name one simulated agent")
    for each in models:
        check_name(each)
    return (simulated or [STAND_IN])[0], models


@dataclass(frozen=True)
class _Budget:
    """A budget in USD for an experiment, the models that cost it, and the effects that are looked for."""

    design: "AnyDesign"
    usd: float
    models: Sequence[str]
    effects: Mapping[str, float]
    facts: Mapping[str, Any]

    def spend(self, profile: "ShopperProfile", notes: Sequence[str], *, as_json: bool) -> None:
        """Simulate the splits of the budget, and print them, best first. Raises UserError."""
        from experiments.console.progress import counting
        from experiments.power.budget import best_first, prices_of, simulated, splits
        from experiments.power.rehearsal import Studies
        from experiments.power.rehearsals import rehearsal, widest
        from experiments.power.tables import print_splits

        self._check()
        studies = self.facts["studies"]
        found: list[Split] = []
        prices = prices_of(self.design, self.models)
        with counting() as tell:
            bought, affordable = splits(self.design, prices, self.usd)
            rehearsed = rehearsal(widest(self.design), profile, self.effects, self.facts["differ"])
            tell("simulated studies", 0, len(bought) * studies)
            for at, split in enumerate(bought):

                def told(done: int, before: int = at * studies) -> None:
                    tell("simulated studies", before + done, len(bought) * studies)

                made = Studies(split.trials, studies, self.facts["alpha"], self.facts["seed"], told)
                found.append(simulated(self.design, split, rehearsed, made))
        ordered = best_first(found, list(self.effects), studies)
        notes = [*rehearsed.assumptions, *_priced(self.design, self.models), *notes]
        if as_json:
            shown = {"usd": self.usd, "usd_per_trial": prices, "trials_affordable": affordable}
            told_of = {"taste": rehearsed.told, "splits": [split.as_dict() for split in ordered]}
            typer.echo(json.dumps({**self.facts, **shown, **told_of, "notes": notes}))
            return
        print_splits(ordered, list(self.effects), self.usd, affordable, studies, notes)

    def _check(self) -> None:
        from interventions.errors import UserError

        if not 0 < self.usd < float("inf"):
            raise UserError(f"--budget {self.usd:g}: give an amount above 0, in USD")
        if not self.effects:
            raise UserError("--budget: name the effect that you look for, such as --effect nudge=10")
        if not self.models:
            raise UserError("--budget: name the model that costs it, such as --agent openai:gpt-6-luna")


def _priced(design: "AnyDesign", models: Sequence[str]) -> Iterator[str]:
    from agents.providers.pricing import price_tables
    from experiments.executors.expected_use import assumed
    from experiments.power.budget import priced_trials

    trials = priced_trials(design, models)
    said = dict.fromkeys(assumed(design, agent, trials) for agent in models)
    yield f"assumed: a request takes {'; or '.join(said)}; prices of {price_tables()[0].as_of}"


def _groups(groups: int, effects: Sequence[str], alpha: float, *, as_json: bool) -> None:
    """Print the smallest number of answers in each group of a one-way analysis of variance."""
    from analysis.estimators.power import power_anova, smallest_k
    from interventions.errors import UserError

    try:
        [effect] = map(float, effects)
    except ValueError:
        raise UserError("--groups: give the effect as one Cohen's f, such as --effect 0.25") from None
    wanted = smallest_k(groups, effect, alpha, _WANTED)
    reached = None if wanted is None else power_anova(groups, wanted, effect, alpha)
    if as_json:
        typer.echo(json.dumps({"per_group": wanted, "power": reached, "total": wanted and groups * wanted}))
    elif wanted is None:
        typer.echo("not reached with 1,000,000 answers in each group")
    else:
        typer.echo(
            f"{wanted:,} answers in each of {groups} groups ({groups * wanted:,} in all): power {reached:.4f}"
        )
