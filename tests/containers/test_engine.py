"""What docs/environments.md promises, on a real container engine: `make containers`.

Images and ports are those of docker/compose.yaml, so nothing else may hold the ports. Containers, volumes and
the network are those of a project of their own.
"""

import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import sqlalchemy as sql

from environments.launch.compose import PROJECT_VARIABLE, Compose
from environments.launch.launchable import PASSWORD_VARIABLE
from experiments.records.database import connect
from interventions.errors import UserError
from tests.experiments.command_line import Ended, souk

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

PROJECT: Final = "souk-check"
PASSWORD: Final = "lighthouse-1"
PROFILES: Final = ("shop", "postgres", "proxy", "runner", "ray")
IMAGES: Final = ("souk-shop", "souk-proxy", "souk-runner", "souk-ray")
SHOP: Final = "http://127.0.0.1:7770/"
ONE_CPU_NODES: Final = Path(__file__).with_name("one-cpu-nodes.yaml")
TRIALS: Final = 48
STUDY: Final = """\
name: lighthouse
goal: Add the best product from the open tabs to the shopping cart.
options: {sets: 8}
factors:
  nudge: {interventions: praise.yaml, on: [none, each]}
  order: both
agents: [simulated:balanced]
seed: 1
"""
PRAISE: Final = """\
interventions:
  - id: keepers-choice
    kind: nudge
    family: social proof
    direction: +1
    edits:
      - insert_text: {after: product.price_box, text: Chosen by lighthouse keepers, style: badge}
"""

Rows = dict[str, tuple[str, str | None]]
"""Of each trial its outcome and choice."""


class Host:
    """This machine with its engine, and `souk` on it."""

    def __init__(self, compose: Compose, folder: Path) -> None:
        self.found = compose
        self.folder = folder
        self.studies = folder / "studies"
        self.studies.mkdir()
        (self.studies / "praise.yaml").write_text(PRAISE)
        (self.studies / "lighthouse.yaml").write_text(STUDY)
        elsewhere = STUDY.replace("goal:", "environment: compose:shop\ngoal:")
        (self.studies / "in-compose-shop.yaml").write_text(elsewhere)

    def souk(self, *arguments: str) -> Ended:
        """Run a command that has to succeed."""
        ended = souk(*arguments, cwd=self.folder)
        assert ended.status == 0, ended.err
        return ended

    def engine(self, *arguments: str) -> str:
        """What the engine says to a command that has to succeed."""
        return must(self.found.engine, *arguments)

    def compose(self, *arguments: str, files: Sequence[Path] = ()) -> str:
        """What compose says to a command that has to succeed."""
        return must(*self.found.command, *(f"--file={file}" for file in files), *arguments)

    def containers(self, service: str) -> list[dict[str, Any]]:
        """What the engine says of the containers of a service."""
        labels = (f"com.docker.compose.project={PROJECT}", f"com.docker.compose.service={service}")
        ids = self.engine("ps", "--all", "--quiet", *(f"--filter=label={label}" for label in labels)).split()
        found: list[dict[str, Any]] = json.loads(self.engine("inspect", *ids)) if ids else []
        return found

    def end(self) -> None:
        """Remove all containers, volumes and the network of the project."""
        self.compose(*(f"--profile={profile}" for profile in PROFILES), "down", "--volumes")


def must(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-5000:]}{done.stderr[-5000:]}"
    return done.stdout


def wait_for(what: str, happened: Callable[[], object], seconds: float = 300) -> None:
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < seconds, f"{what}: not within {seconds:g} s"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The engine with all images built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PROJECT_VARIABLE, PROJECT)
        patch.setenv(PASSWORD_VARIABLE, PASSWORD)
        try:
            compose = Compose.find()
        except UserError as error:
            pytest.skip(str(error))
        host = Host(compose, tmp_path_factory.mktemp("host"))
        host.end()
        host.compose(*(f"--profile={profile}" for profile in PROFILES), "build")
        yield host
        host.end()


@pytest.fixture(scope="module")
def shop(host: Host) -> Iterator[str]:
    yield host.souk("env", "up", "shop").out.strip()
    host.souk("env", "down", "shop")


@pytest.fixture(scope="module")
def postgres(host: Host) -> Iterator[str]:
    """A database for records, by its address on the host."""
    told = host.souk("env", "up", "postgres").out
    (url,) = re.findall(r'^--db "(.*)"$', told, re.MULTILINE)
    yield url.replace(f"${PASSWORD_VARIABLE}", PASSWORD)
    host.souk("env", "down", "postgres")


