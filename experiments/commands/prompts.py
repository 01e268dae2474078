"""souk prompts: look at the wording that language models are shown in a browser, and replace it."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.console.terminal import plain
from interventions.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Show and replace the prompt of language models.")

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


@app.command("new")
def new(folder: Annotated[Path, typer.Argument(help="A new folder.")]) -> None:
    """Copy the shipped prompt into a folder, where you can edit it.

    An experiment names it as `prompt: FOLDER`.
    """
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
    typer.echo(f"{folder}: {' and '.join(path.name for path in files)}; look: souk prompts show {folder}")


@app.command("show")
def show(
    folder: Annotated[
        str, typer.Argument(help="A folder of prompts; the shipped one by default.")
    ] = "default",
    whole: Annotated[
        bool, typer.Option("--whole", help="Show it as for an experiment that observes whole pages.")
    ] = False,
    tree: Annotated[bool, typer.Option("--tree", help="With an accessibility tree.")] = False,
    screenshot: Annotated[bool, typer.Option("--screenshot", help="With a screenshot.")] = False,
) -> None:
    """Print a whole example prompt: the second step on a made-up page."""
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
        tree=TREE if tree else "",
        screenshot=b"an image" if screenshot else b"",
        page="whole" if whole else "viewport",
    )
    history = [PastStep(1, THOUGHT, MEMORY, str(Action("tab_focus", (0,))))]
    prompt = build_prompt(observation, history, templates)
    tokens = sum(map(estimate_tokens, prompt))
    typer.echo(plain(f"[system]\n{prompt.system}\n\n[user]\n{prompt.user}\n"))
    typer.echo(f"{folder}: about {tokens:,} tokens, SHA-256 {templates.digest}")
