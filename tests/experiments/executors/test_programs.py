"""Programs as subjects: a run of them that is killed, the script of the docs, mistakes.

What programs do that go wrong is in tests/lab/faults/test_programs.py.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import psutil
import pytest

from agents.programs.bubblewrap import confine, files_of, left_open
from agents.programs.program import run_program
from environments.shop.shop import USUAL
from experiments.designs.loading import load_design
from experiments.executors.executor import Attempt
from experiments.executors.setup import Setup, open_executor
from experiments.records.record import Start
from tests.experiments.command_line import Ended, forked_souk, start
from tests.experiments.executors.program_runs import DB, EXPERIMENT, rows
from tests.lab.faults.programs import SETTINGS, expected, place, trials_of_programs
from tests.lab.faults.wild_program import drawn

LIMITED = EXPERIMENT.replace("seconds: 120", "seconds: 30")


def run(folder: Path, name: str, *options: str, **env: str) -> Ended:
    (folder / "e.yaml").write_text(LIMITED)
    return forked_souk("run", "e.yaml", "--agent", name, *DB, *options, cwd=folder, env=SETTINGS | env)


def runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def run_folder(folder: Path) -> Path:
    """A folder of a run, which programs never see, beside the files that they may write."""
    (own := folder / "run").mkdir()
    return own


def programs_at(folder: Path) -> list[psutil.Process]:
    """The programs that run, without their keepers, and name a file of a folder."""
    lines = [(each, each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])]
    return [each for each, line in lines if len(line) <= 3 and str(folder) in " ".join(line)]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    (temporary := tmp_path / "t").mkdir()
    command = ("run", "e.yaml", "--agent", f"{place(tmp_path)} 2", *DB, "--limit", "8", "--slots", "4")
    env = {**SETTINGS, "TMPDIR": str(temporary)}
    process = start(*command, cwd=tmp_path, env=env)
    notes = tmp_path / "started"
    while not notes.exists() or len(notes.read_text().split()) < 4:
        process.join(0.05)
        assert process.exitcode is None
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    while any(trials_of_programs(temporary)):  # the watchdog and the keepers end them
        process.join(0.05)
    forked_souk(*command, cwd=tmp_path, env=env)
    trials = rows(tmp_path, "SELECT * FROM trials")
    assert len(trials) == 8
    for trial in trials:
        assert trial["outcome"] == expected(*drawn("2", trial["trial"]))[0]
    assert not any(trials_of_programs(temporary))


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", ["command:{} {}/playwright_script.py", "kept:{} {}/playwright_kept.py"])
def test_the_scripts_of_the_docs(name: str, tmp_path: Path) -> None:
    docs = Path(__file__).parents[3] / "docs" / "agents"
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    agent, slots = name.format(sys.executable, docs), ("--slots", "1")
    forked_souk("run", "e.yaml", "--agent", agent, *DB, "--limit", "2", *slots, cwd=tmp_path)
    assert rows(tmp_path, "SELECT DISTINCT outcome FROM trials") == [{"outcome": "choice"}]
    prices = {(row["trial"], row["option"]): row["price"] for row in rows(tmp_path, "SELECT * FROM options")}
    for trial in rows(tmp_path, "SELECT * FROM trials"):
        own = {option: price for (name, option), price in prices.items() if name == trial["trial"]}
        assert trial["choice"] == min(own, key=lambda option: own[option])
        assert trial["cost"] is None


INTRUDER = """\
import os, pathlib, socket, sys, time

def ended_at(port):
    lines = "POST http://souk.test/.souk/end HTTP/1.1", "Host: souk.test", "Content-Length: 0", "", ""
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        try:
            connection.sendall("\\r\\n".join(lines).encode())
            return connection.recv(12)
        except OSError:
            return b""

def wait_for(pattern, count):
    while len(found := sorted(pathlib.Path().glob(pattern))) < count:
        time.sleep(0.01)
    return found

trial, own = os.environ["SOUK_TRIAL"], os.environ["SOUK_PROXY"].rpartition(":")[2]
pathlib.Path(f"{trial}.new").write_text(own)
os.rename(f"{trial}.new", f"{trial}.port")
first, second = wait_for("*.port", 2)
if first.stem == trial:
    pathlib.Path("there").write_bytes(ended_at(second.read_text()))
    child = os.fork()  # what it starts is at its own port, also by a socket for both kinds of address
    if not child:
        with socket.socket(socket.AF_INET6) as both:
            both.connect(("::ffff:127.0.0.1", int(own)))
            both.sendall(b"GET http://souk.test/.souk/ HTTP/1.1\\r\\nHost: souk.test\\r\\n\\r\\n")
            pathlib.Path("both").write_bytes(both.recv(12))
        pathlib.Path("here").write_bytes(ended_at(own))
        os._exit(0)
    os.waitpid(child, 0)
    os.mkdir("over")
