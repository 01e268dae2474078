"""souk models: toy language models, made on this machine."""

import time
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Make toy language models on this machine.")


@app.command("list")
def list_() -> None:
    """Show the toys that can be made, and the models in the models folder (SOUK_MODELS, else models/)."""
    from agents.providers.local_models import TOYS, models_folder

    folder = models_folder()
    found = {path.parent.name for path in folder.glob("*/config.json")} if folder.is_dir() else set()
    for name in sorted({*TOYS, *found}):
        kind = "toy" if name in TOYS else "your own"
        state = f"hf:{name}" if name in found else f"not made yet: souk models make {name}"
        typer.echo(f"{name}  {kind}  {state}")


@app.command("make")
def make(
    name: Annotated[str, typer.Argument(help="Which toy; see souk models list.")],
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives another toy.")] = 42,
) -> None:
    """Train a toy on text of Souk's own; takes about a minute.

    It answers near a number that it has seen, so that anchoring can be tried without a real model.

    Examples:

      souk models make tiny-anchor

      SOUK_MODELS=/data/models souk models make tiny-anchor --seed 7
    """
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
