"""A model writes the table of a variable; the file then holds it, and nothing is asked during a run."""

# ruff: noqa: ASYNC240 - files are small

from pathlib import Path

import pytest

from experiments.pages.table_values import add_table
from interventions.apply.plan import ProductFacts, compile_treatment
from interventions.errors import UserError
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from tests.experiments.chat_model import ChatModel, model  # noqa: F401 (fixture)

AGENT = "openai:writer"
FILE = """\
interventions:
  - id: praised
    kind: nudge
    edits: [{insert_text: {after: product.title, text: "Recommended by ${expertise}"}}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    return path


async def test_the_file_has_what_the_model_said(model: ChatModel, file: Path) -> None:  # noqa: F811
    hostile = 'Tea: "on"\n'
    model.reply = lambda asked: ' "tea: sommeliers".\n' if "Tea:" in asked else "bakers"
    await add_table(file, "expertise", AGENT, ["Cookies", hostile, "Cookies"])
    assert file.read_text().startswith(FILE) and f"# written by {AGENT}" in file.read_text()
    assert len(model.asked) == 2
    assert all("Recommended by ${expertise}" in messages[0]["content"] for messages in model.asked)
    praised = load_interventions(file, load_site_map("onestopmarket"))["praised"]
    for category, words in (("Cookies", "bakers"), (hostile, "tea: sommeliers")):
        (edit,) = compile_treatment(praised, ProductFacts("key", category)).edits
        assert edit.words() == f"Recommended by {words}"
    with pytest.raises(UserError, match=r"mine.yaml: --fill needs a text with \$.expertise., and no t"):
        await add_table(file, "expertise", AGENT, ["Cookies"])


@pytest.mark.parametrize("reply", ["  ", 503])
async def test_without_words_the_file_stays(model: ChatModel, file: Path, reply: str | int) -> None:  # noqa: F811
    model.reply = lambda asked: reply if "Tea" in asked else "bakers"
    with pytest.raises(UserError, match=r"--fill: openai:writer gave no words for Tea \(.+\); try another"):
        await add_table(file, "expertise", AGENT, ["Cookies", "Tea"])
    assert file.read_text() == FILE