else:
    wait_for("over", 1)
    sys.exit(7)
"""


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.slow
def test_no_program_reaches_the_trial_of_another(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    (tmp_path / "intruder.py").write_text(INTRUDER)
    name = f"command:{sys.executable} intruder.py"
    options = ("--limit", "2", "--slots", "2")
    env = {"SOUK_PROGRAM_CONFINED": "no"}  # else it would not even connect
    ended = forked_souk("run", "e.yaml", "--agent", name, *DB, *options, cwd=tmp_path, env=env)
    assert (tmp_path / "there").read_bytes() == b""
    assert (tmp_path / "here").read_bytes().startswith(b"HTTP/1.1 303")
    assert (tmp_path / "both").read_bytes().startswith(b"HTTP/1.1 200")
    first, second = rows(tmp_path, "SELECT outcome, reason FROM trials ORDER BY trial")
    assert (first["outcome"], second["outcome"]) == ("no_choice", "agent_error"), ended.err
    assert "with status 7" in second["reason"]


BUYER = """\
import html, http.cookiejar, json, re, sys, urllib.parse, urllib.request

def buy(told):
    handlers = urllib.request.ProxyHandler({"http": told["proxy"]}), urllib.request.HTTPCookieProcessor()
    opener = urllib.request.build_opener(*handlers)
    page = opener.open(told["urls"][0]).read().decode()
    form = re.search(r'<form[^>]*action="([^"]*checkout/cart/add[^"]*)".*?</form>', page, re.S)
    fields = dict(re.findall(r'name="(form_key|product)"[^>]*value="([^"]*)"', form[0]))
    opener.open(html.unescape(form[1]), urllib.parse.urlencode(fields | {"qty": 1}).encode()).read()

if __name__ == "__main__":
    buy(json.loads(sys.stdin.readline()))
"""


KEPT = """\
import json, socket, sys, time, uuid
from buyer import buy

mine = uuid.uuid4()  # in a namespace of processes, each is the second

last = None
for line in sys.stdin:
    told = json.loads(line)
    with open("trials", "a") as notes:
        print(told["trial"], mine, told["proxy"], file=notes)
    number = len(open("trials").readlines())
    if last:
        before, connection = last
        assert connection.recv(1) == b""
        try:
            socket.create_connection(before)
            raise AssertionError("the port of the trial before is open")
        except (ConnectionRefusedError, PermissionError):
            print('{"done": "another trial"}', flush=True)
    connection = socket.create_connection(here := ("127.0.0.1", int(told["proxy"].rpartition(":")[2])))
    last = here, connection
    if number in (1, 2, 5):
        buy(told)
    elif number == 4:
        time.sleep(600)
    elif number == 6:
        sys.exit(0)
    print(json.dumps({"usage": {"model": "m", "tokens_in": number, "tokens_out": 1, "cost": None}}))
    print(json.dumps({"done": told["trial"]}), flush=True)
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_a_program_that_is_kept(tmp_path: Path) -> None:
    """It has many trials, until one ends without its word; each has a port and an output of its own."""
    (tmp_path / "buyer.py").write_text(BUYER)
    (tmp_path / "kept.py").write_text(KEPT)
    ended = run(tmp_path, f"kept:{sys.executable} {tmp_path}/kept.py", "--slots", "1", "--limit", "7")
    notes = [line.split() for line in (tmp_path / "trials").read_text().splitlines()]
    trials = {row["trial"]: row for row in rows(tmp_path, "SELECT * FROM trials")}
    ends = [(trials[trial]["outcome"], trials[trial]["reason"]) for trial, _, _ in notes]
    assert ends == [
        ("choice", ""),
        ("choice", ""),
        ("no_choice", "the program was done without a choice"),
        ("agent_limit", "30 seconds have passed"),
        ("choice", ""),
        ("agent_error", 'the program ended with status 0: {"done": "another trial"}'),
        ("no_choice", "the program was done without a choice"),
    ], ended.err
    _, programs, proxies = zip(*notes, strict=True)
    first, second, third = programs[0], programs[4], programs[6]
    assert programs == (first,) * 4 + (second,) * 2 + (third,)
    assert len({first, second, third}) == 3
    assert len(set(proxies)) == len(proxies)
    told = [trials[trial]["tokens_in"] for trial, _, _ in notes]
    assert told == [1, 2, 3, 0, 5, 0, 7]
    outputs = [row["trial"] for row in rows(tmp_path, "SELECT trial FROM output WHERE text LIKE '%usage%'")]
    assert len(outputs) == 5
    assert not programs_at(tmp_path)


