"""Make the design of an experiment by its name; here is the one table of the kinds of experiments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, get_args

from environments.shop.shop import USUAL, Shop
from experiments.designs.cards.design import CardDesign, make_card_design
from experiments.designs.design import Design, Mode
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.inputs.settings import with_settings
from experiments.designs.scoring.design import ScoreDesign
from experiments.designs.scoring.scored_cards import ScoredCards
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.experiment_file import EMBEDDED, Task
from interventions.errors import UserError
from interventions.yaml.yaml_source import Source, did_you_mean

AnyDesign = Design[Any]
"""A design whose kind of trials is known only once the experiment's file is read."""

SomeDesign = TypeVar("SomeDesign", bound=AnyDesign)

MOST_TRIALS: Final = 1_000_000
"""The most trials of an agent that an experiment may have."""


def load_design(
    name: str, mode: Mode | None = None, settings: Sequence[str] = (), wave: str | None = None
) -> AnyDesign:
    """Make the design of a shipped experiment, or of a file.

    mode: used in place of the file's own mode. settings: `KEY=VALUE`, used in place of the file's own values.
    wave: the date at which the study is repeated; it ends the study's name, and so makes another run of it.
    Raises UserError with file, line and key.
    """
    source = _read(name, settings)
    if wave and "name" in source.data:
        data = {**source.data, "name": f"{source.data['name']}-{wave}"}
        source = replace(source, data=data, given={**source.given, ("name",): f"--wave {wave}"})
    design = _sized(TASKS.get(str(source.data.get("task")), _shop)(source, name, mode), source)
    design.wave = wave
    return design


def load_shop_design(name: str, subject: str, *, shown: bool = False) -> ShopDesign:
    """Make the design of an experiment in a shop for a subject that Souk does not run.

    shown: whether Souk shows the subject the pages, in the modality of the trial.

    Raises:
        UserError: a mistake in the experiment, or it has modalities and the subject looks at pages by itself.
    """
    source = _read(name)
    task = str(source.data.get("task"))
    if task in TASKS:
        raise UserError(
            f"{name}: its trials are no visits to a shop (task: {task}); choose another experiment"
        )
    design = _sized(ShopDesign(source, subject=subject), source)
    if design.experiment.observation.modality and not shown:
        cause = "this subject looks at pages by itself, and Souk shows it none in another way"
        raise source.error(("observation",), f"{cause}; remove the key")
    return design


def embedded_shop(name: str) -> Shop:
    """Return the embedded shop by its name `shop`, or as the shop of an experiment.

    Raises:
        UserError: a mistake in the experiment, or its shop is another one.
    """
    shop = USUAL if name == EMBEDDED else load_shop_design(name, "", shown=True).shop
    if shop.url:
        raise UserError(f"{name}: its products are those of the shop {shop.url}; give that address")
    return shop


def _read(name: str, settings: Sequence[str] = ()) -> Source:
    """Read a file of an experiment. Raises UserError: it is one of interventions, or of an unknown task."""
    source = with_settings(experiment_source(name), settings)
    if "interventions" in source.data and not source.data.keys() & {"name", "goal", "task"}:
        message = "this is a file of interventions; name it in an experiment, as factors.nudge.interventions"
        raise source.error(("interventions",), message)
    task, known = source.data.get("task"), (*get_args(Task), *TASKS)
    if isinstance(task, str) and task not in known:
        raise source.error(
            ("task",), f'unknown value "{task}"; {did_you_mean(task, known, noun="use one of")}'
        )
    return source


def stored_design(source: Source, subject: str) -> AnyDesign:
    """Make a design from the experiment that the records have kept. Raises UserError."""
    if make := TASKS.get(str(source.data.get("task"))):
        return _sized(make(source, source.name, None), source)
    return _sized(ShopDesign(source, subject=subject), source)


def _sized(design: SomeDesign, source: Source) -> SomeDesign:
    """The design, if its trials can be made in a reasonable time. Raises UserError."""
    design.source = source
    if design.size > MOST_TRIALS:
        cause = f"{design.size:,} trials for each agent are more than {MOST_TRIALS:,}"
        raise source.error(
            ("design" if "design" in source.data else "repeats",), f"{cause}; lower repeats or sets"
        )
    return design


def _shop(source: Source, name: str, mode: Mode | None) -> ShopDesign:
    if mode not in (None, "page"):
        raise UserError(f"--mode {mode}: {name} is about pages of a shop; only cards can be asked otherwise")
    return ShopDesign(source)


def _cards(source: Source, name: str, mode: Mode | None) -> CardDesign:
    design = make_card_design(replace(source, data={**source.data, "mode": mode}) if mode else source)
    return ScoredCards(design) if design.experiment.mode == "logprobs" else design


def _scores(source: Source, name: str, mode: Mode | None) -> ScoreDesign:
    if mode:
        raise UserError(f"--mode {mode}: {name} scores targets; leave --mode out")
    return ScoreDesign(source)


TASKS: Final[Mapping[str, Callable[[Source, str, Mode | None], AnyDesign]]] = {
    "card": _cards,
    "score": _scores,
}
"""The functions that make the design of an experiment with this `task`.

Every other task is one in a shop.
"""