@pytest.fixture(scope="module")
def undisturbed(host: Host) -> Rows:
    """The trials of the study as this machine runs them without any container."""
    host.souk("run", "studies/lighthouse.yaml", "--db", "sqlite:///undisturbed.db")
    return stored(f"sqlite:///{host.folder}/undisturbed.db")


def from_runs(host: Host, name: str) -> bytes:
    """A file of the runner's volume."""
    mounted = ("run", "--rm", "--volume", f"{PROJECT}_runs:/runs:ro", "--entrypoint", "cat", "souk-runner")
    command = [host.found.engine, *mounted, f"/runs/{name}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def query(url: str, statement: str) -> list[Any]:
    engine = connect(url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sql.text(statement))]
    finally:
        engine.dispose()


def stored(url: str) -> Rows:
    """The trials of a database in which every one of them is whole: two options, and all of its steps."""
    assert query(
        url,
        """SELECT count(*) FROM trials WHERE
        (SELECT count(*) FROM options WHERE options.trial = trials.trial) != 2
        OR (SELECT count(*) FROM steps WHERE steps.trial = trials.trial) != trials.steps + 1""",
    ) == [(0,)]
    return {trial: rest for trial, *rest in query(url, "SELECT trial, outcome, choice FROM trials")}  # type: ignore[misc]


def started(url: str) -> dict[str, str]:
    """When each stored trial was started; empty before there is a table."""
    try:
        return dict(query(url, "SELECT trial, started_at FROM trials"))
    except sql.exc.ProgrammingError:
        return {}


