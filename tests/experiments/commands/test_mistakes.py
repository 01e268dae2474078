"""What a command cannot do is one line, `error: ...`, and status 2; nothing is left behind."""

import shlex
from pathlib import Path

import pytest

from tests.experiments.command_line import forked_souk
from tests.experiments.running import HOTELS
from tests.experiments.stored_runs import stored_runs

NEW = "interventions new mine.yaml"
MINI = "openai:gpt-4.1-mini"
BATCH = f"run hotels --mode text --limit 12 --batch --agent {MINI}"
NUDGES = "power nudges --studies 20"
PREVIEW = "interventions preview nudges wirecutter https://127.0.0.1:9/"
PROXY = "proxy serve -i nudges --only best-seller --reverse shop --port 0"
FILES = {
    "bad.yaml": "taste: {nudges: 1}",
    "lost.yaml": HOTELS.replace("simulated:balanced", "simulated:gone.yaml"),
    "no.pem": "nothing",
}
MISTAKES = [
    ("agents simulated:prize", 'did you mean "price"?'),
    ("models huge-anchor", 'no toy "huge-anchor"; there is tiny-anchor'),
    ("run nudges -a simulated:nobody --dry-run", "agents: "),
    ("run nudges -a opnai:gpt --dry-run", "agents: "),
    ("run nudges -a openai: --dry-run", "agents: "),
    ("run nudges -a simulated:bad.yaml --dry-run", 'bad.yaml:1:9: taste.nudges: unknown key; did you'),
    ("run lost.yaml --dry-run", "lost.yaml:6:10: agents[0]: gone.yaml: no such file in "),
    (f"run nudges --agent {MINI} --batch", "only cards as text go in batches"),
    (f"{BATCH} --workers 2", "one process collects all requests"),
    (f"{BATCH} --agent simulated:balanced", "simulated:balanced takes no batches"),
    ("run hotels --set seed=1 --set seed=2 --out x", "--out: --set gives 2 runs, one after the other; "),
    ("report t.csv --as bias", '--as bias: did you mean "biases"?'),
    ("report nudges --as orders", "--as orders: a run has its own kind of study; leave it out"),
    ("report nudges --agent x", "--agent: the report in the run's folder is about all agents; add --out DIR"),
    ("analyze wtp --as choice", "--as choice: a run has its own kind of study; leave it out"),
    ("analyze wtp --margin 5", "--margin: an analysis of the kind montecarlo has no such option; "),
    ("analyze t.csv --as choise", '--as choise: did you mean "choice"?'),
    ("analyze t.csv", "t.csv: a table does not say its kind of study; add --as with one of choice, "),
    ("analyze nudges wtp", "nudges is of the kind choice, wtp is of the kind montecarlo"),
    ("compare nudges nudges-593302b1", "nudges-593302b1: named twice; name each study once"),
    ("compare nudges wtp", "nudges is of the kind choice, wtp is of the kind montecarlo"),
    ("analyze wtp -a simulated:anchord", 'no trials of this agent; did you mean "simulated:anchored"?'),
    ("analyze wtp --exclude simulated:anchored", "--exclude simulated:anchored: no agent is left; exclude"),
    ("analyze --db mysql://me:secret@here/runs", "--db mysql://me:***@here/runs: runs are kept in SQLite or"),
    ("compare nudges --agent simulated:balanced", "there are answers of 1"),
    ("compare nudges --agent simulated:balancd", "there are no trials of this agent"),
    ("compare no-such-run", "no run"),
    ("export nudges --out e.csv --codebook x.txt", "the suffix must be .md or .csv"),
    ("fit nudges --out x.json", "the suffix must be .yaml or .yml"),
    ("fit nudges --holdout 2", "give a share above 0"),
    ("fit nudges --agent simulated:nobody", "there are no trials of this agent"),
    ("fit nudges --db sqlite:///none.db", "no such file"),
    ("fit wtp", "are no choices between products or hotels"),
    ("paper nudges --format pdf,gif", "'gif' is none of docx, md, pdf, png, svg, tex"),
    ("paper nudges --width 85", "write a number and its unit"),
    ("paper nudges --width 9mm", "no width from 40 to 500 mm"),
    ("paper nudges --rename x", "write the agent, an equals sign"),
    ("paper nudges --rename x=y", "no trials of this agent"),
    (f"{NUDGES} --effect nugde=1", 'the experiment has no effect "nugde"; did you mean "nudge"?'),
    (f"{NUDGES} --effect nudge=x", "write it as nudge=10, a number of percentage points"),
    ("power wtp --effect low=x", "write it as low=10, a number of USD"),
    (f"{NUDGES} --budget 5 -a {MINI}", "name the effect that you look for"),
    (f"{NUDGES} --effect nudge=5 --budget 5", "name the model that costs it"),
    (f"{NUDGES} --effect nudge=5 --budget nan -a {MINI}", "give an amount above 0, in USD"),
    (f"{NUDGES} --budget 5 --trials 9", "--trials: the splits of a budget have numbers"),
    (f"{NUDGES} -a simulated:price -a simulated:first", "name one simulated agent"),
    (f"{NUDGES} -a opanai:x", "opanai"),
    (f"{NUDGES} --alpha 2", "give a level between 0 and 1"),
    ("power listing", "no trials with lists that are cut are simulated"),
    ("power decoys", "no third one moves its choice between two others"),
    ("power badges-grid", "the row and the column of each product, which only a browser knows"),
    ("power anchoring", "answers are scored"),
    ("runs delete nobody --yes", "no run 'nobody' in this database; runs: "),
    ("runs delete wtp", ": to delete it where nobody can be asked, add --yes"),
    ("runs rename wtp nudges-593302b1", "the id of another run, which is found by it first; choose"),
    ("runs rename wtp 'May 2026'", '"May 2026" is no name; use lower-case'),
    ("view nudges --no-open --where agnet=x", 'did you mean "agent"'),
    ("view nudges --no-open --where agent", "write NAME=VALUE"),
    ("view nudges --no-open --static site --trial x", "one trial is written to one file"),
    ("view nudges --no-open --static trial.html", "one trial is written to one file"),
    ("view nudges --no-open --static trial.html --trial x", "has no such trial"),
    ("view nudges --no-open --static site --where agent=x", "no trial is agent=x"),
    (f"{NEW} --kind prize", '--kind prize: no starter for this kind; did you mean "price"?'),
    (f"{NEW} --after product.titel", 'unknown role "product.titel"; did you mean "product.title"?'),
    (f"{NEW} --kind price --text cheap", '"cheap" is not a price; write an amount such as 19.99'),
    ("interventions show nudges wirecuter", 'no intervention "wirecuter"; did you mean "wirecutter"?'),
    ("interventions preview hotels hotel-choice shop:/", "hotel-choice is a card, not a change to a page; "),
    ("interventions validate", "name a file"),
    ("prompts no.pem/terse --new", "cannot be written"),
    (f"{PREVIEW} --upstream-ca no.pem", "--upstream-ca no.pem: holds no certificates; give a file in PEM"),
    (f"{PROXY} --product http://127.0.0.1:7770/oats.html", "oats.html: the embedded shop does not sell it; "),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two runs are stored, `nudges` and `wtp`, and files with a mistake."""
    made = tmp_path_factory.mktemp("mistakes")
    (made / "runs").mkdir()
    stored_runs(made / "runs/souk.db")
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("command", "said"), MISTAKES)
def test_a_mistake_is_one_line(command: str, said: str, folder: Path) -> None:
    ended = forked_souk(*shlex.split(command), cwd=folder, env={"OPENAI_API_KEY": "sk-hidden"})
    assert (ended.status, ended.out) == (2, ""), ended
    *before, last = ended.err.splitlines()
    assert last.startswith("error: ") and said in last, ended.err
    assert not before or "--batch" in command, "what the run would be stands before it"
    assert not {"mine.yaml", "site", "trial.html", "x.json", "x", "e.csv"} & {
        path.name for path in folder.iterdir()
    }
