"""The options of souk proxy serve and souk trials serve: none is passed over."""

from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from experiments.commands.trials import OF_PROXY
from experiments.commands.trials import app as trials
from tests.experiments.command_line import forked_souk

VALUES = {"subjects": "2", "observe": "page"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_PROXY)
def test_an_mcp_host_has_no_options_of_a_proxy(name: str, tmp_path: Path) -> None:
    group = typer.main.get_command(trials)
    assert isinstance(group, TyperGroup)
    parameter = next(parameter for parameter in group.commands["serve"].params if parameter.name == name)
    given = [] if getattr(parameter, "is_flag", False) else [VALUES.get(name, "x")]
    options = (parameter.opts[-1], *given)
    ended = forked_souk("trials", "serve", "nudges", "--mcp", *options, cwd=tmp_path)
    said = f"error: {parameter.opts[0]}: an MCP host meets no proxy; leave it out\n"
    assert (ended.status, ended.out, ended.err) == (2, "", said)
