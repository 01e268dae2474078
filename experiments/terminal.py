"""Consoles and tables in the house style; light, so that a short command answers at once."""

from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

PIPE_WIDTH: Final = 120


def stdout_console() -> Console:
    """A console for tables: as wide as the terminal, wide enough for whole rows where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def new_table(title: str, *columns: str) -> Table:
    """An empty table in the house style."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
