"""What is seen first: an answer of one screen, for each shipped experiment, and the rest on demand."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from agents.simulated.tab_shopper import shipped_taste
from analysis.reporting.sections import Report
from experiments.designs.inputs.experiment_file import LIBRARY
from experiments.designs.loading import load_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import simulated_trials
from experiments.studies.kinds import STUDIES
from experiments.studies.printing import FIRST_SCREEN, print_report
from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conjoint.conftest import simulate_cards
from tests.experiments.command_line import forked_souk
from tests.experiments.running import HOTELS
from tests.lab.bench.validity.choice import as_run
from tests.support import size, usual

EXPERIMENTS = sorted(path.stem for path in LIBRARY.glob("*.yaml"))
SHOP = [name for name in EXPERIMENTS if isinstance(load_design(name), ShopDesign)]


def report_of(kind: str, table: pd.DataFrame) -> Report:
    study = STUDIES[kind]
    return study.report(study.analyze(table))


def screen(report: Report, width: int = 100) -> list[str]:
    """The lines of the first screen of an analysis, at this width."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_report(console, report, Path("runs/some-experiment-12345678"))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize("limit", [24, size(120, 240)])
@pytest.mark.parametrize("name", usual(SHOP, 4))
def test_an_experiment_in_the_shop(name: str, limit: int) -> None:
    """Its trials with the choices of the balanced shopper, as a run would store them, but for the pages."""
    design = load_design(name)
    assert isinstance(design, ShopDesign)
    lines = screen(report_of("choice", as_run(simulated_trials(design, shipped_taste("balanced"), limit))))
    assert lines[0].startswith("simulated: ")
    assert len(lines) <= FIRST_SCREEN


def test_the_stimuli_of_anchoring() -> None:
    design = load_design("anchoring")
    stimuli = {trial.set: (10, 65) for trial in design.trials(["hf:any"])}
    assert len(stimuli) == 11
    scores = simulate_scores(agents=("one", "two", "three"), stimuli=stimuli, step=25)
    lines = screen(report_of("anchoring", scores))
    assert lines[0].startswith("one: the expected answer is higher with the high anchor in ")
    assert len(lines) <= FIRST_SCREEN


def many(kind: str) -> pd.DataFrame:
    """A table of many agents with long names."""
    agents = tuple(
        f"provider-{number}:a-model-with-a-name-of-its-own-{number}" for number in range(size(6, 24))
    )
    if kind == "conjoint":
        return simulate_cards(sets=12, agents=agents, random=agents[1:2], locked=agents[2:3])
    if kind == "anchoring":
        return simulate_scores(agents=agents, step=50)
    table = as_run(simulated_trials(load("nudges"), shipped_taste("balanced"), 60))
    return pd.concat([table.assign(agent=agent) for agent in agents], ignore_index=True)


def load(name: str) -> ShopDesign:
    design = load_design(name)
    assert isinstance(design, ShopDesign)
    return design


@pytest.mark.thorough
@pytest.mark.parametrize("kind", usual(["choice", "conjoint", "anchoring"], 1))
def test_many_agents_are_still_one_screen(kind: str) -> None:
    report = report_of(kind, many(kind))
    for width in (80, 100, 200):
        lines = screen(report, width)
        assert len(lines) <= FIRST_SCREEN, width
        said = " ".join(lines)
        whole = all(" ".join(sentence.split()) in " ".join(said.split()) for sentence in report.answer)
        assert whole != any("more sentences: in the report, or with --all" in line for line in lines)


@pytest.mark.thorough
def test_all_prints_every_table_and_json_says_the_answer(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(HOTELS)
    short = forked_souk("run", "x.yaml", cwd=tmp_path)
    long = forked_souk("analyze", "--all", cwd=tmp_path)
    assert long.status == 0, long.err
    assert len(long.out.splitlines()) > 3 * len(short.out.splitlines())
    answer = short.out.partition("\n\n")[0]
    assert long.out.startswith(answer)
    for caption in ("First-shown rate", "Coefficients of log price", "Mean and median price", "Ranking"):
        assert (caption in long.out) == (caption != "Ranking")
        assert caption not in short.out
    document = json.loads(forked_souk("analyze", "--json", cwd=tmp_path).out)
    assert " ".join(document["answer"]).split() == answer.split()
    assert "first-shown" not in json.dumps(document["answer"])
    page = (tmp_path / "runs").glob("*/report.html")
    text = next(page).read_text()
    assert text.index("takes the option shown first") < text.index("<figure>") < text.index("<nav>")
    assert text.rindex('id="facts"') > text.rindex("<figure>")
