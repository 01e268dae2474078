"""souk prompts: what it writes and prints."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.language_model.prompt import default_prompt, load_prompt
from agents.providers.tokens import estimate_tokens
from experiments.cli import app
from experiments.commands.prompts import GOAL, HTML, MEMORY, TREE
from interventions.errors import UserError


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["prompts", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_new_makes_a_folder_that_an_experiment_can_name(tmp_path: Path) -> None:
    folder = tmp_path / "prompts" / "terse"
    assert f"souk prompts {folder}" in run(str(folder), "--new")
    assert load_prompt(str(folder)).digest == default_prompt().digest
    with pytest.raises(UserError, match="exists already; choose another folder"):
        run(str(folder), "--new")


def test_show_prints_the_whole_prompt_and_its_tokens() -> None:
    shown = run()
    for part in (GOAL, HTML, MEMORY, "<action>fill('23', 'desk lamp')</action>", default_prompt().digest):
        assert part in shown
    for part in (TREE, "accessibility", "screenshot"):
        assert part not in shown
    tokens = int(shown.rpartition("about ")[2].partition(" tokens")[0].replace(",", ""))
    prompt = shown.partition("[system]\n")[2].rpartition("\ndefault: about")[0]
    assert tokens == pytest.approx(estimate_tokens(prompt), abs=10)


@pytest.mark.parametrize(
    ("observes", "part"),
    [("tree", TREE), ("screenshot", "The image with this message"), ("whole", "the whole of its page")],
)
def test_show_with_what_a_model_can_be_given(observes: str, part: str) -> None:
    assert part in run("--observes", observes)


def test_show_tells_of_a_mistake(tmp_path: Path) -> None:
    run(str(tmp_path), "--new")
    (tmp_path / "step.j2").write_text("{{ goal }}\n{{ hmtl }}")
    with pytest.raises(UserError, match=r"step\.j2:2: 'hmtl' is undefined"):
        run(str(tmp_path))
