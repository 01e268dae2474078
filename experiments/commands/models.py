"""souk models: toy language models, made on this machine."""

import time
from typing import Annotated

import typer


def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Make this toy.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives another toy.")] = 42,
) -> None:
    """List the models of this machine, or make a toy, trained on text of Souk's own; takes about a minute.

    Models are kept in the folder SOUK_MODELS, else models/. A toy answers near a number that it has seen, so
    that anchoring can be tried without a real model.

    Examples:

      souk models

      souk models tiny-anchor

      SOUK_MODELS=/data/models souk models tiny-anchor --seed 7
    """
    if name:
        _make(name, seed)
    else:
        _list()


def _list() -> None:
    from agents.providers.local_models import TOYS, models_folder

    folder = models_folder()
    found = {path.parent.name for path in folder.glob("*/config.json")} if folder.is_dir() else set()
    for name in sorted({*TOYS, *found}):
        kind = "toy" if name in TOYS else "your own"
        state = f"hf:{name}" if name in found else f"not made yet: souk models {name}"
        typer.echo(f"{name}  {kind}  {state}")


def _make(name: str, seed: int) -> None:
    from agents.providers.local_models import models_folder
    from agents.scoring.toy import make_toy
    from experiments.console.progress import duration
    from experiments.console.terminal import stderr_console

    console, began = stderr_console(), time.monotonic()
    with console.status(f"making the toy {name} ...") as status:

        def show(done: int, total: int) -> None:
            left = duration((time.monotonic() - began) / done * (total - done))
            line = f"training the toy {name}: step {done:,} of {total:,}, {left} left"
            if console.is_terminal:
                status.update(line)
            elif done % (total // 5) == 0:
                console.print(line, highlight=False)

        path = make_toy(name, models_folder(), show, seed=seed)
    typer.echo(f"{path}: a toy, for trying things out; use it as hf:{name}")
