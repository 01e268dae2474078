"""Files that an experiment names: seen from the experiment's own folder, else from the working directory."""

from pathlib import Path

import pytest

from experiments.designs.loading import load_design
from interventions.errors import UserError
from interventions.files.schema import library_path

SHOP = "name: e\ngoal: Buy one.\noptions: {sets: 2%s}\n%s"
NUDGE = "factors: {nudge: {interventions: files/mine.yaml}}\n"
CATALOGUE = "key,name,category,price,rating\na,A mug,Mugs,9.50,80\nb,A cup,Mugs,9.75,80\n"
ROOT = Path(__file__).parents[2]
SITE = (ROOT / "interventions/sitemaps/onestopmarket.yaml").read_text()
NUDGES = library_path("nudges").read_text()
PROMPT = ROOT / "agents/language_model/templates"
TEMPLATES = {f"files/mine/{name}": (PROMPT / name).read_text() for name in ("step.j2", "system.j2")}
CARDS = "name: e\ntask: card\nmode: text\ncards: %s\ndesign: %s\n"
WTP = "key,title,description,price,low,high\na,A mug,Blue.,9.50,5,15\n"

FILES: dict[str, tuple[str, dict[str, str]]] = {
    "site": (SHOP % ("", "site: files/mine.yaml\n"), {"files/mine.yaml": SITE}),
    "factors.nudge.interventions": (SHOP % ("", NUDGE), {"files/mine.yaml": NUDGES}),
    "prompt": (SHOP % ("", "prompt: files/mine\n"), TEMPLATES),
    "options.catalogue": (SHOP % (", catalogue: files/mine.csv", ""), {"files/mine.csv": CATALOGUE}),
    "options.file": (
        SHOP % (", catalogue: near.csv, file: files/mine.csv", ""),
        {"files/mine.csv": "set,option\n1,a\n1,b\n", "near.csv": CATALOGUE},
    ),
    "options.titles.patterns": (
        SHOP % (", titles: {patterns: files/mine.yaml}", ""),
        {"files/mine.yaml": (ROOT / "experiments/designs/catalogue/titles.yaml").read_text()},
    ),
    "cards": (
        CARDS % ("files/mine.yaml", "{battery: {valid: 2, attempts: 2}}"),
        {"files/mine.yaml": library_path("biases").read_text()},
    ),
    "design.factorial.products": (
        CARDS % ("willingness-to-pay", "{factorial: {products: files/mine.csv, repeats: 1}}"),
        {"files/mine.csv": WTP},
    ),
    "stimuli": (
        "name: e\ntask: score\nstimuli: files/mine.yaml\ntargets: {from: 0, to: 3, format: '{}%'}\n",
        {"files/mine.yaml": (ROOT / "experiments/designs/scoring/stimuli/anchoring.yaml").read_text()},
    ),
}  # fmt: skip


def load(path: str) -> object:
    return load_design(path)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The experiment's folder, and another one, in which we are."""
    study, here = tmp_path / "study", tmp_path / "here"
    study.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    return study, here


@pytest.mark.parametrize("key", FILES)
def test_a_file_is_found_beside_the_experiment_from_any_folder(key: str, folders: tuple[Path, Path]) -> None:
    study, here = folders
    experiment, files = FILES[key]
    write(study, files | {"e.yaml": experiment})
    write(here, dict.fromkeys(files, "- not: what is meant\n"))
    assert load(str(study / "e.yaml"))
    assert load("../study/e.yaml")


@pytest.mark.parametrize("key", FILES)
def test_else_in_the_working_directory(key: str, folders: tuple[Path, Path]) -> None:
    study, here = folders
    experiment, files = FILES[key]
    write(study, {"e.yaml": experiment})
    write(here, files)
    assert load(str(study / "e.yaml"))


@pytest.mark.parametrize("key", FILES)
def test_where_it_is_in_neither_both_folders_are_named(key: str, folders: tuple[Path, Path]) -> None:
    study, here = folders
    experiment, files = FILES[key]
    write(study, {"e.yaml": experiment} | {name: text for name, text in files.items() if name == "near.csv"})
    with pytest.raises(UserError) as raised:
        load(str(study / "e.yaml"))
    place, named, message = str(raised.value).split(": ", 2)
    assert place.startswith(str(study / "e.yaml:"))
    assert named == key
    assert message.startswith("files/mine")
    assert message.endswith(f": no such file in {study}/files or in {here}/files; check the path")


def test_a_shipped_name_is_no_path(folders: tuple[Path, Path]) -> None:
    study, here = folders
    write(study, {"e.yaml": SHOP % ("", "factors: {nudge: {interventions: nudges}}\n")})
    (here / "nudges").mkdir()
    assert load(str(study / "e.yaml"))


def test_a_study_in_another_folder_is_the_same_run(folders: tuple[Path, Path]) -> None:
    """Found beside the file, found in the working directory, and named from another folder."""
    study, here = folders
    more = ", catalogue: files/mine.csv, titles: {patterns: files/titles.yaml}"
    experiment = SHOP % (more, "site: files/map.yaml\nprompt: files/mine\n" + NUDGE)
    files = {
        "files/map.yaml": SITE,
        "files/mine.yaml": NUDGES,
        "files/mine.csv": CATALOGUE.replace("Mugs", "Cookies"),
        "files/titles.yaml": (ROOT / "experiments/designs/catalogue/titles.yaml").read_text(),
        **TEMPLATES,
    }
    write(study, files | {"e.yaml": experiment})
    write(study / "a/b", {"e.yaml": experiment})
    write(here, files)
    names = (str(study / "e.yaml"), "../study/e.yaml", str(study / "a/b/e.yaml"))
    designs = [load_design(name) for name in names]
    assert len({design.run_id for design in designs}) == 1
    trials = [[trial.id for trial in design.trials(["simulated:balanced"])] for design in designs]
    assert trials[0] == trials[1] == trials[2] != []
