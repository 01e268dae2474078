"""souk prompts: look at the wording that language models are shown in a browser, and replace it."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.console.terminal import plain
from interventions.errors import UserError

Shown = Literal["viewport", "whole", "tree", "screenshot"]

GOAL = "Add the best desk lamp to the shopping cart.\n- Look at every tab.\n\nThe user is on a tight budget."
HTML = """\
<h1>Brass Desk Lamp, Dimmable</h1>
Rating: 84%
<a bid="12" href="http://souk.test/brass-desk-lamp.html#reviews">31 Reviews</a>
$42.50
<label for="qty">Qty</label>
<input bid="13" type="number" name="qty" value="1">
<button bid="14" type="submit">Add to Cart</button>"""
TREE = """\
heading "Brass Desk Lamp, Dimmable" level=1
StaticText "Rating: 84%"
link "31 Reviews" [bid=12]
StaticText "$42.50 Qty"
spinbutton "Qty" [bid=13] value="1"
button "Add to Cart" [bid=14]"""
THOUGHT = "The oak lamp costs $39.00. I look at the other tab before I choose."
MEMORY = "Tab 1, Oak Desk Lamp: $39.00, rating 61%, 8 reviews."


def prompts(
    folder: Annotated[
        str, typer.Argument(help="A folder of prompts; the shipped one by default.")
    ] = "default",
    new: Annotated[
        bool, typer.Option("--new", help="Copy the shipped prompt into this new folder, to edit it.")
    ] = False,
    observes: Annotated[
        Shown, typer.Option("--observes", help="What the agent sees of the page: one of these.")
    ] = "viewport",
) -> None:
    """Print a whole example prompt, the second step on a made-up page; or start a prompt of your own.

    An experiment names its prompt as `prompt: FOLDER`.

    Examples:

      souk prompts --observes tree

      souk prompts mine --new
    """
    if new:
        _copy(Path(folder))
    else:
        _show(folder, observes)


def _copy(folder: Path) -> None:
    from agents.language_model.prompt import default_prompt

    files = {folder / name: text for name, text in default_prompt().sources.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            if path.exists():
                raise UserError(f"{path}: exists already; choose another folder")
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
    typer.echo(f"{folder}: {' and '.join(path.name for path in files)}; look: souk prompts {folder}")


def _show(folder: str, observes: Shown) -> None:
    from agents.language_model.prompt import PastStep, load_prompt
    from agents.language_model.step_prompt import build_prompt
    from agents.providers.tokens import estimate_tokens
    from environments.protocol.actions import Action
    from environments.protocol.observation import Observation, Tab

    templates = load_prompt(folder)
    observation = Observation(
        GOAL,
        HTML,
        (
            Tab("Brass Desk Lamp, Dimmable", "http://souk.test/brass-desk-lamp.html", True),
            Tab("Oak Desk Lamp", "http://souk.test/oak-desk-lamp.html", False),
        ),
        step=1,
        tree=TREE if observes == "tree" else "",
        screenshot=b"an image" if observes == "screenshot" else b"",
        page="whole" if observes == "whole" else "viewport",
    )
    history = [PastStep(1, THOUGHT, MEMORY, str(Action("tab_focus", (0,))))]
    prompt = build_prompt(observation, history, templates)
    tokens = sum(map(estimate_tokens, prompt))
    typer.echo(plain(f"[system]\n{prompt.system}\n\n[user]\n{prompt.user}\n"))
    typer.echo(f"{folder}: about {tokens:,} tokens, SHA-256 {templates.digest}")
