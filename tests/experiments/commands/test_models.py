"""souk models: what is there, and mistakes. That a toy learns is tested where it is made."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.cli import app
from interventions.errors import UserError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models folder."""
    monkeypatch.setenv("SOUK_MODELS", str(tmp_path / "m"))
    return tmp_path / "m"


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["models", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_what_is_there_is_listed(folder: Path) -> None:
    assert said() == "tiny-anchor  toy  not made yet: souk models tiny-anchor\n"
    for name in ("tiny-anchor", "own"):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}")
    assert said() == "own  your own  hf:own\ntiny-anchor  toy  hf:tiny-anchor\n"


@pytest.mark.slow
def test_a_toy_that_is_there_is_not_made_again(folder: Path) -> None:
    pytest.importorskip("torch", reason="local models are not installed")
    (folder / "tiny-anchor").mkdir(parents=True)
    with pytest.raises(UserError, match=r"m/tiny-anchor: exists already; remove it"):
        said("tiny-anchor")