@pytest.fixture
async def one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Setup]:
    """A setup in which one program may run."""
    monkeypatch.setenv("SOUK_PROGRAM_FILES", str(tmp_path))
    (tmp_path / "e.yaml").write_text(LIMITED)
    yield Setup(load_design(str(tmp_path / "e.yaml")), run_folder(tmp_path), USUAL, 4, programs=1)


@pytest.mark.thorough
@pytest.mark.slow
async def test_kept_programs_make_room_for_others(one_at_a_time: Setup, tmp_path: Path) -> None:
    """No more are there than run at once, also of two agents that take turns."""
    (tmp_path / "p.py").write_text(
        "import json, sys, uuid\n"
        "mine = uuid.uuid4()\n"
        "for line in sys.stdin:\n"
        "    open(sys.argv[1], 'a').write(f'{mine} ')\n"
        "    print(json.dumps({'done': json.loads(line)['trial']}), flush=True)\n"
    )
    names = [f"kept:{sys.executable} {tmp_path / 'p.py'} {tmp_path / name}" for name in "ab"]
    trials = [trial for name in names for trial in islice(one_at_a_time.design.trials([name]), 2)]
    async with open_executor(one_at_a_time) as executor:
        for trial in (trials[0], trials[1], trials[2], trials[3], trials[0]):
            record = await executor.run(Attempt(trial, 1, Start.now()))
            assert record.trial.outcome == "no_choice", record.trial.reason
            assert len(programs_at(tmp_path)) == 1
    a, b = ((tmp_path / name).read_text().split() for name in "ab")
    assert a[0] == a[1] != a[2]
    assert b[0] == b[1]
    assert not programs_at(tmp_path)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_program_that_reads_sees_pages_and_no_pictures(tmp_path: Path) -> None:
    """It runs no scripts, so that nothing tells what stood in a viewport; and no modality is claimed."""
    (tmp_path / "buyer.py").write_text(BUYER)
    (tmp_path / "e.yaml").write_text(LIMITED + "observation: [html, screenshot]\n")
    command = ("run", "e.yaml", "--agent", f"command:{sys.executable} buyer.py", *DB, "--limit", "1")
    ended = forked_souk(*command, "--observe", "viewport", cwd=tmp_path, env=SETTINGS)
    assert "its trials are run once, and in no modality" in ended.err
    (found,) = rows(tmp_path, "SELECT outcome, modality, facts FROM trials JOIN runs USING (run)")
    assert (found["outcome"], found["modality"]) == ("treatment_failed", None)
    assert json.loads(found["facts"])["observe"] == "viewport"


@pytest.mark.thorough
@pytest.mark.slow
def test_programs_past_the_proxy_are_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text("import signal\nsignal.pause()\n")
    (tmp_path / "e.yaml").write_text(EXPERIMENT.replace("seconds: 120", "seconds: 5"))
    name = f"command:{sys.executable} {tmp_path}/idle.py"
    ended = forked_souk("run", "e.yaml", "--agent", name, *DB, "--limit", "2", cwd=tmp_path, env=SETTINGS)
    assert rows(tmp_path, "SELECT outcome FROM trials") == 2 * [{"outcome": "agent_limit"}]
    assert ended.err.count("No page of the shop has come through the proxy yet. Open http://shop.souk") == 1


@pytest.mark.slow
def test_mistakes_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    for name, said in (
        ("command:", "names no program"),
        ("command:no-such-program-1 x", "there is no program no-such-program-1"),
        ("command:python 'x", "close the quotation"),
    ):
        ended = run(tmp_path, name)
        assert (ended.status, ended.out) == (2, "")
        assert said in ended.err
        assert "Traceback" not in ended.err
    assert "is no size" in run(tmp_path, "command:python x.py", SOUK_PROGRAM_GB="much").err
    own = run(tmp_path, "simulated:balanced", "--observe", "page")
    assert (own.status, own.err.count("\n")) == (2, 1)
    guests = forked_souk("trials", "serve", "modality", *DB, cwd=tmp_path)
    assert (guests.status, guests.err.count("\n")) == (2, 1)
    assert "modality.yaml:" in guests.err
    assert "this subject looks at pages by itself" in guests.err
    cards = forked_souk("run", "hotels", "--agent", "command:python x.py", cwd=tmp_path)
    assert cards.status == 2
    assert "is a program, which visits shops" in cards.err