def assert_confined(container: dict[str, Any], inside: str) -> None:
    """What compose.yaml promises of our containers; `inside`: /proc/1/status of its first process."""
    settings = container["HostConfig"]
    assert settings["CapDrop"] == ["ALL"]
    assert not settings["CapAdd"]
    assert not settings["Privileged"]
    assert_limited(settings)
    assert any(option.startswith("no-new-privileges") for option in settings["SecurityOpt"])
    told = dict(line.split(":\t", 1) for line in inside.splitlines() if ":\t" in line)
    assert told["Uid"].split() == ["10001"] * 4
    assert told["NoNewPrivs"] == "1"
    assert {int(told[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")} == {0}


def assert_limited(settings: dict[str, Any]) -> None:
    """Memory, processes and processor time of a container have limits."""
    assert all(settings[name] > 0 for name in ("Memory", "PidsLimit", "CpuQuota")), settings


def assert_on_loopback_alone(host: Host, container: dict[str, Any], port: int) -> None:
    bound = container["NetworkSettings"]["Ports"].values()
    assert {each["HostIp"] for bindings in bound for each in bindings or ()} <= {"127.0.0.1"}
    socket.create_connection(("127.0.0.1", port), timeout=10).close()
    # This machine's address in the network of the containers.
    (network,) = json.loads(host.engine("network", "inspect", f"{PROJECT}_default"))
    gateway = network["IPAM"]["Config"][0]["Gateway"]
    with pytest.raises(OSError):
        socket.create_connection((gateway, port), timeout=10)


def status_of(host: Host, container: dict[str, Any]) -> str:
    return host.engine("exec", container["Id"], "cat", "/proc/1/status")


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_holds_no_secret_and_cannot_install(host: Host, image: str) -> None:
    (told,) = json.loads(host.engine("image", "inspect", image))
    assert told["Config"]["User"] == "10001"
    assert {line.split("=")[0] for line in told["Config"]["Env"]}.isdisjoint(
        {"OPENAI_API_KEY", PASSWORD_VARIABLE}
    )
    python = "/opt/shop/bin/python" if image == "souk-shop" else "/opt/souk/bin/python"
    look = "import importlib.util; print(importlib.util.find_spec('pip'))"
    assert host.engine("run", "--rm", "--entrypoint", python, image, "-c", look) == "None\n"


def test_the_shop_from_up_to_down(host: Host, postgres: str) -> None:
    assert host.souk("env", "up", "shop").out == f"{SHOP}\n"
    (first,) = host.containers("shop")
    assert_confined(first, status_of(host, first))
    assert_on_loopback_alone(host, first, 7770)
    assert first["HostConfig"]["ReadonlyRootfs"]

    def found() -> dict[str, dict[str, str]]:
        told = json.loads(host.souk("env", "status", "--json").out)
        return {each.pop("name"): each for each in told}

    up = {"state": "running", "health": "healthy", "url": SHOP}
    assert found()["shop"] == up
    with httpx.Client(base_url=SHOP) as visitor:
        home = visitor.get("")
        product = re.findall(r"/product/(\d+)/", home.text)[0]
        cart = f"checkout/cart/add/uenc/x/product/{product}/"
        fields = {"form_key": visitor.cookies["form_key"], "qty": "1"}
        visitor.post(cart, data=fields, headers={"X-Requested-With": "XMLHttpRequest"}).raise_for_status()
        sections = "customer/section/load/?sections=cart"
        assert visitor.get(sections).json()["cart"]["summary_count"] == 1
        assert "shop ready" in host.souk("env", "status", "shop").out

        assert host.souk("env", "up", "shop", "--anew").out == f"{SHOP}\n"
        assert visitor.get(sections).json()["cart"]["summary_count"] == 0
    (second,) = host.containers("shop")
    assert second["Id"] != first["Id"]
    assert found()["shop"] == up

    host.souk("env", "down", "shop")
    assert host.containers("shop") == []
    assert found()["shop"]["state"] == "absent"
    with pytest.raises(httpx.ConnectError):
        httpx.get(SHOP)
    assert found()["postgres"]["health"] == "healthy", "what another profile launched goes on"
    assert query(postgres, "SELECT 1") == [(1,)]


def test_an_experiment_in_the_shop_of_a_container(host: Host, shop: str) -> None:
    host.souk("run", "studies/in-compose-shop.yaml", "--db", "sqlite:///compose.db")
    db = f"sqlite:///{host.folder}/compose.db"
    rows = stored(db)
    assert len(rows) == TRIALS
    assert {outcome for outcome, _ in rows.values()} == {"choice"}
    visited = {url for (url,) in query(db, "SELECT DISTINCT url FROM steps")}
    assert all(url.startswith(shop) for url in visited), visited
    treated = query(db, "SELECT count(DISTINCT trial) FROM receipts WHERE intervention = 'keepers-choice'")
    assert treated == [(TRIALS * 2 // 3,)]


def test_the_proxy_for_a_browser_of_the_host(host: Host, shop: str) -> None:
    host.compose("--profile", "proxy", "up", "--detach")

    def healthy() -> bool:
        (container,) = host.containers("proxy")
        assert container["State"]["Status"] == "running", host.engine("logs", container["Id"])
        return bool(container["State"]["Health"]["Status"] == "healthy")

    wait_for("the proxy", healthy)
    (container,) = host.containers("proxy")
    assert_confined(container, status_of(host, container))
    assert_on_loopback_alone(host, container, 8080)
    assert container["HostConfig"]["ReadonlyRootfs"]
    sent, came = (
        unescape(httpx.get(shop, proxy=proxy, trust_env=False).text)
        for proxy in (None, "http://127.0.0.1:8080")
    )
    lines = host.compose("--profile", "proxy", "logs", "--no-color", "proxy").splitlines()
    receipts = [json.loads(line[line.index("{") :])["receipt"] for line in lines if '{"receipt"' in line]
    assert receipts
    assert all(receipt["after"] in came and receipt["after"] not in sent for receipt in receipts)
    host.engine("rm", "--force", "--volumes", container["Id"])


def test_the_runner_runs_a_study_of_ones_own(host: Host, undisturbed: Rows) -> None:
    mounted = ("run", "-T", "--rm", "--volume", f"{host.studies}:/home/souk/studies:ro", "runner")
    when = []
    for _ in range(2):
        host.compose(*mounted, "run", "studies/lighthouse.yaml")
        db = host.folder / "runner.db"
        db.write_bytes(from_runs(host, "souk.db"))
        assert stored(f"sqlite:///{db}") == undisturbed
        when.append(started(f"sqlite:///{db}"))
    assert when[0] == when[1], "the second time nothing is left to do"
    host.compose("run", "-T", "--rm", "runner", "export", "lighthouse", "--out", "runs/lighthouse.csv")
    assert len(from_runs(host, "lighthouse.csv").splitlines()) == 1 + 2 * TRIALS
    status = "import pathlib; print(pathlib.Path('/proc/1/status').read_text())"
    name = f"{PROJECT}-looked-at"
    inside = host.compose("run", "-T", "--name", name, "--entrypoint", "python", "runner", "-c", status)
    (container,) = json.loads(host.engine("inspect", name))
    host.engine("rm", "--volumes", name)
    assert_confined(container, inside)
    assert container["HostConfig"]["ReadonlyRootfs"]


FORKS: Final = """
import os, time
made = 0
try:
    while made < 20_000:
        if not os.fork():
            time.sleep(1e6)
        made += 1
except OSError:
    print("refused after", made)
"""
EATS: Final = "held = []\nwhile True: held.append(b'x' * 10_000_000)"


def test_a_container_that_takes_all_it_can_get_is_stopped(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = ("--profile", "runner", "run", "-T", "--rm", "--entrypoint", "python", "runner", "-c")
    refused = host.compose(*python, FORKS)
    assert 0 < int(refused.removeprefix("refused after ")) < 8000
    monkeypatch.setenv("SOUK_MEMORY", "300m")
    eats = subprocess.run([*host.found.command, *python, EATS], capture_output=True, check=False)
    assert eats.returncode == 137, eats
    writes = subprocess.run(
        [*host.found.command, *python, "open('/home/souk/new', 'w')"], capture_output=True, check=False
    )
    assert b"Read-only file system" in writes.stdout + writes.stderr


def test_records_in_postgres(host: Host, postgres: str, undisturbed: Rows) -> None:
    (container,) = host.containers("postgres")
    assert_on_loopback_alone(host, container, 5432)
    assert_limited(container["HostConfig"])
    assert container["HostConfig"]["ReadonlyRootfs"]
    assert container["HostConfig"]["CapDrop"] == ["ALL"]
    wrong = souk("status", "--db", postgres.replace(PASSWORD, "lightship-2"), cwd=host.folder)
    assert wrong.status == 2
    assert "password authentication failed" in wrong.err
    assert "lightship-2" not in wrong.err

    host.souk("run", "studies/lighthouse.yaml", "--db", postgres)
    assert stored(postgres) == undisturbed
    before = started(postgres)
    host.souk("env", "up", "postgres", "--anew")
    assert host.containers("postgres")[0]["Id"] != container["Id"]
    assert started(postgres) == before, "a reset keeps the records"
    host.souk("runs", "delete", "lighthouse", "--yes", "--db", postgres)
    assert started(postgres) == {}


def signal_raylet(host: Host, container: dict[str, Any], name: str) -> None:
    host.engine("exec", container["Id"], "sh", "-c", f"kill -{name} $(pidof raylet)")


def health_of(container: dict[str, Any]) -> str:
    return str(container["State"].get("Health", {}).get("Status"))


def test_a_ray_worker_that_is_killed_costs_no_trial(host: Host, postgres: str, undisturbed: Rows) -> None:
    assert host.souk("env", "up", "ray").out == "ray://127.0.0.1:10001\n"
    (head,) = host.containers("ray-head")
    assert_on_loopback_alone(host, head, 10001)
    for container in (head, *host.containers("ray-worker")):
        assert_confined(container, status_of(host, container))

    up = ("--profile", "ray", "up", "--detach", "--scale", "ray-worker=2")
    host.compose(*up, files=[ONE_CPU_NODES])

    def healthy() -> bool:
        nodes = [*host.containers("ray-head"), *host.containers("ray-worker")]
        return [health_of(node) for node in nodes] == ["healthy"] * 3

    wait_for("three nodes", healthy)
    (head,) = host.containers("ray-head")
    host.engine("cp", str(host.studies), f"{head['Id']}:/home/souk/studies")
    inside = postgres.replace("127.0.0.1", "postgres")
    command = ("souk", "run", "studies/lighthouse.yaml", "--ray", "auto", "--workers", "2", "--slots", "1")
    with subprocess.Popen(
        [host.found.engine, "exec", head["Id"], *command, "--db", inside],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        lost, kept = host.containers("ray-worker")

        def under_way() -> bool:
            """Whether both nodes run trials and some have ended; or the command has."""
            acting = ("ray::Actor" in host.engine("top", node["Id"]) for node in (lost, kept))
            return run.poll() is not None or (all(acting) and len(started(postgres)) >= 4)

        wait_for("trials on both nodes", under_way)
        before = started(postgres)
        host.engine("kill", lost["Id"])
        said = run.communicate()[1]
        assert run.returncode == 0, said
    assert len(before) < TRIALS, "the node was lost amid the run"
    assert "died" in said or "free CPU" in said
    assert before.items() <= started(postgres).items(), "a trial that had ended ran again"
    assert stored(postgres) == undisturbed

    def worker(which: dict[str, Any]) -> dict[str, Any]:
        return next(node for node in host.containers("ray-worker") if node["Id"] == which["Id"])

    restarts = worker(kept)["RestartCount"]
    signal_raylet(host, kept, "STOP")
    wait_for("a hanging node", lambda: health_of(worker(kept)) == "unhealthy")
    (head,) = host.containers("ray-head")
    assert health_of(head) == "healthy"
    signal_raylet(host, kept, "KILL")
    wait_for("a node after a crash", lambda: worker(kept)["RestartCount"] > restarts)
    wait_for("a node again", lambda: health_of(worker(kept)) == "healthy")
    assert worker(lost)["State"]["Status"] == "exited", "who ends a node by hand does not want it back"
    host.souk("env", "down", "ray")
    assert host.containers("ray-head") == host.containers("ray-worker") == []
