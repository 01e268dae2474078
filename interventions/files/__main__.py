"""`python -m interventions.files FILE ID [FACTOR=LEVEL ...]`: a card with its example, as prompt or page."""

import argparse
import sys

from interventions.cards.page import ANSWER_PATH, render_page
from interventions.errors import UserError
from interventions.files.schema import load_interventions


def main(arguments: list[str] | None = None) -> None:
    """Write a card, filled in with its example, to standard output."""
    parser = argparse.ArgumentParser(
        prog="python -m interventions.files", description="Show a card with its example."
    )
    parser.add_argument("file", help="a shipped file by name (hotels), or a YAML file")
    parser.add_argument("id", help="one card of the file")
    parser.add_argument("levels", nargs="*", metavar="FACTOR=LEVEL", help="such as condition=high")
    parser.add_argument("--page", action="store_true", help="the page, as HTML, instead of the prompt")
    asked = parser.parse_args(arguments)
    try:
        intervention = load_interventions(asked.file)[asked.id]
        if intervention.card is None:
            raise UserError(f"{asked.id}: is no card; choose an intervention of the kind card")
        levels = dict(level.partition("=")[::2] for level in asked.levels)
        card = intervention.card.example_card(asked.id, **levels)
    except UserError as error:
        parser.exit(2, f"error: {error}\n")
    if asked.page:
        sys.stdout.buffer.write(render_page(card, action=ANSWER_PATH))
    else:
        system = f"{card.system}\n\n---\n\n" if card.system else ""
        sys.stdout.write(f"{system}{card.prompt}\n")


if __name__ == "__main__":
    main()