NOTER = """\
import sys, time
with open(sys.argv[1], "a", buffering=1) as notes:
    notes.write("begin ")
    time.sleep(0.1)
    notes.write("end ")
"""


@pytest.mark.slow
async def test_no_more_programs_are_there_than_said(one_at_a_time: Setup, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(NOTER)
    name = f"command:{sys.executable} {tmp_path / 'p.py'} {tmp_path / 'notes'}"
    trials = list(islice(one_at_a_time.design.trials([name]), 3))
    async with open_executor(one_at_a_time) as executor:
        await asyncio.gather(*(executor.run(Attempt(trial, 1, Start.now())) for trial in trials))
    assert (tmp_path / "notes").read_text().split() == ["begin", "end"] * 3


SHARER = """\
import os, sys
sys.path[:0] = ["{tests}"]
from wild_program import share, stay
stay(apart=True, headless=True)
share({kind})
"""
LEFT_OPEN = pytest.mark.skipif(bool(left_open()), reason=left_open())


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("confined", [False, pytest.param(True, marks=LEFT_OPEN)])
async def test_memory_is_counted_together_and_nothing_is_left(tmp_path: Path, *, confined: bool) -> None:
    """Also memory that is in no process, and a process whose first thread has ended."""
    tests = Path(__file__).parents[2] / "lab/faults"

    async def end_of(kind: int) -> str:
        (folder := tmp_path / str(kind)).mkdir()
        command = [
            sys.executable,
            "-c",
            SHARER.format(tests=tests, kind=kind),
            str(tests / "programs.md"),
            token,
        ]
        files = files_of(command, told=[], shared=[])
        sandbox = confine(files, [], folder, 300 * 2**20, network=False) if confined else []
        async with run_program(
            command,
            environment={**os.environ, "TMPDIR": str(folder)},
            memory=300 * 2**20,
            line=lambda _: None,
            sandbox=sandbox,
        ) as program:
            ended = await program.ended
        return ended.limit or f"{ended} {program.output.text}"

    token = f"token-{os.getpid()}-{confined}"
    kinds = range(5 if confined else 3)
    ends = [await end_of(kind) for kind in kinds]
    assert ends == ["more than 0.292969 GB of memory"] * len(kinds)
    assert [*threads_with(token)] == []
    assert [*tmp_path.glob("*/left")] == []  # noqa: ASYNC240


def threads_with(token: str) -> Iterator[Path]:
    """The threads of processes with this in their command: it is gone from the first when that has ended."""
    for line in Path("/proc").glob("[0-9]*/task/*/cmdline"):
        with suppress(OSError):
            if token in line.read_text():
                yield line


STOPPER = """\
import os, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
os.kill(os.getppid(), signal.SIGSTOP)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
async def test_nothing_is_left_where_the_keeper_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.programs.program._PATIENCE_SECONDS", 0.5)
    told: asyncio.Queue[bytes] = asyncio.Queue()
    async with run_program(
        [sys.executable, "-c", STOPPER], environment=os.environ, memory=2**30, line=told.put_nowait
    ) as program:
        left = int(await told.get())
        assert runs(left)
    assert program.ended.result().limit == "its keeper was killed"
    assert not runs(left)


SPENDER = """\
import json
print(json.dumps({"usage": {"model": "m", "tokens_in": 1, "tokens_out": 1, "cost": 0.4}}))
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_a_budget_counts_what_programs_tell(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(SPENDER)
    (tmp_path / "prices.yaml").write_text('as_of: "2026-11"\nmodels: {"command:*": {input: 0, output: 0}}\n')
    name = f"command:{sys.executable} p.py"
    ended = run(tmp_path, name, "--slots", "1", "--budget", "1.7", SOUK_PRICES="prices.yaml")
    # Each may cost twice as much as the dearest before it: 0.8 are kept back.
    assert "--budget 1.7: 1.2000 USD are spent" in " ".join(ended.err.split())
    assert [row["cost"] for row in rows(tmp_path, "SELECT cost FROM trials")] == [0.4] * 3
