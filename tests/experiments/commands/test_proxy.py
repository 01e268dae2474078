"""The options of souk proxy serve: each is used, or refused in one line; none is passed over."""

from pathlib import Path

import pytest
import typer

from environments.shop.catalogue import generate
from experiments.commands.proxy import OF_NO_TRIALS, OF_TRIALS, TRIALS, app
from tests.experiments.command_line import forked_souk

serve = next(
    command
    for name, command in typer.main.get_command(app).commands.items()
    if name == "serve"  # type: ignore[attr-defined]
)
EVERYWHERE = {"port", "reverse", "detached", "ca", "upstream_ca", "experiment", "help"}
"""The options that are used with an experiment and without."""
VALUES = {"subjects": "2", "observe": "page"}


def test_each_option_is_for_one_of_the_two_or_for_both() -> None:
    named = {parameter.name: getattr(parameter, "rich_help_panel", None) for parameter in serve.params}
    assert set(named) - {"help"} == (EVERYWHERE | set(OF_NO_TRIALS) | set(OF_TRIALS)) - {"help"}
    assert {name for name, panel in named.items() if panel == TRIALS} == {*OF_TRIALS, "experiment"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OF_NO_TRIALS, *OF_TRIALS])
def test_what_would_be_passed_over_is_refused(name: str, tmp_path: Path) -> None:
    parameter = next(parameter for parameter in serve.params if parameter.name == name)
    mode = ["--experiment", "nudges"] if name in OF_NO_TRIALS else ["-i", "nudges"]
    option = parameter.opts[-1]
    ended = forked_souk("proxy", "serve", *mode, option, VALUES.get(name, "x"), cwd=tmp_path)
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"error: {min(parameter.opts, key=len)}: ")
    assert ended.err.endswith("leave it out\n")


@pytest.mark.slow
def test_a_product_that_the_embedded_shop_does_not_sell_is_refused(tmp_path: Path) -> None:
    key = generate().products[0].key
    product = f"http://127.0.0.1:7770/{key[:-1]}.html"
    options = ("-i", "nudges", "--only", "best-seller", "--reverse", "shop", "--port", "0")
    ended = forked_souk("proxy", "serve", *options, "--product", product, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    said = f'error: --product {product}: the embedded shop does not sell it; did you mean "{key}"?\n'
    assert ended.err == said
